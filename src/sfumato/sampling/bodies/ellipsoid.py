"""Ellipsoids {z : z^T shape^{-1} z <= 1}."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sfumato.errors import ParameterError
from sfumato.randomness import Rng
from sfumato.sampling.bodies import body
from sfumato.sampling.bodies.enclosure import growth, solve_bound
from sfumato.sampling.reals import Reals, normals, real_matrix, uniforms

__all__ = ["Ellipsoid"]


@dataclass(frozen=True, slots=True, eq=False)
class Ellipsoid:
    """The ellipsoid of a symmetric positive definite matrix.

    >>> Ellipsoid([[4.0, 0.0], [0.0, 1.0]]).gauge([[2.0, 0.0]]).tolist()
    [1.0]
    """

    shape: Reals

    def __post_init__(self) -> None:
        shape = real_matrix("shape", self.shape)
        if shape.shape[0] != shape.shape[1] or not np.array_equal(shape, shape.T):
            raise ParameterError("shape must be a symmetric matrix; use (A + A.T) / 2")
        try:
            np.linalg.cholesky(shape)
        except np.linalg.LinAlgError:
            raise ParameterError("shape must be positive definite; reduce the query to its rank first") from None
        object.__setattr__(self, "shape", shape)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Ellipsoid) and np.array_equal(self.shape, other.shape)

    def __hash__(self) -> int:
        return hash(("ellipsoid", self.shape.tobytes()))

    @property
    def dimension(self) -> int:
        """Of the space."""
        return int(self.shape.shape[0])

    @property
    def degrees(self) -> int:
        """Uniform points are drawn in the body's own space."""
        return self.dimension

    @property
    def extent(self) -> float:
        """The largest coordinate of a point."""
        return math.sqrt(float(np.diag(self.shape).max()))

    def gauge(self, points: npt.ArrayLike) -> Reals:
        """sqrt(z^T shape^{-1} z) for each row."""
        z = body.rows(points, self.dimension)
        white = np.linalg.solve(np.linalg.cholesky(self.shape), z.T)
        return np.asarray(np.sqrt((white**2).sum(axis=0)))

    def gauge_bound(self, points: npt.ArrayLike) -> Reals:
        """The gauge, rounded up: z^T g with g = shape^{-1} z enclosed."""
        z = body.rows(points, self.dimension)
        solution, error = solve_bound(np.asarray(self.shape), z)
        square = (z * solution).sum(axis=1) + np.abs(z).sum(axis=1) * error
        square += growth(2 * self.dimension) * ((np.abs(z) * np.abs(solution)).sum(axis=1) + square)
        return np.asarray(np.sqrt(np.maximum(square, 0)) * (1 + growth(1)))

    def contains(self, points: npt.ArrayLike) -> npt.NDArray[np.bool_]:
        """Whether each row is proven to lie inside."""
        return np.asarray(self.gauge_bound(points) <= 1)

    def volume(self) -> float:
        """Vol(B_2) sqrt(det shape)."""
        d = self.dimension
        logs = d / 2 * math.log(math.pi) - math.lgamma(1 + d / 2) + np.linalg.slogdet(self.shape)[1] / 2
        return math.exp(float(logs))

    def uniform(self, count: int, rng: Rng) -> Reals:
        """Independent uniform points, one a row."""
        direction = normals((count, self.dimension), rng)
        direction /= np.linalg.norm(direction, axis=1, keepdims=True)
        radius = uniforms((count, 1), rng) ** (1 / self.dimension)
        return np.asarray(radius * direction @ np.linalg.cholesky(self.shape).T)

    def mean_norm(self, norm: str, rng: Rng, order: float = 1.0) -> float:
        """E ||u||^order, exact for the mean square in l2, simulated otherwise."""
        if norm == "l2" and order == 2:
            return float(np.trace(self.covariance()))
        return body.mean_norm(self, norm, rng, order)

    def covariance(self) -> Reals:
        """E u u^T = shape / (d + 2)."""
        return np.asarray(self.shape / (self.dimension + 2))
