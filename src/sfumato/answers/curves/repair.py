"""Proper curves near noisy ones: not negative, of mass one, monotone.  All of it reads public values only."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from sfumato.answers.curves.waves import Floats
from sfumato.errors import ParameterError, UnsupportedQuery
from sfumato.randomness import Rng

if TYPE_CHECKING:
    from sfumato.answers.curves.curve import Curve

__all__ = ["Repaired", "repaired_density", "repaired_distribution"]

POINTS = {1: 2001, 2: 201, 3: 51}  # a side


@dataclass(frozen=True, slots=True, eq=False)
class Repaired:
    """A curve on a grid, multilinear in between: a density (cell masses add up to one) or a distribution."""

    kind: str
    axes: tuple[Floats, ...]
    values: Floats

    def at(self, points: npt.ArrayLike) -> Floats:
        """Multilinear interpolation; beyond the grid a density is 0 and a distribution 0 or 1."""
        x = np.asarray(points, dtype=np.float64)
        x = x.reshape(-1, 1) if len(self.axes) == 1 else np.atleast_2d(x)
        if self.kind == "distribution":
            return np.asarray(np.interp(x[:, 0], self.axes[0], self.values, left=0.0, right=1.0))
        from scipy.interpolate import RegularGridInterpolator

        return np.asarray(RegularGridInterpolator(self.axes, self.values, bounds_error=False, fill_value=0.0)(x))

    @property
    def masses(self) -> Floats:
        """The probability of each cell of the grid: the volume times the mean of its corners."""
        if self.kind != "density":
            return np.diff(self.values)
        corners = itertools.product((slice(None, -1), slice(1, None)), repeat=len(self.axes))
        mean = sum((self.values[corner] for corner in corners), np.zeros(1)) / 2 ** len(self.axes)
        return np.asarray(mean * math.prod(float(axis[1] - axis[0]) for axis in self.axes))

    def sample(self, count: int, rng: Rng) -> Floats:
        """Independent rows: a cell by its mass, then uniform inside it."""
        if not (isinstance(count, int) and count >= 0):
            raise ParameterError(f"count must be a whole number of at least 0, got {count!r}")
        draws = np.random.Generator(np.random.PCG64(rng.bits64(4).tolist()))
        masses = self.masses
        total = masses.reshape(-1) / masses.sum()
        cells = np.unravel_index(draws.choice(total.size, count, p=total), masses.shape)
        sides = [
            axis[cell] + draws.random(count) * (axis[1] - axis[0]) for axis, cell in zip(self.axes, cells, strict=True)
        ]
        return np.stack(sides, axis=1) if len(sides) > 1 else np.asarray(sides[0])

    def quantiles(self, probabilities: npt.ArrayLike) -> Floats:
        """The points where a distribution reaches these probabilities."""
        if self.kind != "distribution":
            raise UnsupportedQuery("only a distribution has quantiles")
        rising = np.maximum.accumulate(self.values) + 1e-12 * np.arange(len(self.values))
        return np.asarray(np.interp(np.asarray(probabilities), rising, self.axes[0]))


def repaired_density(curve: Curve, points: int | None = None) -> Repaired:
    """max(f - c, 0) with the c that gives mass one: the nearest density on the grid in mean square."""
    axes = _axes(curve, points)
    mesh = np.stack([part.reshape(-1) for part in np.meshgrid(*axes, indexing="ij")], axis=1)
    values = curve.at(mesh).reshape([len(axis) for axis in axes])
    low, high = float(values.min()) - 1 / _volume(curve), float(values.max())
    for _ in range(80):
        middle = (low + high) / 2
        mass = float(Repaired("density", axes, np.maximum(values - middle, 0.0)).masses.sum())
        low, high = (middle, high) if mass > 1 else (low, middle)
    kept = np.maximum(values - low, 0.0)
    return Repaired("density", axes, kept / float(Repaired("density", axes, kept).masses.sum()))


def repaired_distribution(curve: Curve, points: int | None = None) -> Repaired:
    """The nearest nondecreasing values on the grid, from 0 to 1."""
    from scipy.optimize import isotonic_regression

    axes = _axes(curve, points)
    rising = np.clip(isotonic_regression(curve.at(axes[0])).x, 0.0, 1.0)
    rising[0], rising[-1] = 0.0, 1.0
    return Repaired("distribution", axes, rising)


def _axes(curve: Curve, points: int | None) -> tuple[Floats, ...]:
    chosen = POINTS[len(curve.domain)] if points is None else points
    if not (isinstance(chosen, int) and chosen >= 2):
        raise ParameterError(f"points must be a whole number of at least 2, got {points!r}")
    return tuple(np.linspace(low, high, chosen) for low, high in curve.domain)


def _volume(curve: Curve) -> float:
    return math.prod(high - low for low, high in curve.domain)
