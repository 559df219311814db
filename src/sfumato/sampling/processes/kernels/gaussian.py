"""The Gaussian kernel."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from sfumato.sampling.processes.kernels.kernel import Integers, Reals, Stationary, separations

__all__ = ["Gaussian"]


@dataclass(frozen=True, slots=True)
class Gaussian(Stationary):
    """k(x, y) = exp(-|x - y|^2 / (2 length^2)) on R^d.

    Smoothness: paths are analytic.  Its reproducing space holds functions whose Fourier transform decays faster than
    exp(-length^2 |w|^2 / 4); sums of bumps of this width lie in it, constants and polynomials do not.
    Spectral density: (2 pi)^{d/2} length^d exp(-length^2 |w|^2 / 2).

    >>> Gaussian(2.0).gram([0.0, 2.0]).round(4).tolist()
    [[1.0, 0.6065], [0.6065, 1.0]]
    """

    derivatives: ClassVar[float] = math.inf

    def gram(self, x: npt.ArrayLike, y: npt.ArrayLike | None = None) -> Reals:
        """The matrix of k(x_i, y_j)."""
        return np.asarray(np.exp(-((separations(x, y, self.dimension) / self.length) ** 2) / 2))

    def coefficients(self, index: Integers, periods: tuple[float, ...]) -> Reals:
        """The spectral density at 2 pi n / period, over the volume of a period."""
        frequency = 2 * math.pi * index / np.asarray(periods)
        volume = math.prod(self.length * math.sqrt(2 * math.pi) / period for period in periods)
        return np.asarray(volume * np.exp(-(self.length**2) * (frequency**2).sum(axis=1) / 2))

    def to_record(self) -> dict[str, Any]:
        """Public parameters."""
        return {"kernel": "gaussian", "length": self.length, "dimension": self.dimension}
