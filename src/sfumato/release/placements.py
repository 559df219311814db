"""Made rows with their values moved inside their cells: each row as it is, and as it might be instead.

A number is counted in cells, and nothing is measured inside a cell: its values may all lie at one end.  So each row
stands for several placements of the values that a question reads: the ends of their cells, the made values, and both
sides of every public point where the question cuts a cell (`cuts`).  Where a value is read by a formula, some places
between the ends are taken as well.  A condition or a bin can differ between placements only in the rows of cut cells.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np
import numpy.typing as npt

from sfumato.errors import UnsupportedQuery
from sfumato.queries.conditions import Test
from sfumato.queries.encoding import Column
from sfumato.queries.evaluation import Made, indexed
from sfumato.queries.formulas import formula
from sfumato.queries.goals import Batch
from sfumato.queries.predicates import Predicate
from sfumato.queries.rules import Rules

__all__ = ["Cut", "Placed", "cells_of", "find_cuts", "place_rows"]

MOST_PLACED = 1_500_000  # rows times placements: of more rows, some stand for the others
MOST_WAYS = 20_000  # placements of one row: of more, nothing is said
FEW_WAYS = 400  # of more, formulas are looked at in fewer places
PARTS = (1 / 4, 1 / 2, 3 / 4)  # of a cell, where a formula reads the value

Whole = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]
Reals = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Cut:
    """A column whose values are moved: its cells, the points where a question cuts them, and how it is read."""

    column: Column
    edges: tuple[int, ...]
    points: tuple[int, ...] = ()  # first indices on the upper side of each cut
    measured: bool = False  # whether its value itself counts, not only the side of a cut on which it lies
    computed: bool = False  # whether a formula reads it

    @property
    def moves(self) -> bool:
        """Whether the answer can depend on where values lie inside their cells."""
        ends = np.append(np.array(self.edges), self.column.points)
        if self.measured or self.computed:
            return bool((np.diff(ends) > 1).any())
        return bool(set(self.points) - {0, self.column.points} - set(self.edges))

    def ends(self, held: Whole) -> tuple[Whole, Whole]:
        """The first and the last index of each value's cell; a missing value stays missing."""
        starts = np.array(self.edges, dtype=np.int64)
        cell = np.clip(np.searchsorted(starts, held, side="right") - 1, 0, None)
        last = np.append(starts[1:], self.column.points)[cell] - 1
        return np.where(held < 0, held, starts[cell]), np.where(held < 0, held, last)

    def is_cut(self, held: Whole) -> Flags:
        """Which values lie in a cell that the question cuts."""
        first, last = self.ends(held)
        points = np.array(sorted(set(self.points)), dtype=np.int64)
        inside = np.searchsorted(points, last, side="right") - np.searchsorted(points, first, side="right")
        return np.asarray((inside > 0) & (held >= 0))

    def places(self, held: Whole, fewer: bool = False) -> list[Whole]:
        """Where each value may lie instead, the made place first; as many for every row."""
        first, last = self.ends(held)
        found = [held, first, last]
        if self.computed and not fewer:
            found += [np.where(held < 0, held, first + ((last - first) * part).astype(np.int64)) for part in PARTS]
        points = np.array(sorted(set(self.points)), dtype=np.int64)
        if not points.size:
            return found
        begin, end = (np.searchsorted(points, side, side="right") for side in (first, last))
        for turn in range(int(np.max(end - begin, initial=0))):
            inside = (begin + turn < end) & (held >= 0)
            point = points[np.minimum(begin + turn, len(points) - 1)]
            found += [np.where(inside, point, held), np.where(inside, point - 1, held)]
        return found


