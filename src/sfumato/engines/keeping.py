"""The rows of persons, put into order once and kept by their engine for all questions that follow.

Finding a person's first rows means sorting the table: far more work than any answer.  So the first question that needs
them, which is paid for by then, has them stored where the data is (`engines/storing.py`), with their places: a question
takes those whose place is less than its number of rows, so that several limits share one pass.  What is kept holds the
columns and places that are expected, by a plan whose questions are known, or else those of the first question; one that
needs more has everything stored, once.  All of it is as secret as the data, and goes with the table that it belongs to.

Questions that share what is kept answer from one state of the data.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, field
from threading import Lock
from typing import TYPE_CHECKING

from sfumato.engines.storing import Stored, stored

if TYPE_CHECKING:
    import ibis.expr.types as ir

__all__ = ["Kept"]


@dataclass(eq=False)
class Kept:
    """What an engine keeps of one table; the tables of questions with limits of their own share it."""

    _expected: frozenset[str] = frozenset()
    _rows: int = 0
    _bounded: bool = True
    _held: list[Held] = field(default_factory=list)
    _storing: Lock = field(default_factory=Lock)

    def expect(self, columns: Iterable[str], most: int | None) -> None:
        """Questions about these columns, and at most so many rows of a person (None: all), are about to come."""
        with self._storing:
            self._expected |= frozenset(columns)
            self._rows, self._bounded = max(self._rows, most or 0), self._bounded and most is not None

    def rows(
        self,
        placed: Callable[[Collection[str]], ir.Table],
        usable: Collection[str],
        columns: Collection[str],
        most: int | None,
    ) -> ir.Table:
        """Kept rows with at least these columns, and the first `most` of each person (None: all).

        `placed` makes the expression of all rows, with some of the `usable` columns.
        """
        with self._storing:
            self._held = [one for one in self._held if one.stored.usable()]
            for one in self._held:
                if one.has(columns, most):
                    return one.stored.rows
            if self._held:
                wanted, limit = frozenset(usable), None
            else:
                wanted = (self._expected | frozenset(columns)) & frozenset(usable)
                limit = None if most is None or not self._bounded else max(most, self._rows)
            rows = placed(wanted)
            kept = stored(rows if limit is None else rows.filter(rows["place"] < limit))
            self._held.append(Held(kept, wanted, limit))
            return kept.rows


@dataclass(frozen=True, slots=True)
class Held:
    """Rows that are stored, and what of them is."""

    stored: Stored
    columns: frozenset[str]
    most: int | None

    def has(self, columns: Collection[str], most: int | None) -> bool:
        """Whether a question finds all that it needs."""
        return self.columns.issuperset(columns) and (self.most is None or (most is not None and most <= self.most))
