r"""Kernel densities and distributions, from whole Fourier coefficients of the counts on a public grid.

With period T = range + 8 h and gamma_k = exp(-2 pi^2 k^2 h^2 / T^2), the Gaussian kernel estimate made periodic is
(1/T) (1 + sum_k gamma_k sum over cos and sin of e_k(x) mean e_k(row)).  Coefficient k is released in units u_k with
r_k = gamma_k / u_k: for normal noise u_k = sqrt(gamma_k / b_k), which is the Gaussian process whose covariance is the
kernel itself when all b_k = 1 [HallRinaldoWasserman2013]; for Laplace noise u_k = (gamma_k / b_k^2)^(1/3).  The
importance b_k is 1 for a density and 1/k for its integral.  Proof: docs/proofs/functions-density.md.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from sfumato import arguments
from sfumato.curves import Antiderivative, Expansion, Floats, Fourier
from sfumato.errors import ParameterError, SchemaError
from sfumato.privacy.adjacency import Replace
from sfumato.queries.aggregation import Aggregation, Measure
from sfumato.queries.functions.bandwidths import bandwidths_of, checked_bandwidth, lattice_of
from sfumato.queries.functions.features import Features, Sampled
from sfumato.queries.functions.question import FunctionQuestion, Whole, plain_question
from sfumato.queries.grouping import Cells, Key
from sfumato.queries.query import Query
from sfumato.schema import Schema
from sfumato.spaces import Lattice

__all__ = ["Density", "DensityDetails", "DistributionDetails", "density", "distribution"]

MOST_COLUMNS = 3
MOST_COEFFICIENTS = 20_000
GRID = {1: 1 << 17, 2: 1 << 10, 3: 1 << 7}  # most grid points a side
PER_BANDWIDTH = 1024  # grid points in one bandwidth are enough
MOST_ENTRIES = 1 << 26  # grid points times waves of one axis
BITS = {1: 30, 2: 20, 3: 20}
OUTPUT_BITS = 30
MARGIN = 4.0  # bandwidths on either side of the box
TAILS = (1e-8, 1e-6, 1e-4, 1e-3)  # how small the first wave left out may be
COARSEST = 10  # steps of 2^(1/2) in the number of waves


@dataclass(frozen=True, slots=True)
class DensityDetails:
    """A kernel density of one to three numeric columns, Gaussian kernel."""

    kind: ClassVar[str] = "density"
    columns: tuple[str, ...]
    bandwidth: str | tuple[float, ...] = "scott"

    def __post_init__(self) -> None:
        _check_columns(self.columns)
        object.__setattr__(self, "bandwidth", checked_bandwidth(self.bandwidth, len(self.columns)))

    def subject(self) -> str:
        """What is asked."""
        return f"{self.kind} of {', '.join(self.columns)}"

    def to_record(self) -> dict[str, Any]:
        """Plain values."""
        width = self.bandwidth if isinstance(self.bandwidth, str) else list(self.bandwidth)
        return {"columns": list(self.columns), "bandwidth": width}

    @classmethod
    def from_record(cls, fields: Mapping[str, Any]) -> DensityDetails:
        """The details that `to_record`, or a plan, describes."""
        return cls(*columns_and_bandwidth(cls.kind, fields))

    def bind(self, query: Query, schema: Schema) -> Density:
        """The bound question."""
        plain_question(query, schema)
        return _fitting(Density(query, schema))


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
        width = self.bandwidth if isinstance(self.bandwidth, str) else list(self.bandwidth)
        return {"columns": list(self.columns), "bandwidth": width}

    @classmethod
    def from_record(cls, fields: Mapping[str, Any]) -> DistributionDetails:
        """The details that `to_record`, or a plan, describes."""
        return cls(*columns_and_bandwidth(cls.kind, fields))

    def bind(self, query: Query, schema: Schema) -> Density:
        """The bound question."""
        plain_question(query, schema)
        return _fitting(Density(query, schema))


class Density(FunctionQuestion):
    """A kernel density, or its integral, of the rows where all columns are present."""

    @property
    def kind(self) -> str:
        """`density` or `distribution`."""
        return self.query.kind

    @property
    def labels(self) -> tuple[str, ...]:
        """The columns."""
        return self._details.columns

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
        return bandwidths_of(self._details.bandwidth, self.labels, self.schema)

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
            gammas, units = self._weights(axis, h)
            first, step = lattice.value(lattice.low) + lattice.value(1) * (width - 1) / 2, lattice.value(width)
            count = -(-(lattice.width + 1) // width)
            ratios = tuple((gammas / units).tolist())
            axes.append(Sampled(axis, first, step, count, lattice.high_value, ratios, bits))
        return Features(tuple(axes), max(0, bits * dimension - OUTPUT_BITS))

    def _weights(self, axis: Fourier, h: float) -> tuple[Floats, Floats]:
        """gamma_k and the relative unit u_k of each wave."""
        waves = np.array(axis.waves, dtype=np.float64)
        gammas = np.exp(-2 * (math.pi * waves * h / (axis.high - axis.low)) ** 2)
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
            own = np.concatenate([[1.0], np.repeat(self._weights(axis, h)[1], 2)])
            out = np.multiply.outer(out, own).reshape(-1)
        level = 1 / math.prod(axis.high - axis.low for axis in self.axes)
        return np.asarray(out[1:] * (level * 2.0**self.features.shift / self.features.constant))

    @property
    def divisor(self) -> int | None:
        """The number of rows, where it is public and none can be left out."""
        imputed = all(self.schema.space(column).missing is not None for column in self.labels)  # type: ignore[attr-defined]
        return self.schema.fixed_size if imputed and self.query.condition is None else None

    @cached_property
    def count_weight(self) -> int:
        """A third of the norm of a row's features: it costs 5 % of noise."""
        return 0 if self.divisor is not None else math.ceil(self.features.alone("l2") / 3)

    def sensitivity(self, norm: str) -> float:
        """The largest of what one row adds and of a difference of two, times the rows of a unit."""
        alone = _joined(self.features.alone(norm), self.count_weight, norm)
        if not isinstance(self.schema.adjacency, Replace):
            return self.schema.unit.rows * alone
        apart = self.features.apart(norm)
        return self.schema.unit.rows * (apart if self.divisor is not None else max(alone, apart))

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

    def answer(self, table: Any) -> Whole:
        """The exact, secret vector."""
        return self.vector(table.answer(self.statistic))

    @cached_property
    def bias(self) -> float:
        """Truncation, wrapping around the circle, the grid, and the rounding of features; for any table."""
        from sfumato.queries.functions.approximation import density_bias

        return density_bias(self)


