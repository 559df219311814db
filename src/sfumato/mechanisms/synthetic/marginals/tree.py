r"""Tree decompositions that grow by one pair of columns at a time.

A tree of bags (sets of columns) such that each measured pair lies in a bag and the bags that hold a column are
connected.  Adding a pair that no bag holds puts one of its two columns into every bag on the way to the other,
whichever makes the tables smaller; both choices keep the two properties, so that inference stays exact and its size is
known before the pair is measured.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np
import numpy.typing as npt

__all__ = ["Bag", "JunctionTree", "Pair"]

Pair = tuple[int, int]
Bag = tuple[int, ...]
Whole = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class JunctionTree:
    """Bags, parents first; `parents[k]` is the bag above bag k, -1 for the first.

    >>> tree = JunctionTree.of((2, 3, 4)).including((0, 1)).including((1, 2))
    >>> tree.bags, tree.cells
    (((0, 1), (1, 2)), 18)
    >>> tree.including((0, 2)).bags
    ((0, 1, 2),)
    """

    sizes: tuple[int, ...]
    bags: tuple[Bag, ...]
    parents: tuple[int, ...]
    _homes: dict[Bag, int | None] = field(default_factory=dict, init=False, repr=False, compare=False)

    @classmethod
    def of(cls, sizes: Iterable[int]) -> JunctionTree:
        """Every column by itself."""
        held = tuple(sizes)
        return cls(held, tuple((column,) for column in range(len(held))), (-1, *([0] * (len(held) - 1))))

    @property
    def cells(self) -> int:
        """How many cells all bags have together."""
        return sum(self.volume(bag) for bag in self.bags)

    @property
    def largest(self) -> int:
        """How many cells the largest bag has."""
        return max(self.volume(bag) for bag in self.bags)

    def volume(self, bag: Iterable[int]) -> int:
        """How many cells a set of columns has."""
        return math.prod(self.sizes[column] for column in bag)

    def separator(self, place: int) -> Bag:
        """What a bag shares with its parent."""
        above = self.parents[place]
        return () if above < 0 else tuple(c for c in self.bags[place] if c in self.bags[above])

    def home(self, columns: Bag) -> int | None:
        """The smallest bag that holds all of these columns; looked up once."""
        if columns not in self._homes:
            held = [place for place, bag in enumerate(self.bags) if set(columns).issubset(bag)]
            self._homes[columns] = min(held, key=lambda place: self.volume(self.bags[place]), default=None)
        return self._homes[columns]

    def including(self, pair: Pair) -> JunctionTree:
        """The tree with one more pair in a bag."""
        if self.home(pair) is not None:
            return self
        bags, links = [set(bag) for bag in self.bags], self._links()
        path = self._path(pair)
        steps = list(pairwise(path))
        loose = [frozenset(step) for step in steps if not bags[step[0]] & bags[step[1]]]
        if loose:  # not connected until now: the pair becomes the bridge
            bags.append(set(pair))
            links = links - {loose[0]} | {frozenset((end, len(bags) - 1)) for end in (path[0], path[-1])}
        else:
            first, second = pair
            before = sum(self.volume(self.bags[place]) for place in path[:-1]) * self.sizes[second]
            after = sum(self.volume(self.bags[place]) for place in path[1:]) * self.sizes[first]
            column, way = (first, path[1:]) if after <= before else (second, path[:-1])
            for place in way:
                bags[place].add(column)
        return _rooted(self.sizes, *_maximal(bags, links))

    def ways(self) -> Whole:
        """For each pair, the cells of the bags that `including` leads through: of the first, which holds one column, of
        those between together, of the largest of them, and of the last, which holds the other column.
        """
        found = np.zeros((4, len(self.sizes), len(self.sizes)), dtype=np.int64)
        sizes = np.array(self.sizes)
        found[0], found[3] = sizes[:, np.newaxis], sizes  # where nothing connects two columns
        beside, volumes = self.joined(), [self.volume(bag) for bag in self.bags]
        for column in range(len(self.sizes)):
            for other, way in self._ways(column, beside, volumes):
                found[:, column, other] = way
        return found

    def joined(self) -> list[list[int]]:
        """The bags beside each bag that share a column with it."""
        return [
            [other for other in beside if not set(self.bags[place]).isdisjoint(self.bags[other])]
            for place, beside in enumerate(self.neighbors())
        ]

    def _ways(
        self, column: int, beside: list[list[int]], volumes: list[int]
    ) -> Iterator[tuple[int, tuple[int, int, int, int]]]:
        """One walk from the bags that hold a column to all later ones; where a bag holds both there is no way to go.

        It ends where bags share no column: the pair is a bridge beyond.
        """
        start = next(place for place, bag in enumerate(self.bags) if column in bag)
        stack, seen = [(start, -1, (0, 0, 0))], {column}
        while stack:
            place, before, (first, between, largest) = stack.pop()
            bag, volume = self.bags[place], volumes[place]
            inside = column in bag
            for other in bag:
                if other > column and other not in seen:
                    seen.add(other)
                    yield other, (0, 0, 0, 0) if inside else (first, between, largest, volume)
            onward = (volume, 0, 0) if inside else (first, between + volume, max(largest, volume))
            stack += [(following, place, onward) for following in beside[place] if following != before]

    def neighbors(self) -> list[list[int]]:
        """The bags beside each bag."""
        beside: list[list[int]] = [[] for _ in self.bags]
        for place, above in enumerate(self.parents):
            if above >= 0:
                beside[place].append(above)
                beside[above].append(place)
        return beside

    def _path(self, pair: Pair) -> list[int]:
        """The bags from one that holds the first column to one that holds the second, no longer than needed."""
        above = {place: self._ancestors(place) for place, bag in enumerate(self.bags) if set(pair) & set(bag)}
        ways = (
            _between(above[a], above[b])
            for a in above
            for b in above
            if pair[0] in self.bags[a] and pair[1] in self.bags[b]
        )
        return min(ways, key=len)

    def _ancestors(self, place: int) -> list[int]:
        way = [place]
        while self.parents[way[-1]] >= 0:
            way.append(self.parents[way[-1]])
        return way

    def _links(self) -> set[frozenset[int]]:
        return {frozenset((place, above)) for place, above in enumerate(self.parents) if above >= 0}


def _between(one: list[int], other: list[int]) -> list[int]:
    """The way between two bags, from their ways to the root."""
    shared = set(one) & set(other)
    up = [place for place in one if place not in shared]
    down = [place for place in other if place not in shared]
    top = next(place for place in one if place in shared)
    return [*up, top, *reversed(down)]


def _maximal(bags: list[set[int]], links: set[frozenset[int]]) -> tuple[list[set[int]], set[frozenset[int]]]:
    """Melt every bag that lies within a neighbor into it."""
    alive = set(range(len(bags)))
    melted = True
    while melted:
        melted = False
        for link in sorted(links, key=sorted):
            a, b = sorted(link)
            small, large = (a, b) if bags[a] <= bags[b] else (b, a)
            if bags[small] <= bags[large]:
                rest = {place for other in links if small in other for place in other} - {small, large}
                links = {other for other in links if small not in other}
                links |= {frozenset((large, place)) for place in rest}
                alive.discard(small)
                melted = True
                break
    order = sorted(alive)
    renamed = {place: k for k, place in enumerate(order)}
    return [bags[place] for place in order], {frozenset(renamed[place] for place in link) for link in links}


def _rooted(sizes: tuple[int, ...], bags: list[set[int]], links: set[frozenset[int]]) -> JunctionTree:
    """The tree with parents first, from the first bag."""
    beside: list[list[int]] = [[] for _ in bags]
    for link in sorted(links, key=sorted):
        a, b = sorted(link)
        beside[a].append(b)
        beside[b].append(a)
    order, above = [0], {0: -1}
    for place in order:
        for other in beside[place]:
            if other not in above:
                above[other] = place
                order.append(other)
    position = {place: k for k, place in enumerate(order)}
    return JunctionTree(
        sizes,
        tuple(tuple(sorted(bags[place])) for place in order),
        tuple(-1 if above[place] < 0 else position[above[place]] for place in order),
    )
