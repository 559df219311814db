r"""Finite Fourier bases on a torus around a box, and the series on them: a path that is a finite vector.

Axis j has the functions 1, sqrt(2) cos(n t), sqrt(2) sin(n t), n = 1..degree_j, t = 2 pi (x_j - low_j) / period_j;
several axes have their products, the last axis running fastest.  Any stationary kernel, made periodic and cut off at
these degrees, is sum_k w_k phi_k(x) phi_k(y) with w = `weights(kernel)` >= 0.  So independent normal coefficients of
variances w_k are one path of that kernel, at every point for ever.  Proof: docs/proofs/sampling-processes.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from sfumato.errors import ParameterError
from sfumato.sampling.processes.kernels import Kernel, points_of
from sfumato.sampling.processes.kernels.kernel import Integers, Reals, positive

__all__ = ["Torus", "waves_on_line"]

MOST_AXES = 3
MOST_FEATURES = 200_000
OVERSAMPLING = (
    16,
    12,
    8,
    6,
    4,
)  # points in the shortest wave where suprema are looked for: the first that is affordable
AFFORDABLE = 8_000  # points of such a grid in several dimensions
ROOT = math.sqrt(2)
CHUNK = 4_000_000  # numbers held at once while suprema are bounded
UP = 1 + 1e-12  # over the rounding of sums of nonnegative terms


@dataclass(frozen=True, slots=True)
class Torus:
    """Products of cosines and sines up to `degrees` on the torus of `periods`, for functions on the box [low, high].

    >>> Torus((0.0,), (1.0,), (2.0,), (1,)).design([0.0, 0.5]).round(3).tolist()
    [[1.0, 1.414, 0.0], [1.0, 0.0, 1.414]]
    """

    low: tuple[float, ...]
    high: tuple[float, ...]
    periods: tuple[float, ...]
    degrees: tuple[int, ...]

    def __post_init__(self) -> None:
        for name in ("low", "high", "periods"):
            object.__setattr__(self, name, tuple(float(value) for value in getattr(self, name)))
        object.__setattr__(self, "degrees", tuple(int(degree) for degree in self.degrees))
        axes = {len(getattr(self, name)) for name in ("low", "high", "periods", "degrees")}
        if len(axes) != 1:
            raise ParameterError("low, high, periods and degrees must have one entry for each axis")
        if not 1 <= len(self.low) <= MOST_AXES:
            raise ParameterError(
                f"a basis of products serves 1 to {MOST_AXES} dimensions, got {len(self.low)}: its size is the product "
                "of the axes' sizes; choose fewer columns"
            )
        for low, high, period in zip(self.low, self.high, self.periods, strict=True):
            if not (math.isfinite(low) and math.isfinite(high) and low < high <= low + positive("periods", period)):
                raise ParameterError(f"each axis needs low < high <= low + period, got {low:g}, {high:g}, {period:g}")
        if min(self.degrees) < 0 or self.features > MOST_FEATURES:
            raise ParameterError(
                f"degrees must be at least 0 with at most {MOST_FEATURES} features, got {self.degrees}"
            )

    @property
    def dimension(self) -> int:
        """The number of axes."""
        return len(self.low)

    @property
    def sizes(self) -> tuple[int, ...]:
        """The number of functions on each axis."""
        return tuple(2 * degree + 1 for degree in self.degrees)

    @property
    def features(self) -> int:
        """The number of functions."""
        return math.prod(self.sizes)

    @property
    def index(self) -> Integers:
        """The frequencies of each function, one column an axis; negative for sines."""
        axes = [_frequencies(degree) for degree in self.degrees]
        return np.stack([part.ravel() for part in np.meshgrid(*axes, indexing="ij")], axis=1)

    def weights(self, kernel: Kernel) -> Reals:
        """w_k of the kernel, made periodic and cut off; never negative."""
        if kernel.dimension != self.dimension:
            raise ParameterError(f"kernel has dimension {kernel.dimension}, the basis {self.dimension}")
        return np.maximum(kernel.coefficients(np.abs(self.index), self.periods), 0.0)

    def design(self, points: npt.ArrayLike) -> Reals:
        """The matrix of all functions at the points, one row a point."""
        at = points_of("points", points, self.dimension)
        out = np.ones((len(at), 1))
        for axis in range(self.dimension):
            own = self._axis(axis, at[:, axis])
            out = (out[:, :, None] * own[:, None, :]).reshape(len(at), -1)
        return out

    def on_grid(self, coefficients: npt.ArrayLike, counts: tuple[int, ...]) -> Reals:
        """The series on the grid of `counts` equispaced points of [low, high], ends included."""
        tensor = self._tensor(coefficients)
        if len(counts) != self.dimension or min(counts) < 2:
            raise ParameterError(f"counts must give at least 2 points for each of {self.dimension} axes, got {counts}")
        if self.dimension == 1:
            step = (self.high[0] - self.low[0]) / self.periods[0] / (counts[0] - 1)
            return waves_on_line(tensor, step, counts[0])
        axes = [np.linspace(*ends) for ends in zip(self.low, self.high, counts, strict=True)]
        return _contract(tensor, [self._axis(axis, at) for axis, at in enumerate(axes)])

    def suprema(self, coefficients: npt.ArrayLike) -> Reals:
        """For each row of coefficients an upper bound of the series' largest absolute value on the box.

        On a grid, plus what second derivatives allow between its points: those on the grid, plus what fourth
        derivatives, bounded by the coefficients' absolute sum, allow.
        """
        rows = np.atleast_2d(np.asarray(coefficients, dtype=np.float64))
        spans = [(b - a) / p for a, b, p in zip(self.low, self.high, self.periods, strict=True)]
        counts = self._counts
        steps = [span / (count - 1) for span, count in zip(spans, counts, strict=True)]
        axes = [np.linspace(*ends) for ends in zip(self.low, self.high, counts, strict=True)]
        matrices = [self._axis(axis, at) for axis, at in enumerate(axes)]
        waves = (2 * math.pi * np.abs(self.index) * np.asarray(steps)) ** 2 / 8  # (w step)^2 / 8, feature by axis
        fourth = waves.sum(axis=1) ** 2 * self._heights
        out = np.empty(len(rows))
        size = max(1, CHUNK // math.prod(counts))
        for start in range(0, len(rows), size):
            part = rows[start : start + size]
            total = _largest(part, self.sizes, matrices)
            for axis in range(self.dimension):
                total += _largest(part * waves[:, axis], self.sizes, matrices)
            out[start : start + size] = total + np.abs(part) @ fourth
        return out * UP

    def spread(self, units: npt.ArrayLike) -> float:
        """An upper bound of sup_x sqrt(sum_k (units_k phi_k(x))^2), attained if each cosine has its sine's unit."""
        squares = self._tensor(np.asarray(units, dtype=np.float64) ** 2)
        for axis in range(self.dimension):
            first = squares.take([0], axis=axis)
            cosines = squares.take(range(1, squares.shape[axis], 2), axis=axis)
            sines = squares.take(range(2, squares.shape[axis], 2), axis=axis)
            squares = np.concatenate([first, 2 * np.maximum(cosines, sines)], axis=axis)
        return math.sqrt(float(squares.sum())) * UP

    def reach(self, units: npt.ArrayLike) -> float:
        """An upper bound of sup_x sum_k |units_k phi_k(x)|."""
        return float(np.abs(np.asarray(units, dtype=np.float64)) @ self._heights) * UP

    @property
    def work(self) -> int:
        """Numbers computed to bound one supremum."""
        return (self.dimension + 1) * math.prod(self._counts)

    def to_record(self) -> dict[str, Any]:
        """Public parameters."""
        return {
            "basis": "torus", "low": list(self.low), "high": list(self.high), "periods": list(self.periods),
            "degrees": list(self.degrees),
        }  # fmt: skip

    @classmethod
    def from_record(cls, record: dict[str, Any]) -> Torus:
        """The basis that `to_record` wrote."""
        return cls(*(tuple(record[name]) for name in ("low", "high", "periods", "degrees")))

    @property
    def _counts(self) -> list[int]:
        """Points of each axis where suprema are looked for."""
        for per_wave in OVERSAMPLING:
            spans = zip(self.low, self.high, self.periods, self.degrees, strict=True)
            counts = [2 + math.ceil(per_wave * degree * (b - a) / period) for a, b, period, degree in spans]
            if len(counts) == 1 or math.prod(counts) <= AFFORDABLE:
                break
        return counts

    @property
    def _heights(self) -> Reals:
        """The largest absolute value of each function."""
        return np.asarray(ROOT ** (self.index != 0).sum(axis=1))

    def _tensor(self, coefficients: npt.ArrayLike) -> Reals:
        flat = np.asarray(coefficients, dtype=np.float64)
        if flat.shape != (self.features,):
            raise ParameterError(f"the basis has {self.features} functions, got coefficients of shape {flat.shape}")
        return flat.reshape(self.sizes)

    def _axis(self, axis: int, at: Reals) -> Reals:
        """The functions of one axis at its coordinates."""
        turns = (at - self.low[axis]) / self.periods[axis]
        turns = turns - np.floor(turns)
        phases = 2 * math.pi * np.outer(turns, np.arange(1, self.degrees[axis] + 1))
        out = np.ones((len(at), 2 * self.degrees[axis] + 1))
        out[:, 1::2], out[:, 2::2] = ROOT * np.cos(phases), ROOT * np.sin(phases)
        return out


