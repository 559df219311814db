"""Which candidates a model has room for: its columns are as fine as some measured pair needs them, and no finer.

A column that no pair was measured of has its coarsest groups in the tree, where it is independent of the others; what
is known of its levels within a group comes from its own counts.  All of it is public.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations

import numpy as np
import numpy.typing as npt

from sfumato.mechanisms.synthetic.marginals.levels import Groups
from sfumato.mechanisms.synthetic.marginals.tree import Bag, JunctionTree

__all__ = ["Room", "regrouped"]

LARGEST_TREE = 1_000_000  # cells of all bags together
LARGEST_BAG = 300_000

Whole = npt.NDArray[np.int64]


@dataclass(slots=True)
class Room:
    """The chains of nested groups."""

    chains: Sequence[tuple[Groups, ...]]
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
        """The tree with these columns in one bag, as fine as asked or finer: every two are in one, and so all are."""
        sizes = list(tree.sizes)
        for column, place in zip(columns, fineness, strict=True):
            sizes[column] = max(sizes[column], self.sizes[column][place])
        wider = tree if tuple(sizes) == tree.sizes else replace(tree, sizes=tuple(sizes))
        for pair in combinations(columns, 2):
            wider = wider.including(pair)
        return wider

    def volume(self, columns: Bag, fineness: Bag) -> int:
        """How many cells columns have in these groups."""
        return math.prod(self.sizes[column][place] for column, place in zip(columns, fineness, strict=True))

    def fitting(self, tree: JunctionTree, offered: Whole) -> Whole:
        """The places of those that fit, among rows of two columns and their resolutions, before bags melt into others:
        the tree with finer columns, and what one more pair adds to it by the way that adds less.
        """
        one, other = offered[:, 0], offered[:, 1]
        most = max(len(sizes) for sizes in self.sizes)
        sizes = np.array([sizes + [0] * (most - len(sizes)) for sizes in self.sizes])
        finer = np.maximum(1.0, sizes / np.array(tree.sizes)[:, np.newaxis])  # times the groups that a column has
        left, right = finer[one, offered[:, 2]], finer[other, offered[:, 3]]
        sums, most_cells = _held(tree)
        cells = tree.cells + (left - 1) * sums[one, one] + (right - 1) * sums[other, other]
        cells += (left - 1) * (right - 1) * sums[one, other]
        first, between, largest, last = tree.ways()[:, one, other]
        first, last, own = left * first, right * last, np.array(tree.sizes)
        after, before = left * own[one] * (between + last), right * own[other] * (first + between)
        bag = np.where(
            after <= before,
            left * own[one] * np.maximum(largest, last),
            right * own[other] * np.maximum(first, largest),
        )
        bag = np.maximum(bag, left * right * most_cells[one, other])
        bag = np.maximum(bag, np.maximum(left * most_cells[one, one], right * most_cells[other, other]))
        small = np.maximum(bag, tree.largest) <= LARGEST_BAG
        return np.flatnonzero(small & (cells + np.minimum(after, before) <= LARGEST_TREE))


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
