"""How the values of a column stand in tables and what becomes of them: descriptions, which engines compile.

There are six forms.  Numbers become whole numbers, counted from the lower bound; labels and sets keep what is
declared; curves and arrays are lists of numbers; texts are cut.  Where a form reads texts it does so by patterns, so
that what a text means depends on that text alone, and by arithmetic that is the same on numbers and on an engine's
columns.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import numpy.typing as npt

from sfumato.spaces.codes import Code
from sfumato.spaces.lattice import Lattice
from sfumato.spaces.numerals import number_in

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["Entries", "Form", "Label", "Labels", "Numbers", "Points", "Sets", "Spelling", "Strings"]

Label = str | int  # false and true are whole numbers to Python


@dataclass(frozen=True, slots=True)
class Spelling:
    """Texts of one pattern, and the number that `value` makes of the pattern's groups.

    The pattern must match a whole text and mean the same to Python, RE2 and Java.  Each group holds a number, or
    nothing, which counts as 0.  `value` is arithmetic alone: it takes numbers, and columns of numbers.

    >>> clock = Spelling("([0-9]+):([0-5][0-9])", lambda hours, minutes: hours + minutes / 60)
    >>> clock.number_in("2:30"), clock.number_in("soon")
    (2.5, None)
    """

    pattern: str
    value: Callable[..., Any]

    @property
    def groups(self) -> int:
        """How many numbers the pattern holds."""
        return re.compile(self.pattern).groups

    def number_in(self, text: str) -> float | None:
        """The number that a text stands for, or None."""
        found = re.fullmatch(self.pattern, text)
        return None if found is None else float(self.value(*(float(part or 0) for part in found.groups())))


@dataclass(frozen=True, slots=True)
class Numbers:
    """Numbers on a lattice.

    `missing` is the lattice's index that missing values take; `codes` are numbers that stand for missing ones.
    `plain`: stored numbers, and texts of them, are read as they are.  `spellings`: further texts.  `day`: the number of
    a stored date's year, month and day.  `second`: how many seconds a unit has, where stored times and elapsed times
    are read.  `clock`: the number of so many seconds since midnight, where times of day are read, and timestamps by
    theirs.
    """

    lattice: Lattice
    missing: int | None = None
    codes: tuple[float, ...] = ()
    plain: bool = True
    spellings: tuple[Spelling, ...] = ()
    day: Callable[..., Any] | None = None
    second: float | None = None
    clock: Callable[[Any], Any] | None = None
    labels: ClassVar[None] = None
    listed: ClassVar[bool] = False

    @property
    def last(self) -> int:
        """The largest position."""
        return self.lattice.high - self.lattice.low

    def number_in(self, text: str) -> float | None:
        """The number that a text stands for, or None."""
        for spelling in self.spellings:
            number = spelling.number_in(text)
            if number is not None:
                return number
        return number_in(text) if self.plain else None


@dataclass(frozen=True, slots=True)
class Labels:
    """One of the declared `labels`; unknown values take `other` and null ones `missing`, where these are declared."""

    labels: tuple[Label, ...]
    other: Label | None = None
    missing: Label | None = None
    na: tuple[Code, ...] = ()
    listed: ClassVar[bool] = False
    clock: ClassVar[None] = None

    @property
    def last(self) -> int:
        """The largest position."""
        return len(self.labels) - 1


@dataclass(frozen=True, slots=True)
class Sets:
    """Sets of at most `cap` of the declared `labels`, the first in the order of their values; texts are split."""

    labels: tuple[Label, ...]
    cap: int
    separator: str
    na: tuple[Code, ...] = ()
    listed: ClassVar[bool] = True
    clock: ClassVar[None] = None
    last: ClassVar[None] = None  # it has no positions

    def bits(self, column: pa.Array | pa.ChunkedArray) -> npt.NDArray[np.int64]:
        """Each list of declared labels as a whole number with one bit a label; -1 for a missing one."""
        import pyarrow as pa
        import pyarrow.compute as pc

        sets = pa.chunked_array(column).combine_chunks() if isinstance(column, pa.ChunkedArray) else column
        sizes = pc.fill_null(pc.list_value_length(sets), 0).to_numpy(zero_copy_only=False)
        places = pc.index_in(pc.list_flatten(sets), pa.array(self.labels)).to_numpy(zero_copy_only=False)
        total = np.zeros(len(sets), dtype=np.int64)
        np.bitwise_or.at(total, np.repeat(np.arange(len(sets)), sizes), np.int64(1) << places.astype(np.int64))
        return np.where(sets.is_null().to_numpy(zero_copy_only=False), -1, total)


@dataclass(frozen=True, slots=True)
class Points:
    """Curves: lists of numbers on a lattice, one for each of the public `points`."""

    points: tuple[float, ...]
    lattice: Lattice
    codes: tuple[float, ...] = ()
    labels: ClassVar[None] = None
    listed: ClassVar[bool] = True
    clock: ClassVar[None] = None
    last: ClassVar[None] = None  # it has no positions


@dataclass(frozen=True, slots=True)
class Entries:
    """Arrays of numbers on a lattice; a missing entry takes the middle, and an array of another shape is missing.

    They stand as lists of lists, as deep as there are axes, or as one list of all entries, row after row.  A text holds
    its numbers between commas or semicolons; brackets in it mean nothing.
    """

    shape: tuple[int, ...]
    lattice: Lattice
    codes: tuple[float, ...] = ()
    labels: ClassVar[None] = None
    listed: ClassVar[bool] = True
    clock: ClassVar[None] = None
    last: ClassVar[None] = None  # it has no positions

    SEPARATORS: ClassVar[str] = "[,;]"
    BRACKETS: ClassVar[str] = r"[\[\](){}]"

    @property
    def size(self) -> int:
        """How many entries there are."""
        return math.prod(self.shape)

    @property
    def each(self) -> Numbers:
        """The rule of an entry."""
        return Numbers(self.lattice, (self.lattice.low + self.lattice.high) // 2, self.codes)

    def places(self, column: pa.ChunkedArray) -> npt.NDArray[np.int64]:
        """A row of indices above the lower bound for each array of numbers on the lattice; -1 where it is missing."""
        import pyarrow.compute as pc

        lists = column.combine_chunks()
        present = lists.is_valid().to_numpy(zero_copy_only=False)
        for _ in self.shape:
            lists = pc.list_flatten(lists)
        found = np.full((len(present), self.size), -1, dtype=np.int64)
        found[present] = self.lattice.places(lists.to_numpy(zero_copy_only=False)).reshape(-1, self.size)
        return found

    def numbers_in(self, text: str) -> list[float | None]:
        """The numbers of a text, None for what is none."""
        return [number_in(part) for part in re.split(self.SEPARATORS, re.sub(self.BRACKETS, " ", text))]


@dataclass(frozen=True, slots=True)
class Strings:
    """Texts that nobody declared, cut after `longest` characters."""

    longest: int
    na: tuple[str, ...] = ()
    labels: ClassVar[None] = None
    listed: ClassVar[bool] = False
    clock: ClassVar[None] = None
    last: ClassVar[None] = None  # it has no positions


Form = Numbers | Labels | Sets | Points | Entries | Strings
