r"""Kernel densities and distributions, from whole Fourier coefficients of the counts on a public grid.

With period T = range + 8 h and gamma_k = exp(-2 pi^2 k^2 h^2 / T^2), the Gaussian kernel estimate made periodic is
(1/T) (1 + sum_k gamma_k sum over cos and sin of e_k(x) mean e_k(row)).  Coefficient k is released in units u_k with
r_k = gamma_k / u_k: for normal noise u_k = sqrt(gamma_k / b_k), which is the Gaussian process whose covariance is the
kernel itself when all b_k = 1 [HallRinaldoWasserman2013]; for Laplace noise u_k = (gamma_k / b_k^2)^(1/3).  The
importance b_k is 1 for a density and 1/k for its integral.  Units fitted to the range (`fitting.py`) are given, one for
each cosine and sine.  Proof: docs/proofs/functions-density.md.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from sfumato import arguments
from sfumato.answers.curves import Antiderivative, Expansion, Floats, Fourier
from sfumato.errors import ParameterError, SchemaError
from sfumato.privacy.adjacency import Replace
from sfumato.queries.aggregation import Aggregation, Measure
from sfumato.queries.functions.bandwidths import bandwidths_of, checked_bandwidth, lattice_of, plain_bandwidth
from sfumato.queries.functions.features import Features, Sampled
from sfumato.queries.functions.groups import CurvesByGroup, by_group, public_rows
from sfumato.queries.functions.question import SHOWN, SummedCurve, Whole, plain_question, points_within
from sfumato.queries.grouping import Cells, Key, bind_cells
from sfumato.queries.query import Query
from sfumato.queries.question import Source
from sfumato.spaces import Lattice
from sfumato.spaces.schema import Schema

if TYPE_CHECKING:
    from sfumato.queries.functions.chosen import ChosenDensity

__all__ = ["Density", "DensityDetails", "DistributionDetails", "density", "distribution"]

PRIVATE = "private"  # the bandwidth that is chosen privately, as part of the release
MOST_COLUMNS = 3
MOST_COEFFICIENTS = 20_000
GRID = {1: 1 << 17, 2: 1 << 10, 3: 1 << 7}  # most grid points a side
PER_BANDWIDTH = 1024  # grid points in one bandwidth are enough
MOST_ENTRIES = 1 << 26  # grid points times waves of one axis
BITS = {1: 30, 2: 20, 3: 20}
OUTPUT_BITS = 30
MARGIN = 4.0  # bandwidths on either side of the box
TAILS = (1e-8, 1e-6, 1e-4, 1e-3)  # how small the first wave left out may be
MOST_SHOWN = 1001  # points in the table of a release
COARSEST = 10  # steps of 2^(1/2) in the number of waves
MOST_FITTED = 64  # functions; with more of them the kernel's own units are as good as any
LARGEST = 1 + 1e-9  # the features of a wave, in units of the constant


@dataclass(frozen=True, slots=True)
class DensityDetails:
    """A kernel density of one to three numeric columns, Gaussian kernel."""

    kind: ClassVar[str] = "density"
    columns: tuple[str, ...]
    bandwidth: str | tuple[float, ...] = "scott"

    def __post_init__(self) -> None:
        _check_columns(self.columns)
        if self.bandwidth == PRIVATE and len(self.columns) == 1:
            return
        object.__setattr__(self, "bandwidth", checked_bandwidth(self.bandwidth, len(self.columns)))

    def subject(self) -> str:
        """What is asked."""
        return f"{self.kind} of {', '.join(self.columns)}"

    def to_record(self) -> dict[str, Any]:
        """Plain values."""
        return {"columns": list(self.columns), "bandwidth": plain_bandwidth(self.bandwidth)}

    @classmethod
    def from_record(cls, fields: Mapping[str, Any]) -> DensityDetails:
        """The details that `to_record`, or a plan, describes."""
        return cls(*columns_and_bandwidth(cls.kind, fields))

    def bind(self, query: Query, schema: Schema) -> Density | CurvesByGroup | ChosenDensity:
        """The bound question."""
        if self.bandwidth == PRIVATE:
            from sfumato.queries.functions.chosen import ChosenDensity

            plain_question(query, schema)
            return ChosenDensity(query, schema).fitting()
        return by_group(_fitting(Density(query, schema)))


@dataclass(frozen=True, slots=True)
class DistributionDetails:
    """The integral of a kernel density of one column: a smooth distribution function."""

    kind: ClassVar[str] = "distribution"
    columns: tuple[str, ...]
    bandwidth: str | tuple[float, ...] = "scott"

    def __post_init__(self) -> None:
        _check_columns(self.columns)
        if len(self.columns) != 1:
            raise ParameterError(f"a distribution is of one column, got {len(self.columns)}; ask for a density")
        object.__setattr__(self, "bandwidth", checked_bandwidth(self.bandwidth, 1))

    def subject(self) -> str:
        """What is asked."""
        return f"distribution of {self.columns[0]}"

    def to_record(self) -> dict[str, Any]:
        """Plain values."""
        return {"columns": list(self.columns), "bandwidth": plain_bandwidth(self.bandwidth)}

    @classmethod
    def from_record(cls, fields: Mapping[str, Any]) -> DistributionDetails:
        """The details that `to_record`, or a plan, describes."""
        return cls(*columns_and_bandwidth(cls.kind, fields))

    def bind(self, query: Query, schema: Schema) -> Density | CurvesByGroup:
        """The bound question."""
        return by_group(_fitting(Density(query, schema)))


@dataclass(frozen=True)
class Density(SummedCurve):
    """A kernel density, or its integral, of the rows where all columns are present."""

    relative: tuple[float, ...] = ()  # units of the cosine and the sine of each wave, where not those of the kernel

    def in_units(self, relative: Sequence[float]) -> Density:
        """The same question of one column with given units, none of which makes a feature larger than the constant."""
        found = replace(self, norm="l2", coarser=0, relative=tuple(float(unit) for unit in relative))
        size = math.prod(axis.size for axis in found.axes) - 1
        if len(found.labels) != 1 or len(found.relative) != size:
            raise ParameterError(f"units must be those of the {size} waves of one column, got {len(found.relative)}")
        if not all(math.isfinite(unit) and unit > 0 for unit in found.relative):
            raise ParameterError("units must be finite and positive")
        if max(found.features.axes[0].ratios) > LARGEST:
            raise ParameterError("units are too small: features may not be larger than the constant")
        return found

    @property
    def kind(self) -> str:
        """`density` or `distribution`."""
        return self.query.kind

    @property
    def labels(self) -> tuple[str, ...]:
        """The columns."""
        return self._details.columns

    @cached_property
    def frame(self) -> tuple[tuple[float, float], ...]:
        """The declared bounds."""
        return tuple((lattice.low_value, lattice.high_value) for lattice in self.lattices)

    @property
    def smoothed(self) -> str:
        """The bandwidth of each column."""
        return f"smoothed with bandwidth {' and '.join(f'{h:.4g}' for h in self.bandwidths)}"

    def points(self) -> Floats:
        """The points that a release's table shows: of one column, two in a bandwidth at least."""
        if len(self.frame) > 1:
            return super().points()
        (low, high), h = self.frame[0], self.bandwidths[0]
        return points_within(self.frame, [min(max(SHOWN[1], math.ceil(2 * (high - low) / h) + 1), MOST_SHOWN)])

    @property
    def fittable(self) -> Density | None:
        """Itself, if it has one column, few waves, and exactly one row is exchanged for another."""
        replaced = isinstance(self.schema.adjacency, Replace) and self.divisor is not None
        return self if replaced and len(self.labels) == 1 and self.reading.size <= MOST_FITTED else None

    @property
    def most_coarse(self) -> int:
        """Waves may be left out where noise outweighs them."""
        return COARSEST

    @property
    def _details(self) -> DensityDetails | DistributionDetails:
        assert isinstance(self.query.details, DensityDetails | DistributionDetails)
        return self.query.details

    @cached_property
    def bandwidths(self) -> tuple[float, ...]:
        """One for each column."""
        groups = bind_cells(self.query.keys, self.schema).count
        return bandwidths_of(self._details.bandwidth, self.labels, self.schema, groups)

    @cached_property
    def lattices(self) -> tuple[Lattice, ...]:
        """One for each column."""
        return tuple(lattice_of(column, self.schema) for column in self.labels)

    @cached_property
    def axes(self) -> tuple[Fourier, ...]:
        """The circle around each column's range, with as many waves as the kernel has and the step allows."""
        found = []
        for lattice, h, degree in zip(self.lattices, self.bandwidths, self._degrees, strict=True):
            kept = max(1, round(degree * 2 ** (-self.coarser / 2)))
            found.append(Fourier(*_ends(lattice, h), tuple(range(1, kept + 1))))
        return tuple(found)

    @cached_property
    def _degrees(self) -> tuple[int, ...]:
        for tail in TAILS:
            pairs = zip(self.lattices, self.bandwidths, strict=True)
            degrees = [_degree(*_ends(lattice, h), h, tail) for lattice, h in pairs]
            if math.prod(2 * degree + 1 for degree in degrees) <= MOST_COEFFICIENTS:
                return tuple(degrees)
        return ()

    @cached_property
    def features(self) -> Features:
        """The whole-number features of a row."""
        dimension = len(self.axes)
        bits = BITS[dimension]
        axes = []
        for axis, lattice, h, width in zip(self.axes, self.lattices, self.bandwidths, self._widths, strict=True):
            gammas, units = self.weights(axis, h)
            first, step = lattice.value(lattice.low) + lattice.value(1) * (width - 1) / 2, lattice.value(width)
            count = -(-(lattice.width + 1) // width)
            ratios = tuple((gammas / units).tolist())
            axes.append(Sampled(axis, first, step, count, lattice.high_value, ratios, bits))
        return Features(tuple(axes), max(0, bits * dimension - OUTPUT_BITS))

    def weights(self, axis: Fourier, h: float) -> tuple[Floats, Floats]:
        """gamma_k and the relative unit of each cosine and sine."""
        waves = axis.frequencies[1:]
        gammas = np.exp(-2 * (math.pi * waves * h / (axis.high - axis.low)) ** 2)
        if self.relative:
            return gammas, np.array(self.relative)
        importance = 1 / waves if self.kind == "distribution" else np.ones_like(waves)
        units = np.sqrt(gammas / importance) if self.norm == "l2" else np.cbrt(gammas / importance**2)
        return gammas, np.asarray(units)

    @cached_property
    def _widths(self) -> tuple[int, ...]:
        """Lattice points that share a grid point, for each column."""
        found = []
        for lattice, h, axis in zip(self.lattices, self.bandwidths, self.axes, strict=True):
            enough = math.ceil(PER_BANDWIDTH * (lattice.high_value - lattice.low_value) / h)
            most = min(GRID[len(self.axes)], max(enough, 2), max(2, MOST_ENTRIES // axis.size))
            found.append(max(1, -(-(lattice.width + 1) // most)))
        return tuple(found)

    @cached_property
    def reading(self) -> Expansion | Antiderivative:
        """The expansion with its public constant, or its integral."""
        level = 1 / math.prod(axis.high - axis.low for axis in self.axes)
        if self.kind == "distribution":
            return Antiderivative(self.axes[0], level)
        return Expansion(self.axes, level)

    @cached_property
    def worth(self) -> Floats:
        """u_k in units of the density, for one step of the output."""
        out = np.ones(1)
        for axis, h in zip(self.axes, self.bandwidths, strict=True):
            own = np.concatenate([[1.0], self.weights(axis, h)[1]])
            out = np.multiply.outer(out, own).reshape(-1)
        level = 1 / math.prod(axis.high - axis.low for axis in self.axes)
        return np.asarray(out[1:] * (level * 2.0**self.features.shift / self.features.constant))

    def left_out(self) -> float:
        """The root mean square around the circle, at most, of the waves of the kernel that are left out."""
        total = 0.0
        for axis, h, degree in zip(self.axes, self.bandwidths, self._degrees, strict=True):
            waves = np.arange(axis.waves[-1] + 1, degree + 1, dtype=np.float64)
            total += float((np.exp(-2 * (math.pi * waves * h / (axis.high - axis.low)) ** 2) ** 2).sum()) * 2
        return math.sqrt(total) / math.prod(axis.high - axis.low for axis in self.axes)

    @property
    def divisor(self) -> int | None:
        """The number of rows, where it is public and none can be left out."""
        return public_rows(self.query, self.schema, self.labels)

    @cached_property
    def count_weight(self) -> int:
        """A third of the norm of a row's features: it costs 5 % of noise."""
        return 0 if self.divisor is not None else math.ceil(self.features.alone("l2") / 3)

    def alone(self, norm: str) -> float:
        """The features of a row, and its count."""
        return _joined(self.features.alone(norm), self.count_weight, norm)

    def apart(self, norm: str) -> float:
        """The features of two rows, whose counts cancel."""
        return self.features.apart(norm)

    @cached_property
    def statistic(self) -> Aggregation:
        """Counts on the grid."""
        keys = []
        for column, lattice, width in zip(self.labels, self.lattices, self._widths, strict=True):
            starts = tuple(range(lattice.low, lattice.high + 1, width))
            keys.append(Key(column, tuple(range(len(starts))), starts))
        return Aggregation(self.query.bound_condition(self.schema), Cells(tuple(keys)), (Measure(None),))

    def vector(self, totals: Whole) -> Whole:
        """The exact, secret sums from the engine's counts, and the weighted count where it is private."""
        counts = np.asarray(totals[0], dtype=np.int64)
        sums = self.features.sums(counts)
        if not self.count_weight:
            return sums
        return np.append(sums, np.array([self.count_weight * int(counts.sum())], dtype=sums.dtype))

    def answer(self, table: Source) -> Whole:
        """The exact, secret vector."""
        return self.vector(table.answer(self.statistic))

    @property
    def places(self) -> int:
        """Those of the grid."""
        return self.statistic.cells.count

    def vectors(self, table: Source, groups: Cells) -> list[Whole]:
        """The same of each group, from the counts of all groups on the grid."""
        grid = self.statistic
        asked = Aggregation(grid.where, Cells((*groups.keys, *grid.cells.keys)), grid.measures)
        counts = np.asarray(table.answer(asked)[0]).reshape(groups.count, grid.cells.count)
        return [self.vector(own[None]) for own in counts]

    @cached_property
    def bias(self) -> float:
        """Truncation, wrapping around the circle, the grid, and the rounding of features; for any table."""
        from sfumato.queries.functions.approximation import density_bias

        return density_bias(self)


def density(*columns: str, bandwidth: float | Sequence[float] | str = "scott") -> Query:
    """The kernel density of one to three numeric columns; `bandwidth` in the columns' units, or a rule.

    For one column, `bandwidth="private"` spends an eighth of the budget on choosing it.

    >>> density("age", bandwidth=5).name
    'density of age'
    """
    chosen = arguments.names("columns", columns[0] if len(columns) == 1 else columns)
    return Query(DensityDetails(chosen, bandwidth))  # type: ignore[arg-type]


def distribution(column: str, bandwidth: float | str = "scott") -> Query:
    """The smooth distribution function of a numeric column, with quantiles.

    >>> distribution("age", bandwidth=1).name
    'distribution of age'
    """
    return Query(DistributionDetails((arguments.text("column", column),), bandwidth))  # type: ignore[arg-type]


def columns_and_bandwidth(kind: str, fields: Mapping[str, Any]) -> tuple[tuple[str, ...], Any]:
    """The two parts of a record, with a list for several columns."""
    unknown = sorted(fields.keys() - {"column", "columns", "bandwidth"})
    if unknown:
        raise SchemaError(f"a {kind} has no part {unknown[0]!r}; known are columns, bandwidth, by, where")
    columns = fields.get("columns", fields.get("column"))
    if columns is None:
        raise SchemaError(f"a {kind} needs columns = [...]")
    return arguments.names("columns", columns), fields.get("bandwidth", "scott")


def _check_columns(columns: tuple[str, ...]) -> None:
    if not 1 <= len(columns) <= MOST_COLUMNS:
        raise ParameterError(
            f"a density is of 1 to {MOST_COLUMNS} columns, got {len(columns)}: its coefficients multiply with each; "
            "ask for densities of fewer columns"
        )
    if len(set(columns)) != len(columns):
        raise ParameterError("a column appears twice; name each once")


def _fitting(question: Density) -> Density:
    """The question, if its coefficients are few enough."""
    if not question._degrees:
        raise ParameterError(
            f"bandwidth {', '.join(f'{h:.3g}' for h in question.bandwidths)} needs more than {MOST_COEFFICIENTS} "
            "coefficients on the declared ranges; choose a larger bandwidth or narrower bounds"
        )
    return question


def _ends(lattice: Lattice, h: float) -> tuple[float, float]:
    return lattice.low_value - MARGIN * h, lattice.high_value + MARGIN * h


def _degree(low: float, high: float, h: float, tail: float) -> int:
    """The least k with gamma_k <= tail."""
    return max(1, math.ceil((high - low) * math.sqrt(-math.log(tail) / 2) / (math.pi * h)))


def _joined(norm_of_features: float, weight: int, norm: str) -> float:
    """The norm of the features and the count together."""
    if norm == "l1":
        return norm_of_features + weight
    return math.hypot(norm_of_features, weight) * (1 + 1e-12) if norm == "l2" else max(norm_of_features, float(weight))
