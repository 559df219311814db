"""Spline kernels: Sobolev spaces on an interval, without periodicity."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from sfumato.errors import ParameterError
from sfumato.sampling.processes.kernels.kernel import Integers, Reals, points_of, positive

__all__ = ["Polynomial", "Sobolev"]


@dataclass(frozen=True, slots=True)
class Sobolev:
    """The spline kernel of a given order on [0, end], with s = x / end, t = y / end [Wahba1990]:
    order 1: 1 + min(s, t);  order 2: 1 + s t + m^2 (3 M - m) / 6, m = min(s, t), M = max(s, t).

    Smoothness: order - 1 derivatives.  The reproducing space is all functions with `order` derivatives in L2:
    |f|^2 = f(0)^2 + |f'|^2, or f(0)^2 + f'(0)^2 + |f''|^2, in s.

    >>> Sobolev(1).gram([0.5], [0.25, 1.0]).tolist()
    [[1.25, 1.5]]
    """

    order: int
    end: float = 1.0

    def __post_init__(self) -> None:
        if self.order not in (1, 2):
            raise ParameterError(f"order must be 1 or 2, the square-integrable derivatives, got {self.order!r}")
        positive("end", self.end)

    @property
    def dimension(self) -> int:
        """One."""
        return 1

    @property
    def peak(self) -> float:
        """k(end, end), the largest."""
        return 2.0 if self.order == 1 else 7 / 3 + 1e-15

    @property
    def derivatives(self) -> float:
        """order - 1."""
        return self.order - 1

    def gram(self, x: npt.ArrayLike, y: npt.ArrayLike | None = None) -> Reals:
        """The matrix of k(x_i, y_j)."""
        first = self._inside("x", x)
        second = first if y is None else self._inside("y", y)
        least, most = np.minimum(first, second.T), np.maximum(first, second.T)
        if self.order == 1:
            return np.asarray(1 + least)
        return np.asarray(1 + least * most + least * least * (3 * most - least) / 6)

    def coefficients(self, index: Integers, periods: tuple[float, ...]) -> Reals:
        """Not there: the kernel is not a function of x - y."""
        raise ParameterError("kernel must be a function of x - y for a Fourier form; use a Matern kernel of that order")

    def to_record(self) -> dict[str, Any]:
        """Public parameters."""
        return {"kernel": "sobolev", "order": self.order, "end": self.end}

    def _inside(self, name: str, points: npt.ArrayLike) -> Reals:
        out = points_of(name, points, 1)
        if out.size and not (out.min() >= 0 and out.max() <= self.end):
            raise ParameterError(f"{name} must lie in [0, {self.end:g}]; shift the points or choose another end")
        return np.asarray(out / self.end)


@dataclass(frozen=True, slots=True)
class Polynomial:
    """k(x, y) = (offset + <x, y> / radius^2)^degree on the ball of a given radius in R^d.

    Smoothness: paths are polynomials.  The reproducing space is all polynomials up to this degree, a finite dimension.

    >>> Polynomial(2, radius=1.0).gram([1.0], [1.0, -1.0]).tolist()
    [[4.0, 0.0]]
    """

    degree: int
    radius: float
    offset: float = 1.0
    dimension: int = 1

    def __post_init__(self) -> None:
        if not (isinstance(self.degree, int) and 1 <= self.degree <= 20):
            raise ParameterError(f"degree must be a whole number from 1 to 20, got {self.degree!r}")
        positive("radius", self.radius)
        positive("offset", self.offset)

    @property
    def peak(self) -> float:
        """k(x, x) on the sphere."""
        return float((self.offset + 1) ** self.degree) * (1 + 1e-10)

    @property
    def derivatives(self) -> float:
        """All of them."""
        return float("inf")

    def gram(self, x: npt.ArrayLike, y: npt.ArrayLike | None = None) -> Reals:
        """The matrix of k(x_i, y_j)."""
        first = self._inside("x", x)
        second = first if y is None else self._inside("y", y)
        return np.asarray((self.offset + first @ second.T) ** self.degree)

    def coefficients(self, index: Integers, periods: tuple[float, ...]) -> Reals:
        """Not there: the kernel is not a function of x - y."""
        raise ParameterError("kernel must be a function of x - y for a Fourier form; a polynomial kernel is not")

    def to_record(self) -> dict[str, Any]:
        """Public parameters."""
        return {
            "kernel": "polynomial", "degree": self.degree, "radius": self.radius, "offset": self.offset,
            "dimension": self.dimension,
        }  # fmt: skip

    def _inside(self, name: str, points: npt.ArrayLike) -> Reals:
        out = points_of(name, points, self.dimension) / self.radius
        if out.size and (out**2).sum(axis=1).max() > 1 + 1e-12:
            raise ParameterError(
                f"{name} must lie in the ball of radius {self.radius:g}; scale the points or enlarge it"
            )
        return np.asarray(out)