def density(*columns: str, bandwidth: float | Sequence[float] | str = "scott") -> Query:
    """The kernel density of one to three numeric columns; `bandwidth` in the columns' units, or a rule.

    >>> density("age", bandwidth=5).name
    'density of age'
    """
    chosen = arguments.names("columns", columns[0] if len(columns) == 1 else columns)
    return Query("density", details=DensityDetails(chosen, bandwidth))  # type: ignore[arg-type]


def distribution(column: str, bandwidth: float | str = "scott") -> Query:
    """The smooth distribution function of a numeric column, with quantiles.

    >>> distribution("age", bandwidth=1).name
    'distribution of age'
    """
    return Query("distribution", details=DistributionDetails((arguments.text("column", column),), bandwidth))  # type: ignore[arg-type]


def columns_and_bandwidth(kind: str, fields: Mapping[str, Any]) -> tuple[tuple[str, ...], Any]:
    """The two parts of a record, with a list for several columns."""
    unknown = sorted(fields.keys() - {"column", "columns", "bandwidth"})
    if unknown:
        raise SchemaError(f"a {kind} has no part {unknown[0]!r}; known are columns, bandwidth, where")
    columns = fields.get("columns", fields.get("column"))
    if columns is None:
        raise SchemaError(f"a {kind} needs columns = [...]")
    return (columns,) if isinstance(columns, str) else tuple(columns), fields.get("bandwidth", "scott")


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
