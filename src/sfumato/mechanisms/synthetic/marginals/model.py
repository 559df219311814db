r"""A maximum-entropy model of a table: potentials on columns and pairs, exact marginals on a junction tree.

P(x) is proportional to exp(sum of potentials), one potential for each measured column or pair.  Sums over the tree
(two sweeps of messages between bags) give the marginal of every bag; those of pairs in different bags follow through
the separators between them.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sfumato.mechanisms.synthetic.marginals.tree import Bag, JunctionTree, Pair

__all__ = ["Model", "Reals", "margin"]

Reals = npt.NDArray[np.float64]
LEAST = 1e-300  # weights that vanish together count as this


@dataclass(frozen=True, slots=True, eq=False)
class Model:
    """The calibrated tree: `beliefs[k]` is the probability table of bag k; `log_sum` normalizes the potentials."""

    tree: JunctionTree
    beliefs: tuple[Reals, ...]
    log_sum: float

    @classmethod
    def calibrated(cls, tree: JunctionTree, potentials: Mapping[Bag, Reals]) -> Model:
        """The model whose log-probability is the sum of the potentials, up to a constant."""
        energies = _energies(tree, potentials)
        tops = [float(energy.max()) for energy in energies]
        beliefs = [np.exp(energy - top) for energy, top in zip(energies, tops, strict=True)]
        upward: list[Reals] = [np.ones(()) for _ in beliefs]
        for place in range(len(beliefs) - 1, 0, -1):
            above, shared = tree.parents[place], tree.separator(place)
            message = margin(beliefs[place], tree.bags[place], shared)
            upward[place], largest = message, max(LEAST, float(message.max()))
            beliefs[above] *= _spread(message / largest, shared, tree.bags[above])
            tops.append(math.log(largest))
        whole = max(LEAST, float(beliefs[0].sum()))
        beliefs[0] /= whole
        for place in range(1, len(beliefs)):
            above, shared = tree.parents[place], tree.separator(place)
            wanted = margin(beliefs[above], tree.bags[above], shared)
            beliefs[place] *= _spread(_ratio(wanted, upward[place]), shared, tree.bags[place])
        return cls(tree, tuple(beliefs), math.fsum(tops) + math.log(whole))

    def marginal(self, columns: Bag) -> Reals:
        """The table of columns that lie in one bag."""
        place = self.tree.home(columns)
        if place is None:
            raise AssertionError("no bag holds these columns")
        return margin(self.beliefs[place], self.tree.bags[place], columns)

    def pairs(self) -> Iterator[tuple[Pair, Reals]]:
        """The tables of all pairs of columns, in order."""
        beside = self.tree.neighbors()
        for column in range(len(self.tree.sizes)):
            found = self._with(column, beside)
            for other in sorted(found):
                yield (column, other), found[other]

    def _with(self, column: int, beside: list[list[int]]) -> dict[int, Reals]:
        """The tables of one column with each later one."""
        start = next(place for place, bag in enumerate(self.tree.bags) if column in bag)
        found: dict[int, Reals] = {}
        stack: list[tuple[int, int, Reals | None]] = [(start, -1, None)]
        while stack:
            place, before, arriving = stack.pop()
            bag, belief = self.tree.bags[place], self.beliefs[place]
            shared = () if before < 0 else tuple(c for c in bag if c in self.tree.bags[before])
            for other in bag:
                if other > column and other not in found:
                    found[other] = self._joint(belief, bag, shared, arriving, column, (other,))
            for following in beside[place]:
                if following != before:
                    onward = tuple(c for c in bag if c in self.tree.bags[following])
                    inside = column in self.tree.bags[following]
                    table = None if inside else self._joint(belief, bag, shared, arriving, column, onward)
                    stack.append((following, place, table))
        return found

    def _joint(self, belief: Reals, bag: Bag, shared: Bag, arriving: Reals | None, column: int, wanted: Bag) -> Reals:
        """P(column, wanted) for columns of this bag, by P(column | shared) unless the bag holds the column."""
        if arriving is None:
            return _ordered(margin(belief, bag, tuple(sorted({column, *wanted}))), column, wanted)
        kept = tuple(sorted({*shared, *wanted}))
        table = margin(belief, bag, kept)
        given = _ratio(arriving, margin(belief, bag, shared)[np.newaxis])
        letters = {column: chr(ord("b") + place) for place, column in enumerate(kept)}
        names = ["".join(letters[c] for c in part) for part in (shared, kept, wanted)]
        return np.asarray(np.einsum(f"a{names[0]},{names[1]}->a{names[2]}", given, table))


def margin(table: Reals, bag: Bag, part: Bag) -> Reals:
    """Sum a table over the columns that are not in `part` (both sorted)."""
    gone = tuple(axis for axis, column in enumerate(bag) if column not in part)
    return np.asarray(table.sum(axis=gone)) if gone else table


def _energies(tree: JunctionTree, potentials: Mapping[Bag, Reals]) -> list[Reals]:
    energies = [np.zeros(tuple(tree.sizes[c] for c in bag)) for bag in tree.bags]
    for columns, potential in potentials.items():
        place = tree.home(columns)
        if place is None:
            raise AssertionError("every potential lies in a bag")
        energies[place] += _spread(potential, columns, tree.bags[place])
    return energies


def _spread(table: Reals, part: Bag, bag: Bag) -> Reals:
    """A table over `part`, shaped so that it multiplies one over `bag`."""
    sizes = dict(zip(part, table.shape, strict=True))
    return table.reshape(tuple(sizes.get(column, 1) for column in bag))


def _ratio(above: Reals, below: Reals) -> Reals:
    return np.divide(above, below, out=np.zeros(np.broadcast_shapes(above.shape, below.shape)), where=below > 0)


def _ordered(table: Reals, column: int, wanted: Bag) -> Reals:
    """Sorted axes brought into the order column, wanted."""
    if column in wanted:
        return table
    return np.moveaxis(table, sorted([column, *wanted]).index(column), 0)
