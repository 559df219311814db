r"""Regression and classification from noisy means of the target in cells of the columns, smoothed after the noise.

With t the target's place in its range, a row adds to its cell ((1-t)^2, 2 t (1-t), t^2), which is not negative and adds
up to 1: so one row moves all numbers together by 1 in l1, however many cells there are, and a cell shows its number of
rows, their mean and their variance (docs/proofs/moments.md).  A label adds (1, 0) or (0, 1).  The curve and its band
are post-processing of these numbers (`answers/curves/trend.py`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, partial

import numpy as np
import numpy.typing as npt

from sfumato.answers.curves import COVERED, Tallies, Trend
from sfumato.answers.functions import Function, Functions
from sfumato.answers.statements import Accuracy, ErrorStatement, level_of
from sfumato.errors import ParameterError, UnsupportedQuery
from sfumato.queries.aggregation import Aggregation, Measure
from sfumato.queries.contributions import Simplex
from sfumato.queries.functions.bandwidths import bandwidths_of, lattice_of
from sfumato.queries.functions.question import points_within
from sfumato.queries.grouping import Cells, Key, bind_cells
from sfumato.queries.query import Query
from sfumato.queries.vector import Bounds, Noise, Noisy, VectorQuestion, Whole, share_rows
from sfumato.queries.weighted_noise import weighted_quantile
from sfumato.spaces import Lattice
from sfumato.spaces.schema import Schema

__all__ = ["LocalMeans", "local_means"]

MOST_CELLS = 256
WIDEST = 1 << 30  # steps of the target: the square of a wider range, times a row, would not fit in 64 bits
SIGNS = Lattice(Fraction(2), 0, 1)  # of a score, counted from -1
Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class LocalMeans(VectorQuestion):
    """Moments of the target in each cell of the columns that predict it."""

    target: str = ""

    @property
    def axes(self) -> tuple[Key, ...]:
        """The keys that cut the columns; those before them are groups."""
        return self.cells.keys[len(self.query.keys) :]

    @property
    def _labels(self) -> bool:
        """Whether the target is one of two labels."""
        return self.query.kind == "classification"

    @property
    def coordinates(self) -> int:
        """Three moments of a number, the counts of two labels."""
        return 2 if self._labels else 3

    @cached_property
    def lattice(self) -> Lattice:
        """That of the target."""
        return SIGNS if self._labels else lattice_of(self.target, self.schema)

    @property
    def every_row_counts(self) -> bool:
        """The numbers of rows in cells are private."""
        return False

    @property
    def span(self) -> tuple[float, float]:
        """The range of the target."""
        return (-1.0, 1.0) if self._labels else (self.lattice.low_value, self.lattice.high_value)

    @property
    def _total(self) -> int:
        """What the numbers of a row add up to."""
        return 1 if self._labels else self.lattice.width**2

    @property
    def body(self) -> Simplex:
        """A row adds numbers to one cell that are not negative, or nothing."""
        return Simplex(self._total)

    @property
    def measures(self) -> tuple[Measure, ...]:
        """Rows by label; or the count, the sum and the sum of squares, counted from the lower bound."""
        target = self.target
        return (Measure(None),) if self._labels else tuple(Measure(target, power) for power in (0, 1, 2))

    @cached_property
    def statistic(self) -> Aggregation:
        """The measures of each cell; a label is one more key."""
        space = self.schema.space(self.target)
        label = (Key(self.target, space.labels or ()),) if self._labels else ()
        where = self.query.bound_condition(self.schema)
        return Aggregation(where, Cells((*self.cells.keys, *label)), self.measures)

    def vector(self, totals: Whole) -> Whole:
        """The numbers, cell after cell."""
        if self._labels:
            return np.asarray(totals[0], dtype=object)
        present, above, squares = (np.asarray(total, dtype=object) for total in totals)
        width = self.lattice.width
        first = width**2 * present - 2 * width * above + squares
        return np.stack([first, 2 * (width * above - squares), squares], axis=1).reshape(-1)

    @property
    def levels(self) -> Floats:
        """The place in the range that each number of a cell counts for."""
        return np.linspace(0.0, 1.0, self.coordinates)

    def estimate(self, noisy: Whole) -> Floats:
        """The mean of each cell, before smoothing; the middle where its noisy count is not positive."""
        sums = np.asarray(noisy, dtype=np.float64).reshape(-1, self.coordinates)
        total = sums.sum(axis=1)
        place = np.where(total > 0, sums @ self.levels / np.where(total > 0, total, 1.0), 0.5)
        return self._values(np.clip(place, 0.0, 1.0))

    def interval(self, noisy: Whole, noise: Noise, beta: float) -> Bounds:
        """For each cell's mean: at the true place the numbers weighted by their levels less it are noise alone."""
        sums = np.asarray(noisy, dtype=np.float64).reshape(-1, self.coordinates)
        total = sums.sum(axis=1)
        reach = float(weighted_quantile(np.ones((1, self.coordinates)), noise, beta)[0])
        known = total > 0
        safe = np.where(known, total, 1.0)
        place = sums @ self.levels / safe
        low, high = np.clip(place - reach / safe, 0.0, 1.0), np.clip(place + reach / safe, 0.0, 1.0)
        return self._values(np.where(known, low, 0.0)), self._values(np.where(known, high, 1.0))

    def preview(self, noise: Noise, beta: float) -> float | None:
        """The noise of a cell's mean in the middle of the range, rows shared equally by the cells."""
        if self.schema.size is None:
            return None
        each = share_rows(self.schema.size, self.cells.count)
        reach = float(weighted_quantile(np.abs(self.levels[None, :] - 0.5), noise, beta)[0])
        low, high = self.span
        return min(reach / (each * self._total), 1.0) * (high - low)

    @property
    def supposed_rows(self) -> int | None:
        """The declared size, shared equally by the cells."""
        return None if self.schema.size is None else share_rows(self.schema.size, self.cells.count)

    @property
    def selection(self) -> str:
        """Rows lie in cells as they like."""
        return "each cell holds"

    @property
    def case(self) -> tuple[str, ...]:
        """The tables that `preview` speaks of."""
        return ("a mean in the middle of the range",)

    def expect_error(self, mechanism: Noisy, beta: float) -> ErrorStatement:
        """The noise to expect in the mean of each cell: what sampling and smoothing add is seen after the release."""
        besides = (
            f"the noise in the mean of each of {self.cells.count} cells; the band is wider, by sampling and smoothing",
        )
        return replace(super().expect_error(mechanism, beta), each=True, besides=besides)

    def read(self, output: Whole, mechanism: Noisy) -> Function | Functions:
        """The curve with its band, or one for each group."""
        sums = np.asarray(output, dtype=np.float64).reshape(
            -1, *(len(key.labels) for key in self.axes), self.coordinates
        )
        found = [self._function(own, mechanism.noise.variance) for own in sums]
        if not self.query.keys:
            return found[0]
        return Functions(Cells(self.cells.keys[: len(self.query.keys)]).columns(), tuple(found))

    def _function(self, sums: Floats, variance: float) -> Function:
        lattices = [lattice_of(key.column, self.schema) for key in self.axes]
        pairs = [_middles(key, lattice) for key, lattice in zip(self.axes, lattices, strict=True)]
        mesh = np.meshgrid(*(middles for middles, _ in pairs), indexing="ij")
        tallies = Tallies(
            sums.shape[:-1], np.stack([part.reshape(-1) for part in mesh], axis=1),
            np.array([width for _, width in pairs]), sums.reshape(-1, self.coordinates) / self._total, self.levels,
            variance / self._total**2,
        )  # fmt: skip
        domain = tuple((lattice.low_value, lattice.high_value) for lattice in lattices)
        columns = tuple(key.column for key in self.axes)
        trend = Trend(self.name, self.query.kind, columns, domain, self.span, tallies)
        return Function(trend, points_within(domain), columns, partial(_stated, trend))

    def _values(self, place: Floats) -> Floats:
        low, high = self.span
        return np.asarray(low + place * (high - low))


