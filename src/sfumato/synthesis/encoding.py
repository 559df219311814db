"""Columns as finitely many public levels, and back: numbers in equal cells, categories as they are, missing values too.

Nothing here is read off the data.  A number's lattice is cut into at most `CELLS` levels: every point by itself where
they are few, else its two ends (where clipped values gather) and equal cells between them.  Where a value can be
missing, one more level stands for it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from sfumato.errors import ParameterError, UnsupportedQuery
from sfumato.schema import Schema
from sfumato.spaces import Categories, Dates, Integers, Interval

__all__ = ["CELLS", "Column", "encoded"]

CELLS = 256  # levels of a number; finer ones drown in noise, and their smooth parts are merged anyway
MOST_LEVELS = 100_000  # categories of one column
MOST_COLUMNS = 400  # their pairs fill 640 MB at the largest number of groups that is used then

Whole = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Column:
    """The public levels of a column: `edges[k]` is the first lattice index of level k, counted from the lower bound.

    For categories `edges` is None.  `nullable`: the last level stands for missing values.

    >>> Column.of("age", Integers(0, 3)).size, Column.of("pay", Interval(0, 10, step=0.001)).size
    (5, 257)
    """

    name: str
    space: Interval | Integers | Categories
    edges: tuple[int, ...] | None
    nullable: bool

    @classmethod
    def of(cls, name: str, space: Any) -> Column:
        """The levels of a column with this space."""
        if isinstance(space, Categories):
            if len(space.values) > MOST_LEVELS:
                raise UnsupportedQuery(
                    f"column {name!r} has {len(space.values):,} categories; at most {MOST_LEVELS:,} can be "
                    "synthesized: declare fewer and use other="
                )
            return cls(name, space, None, space.missing is None or space.other is None)
        if isinstance(space, Interval | Integers):
            return cls(name, space, _edges(space.lattice.width + 1), space.missing is None)
        raise UnsupportedQuery(
            f"column {name!r} must hold numbers, dates or categories to be synthesized; name the columns that do "
            "(columns=[...], in the shell --column)"
        )

    @property
    def ordered(self) -> bool:
        """Whether neighboring levels are alike."""
        return self.edges is not None

    @property
    def valued(self) -> int:
        """How many levels stand for values."""
        return len(self.space.values) if isinstance(self.space, Categories) else len(self.edges or ())

    @property
    def size(self) -> int:
        """How many levels there are."""
        return self.valued + self.nullable

    @property
    def points(self) -> int:
        """How many values the column can take."""
        return self.valued if isinstance(self.space, Categories) else self.space.lattice.width + 1

    def levels(self, indices: Whole) -> Whole:
        """The level of each index that an engine reads; -1 is missing.  Whatever comes in, a level comes out."""
        if self.edges is None:
            places = indices
        else:
            places = np.searchsorted(np.array(self.edges, dtype=np.int64), indices, side="right") - 1
        last = self.size - 1  # the missing level if there is one
        return np.where((indices < 0) | (indices >= self.points), last, np.clip(places, 0, last))

    def widths(self) -> Whole:
        """How many values each valued level holds."""
        if self.edges is None:
            return np.ones(self.valued, dtype=np.int64)
        ends = np.array([*self.edges, self.points], dtype=np.int64)
        return ends[1:] - ends[:-1]

    def decoded(self, indices: Whole) -> Any:
        """An Arrow array of values of the column's own type, from indices above the lower bound; -1 is null."""
        import pyarrow as pa

        null = indices < 0
        if isinstance(self.space, Categories):
            labels = pa.array(list(self.space.values))  # all of one type: texts, whole numbers, or false and true
            return labels.take(pa.array(np.where(null, 0, indices), mask=null))
        lattice = self.space.lattice
        held = np.where(null, 0, indices) + lattice.low
        if isinstance(self.space, Dates):
            return pa.array(held.astype(np.int32), pa.int32(), mask=null).cast(pa.date32())
        if isinstance(self.space, Integers):
            return pa.array(held, mask=null)
        return pa.array(lattice.values(held), mask=null)


def encoded(schema: Schema, names: Sequence[str] | None) -> tuple[Column, ...]:
    """The columns to synthesize, all of the schema by default."""
    if isinstance(names, str):
        raise ParameterError(f"columns must be a list of names, got the single text {names!r}")
    chosen = list(schema.columns) if names is None else list(names)
    if not chosen:
        raise ParameterError("columns is empty; name at least one column, or leave it out for all of them")
    if len(set(chosen)) != len(chosen):
        raise ParameterError("columns names a column twice; each may stand once")
    if len(chosen) > MOST_COLUMNS:
        raise UnsupportedQuery(
            f"a table of {len(chosen)} columns is too wide to synthesize at once; "
            f"at most {MOST_COLUMNS}: choose fewer with columns="
        )
    return tuple(Column.of(name, schema.space(name)) for name in chosen)


def _edges(points: int) -> tuple[int, ...]:
    """Every point by itself, or the two ends and equal cells between them."""
    if points <= CELLS:
        return tuple(range(points))
    inner = CELLS - 2
    return (0, *(1 + (points - 2) * k // inner for k in range(inner)), points - 1)
