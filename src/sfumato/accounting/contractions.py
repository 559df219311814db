r"""How much a private channel shrinks what tells two inputs apart: sharp coefficients, rounded up.

For every epsilon-private channel K and all laws P, Q of its input
    TV(PK, QK) <= tanh(epsilon/2) TV(P, Q)                                    [KairouzOhViswanath2016]
    D(PK, QK) <= tanh(epsilon/2)^2 D(P, Q)   for D = chi-square, KL, Hellinger    [AsoodehZhang2022]
and randomized response attains both.  Where only TV(P, Q) = t is known, the largest divergence of the outputs is a
linear program over eight columns (`largest_divergence`), exact for every f-divergence; the classical
KL(PK, QK) + KL(QK, PK) <= min(4, e^(2 epsilon)) (e^epsilon - 1)^2 t^2 [DuchiJordanWainwright2018] is above it.
Proof: docs/proofs/accounting-contraction.md.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from sfumato.accounting.channels import Channel
from sfumato.accounting.kinds import spelled
from sfumato.errors import ParameterError
from sfumato.numeric import round_up
from sfumato.privacy.parameters import nonnegative

__all__ = [
    "DIVERGENCES",
    "channel_chi_square_contraction",
    "channel_total_variation_contraction",
    "chi_square_contraction",
    "classical_divergence",
    "largest_divergence",
    "total_variation_contraction",
]

Reals = npt.NDArray[np.float64]

DIVERGENCES: dict[str, Callable[[float, float], float]] = {
    "kullback-leibler": lambda p, q: p * math.log(p / q) - p + q,
    "jeffreys": lambda p, q: (p - q) * math.log(p / q),
    "chi-square": lambda p, q: (p - q) ** 2 / q,
    "hellinger": lambda p, q: (math.sqrt(p) - math.sqrt(q)) ** 2 / 2,
    "total-variation": lambda p, q: abs(p - q) / 2,
}
SLACK = 1e-12  # relative, over the rounding of a 3 x 3 system and of the divergences
LARGEST = 300.0  # epsilon; beyond it the bounds say nothing


def total_variation_contraction(epsilon: float) -> float:
    """The most of a total variation that an epsilon-private channel lets through: tanh(epsilon / 2).

    >>> round(total_variation_contraction(1.0), 6)
    0.462117
    """
    return min(1.0, round_up(math.tanh(nonnegative("epsilon", epsilon) / 2), 4)) if epsilon else 0.0


def chi_square_contraction(epsilon: float) -> float:
    """The same for chi-square, Kullback-Leibler and squared Hellinger: tanh(epsilon / 2)^2.

    >>> round(chi_square_contraction(1.0), 6)
    0.213552
    """
    return min(1.0, round_up(total_variation_contraction(epsilon) ** 2, 2)) if epsilon else 0.0


def classical_divergence(epsilon: float, total_variation: float) -> float:
    """The classical bound on KL of the outputs in both directions together, given TV of the inputs.

    >>> round(classical_divergence(0.5, 0.1), 6)
    0.01144
    """
    _check(epsilon, total_variation)
    grown = math.expm1(epsilon) * total_variation
    return round_up(min(4.0, math.exp(2 * epsilon)) * grown * grown, 8)


def largest_divergence(kind: str, epsilon: float, total_variation: float) -> float:
    """The largest divergence of two outputs over all epsilon-private channels and inputs at one total variation.

    >>> largest_divergence("jeffreys", 0.5, 0.1) < classical_divergence(0.5, 0.1) / 2
    True
    """
    _check(epsilon, total_variation)
    name = spelled("kind", kind, DIVERGENCES)
    if epsilon == 0 or total_variation == 0:
        return 0.0
    columns = np.array(list(itertools.product((1.0, math.exp(epsilon)), repeat=3)))
    first, second, rest = columns.T
    mixed = [total_variation * part + (1 - total_variation) * rest for part in (first, second)]
    values = np.array([DIVERGENCES[name](p, q) for p, q in zip(*mixed, strict=True)])
    return _dual(columns, values)


def channel_total_variation_contraction(channel: Channel) -> float:
    """The coefficient of one channel for total variation: the largest between two inputs."""
    return channel.profile(0.0)


def channel_chi_square_contraction(channel: Channel) -> float:
    """The coefficient of one channel for chi-square and KL: the largest Vincze-Le Cam divergence of two inputs."""
    matrix = channel.floats()
    worst = max((_le_cam(a, b) for a, b in itertools.combinations(matrix, 2)), default=0.0)
    return min(1.0, worst * (1 + SLACK))


def _le_cam(p: Reals, q: Reals) -> float:
    """sup over w of w (1 - w) sum (p - q)^2 / (w p + (1 - w) q), concave in w, bounded above by its tangents."""
    kept = p + q > 0
    p, q = p[kept], q[kept]
    low, high = 0.0, 1.0
    for _ in range(200):
        w = (low + high) / 2
        mixed = w * p + (1 - w) * q
        value = 1 - float((p * q / mixed).sum())
        slope = float((p * q * (p - q) / mixed**2).sum())
        low, high = (w, high) if slope > 0 else (low, w)
        if abs(slope) * (high - low) <= SLACK * value or high - low < 1e-15:
            break
    return value + abs(slope) * (high - low)


def _dual(columns: Reals, values: Reals) -> float:
    """The largest sum of weight x value over weights whose columns add up to 1: a dual solution made feasible."""
    best = math.inf
    for chosen in itertools.combinations(range(len(columns)), 3):
        basis = columns[list(chosen)]
        if abs(np.linalg.det(basis)) < 1e-9 * float(columns.max()):
            continue
        prices = np.linalg.solve(basis, values[list(chosen)])
        lacking = max(0.0, float((values - columns @ prices).max()))  # entries are at least 1: one price makes it up
        best = min(best, float(prices.sum()) + lacking)
    return best * (1 + SLACK) + SLACK * float(values.max())


def _check(epsilon: float, total_variation: float) -> None:
    if nonnegative("epsilon", epsilon) > LARGEST:
        raise ParameterError(f"epsilon must be at most {LARGEST:g}, got {epsilon!r}: beyond it nothing is contracted")
    if not 0 <= total_variation <= 1:
        raise ParameterError(f"total_variation must lie in [0, 1], got {total_variation!r}")
