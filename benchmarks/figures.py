"""What a benchmark prints: a measured figure, what was asked of it, and whether that holds."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass

__all__ = ["Figure", "show"]


@dataclass(frozen=True)
class Figure:
    """One measured figure and its verdict; `holds` is None where there is no target or no peer to compare with."""

    figure: str
    value: float | str
    target: str
    holds: bool | None


def show(figure: Figure, as_json: bool) -> None:
    """Print a figure as soon as it is measured: one JSON object, or a line of a table."""
    verdict = {True: "holds", False: "MISSED", None: ""}[figure.holds]
    line = f"{figure.figure:95} {figure.value!s:>8}  {figure.target:28} {verdict}"
    print(json.dumps(asdict(figure)) if as_json else line, flush=True)
