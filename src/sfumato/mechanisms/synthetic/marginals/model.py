r"""A maximum-entropy model of a table: potentials on columns and pairs, exact marginals on a junction tree.

P(x) is proportional to exp(sum of potentials), one potential for each measured column or pair.  Sums over the tree
(two sweeps of messages between bags) give the marginal of every bag; those of pairs in different bags follow through
the separators between them.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from sfumato.mechanisms.synthetic.marginals import tables
from sfumato.mechanisms.synthetic.marginals.sweeps import Belief, Sweeps
from sfumato.mechanisms.synthetic.marginals.tables import Reals, margin, ratio, spread
from sfumato.mechanisms.synthetic.marginals.tree import Bag, JunctionTree, Pair

__all__ = ["Model", "Reals", "margin"]

LEAST = 1e-300  # weights that vanish together count as this


@dataclass(frozen=True, slots=True, eq=False)
class Model:
    """The calibrated tree: `held[k]` is the probability table of bag k; `log_sum` normalizes the potentials."""

    tree: JunctionTree
    held: tuple[Belief, ...]
    log_sum: float

    @classmethod
    def calibrated(cls, tree: JunctionTree, potentials: Mapping[Bag, Reals]) -> Model:
        """The model whose log-probability is the sum of the potentials, up to a constant."""
        tops = [float(table.max()) for table in potentials.values()]
        parts = zip(potentials.values(), tops, strict=True)
        found = Sweeps.of(tree, tuple(potentials)).swept([np.exp(table - top) for table, top in parts])
        if found is None:
            return cls._by_energies(tree, potentials)
        return cls(tree, found[0], math.fsum(tops) + found[1])

    @classmethod
    def _by_energies(cls, tree: JunctionTree, potentials: Mapping[Bag, Reals]) -> Model:
        """The same where products of weights vanish: potentials are added up before any is exponentiated."""
        energies = _energies(tree, potentials)
        tops = [float(energy.max()) for energy in energies]
        beliefs = [_exponential(energy, top) for energy, top in zip(energies, tops, strict=True)]
        upward: list[Reals] = [np.ones(()) for _ in beliefs]
        for place in range(len(beliefs) - 1, 0, -1):
            above, shared = tree.parents[place], tree.separator(place)
            message = margin(beliefs[place], tree.bags[place], shared)
            upward[place], largest = message, max(LEAST, float(message.max()))
            beliefs[above] *= spread(message / largest, shared, tree.bags[above])
            tops.append(math.log(largest))
        whole = max(LEAST, float(beliefs[0].sum()))
        beliefs[0] /= whole
        for place in range(1, len(beliefs)):
            above, shared = tree.parents[place], tree.separator(place)
            wanted = margin(beliefs[above], tree.bags[above], shared)
            beliefs[place] *= spread(ratio(wanted, upward[place]), shared, tree.bags[place])
        held = (Belief.whole(bag, table) for bag, table in zip(tree.bags, beliefs, strict=True))
        return cls(tree, tuple(held), math.fsum(tops) + math.log(whole))

    @property
    def beliefs(self) -> tuple[Reals, ...]:
        """The tables of all bags, written out once."""
        return tuple(belief.sum(bag) for belief, bag in zip(self.held, self.tree.bags, strict=True))

    def marginal(self, columns: Bag) -> Reals:
        """The table of columns that lie in one bag."""
        place = self.tree.home(columns)
        if place is None:
            raise AssertionError("no bag holds these columns")
        return self.sum(place, columns)

    def sum(self, place: int, part: Bag) -> Reals:
        """A bag's table summed over the columns that are not in `part`; each sum is taken once."""
        return self.held[place].sum(part)

    def pairs(self) -> Iterator[tuple[Pair, Reals]]:
        """The tables of all pairs of columns, in order."""
        walks, many = _Walks(self, self.tree.joined()), len(self.tree.sizes)
        alone = [self.marginal((column,)) for column in range(many)]
        for column in range(many):
            found = walks.beside(column)
            for other in range(column + 1, many):
                yield (column, other), found[other] if other in found else np.outer(alone[column], alone[other])


