r"""Renyi divergences of loss laws, D_a(P, Q) = ln E_P e^((a - 1) loss) / (a - 1): the larger of both ways, rounded up.

Gaussian: a mu^2 / 2.  Laplace: ln((a e^((a - 1) e) + (a - 1) e^(-a e)) / (2 a - 1)) / (a - 1)  [Mironov2017].
Finite laws: a sum.  Poisson sampling at rate r and whole orders: adding mixes moments of the law,
E_Q (1 - r + r e^loss)^a = sum_k C(a, k) (1 - r)^(a - k) r^k E_Q e^(k loss); removing is the mean under Q of
(1 - r + r e^loss)^(1 - a), which decreases in the loss and is bounded by its value at the left end of each cell.
Divergences of releases fixed in advance add up.  Proof: docs/proofs/accounting-amplification.md.
"""

from __future__ import annotations

import math

import numpy as np

from sfumato.accounting.amplification import Poisson
from sfumato.accounting.laws import FiniteLaw, GaussianLaw, LaplaceLaw, Law
from sfumato.errors import ParameterError
from sfumato.numeric import round_up

__all__ = ["renyi_of"]

SLACK = 1e-12  # relative, over the rounding of logarithms of sums
CELLS = 4000
TAIL = 1e-30
MOST = 1024  # the largest order whose binomials are added up


def renyi_of(law: Law, order: float) -> float:
    """The Renyi divergence of one release, in the worse direction.

    >>> round(renyi_of(GaussianLaw(0.5), 4.0), 6), round(renyi_of(Poisson(GaussianLaw(0.5), 0.1), 4), 6)
    (0.5, 0.006003)
    """
    if not (isinstance(order, int | float) and 1 < order < math.inf):
        raise ParameterError(f"order must be a finite number above 1, got {order!r}")
    ways = [law] if law.symmetric else [law, law.reversed()]
    return max(_moment(way, order) / (order - 1) for way in ways)


def _moment(law: Law, order: float) -> float:
    """ln E_P e^((order - 1) loss), rounded up."""
    t = order - 1
    match law:
        case GaussianLaw():
            return round_up(t * order * law.mu * law.mu / 2, 4)
        case LaplaceLaw():
            parts = (math.log(order) + t * law.epsilon, math.log(t) - order * law.epsilon)
            return _up(float(np.logaddexp(*parts)) - math.log(2 * order - 1), t * law.epsilon)
        case FiniteLaw():
            return _finite(law, t)
        case Poisson(added=False):
            return _mixed(law, order)
        case Poisson():
            return _unmixed(law, order)
        case _:
            raise ParameterError(
                f"no Renyi divergence is known for {type(law).__name__}; "
                "ask for epsilon(delta) or delta(epsilon), which hold for every law"
            )


def _finite(law: FiniteLaw, t: float) -> float:
    if law.infinity > 0:
        return math.inf
    kept = law.p > 0
    logs = np.log(law.p[kept]) + t * law.losses[kept]
    return _up(_log_sum(logs), float(np.abs(logs).max()))


def _mixed(law: Poisson, order: float) -> float:
    """Whole orders: a binomial sum of the law's own moments."""
    if order != int(order) or order > MOST:
        raise ParameterError(f"order must be a whole number up to {MOST} for sampled releases, got {order!r}")
    a = int(order)
    logs = [a * math.log1p(-law.rate), math.log(a) + (a - 1) * math.log1p(-law.rate) + math.log(law.rate)]
    for k in range(2, a + 1):
        moment = _moment(law.law, k)  # ln E_Q e^(k loss) = ln E_P e^((k - 1) loss)
        logs.append(math.log(math.comb(a, k)) + (a - k) * math.log1p(-law.rate) + k * math.log(law.rate) + moment)
    return _up(_log_sum(np.array(logs)), float(np.abs(logs).max()))


def _unmixed(law: Poisson, order: float) -> float:
    """E_Q (1 - r + r e^loss)^(1 - order), each cell of losses at its left end."""
    low, high = law.law.reversed().span(TAIL)
    edges = np.linspace(-high, -low, CELLS)
    _, inside = law.law.cells(np.concatenate([edges, [np.inf]]))
    outside = max(TAIL, 1 - float(inside.sum()))
    logs = np.log1p(law.rate * np.expm1(np.concatenate([[-np.inf], edges]))) * (1 - order)
    masses = np.concatenate([[outside], inside])
    kept = masses > 0
    return _up(_log_sum(np.log(masses[kept]) + logs[kept]), float(np.abs(logs).max()))


def _log_sum(logs: np.ndarray[tuple[int, ...], np.dtype[np.float64]]) -> float:
    peak = float(logs.max())
    return peak + math.log(float(np.sum(np.exp(logs - peak)))) if math.isfinite(peak) else peak


def _up(value: float, size: float) -> float:
    return value if math.isinf(value) else max(0.0, value + SLACK * (1 + size))
