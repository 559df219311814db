"""Kernels made of kernels: tensor products over coordinates, sums, multiples."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from sfumato.errors import ParameterError
from sfumato.sampling.processes.kernels.kernel import Integers, Kernel, Reals, points_of, positive

__all__ = ["Scaled", "Sum", "Tensor"]

UP = 1 + 1e-15 * 8  # covers the rounding of a short product or sum


@dataclass(frozen=True, slots=True)
class Tensor:
    """k(x, y) = k_1(x_1, y_1) k_2(x_2, y_2) ...: each part reads its own coordinates, in order.

    Smoothness: that of the parts, coordinate by coordinate.  The reproducing space is the tensor product of theirs.

    >>> from sfumato.sampling.processes.kernels.matern import Matern12
    >>> Tensor((Matern12(1.0), Matern12(1.0))).gram([[0.0, 0.0]], [[1.0, 1.0]]).round(4).tolist()
    [[0.1353]]
    """

    parts: tuple[Kernel, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "parts", tuple(self.parts))
        if not self.parts:
            raise ParameterError("parts must hold at least one kernel")

    @property
    def dimension(self) -> int:
        """The sum of the parts'."""
        return sum(part.dimension for part in self.parts)

    @property
    def peak(self) -> float:
        """The product of the parts', rounded up."""
        return math.prod(part.peak for part in self.parts) * (1.0 if self._unit else UP)

    @property
    def derivatives(self) -> float:
        """The least of the parts'."""
        return min(part.derivatives for part in self.parts)

    @property
    def _unit(self) -> bool:
        return all(part.peak == 1 for part in self.parts)

    def gram(self, x: npt.ArrayLike, y: npt.ArrayLike | None = None) -> Reals:
        """The matrix of k(x_i, y_j)."""
        first = points_of("x", x, self.dimension)
        second = first if y is None else points_of("y", y, self.dimension)
        out, start = np.ones((len(first), len(second))), 0
        for part in self.parts:
            own = slice(start, start + part.dimension)
            out *= part.gram(first[:, own], second[:, own])
            start = own.stop
        return out

    def coefficients(self, index: Integers, periods: tuple[float, ...]) -> Reals:
        """The product of the parts'."""
        out, start = np.ones(len(index)), 0
        for part in self.parts:
            own = slice(start, start + part.dimension)
            out *= part.coefficients(index[:, own], tuple(periods[own]))
            start = own.stop
        return out

    def to_record(self) -> dict[str, Any]:
        """Public parameters."""
        return {"kernel": "tensor", "parts": [part.to_record() for part in self.parts]}


@dataclass(frozen=True, slots=True)
class Sum:
    """k = k_1 + k_2 + ... on the same points: independent paths added.

    Smoothness: that of the roughest part.  The reproducing space holds sums of functions from the parts' spaces.
    """

    parts: tuple[Kernel, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "parts", tuple(self.parts))
        if not self.parts or len({part.dimension for part in self.parts}) != 1:
            raise ParameterError("parts must hold kernels of one dimension, at least one of them")

    @property
    def dimension(self) -> int:
        """That of every part."""
        return self.parts[0].dimension

    @property
    def peak(self) -> float:
        """The sum of the parts', rounded up."""
        return math.fsum(part.peak for part in self.parts) * UP

    @property
    def derivatives(self) -> float:
        """The least of the parts'."""
        return min(part.derivatives for part in self.parts)

    def gram(self, x: npt.ArrayLike, y: npt.ArrayLike | None = None) -> Reals:
        """The matrix of k(x_i, y_j)."""
        return np.asarray(sum(part.gram(x, y) for part in self.parts))

    def coefficients(self, index: Integers, periods: tuple[float, ...]) -> Reals:
        """The sum of the parts'."""
        return np.asarray(sum(part.coefficients(index, periods) for part in self.parts))

    def to_record(self) -> dict[str, Any]:
        """Public parameters."""
        return {"kernel": "sum", "parts": [part.to_record() for part in self.parts]}


@dataclass(frozen=True, slots=True)
class Scaled:
    """factor times a kernel: the same smoothness and space, norms divided by sqrt(factor)."""

    part: Kernel
    factor: float

    def __post_init__(self) -> None:
        positive("factor", self.factor)

    @property
    def dimension(self) -> int:
        """That of the part."""
        return self.part.dimension

    @property
    def peak(self) -> float:
        """factor times the part's, rounded up unless that is 1."""
        return self.part.peak * self.factor * (1.0 if self.part.peak == 1 else UP)

    @property
    def derivatives(self) -> float:
        """Those of the part."""
        return self.part.derivatives

    def gram(self, x: npt.ArrayLike, y: npt.ArrayLike | None = None) -> Reals:
        """The matrix of k(x_i, y_j)."""
        return self.factor * self.part.gram(x, y)

    def coefficients(self, index: Integers, periods: tuple[float, ...]) -> Reals:
        """factor times the part's."""
        return self.factor * self.part.coefficients(index, periods)

    def to_record(self) -> dict[str, Any]:
        """Public parameters."""
        return {"kernel": "scaled", "part": self.part.to_record(), "factor": self.factor}
