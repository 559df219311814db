"""What a figure is made of: rows of a table, checks with a verdict, points of a picture, and seconds.

A figure is a function that takes a `Setting` and yields lines.  Everything but the seconds comes out the same in every
run with the same seed; numbers are kept to six digits.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from sfumato.randomness import Rng, seeded

__all__ = ["Figure", "Line", "Lines", "Setting", "check", "points", "row", "seconds"]

Line = dict[str, Any]
Lines = Iterator[Line]
SHARED = Path(__file__).parents[2] / "shared" / "data"


@dataclass(frozen=True)
class Setting:
    """How much is drawn, from which seed, and where tables lie that are not generated."""

    quick: bool = False
    seed: int = 0
    data: Path = SHARED

    def rng(self, number: int) -> Rng:
        """The generator of one place in a figure."""
        return seeded(100_000 * self.seed + number)

    def runs(self, usual: int, quick: int) -> int:
        """How often something is repeated."""
        return quick if self.quick else usual


@dataclass(frozen=True)
class Figure:
    """A table or a figure: what it shows, and how."""

    title: str
    lines: Callable[[Setting], Lines]
    files: tuple[str, ...] = ()  # tables that are not generated, in the folder of the data
    walked: tuple[str, ...] = ()  # columns, and words of checks, whose numbers come from random walks,
    scatter: float = 0.0  # and how far, as a part of them, those may lie from others: of as many draws, elsewhere


def row(**cells: Any) -> Line:
    """One line of a table; what a document prints stands in columns that begin with `printed`."""
    return {"row": {name.replace("_", " "): kept(value) for name, value in cells.items()}}


def check(what: str, value: Any, target: Any, holds: bool) -> Line:
    """A figure with its target, and whether it holds; one that does not fails the run."""
    return {"check": what, "value": kept(value), "target": kept(target), "holds": bool(holds)}


def points(what: str, value: list[dict[str, Any]]) -> Line:
    """What a picture is drawn from."""
    return {"points": what, "value": kept(value)}


def seconds(what: str, value: float, printed: float | None = None) -> Line:
    """Time, which is different in every run: shown, kept, and compared with nothing."""
    return {"seconds": what, "value": float(f"{value:.2g}"), "printed": printed}


def kept(value: Any) -> Any:
    """A value as it is stored."""
    if isinstance(value, dict):
        return {str(key): kept(each) for key, each in value.items()}
    if isinstance(value, list | tuple | np.ndarray):
        return [kept(each) for each in value]
    if isinstance(value, bool | np.bool_):
        return bool(value)
    if isinstance(value, int | np.integer):
        return int(value)
    if isinstance(value, float | np.floating):
        return float(f"{value:.6g}") + 0.0  # no minus zero
    return value
