"""A released curve: one public function with its noise law, to be evaluated anywhere, forever, at no further cost."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from sfumato import arguments
from sfumato.answers.curves.expansion import Antiderivative, Expansion, Reading, in_blocks
from sfumato.answers.curves.points import beyond, in_rows
from sfumato.answers.curves.quotients import quotient_supremum
from sfumato.answers.curves.repair import Repaired, repaired_density, repaired_distribution
from sfumato.answers.curves.suprema import Silence, margins, sharp_margins, supremum
from sfumato.answers.curves.waves import Floats
from sfumato.cards import Card, Shown
from sfumato.errors import ParameterError, UnsupportedQuery
from sfumato.randomness import Rng
from sfumato.visible import visible

__all__ = ["Curve", "Divisor", "Pull"]

SHOWN = 7  # points at which a curve shows itself
SHARE = 0.1  # of the failure probability that a private divisor takes


@dataclass(frozen=True, slots=True)
class Divisor:
    """What sums are divided by: a public number, or a noisy count of rows that each count `unit` (0: public)."""

    value: float
    unit: float = 0.0

    def bounds(self, law: Any, beta: float) -> tuple[float, float]:
        """Where the exact number lies but for beta; it is at least 1."""
        if self.unit == 0:
            return self.value, self.value
        margin = float(margins(np.array([[self.unit]]), law, beta)[0])
        return max(1.0, self.value - margin), max(1.0, self.value + margin)


@dataclass(frozen=True, slots=True)
class Pull:
    """What a penalty does to a learned curve: it bends it toward `middle`, the more the fewer rows are near.

    Where the density of rows is `density`, about a tenth of the way.
    """

    middle: float
    density: float


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Curve(Shown):
    """public(x) + (sum_k a_k w_k(x)) / divisor, the a_k noisy with noise of law `noise` times `units`.

    Error bars and bands are about the same curve without noise; what separates that from an ideal curve (grid,
    truncation, clipping) is bounded by `bias` where it can be.  A learned curve lives on the declared `bounds`, inside
    the box of its waves, and has a `pull` that no band covers.
    """

    name: str
    kind: str
    reading: Reading
    coefficients: Floats
    units: Floats
    noise: Any
    divisor: Divisor
    bias: float = 0.0
    labels: tuple[str, ...] = ("x",)
    bounds: tuple[tuple[float, float], ...] | None = None
    pull: Pull | None = None
    frame: tuple[tuple[float, float], ...] | None = None  # what pictures show, where that is less than the domain

    def __repr__(self) -> str:
        return f"Curve({self.name!r}: {self.kind} on {self._box()}, {len(self.coefficients)} coefficients)"

    def card(self) -> Card:
        """What the curve is, and its values at a few points across its domain."""
        sides = [np.linspace(low, high, SHOWN + 2)[1:-1] for low, high in self.domain]
        points = np.column_stack(sides)
        low, high = self.interval(points)
        columns = (*points.T, self.at(points), low, high)
        rows = [[f"{number:.4g}" for number in row] for row in zip(*columns, strict=True)]
        facts = {"where": self._box(), "bars": f"for each point by itself, about {self.covered()}"}
        headings = (*map(visible, self.labels), self.kind, "low", "high")
        return Card(f"{self.name}: {self.kind}", facts, headings, rows, (True,) * len(headings))

    def _box(self) -> str:
        return " x ".join(f"[{low:g}, {high:g}]" for low, high in self.domain)

    @property
    def domain(self) -> tuple[tuple[float, float], ...]:
        """The box where the curve lives, an interval for each variable."""
        return self.bounds or self.reading.domain

    @property
    def shown(self) -> tuple[tuple[float, float], ...]:
        """The box that pictures show: a kernel goes on beyond the declared bounds, where no row can lie."""
        return self.frame or self.domain

    def covered(self) -> str:
        """What error bars and bands are about, in words."""
        if self.pull is None:
            smoothed = "smoothed " if self.kind in ("density", "distribution") else ""
            return f"the {smoothed}curve without noise"
        return (
            "the penalized curve without noise, not the mean of the data: where rows are few it bends toward "
            f"{self.pull.middle:g}"
        )

    def seen(self, points: npt.ArrayLike) -> npt.NDArray[np.bool_]:
        """Where the released numbers say something: everywhere."""
        return np.ones(len(self._points(points)), dtype=np.bool_)

    def supported(self, points: npt.ArrayLike, density: Curve, level: float = 0.95) -> npt.NDArray[np.bool_]:
        """Where a released density of the same columns shows so many rows that the pull is about a tenth at most."""
        if self.pull is None or density.kind != "density" or density.labels != self.labels:
            raise ParameterError(f"support of {self.name!r} is shown by a density of the columns it was learned on")
        return np.asarray(density.band(points, level)[0] >= self.pull.density)

    def at(self, points: npt.ArrayLike) -> Floats:
        """The curve at any points: numbers, or rows of d numbers.  Outside its domain a density is 0."""
        x = self._points(points)
        sums = np.concatenate([self.reading.design(b) @ self.coefficients for b in self._blocks(x)])
        return self._outside(x, self.reading.public(x) + sums / max(self.divisor.value, 1.0))

    def interval(self, points: npt.ArrayLike, level: float = 0.95) -> tuple[Floats, Floats]:
        """For each point by itself, an interval that covers the curve without noise with probability `level`."""
        x = self._points(points)
        sharp = self._inverted(x, level)
        if sharp is not None:
            return self._around(x, sharp, self.divisor.value, self.divisor.value)
        beta, (low, high) = self._split(level)
        half = [sharp_margins(self.reading.design(b) * self.units, self.noise, beta) for b in self._blocks(x)]
        return self._around(x, np.concatenate(half), low, high)

    def band(self, points: npt.ArrayLike, level: float = 0.95) -> tuple[Floats, Floats]:
        """A band that covers the curve without noise at all points of its domain at once with probability `level`."""
        beta, (low, high) = self._split(level)
        x, sharp = self._points(points), self._sharp(level)
        if sharp is not None:
            return self._around(x, np.full(len(x), sharp), self.divisor.value, self.divisor.value)
        return self._around(x, np.full(len(x), supremum(self.reading, self.units, self.noise, beta)), low, high)

    def half_width(self, level: float = 0.95) -> float:
        """Half the width of the band where the divisor is as estimated."""
        beta, sharp = self._split(level)[0], self._sharp(level)
        half = supremum(self.reading, self.units, self.noise, beta) if sharp is None else sharp
        return half / max(self.divisor.value, 1.0)

    def deviation(self) -> float:
        """The root mean square over the domain of the noise, the divisor as estimated."""
        spread = self.units**2 @ self.reading.squares if len(self.units) <= 1500 else (self.units**2).sum()
        return float(np.sqrt(spread * self.noise.variance)) / max(self.divisor.value, 1.0)

    def integral(self, low: npt.ArrayLike, high: npt.ArrayLike, level: float = 0.95) -> tuple[float, float, float]:
        """The integral over a box, which for a density is a probability: (estimate, low, high)."""
        ends = [np.asarray(end, dtype=np.float64).reshape(1, -1) for end in (low, high)]
        if any(end.shape != (1, len(self.domain)) for end in ends) or not (ends[0] <= ends[1]).all():
            raise ParameterError(f"low and high must be {len(self.domain)} numbers each, with low <= high")
        inside = [np.clip(end, [a for a, _ in self.domain], [b for _, b in self.domain]) for end in ends]
        weights, public = self._regions(inside[0], inside[1])
        beta, (least, most) = self._split(level)
        half = margins(weights * self.units, self.noise, beta)
        total = weights @ self.coefficients
        bounds = _quotient(total - half, total + half, least, most)
        estimate = public + total / max(self.divisor.value, 1.0)
        return float(estimate[0]), float((public + bounds[0])[0]), float((public + bounds[1])[0])

    def _regions(self, low: Floats, high: Floats) -> tuple[Floats, Floats]:
        if isinstance(self.reading, Antiderivative):
            raise UnsupportedQuery("a distribution is an integral already; take the difference of at(high) and at(low)")
        if not isinstance(self.reading, Expansion):
            raise UnsupportedQuery(f"a {self.kind} has no integral over regions here; evaluate it with at(...)")
        return self.reading.regions(low, high)

    def repaired(self, points: int | None = None) -> Repaired:
        """The nearest proper curve on a grid: not negative with mass one, or monotone from 0 to 1.  Post-processing."""
        if self.kind == "density":
            return repaired_density(self, points)
        if self.kind == "distribution":
            return repaired_distribution(self, points)
        raise UnsupportedQuery(f"a {self.kind} needs no repair; densities and distributions do")

    def sample(self, count: int, rng: Rng) -> Floats:
        """New data from the repaired density: `count` rows.  Post-processing, at no cost."""
        return self.repaired().sample(count, rng)

    def quantiles(self, probabilities: npt.ArrayLike, level: float = 0.95) -> tuple[Floats, Floats, Floats]:
        """For a distribution: the quantile curve at these probabilities with its simultaneous band."""
        if self.kind != "distribution":
            raise UnsupportedQuery(f"a {self.kind} has no quantiles; ask for distribution(...)")
        p = np.atleast_1d(np.asarray(probabilities, dtype=np.float64))
        if not ((p > 0) & (p < 1)).all():
            raise ParameterError("probabilities must lie strictly between 0 and 1")
        grid = np.linspace(*self.domain[0], 4001)
        below, above = self.band(grid, level)
        most = np.minimum.accumulate((above + self.bias)[::-1])[::-1]  # the exact curve is monotone
        least = np.maximum.accumulate(below - self.bias)
        low = grid[np.clip(np.searchsorted(most, p) - 1, 0, len(grid) - 1)]
        high = grid[np.clip(np.searchsorted(least, p), 0, len(grid) - 1)]
        return self.repaired().quantiles(p), low, high

    def plot(self, level: float = 0.95, truth: Any = None, support: Curve | None = None) -> Any:
        """The curve and its band (an Altair chart).  `truth` is for the steward only, and the picture says so.

        A learned curve has a band only where `support`, a released density of the same columns, shows enough rows.
        """
        from sfumato.report.curves import plot_curve

        return plot_curve(self, level, truth, support)

    def _points(self, points: npt.ArrayLike) -> Floats:
        x = in_rows(self.name, points, len(self.domain))
        if not np.isfinite(x).all():
            raise ParameterError("points must be finite numbers")
        low, high = np.array(self.domain).T
        if self.bounds is not None and ((x < low) | (x > high)).any():
            raise beyond(self.name, self.bounds)
        return x

    def _blocks(self, x: Floats) -> list[Floats]:
        return in_blocks(len(self.coefficients), x)

    def _split(self, level: float) -> tuple[float, tuple[float, float]]:
        """The failure probability left for the sums, and where the divisor lies."""
        beta = 1 - arguments.level(level)
        if self.divisor.unit == 0 or isinstance(self.noise, Silence):
            return beta, (self.divisor.value, self.divisor.value)
        return (1 - SHARE) * beta, self.divisor.bounds(self.noise, SHARE * beta)

    def _sharp(self, level: float) -> float | None:
        """Half the width of the sums' band that allows for a noisy divisor all at once, where there is one."""
        if self.divisor.unit == 0 or isinstance(self.noise, Silence):
            return None
        return quotient_supremum(
            self.reading, self.coefficients, self.units, self.divisor.value, self.divisor.unit, self.noise, 1 - level
        )

    def _inverted(self, x: Floats, level: float) -> Floats | None:
        """Half-widths of the sums at each point that allow for a noisy divisor, where its noise leaves enough of it.

        With g the exact quotient, the noisy sum less g times the noisy divisor is noise alone, whose quantile grows
        with the size of g; that is bounded roughly first, then by what follows (docs/proofs/curves-bands.md).
        """
        value, unit, beta = self.divisor.value, self.divisor.unit, 1 - arguments.level(level)
        if unit == 0 or isinstance(self.noise, Silence):
            return None
        lost = float(margins(np.array([[unit]]), self.noise, beta / 2)[0])
        if value <= 2 * lost:
            return None
        found = []
        for block in self._blocks(x):
            design = self.reading.design(block)
            weights, quotient = design * self.units, np.abs(design @ self.coefficients) / value
            size = (value * quotient + margins(weights, self.noise, beta / 2)) / (value - lost)
            half = margins(np.column_stack([weights, size * unit]), self.noise, beta)
            size = quotient + half / value
            half = sharp_margins(np.column_stack([weights, size * unit]), self.noise, beta)
            found.append(
                half + 2 * size * unit
            )  # two steps of the count, since sums of lattice laws are hardly unimodal
        return np.concatenate(found)

    def _around(self, x: Floats, half: Floats, least: float, most: float) -> tuple[Floats, Floats]:
        sums = np.concatenate([self.reading.design(b) @ self.coefficients for b in self._blocks(x)])
        low, high = _quotient(sums - half, sums + half, least, most)
        public = self.reading.public(x)
        return self._outside(x, public + low), self._outside(x, public + high)

    def _outside(self, x: Floats, values: Floats) -> Floats:
        """Beyond its domain a density is 0 and a distribution 0 or 1; other curves go on as their waves do."""
        low, high = np.array(self.domain).T
        if self.kind == "density":
            return np.where(((x < low) | (x > high)).any(axis=1), 0.0, values)
        if self.kind == "distribution":
            return np.where(x[:, 0] < low[0], 0.0, np.where(x[:, 0] > high[0], 1.0, values))
        return values


def _quotient(low: Floats, high: Floats, least: float, most: float) -> tuple[Floats, Floats]:
    """The range of s / n for s in [low, high], n in [least, most], least > 0."""
    smallest, largest = max(least, 1e-300), max(most, 1e-300)
    return (
        np.minimum(low / smallest, low / largest),
        np.maximum(high / smallest, high / largest),
    )
