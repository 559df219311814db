r"""Reading one histogram from noisy histograms of every level of a tree.

A tree with k = B^h leaves has levels l = 1..h; a node of level l holds s_l = B^(h-l) leaves.  A_l sums the leaves of
each node, y_l is an unbiased estimate of A_l x whose entries have variance about 1/lambda_l.  The weighted least
squares estimate with the total fixed at one is

    x = 1/k + S( sum_l lambda_l A_l^T y_l ),    S = sum_{j>=1} (P_j - P_{j-1}) / mu_j,    mu_j = sum_{l>=j} lambda_l s_l

where P_j averages over the nodes of level j: since A_l^T A_l = s_l P_l and the P_j are nested projections, S inverts
sum_l lambda_l A_l^T A_l on what sums to zero.  It is linear and unbiased whatever the weights, as long as they do not
depend on the y; adding up children gives their parent exactly.  Proof: docs/proofs/local-questions.md.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

__all__ = ["Floats", "combined", "influences", "sums"]

Floats = npt.NDArray[np.float64]


def combined(levels: Sequence[Floats], weights: Sequence[float], branching: int) -> Floats:
    """The leaves from one estimate for each level, top down; levels cut short have no mass beyond their end.

    >>> combined([np.array([0.6, 0.4]), np.array([0.2, 0.4, 0.2, 0.2])], [1.0, 1.0], 2).round(6).tolist()
    [0.2, 0.4, 0.2, 0.2]
    """
    leaves = branching ** len(levels)
    gathered = np.zeros(leaves)
    for level, (held, weight) in enumerate(zip(levels, weights, strict=True), 1):
        size = branching ** (len(levels) - level)
        whole = np.zeros(branching**level)
        whole[: len(held)] = held
        gathered += weight * np.repeat(whole, size)
    return np.asarray(1 / leaves + _spread(gathered, weights, branching))


def influences(functional: Floats, weights: Sequence[float], branching: int) -> list[Floats]:
    """How a linear functional of the leaves, row by row, depends on each level's estimates."""
    spread = _spread(functional, weights, branching)
    depth = len(weights)
    return [weight * sums(spread, branching ** (depth - level)) for level, weight in enumerate(weights, 1)]


def sums(leaves: Floats, size: int) -> Floats:
    """Sums over consecutive leaves, `size` at a time."""
    return np.asarray(leaves.reshape(*leaves.shape[:-1], -1, size).sum(axis=-1), dtype=np.float64)


def _spread(values: Floats, weights: Sequence[float], branching: int) -> Floats:
    depth = len(weights)
    before = values.mean(axis=-1, keepdims=True)
    result = np.zeros_like(values)
    for level in range(1, depth + 1):
        size = branching ** (depth - level)
        after = np.repeat(sums(values, size) / size, size, axis=-1)
        mass = sum(weights[i - 1] * branching ** (depth - i) for i in range(level, depth + 1))
        if mass > 0:  # a level that nobody reported says nothing about what is below it
            result += (after - before) / mass
        before = after
    return result
