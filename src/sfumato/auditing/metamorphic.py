"""Relations that must hold without knowing the right answer: order of rows, and rows on their own.

A mechanism on bags of rows has one law for all orders of its rows; floating-point sums break this
[CasacubertaEtAl2022].  A preparation that claims to act row by row (clamping, coding, scaling by
public bounds) must map each row alike, whatever other rows there are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from sfumato.auditing.findings import Attempt, Finding
from sfumato.auditing.reporting import exact_finding
from sfumato.auditing.running import name_of
from sfumato.auditing.walking import walk

__all__ = ["audit_rowwise", "permutations"]


def permutations(rows: Sequence[Any]) -> Iterator[list[Any]]:
    """Orders that disturb a sum most: reversed, rotated, sorted by size both ways, alternating."""
    yield list(rows[::-1])
    yield [*rows[1:], *rows[:1]]
    yield [*rows[len(rows) // 2 :], *rows[: len(rows) // 2]]
    yield [*rows[::2], *rows[1::2]]
    numbers = [row for row in rows if isinstance(row, int | float) and row == row]
    if len(numbers) == len(rows):
        yield sorted(rows, key=abs)
        yield sorted(rows, key=abs, reverse=True)


def audit_rowwise(function: Callable[[list[Any]], Sequence[Any]], records: Sequence[Any]) -> Finding:
    """Refute that `function` maps each row on its own, by inserting and removing the other rows.

    >>> audit_rowwise(lambda rows: [min(r, 1.0) for r in rows], [0.0, 1.0, 5.0]).refuted
    False
    >>> audit_rowwise(lambda rows: [r - min(rows) for r in rows], [0.0, 1.0, 5.0]).refuted
    True
    """
    runs = 0
    for other in records:
        for record in records:
            alone, beside = [record], [record, other]
            runs += 2
            one, two = list(function(list(alone))), list(function(list(beside)))
            if len(one) != 1 or len(two) != 2 or dict(walk(one[0])) != dict(walk(two[0])):
                return exact_finding(
                    name_of(function),
                    "acts row by row",
                    attack="row by row",
                    neighbors=(beside, alone),
                    relation="one row beside another row, and alone",
                    words="what becomes of the first row changes with the other row",
                    epsilon=float("inf"),
                )
    tried = Attempt("row by row", f"{len(records) ** 2} pairs of rows", runs)
    return Finding(name_of(function), "acts row by row", None, (tried,))
