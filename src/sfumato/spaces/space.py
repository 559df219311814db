"""What every column type knows: a set with its metric, and how its values are read, asked about and shown.

A new type is a module beside this one that says all of it, and one line in the list of `sfumato.spaces`: engines,
questions, mechanisms and the command line ask the space.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, Self, TypeGuard, runtime_checkable

import numpy as np
import numpy.typing as npt

from sfumato.errors import ParameterError
from sfumato.spaces.distances import Distances
from sfumato.spaces.forms import Form, Label, Points
from sfumato.spaces.lattice import Lattice

if TYPE_CHECKING:
    import pyarrow as pa

    from sfumato.spaces.categories import Categories

__all__ = ["Numeric", "Space", "numeric"]


@runtime_checkable
class Space(Protocol):
    """A column type.  `coerce` never raises, whatever the value; None means missing.

    Whoever inherits takes over what is said here of columns that are neither numbers nor labels.
    """

    __slots__ = ()

    kind: ClassVar[str]  # what plans call it
    needed: ClassVar[tuple[str, ...]] = ()  # what a plan must declare, since it is never read off the data
    decodes: ClassVar[bool] = False  # whether `shown` is anything but the number
    magnitudes: ClassVar[bool] = True  # whether 0 of its numbers is none of it, as of incomes but not of dates
    hint: ClassVar[tuple[str, str] | None] = None  # for drafts: what the column holds, and the line that declares it

    @property
    def diameter(self) -> float:
        """The largest distance."""
        ...

    def distance(self, one: Any, other: Any) -> float:
        """The metric, between values of the space."""
        ...

    def coerce(self, value: object) -> Any:
        """The value of the space that stands for any object, or None if it is missing."""
        ...

    def to_record(self) -> dict[str, Any]:
        """Plain values, for plans, releases and digests."""
        ...

    @classmethod
    def declared(cls, fields: dict[str, Any], column: str) -> Self:
        """The space with these fields of a plan."""
        return cls(**fields)

    @property
    def form(self) -> Form | None:
        """How engines read and hold the column; None where none does."""
        return None

    @property
    def lattice(self) -> Lattice | None:
        """The lattice of a column of numbers, None of others."""
        return None

    @property
    def labels(self) -> tuple[Label, ...] | None:
        """The public labels, one of which each row holds; None where it is no such column."""
        return None

    @property
    def distances(self) -> Distances | None:
        """How far the labels are from one another, where that is declared; None where they are all equally far."""
        return None

    @property
    def items(self) -> tuple[Label, ...] | None:
        """What can be popular: labels, or the items of sets; None where there is nothing public to count."""
        return self.labels

    @property
    def most_items(self) -> int:
        """How many of its items one row can hold."""
        return 1

    @property
    def curve(self) -> Points | None:
        """Where curves are seen and what they can be there, None where the column holds no curves."""
        return None

    @property
    def settled(self) -> bool:
        """Whether every row takes a value: none can be missing or unknown."""
        return False

    @property
    def discoverable(self) -> bool:
        """Whether the values are texts that are not public, and may be discovered."""
        return False

    def among(self, known: Sequence[str]) -> Categories | None:
        """Texts that were discovered as a column of public labels, the last for all others; None of other columns."""
        return None

    @property
    def longest(self) -> int | None:
        """After how many characters texts that are not public are cut; None where the column holds none."""
        return None

    def part(self, function: str) -> Space | None:
        """The space of a part of each value, such as the month of dates; None where it has no such part."""
        return None

    def entry(self, place: int) -> Space | None:
        """The space of the entry at a place of each value, counted from 0; None where there is none."""
        return None

    def place(self, indices: tuple[int, ...]) -> int | None:
        """The place of the entry with these indices, one for each axis, row after row; None where there is none."""
        return None

    def named_entry(self, place: int) -> str:
        """The indices of the entry at a place, as they follow a column's name: [0]."""
        return f"[{place}]"

    @property
    def stored(self) -> str | None:
        """The name of the stored column that is read, where that is another than the declared one."""
        return None

    @property
    def fields(self) -> Mapping[str, Space] | None:
        """The spaces of the named parts that each value has; None where it has none."""
        return None

    @property
    def size(self) -> int | None:
        """How many entries each value has; None where it is no list of numbers."""
        return None

    def number(self, constant: object) -> Any:
        """A public constant of a question as a number of the column's units."""
        return constant

    def shown(self, number: float) -> Any:
        """A number of the column's units as people read it: of dates, a date.  Larger numbers are not shown lower."""
        return number

    def label(self, index: int) -> Label:
        """The name of a point of the lattice."""
        raise ParameterError(f"a {self.kind} column has no points on a line")

    def places(self, values: pa.ChunkedArray) -> npt.NDArray[np.int64]:
        """What `decoded` was given; -1 for null."""
        raise ParameterError(f"a {self.kind} column is not published in whole numbers")

    def decoded(self, places: npt.NDArray[np.int64], null: npt.NDArray[np.bool_] | None = None) -> pa.Array:
        """Values of the column's own type from whole numbers: above the lower bound, or in the list of labels."""
        raise ParameterError(f"a {self.kind} column is not published in whole numbers")

    def written(self, value: object) -> str | None:
        """What a text file holds for a value (an item of a set) that is no text; None where it means nothing."""
        return None

    def examples(self) -> tuple[Any, Any, Any, Any]:
        """Values of the space: the lowest, the highest, an ordinary one, another."""
        ...

    def arrow(self) -> pa.DataType:
        """The type of a column of such values."""
        ...

    @classmethod
    def drafted(cls, stored: str, blank: str) -> list[str] | None:
        """The lines that a draft writes for a column stored so (an engine's name of the type); None: not this space."""
        return None


@runtime_checkable
class Numeric(Space, Protocol):
    """A column of numbers on a lattice; dates and elapsed times are such, in units of their own."""

    __slots__ = ()

    @property
    def missing(self) -> float | None:
        """The public number that stands for missing ones."""
        ...

    @property
    def lattice(self) -> Lattice:
        """The points that values take."""
        ...

    @property
    def reach(self) -> tuple[float, float]:
        """Between which numbers a published value of the column's own type can lie, however far noise takes it."""
        ...


def numeric(space: Space) -> TypeGuard[Numeric]:
    """Whether a column holds numbers."""
    return space.lattice is not None
