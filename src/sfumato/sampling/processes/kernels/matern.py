"""The Matern kernels of order 1/2, 3/2 and 5/2; on the line a path is Markov together with its 0, 1, 2 derivatives.

With rate = sqrt(2 order) / length the spectral density in R^d is
    2^d pi^{d/2} Gamma(order + d/2) rate^{2 order} / (Gamma(order) (rate^2 + |w|^2)^{order + d/2})    [Stein1999].
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from sfumato.sampling.processes.kernels.kernel import Integers, Reals, checked_dimension, positive, separations

__all__ = ["Matern", "Matern12", "Matern32", "Matern52"]


@dataclass(frozen=True, slots=True)
class Matern12:
    """k(x, y) = exp(-r / length), r = |x - y|: the Ornstein-Uhlenbeck covariance.

    Smoothness: paths are continuous and nowhere differentiable.  In one dimension the reproducing space is the
    Sobolev space of functions with one square-integrable derivative, |f|^2 = (length |f'|^2 + |f|^2 / length) / 2.

    >>> Matern12(1.0).gram([0.0], [1.0]).round(4).tolist()
    [[0.3679]]
    """

    length: float
    dimension: int = 1

    def __post_init__(self) -> None:
        positive("length", self.length)
        checked_dimension(self.dimension)

    @property
    def order(self) -> float:
        """nu."""
        return 0.5

    @property
    def peak(self) -> float:
        """k(x, x)."""
        return 1.0

    @property
    def derivatives(self) -> float:
        """None."""
        return 0

    def gram(self, x: npt.ArrayLike, y: npt.ArrayLike | None = None) -> Reals:
        """The matrix of k(x_i, y_j)."""
        return np.asarray(np.exp(-separations(x, y, self.dimension) / self.length))

    def coefficients(self, index: Integers, periods: tuple[float, ...]) -> Reals:
        """The spectral density at 2 pi n / period, over the volume of a period."""
        return _coefficients(self, index, periods)

    def to_record(self) -> dict[str, Any]:
        """Public parameters."""
        return {"kernel": "matern-1/2", "length": self.length, "dimension": self.dimension}


@dataclass(frozen=True, slots=True)
class Matern32:
    """k(x, y) = (1 + a) exp(-a), a = sqrt(3) |x - y| / length.

    Smoothness: paths have one derivative.  In one dimension the reproducing space is the Sobolev space of functions
    with two square-integrable derivatives.

    >>> Matern32(1.0).gram([0.0], [1.0]).round(4).tolist()
    [[0.4834]]
    """

    length: float
    dimension: int = 1

    def __post_init__(self) -> None:
        positive("length", self.length)
        checked_dimension(self.dimension)

    @property
    def order(self) -> float:
        """nu."""
        return 1.5

    @property
    def peak(self) -> float:
        """k(x, x)."""
        return 1.0

    @property
    def derivatives(self) -> float:
        """One."""
        return 1

    def gram(self, x: npt.ArrayLike, y: npt.ArrayLike | None = None) -> Reals:
        """The matrix of k(x_i, y_j)."""
        a = separations(x, y, self.dimension) * (math.sqrt(3) / self.length)
        return np.asarray((1 + a) * np.exp(-a))

    def coefficients(self, index: Integers, periods: tuple[float, ...]) -> Reals:
        """The spectral density at 2 pi n / period, over the volume of a period."""
        return _coefficients(self, index, periods)

    def to_record(self) -> dict[str, Any]:
        """Public parameters."""
        return {"kernel": "matern-3/2", "length": self.length, "dimension": self.dimension}


@dataclass(frozen=True, slots=True)
class Matern52:
    """k(x, y) = (1 + a + a^2 / 3) exp(-a), a = sqrt(5) |x - y| / length.

    Smoothness: paths have two derivatives.  In one dimension the reproducing space is the Sobolev space of functions
    with three square-integrable derivatives.

    >>> Matern52(1.0).gram([0.0], [1.0]).round(4).tolist()
    [[0.524]]
    """

    length: float
    dimension: int = 1

    def __post_init__(self) -> None:
        positive("length", self.length)
        checked_dimension(self.dimension)

    @property
    def order(self) -> float:
        """nu."""
        return 2.5

    @property
    def peak(self) -> float:
        """k(x, x)."""
        return 1.0

    @property
    def derivatives(self) -> float:
        """Two."""
        return 2

    def gram(self, x: npt.ArrayLike, y: npt.ArrayLike | None = None) -> Reals:
        """The matrix of k(x_i, y_j)."""
        a = separations(x, y, self.dimension) * (math.sqrt(5) / self.length)
        return np.asarray((1 + a + a * a / 3) * np.exp(-a))

    def coefficients(self, index: Integers, periods: tuple[float, ...]) -> Reals:
        """The spectral density at 2 pi n / period, over the volume of a period."""
        return _coefficients(self, index, periods)

    def to_record(self) -> dict[str, Any]:
        """Public parameters."""
        return {"kernel": "matern-5/2", "length": self.length, "dimension": self.dimension}


Matern = Matern12 | Matern32 | Matern52


def _coefficients(kernel: Matern, index: Integers, periods: tuple[float, ...]) -> Reals:
    order, d = kernel.order, kernel.dimension
    rate = math.sqrt(2 * order) / kernel.length
    squares = ((2 * math.pi * index / np.asarray(periods)) ** 2).sum(axis=1)
    shape = (1 + squares / rate**2) ** -(order + d / 2)
    volume = math.prod(2 * math.sqrt(math.pi) / (rate * period) for period in periods)
    return np.asarray(volume * math.gamma(order + d / 2) / math.gamma(order) * shape)
