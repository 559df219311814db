r"""Whole rows from weighted ones, so that the sums of chosen features are those of the weights.

Systematic sampling leaves an error of the order of the root of the number of rows; exchanging rows, each time the one
that lowers the misfit most among a few hundred, leaves about one row's worth of it.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from sfumato.mechanisms.synthetic.marginals.generation import systematic

__all__ = ["balanced"]

Reals = npt.NDArray[np.float64]
Whole = npt.NDArray[np.int64]

EXCHANGES = 1000
POOL = 400


def balanced(features: Reals, weights: Reals, count: int, chance: np.random.Generator) -> Whole:
    """`count` places, each about as often as its weight says; `features` has one row a feature, one column a place."""
    size = len(weights)
    chosen = np.bincount(systematic(weights[np.newaxis], np.zeros(count, dtype=np.int64), chance), minlength=size)
    scaled = features / (features.std(axis=1) + 1e-9)[:, None]
    misfit = scaled @ (chosen - count * weights)
    drawn = np.minimum(np.searchsorted(weights.cumsum(), chance.random((EXCHANGES, POOL))), size - 1)
    for entering in drawn:
        leaving = chance.integers(0, size, POOL)
        leaving = leaving[chosen[leaving] > 0]
        if not len(leaving):
            break
        gone = leaving[np.argmax(misfit @ scaled[:, leaving])]
        come = entering[np.argmin(misfit @ scaled[:, entering])]
        after = misfit + scaled[:, come] - scaled[:, gone]
        if after @ after < misfit @ misfit:
            misfit = after
            chosen[gone] -= 1
            chosen[come] += 1
    return np.asarray(chance.permutation(np.repeat(np.arange(size), chosen)))
