"""Answers as a terminal table: the largest cells of each release, with error bars and certificates."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from sfumato.cards import counted
from sfumato.cli.console import table
from sfumato.privacy.guarantees import Guarantee
from sfumato.release import Published
from sfumato.report.answers import POINTS, Answers, answers, cost

__all__ = ["PAID", "answer_table", "full_table", "price"]

PAID = "paid together"
SHOWN = 4  # cells of a grouped release


def answer_table(
    releases: Sequence[Published],
    stored: Mapping[str, str] = MappingProxyType({}),
    together: Mapping[str, str] = MappingProxyType({}),
    paid: Collection[str] = (),
) -> Any:
    """One block for each release; those that were measured together say with which."""
    shown = table("release", "", "answer", "95% interval", "cost", "certificate", right=(2, 3), fold=True)
    for release in releases:
        due = PAID if release.name in together else price(release.name, release.guarantee, stored, paid)
        for place, cells in enumerate(_rows(release)):
            first = (release.name, due, release.certificate.brief()) if place == 0 else ("", "", "")
            shown.add_row(first[0], *cells, first[1], first[2])
    return shown


def price(name: str, claim: Guarantee, stored: Mapping[str, str], paid: Collection[str] = ()) -> str:
    """What a release costs now: nothing where it is stored, which says since when, or was paid for before."""
    if name in stored:
        return f"stored: free\n{stored[name][:10]}"
    return f"{cost(claim)},\npaid before" if name in paid else cost(claim)


def full_table(shown: Answers) -> Any:
    """Every row of one release."""
    whole = table(*shown.headings, right=[place for place, number in enumerate(shown.numeric) if number])
    for row in shown.rows:
        whole.add_row(*row)
    return whole


def _rows(release: Published) -> list[tuple[str, str, str]]:
    """(cell, answer, interval) of the largest answers, or of all when they are few."""
    if release.answer.kind == "rows":
        return [(counted(release.table().num_rows, "row"), "", "")]
    shown = answers(release)
    rows = [_cell(shown.kinds, row) for row in shown.rows]
    if len(rows) > SHOWN + 1 and release.answer.kind in POINTS:  # some of its points, in order
        rows = rows[len(rows) // (2 * SHOWN) :: len(rows) // SHOWN]
    elif release.answer.kind == "estimates" and release.answer.order == "size":
        estimates = [-math.inf if number is None else number for number in release.answer.table()["estimate"]]
        rows = [rows[i] for i in sorted(range(len(rows)), key=lambda i: -estimates[i])]
    if len(rows) > SHOWN + 1:
        return [*rows[:SHOWN], (f"… {len(rows) - SHOWN:,} more", "", "")]
    return rows or [("no key found", "", "")]


def _cell(kinds: Sequence[str], row: Sequence[str]) -> tuple[str, str, str]:
    """The keys, the answer and the interval of one row."""
    held = list(zip(kinds, row, strict=True))
    answer = ": ".join(text for kind, text in held if kind in ("answer", "item"))
    interval = next((text for kind, text in held if kind == "interval"), "")
    keys = [f"#{text}" if kind == "rank" else text for kind, text in held if kind in ("key", "rank", "quantile")]
    return ", ".join(keys), answer, interval
