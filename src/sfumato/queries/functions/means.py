r"""Mean curves and covariances of functional data: each row of the table is a curve, read at public points.

A curve is interpolated where points are missing, projected on public waves by least squares, written in whole
coefficients and brought into a ball of public radius; all of that is a rule for one row, so no data can raise, and one
row moves the sums by at most the radius.  Proof: docs/proofs/functions-means.md.
"""

from __future__ import annotations

import itertools
import math
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from sfumato import arguments
from sfumato.curves import Axis, Cosine, Expansion, Floats, Fourier
from sfumato.errors import ParameterError, SchemaError, UnsupportedQuery
from sfumato.privacy.adjacency import Person, Replace
from sfumato.queries.functions.bandwidths import lattice_of
from sfumato.queries.functions.question import FunctionQuestion, Whole, plain_question
from sfumato.queries.query import Query
from sfumato.schema import Schema
from sfumato.spaces import Lattice

__all__ = ["CurvesDetails", "CurvesQuestion", "MeanCurve", "MeanCurveDetails", "OfCurves", "mean_curve"]

BITS = 20  # of the radius, in steps
CLAMP = 1 << 26  # a coefficient beyond 64 radii is cut there before the ball
SPARE = 2.0**-40  # the ball is missed by this much, so that no rounding leaves it
WORD = 61  # bits of exact sums
DEFAULT_WAVES = 10
MOST = 1000  # coefficients, so that sums of squares fit in 64 bits

Integers = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class CurvesDetails:
    """Which columns are the points of a curve, where they lie, and the ball that curves are brought into.

    One column alone is a column of `Curves`; its points must be given, and be those of its space.

    `radius` bounds the root mean square over the domain of a curve less `center`; `waves` is a number (all waves up to
    it) or a list; with `period` the curve goes around, otherwise its ends are free.
    """

    columns: tuple[str, ...]
    radius: float
    center: float = 0.0
    points: tuple[float, ...] | None = None
    waves: int | tuple[int, ...] | None = None
    period: float | None = None

    def __post_init__(self) -> None:
        columns, points = tuple(self.columns), self.points
        if len(columns) == 1 and points is None:
            raise ParameterError(f"points are missing: give those of the curves in column {columns[0]!r}")
        points = tuple(float(i) for i in range(len(columns))) if points is None else tuple(map(float, points))
        if min(len(columns), len(points)) < 1 or len(points) < 2 or len(set(columns)) != len(columns):
            raise ParameterError("a curve needs at least two columns, each named once, or one column of curves")
        if len(points) != len(columns) != 1:
            raise ParameterError(
                f"curves of different lengths: points has {len(points)} entries for {len(columns)} columns; "
                "give one point for each column"
            )
        if any(not a < b for a, b in itertools.pairwise(points)) or not all(map(math.isfinite, points)):
            raise ParameterError("points must be finite, increasing and distinct")
        if not (isinstance(self.radius, int | float) and math.isfinite(self.radius) and self.radius > 0):
            raise ParameterError(f"radius must be positive and finite, got {self.radius!r}")
        if not (isinstance(self.center, int | float) and math.isfinite(self.center)):
            raise ParameterError(f"center must be a finite number, got {self.center!r}")
        if self.period is not None and not self.period >= points[-1] - points[0]:
            raise ParameterError("period must be at least the distance from the first point to the last")
        object.__setattr__(self, "columns", columns)
        object.__setattr__(self, "points", points)
        most = len(points) - 1 if self.period is None else (len(points) - 1) // 2
        waves = min(DEFAULT_WAVES, most) if self.waves is None else self.waves
        object.__setattr__(self, "waves", waves if isinstance(waves, int) else tuple(waves))
        if self.axis.size > min(len(points), MOST):
            raise ParameterError(
                f"waves need {self.axis.size} coefficients for {len(points)} points, of at most {MOST}; choose fewer"
            )

    @property
    def axis(self) -> Axis:
        """The waves on the domain of the curves."""
        assert self.points is not None
        waves = tuple(range(1, self.waves + 1)) if isinstance(self.waves, int) else self.waves or ()
        if self.period is not None:
            return Fourier(self.points[0], self.points[0] + self.period, waves)
        return Cosine(self.points[0], self.points[-1], waves)

    def words(self) -> str:
        """The curves, readable."""
        first, last = self.columns[0], self.columns[-1]
        return first if first == last else f"{first} to {last}"

    def to_record(self) -> dict[str, Any]:
        """Plain values."""
        waves = self.waves if isinstance(self.waves, int) else list(self.waves or ())
        return {
            "columns": list(self.columns), "radius": self.radius, "center": self.center,
            "points": list(self.points or ()), "waves": waves, "period": self.period,
        }  # fmt: skip

    @classmethod
    def from_record(cls, kind: str, fields: Mapping[str, Any]) -> CurvesDetails:
        """What `to_record`, or a plan, describes."""
        known = ("columns", "radius", "center", "points", "waves", "period")
        unknown = sorted(fields.keys() - set(known))
        if unknown or not {"columns", "radius"} <= fields.keys():
            wrong = f"has no part {unknown[0]!r}" if unknown else "needs columns and radius"
            raise SchemaError(f"a {kind} {wrong}; known are {', '.join(known)}, where")
        given: dict[str, Any] = {
            name: tuple(value) if isinstance(value, list) else value for name, value in fields.items()
        }
        return cls(**given)

    def check(self, query: Query, schema: Schema) -> None:
        """Refuse what is wrong in public: keys, columns that are not numbers, bounds that differ."""
        plain_question(query, schema)
        lattices = {lattice_of(column, schema, len(self.columns) == 1) for column in self.columns}
        if len(self.columns) == 1 and getattr(schema.space(self.columns[0]), "points", None) != self.points:
            raise SchemaError(f"points must be those of the curves in column {self.columns[0]!r}, as its space says")
        if len(self.columns) == 1 and isinstance(schema.unit, Person):
            raise UnsupportedQuery(
                f"curves such as {self.columns[0]!r} are read one row a unit; protect rows, or name each point as a "
                "column of its own"
            )
        if len(lattices) > 1:
            raise SchemaError("the columns of a curve must share one Interval; declare the same bounds and step")


