"""Columns as finitely many public levels, and back: numbers in cells, categories as they are, missing values too.

Nothing here is read off the data.  A number's lattice is cut into at most `CELLS` levels: every point by itself where
they are few, else as `cells` says.  Where a value can be missing, one more level stands for it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from sfumato.errors import ParameterError, UnsupportedQuery
from sfumato.queries.cells import bars, cut
from sfumato.queries.cuts import checked_cuts, cut_about, grouped
from sfumato.queries.parts import parts_of
from sfumato.spaces import Categories, Numeric, Space, numeric
from sfumato.spaces.schema import Schema

__all__ = ["STAND_INS", "Column", "encoded", "known_texts"]

MOST_LEVELS = 100_000  # categories of one column
STAND_INS = tuple(map(str, range(20)))  # for texts of unknown number, wherever only public quantities count
MOST_COLUMNS = 400  # their pairs fill 640 MB at the largest number of groups that is used then

Whole = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Column:
    """The public levels of a column: `edges[k]` is the first lattice index of level k, counted from the lower bound.

    For categories `edges` is None.  `nullable`: the last level stands for missing values.  Sets and arrays are several
    columns of levels (`queries/parts.py`).  `weight`: how much its relations to others matter, a public number above 0.
    `bar_edges`: the first lattice index of each bar, where these are not the equal ones between the bounds.

    >>> from sfumato.spaces import Integers, Interval
    >>> Column.of("age", Integers(0, 3)).size, Column.of("pay", Interval(0, 10, step=0.001)).size
    (5, 257)
    """

    name: str
    space: Space
    edges: tuple[int, ...] | None
    nullable: bool
    whole: str | None = None  # the column of the table, where this is a part of it
    weight: float = 1.0
    bar_edges: tuple[int, ...] | None = None

    @classmethod
    def of(cls, name: str, space: Space) -> Column:
        """The levels of a column with this space; of texts, which are not public, those of stand-ins."""
        space = space.among(STAND_INS) or space
        if space.labels is not None:
            if len(space.labels) > MOST_LEVELS:
                raise UnsupportedQuery(
                    f"column {name!r} has {len(space.labels):,} categories; at most {MOST_LEVELS:,} can be "
                    "synthesized: declare fewer and use other="
                )
            return cls(name, space, None, not space.settled)
        if numeric(space):
            return cls(name, space, _edges(space), not space.settled)
        raise UnsupportedQuery(
            f"column {name!r} must hold numbers, dates, categories, texts, sets or arrays to be synthesized; name the "
            "columns that do (columns=[...], in the shell --column)"
        )

    @property
    def ordered(self) -> bool:
        """Whether neighboring levels are alike."""
        return self.edges is not None

    @property
    def valued(self) -> int:
        """How many levels stand for values."""
        return len(self.space.labels or self.edges or ())

    @property
    def size(self) -> int:
        """How many levels there are."""
        return self.valued + self.nullable

    @property
    def points(self) -> int:
        """How many values the column can take."""
        return self.space.lattice.width + 1 if numeric(self.space) else self.valued

    def levels(self, indices: Whole) -> Whole:
        """The level of each index that an engine reads; -1 is missing.  Whatever comes in, a level comes out."""
        if self.edges is None:
            places = indices
        else:
            places = np.searchsorted(np.array(self.edges, dtype=np.int64), indices, side="right") - 1
        last = self.size - 1  # the missing level if there is one
        return np.where((indices < 0) | (indices >= self.points), last, np.clip(places, 0, last))

    @property
    def zero(self) -> Whole:
        """The index of zero, where it is a value of an ordered column."""
        lattice = self.space.lattice if self.ordered else None
        inside = lattice is not None and lattice.low <= 0 <= lattice.high
        return np.array([-lattice.low] if lattice is not None and inside else [], dtype=np.int64)

    @property
    def barred(self) -> Column:
        """The same numbers with the bars of a public histogram for levels; where cuts made these, groups of them."""
        return replace(self, edges=bars(self.points - 1) if self.bar_edges is None else self.bar_edges)

    def about(self, cuts: object) -> Column:
        """The same numbers with cells about these points for levels."""
        space = self.space
        assert numeric(space)
        lattice = space.lattice
        edges = cut_about(lattice.low, lattice.high, _atoms(space, space.magnitudes), checked_cuts(lattice, cuts))
        return replace(self, edges=edges, bar_edges=grouped(edges))

    @property
    def declared(self) -> Column:
        """The same column with the cells of its declared bounds, whatever was found."""
        return self if self.bar_edges is None else replace(Column.of(self.name, self.space), weight=self.weight)

    def bars(self) -> Whole:
        """The bar of each level of a number; that for missing values is the last."""
        missing = [-1] if self.nullable else []
        return self.barred.levels(np.array([*(self.edges or ()), *missing], dtype=np.int64))

    def widths(self) -> Whole:
        """How many values each valued level holds."""
        if self.edges is None:
            return np.ones(self.valued, dtype=np.int64)
        ends = np.array([*self.edges, self.points], dtype=np.int64)
        return ends[1:] - ends[:-1]

    def decoded(self, indices: Whole) -> Any:
        """An Arrow array of values of the column's own type, from indices above the lower bound; -1 is null."""
        null = indices < 0
        return self.space.decoded(np.where(null, 0, indices), null)