@dataclass(frozen=True, slots=True, eq=False)
class _Walks:
    """Walks through a calibrated tree."""

    model: Model
    neighbors: list[list[int]]
    ways: dict[tuple[int, Bag, Bag], Reals] = field(default_factory=dict)

    def beside(self, column: int) -> dict[int, Reals]:
        """The tables of one column with each later one that is connected to it."""
        bags = self.model.tree.bags
        start = next(place for place, bag in enumerate(bags) if column in bag)
        found: dict[int, Reals] = {}
        stack: list[tuple[int, int, Reals | None]] = [(start, -1, None)]
        while stack:
            place, before, arriving = stack.pop()
            bag = bags[place]
            shared = () if before < 0 else tuple(c for c in bag if c in bags[before])
            for other in bag:
                if other > column and other not in found:
                    found[other] = self._joint(place, shared, arriving, column, (other,))
            for following in self.neighbors[place]:
                if following != before:
                    onward = tuple(c for c in bag if c in bags[following])
                    inside = column in bags[following]
                    table = None if inside else self._joint(place, shared, arriving, column, onward)
                    stack.append((following, place, table))
        return found

    def _joint(self, place: int, shared: Bag, arriving: Reals | None, column: int, wanted: Bag) -> Reals:
        """P(column, wanted) for columns of a bag, by P(column, shared) unless the bag holds the column."""
        if arriving is None:
            return _ordered(self.model.sum(place, tuple(sorted({column, *wanted}))), column, wanted)
        kept, gone, new = _apart(shared, wanted)
        onward = self._onward(place, shared, wanted)
        left = arriving.transpose([*(1 + shared.index(c) for c in kept), 0, *(1 + shared.index(c) for c in gone)])
        found = left.reshape(len(onward), -1, onward.shape[1]) @ onward
        sizes, order = self.model.tree.sizes, (*kept, column, *new)
        found = found.reshape([*(sizes[c] for c in kept), -1, *(sizes[c] for c in new)])
        return found.transpose([order.index(c) for c in (column, *wanted)])

    def _onward(self, place: int, shared: Bag, wanted: Bag) -> Reals:
        """P(new given shared) in a bag, shaped (kept, gone, new): see `_apart`."""
        if (place, shared, wanted) not in self.ways:
            kept, gone, new = _apart(shared, wanted)
            held = tuple(sorted({*shared, *wanted}))
            table = self.model.sum(place, held).transpose([held.index(c) for c in (*kept, *gone, *new)])
            below = self.model.sum(place, shared).transpose([shared.index(c) for c in (*kept, *gone)])
            groups, summed = (math.prod(self.model.tree.sizes[c] for c in part) for part in (kept, gone))
            shape = groups, summed, -1
            self.ways[place, shared, wanted] = ratio(table.reshape(shape), below.reshape(shape))
        return self.ways[place, shared, wanted]


def _apart(shared: Bag, wanted: Bag) -> tuple[Bag, Bag, Bag]:
    """What is in both, in the first alone, and in the second alone."""
    return (
        tuple(c for c in wanted if c in shared),
        tuple(c for c in shared if c not in wanted),
        tuple(c for c in wanted if c not in shared),
    )


def _exponential(energy: Reals, top: float) -> Reals:
    """exp(energy - top), in place."""
    energy -= top
    return np.asarray(np.exp(energy, out=energy))


def _energies(tree: JunctionTree, potentials: Mapping[Bag, Reals]) -> list[Reals]:
    parts: list[list[Bag]] = [[] for _ in tree.bags]
    for columns in potentials:
        place = tree.home(columns)
        if place is None:
            raise AssertionError("every potential lies in a bag")
        parts[place].append(columns)
    return [_added(tree.sizes, bag, held, potentials) for bag, held in zip(tree.bags, parts, strict=True)]


def _added(sizes: Sequence[int], bag: Bag, parts: Sequence[Bag], potentials: Mapping[Bag, Reals]) -> Reals:
    """The sum of potentials over a bag; those that lack one of its two largest columns are added up without it."""
    out = np.zeros([sizes[column] for column in bag])
    if out.size > tables.SMALL:
        for column in sorted(bag, key=lambda c: -sizes[c])[:2]:
            without, parts = ([part for part in parts if (column in part) == inside] for inside in (False, True))
            if without:
                rest = tuple(c for c in bag if c != column)
                out += spread(_added(sizes, rest, without, potentials), rest, bag)
    for part in parts:
        out += spread(potentials[part], part, bag)
    return out


def _ordered(table: Reals, column: int, wanted: Bag) -> Reals:
    """Sorted axes brought into the order column, wanted."""
    if column in wanted:
        return table
    return np.moveaxis(table, sorted([column, *wanted]).index(column), 0)