def _stated(trend: Trend, beta: float) -> Accuracy:
    """The band's reach where rows are seen."""
    besides = (COVERED, "where the release shows next to no rows, nothing is known")
    halves = trend.half_widths(1 - beta)
    most, least = (float(end) for end in (halves.max(initial=0.0), halves.min(initial=math.inf)))
    return ErrorStatement("curve", most, level_of(beta), least=min(least, most), besides=besides)


def _middles(key: Key, lattice: Lattice) -> tuple[Floats, float]:
    """The middles of a key's cells in the unit interval, and the width of a cell; 0 where it is one point."""
    assert key.starts is not None
    starts = np.array(key.starts, dtype=np.float64)
    ends = np.append(starts[1:], lattice.high + 1)
    middles = ((starts + ends - 1) / 2 - lattice.low) / lattice.width
    return middles, float((ends - starts - 1).max()) / lattice.width


def local_means(
    query: Query, schema: Schema, target: str, columns: tuple[str, ...], bandwidth: str | tuple[float, ...]
) -> LocalMeans:
    """The question on cells about as wide as the bandwidths, for each group of the query's keys."""
    lattices = [lattice_of(column, schema) for column in columns]
    widths = bandwidths_of(bandwidth, columns, schema)
    if query.kind == "regression" and (steps := lattice_of(target, schema).width) > WIDEST:
        raise UnsupportedQuery(
            f"a regression of {target!r} needs at most 2^30 steps in its range, got {steps}; declare a larger step"
        )
    groups = bind_cells(query.keys, schema).keys
    if {key.column for key in groups} & {target, *columns}:
        raise ParameterError(f"a {query.kind} by groups needs groups of other columns than its own")
    most = math.floor(MOST_CELLS ** (1 / len(lattices)) + 1e-9)
    cut = tuple(_cut(*each, most) for each in zip(columns, lattices, widths, strict=True))
    return LocalMeans(query, schema, Cells((*groups, *cut)), target)


def _cut(column: str, lattice: Lattice, width: float, most: int) -> Key:
    """Cells of one size, as near to the width as the lattice and the most cells allow."""
    wanted = min(max(1, round((lattice.high_value - lattice.low_value) / width)), most, lattice.width + 1)
    starts = tuple(range(lattice.low, lattice.high + 1, -(-(lattice.width + 1) // wanted)))
    return Key(column, tuple(range(len(starts))), starts)
