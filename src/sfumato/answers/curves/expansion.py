"""How coefficients become a function: sums of products of waves, their integrals, and symmetric surfaces.

A reading is linear and public.  `level` is a constant term that is public too and has no coefficient.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

from sfumato.answers.curves.waves import Axis, Floats

__all__ = ["Antiderivative", "Expansion", "Reading", "Surface"]

OVERSAMPLED = {1: 36, 2: 16, 3: 8}  # points for each turn of the fastest wave, where suprema are looked for
BLOCK = 1 << 22  # numbers held at a time


class Reading(Protocol):
    """A family of functions, linear in `size` coefficients; hashable, since what is simulated is kept."""

    def __hash__(self) -> int: ...

    @property
    def size(self) -> int: ...

    @property
    def domain(self) -> tuple[tuple[float, float], ...]: ...

    @property
    def stretch(self) -> float:
        """The supremum of any member without its public part is at most this times its largest value on `paths`."""
        ...

    def design(self, points: Floats) -> Floats:
        """A row for each point of shape (n, d): the weight of each coefficient."""
        ...

    def public(self, points: Floats) -> Floats:
        """The part that has no coefficient, at each point."""
        ...

    def paths(self, coefficients: Floats) -> Floats:
        """The members without their public part, of coefficients (m, size), on a grid: (m, grid points)."""
        ...

    @property
    def squares(self) -> Floats:
        """For each coefficient the mean square of its weight on that grid."""
        ...

    @property
    def work(self) -> float:
        """Multiplications for one of the paths."""
        ...

    @property
    def grid_size(self) -> int:
        """Points of that grid."""
        ...

    @property
    def heights(self) -> Floats:
        """For each coefficient a bound of its weight over the domain."""
        ...


@dataclass(frozen=True, slots=True)
class Expansion:
    """sum_k a_k e_k1(x_1) ... e_kd(x_d), over all products of the axes' functions; with `level` all but the constant.

    `center` is a public number that is added to either.

    >>> from sfumato.answers.curves.waves import Fourier
    >>> line = Expansion((Fourier(0.0, 1.0, (1, 2)),), level=1.0)
    >>> line.size, line.public(np.zeros((1, 1))).tolist()
    (4, [1.0])
    """

    axes: tuple[Axis, ...]
    level: float | None = None
    center: float = 0.0

    @property
    def size(self) -> int:
        """The number of coefficients."""
        return math.prod(axis.size for axis in self.axes) - (self.level is not None)

    @property
    def domain(self) -> tuple[tuple[float, float], ...]:
        """Where the function lives."""
        return tuple((axis.low, axis.high) for axis in self.axes)

    @property
    def stretch(self) -> float:
        """One factor 1 / cos(pi m / N) for each axis [EhlichZeller1964]."""
        return 1 / math.cos(math.pi / OVERSAMPLED[len(self.axes)]) ** len(self.axes) * (1 + 1e-9)

    @property
    def work(self) -> float:
        """Multiplications for one path."""
        sizes, grids = [axis.size for axis in self.axes], [len(grid) for grid in self.grid()]
        return float(sum(math.prod(grids[: j + 1]) * math.prod(sizes[j:]) for j in range(len(sizes))))

    @property
    def grid_size(self) -> int:
        """The number of grid points."""
        return math.prod(len(points) for points in self.grid())

    @property
    def heights(self) -> Floats:
        """sqrt(2) for each axis on which the function is not constant."""
        return np.asarray(self._kept(_products([_heights(axis)[None, :] for axis in self.axes]))[0])

    def grid(self) -> list[Floats]:
        """For each axis, equally spaced points over its interval."""
        return [_spaced(axis, OVERSAMPLED[len(self.axes)]) for axis in self.axes]

    def design(self, points: Floats) -> Floats:
        """Products of the axes' values."""
        return self._kept(_products([axis.values(points[:, j]) for j, axis in enumerate(self.axes)]))

    def regions(self, low: Floats, high: Floats) -> tuple[Floats, Floats]:
        """For each box, the weight of each coefficient in the integral, and the public part's integral."""
        ends = zip(self.axes, low.T, high.T, strict=True)
        parts = [axis.integrals(upper) - axis.integrals(lower) for axis, lower, upper in ends]
        volume = np.prod([part[:, 0] for part in parts], axis=0)
        return self._kept(_products(parts)), ((self.level or 0.0) + self.center) * volume

    def public(self, points: Floats) -> Floats:
        """The public constants."""
        return np.full(len(points), (self.level or 0.0) + self.center)

    def paths(self, coefficients: Floats) -> Floats:
        """One contraction for each axis."""
        return on_grid(self, coefficients, self.grid())

    @property
    def squares(self) -> Floats:
        """Products of those of the axes, since the grid is a product."""
        steps = [len(points) - 1 for points in self.grid()]
        own = [axis.squares(many)[None, :] for axis, many in zip(self.axes, steps, strict=True)]
        return np.asarray(self._kept(_products(own))[0])

    def _kept(self, products: Floats) -> Floats:
        return products if self.level is None else products[:, 1:]


def on_grid(expansion: Expansion, coefficients: Floats, grid: list[Floats]) -> Floats:
    """The functions without their public part on a product of points: (m, number of products)."""
    many = len(coefficients)
    full = coefficients if expansion.level is None else np.concatenate([np.zeros((many, 1)), coefficients], axis=1)
    tensor = full.reshape(many, *(axis.size for axis in expansion.axes))
    for axis, points in zip(expansion.axes, grid, strict=True):
        tensor = np.tensordot(tensor, axis.values(points), axes=(1, 1))  # the new axis is the last
    return np.asarray(tensor.reshape(many, -1))


