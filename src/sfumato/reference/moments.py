r"""Moments of noise with density exp(-rate ||z||_B): in closed form where there is one, else an upper limit.

Z is its gauge ||Z||_B, which has the law Gamma(d) / rate, times an independent point of the surface of B; or a law
Gamma(d + 1) / rate times a uniform point u of B.  So E ||Z||^p is known in B's own norm for every p, in one dimension,
and where E ||u||^p is: the sums of p-th powers on a cross-polytope and on a cube, the mean square on an ellipsoid.
Elsewhere E ||u||^p is simulated from a fixed seed, and four standard errors are added.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from sfumato.errors import ParameterError
from sfumato.randomness import seeded
from sfumato.sampling.bodies import Body, CrossPolytope, Cube, Ellipsoid, Hull
from sfumato.sampling.bodies.body import ORDERS
from sfumato.sampling.bodies.lattice import accuracy_draws
from sfumato.sampling.reals import Reals

__all__ = ["body_moment", "order_of", "simulated_moment"]

STANDARD_ERRORS = 4  # by which a simulated moment is rounded up, so that a certificate may rest on it
DRAWS = 100_000  # uniform points of a body whose points are drawn by a formula
ROUNDING = 1 + 1e-12


def order_of(norm: str | float) -> float:
    """The order of a norm: of a name, or the number itself.

    >>> order_of("linf"), order_of(3)
    (inf, 3.0)
    """
    if isinstance(norm, str):
        if norm not in ORDERS:
            raise ParameterError(f"norm must be one of {', '.join(ORDERS)}, or a number of at least 1, got {norm!r}")
        return ORDERS[norm]
    if not norm >= 1:
        raise ParameterError(f"norm must be one of {', '.join(ORDERS)}, or a number of at least 1, got {norm!r}")
    return float(norm)


def body_moment(body: Body, rate: float, power: float, norm: str | float) -> float:
    """E ||Z||^power of noise at this rate, exact or an upper limit.

    >>> round(body_moment(CrossPolytope(5), 2.0, 2, "l2"), 9)  # five Laplace numbers of scale 1/2
    2.5
    """
    order = order_of(norm)
    _must_be_power(power)
    known, scale = _known(body, power, order), math.pow(rate, -power)
    if known is not None:
        return known * scale * ROUNDING
    if isinstance(body, Hull):
        return scale * simulated_moment(accuracy_draws(body), power, norm)
    return scale * _gamma(body.degrees + 1, power) * simulated_moment(_points(body), power, norm)  # type: ignore[arg-type]


def simulated_moment(draws: Reals, power: float, norm: str | float) -> float:
    """The mean of ||z||^power over the rows, and four standard errors."""
    _must_be_power(power)
    values = np.linalg.norm(draws, ord=order_of(norm), axis=1) ** power
    return float(values.mean() + STANDARD_ERRORS * values.std() / math.sqrt(len(values)))


def _must_be_power(power: float) -> None:
    if not (math.isfinite(power) and power > 0):
        raise ParameterError(f"power must be finite and positive, got {power!r}")


def _known(body: Body, power: float, order: float) -> float | None:
    """E ||Z||^power at rate 1, where a formula gives it."""
    d = body.dimension
    own, shell = _gamma(d, power), _gamma(d + 1, power)  # E of the gauge^power, and of what multiplies a uniform point
    if d == 1:
        return own * math.pow(1 / body.gauge([[1.0]])[0], power)
    if isinstance(body, CrossPolytope | Cube):
        reach = math.pow(body.radius, power)
        if order == (1 if isinstance(body, CrossPolytope) else math.inf):
            return own * reach
        if order == power:
            return reach * d * (math.gamma(power + 1) if isinstance(body, CrossPolytope) else shell / (power + 1))
    if isinstance(body, Ellipsoid) and order == 2:
        if power == 2:
            return shell * float(np.trace(body.shape)) / (d + 2)
        if np.array_equal(body.shape, body.shape[0, 0] * np.eye(d)):
            return own * math.pow(body.shape[0, 0], power / 2)
    return None


def _gamma(degrees: int, power: float) -> float:
    """E G^power, G of the law Gamma(degrees)."""
    return math.exp(math.lgamma(degrees + power) - math.lgamma(degrees))


@lru_cache(maxsize=32)
def _points(body: Body) -> Reals:
    return body.uniform(DRAWS, seeded(0))
