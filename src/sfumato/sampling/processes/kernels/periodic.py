"""The periodic kernel: a Gaussian kernel on a circle."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from sfumato.deferred import function
from sfumato.errors import ParameterError
from sfumato.sampling.processes.kernels.kernel import Integers, Reals, points_of, positive

__all__ = ["Periodic"]

ive = function("scipy.special", "ive")


@dataclass(frozen=True, slots=True)
class Periodic:
    """k(x, y) = exp(-2 sin^2(pi (x - y) / period) / length^2) on the line.

    Smoothness: paths are analytic and repeat after `period`.  Its reproducing space holds periodic analytic functions;
    w_n = e^{-a} I_n(a) with a = 1 / length^2 and I_n the modified Bessel function.

    >>> Periodic(1.0, period=24.0).gram([1.0], [1.0, 25.0]).tolist()
    [[1.0, 1.0]]
    """

    length: float
    period: float

    def __post_init__(self) -> None:
        positive("length", self.length)
        positive("period", self.period)

    @property
    def dimension(self) -> int:
        """One."""
        return 1

    @property
    def peak(self) -> float:
        """k(x, x)."""
        return 1.0

    @property
    def derivatives(self) -> float:
        """All of them."""
        return math.inf

    def gram(self, x: npt.ArrayLike, y: npt.ArrayLike | None = None) -> Reals:
        """The matrix of k(x_i, y_j)."""
        first = np.remainder(points_of("x", x, 1), self.period)  # exact: far points lose no digits of their phase
        second = first if y is None else np.remainder(points_of("y", y, 1), self.period)
        turns = (first - second.T) / self.period
        return np.asarray(np.exp(-2 * (np.sin(math.pi * (turns - np.round(turns))) / self.length) ** 2))

    def coefficients(self, index: Integers, periods: tuple[float, ...]) -> Reals:
        """Those of one period; other periods are refused."""
        if tuple(periods) != (self.period,):
            raise ParameterError(f"periods must be ({self.period:g},), the kernel's own, got {tuple(periods)}")
        return np.asarray(ive(np.abs(index[:, 0]), 1 / self.length**2))

    def to_record(self) -> dict[str, Any]:
        """Public parameters."""
        return {"kernel": "periodic", "length": self.length, "period": self.period}