def _frequencies(degree: int) -> Integers:
    """0, 1, -1, 2, -2, ...: cosines positive, sines negative."""
    out = np.zeros(2 * degree + 1, dtype=np.int64)
    out[1::2] = np.arange(1, degree + 1)
    out[2::2] = -out[1::2]
    return out


def waves_on_line(coefficients: Reals, step: float, count: int) -> Reals:
    """A series in one axis at 0, step, 2 step, ... turns: phases of blocks times phases inside a block."""
    frequency = np.arange((coefficients.size + 1) // 2)
    waves = np.concatenate([coefficients[:1] + 0j, ROOT * (coefficients[1::2] - 1j * coefficients[2::2])])
    block = math.ceil(math.sqrt(count))
    starts = np.arange(math.ceil(count / block)) * (block * step)
    outer = np.exp(2j * math.pi * np.outer(starts, frequency)) * waves
    inner = np.exp(2j * math.pi * np.outer(np.arange(block) * step, frequency))
    return np.asarray((outer @ inner.T).real.ravel()[:count])


def _contract(tensor: Reals, matrices: list[Reals]) -> Reals:
    """The tensor with a matrix applied along each of its last axes."""
    first = tensor.ndim - len(matrices)
    for axis, matrix in enumerate(matrices):
        tensor = np.moveaxis(np.tensordot(tensor, matrix, axes=(first + axis, 1)), -1, first + axis)
    return tensor


def _largest(rows: Reals, sizes: tuple[int, ...], matrices: list[Reals]) -> Reals:
    values = _contract(rows.reshape(len(rows), *sizes), matrices)
    return np.asarray(np.abs(values).reshape(len(rows), -1).max(axis=1))
