"""Which candidates a model has room for: its columns are as fine as some measured pair needs them, and no finer.

A column that no pair was measured of has its coarsest groups in the tree, where it is independent of the others; what
is known of its levels within a group comes from its own counts.  All of it is public.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt

from sfumato.mechanisms.synthetic.marginals.levels import Groups
from sfumato.mechanisms.synthetic.marginals.tree import Bag, JunctionTree

__all__ = ["Room", "regrouped"]

LARGEST_TREE = 1_000_000  # cells of all bags together
LARGEST_BAG = 300_000

Whole = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]


@dataclass(slots=True)
class Room:
    """The chains of nested groups, and what was found too large: trees only grow, so that it stays so."""

    chains: Sequence[tuple[Groups, ...]]
    full: set[tuple[int, ...]] = field(default_factory=set)  # two columns and their resolutions
    sizes: list[list[int]] = field(init=False)  # of the groups at each place of each chain

    def __post_init__(self) -> None:
        self.sizes = [[int(groups.max()) + 1 for groups in chain] for chain in self.chains]

    def empty(self) -> JunctionTree:
        """Every column by itself, in its coarsest groups."""
        return JunctionTree.of(sizes[-1] for sizes in self.sizes)

    def fineness(self, tree: JunctionTree) -> list[int]:
        """The place in its chain that each column has in a tree."""
        return [
            next(place for place, size in enumerate(sizes) if size <= own)
            for sizes, own in zip(self.sizes, tree.sizes, strict=True)
        ]

    @property
    def together(self) -> bool:
        """Whether one bag has room for all columns at their finest."""
        return math.prod(sizes[0] for sizes in self.sizes) <= LARGEST_TREE

    def including(self, tree: JunctionTree, columns: Bag, fineness: Bag) -> JunctionTree:
        """The tree with one more pair in a bag, both columns at least as fine as asked."""
        sizes = list(tree.sizes)
        for column, place in zip(columns, fineness, strict=True):
            sizes[column] = max(sizes[column], self.sizes[column][place])
        one, other = columns
        return replace(tree, sizes=tuple(sizes)).including((one, other))

    def fitting(self, tree: JunctionTree, offered: Whole) -> Whole:
        """The places of those that fit, among rows of two columns and their resolutions; those of a pair follow one
        another, finest first.
        """
        fits = self._surely(tree, offered)
        refused = None
        for place in np.flatnonzero(~fits)[::-1]:  # coarsest first: what is finer than one that is refused is too
            one, other, *fineness = offered[place].tolist()
            if (one, other) == refused:
                continue
            larger = None
            if (one, other, *fineness) not in self.full:
                larger = self.including(tree, (one, other), tuple(fineness))
            if larger is not None and larger.cells <= LARGEST_TREE and larger.largest <= LARGEST_BAG:
                fits[place] = True
            else:
                self.full.add((one, other, *fineness))
                refused = one, other
        return np.flatnonzero(fits)

    def _surely(self, tree: JunctionTree, offered: Whole) -> Flags:
        """Whether those fit by bounds: on the tree with finer columns, and on what one more pair adds to it."""
        one, other = offered[:, 0], offered[:, 1]
        most = max(len(sizes) for sizes in self.sizes)
        sizes = np.array([sizes + [0] * (most - len(sizes)) for sizes in self.sizes])
        finer = np.maximum(1.0, sizes / np.array(tree.sizes)[:, np.newaxis])  # times the groups that a column has
        left, right = finer[one, offered[:, 2]], finer[other, offered[:, 3]]
        sums, most_cells = _held(tree)
        cells = tree.cells + (left - 1) * sums[one, one] + (right - 1) * sums[other, other]
        cells += (left - 1) * (right - 1) * sums[one, other]
        after, bag_after, before, bag_before = tree.growth()[:, one, other]
        bag = np.maximum(bag_after, bag_before)  # of either way, where finer columns may change which is taken
        bag = np.where(left * after <= before, bag_after, np.where(right * before < after, bag_before, bag))
        largest = np.maximum(left * most_cells[one, one], right * most_cells[other, other])
        largest = np.maximum(largest, left * right * np.maximum(bag, most_cells[one, other]))
        fits = cells + left * right * np.minimum(after, before) <= LARGEST_TREE
        return np.asarray(fits & (np.maximum(largest, tree.largest) <= LARGEST_BAG))


def _held(tree: JunctionTree) -> tuple[Whole, Whole]:
    """For each two columns, and on the diagonal for each, the cells of the bags that hold them: all, and the most."""
    sums = np.zeros((len(tree.sizes), len(tree.sizes)), dtype=np.int64)
    most = sums.copy()
    for bag in tree.bags:
        volume, places = tree.volume(bag), np.ix_(bag, bag)
        sums[places] += volume
        most[places] = np.maximum(most[places], volume)
    return sums, most


def regrouped(chain: tuple[Groups, ...], fine: int, coarse: int) -> Groups:
    """From the groups at one place in a chain to those at a coarser one."""
    out = np.zeros(int(chain[fine].max()) + 1, dtype=np.int64)
    out[chain[fine]] = chain[coarse]
    return out
