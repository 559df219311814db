r"""Weights on candidates: as close to equal as the measured features allow, each believed as far as its noise permits.

Minimizes  N KL(w || uniform) + sum_k (F_k w - b_k)^2 / (2 s_k^2)  over the simplex, b_k the measured mean of feature k
and s_k its standard error; N is the number of rows that the candidates' shape is worth before anything is measured.
The minimum is w_j proportional to exp(<c, F_j>), c = (b - F w) / (N s^2); Newton's method in c.
A feature lost in noise (s_k large) changes nothing: the fit falls back to the candidates.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

__all__ = ["ROUNDS", "WORK", "fit", "steady", "tilted"]

Reals = npt.NDArray[np.float64]

WORTH = 10.0  # N
ROUNDS = 60
CLOSE = 1e-12
RELAXED = 20
WORK = 10**9  # products in one curve: with more points it is that of a part of them


def fit(features: Reals, measured: Reals, errors: Reals, worth: float = WORTH) -> Reals:
    """Weights, one a column of `features`; nonnegative, summing to one."""
    return tilted(features, measured, errors, worth, np.zeros(measured.size))[1]


def tilted(
    features: Reals,
    measured: Reals,
    errors: Reals,
    worth: float,
    start: Reals,
    rounds: int = ROUNDS,
    work: int = WORK,
    prior: Reals | None = None,
) -> tuple[Reals, Reals]:
    """The tilt c and the weights, from a tilt to start at, after at most so many steps; `prior`: instead of equal ones.

    Where a prior weight is zero the weight is.
    """
    with np.errstate(divide="ignore"):
        before = 0.0 if prior is None else np.log(prior * prior.size)
    shifted = features - measured[:, None]
    ridge = worth * np.maximum(errors, 1e-9) ** 2
    tilt = start
    few = slice(None, None, 1 + features.size * len(measured) // work)
    value, weights = _potential(shifted, ridge, tilt, before)
    for _ in range(rounds):
        mean = shifted @ weights
        slope = mean + ridge * tilt
        curve = _curve(shifted[:, few], weights[few])
        curve[np.diag_indices(tilt.size)] += ridge
        step = np.linalg.solve(curve, -slope)
        fall = float(slope @ step)
        if fall > -CLOSE:
            break
        length = 1.0
        while length > 1e-9:
            lower, moved = _potential(shifted, ridge, tilt + length * step, before)
            if lower <= value + 1e-4 * length * fall:
                break
            length /= 2
        else:
            break
        tilt, value, weights = tilt + length * step, lower, moved
    return tilt, weights


def steady(features: Reals, measured: Reals, errors: Reals, standing: float, worth: float = WORTH) -> Reals:
    """The fit; goals that leave fewer than `standing` points with weight, in effect, are beyond them: believed less."""
    for _ in range(RELAXED):
        weights = fit(features, measured, errors, worth)
        if 1 / float(weights @ weights) >= standing:
            break
        errors = 1.5 * errors
    return weights


def _curve(shifted: Reals, weights: Reals) -> Reals:
    """The covariance of the features under the weights; of every so many points where there are many."""
    mass = weights / float(weights.sum())
    mean = shifted @ mass
    return np.asarray((shifted * mass) @ shifted.T - np.outer(mean, mean))


def _potential(shifted: Reals, ridge: Reals, tilt: Reals, before: Reals | float) -> tuple[float, Reals]:
    """The dual objective and the weights that belong to it."""
    exponents = tilt @ shifted + before
    top = float(exponents.max())
    mass = np.exp(exponents - top)
    total = float(mass.sum())
    return top + float(np.log(total / mass.size)) + 0.5 * float(ridge @ (tilt * tilt)), mass / total
