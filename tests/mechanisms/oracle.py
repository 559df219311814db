"""Exact laws of whole releases: every random decision is enumerated, none is drawn."""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from collections.abc import Callable, Hashable, Sequence
from typing import Any

import numpy as np

Law = dict[Hashable, float]


class Oracle:
    """Stands in for the samplers of one module and follows every decision they could make."""

    def __init__(self) -> None:
        self.prefix: list[int] = []
        self.path: list[int] = []
        self.waiting: list[list[int]] = []
        self.probability = 1.0

    def decide(self, weights: Sequence[float]) -> int:
        """The next decision of the path; the others wait for their turn."""
        law = np.asarray(weights, dtype=float) / math.fsum(weights)
        if len(self.path) < len(self.prefix):
            k = self.prefix[len(self.path)]
        else:
            k, *others = np.flatnonzero(law > 0).tolist()
            self.waiting += [[*self.path, other] for other in others]
        self.path.append(k)
        self.probability *= law[k]
        return int(k)

    def choose(self, penalties: Any, rate: float, rng: Any, multiplicities: Any = None) -> int:
        """The law that `sampling.choose` claims."""
        excess = np.asarray(penalties, dtype=float) - min(penalties)
        return self.decide(np.exp(-rate * excess) * (1 if multiplicities is None else multiplicities))

    def permute_and_flip(self, penalties: Any, rate: float, rng: Any) -> int:
        """The law that `sampling.permute_and_flip` claims."""
        return self.decide(permuted_law(penalties, rate))

    def uniform_integers(self, count: int, shape: Any, rng: Any) -> int:
        """Every integer below `count`."""
        return self.decide([1.0] * count)

    def law(self, run: Callable[[], Hashable]) -> Law:
        """The exact law of what `run` returns."""
        found: Law = defaultdict(float)
        self.waiting = [[]]
        while self.waiting:
            self.prefix, self.path, self.probability = self.waiting.pop(), [], 1.0
            output = run()
            found[output] += self.probability
        return dict(found)


def permuted_law(penalties: Sequence[float], rate: float) -> list[float]:
    """Permute-and-flip by its definition: all orders, all coins."""
    heads = [math.exp(-rate * (x - min(penalties))) for x in penalties]
    law = [0.0] * len(heads)
    orders = list(itertools.permutations(range(len(heads))))
    for order in orders:
        reached = 1.0
        for i in order:
            law[i] += reached * heads[i] / len(orders)
            reached *= 1 - heads[i]
    return law


def loss(one: Law, other: Law) -> float:
    """The largest log-ratio of two laws, in either direction."""
    assert one.keys() == other.keys()
    return max(abs(math.log(one[x] / other[x])) for x in one)


def hockey_stick(one: Law, other: Law, epsilon: float) -> float:
    """The least delta at epsilon, in the worse direction."""
    outputs = one.keys() | other.keys()
    gap = [
        math.fsum(max(a.get(x, 0.0) - math.exp(epsilon) * b.get(x, 0.0), 0.0) for x in outputs)
        for a, b in ((one, other), (other, one))
    ]
    return max(gap)


def renyi(one: Law, other: Law, order: float) -> float:
    """The Renyi divergence of one order, in the worse direction."""
    return max(
        math.log(math.fsum(a[x] * math.exp((order - 1) * math.log(a[x] / b[x])) for x in a)) / (order - 1)
        for a, b in ((one, other), (other, one))
    )
