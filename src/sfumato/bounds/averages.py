r"""Averages of vectors over a private number of rows: what no mechanism can beat where units are added and removed.

Let N rows lie where a row counts phi_0 on average, and t_i units of m rows each where it counts phi_i, i = 1..k, the
t_i independent on 0..K from the hardest prior of a count.  Given the others, the average is A + g(t_i) (phi_i - A) with
g(t) = m t / (N' + m t), and a good guess of it is a good guess of t_i: g has a slope of at least
s = m (N + m (k - 1) K) / (N + m k K)^2 if N >= m K.  So E Z Z^T >= s^2 V_K w_i w_i^T with w_i = phi_i - E A, and the
worst table of N to N + m k K rows has E ||Z||^2 >= s^2 V_K gamma^2, gamma^2 that of the w_i.
Proof: docs/proofs/bounds-averages.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from sfumato.bounds.exchanges import scattered, sizes_of
from sfumato.bounds.line import Chain, least_on_chain, least_variance
from sfumato.bounds.linear import Floats, share_of, squared_norm
from sfumato.privacy.guarantees import Guarantee
from sfumato.queries.linear.ellipsoid import least_ellipsoid

__all__ = ["Average", "average_of", "least_average"]

LONGEST = 512  # steps of a chain
FEWEST_ROWS = 4  # below, nothing is said


@dataclass(frozen=True, slots=True)
class Average:
    """The least mean square on the worst table of so many rows, or up to `more` of them in addition."""

    mean_square: float
    more: int


def least_average(columns: Floats, claim: Guarantee, rows: int, each: int) -> Average:
    """Of the average of what rows of these kinds count, one a column; `rows` there are, and `each` has a unit."""
    variance = least_variance(claim)
    if rows < FEWEST_ROWS * each or not 0 < variance < math.inf or columns.shape[1] < 2:
        return Average(0.0, 0)
    found = []
    for kinds in sizes_of(columns.shape[1], rows // each):
        chosen = columns[:, np.linspace(0, columns.shape[1] - 1, kinds).round().astype(np.int64)[scattered(kinds)]]
        for first in (columns[:, 0], _average(columns, rows)):
            moved = chosen - first[:, None]
            rough = least_ellipsoid(moved, steps=1).lower if moved.any() else 0.0
            for steps in _ladder(rows // each):
                value = rough * share_of(variance, steps) * _slope(rows, each, kinds, steps) ** 2
                found.append((value, steps, chosen, first))
    _, steps, chosen, first = max(found, key=lambda one: one[0])
    return Average(average_of(chosen, first, claim, rows, each, steps), each * chosen.shape[1] * steps)


def _average(columns: Floats, rows: int) -> Floats:
    """What so many rows count on average that are spread over the kinds as evenly as whole numbers allow."""
    kinds = columns.shape[1]
    spread = np.diff([rows * i // kinds for i in range(kinds + 1)]) / rows
    return np.asarray(columns @ spread)


def average_of(kinds: Floats, first: Floats, claim: Guarantee, rows: int, each: int, steps: int) -> float:
    """The least mean square for these kinds beside rows that count `first` on average, so many units of each kind."""
    chain, count = least_on_chain(claim, steps), kinds.shape[1]
    mixed = _mixed(chain, rows, each, count)
    others = kinds.sum(axis=1, keepdims=True) - kinds
    moved = kinds - (1 - (count - 1) * mixed) * first[:, None] - mixed * others
    return _slope(rows, each, count, steps) ** 2 * chain.mean_square * squared_norm(moved) * (1 - 1e-6)


def _slope(rows: int, each: int, kinds: int, steps: int) -> float:
    """How fast the share of a kind grows with its units, at least; 0 where that is not proven."""
    if rows < each * steps:
        return 0.0
    return each * (rows + each * (kinds - 1) * steps) / (rows + each * kinds * steps) ** 2


def _mixed(chain: Chain, rows: int, each: int, kinds: int) -> float:
    """The expected share of one kind among all rows but those of another: E[m t_j / N']."""
    if kinds < 2:
        return 0.0
    prior = np.asarray(chain.prior)
    law = np.ones(1)
    for _ in range(kinds - 1):
        law = np.convolve(law, prior)
    total = each * chain.step * np.arange(len(law))
    return float((law * total / (rows + total)).sum() / law.sum()) / (kinds - 1)


def _ladder(most: int) -> list[int]:
    """Numbers of steps to try: powers of 2 and the middles between them."""
    powers = [2**i for i in range(10)]
    return [steps for steps in sorted({*powers, *(3 * p // 2 for p in powers)}) if steps <= min(most, LONGEST)]
