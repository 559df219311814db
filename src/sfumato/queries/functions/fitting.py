r"""Units of waves fitted to the range: the normal noise of least mean square, by wave and parity, for replaced rows.

Let c_j(a, b) be the squared change of coefficient j when a row moves from a to b, and w_j the mean square of its
function.  Noise of variances v_j costs by max over a, b of sum_j c_j / v_j and has mean square sum_j w_j v_j.  For a
weight p on pairs with means q_j of c_j the best is v_j = sqrt(q_j / w_j); the worst pair's weight grows in proportion,
as in the designs of [SilveyTitteringtonTorsney1978], and the best units seen are kept.  Around the middle of the range
cosines are even and sines odd, so on a range that is a small part of the circle they change by very different amounts:
the kernel's own units, alike for both, waste noise.  Any positive units are private: how far rows move the features is
bounded by itself (docs/proofs/functions-density.md).
"""

from __future__ import annotations

import numpy as np

from sfumato.queries.functions.density import Density

__all__ = ["fitted_units"]

POINTS = 17  # of the range whose pairs are weighed
STEPS = 200


def fitted_units(question: Density) -> tuple[float, ...]:
    """Units for each cosine and sine; the largest feature is as large as the constant."""
    axis, lattice = question.axes[0], question.lattices[0]
    gammas = question.weights(axis, question.bandwidths[0])[0]
    rows = (axis.values(np.linspace(lattice.low_value, lattice.high_value, POINTS))[:, 1:] * gammas).T
    first, second = np.triu_indices(POINTS, 1)
    changes = (rows[:, first] - rows[:, second]) ** 2
    squares = (question.reading.paths(np.eye(question.reading.size)) ** 2).mean(axis=1)
    chances = np.full(changes.shape[1], 1 / changes.shape[1])
    best, least = np.ones(len(squares)), np.inf
    for _ in range(STEPS):
        variances = np.sqrt(changes @ chances / squares)
        total = float(squares @ variances)
        gaps = (1 / variances) @ changes / total
        if gaps.max() * total**2 < least:
            best, least = variances, float(gaps.max()) * total**2
        chances = chances * gaps
        chances /= chances.sum()
    units = np.sqrt(best)
    return tuple((units * float((gammas / units).max())).tolist())
