r"""Marginals of a product of tables on a junction tree, planned once and without its largest tables.

The product over a bag is not written out where two of its columns, i and j, are together in few of its factors.  Let s
be the columns in a factor with both, and t the others: the product is L[s,i,t] R[s,j,t] B[s,i,j], and its sums over j,
over i and over t are L (B R), R (B' L) and B (L R'), products of matrices for every s.  So a bag of five columns of 16
levels takes three of them instead of passes over a million cells.  Weights are exponentials whose largest is 1, so that
their products may vanish: then nothing is found, and the way by energies is left (`model.py`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import combinations

import numpy as np

from sfumato.mechanisms.synthetic.marginals import tables
from sfumato.mechanisms.synthetic.marginals.tables import Reals, margin, ordered, ratio
from sfumato.mechanisms.synthetic.marginals.tree import Bag, JunctionTree

__all__ = ["Belief", "Sweeps"]

VANISHED = 1e-200  # the largest weight, or sum of weights, that says too little
GEMM, CALL = 0.05, 1000  # what a cell, and a matrix, take in a product of matrices, beside a cell that is written

Turn = Callable[[Reals], Reals]


@dataclass(frozen=True, slots=True, eq=False)
class _Product:
    """The product of several factors over some columns: those that lack a large column are multiplied without it."""

    shape: tuple[int, ...]
    factors: tuple[tuple[int, Turn], ...]
    inner: tuple[tuple[_Product, tuple[int, ...]], ...]

    @classmethod
    def of(cls, order: Bag, sizes: Sequence[int], factors: Sequence[tuple[int, Bag]]) -> _Product:
        """The plan for factors, each with its place in a list and its columns, over columns in an order."""
        shape, inner, left = tuple(sizes[c] for c in order), [], list(factors)
        if math.prod(shape) > tables.SMALL:
            for column in sorted(order, key=lambda c: -sizes[c])[:2]:
                without = [factor for factor in left if column not in factor[1]]
                left = [factor for factor in left if column in factor[1]]
                if without:
                    rest = tuple(c for c in order if c != column)
                    inner.append((cls.of(rest, sizes, without), tuple(1 if c == column else sizes[c] for c in order)))
        return cls(shape, tuple((place, _turned(part, order, sizes)) for place, part in left), tuple(inner))

    def made(self, held: Sequence[Reals]) -> Reals:
        """The product, as an array of its own."""
        parts = [product.made(held).reshape(shape) for product, shape in self.inner]
        parts += [turn(held[place]) for place, turn in self.factors]
        if not parts:
            return np.ones(self.shape)
        out = np.empty(self.shape)
        if len(parts) == 1:
            out[...] = parts[0]
        else:
            np.multiply(parts[0], parts[1], out=out)
        for part in parts[2:]:
            out *= part
        return out


@dataclass(frozen=True, slots=True, eq=False)
class _Split:
    """The columns of a bag's one table, or of the three whose product it is, and these as stacks of matrices."""

    orders: tuple[Bag, ...]
    shapes: tuple[tuple[int, int, int], ...] = ()  # (s, i, t), (s, j, t) and (s, i, j)
    _homes: dict[Bag, int | None] = field(default_factory=dict, init=False, repr=False)

    def home(self, part: Bag) -> int | None:
        """The smallest table that has these columns; looked up once."""
        if part not in self._homes:
            have = [place for place, order in enumerate(self.orders) if set(part) <= set(order)]
            self._homes[part] = min(have, key=self._cells, default=None)
        return self._homes[part]

    def _cells(self, place: int) -> int:
        return math.prod(self.shapes[place]) if self.shapes else 0


