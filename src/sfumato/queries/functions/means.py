r"""Mean curves and covariances of functional data: each row of the table is a curve, read at public points.

A curve is interpolated where points are missing, projected on public waves by least squares, written in whole
coefficients and brought into a ball of public radius; all of that is a rule for one row, so no data can raise, and one
row moves the sums by at most the radius.  Proof: docs/proofs/functions-means.md.
"""

from __future__ import annotations

import itertools
import math
from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from sfumato import arguments
from sfumato.answers.curves import Axis, Cosine, Curve, Expansion, Floats, Fourier
from sfumato.errors import ParameterError, SchemaError, UnsupportedQuery
from sfumato.privacy.adjacency import Person
from sfumato.queries.functions.bandwidths import lattice_of
from sfumato.queries.functions.groups import CurvesByGroup, by_group, placed, public_rows
from sfumato.queries.functions.projection import Projection
from sfumato.queries.functions.question import FunctionQuestion, SummedCurve, Whole, plain_question
from sfumato.queries.grouping import Cells
from sfumato.queries.query import Query
from sfumato.queries.question import Source
from sfumato.spaces.schema import Schema

__all__ = ["CurvesDetails", "CurvesQuestion", "MeanCurve", "MeanCurveDetails", "OfCurves", "mean_curve"]

BITS = 20  # of the radius, in steps
DEFAULT_WAVES = 10
MOST = 1000  # coefficients, so that sums of squares fit in 64 bits

Integers = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class CurvesDetails:
    """Which columns are the points of a curve, where they lie, and the ball that curves are brought into.

    One column alone is a column of `Curves`; its points must be given, and be those of its space.

    `radius` bounds the root mean square over the domain of a curve less `center`: curves beyond it are brought nearer;
    by default none is, since it holds every curve within the declared bounds.  `waves` is a number (all waves up to
    it) or a list; with `period` the curve goes around, otherwise its ends are free.
    """

    columns: tuple[str, ...]
    radius: float | None = None
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
        given = 1.0 if self.radius is None else self.radius
        if not (isinstance(given, int | float) and math.isfinite(given) and given > 0):
            raise ParameterError(f"radius must be positive and finite, got {self.radius!r}")
        if not (isinstance(self.center, int | float) and math.isfinite(self.center)):
            raise ParameterError(f"center must be a finite number, got {self.center!r}")
        if self.period is not None and not self.period >= points[-1] - points[0]:
            raise ParameterError("period must be at least the distance from the first point to the last")
        object.__setattr__(self, "columns", columns)
        object.__setattr__(self, "points", points)
        most = len(points) - 1 if self.period is None else (len(points) - 1) // 2
        waves = min(DEFAULT_WAVES, most) if self.waves is None else self.waves
        whole = arguments.whole("waves", waves, least=0, most=MOST) if isinstance(waves, int) else tuple(waves)
        object.__setattr__(self, "waves", whole)
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
            "columns": list(self.columns), **({} if self.radius is None else {"radius": self.radius}),
            "center": self.center, "points": list(self.points or ()), "waves": waves, "period": self.period,
        }  # fmt: skip

    @classmethod
    def from_record(cls, kind: str, fields: Mapping[str, Any]) -> CurvesDetails:
        """What `to_record`, or a plan, describes."""
        known = ("columns", "radius", "center", "points", "waves", "period")
        unknown = sorted(fields.keys() - set(known))
        if unknown or "columns" not in fields:
            wrong = f"has no part {unknown[0]!r}" if unknown else "needs columns"
            raise SchemaError(f"a {kind} {wrong}; known are {', '.join(known)}, by, where")
        given: dict[str, Any] = dict.fromkeys(known) | {"center": 0.0} | dict(fields)
        return curves_of(**given)

    def check(self, query: Query, schema: Schema) -> None:
        """Refuse what is wrong in public: columns that are not numbers, bounds that differ."""
        lattices = {lattice_of(column, schema, len(self.columns) == 1) for column in self.columns}
        if len(self.columns) == 1 and _points(self.columns[0], schema) != self.points:
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
        plain_question(query, schema)
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

    def bind(self, query: Query, schema: Schema) -> MeanCurve | CurvesByGroup:
        """The bound question, for each group where some are asked for."""
        self.curves.check(query, schema)
        question = self.question(query, schema)
        question.projection.check()
        return by_group(question)


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
    def vector(self, batches: Iterable[Mapping[str, Whole]]) -> Whole:
        """The exact, secret sums over batches of coerced rows."""

    def answer(self, table: Source) -> Whole:
        """The exact, secret vector."""
        return self.vector(table.rows(self.curves.columns, self.query.bound_condition(self.schema)))