@dataclass(frozen=True, slots=True)
class OfCurves:
    """What questions about curves share: each names its kind, its words and the question it is bound to."""

    kind: ClassVar[str]
    words: ClassVar[str]
    curves: CurvesDetails

    def subject(self) -> str:
        """What is asked."""
        return f"{self.words} of {self.curves.words()}"

    def to_record(self) -> dict[str, Any]:
        """Plain values."""
        return self.curves.to_record()

    @classmethod
    def from_record(cls, fields: Mapping[str, Any]) -> Self:
        """The details that `to_record`, or a plan, describes."""
        return cls(CurvesDetails.from_record(cls.kind, fields))

    def bind(self, query: Query, schema: Schema) -> Any:
        """The bound question."""
        self.curves.check(query, schema)
        question = self.question(query, schema)
        question.projection.check()
        return question

    def question(self, query: Query, schema: Schema) -> Any:
        """The question, not checked yet."""
        raise NotImplementedError


@dataclass(frozen=True, slots=True)
class MeanCurveDetails(OfCurves):
    """The mean of curves."""

    kind: ClassVar[str] = "mean_curve"
    words: ClassVar[str] = "mean curve"

    def question(self, query: Query, schema: Schema) -> MeanCurve:
        """The mean."""
        return MeanCurve(query, schema)


@dataclass(frozen=True)
class Projection:
    """From lattice indices of a curve's points to whole coefficients inside a ball of `radius` steps."""

    details: CurvesDetails
    lattice: Lattice
    bits: int

    @property
    def radius(self) -> int:
        """The ball's radius in steps."""
        return 1 << self.bits

    @property
    def unit(self) -> float:
        """What a step is worth."""
        return self.details.radius / self.radius

    @cached_property
    def _real(self) -> Floats:
        """Least squares on the points, in steps of a coefficient for a step of the lattice."""
        inverse = np.linalg.pinv(self.details.axis.values(np.array(self.details.points)), rcond=1e-6)
        return np.asarray(inverse * (self.lattice.value(1) / self.unit))

    @cached_property
    def _spare(self) -> int:
        """Fractional bits of the whole matrix, so that sums stay within 61 bits."""
        largest = float(np.abs(self._real).sum(axis=1).max()) * (self.lattice.width + abs(self._center) + 1)
        return min(30, WORD - math.ceil(math.log2(max(largest, 1.0))))

    @property
    def _center(self) -> int:
        """The center's index above the lower bound, rounded."""
        return round(self.details.center / self.lattice.value(1)) - self.lattice.low

    @property
    def center(self) -> float:
        """The center on the lattice."""
        return self.lattice.value(self._center + self.lattice.low)

    def check(self) -> None:
        """Refuse a radius too small for exact sums."""
        if self._spare < 1:
            raise ParameterError(
                f"radius={self.details.radius:g} is too small for the range of the columns; choose a larger one"
            )

    @cached_property
    def _matrix(self) -> Integers:
        return np.asarray(np.rint(self._real * 2.0**self._spare), dtype=np.int64)

    def rows(self, batch: Mapping[str, Any]) -> Integers:
        """The coefficients of the curves of a batch that can be read, a row each."""
        values = np.column_stack([np.asarray(batch[column], dtype=np.int64) for column in self.details.columns])
        absent = values < 0
        values = values[2 * absent.sum(axis=1) <= values.shape[1]]
        for i in np.flatnonzero((values < 0).any(axis=1)).tolist():
            values[i] = _filled(values[i], np.array(self.details.points))
        sums = (values - self._center) @ self._matrix.T
        steps = (sums + (1 << (self._spare - 1))) >> self._spare
        return self._inside(np.clip(steps, -CLAMP, CLAMP))

    def _inside(self, steps: Integers) -> Integers:
        """Vectors beyond the radius are shrunk and cut toward zero: IEEE operations on each row by itself."""
        squares = (steps * steps).sum(axis=1)
        far = squares > self.radius**2
        factors = self.radius * (1 - SPARE) / np.sqrt(squares[far].astype(np.float64))
        out = steps.copy()
        out[far] = np.trunc(steps[far] * factors[:, None]).astype(np.int64)
        return out