@dataclass(frozen=True, slots=True, eq=False)
class Belief:
    """The table of a bag, as one or as a product of three; its sums are taken once each."""

    split: _Split
    made: Sequence[Reals]
    _sums: dict[Bag, Reals] = field(default_factory=dict, init=False, repr=False)
    _views: dict[int, Reals] = field(default_factory=dict, init=False, repr=False)

    @classmethod
    def whole(cls, bag: Bag, table: Reals) -> Belief:
        """A table that is written out."""
        return cls(_Split((bag,)), [table])

    def sum(self, part: Bag) -> Reals:
        """The sum over all columns that are not in `part`, which is sorted."""
        if part not in self._sums:
            place = self.split.home(part)
            self._sums[part] = self._joint(part) if place is None else self._from(place, part)
        return self._sums[part]

    def _from(self, place: int, part: Bag) -> Reals:
        """From the sum over the columns that one of the tables lacks, the largest of the others first."""
        order, table = self.split.orders[place], self._view(place)
        if table.size > tables.SMALL and len(order) > len(part) + 1:
            least = min((size, c) for size, c in zip(table.shape, order, strict=True) if c not in part)
            order = tuple(sorted((*part, least[1])))
            table = self.sum(order)
        return ordered(margin(table, order, part), order, part)

    def take(self, part: Bag, above: Bag) -> None:
        """Take a sum from another that was taken before."""
        if part not in self._sums:
            self._sums[part] = margin(self._sums[above], above, part)

    def _view(self, place: int) -> Reals:
        if place not in self._views:
            self._views[place] = self._summed(place) if self.split.shapes else self.made[place]
        return self._views[place]

    def _summed(self, place: int) -> Reals:
        parts = zip(self.made, self.split.shapes, strict=True)
        left, right, both = (table.reshape(shape) for table, shape in parts)
        if place == 0:
            found = left * (both @ right)
        elif place == 1:
            found = right * (both.transpose(0, 2, 1) @ left)
        else:
            found = both * (left @ right.transpose(0, 2, 1))
        return found.reshape(self.made[place].shape)

    def _joint(self, part: Bag) -> Reals:
        """Columns that no table has together: i, j and some of t, for each of which there is a matrix as well."""
        first, second, third = self.split.orders
        (*shared, one, other), (left, right, both) = third, self.made
        rest = first[len(shared) + 1 :]
        kept, gone = [c for c in rest if c in part], [c for c in rest if c not in part]
        stack = [*shared, *kept]
        left, right = (
            table.transpose([order.index(c) for c in (*stack, column, *gone)]).reshape(
                *(table.shape[order.index(c)] for c in (*stack, column)), -1
            )
            for table, order, column in ((left, first, one), (right, second, other))
        )
        found = left @ right.swapaxes(-1, -2) if gone else left * right.swapaxes(-1, -2)
        found *= both.reshape(*both.shape[: len(shared)], *([1] * len(kept)), *both.shape[-2:])
        order = (*stack, one, other)
        return ordered(margin(found, order, part), order, part)


@dataclass(frozen=True, slots=True, eq=False)
class _Bag:
    """The plan of one bag: its factors, each with its place in a list, and what it shares with its parent."""

    split: _Split
    products: tuple[_Product, ...]
    shared: Bag
    turn: Turn  # brings the parent's message into the table that takes it
    messages: tuple[tuple[int, Bag], ...]  # from bags below
    wanted: tuple[tuple[int, Bag, Bag], ...]  # sums for other factors, and what is summed for them before, if anything

    @classmethod
    def of(cls, tree: JunctionTree, place: int, many: int, factors: Sequence[tuple[int, Bag]]) -> _Bag:
        """The plan of a bag of a tree; factors from place `many` on are messages."""
        sizes, shared = tree.sizes, tree.separator(place)
        orders = _orders(tree.bags[place], sizes, [shared, *(part for _, part in factors)])
        split = _Split(orders, _shapes(orders, sizes))
        own = [[factor for factor in factors if split.home(factor[1]) == k] for k in range(len(orders))]
        products = tuple(_Product.of(order, sizes, some) for order, some in zip(orders, own, strict=True))
        turn = _turned(shared, orders[split.home(shared) or 0], sizes)
        wanted: list[tuple[int, Bag, Bag]] = []
        for factor, part in sorted(factors, key=lambda one: -len(one[1])):
            if factor < many:
                larger = [held for _, held, _ in wanted if set(part) < set(held)]
                wanted.append((factor, part, min(larger, key=tree.volume, default=())))
        messages = tuple(factor for factor in factors if factor[0] >= many)
        return cls(split, products, shared, turn, messages, tuple(wanted))

    def made(self, held: Sequence[Reals]) -> Belief:
        """The product of its factors."""
        return Belief(self.split, [product.made(held) for product in self.products])

    def given(self, belief: Belief, message: Reals) -> Belief:
        """The same once its parent has sent a message; its tables change."""
        belief.made[self.split.home(self.shared) or 0][...] *= self.turn(message)
        return Belief(self.split, belief.made)


