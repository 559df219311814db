"""What every kernel offers, and how points are read."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from sfumato.errors import ParameterError

__all__ = ["Integers", "Kernel", "Reals", "Stationary", "checked_dimension", "points_of", "positive", "separations"]

Reals = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]

LARGEST_DIMENSION = 100


class Kernel(Protocol):
    """A positive semidefinite function k(x, y) on points of R^d, and what is known about it."""

    @property
    def dimension(self) -> int:
        """d, the number of coordinates of a point."""
        ...

    @property
    def peak(self) -> float:
        """An upper bound of k(x, x), attained by stationary kernels."""
        ...

    @property
    def derivatives(self) -> float:
        """How many mean-square derivatives a path with this covariance has."""
        ...

    def gram(self, x: npt.ArrayLike, y: npt.ArrayLike | None = None) -> Reals:
        """The matrix of k(x_i, y_j); y = x if it is left out."""
        ...

    def coefficients(self, index: Integers, periods: tuple[float, ...]) -> Reals:
        """w_n of the periodized kernel sum_j k(t + j periods) = sum_n w_n exp(2 pi i <n / periods, t>), a row of
        `index` each.
        """
        ...

    def to_record(self) -> dict[str, Any]:
        """Public parameters."""
        ...


@dataclass(frozen=True, slots=True)
class Stationary:
    """A kernel of |x - y| / length with k(x, x) = 1."""

    length: float
    dimension: int = 1

    def __post_init__(self) -> None:
        positive("length", self.length)
        checked_dimension(self.dimension)

    @property
    def peak(self) -> float:
        """k(x, x)."""
        return 1.0


def points_of(name: str, points: npt.ArrayLike, dimension: int) -> Reals:
    """Points as an (n, d) array; in one dimension a plain list of numbers will do."""
    out = np.asarray(points, dtype=np.float64)
    if out.ndim <= 1 and dimension == 1:
        out = out.reshape(-1, 1)
    if out.ndim != 2 or out.shape[1] != dimension:
        raise ParameterError(
            f"{name} must be an (n, {dimension}) array of points, got shape {out.shape}; "
            "one row is one point, one column one coordinate"
        )
    if not np.isfinite(out).all():
        raise ParameterError(f"{name} must be finite; remove NaN and infinite coordinates")
    return out


def positive(name: str, value: float) -> float:
    """The value, if it is a finite number above 0."""
    number = isinstance(value, int | float | np.floating | np.integer) and not isinstance(value, bool)
    if not (number and math.isfinite(value) and value > 0):
        raise ParameterError(f"{name} must be a finite number above 0, got {value!r}")
    return float(value)


def checked_dimension(dimension: int) -> None:
    """Refuse what is not a number of coordinates."""
    whole = isinstance(dimension, int) and not isinstance(dimension, bool)
    if not (whole and 1 <= dimension <= LARGEST_DIMENSION):
        raise ParameterError(f"dimension must be a whole number from 1 to {LARGEST_DIMENSION}, got {dimension!r}")


def separations(x: npt.ArrayLike, y: npt.ArrayLike | None, dimension: int) -> Reals:
    """The Euclidean distances of all pairs, without cancellation."""
    first = points_of("x", x, dimension)
    second = first if y is None else points_of("y", y, dimension)
    squares = np.zeros((len(first), len(second)))
    for axis in range(dimension):
        squares += (first[:, axis, None] - second[None, :, axis]) ** 2
    return np.asarray(np.sqrt(squares))