@dataclass(frozen=True, slots=True)
class Antiderivative:
    """x -> integral from `low` to x of an expansion on one axis: a distribution from a density."""

    axis: Axis
    level: float

    @property
    def size(self) -> int:
        """The number of coefficients; the constant is public."""
        return self.axis.size - 1

    @property
    def domain(self) -> tuple[tuple[float, float], ...]:
        """Where the function lives."""
        return ((self.axis.low, self.axis.high),)

    @property
    def stretch(self) -> float:
        """Without the public part the integral is again a trigonometric polynomial of the same degree."""
        return 1 / math.cos(math.pi / OVERSAMPLED[1]) * (1 + 1e-9)

    @property
    def work(self) -> float:
        """Multiplications for one path."""
        return float(self.size * self.grid_size)

    @property
    def grid_size(self) -> int:
        """The number of grid points."""
        return len(_spaced(self.axis, OVERSAMPLED[1]))

    @property
    def heights(self) -> Floats:
        """A wave k of length T has integrals within sqrt(2) T / (pi k)."""
        length = self.axis.high - self.axis.low
        return np.asarray(math.sqrt(2) * length / (math.pi * self.axis.frequencies[1:]))

    def design(self, points: Floats) -> Floats:
        """Integrals of the waves."""
        return self.axis.integrals(points[:, 0])[:, 1:]

    def public(self, points: Floats) -> Floats:
        """The integral of the constant."""
        return np.asarray(self.level * (points[:, 0] - self.axis.low))

    def paths(self, coefficients: Floats) -> Floats:
        """On equally spaced points."""
        return np.asarray(coefficients @ self.design(_spaced(self.axis, OVERSAMPLED[1])[:, None]).T)

    @property
    def squares(self) -> Floats:
        """Means over those points."""
        return np.asarray((self.design(_spaced(self.axis, OVERSAMPLED[1])[:, None]) ** 2).mean(axis=0))


@dataclass(frozen=True, slots=True)
class Surface:
    """(s, t) -> sum over i <= j of a_ij (e_i(s) e_j(t) + e_j(s) e_i(t)), halved on the diagonal: symmetric."""

    axis: Axis

    @property
    def size(self) -> int:
        """The number of pairs i <= j."""
        return self.axis.size * (self.axis.size + 1) // 2

    @property
    def domain(self) -> tuple[tuple[float, float], ...]:
        """The square of the axis."""
        return ((self.axis.low, self.axis.high),) * 2

    @property
    def stretch(self) -> float:
        """As for an expansion in two dimensions."""
        return 1 / math.cos(math.pi / OVERSAMPLED[2]) ** 2 * (1 + 1e-9)

    @property
    def work(self) -> float:
        """Multiplications for one path."""
        grid = len(_spaced(self.axis, OVERSAMPLED[2]))
        return float(self.axis.size**2 * grid + self.axis.size * grid**2)

    @property
    def grid_size(self) -> int:
        """The number of grid points."""
        return len(_spaced(self.axis, OVERSAMPLED[2])) ** 2

    @property
    def heights(self) -> Floats:
        """Twice the product of two heights, once on the diagonal."""
        one = _heights(self.axis)
        rows, columns = np.triu_indices(self.axis.size)
        return np.asarray(np.where(rows == columns, 1.0, 2.0) * one[rows] * one[columns])

    def matrices(self, coefficients: Floats) -> Floats:
        """Symmetric matrices (m, K, K) from coefficients (m, size)."""
        rows, columns = np.triu_indices(self.axis.size)
        full = np.zeros((len(coefficients), self.axis.size, self.axis.size))
        full[:, rows, columns] = coefficients
        full[:, columns, rows] = coefficients
        return full

    def design(self, points: Floats) -> Floats:
        """Products of values, both ways round."""
        one, other = self.axis.values(points[:, 0]), self.axis.values(points[:, 1])
        rows, columns = np.triu_indices(self.axis.size)
        mixed = one[:, rows] * other[:, columns]
        return np.asarray(np.where(rows == columns, mixed, mixed + one[:, columns] * other[:, rows]))

    def public(self, points: Floats) -> Floats:
        """Nothing."""
        return np.zeros(len(points))

    def paths(self, coefficients: Floats) -> Floats:
        """Values E A E^T on a square grid."""
        values = self.axis.values(_spaced(self.axis, OVERSAMPLED[2]))
        return np.asarray((values @ self.matrices(coefficients) @ values.T).reshape(len(coefficients), -1))

    @property
    def squares(self) -> Floats:
        """Means over that grid."""
        return np.asarray((self.paths(np.eye(self.size)) ** 2).mean(axis=1))


def _spaced(axis: Axis, oversampled: int) -> Floats:
    """At least `oversampled` points for each turn over a whole period; those of them inside the interval.

    For trigonometric polynomials of degree m the largest value on N equally spaced points, wherever they start, is at
    least cos(pi m / N) times the supremum.
    """
    whole = max(oversampled * axis.turns, 2 * oversampled)
    steps = math.ceil(whole * axis.span)
    return np.linspace(axis.low, axis.high, steps + 1)


def _heights(axis: Axis) -> Floats:
    return np.where(axis.frequencies == 0, 1.0, math.sqrt(2) * (1 + 1e-15))


def _products(parts: list[Floats]) -> Floats:
    """Row by row, all products of one entry from each part, the last varying fastest."""
    out = parts[0]
    for part in parts[1:]:
        out = (out[:, :, None] * part[:, None, :]).reshape(len(out), -1)
    return out


def in_blocks(size: int, points: npt.NDArray[np.float64]) -> list[Floats]:
    """The points in blocks whose designs fit in memory."""
    each = max(1, BLOCK // max(1, size))
    return [points[start : start + each] for start in range(0, len(points), each)] or [points]
