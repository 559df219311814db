r"""Tables of any columns, in coarse groups of each, from a calibrated model: also of columns that share no bag.

From the bag of the first column messages are asked of the neighbors that lead to others: the law of these, in their
coarse groups, given what both bags share.  A column becomes coarse where it is first found, so that messages stay small
however fine the tree is; each message is computed once for all tables that need it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from sfumato.mechanisms.synthetic.marginals.model import Model
from sfumato.mechanisms.synthetic.marginals.tables import Reals, ratio, spread
from sfumato.mechanisms.synthetic.marginals.tree import Bag

__all__ = ["Joint"]


@dataclass(frozen=True, slots=True, eq=False)
class Joint:
    """`views[c]` has, for each coarse group of column c, the part of each of its groups in the tree that lies there."""

    model: Model
    views: Sequence[Reals]
    _beside: list[list[int]] = field(init=False)
    _beyond: dict[tuple[int, int], frozenset[int]] = field(default_factory=dict, init=False)
    _sent: dict[tuple[int, int, Bag], Reals] = field(default_factory=dict, init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_beside", self.model.tree.joined())

    def of(self, wanted: Bag) -> Reals:
        """The probabilities of columns, which are sorted, in their coarse groups."""
        bags = self.model.tree.bags
        home = self.model.tree.home(wanted)
        start = next(place for place, bag in enumerate(bags) if wanted[0] in bag) if home is None else home
        near = tuple(column for column in wanted if column in self._columns(start, -1))
        found = self._message(start, -1, near)
        if near == wanted:
            return found
        apart = tuple(column for column in wanted if column not in near)  # of which the others are independent
        both, order = np.multiply.outer(found, self.of(apart)), near + apart
        return np.asarray(both.transpose([order.index(column) for column in wanted]))

    def _columns(self, place: int, before: int) -> frozenset[int]:
        """What a bag holds, and those behind it, seen from another."""
        if (place, before) not in self._beyond:
            behind = (self._columns(other, place) for other in self._beside[place] if other != before)
            self._beyond[place, before] = frozenset(self.model.tree.bags[place]).union(*behind)
        return self._beyond[place, before]

    def _message(self, place: int, before: int, wanted: Bag) -> Reals:
        """The law of columns given what the bag shares with the one before, whose axes stand first; computed once."""
        key = place, before, wanted
        if key not in self._sent:
            self._sent[key] = self._told(place, before, wanted)
        return self._sent[key]

    def _told(self, place: int, before: int, wanted: Bag) -> Reals:
        bag, many = self.model.tree.bags[place], len(self.model.tree.sizes)
        given = self._shared(place, before) if before >= 0 else ()
        parts: list[Any] = []
        held = {*given, *(column for column in wanted if column in bag)}
        for other in self._beside[place]:
            behind = self._columns(other, place) if other != before else frozenset()
            some = tuple(column for column in wanted if column not in bag and column in behind)
            if some:
                between = self._shared(place, other)
                held.update(between)
                parts += [self._message(other, place, some), [*between, *(many + column for column in some)]]
        own = tuple(sorted(held))
        table = self.model.sum(place, own)
        if given:
            table = ratio(table, spread(self.model.sum(place, given), given, own))
        for column in wanted:
            if column in bag:
                parts += [self.views[column], [many + column, column]]
        axes = [*given, *(many + column for column in wanted)]
        return _contracted([table, list(own), *parts], axes)

    def _shared(self, place: int, other: int) -> Bag:
        bags = self.model.tree.bags
        return tuple(column for column in bags[place] if column in bags[other])


def _contracted(parts: Sequence[Any], axes: Sequence[int]) -> Reals:
    """The sum of a product over all axes but some; axes get small numbers, as einsum has letters for few."""
    names: dict[int, int] = {}
    asked: list[Any] = [
        [names.setdefault(axis, len(names)) for axis in part] if isinstance(part, list) else part for part in parts
    ]
    return np.asarray(np.einsum(*asked, [names[axis] for axis in axes], optimize="greedy"))