def encoded(schema: Schema, names: Sequence[str] | None) -> tuple[Column, ...]:
    """The columns to synthesize, all of the schema by default."""
    if isinstance(names, str):
        raise ParameterError(f"columns must be a list of names, got the single text {names!r}")
    chosen = list(schema.held) if names is None else list(names)
    if not chosen:
        raise ParameterError("columns is empty; name at least one column, or leave it out for all of them")
    if len(set(chosen)) != len(chosen):
        raise ParameterError("columns names a column twice; each may stand once")
    found = tuple(column for name in chosen for column in _columns(name, schema))
    if len(found) > MOST_COLUMNS:
        apart = " (each item of a set and each entry of an array is one)" if len(found) > len(chosen) else ""
        raise UnsupportedQuery(
            f"a table of {len(found)} columns{apart} is too wide to synthesize at once; "
            f"at most {MOST_COLUMNS}: choose fewer with columns="
        )
    twice = next((name for name, held in Counter(column.name for column in found).items() if held > 1), None)
    if twice is not None:
        raise ParameterError(f"columns holds {twice!r} twice, as a column and as a part of one; leave one of them out")
    return found


def known_texts(schema: Schema, texts: Mapping[str, Sequence[str]]) -> dict[str, Categories]:
    """What columns of texts are once some are public: the first of them, where they are more than levels can be."""
    spaces = {name: schema.space(name).among(known[: MOST_LEVELS - 1]) for name, known in texts.items()}
    return {name: space for name, space in spaces.items() if space is not None}


def _columns(name: str, schema: Schema) -> list[Column]:
    """A column, or the columns that it is made of: fields of a record, items of a set, entries of an array."""
    space = schema.space(name)
    if space.fields is not None:
        return [column for field in schema.held if field.startswith(f"{name}.") for column in _columns(field, schema)]
    parts = parts_of(name, space)
    if parts is None:
        return [Column.of(name, space)]
    return [replace(Column.of(part, each), whole=name) for part, each in parts.spaces().items()]


def _edges(space: Numeric) -> tuple[int, ...]:
    """The first points of the cells, counted from the lower bound."""
    return cut(space.lattice.low, space.lattice.high, space.magnitudes, _atoms(space))


def _atoms(space: Numeric, zero: bool = False) -> frozenset[int]:
    """The lattice points that are cells of their own: what stands for missing values, and zero where it is asked."""
    missing = () if space.missing is None else (space.lattice.index(space.missing),)
    return frozenset([*missing, *([0] if zero else [])])