@dataclass(frozen=True, slots=True, eq=False)
class Sweeps:
    """Two sweeps of messages over a tree, for factors over given columns."""

    many: int
    bags: tuple[_Bag, ...]

    @classmethod
    def of(cls, tree: JunctionTree, keys: Sequence[Bag]) -> Sweeps:
        """The plan for one factor over each of these sets of columns; messages to parents are factors after them."""
        factors: list[list[tuple[int, Bag]]] = [[] for _ in tree.bags]
        for place, key in enumerate(keys):
            home = tree.home(key)
            if home is None:
                raise AssertionError("every potential lies in a bag")
            factors[home].append((place, key))
        for place in range(1, len(tree.bags)):
            factors[tree.parents[place]].append((len(keys) + place, tree.separator(place)))
        return cls(len(keys), tuple(_Bag.of(tree, place, len(keys), factors[place]) for place in range(len(tree.bags))))

    def swept(self, weights: Sequence[Reals]) -> tuple[tuple[Belief, ...], float] | None:
        """The tables of all bags, and the logarithm of the whole sum; None where that vanishes."""
        held: list[Reals] = [*weights, *(np.ones(()) for _ in self.bags)]
        made: list[Belief] = []
        upward: list[Reals] = []
        logs = []
        for place in range(len(self.bags) - 1, -1, -1):
            bag = self.bags[place]
            made.append(bag.made(held))
            upward.append(made[-1].sum(bag.shared))
            largest = float(upward[-1].max())
            if not largest > VANISHED:
                return None
            held[self.many + place] = upward[-1] / largest
            logs.append(math.log(largest))
        held[self.many] = np.ones(())  # the first bag sent the whole sum, and gets back one
        found = []
        for place, bag in enumerate(self.bags):
            belief = bag.given(made.pop(), ratio(held[self.many + place], upward.pop()))
            for factor, part in bag.messages:
                held[factor] = belief.sum(part)
            found.append(belief)
        return tuple(found), math.fsum(logs)

    def marginals(self, found: Sequence[Belief]) -> list[Reals]:
        """The tables of every factor's columns."""
        held: dict[int, Reals] = {}
        for bag, belief in zip(self.bags, found, strict=True):
            for factor, part, above in bag.wanted:
                if above:
                    belief.take(part, above)
                held[factor] = belief.sum(part)
        return [held[factor] for factor in range(self.many)]


def _orders(bag: Bag, sizes: Sequence[int], parts: Sequence[Bag]) -> tuple[Bag, ...]:
    """The columns of the three tables that take least, or those of the bag where one table takes less."""
    whole = math.prod(sizes[c] for c in bag)
    best: tuple[float, tuple[Bag, ...]] = whole, (bag,)
    for one, other in combinations(bag, 2) if whole > tables.SMALL else ():
        both = {c for part in parts if one in part and other in part for c in part} - {one, other}
        shared, rest = tuple(sorted(both)), tuple(c for c in bag if c not in both and c not in (one, other))
        orders = (*shared, one, *rest), (*shared, other, *rest), (*shared, one, other)
        cells = sum(math.prod(sizes[c] for c in order) for order in orders)
        best = min(best, (cells + GEMM * whole + CALL * math.prod(sizes[c] for c in shared), orders))
    return best[1]


def _shapes(orders: Sequence[Bag], sizes: Sequence[int]) -> tuple[tuple[int, int, int], ...]:
    """Three tables as stacks of matrices; none of one."""
    if len(orders) == 1:
        return ()
    *shared, one, other = orders[2]
    stack = math.prod(sizes[c] for c in shared)
    rest = math.prod(sizes[c] for c in orders[0]) // (stack * sizes[one])
    return (stack, sizes[one], rest), (stack, sizes[other], rest), (stack, sizes[one], sizes[other])


def _turned(part: Bag, order: Bag, sizes: Sequence[int]) -> Turn:
    """What shapes a table over sorted columns so that it multiplies one over columns in an order."""
    axes = [part.index(c) for c in order if c in part]
    shape = tuple(sizes[c] if c in part else 1 for c in order)
    return lambda table: table.transpose(axes).reshape(shape)
