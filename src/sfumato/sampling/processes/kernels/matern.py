"""The Matern kernels of order 1/2, 3/2 and 5/2; on the line a path is Markov together with its 0, 1, 2 derivatives.

With rate = sqrt(2 order) / length the spectral density in R^d is
    2^d pi^{d/2} Gamma(order + d/2) rate^{2 order} / (Gamma(order) (rate^2 + |w|^2)^{order + d/2})    [Stein1999].
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from sfumato.sampling.processes.kernels.kernel import Integers, Reals, Stationary, separations

__all__ = ["Matern", "Matern12", "Matern32", "Matern52"]


@dataclass(frozen=True, slots=True)
class Matern(Stationary):
    """What the kernels of this family share."""

    order: ClassVar[float]

    def coefficients(self, index: Integers, periods: tuple[float, ...]) -> Reals:
        """The spectral density at 2 pi n / period, over the volume of a period."""
        order, d = self.order, self.dimension
        rate = math.sqrt(2 * order) / self.length
        squares = ((2 * math.pi * index / np.asarray(periods)) ** 2).sum(axis=1)
        shape = (1 + squares / rate**2) ** -(order + d / 2)
        volume = math.prod(2 * math.sqrt(math.pi) / (rate * period) for period in periods)
        return np.asarray(volume * math.gamma(order + d / 2) / math.gamma(order) * shape)

    def to_record(self) -> dict[str, Any]:
        """Public parameters."""
        return {"kernel": f"matern-{2 * self.order:.0f}/2", "length": self.length, "dimension": self.dimension}


@dataclass(frozen=True, slots=True)
class Matern12(Matern):
    """k(x, y) = exp(-r / length), r = |x - y|: the Ornstein-Uhlenbeck covariance.

    Smoothness: paths are continuous and nowhere differentiable.  In one dimension the reproducing space is the
    Sobolev space of functions with one square-integrable derivative, |f|^2 = (length |f'|^2 + |f|^2 / length) / 2.

    >>> Matern12(1.0).gram([0.0], [1.0]).round(4).tolist()
    [[0.3679]]
    """

    order: ClassVar[float] = 0.5
    derivatives: ClassVar[float] = 0

    def gram(self, x: npt.ArrayLike, y: npt.ArrayLike | None = None) -> Reals:
        """The matrix of k(x_i, y_j)."""
        return np.asarray(np.exp(-separations(x, y, self.dimension) / self.length))


@dataclass(frozen=True, slots=True)
class Matern32(Matern):
    """k(x, y) = (1 + a) exp(-a), a = sqrt(3) |x - y| / length.

    Smoothness: paths have one derivative.  In one dimension the reproducing space is the Sobolev space of functions
    with two square-integrable derivatives.

    >>> Matern32(1.0).gram([0.0], [1.0]).round(4).tolist()
    [[0.4834]]
    """

    order: ClassVar[float] = 1.5
    derivatives: ClassVar[float] = 1

    def gram(self, x: npt.ArrayLike, y: npt.ArrayLike | None = None) -> Reals:
        """The matrix of k(x_i, y_j)."""
        a = separations(x, y, self.dimension) * (math.sqrt(3) / self.length)
        return np.asarray((1 + a) * np.exp(-a))


@dataclass(frozen=True, slots=True)
class Matern52(Matern):
    """k(x, y) = (1 + a + a^2 / 3) exp(-a), a = sqrt(5) |x - y| / length.

    Smoothness: paths have two derivatives.  In one dimension the reproducing space is the Sobolev space of functions
    with three square-integrable derivatives.

    >>> Matern52(1.0).gram([0.0], [1.0]).round(4).tolist()
    [[0.524]]
    """

    order: ClassVar[float] = 2.5
    derivatives: ClassVar[float] = 2

    def gram(self, x: npt.ArrayLike, y: npt.ArrayLike | None = None) -> Reals:
        """The matrix of k(x_i, y_j)."""
        a = separations(x, y, self.dimension) * (math.sqrt(5) / self.length)
        return np.asarray((1 + a + a * a / 3) * np.exp(-a))