class MeanCurve(CurvesQuestion, SummedCurve):
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

    @property
    def _root(self) -> float:
        """How much longer vectors are in l1, at most."""
        return math.sqrt(self.reading.size) * (1 + 1e-12)

    def alone(self, norm: str) -> float:
        """A point of the ball and the count."""
        radius, weight = float(self.projection.radius), float(self.count_weight)
        lengths = {"l2": math.hypot(radius, weight) * (1 + 1e-12), "l1": self._root * radius + weight, "linf": radius}
        return lengths[norm]

    def apart(self, norm: str) -> float:
        """Two points of the ball."""
        return 2 * (self._root if norm == "l1" else 1.0) * float(self.projection.radius)

    def besides(self, curve: Curve) -> tuple[str, ...]:
        """What the radius does to curves."""
        return self.projection.words()

    def vector(self, batches: Iterable[Mapping[str, Whole]]) -> Whole:
        """The exact, secret sums over batches of coerced rows."""
        total, count = np.zeros(self.reading.size, dtype=np.int64), 0
        for batch in batches:
            rows = self.projection.rows(batch)
            total, count = total + rows.sum(axis=0), count + len(rows)
        return np.append(total, self.count_weight * count) if self.count_weight else total

    def vectors(self, table: Source, groups: Cells) -> list[Whole]:
        """The same of each group."""
        where = self.query.bound_condition(self.schema)
        found = [self.vector(()) for _ in range(groups.count)]
        for batch in table.rows((*self.curves.columns, *(key.column for key in groups.keys)), where):
            held = placed(groups, batch, self.schema)
            for cell in np.unique(held[held >= 0]).tolist():
                own = {name: np.asarray(batch[name])[held == cell] for name in self.curves.columns}
                found[cell] = found[cell] + self.vector([own])
        return found


def mean_curve(
    columns: str | Sequence[str],
    *,
    radius: float | None = None,
    center: float = 0.0,
    points: Sequence[float] | None = None,
    waves: int | Sequence[int] | None = None,
    period: float | None = None,
) -> Query:
    """The mean of curves whose points are columns, or of one column of `Curves`.

    Curves whose root mean square about `center` exceeds `radius` are brought that near first; by default none is.  A
    smaller radius has less noise, and a center in the middle of the declared bounds halves the default.

    >>> mean_curve(["h0", "h1", "h2", "h3"], radius=2.0, waves=1, period=4).name
    'mean curve of h0 to h3'
    """
    return Query(MeanCurveDetails(curves_of(columns, radius, center, points, waves, period)))


def curves_of(
    columns: str | Sequence[str],
    radius: float | None,
    center: float,
    points: Sequence[float] | None,
    waves: int | Sequence[int] | None,
    period: float | None,
) -> CurvesDetails:
    """The description with tuples for lists."""
    where = (
        None if points is None else tuple(arguments.number("each of points", one) for one in _listed("points", points))
    )
    if waves is None or isinstance(waves, int):
        which: int | tuple[int, ...] | None = waves
    else:
        which = tuple(arguments.whole("each of waves", one, least=0) for one in _listed("waves", waves))
    named = arguments.names("columns", columns)
    for name, value in (("radius", radius), ("center", center), ("period", period)):
        if value is not None:
            arguments.number(name, value)
    return CurvesDetails(named, radius, center, where, which, period)


_listed = arguments.several


def _points(column: str, schema: Schema) -> tuple[float, ...] | None:
    curve = schema.space(column).curve
    return None if curve is None else curve.points
