"""A function that is a finite sum: public once its coefficients are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from sfumato.errors import ParameterError
from sfumato.randomness import Rng
from sfumato.sampling.processes.kernels import Kernel
from sfumato.sampling.processes.kernels.kernel import Reals
from sfumato.sampling.processes.torus import Torus
from sfumato.sampling.reals import normals

__all__ = ["Series", "series_path"]


@dataclass(frozen=True, slots=True)
class Series:
    """sum_k coefficients_k phi_k: evaluable anywhere, saved as numbers.

    >>> Series(Torus((0.0,), (1.0,), (2.0,), (1,)), (1.0, 0.0, 2.0)).at([0.0]).tolist()
    [1.0]
    """

    basis: Torus
    coefficients: tuple[float, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "coefficients", tuple(float(value) for value in self.coefficients))
        if len(self.coefficients) != self.basis.features:
            raise ParameterError(
                f"coefficients must be {self.basis.features}, one for each function, got {len(self.coefficients)}"
            )

    def at(self, points: npt.ArrayLike) -> Reals:
        """The values at the points."""
        return np.asarray(self.basis.design(points) @ np.asarray(self.coefficients))

    def on_grid(self, counts: tuple[int, ...]) -> Reals:
        """The values on an equispaced grid of the box, ends included."""
        return self.basis.on_grid(self.coefficients, counts)

    def to_record(self) -> dict[str, Any]:
        """Everything there is to know about it."""
        return {"basis": self.basis.to_record(), "coefficients": list(self.coefficients)}

    @classmethod
    def from_record(cls, record: dict[str, Any]) -> Series:
        """The series that `to_record` wrote."""
        return cls(Torus.from_record(record["basis"]), tuple(record["coefficients"]))


def series_path(kernel: Kernel, basis: Torus, rng: Rng) -> Series:
    """One path of the kernel made periodic and cut off: independent normal coefficients of variances w_k."""
    scales = np.sqrt(basis.weights(kernel))
    return Series(basis, tuple((scales * normals((basis.features,), rng)).tolist()))
