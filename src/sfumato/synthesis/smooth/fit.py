r"""Weights on candidates: as close to equal as the measured features allow, each believed as far as its noise permits.

Minimizes  N KL(w || uniform) + sum_k (F_k w - b_k)^2 / (2 s_k^2)  over the simplex, b_k the measured mean of feature k
and s_k its standard error; N is the number of rows that the candidates' shape is worth before anything is measured.
The minimum is w_j proportional to exp(<c, F_j>), c = (b - F w) / (N s^2); Newton's method in c.
A feature lost in noise (s_k large) changes nothing: the fit falls back to the candidates.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

__all__ = ["fit"]

Reals = npt.NDArray[np.float64]

WORTH = 10.0  # N
ROUNDS = 60
CLOSE = 1e-12


def fit(features: Reals, measured: Reals, errors: Reals, worth: float = WORTH) -> Reals:
    """Weights, one a column of `features`; nonnegative, summing to one."""
    shifted = features - measured[:, None]
    ridge = worth * np.maximum(errors, 1e-9) ** 2
    tilt = np.zeros(measured.size)
    value, weights = _potential(shifted, ridge, tilt)
    for _ in range(ROUNDS):
        mean = shifted @ weights
        slope = mean + ridge * tilt
        curve = (shifted * weights) @ shifted.T - np.outer(mean, mean)
        curve[np.diag_indices(tilt.size)] += ridge
        step = np.linalg.solve(curve, -slope)
        fall = float(slope @ step)
        if fall > -CLOSE:
            break
        length = 1.0
        while length > 1e-9:
            lower, moved = _potential(shifted, ridge, tilt + length * step)
            if lower <= value + 1e-4 * length * fall:
                break
            length /= 2
        else:
            break
        tilt, value, weights = tilt + length * step, lower, moved
    return weights


def _potential(shifted: Reals, ridge: Reals, tilt: Reals) -> tuple[float, Reals]:
    """The dual objective and the weights that belong to it."""
    exponents = tilt @ shifted
    top = float(exponents.max())
    mass = np.exp(exponents - top)
    total = float(mass.sum())
    return top + float(np.log(total / mass.size)) + 0.5 * float(ridge @ (tilt * tilt)), mass / total