class CurvesQuestion(FunctionQuestion):
    """Sums over rows that are curves, each inside its ball; with a private number of rows the count is one more."""

    bits: ClassVar[int]  # of the radius, in steps

    @property
    def curves(self) -> CurvesDetails:
        """The public description of the curves."""
        assert isinstance(self.query.details, OfCurves)
        return self.query.details.curves

    @cached_property
    def projection(self) -> Projection:
        """The rule for one row."""
        return Projection(self.curves, lattice_of(self.curves.columns[0], self.schema, curves=True), self.bits)

    @property
    def divisor(self) -> int | None:
        """The number of rows, where it is public and none can be left out."""
        return public_rows(self.query, self.schema, self.curves.columns)

    @property
    def count_weight(self) -> int:
        """A third of the radius."""
        return 0 if self.divisor is not None else self.projection.radius // 3

    @abstractmethod
    def vector(self, batches: Any) -> Whole:
        """The exact, secret sums over batches of coerced rows."""

    def answer(self, table: Any) -> Whole:
        """The exact, secret vector."""
        return self.vector(table.rows(self.curves.columns, self.query.bound_condition(self.schema)))


class MeanCurve(CurvesQuestion):
    """The mean of the curves of all rows, each inside its ball."""

    bits = BITS

    @property
    def kind(self) -> str:
        """`mean curve`."""
        return "mean curve"

    @property
    def labels(self) -> tuple[str, ...]:
        """Curves are functions of time, or whatever the points are."""
        return ("point",)

    @cached_property
    def reading(self) -> Expansion:
        """Waves around the center."""
        return Expansion((self.curves.axis,), None, self.projection.center)

    @cached_property
    def worth(self) -> Floats:
        """The same for all coefficients."""
        return np.full(self.reading.size, self.projection.unit)

    def sensitivity(self, norm: str) -> float:
        """A point of the ball and the count; or two points of the ball."""
        radius, weight = float(self.projection.radius), float(self.count_weight)
        root = math.sqrt(self.reading.size) * (1 + 1e-12)
        alone = {"l2": math.hypot(radius, weight) * (1 + 1e-12), "l1": root * radius + weight, "linf": radius}[norm]
        apart = {"l2": 2 * radius, "l1": 2 * root * radius, "linf": 2 * radius}[norm]
        one = max(alone, apart) if isinstance(self.schema.adjacency, Replace) else alone
        return self.schema.unit.rows * one

    def vector(self, batches: Any) -> Whole:
        """The exact, secret sums over batches of coerced rows."""
        total, count = np.zeros(self.reading.size, dtype=np.int64), 0
        for batch in batches:
            rows = self.projection.rows(batch)
            total, count = total + rows.sum(axis=0), count + len(rows)
        return np.append(total, self.count_weight * count) if self.count_weight else total


def mean_curve(
    columns: str | Sequence[str],
    *,
    radius: float,
    center: float = 0.0,
    points: Sequence[float] | None = None,
    waves: int | Sequence[int] | None = None,
    period: float | None = None,
) -> Query:
    """The mean of curves whose points are columns, or of one column of `Curves`.

    >>> mean_curve(["h0", "h1", "h2", "h3"], radius=2.0, waves=1, period=4).name
    'mean curve of h0 to h3'
    """
    return Query("mean_curve", details=MeanCurveDetails(curves_of(columns, radius, center, points, waves, period)))


def curves_of(
    columns: str | Sequence[str],
    radius: float,
    center: float,
    points: Sequence[float] | None,
    waves: int | Sequence[int] | None,
    period: float | None,
) -> CurvesDetails:
    """The description with tuples for lists."""
    where = (
        None if points is None else tuple(arguments.number("each of points", one) for one in _listed("points", points))
    )
    which = waves if waves is None or isinstance(waves, int) else _listed("waves", waves)
    named = arguments.names("columns", columns)
    for name, value in (("radius", radius), ("center", center), ("period", 1 if period is None else period)):
        arguments.number(name, value)
    return CurvesDetails(named, radius, center, where, which, period)


_listed = arguments.several


def public_rows(query: Query, schema: Schema, columns: Sequence[str]) -> int | None:
    """The number of rows, where it is public and none can be left out, missing or filtered."""
    imputed = all(getattr(schema.space(column), "missing", None) is not None for column in columns)
    return schema.fixed_size if imputed and query.condition is None else None


def _filled(values: Integers, points: Floats) -> Integers:
    """One curve with its missing points on straight lines between the others, level beyond the ends."""
    held = values >= 0
    filled = np.rint(np.interp(points, points[held], values[held].astype(np.float64)))
    return np.asarray(np.where(held, values, filled.astype(np.int64)))
