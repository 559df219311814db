"""What a release says: the public value that a question reads from a mechanism's output."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, ClassVar, Protocol

import numpy as np

from sfumato.answers.statements import Accuracy
from sfumato.errors import UnsupportedQuery

__all__ = [
    "NO_ANSWER", "NO_COUNTS", "Answer", "Columns", "Frame", "Read", "Units", "empty_cells", "failure_of", "in_units",
    "numbers", "spanning", "tell_empty",
]  # fmt: skip

Columns = dict[str, list[Any]]  # a public table: its columns by name, in order
NO_COUNTS = "only counts of rows by public keys are published as whole numbers that add up; use table()"
NO_ANSWER = "no_answer"  # the column that says which answers hold no information, where some hold none
NOTHING = "the whole range: no answer at this spend"
Frame = tuple[float, float]  # a public range of numbers
Units = Callable[[float], object]  # how a column shows a number: larger ones never lower


class Answer(Protocol):
    """A public value with its error: computed from released numbers and public descriptions alone.

    `kind` names the form of the value (estimates, items, a curve, ...), from a closed list: reports choose a picture by
    it.  Whatever depends on a level is computed when it is asked for.
    """

    kind: ClassVar[str]

    @property
    def keys(self) -> Columns:
        """The labels of the cells by key, one for each row of `table`; empty where the whole table is one cell."""

    @property
    def measure(self) -> str:
        """What the numbers (or items) are, for an axis."""

    @property
    def order(self) -> str:
        """How the rows are ordered: along an `axis`, as they were `asked`, by nothing but their `size`, or `crossed`:
        every combination of the keys' labels, then the sums over some of the keys, whose label is None.
        """

    @property
    def step(self) -> float | None:
        """The distance between values that the answer could have, where that says how many digits to show."""

    @property
    def value(self) -> object:
        """A number (or item) for a single answer, else one entry for each row of `table`."""

    def table(self, level: float = 0.95, *, joint: bool = False) -> Columns:
        """The public columns: keys, then estimate, low, high (or rank and item, ...).

        An estimate whose interval is the whole public range holds no information: it is None, and `no_answer` says so.
        """

    def list_numbers(self, level: float = 0.95, *, joint: bool = False) -> Columns:
        """The same with the numbers of every cell, also those that hold no information: for further computing."""

    def shown(self, columns: Columns) -> Columns:
        """The table with numbers of a column's units as that column shows them: of dates, as dates."""

    def interval(self, level: float = 0.95, *, joint: bool = False) -> tuple[Any, Any]:
        """The ends of the error bars: of each entry of `value`, or with `joint` of all at once.

        An answer that has none in its own units raises `UnsupportedQuery`, and says what is known of its error.
        """

    def error(self, level: float = 0.95) -> Accuracy:
        """What can be said of the error, now that the output is known."""

    def remarks(self, columns: Columns, level: float) -> list[str]:
        """What to say beside the interval of each row of `table(level)`, as of one that tells nothing; mostly empty."""

    def added_up(self, level: float, joint: bool) -> Columns:
        """The same as whole numbers whose margins agree, where rows are counted by public keys."""


class Read:
    """What answers share: error bars are columns of their table."""

    __slots__ = ()

    def is_single(self: Answer, rows: int) -> bool:
        """Whether the answer is one value about the whole table."""
        return rows == 1 and not self.keys

    def interval(self: Answer, level: float = 0.95, *, joint: bool = False) -> tuple[Any, Any]:
        """The ends of the error bars."""
        columns = self.table(level, joint=joint)
        if "low" not in columns:
            raise UnsupportedQuery(
                "this answer has no error bar in its own units without more data; "
                f"what is known: {self.error(level).words()}"
            )
        shown = self.shown({"low": columns["low"], "high": columns["high"]})
        low, high = shown["low"], shown["high"]
        return (low[0], high[0]) if len(low) == 1 and not self.keys else (np.array(low), np.array(high))

    def list_numbers(self: Answer, level: float = 0.95, *, joint: bool = False) -> Columns:
        """The table: each of its numbers says something."""
        return self.table(level, joint=joint)

    def shown(self, columns: Columns) -> Columns:
        """The table as it is."""
        return columns

    def remarks(self, columns: Columns, level: float) -> list[str]:
        """Nothing: no public range bounds the numbers."""
        return [""] * len(columns["low"])

    def added_up(self, level: float, joint: bool) -> Columns:
        """Refused: there is nothing to add up."""
        raise UnsupportedQuery(NO_COUNTS)


def in_units(columns: Columns, names: Sequence[str], units: Units | None) -> Columns:
    """The columns, those named in the units that they are shown in; None: numbers as they are."""
    if units is None:
        return columns
    return {
        name: [None if number is None else units(number) for number in column] if name in names else column
        for name, column in columns.items()
    }


def spanning(columns: Columns, frame: Frame | None) -> list[str]:
    """A remark on each interval that is the whole public range: it says no more than the declaration did.

    >>> spanning({"low": [0.0, 2.0], "high": [9.0, 9.0]}, (0.0, 9.0))
    ['the whole range: no answer at this spend', '']
    """
    return [NOTHING if empty else "" for empty in empty_cells(columns, frame)]


def empty_cells(columns: Columns, frame: Frame | None) -> list[bool]:
    """Which answers hold no information: their interval is the whole public range."""
    if frame is None or frame[0] >= frame[1] or "low" not in columns:
        return [False] * len(columns["estimate" if "low" not in columns else "low"])
    ends = zip(columns["low"], columns["high"], strict=True)
    return [low <= frame[0] and high >= frame[1] for low, high in ends]


def tell_empty(columns: Columns, frame: Frame | None) -> Columns:
    """Return the columns without the estimates that hold no information, and where there are such, which they are.

    >>> tell_empty({"estimate": [4.5, 5.0], "low": [0.0, 2.0], "high": [9.0, 9.0]}, (0.0, 9.0))
    {'estimate': [None, 5.0], 'low': [0.0, 2.0], 'high': [9.0, 9.0], 'no_answer': [True, False]}
    """
    empty = empty_cells(columns, frame)
    if not any(empty):
        return columns
    kept = [None if none else number for number, none in zip(columns["estimate"], empty, strict=True)]
    return {**columns, "estimate": kept, NO_ANSWER: empty}


def numbers(estimates: Sequence[float | None], units: Units | None, single: bool) -> object:
    """The estimates as they are shown, or the only one; where one holds no information NaN, or None of a unit's own."""
    if units is None:
        plain = np.array([math.nan if number is None else number for number in estimates], dtype=np.float64)
        return float(plain[0]) if single else plain
    shown = [None if number is None else units(number) for number in estimates]
    return shown[0] if single else shown


def failure_of(level: float) -> float:
    """1 - level as a person would write it.

    >>> failure_of(0.95)
    0.05
    """
    return round(1 - level, 15)
