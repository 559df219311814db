"""Which candidates a model has room for: its columns are as fine as some measured pair needs them, and no finer.

A column that no pair was measured of has its coarsest groups in the tree, where it is independent of the others; what
is known of its levels within a group comes from its own counts.  All of it is public.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from sfumato.mechanisms.synthetic.marginals.levels import Groups
from sfumato.mechanisms.synthetic.marginals.tree import Bag, JunctionTree

__all__ = ["Room", "regrouped"]

LARGEST_TREE = 1_000_000  # cells of all bags together
LARGEST_BAG = 300_000


@dataclass(slots=True)
class Room:
    """The chains of nested groups, and what was found too large: trees only grow, so that it stays so."""

    chains: Sequence[tuple[Groups, ...]]
    full: set[tuple[Bag, Bag]] = field(default_factory=set)

    def empty(self) -> JunctionTree:
        """Every column by itself, in its coarsest groups."""
        return JunctionTree.of(self.size(column, -1) for column in range(len(self.chains)))

    def size(self, column: int, fineness: int) -> int:
        """How many groups a column has at a place in its chain."""
        return int(self.chains[column][fineness].max()) + 1

    def fineness(self, tree: JunctionTree) -> list[int]:
        """The place in its chain that each column has in a tree."""
        return [
            next(place for place in range(len(chain)) if self.size(column, place) <= tree.sizes[column])
            for column, chain in enumerate(self.chains)
        ]

    @property
    def together(self) -> bool:
        """Whether one bag has room for all columns at their finest."""
        return math.prod(self.size(column, 0) for column in range(len(self.chains))) <= LARGEST_TREE

    def including(self, tree: JunctionTree, columns: Bag, fineness: Bag) -> JunctionTree:
        """The tree with one more pair in a bag, both columns at least as fine as asked."""
        sizes = list(tree.sizes)
        for column, place in zip(columns, fineness, strict=True):
            sizes[column] = max(sizes[column], self.size(column, place))
        one, other = columns
        return replace(tree, sizes=tuple(sizes)).including((one, other))

    def fitting(self, tree: JunctionTree, offered: Sequence[tuple[Bag, Bag]]) -> list[int]:
        """The places of the pairs and resolutions that fit; those of a pair follow one another, finest first."""
        growth, cells, largest = tree.growth(), tree.cells, tree.largest
        found: list[int] = []
        refused = None
        for place in range(len(offered) - 1, -1, -1):  # coarsest first: what is finer than one that is refused is too
            columns, fineness = offered[place]
            if columns == refused or (columns, fineness) in self.full:
                refused = columns
                continue
            factor = 1.0
            for column, at in zip(columns, fineness, strict=True):
                factor *= max(1.0, self.size(column, at) / tree.sizes[column])
            more, bag = growth[columns[0], columns[1]]
            if factor * (cells + more) > LARGEST_TREE or factor * max(largest, bag) > LARGEST_BAG:
                larger = self.including(tree, columns, fineness)
                if larger.cells > LARGEST_TREE or larger.largest > LARGEST_BAG:
                    self.full.add((columns, fineness))
                    refused = columns
                    continue
            found.append(place)
        return found[::-1]


def regrouped(chain: tuple[Groups, ...], fine: int, coarse: int) -> Groups:
    """From the groups at one place in a chain to those at a coarser one."""
    out = np.zeros(int(chain[fine].max()) + 1, dtype=np.int64)
    out[chain[fine]] = chain[coarse]
    return out
