r"""The quantile of |S|, S = sum_j r_j Z_j, for independent noise of one symmetric law on the whole numbers, row by row.

S has the characteristic function prod_j f(r_j u), f that of one Z_j.  With a normal variable G of deviation tau added,
X = S + G has a density and the function h(u) = prod_j f(r_j u) e^{-(tau u)^2 / 2}, and on a circle of length L
P(X within t of 0) = 2/L (t + 2 sum_k h(k d) sin(k d t) / (k d)), d = 2 pi / L.
That is at least P(|X| <= t), and more by at most P(|X| > L - t), which a rough bound keeps small.  At last
P(|S| > t + g) <= P(|X| > t) / P(G <= g).  All errors are added to the tail.  Proof: docs/proofs/weighted_sums.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import numpy.typing as npt

__all__ = ["discrete_laplace", "rounded_normal", "sum_quantiles"]


Floats = npt.NDArray[np.float64]
Characteristic = Callable[[Floats], Floats]
FINE = 45.0  # the deviation of S over that of the normal variable that is added
ALLOWED = 2.3  # g over tau
SMALL = 1e-3  # of beta: what wrapping around the circle may cost, and again what the series leaves out
HALVINGS = 12
SMALLEST = 1e-9  # beta beyond which rounding would be felt
MOST_TERMS = 2**14  # of a series
MOST_VALUES = 200_000_000  # of the characteristic function, for all rows together: seconds there


def discrete_laplace(scale: float) -> Characteristic:
    """1 / (1 + v (1 - cos u)), v the variance."""
    variance = 2 * math.exp(-1 / scale) / math.expm1(-1 / scale) ** 2
    return lambda u: np.asarray(1 / (1 + 2 * variance * np.sin(u / 2) ** 2))  # 1 - cos u would lose its digits


def rounded_normal(sigma: float) -> Characteristic:
    """The sum over periods of e^{-(sigma u)^2 / 2} sin(u/2) / (u/2)."""
    reach = math.ceil(40 / (2 * math.pi * sigma)) + 1

    def characteristic(u: Floats) -> Floats:
        near = np.mod(u + math.pi, 2 * math.pi) - math.pi
        places = (near + 2 * math.pi * n for n in range(-reach, reach + 1))
        return np.asarray(sum(np.exp(-((sigma * x) ** 2) / 2) * np.sinc(x / (2 * math.pi)) for x in places))

    return characteristic


def sum_quantiles(rows: Floats, law: Characteristic, variance: float, beta: float, near: Floats, far: Floats) -> Floats:
    """For each row of coefficients a t with P(|S| > t) <= beta: `near` is such a t, `far` one for SMALL times beta."""
    found, left = np.array(near, dtype=np.float64), MOST_VALUES
    known: dict[bytes, float] = {}
    for i, row in enumerate(np.abs(rows)):
        largest = float(row.max(initial=0.0))
        if largest == 0:
            found[i] = 0.0
            continue
        sizes, counts = _grouped(row / largest)
        key = sizes.tobytes() + counts.tobytes()
        if key not in known:
            ends = near[i] / largest, far[i] / largest
            tau = math.sqrt(variance * float(counts @ sizes**2)) / FINE
            terms = _terms(tau, sum(ends) + 8 * tau, beta)
            left -= terms * len(sizes)
            if terms > MOST_TERMS or left < 0 or beta < SMALLEST:
                continue
            known[key] = min(ends[0], _quantile(sizes, counts, law, tau, beta, *ends))
        found[i] = min(found[i], known[key] * largest * (1 + 1e-7))
    return found


def _grouped(row: Floats) -> tuple[Floats, Floats]:
    """The different sizes, and how often each occurs."""
    sizes, counts = np.unique(np.round(row[row > 0], 12), return_counts=True)
    kept = sizes > 0
    return sizes[kept], counts[kept].astype(np.float64)


def _terms(tau: float, length: float, beta: float) -> int:
    """Of the series, until its normal factor has ended it."""
    return math.ceil(math.sqrt(2 * math.log(10 / (SMALL * beta))) / tau * length / (2 * math.pi))


def _quantile(
    sizes: Floats, counts: Floats, law: Characteristic, tau: float, beta: float, near: float, far: float
) -> float:
    length = near + far + 8 * tau
    count = _terms(tau, length, beta)
    places = np.asarray(2 * math.pi / length * np.arange(1, count + 1), dtype=np.float64)
    whole = np.exp(-((tau * places) ** 2) / 2) * _product(law, sizes, counts, places) / places
    wrong = 2 * SMALL * beta
    allowed = beta * math.erfc(-ALLOWED / math.sqrt(2)) / 2
    low, high = 0.0, near
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        tail = 1 - 2 / length * (middle + 2 * float(whole @ np.sin(places * middle))) + wrong
        low, high = (middle, high) if tail > allowed else (low, middle)
    found = high + ALLOWED * tau
    return math.floor(found) if len(sizes) == 1 else found  # one size, brought to 1: S is whole


def _product(law: Characteristic, sizes: Floats, counts: Floats, places: Floats) -> Floats:
    """prod_j f(r_j u), in logarithms where no factor is negative."""
    values = law(np.multiply.outer(places, sizes))
    if (values > 0).all():
        return np.asarray(np.exp(np.log(values) @ counts))
    return np.asarray(np.prod(values**counts, axis=1))