@dataclass(frozen=True, slots=True, eq=False)
class Placed:
    """Some rows, each in `ways` placements, as indices of all columns: the made one first, then the others.

    Place k of row r is at k * len(rows) + r.  `rows` says which of the made rows they are, `weight` for how many each
    of them stands.
    """

    rows: Whole
    weight: float
    ways: int
    held: Mapping[str, Whole]
    rules: Rules

    def column(self, name: str) -> Whole:
        """The indices of a column, computed ones and entries of arrays included."""
        if name in self.held:
            return self.held[name]
        schema = self.rules.schema
        if name in self.rules.made:
            return self.rules.completed(self.held)[0][name]
        sources = {source: self.column(source) for source in schema.sources(name)}
        return indexed(Made(schema, sources), formula(schema, name), schema.space(name))[0]

    def values(self, name: str) -> Reals:
        """The numbers of a column, NaN where missing."""
        held, lattice = self.column(name), self.rules.schema.lattice(name)
        return np.where(held < 0, np.nan, lattice.values(held + lattice.low))

    def holds(self, condition: Predicate | None) -> Flags:
        """Where a bound condition holds."""
        count = self.ways * len(self.rows)
        return np.ones(count, dtype=bool) if condition is None else np.asarray(condition.holds(self._tested))

    def _tested(self, test: Test) -> Flags:
        if test.kind == "contains":
            return Batch(self.held, self.rules.schema).holds(test)
        held, schema = self.column(test.column), self.rules.schema
        if test.kind == "missing":
            return np.asarray(held < 0)
        labels = schema.space(test.column).labels
        if labels is not None:
            return np.isin(held, [place for place, label in enumerate(labels) if test.passes(label)])
        low, high = (test.box() or {}).get(test.column, (1, 0))
        points = held + schema.lattice(test.column).low
        return np.asarray((held >= 0) & (points >= low) & (points <= high))


def cells_of(column: Column, groups: int | None = None) -> tuple[int, ...]:
    """The first indices of the cells that values were counted in; of `groups` of neighboring levels where these are."""
    edges = column.edges or ()
    if groups is None or column.valued <= groups:
        return edges
    starts = np.flatnonzero(np.diff(np.arange(column.valued) * groups // column.valued, prepend=-1))
    return tuple(edges[start] for start in starts)


def find_cuts(
    columns: Sequence[Column],
    rules: Rules,
    measured: Sequence[str],
    points: Mapping[str, Sequence[int]],
    groups: int | None = None,
) -> list[Cut]:
    """The columns of numbers whose places inside cells matter to a question.

    `measured`: the columns whose values count.  `points`: for each column of a condition or of keys the lattice indices
    at which it is cut.  Columns that are computed stand for those that they are computed from.
    """
    schema = rules.schema
    plain = {column.name for column in columns}
    direct = {name for name in measured if name in plain}
    formulas = {name for name in (*measured, *points) if name not in plain}
    behind = {source for name in formulas for one in schema.sources(name) for source in rules.sources([one])}
    found = []
    for column in columns:
        computed = column.name in behind or (column.whole is not None and column.whole in {*behind, *measured})
        read = column.name in direct or column.name in points or computed
        if not column.ordered or not read:
            continue
        lattice = column.space.lattice
        low = 0 if lattice is None else lattice.low
        here = tuple(point - low for point in points.get(column.name, ()) if 0 < point - low < column.points)
        cut = Cut(column, cells_of(column, groups), here, column.name in direct, computed)
        if cut.moves:
            found.append(cut)
    return found


def place_rows(held: Mapping[str, Whole], cuts: Sequence[Cut], rules: Rules) -> Iterator[Placed]:
    """All rows in all their placements; those without a cut cell come first, as fewer placements do for them."""
    count = len(next(iter(held.values())))
    cut = np.zeros(count, dtype=bool)
    for one in cuts:
        cut |= one.is_cut(held[one.column.name])
    moved = [one for one in cuts if one.measured or one.computed]
    for rows, columns in ((np.flatnonzero(~cut), moved), (np.flatnonzero(cut), list(cuts))):
        if len(rows):
            yield _placed(held, columns, rules, rows)


def _placed(held: Mapping[str, Whole], cuts: Sequence[Cut], rules: Rules, rows: Whole) -> Placed:
    """These rows, or as many of them as there is room for."""
    own = {one.column.name: one.places(held[one.column.name][rows]) for one in cuts}
    if math.prod(map(len, own.values())) > FEW_WAYS:
        own = {one.column.name: one.places(held[one.column.name][rows], fewer=True) for one in cuts}
    ways = math.prod(map(len, own.values()))
    if ways > MOST_WAYS:
        raise UnsupportedQuery("the question cuts cells in too many places")
    kept = np.arange(len(rows))
    if ways * len(rows) > MOST_PLACED:
        most = MOST_PLACED // ways
        kept = np.arange(most) * len(rows) // most
    moved: dict[str, list[Whole]] = {name: [] for name in own}
    for way in product(*own.values()):
        for name, place in zip(own, way, strict=True):
            moved[name].append(place[kept])
    some = {name: np.concatenate(places) for name, places in moved.items()}
    rest = {name: np.tile(column[rows[kept]], ways) for name, column in held.items() if name not in some}
    return Placed(rows[kept], len(rows) / len(kept), ways, {**some, **rest}, rules)
