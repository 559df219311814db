"""Answers as a terminal table: the largest cells of each release, with error bars and certificates."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

from sfumato.certificate import Certificate, NoBoundKnown
from sfumato.cli.console import table
from sfumato.privacy.guarantees import Guarantee
from sfumato.release import Release
from sfumato.report.answers import Answers, answers, cost

__all__ = ["answer_table", "certified", "full_table", "price"]

SHOWN = 4  # cells of a grouped release


def answer_table(releases: Sequence[Release], stored: Mapping[str, str] = MappingProxyType({})) -> Any:
    """One block for each release."""
    shown = table("release", "", "answer", "95% interval", "cost", "certificate", right=(2, 3), fold=True)
    for release in releases:
        paid = price(release.name, release.guarantee, stored)
        for place, cells in enumerate(_rows(release)):
            first = (release.name, paid, certified(release.certificate)) if place == 0 else ("", "", "")
            shown.add_row(first[0], *cells, first[1], first[2])
    return shown


def price(name: str, claim: Guarantee, stored: Mapping[str, str]) -> str:
    """What a release costs now: nothing where it is stored, which says since when."""
    return f"stored: free\n{stored[name][:10]}" if name in stored else cost(claim)


def full_table(shown: Answers) -> Any:
    """Every row of one release."""
    whole = table(*shown.headings, right=[place for place, number in enumerate(shown.numeric) if number])
    for row in shown.rows:
        whole.add_row(*row)
    return whole


def _rows(release: Release) -> list[tuple[str, str, str]]:
    """(cell, answer, interval) of the largest answers, or of all when they are few."""
    columns = release.table().to_pydict()
    shown = answers(release)
    rows = [_cell(shown.kinds, row) for row in shown.rows]
    keys = release.question.cells.keys
    if len(rows) > SHOWN + 1 and not keys and _is_function(release):  # some of its points, in order
        rows = rows[len(rows) // (2 * SHOWN) :: len(rows) // SHOWN]
    elif "estimate" in columns and "probability" not in columns and _by_size(release, keys):
        rows = [rows[i] for i in sorted(range(len(rows)), key=lambda i: -columns["estimate"][i])]
    if len(rows) > SHOWN + 1:
        return [*rows[:SHOWN], (f"… {len(rows) - SHOWN:,} more", "", "")]
    return rows or [("no key found", "", "")]


def _is_function(release: Release) -> bool:
    return hasattr(release.question, "curve") or release.question.query.kind == "thresholds"


def _by_size(release: Release, keys: tuple[Any, ...]) -> bool:
    """Whether the rows have no order of their own, so that the largest are the ones to show."""
    return bool(keys) and release.question.query.kind != "workload" and keys[0].starts is None


def _cell(kinds: Sequence[str], row: Sequence[str]) -> tuple[str, str, str]:
    """The keys, the answer and the interval of one row."""
    held = list(zip(kinds, row, strict=True))
    answer = next((text for kind, text in held if kind in ("answer", "item")), "")
    interval = next((text for kind, text in held if kind == "interval"), "")
    keys = [f"#{text}" if kind == "rank" else text for kind, text in held if kind in ("key", "rank", "quantile")]
    return ", ".join(keys), answer, interval


def certified(found: Certificate | NoBoundKnown) -> str:
    """A certificate in a few characters; the whole of it is in the release."""
    return f"within {found.shown} x best" if isinstance(found, Certificate) else "no bound known"
