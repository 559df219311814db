"""A released covariance: the surface of second moments less the product of means, with its principal curves."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sfumato.answers.curves.curve import Curve
from sfumato.answers.curves.expansion import Surface
from sfumato.answers.curves.waves import Floats

__all__ = ["Covariance"]


@dataclass(frozen=True, slots=True, eq=False)
class Covariance:
    """C(s, t) = second(s, t) - mean(s) mean(t), both about the same public center; each part is a curve of its own."""

    second: Curve
    mean: Curve

    @property
    def domain(self) -> tuple[tuple[float, float], ...]:
        """The square of the curves' domain."""
        return self.second.domain

    def at(self, points: npt.ArrayLike) -> Floats:
        """The covariance at pairs (s, t)."""
        pairs = np.atleast_2d(np.asarray(points, dtype=np.float64))
        return self.second.at(pairs) - self._less(pairs[:, 0]) * self._less(pairs[:, 1])

    def band(self, points: npt.ArrayLike, level: float = 0.95) -> tuple[Floats, Floats]:
        """Covers the covariance without noise everywhere at once with probability at least `level`.

        Each part takes half of the failures; products of intervals are bounded at their corners.
        """
        pairs = np.atleast_2d(np.asarray(points, dtype=np.float64))
        each = (1 + level) / 2
        low, high = self.second.band(pairs, each)
        center = self.mean.reading.public(pairs[:, :1])
        ends = [[end - center for end in self.mean.band(pairs[:, j], each)] for j in range(2)]
        corners = np.stack([one * other for one in ends[0] for other in ends[1]])
        return low - corners.max(axis=0), high - corners.min(axis=0)

    def matrix(self) -> Floats:
        """The coefficients of the covariance on the waves, made positive semidefinite: the nearest such matrix."""
        assert isinstance(self.second.reading, Surface)
        rows = max(self.second.divisor.value, 1.0)
        means = self.mean.coefficients / rows
        raw = self.second.reading.matrices(self.second.coefficients[None, :] / rows)[0] - np.outer(means, means)
        values, vectors = np.linalg.eigh(raw)
        return np.asarray((vectors * np.maximum(values, 0.0)) @ vectors.T)

    def components(self, count: int, points: npt.ArrayLike) -> tuple[Floats, Floats]:
        """The leading principal curves at points, a row each, and their variances.  Post-processing."""
        assert isinstance(self.second.reading, Surface)
        values, vectors = np.linalg.eigh(self.matrix())
        design = self.second.reading.axis.values(points)
        return np.asarray((design @ vectors[:, ::-1][:, :count]).T), np.asarray(values[::-1][:count])

    def _less(self, points: Floats) -> Floats:
        """The mean about its center."""
        return self.mean.at(points) - self.mean.reading.public(points[:, None])
