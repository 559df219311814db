r"""The l_p balls: cross-polytope (p = 1), Euclidean ball, cube (p = infinity) and those between.

A uniform point of the unit l_p ball: X_i independent with density p / (2 Gamma(1/p)) exp(-|x|^p), W a standard
exponential, u = X / (sum |X_i|^p + W)^{1/p} [BartheGuedonMendelsonNaor2005].  |X_i|^p is gamma of shape 1/p.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sfumato.errors import ParameterError
from sfumato.randomness import Rng
from sfumato.sampling.bodies import body
from sfumato.sampling.bodies.enclosure import norm_bound
from sfumato.sampling.reals import Reals, exponentials, gammas, uniforms

__all__ = ["CrossPolytope", "Cube", "LpBall", "NormBall"]


@dataclass(frozen=True, slots=True)
class NormBall(ABC):
    """What the three share: {z : ||z||_p <= radius}, 1 <= p <= infinity."""

    dimension: int

    @property
    @abstractmethod
    def order(self) -> float:
        """The p of the norm."""

    @property
    @abstractmethod
    def size(self) -> float:
        """The radius, in that norm."""

    @property
    def degrees(self) -> int:
        """Uniform points are drawn in the body's own space."""
        return self.dimension

    @property
    def extent(self) -> float:
        """The radius: every ball reaches that far along each axis."""
        return self.size

    def gauge(self, points: npt.ArrayLike) -> Reals:
        """||z||_p / radius for each row."""
        return np.asarray(np.linalg.norm(body.rows(points, self.dimension), ord=self.order, axis=1) / self.size)

    def gauge_bound(self, points: npt.ArrayLike) -> Reals:
        """The gauge, rounded up."""
        norms = norm_bound(np.abs(body.rows(points, self.dimension)), self.order)
        ratios = norms / self.size
        plain = (ratios == 1) | (self.size == 1) | (norms == 0)
        return np.where(plain, ratios, np.nextafter(ratios, np.inf))

    def contains(self, points: npt.ArrayLike) -> npt.NDArray[np.bool_]:
        """Whether each row is proven to lie inside."""
        return np.asarray(self.gauge_bound(points) <= 1)

    def volume(self) -> float:
        """(2 radius Gamma(1 + 1/p))^d / Gamma(1 + d/p)."""
        if self.order == math.inf:
            return float((2 * self.size) ** self.dimension)
        side = math.log(2 * self.size) + math.lgamma(1 + 1 / self.order)
        return math.exp(self.dimension * side - math.lgamma(1 + self.dimension / self.order))

    def uniform(self, count: int, rng: Rng) -> Reals:
        """Independent uniform points, one a row."""
        shape = (count, self.dimension)
        if self.order == np.inf:
            return self.size * (2 * uniforms(shape, rng) - 1)
        powers = exponentials(shape, rng) if self.order == 1 else gammas(1 / self.order, shape, rng)
        total = powers.sum(axis=1, keepdims=True) + exponentials((count, 1), rng)
        signs = np.where(uniforms(shape, rng) < 0.5, -1.0, 1.0)
        return np.asarray(self.size * signs * (powers / total) ** (1 / self.order))

    def mean_norm(self, norm: str, rng: Rng, order: float = 1.0) -> float:
        """E ||u||^order: d / (d + order) radius^order in the body's own norm, simulated in the others."""
        if body.ORDERS.get(norm) == self.order:
            return float(self.dimension / (self.dimension + order) * self.size**order)
        return body.mean_norm(self, norm, rng, order)

    def covariance(self) -> Reals:
        """E u u^T: a multiple of the identity, E u_i^2 = r^2 G(3/p) G(1 + d/p) / (G(1/p) G(1 + (d+2)/p))."""
        if self.order == np.inf:
            return np.eye(self.dimension) * self.size**2 / 3
        d, p = self.dimension, self.order
        logs = math.lgamma(3 / p) - math.lgamma(1 / p) + math.lgamma(1 + d / p) - math.lgamma(1 + (d + 2) / p)
        return np.eye(d) * self.size**2 * math.exp(logs)


@dataclass(frozen=True, slots=True)
class LpBall(NormBall):
    """{z : ||z||_p <= radius}, 1 <= p <= infinity.

    >>> LpBall(2, 2.0).gauge([[3.0, 4.0]]).tolist()
    [5.0]
    """

    p: float
    radius: float = 1.0

    def __post_init__(self) -> None:
        body.check_dimension(self.dimension)
        body.check_radius(self.radius)
        if not self.p >= 1:
            raise ParameterError(f"p must be at least 1 (infinity gives the cube), got {self.p!r}")

    @property
    def order(self) -> float:
        """The p of the norm."""
        return self.p

    @property
    def size(self) -> float:
        """The radius."""
        return self.radius


@dataclass(frozen=True, slots=True)
class CrossPolytope(NormBall):
    """{z : ||z||_1 <= radius}.

    >>> CrossPolytope(3, 2.0).contains([[1, -1, 0], [1, 1, 1]]).tolist()
    [True, False]
    """

    radius: float = 1.0

    def __post_init__(self) -> None:
        body.check_dimension(self.dimension)
        body.check_radius(self.radius)

    @property
    def order(self) -> float:
        """One."""
        return 1.0

    @property
    def size(self) -> float:
        """The radius."""
        return self.radius


@dataclass(frozen=True, slots=True)
class Cube(NormBall):
    """{z : ||z||_inf <= radius}.

    >>> Cube(3).volume()
    8.0
    """

    radius: float = 1.0

    def __post_init__(self) -> None:
        body.check_dimension(self.dimension)
        body.check_radius(self.radius)

    @property
    def order(self) -> float:
        """Infinity."""
        return math.inf

    @property
    def size(self) -> float:
        """The radius."""
        return self.radius
