"""A released regression: a smooth curve through noisy means of cells, with a band about the regression function.

Its band allows for noise, for sampling, and for what a smooth curve misses, supposing a regression function about as
smooth as the released numbers look (`answers/curves/smoothing.py`).  That is simulated, not proven; where the released
numbers show next to no rows nothing is known, and the band is the whole range.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from sfumato import arguments
from sfumato.answers.curves.points import beyond, in_rows
from sfumato.answers.curves.pooling import Pool, Tallies, pools
from sfumato.answers.curves.smoothing import Process, smooth
from sfumato.answers.curves.waves import Floats
from sfumato.errors import ParameterError
from sfumato.numeric import normal_point

__all__ = ["COVERED", "Trend"]

COVERED = (
    "about the regression function (the mean of the target given the columns, of the law that rows are drawn from), if "
    "it is about as smooth as the curve looks: simulated, not proven"
)
DRAWN = {1: 101, 2: 15, 3: 7}  # points a side on which the largest deviation is simulated
PATHS = 2000
SEED = 20_261_116  # public; of the simulation, not of any noise that protects


@dataclass(frozen=True, eq=False)
class Trend:
    """A smooth prediction of a number, or of a score from -1 to 1, within the declared bounds of its columns."""

    name: str
    kind: str
    labels: tuple[str, ...]
    domain: tuple[tuple[float, float], ...]
    span: tuple[float, float]  # the range of the target
    tallies: Tallies
    pull: ClassVar[None] = None
    bias: ClassVar[float] = 0.0

    def __repr__(self) -> str:
        return f"Trend({self.name!r}, {len(self.tallies.places)} cells)"

    @property
    def shown(self) -> tuple[tuple[float, float], ...]:
        """The box that pictures show."""
        return self.domain

    def covered(self) -> str:
        """What error bars and bands are about, in words."""
        return COVERED

    @cached_property
    def _pools(self) -> list[Pool]:
        return pools(self.tallies)

    @cached_property
    def _fitted(self) -> tuple[Process, Process]:
        return smooth(self.tallies, self._pools)

    @cached_property
    def _held(self) -> npt.NDArray[np.bool_]:
        """The cells that are read."""
        held = np.zeros(len(self.tallies.places), dtype=np.bool_)
        held[np.concatenate([pool.cells for pool in self._pools])] = True
        return held.reshape(self.tallies.sides)

    @cached_property
    def _largest(self) -> Floats:
        """Public draws of the largest deviation over the domain, in deviations of each point, sorted."""
        axes = [np.linspace(0.0, 1.0, DRAWN[len(self.domain)])] * len(self.domain)
        grid = np.stack([part.reshape(-1) for part in np.meshgrid(*axes, indexing="ij")], axis=1)
        covariance = self._fitted[1].covariance(grid)
        deviations = np.sqrt(np.maximum(np.diag(covariance), 1e-18))
        values, vectors = np.linalg.eigh(covariance / np.outer(deviations, deviations))
        paths = np.random.default_rng(SEED).standard_normal((PATHS, len(grid)))
        return np.sort(np.abs(paths @ (vectors * np.sqrt(np.maximum(values, 0.0))).T).max(axis=1))

    def at(self, points: npt.ArrayLike) -> Floats:
        """The curve at any points: numbers, or rows of d numbers."""
        return self._values(self._fitted[0].mean(self._places(points)))

    def seen(self, points: npt.ArrayLike) -> npt.NDArray[np.bool_]:
        """Where the released numbers show enough rows to say anything."""
        sides = np.array(self.tallies.sides)
        nearest = [
            np.argmin(np.abs(self._places(points)[:, [j]] - np.unique(self.tallies.places[:, j])[None, :]), axis=1)
            for j in range(len(sides))
        ]
        return np.asarray(self._held[tuple(nearest)])

    def interval(self, points: npt.ArrayLike, level: float = 0.95) -> tuple[Floats, Floats]:
        """For each point by itself."""
        return self._around(points, normal_point((1 - arguments.level(level)) / 2))

    def band(self, points: npt.ArrayLike, level: float = 0.95) -> tuple[Floats, Floats]:
        """For all points of the domain at once."""
        return self._around(points, float(np.quantile(self._largest, arguments.level(level))))

    def half_width(self, level: float = 0.95) -> float:
        """The largest distance from the curve to the ends of its band, in the middles of cells where rows are seen."""
        return float(self.half_widths(level).max(initial=0.0))

    def half_widths(self, level: float = 0.95) -> Floats:
        """The distance from the curve to the farther end of its band, in the middle of each cell with rows."""
        points = self._grid[self.seen(self._grid)]
        low, high = self.band(points, level)
        estimate = self.at(points)
        return np.asarray(np.maximum(high - estimate, estimate - low))

    @cached_property
    def _grid(self) -> Floats:
        """The middles of the cells."""
        low, high = np.array(self.domain).T
        return np.asarray(low + self.tallies.places * (high - low))

    def plot(self, level: float = 0.95, truth: Callable[[Any], Any] | None = None) -> Any:
        """The curve and its band (an Altair chart).  `truth` is for the steward only, and the picture says so."""
        from sfumato.report.curves import plot_curve

        return plot_curve(self, level, truth)

    def supported(self, points: npt.ArrayLike, density: object, level: float = 0.95) -> npt.NDArray[np.bool_]:
        """Where rows are seen: a regression shows that itself, and takes no density for it."""
        raise ParameterError(f"{self.name!r} shows by itself where rows are few (seen); it takes no support")

    def _around(self, points: npt.ArrayLike, times: float) -> tuple[Floats, Floats]:
        x, seen = self._places(points), self.seen(points)
        middle, half = np.clip(self._fitted[0].mean(x), 0.0, 1.0), times * self._fitted[1].deviations(x)
        low, high = np.where(seen, middle - half, 0.0), np.where(seen, middle + half, 1.0)
        return self._values(low), self._values(high)

    def _values(self, place: Floats) -> Floats:
        low, high = self.span
        return np.asarray(low + np.clip(place, 0.0, 1.0) * (high - low))

    def _places(self, points: npt.ArrayLike) -> Floats:
        """Points in the unit box."""
        x = in_rows(self.name, points, len(self.domain))
        low, high = np.array(self.domain).T
        if not ((x >= low) & (x <= high)).all():
            raise beyond(self.name, self.domain)
        return np.asarray((x - low) / (high - low))
