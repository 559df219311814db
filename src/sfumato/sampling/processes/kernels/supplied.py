"""A kernel given as a function, checked for positive definiteness as far as a finite check goes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from sfumato.errors import ParameterError
from sfumato.sampling.processes.kernels.kernel import Integers, Reals, points_of, positive

__all__ = ["Supplied", "refuse_indefinite"]

ROUNDING = 1e-12  # of the largest eigenvalue: what rounding alone may leave below zero


@dataclass(frozen=True, slots=True)
class Supplied:
    """A kernel k(x, y) given as a function of two (n, d) arrays that returns the matrix of values.

    That it is positive semidefinite, and at most `peak` on the diagonal, is the caller's word; every matrix it gives is
    checked where it is used, which can refute the word but never prove it.
    """

    function: Callable[[Reals, Reals], npt.ArrayLike]
    peak: float
    dimension: int = 1
    derivatives: float = 0

    def __post_init__(self) -> None:
        positive("peak", self.peak)
        if not callable(self.function):
            raise ParameterError("function must be callable: two (n, d) arrays in, the matrix of values out")

    def gram(self, x: npt.ArrayLike, y: npt.ArrayLike | None = None) -> Reals:
        """The matrix of k(x_i, y_j); square ones are checked."""
        first = points_of("x", x, self.dimension)
        second = first if y is None else points_of("y", y, self.dimension)
        out = np.asarray(self.function(first, second), dtype=np.float64)
        if out.shape != (len(first), len(second)):
            raise ParameterError(f"function must return a ({len(first)}, {len(second)}) matrix, got shape {out.shape}")
        if not np.isfinite(out).all():
            raise ParameterError("function must return finite values; it gave NaN or infinite ones")
        if y is None:
            refuse_indefinite(out, self.peak)
        return out

    def coefficients(self, index: Integers, periods: tuple[float, ...]) -> Reals:
        """Not known for a function."""
        raise ParameterError("kernel has no known Fourier form; use one of the named kernels for that")

    def to_record(self) -> dict[str, Any]:
        """Refused: a function cannot be saved."""
        raise ParameterError("kernel is a Python function and cannot be saved; use one of the named kernels")


def refuse_indefinite(gram: Reals, peak: float) -> None:
    """Refuse a matrix that no covariance can have: not symmetric, above `peak` on its diagonal, or indefinite.

    >>> refuse_indefinite(np.eye(2), 1.0)
    """
    if not np.allclose(gram, gram.T, rtol=0, atol=1e-12 * peak):
        raise ParameterError("kernel is not symmetric: k(x, y) differs from k(y, x); use (k(x, y) + k(y, x)) / 2")
    if gram.size and float(np.diagonal(gram).max()) > peak * (1 + 1e-12):
        raise ParameterError(f"kernel exceeds its declared peak {peak:g} on the diagonal; declare a larger one")
    values = np.linalg.eigvalsh((gram + gram.T) / 2) if gram.size else np.zeros(1)
    if values[0] < -ROUNDING * len(gram) * max(float(values[-1]), peak):
        raise ParameterError(
            f"kernel is not positive definite: a Gram matrix of {len(gram)} points has eigenvalue {values[0]:.3g}; "
            "choose a covariance function, such as Gaussian or Matern52"
        )
