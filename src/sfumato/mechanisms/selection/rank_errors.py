r"""How far the ranks of recursively chosen quantiles stray: tails of weighted sums of exponential variables.

A choice at node j errs by e_j rows of its own.  The node's ends carry the errors of the choices that made them, so that
the error d_j of its division is at most |e_j| + (1 - p_j) |d_start| + p_j |d_stop|: choices higher up enter with
weights a_ij that shrink.  Given the past, e_j is dominated by b_j (k + E_j) + s, E_j exponential, b_j = w_j / c, with
k = ln |lattice| on any table, and k = 0 where rows are spread evenly; so quantile i errs by at most
sum_j a_ij (b_j (k + E_j) + s) and the tails of these sums are computed and added up over the quantiles.
Proof: docs/proofs/rank_errors.md.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

__all__ = ["Chain", "rank_error"]

FEWEST = 1 / 16  # of the largest scale: smaller ones are raised to it, which only adds to the sum
HALVINGS = 40

Reals = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Chain:
    """An error of at most `shift` plus a sum of exponentials, one for each choice, of these scales."""

    shift: float
    scales: Mapping[int, float]

    def mixed(self, other: Chain, share: float) -> Chain:
        """The error of the point at `share` between two that err so."""
        scales = {
            choice: (1 - share) * self.scales.get(choice, 0.0) + share * other.scales.get(choice, 0.0)
            for choice in (*self.scales, *other.scales)
        }
        return Chain((1 - share) * self.shift + share * other.shift, scales)

    def plus(self, choice: int | None, scale: float, shift: float) -> Chain:
        """With the error of one more choice, or with a shift alone."""
        added = {} if choice is None else {choice: scale}
        return Chain(self.shift + shift, {**self.scales, **added})


def rank_error(chains: Sequence[Chain], beta: float) -> float:
    """The least number of rows that all errors stay within at once, but for probability `beta`.

    >>> round(rank_error([Chain(0.0, {0: 1.0})], 0.05), 4), round(math.log(20), 4)
    (2.9957, 2.9957)
    """
    counts = Counter((chain.shift, tuple(sorted(chain.scales.values()))) for chain in chains)
    shifts, many = np.array([shift for shift, _ in counts]), np.array(list(counts.values()))
    sums = _Sums.of([scales for _, scales in counts], beta / len(chains))
    low, high = float(shifts.max()), float((shifts + sums.most).max())
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        enough = float((many * sums.tails(middle - shifts)).sum()) <= beta
        low, high = (low, middle) if enough else (middle, high)
    return high


@dataclass(frozen=True, slots=True, eq=False)
class _Sums:
    """Sums of exponentials, by uniformization: steps at the rate of the smallest scale, `alive` after n of them."""

    step: Reals
    alive: Reals  # one row a sum
    logs: Reals  # of the factorials
    most: Reals

    @classmethod
    def of(cls, chains: Sequence[tuple[float, ...]], beta: float) -> _Sums:
        """Ready for points up to `most`, where a tail is below beta: e^{-x / 2b} 2^m, the largest scale b."""
        longest, largest = max(map(len, chains)), np.array([max(scales) for scales in chains])
        leave = np.ones((len(chains), longest))
        stage = np.zeros_like(leave)
        raised = [np.maximum(scales, FEWEST * max(scales)) for scales in chains]
        step = np.array([scales.min() for scales in raised])
        for row, scales in enumerate(raised):
            leave[row, longest - len(scales) :] = step[row] / scales
            stage[row, longest - len(scales)] = 1.0
        most = 2 * largest * (longest * math.log(2) - math.log(beta))
        mean = float((most / step).max())
        alive = np.empty((len(chains), math.ceil(mean + 12 * math.sqrt(mean) + 60)))
        for n in range(alive.shape[1]):
            alive[:, n] = stage.sum(axis=1)
            moved = stage * leave
            stage -= moved
            stage[:, 1:] += moved[:, :-1]
        return cls(step, alive, np.cumsum(np.log(np.maximum(np.arange(alive.shape[1]), 1))), most)

    def tails(self, x: Reals) -> Reals:
        """P(sum > x) of each, every term positive; what lies beyond the last step is below 1e-12 of it."""
        rate = np.maximum(x, 1e-300) / self.step
        steps = np.arange(self.alive.shape[1])
        weights = np.exp(np.outer(np.log(rate), steps) - rate[:, None] - self.logs)
        tails: Reals = (weights * self.alive).sum(axis=1) * (1 + 1e-9)
        return np.minimum(tails, 1.0)
