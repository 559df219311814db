r"""Kernel regression and classification on a finite public basis, private by the stability of a regularized minimum.

f(x) = <w, phi(x)> with phi the waves of a Gaussian kernel, ||phi(x)|| <= 1, and w the minimum of
sum over rows of l(f(x_i), y_i) + (Lambda / 2) ||w||^2, Lambda = penalty x declared size.  A loss of slope at most 1
makes one row move w by at most 1 / Lambda, plus what the solver leaves [ChaudhuriMonteleoniSarwate2011]; w is then
rounded to a lattice.  No count is needed, so adding and removing rows is covered too.

Proof: docs/proofs/functions-learning.md.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np

from sfumato import arguments
from sfumato.answers.curves import Expansion, Floats, Fourier, Pull
from sfumato.errors import ParameterError, SchemaError, UnsupportedQuery
from sfumato.privacy.adjacency import Replace
from sfumato.queries.aggregation import Frequencies
from sfumato.queries.functions.bandwidths import bandwidths_of, checked_bandwidth, lattice_of
from sfumato.queries.functions.local_means import LocalMeans, local_means
from sfumato.queries.functions.losses import LOSSES
from sfumato.queries.functions.question import FunctionQuestion, Whole, plain_question
from sfumato.queries.functions.solver import TOLERANCE, Problem, minimum
from sfumato.queries.grouping import Cells, Key
from sfumato.queries.query import Query
from sfumato.queries.question import Source
from sfumato.spaces.schema import Schema

__all__ = ["LearnedCurve", "LearningDetails", "classification", "regression"]

MOST_COLUMNS = 3
MOST_COEFFICIENTS = 600
LEAST_PENALTY = 1e-4  # so that rounding stays within the tolerance
GRID = 1 << 12  # most grid points a side
FEW = 1 << 20  # rows that can differ: so many an engine counts, of more each is read
TAILS = (1e-4, 1e-3, 1e-2)  # how small the first wave left out may be
STEPS = 1 << 24  # lattice steps in the distance that one row moves w
MARGIN = 2.0  # bandwidths on either side of the box
TENTH = 9.0  # as many rows near as the penalty counts for, and it bends the curve a tenth of the way


@dataclass(frozen=True, slots=True)
class LearningDetails:
    """What is predicted, from which columns, with which kernel width, penalty and loss."""

    target: str
    columns: tuple[str, ...]
    bandwidth: str | tuple[float, ...]
    penalty: float | None = None  # with one, the penalized curve of a loss; without, smoothed means of cells
    loss: str | None = None
    kind: ClassVar[str] = "regression"

    def __post_init__(self) -> None:
        arguments.text("target", self.target)
        if self.target in self.columns:
            raise ParameterError(f"a {self.kind} of {self.target!r} on itself says nothing; name another column")
        if not 1 <= len(self.columns) <= MOST_COLUMNS or len({*self.columns, self.target}) != len(self.columns) + 1:
            raise ParameterError(
                f"a {self.kind} is on 1 to {MOST_COLUMNS} columns other than its target, each named once, got "
                f"{len(self.columns)}: coefficients multiply with each; choose fewer columns"
            )
        object.__setattr__(self, "bandwidth", checked_bandwidth(self.bandwidth, len(self.columns)))
        if self.penalty is None:
            if self.loss is not None:
                raise ParameterError(f"a loss is that of a penalized curve; give penalty= too, got loss={self.loss!r}")
            return
        object.__setattr__(self, "loss", arguments.text("loss", self.losses()[0] if self.loss is None else self.loss))
        if not (isinstance(self.penalty, int | float) and LEAST_PENALTY <= self.penalty < math.inf):
            raise ParameterError(f"penalty must be finite and at least {LEAST_PENALTY:g}, got {self.penalty!r}")
        if self.loss not in self.losses():
            raise ParameterError(f"loss must be one of {', '.join(self.losses())}, got {self.loss!r}")

    @classmethod
    def losses(cls) -> tuple[str, ...]:
        """The losses that make sense; the first is the default."""
        return ("robust",)

    def subject(self) -> str:
        """What is asked."""
        return f"{self.kind} of {self.target} on {', '.join(self.columns)}"

    def to_record(self) -> dict[str, Any]:
        """Plain values."""
        width = self.bandwidth if isinstance(self.bandwidth, str) else list(self.bandwidth)
        record = {"target": self.target, "columns": list(self.columns), "bandwidth": width}
        return record if self.penalty is None else {**record, "penalty": self.penalty, "loss": self.loss}

    @classmethod
    def from_record(cls, fields: Mapping[str, Any]) -> Self:
        """The details that `to_record`, or a plan, describes."""
        known = {"target", "columns", "bandwidth", "penalty", "loss"}
        unknown = sorted(fields.keys() - known)
        if unknown or not {"target", "columns"} <= fields.keys():
            wrong = f"has no part {unknown[0]!r}" if unknown else "needs target and columns"
            raise SchemaError(f"a {cls.kind} {wrong}; known are {', '.join(sorted(known))}, where")
        bandwidth = fields.get("bandwidth", "scott")
        width = tuple(bandwidth) if isinstance(bandwidth, list) else bandwidth
        names = arguments.names("columns", fields["columns"])
        return cls(fields["target"], names, width, fields.get("penalty"), fields.get("loss"))

    def bind(self, query: Query, schema: Schema) -> LearnedCurve | LocalMeans:
        """The bound question."""
        if self.penalty is None:
            self.check_target(schema)
            return local_means(query, schema, self.target, self.columns, self.bandwidth)
        plain_question(query, schema)
        if schema.size is None:
            raise SchemaError(f"a {self.kind} weighs its penalty by a public number of rows: declare size=")
        self.check_target(schema)
        question = LearnedCurve(query, schema)
        if not question._degrees:
            raise ParameterError(
                f"the bandwidth needs more than {MOST_COEFFICIENTS} coefficients on the declared ranges; enlarge it"
            )
        return question

    def check_target(self, schema: Schema) -> None:
        """A number."""
        lattice_of(self.target, schema)


@dataclass(frozen=True, slots=True)
class ClassificationDetails(LearningDetails):
    """Two labels, the second of which is 1 and the first -1."""

    kind: ClassVar[str] = "classification"

    @classmethod
    def losses(cls) -> tuple[str, ...]:
        """The losses that make sense; the first is the default."""
        return ("logistic", "hinge")

    def check_target(self, schema: Schema) -> None:
        """Two categories."""
        space = schema.space(self.target)
        if space.labels is None or len(space.labels) != 2:
            raise UnsupportedQuery(
                f"a classification needs a target with two categories; {self.target!r} has none such"
            )


class LearnedCurve(FunctionQuestion):
    """The regularized minimum as a function."""

    @property
    def kind(self) -> str:
        """`regression` or `classification`."""
        return self.query.kind

    @property
    def labels(self) -> tuple[str, ...]:
        """The columns that predict."""
        return self.details.columns

    @property
    def details(self) -> LearningDetails:
        """The public description."""
        assert isinstance(self.query.details, LearningDetails)
        return self.query.details

    @cached_property
    def _bandwidths(self) -> tuple[float, ...]:
        return bandwidths_of(self.details.bandwidth, self.labels, self.schema)

    @cached_property
    def _ends(self) -> list[tuple[float, float]]:
        lattices = [lattice_of(column, self.schema) for column in self.labels]
        pairs = zip(lattices, self._bandwidths, strict=True)
        return [(lattice.low_value - MARGIN * h, lattice.high_value + MARGIN * h) for lattice, h in pairs]

    @cached_property
    def _degrees(self) -> tuple[int, ...]:
        for tail in TAILS:
            ratios = [(high - low) / h for (low, high), h in zip(self._ends, self._bandwidths, strict=True)]
            degrees = [max(1, math.ceil(ratio * math.sqrt(-math.log(tail) / 2) / math.pi)) for ratio in ratios]
            if math.prod(2 * degree + 1 for degree in degrees) <= MOST_COEFFICIENTS:
                return tuple(degrees)
        return ()

    @cached_property
    def axes(self) -> tuple[Fourier, ...]:
        """Waves of the kernel on a circle around each column's range."""
        return tuple(
            Fourier(*ends, tuple(range(1, degree + 1))) for ends, degree in zip(self._ends, self._degrees, strict=True)
        )

    @cached_property
    def _weights(self) -> list[Floats]:
        """For each axis sqrt(gamma_k), scaled so that features have norm at most 1."""
        found = []
        for axis, h in zip(self.axes, self._bandwidths, strict=True):
            roots = np.exp(-((math.pi * axis.frequencies * h / (axis.high - axis.low)) ** 2))
            found.append(roots / (math.sqrt(float((roots**2).sum())) * (1 + 1e-12)))
        return found

    @property
    def bounds(self) -> tuple[tuple[float, float], ...]:
        """The declared bounds: beyond them the waves only meet their own other end."""
        lattices = [lattice_of(column, self.schema) for column in self.labels]
        return tuple((lattice.low_value, lattice.high_value) for lattice in lattices)

    @property
    def pull(self) -> Pull:
        """N rows within a bandwidth, all at one height, and a penalty Lambda give N / (N + Lambda) of that height."""
        widths = math.prod(math.sqrt(2 * math.pi) * h for h in self._bandwidths)
        return Pull(self._scale[0], TENTH * self._share / widths)

    @cached_property
    def reading(self) -> Expansion:
        """All products of waves, around the middle of the target's range."""
        return Expansion(self.axes, None, self._scale[0])

    @cached_property
    def _scale(self) -> tuple[float, float]:
        """The middle and half the range of the target; labels are -1 and 1 already."""
        if self.kind == "classification":
            return 0.0, 1.0
        lattice = lattice_of(self.details.target, self.schema)
        return (lattice.low_value + lattice.high_value) / 2, (lattice.high_value - lattice.low_value) / 2

    @property
    def _penalty(self) -> float:
        """Lambda."""
        assert self.schema.size is not None
        return self._share * self.schema.size

    @property
    def _share(self) -> float:
        """The penalty as it was asked for."""
        assert self.details.penalty is not None
        return self.details.penalty

    @property
    def step(self) -> float:
        """The lattice of w."""
        return 1 / (self._penalty * STEPS)

    @cached_property
    def worth(self) -> Floats:
        """A step of each coefficient, in the target's units."""
        out = np.ones(1)
        for weights in self._weights:
            out = np.multiply.outer(out, weights).reshape(-1)
        return np.asarray(out * (self.step * self._scale[1]))

    @property
    def divisor(self) -> float:
        """None: the minimum is not a mean."""
        return 1.0

    @property
    def count_weight(self) -> int:
        """The count is not needed."""
        return 0

    def sensitivity(self, norm: str) -> float:
        """1 / Lambda a row, twice that for an exchange; the solver's tolerance on both sides; rounding."""
        rows = self.schema.unit.rows * (2 if isinstance(self.schema.adjacency, Replace) else 1)
        moved = (rows + 2 * TOLERANCE) * STEPS + math.sqrt(self.reading.size)
        if norm == "l1":
            return math.sqrt(self.reading.size) * moved * (1 + 1e-9)
        return moved * (1 + 1e-9)

    def problem(self, rows: Whole, counts: Whole) -> Problem:
        """What is minimized, for distinct rows and how often each occurs."""
        places = tuple(rows[:, j] for j in range(len(self.labels)))
        axes = tuple(
            axis.values(points) * weights
            for axis, points, weights in zip(self.axes, self._grid, self._weights, strict=True)
        )
        targets = self._targets(rows[:, -1])
        return Problem(places, axes, targets, counts.astype(np.float64), self._penalty, LOSSES[self.details.loss or ""])

    @cached_property
    def _cells(self) -> Cells:
        """The grid of the columns that predict."""
        keys = []
        for column, width in zip(self.labels, self._widths, strict=True):
            lattice = lattice_of(column, self.schema)
            starts = tuple(range(lattice.low, lattice.high + 1, width))
            keys.append(Key(column, tuple(range(len(starts))), starts))
        return Cells(tuple(keys))

    @property
    def statistic(self) -> Frequencies | None:
        """How often each row occurs, for engines to count; None where the declared columns let too many differ."""
        target = self.schema.space(self.details.target)
        values = len(target.labels or ()) or lattice_of(self.details.target, self.schema).width + 1
        if self._cells.count * values > FEW:
            return None
        return Frequencies(self.query.bound_condition(self.schema), self._cells, self.details.target)

    def distinct(self, table: Source) -> tuple[Whole, Whole]:
        """The exact, secret rows that have all columns, each distinct one once, in order; how often each occurs."""
        statistic = self.statistic
        if statistic is None:
            names = (*self.labels, self.details.target)
            return self.gathered(table.rows(names, self.query.bound_condition(self.schema)))
        cells, values, times = table.answer(statistic)
        low = 0 if self.kind == "classification" else lattice_of(self.details.target, self.schema).low
        return self._ordered(cells, values - low, times)

    def gathered(self, batches: Iterable[Mapping[str, Whole]]) -> tuple[Whole, Whole]:
        """The same from the rows themselves."""
        cells, values = [np.zeros(0, dtype=np.int64)], [np.zeros(0, dtype=np.int64)]
        for batch in batches:
            *columns, targets = (np.asarray(batch[name], np.int64) for name in (*self.labels, self.details.target))
            kept = np.all([held >= 0 for held in (*columns, targets)], axis=0)
            places = [held[kept] // width for held, width in zip(columns, self._widths, strict=True)]
            cells.append(np.ravel_multi_index(places, self._cells.shape))
            values.append(targets[kept])
        return self._ordered(np.concatenate(cells), np.concatenate(values), np.ones(sum(map(len, cells)), np.int64))

    def _ordered(self, cells: Whole, values: Whole, times: Whole) -> tuple[Whole, Whole]:
        """Rows in the order of their cells and targets, each once, and how often each occurs."""
        order = np.lexsort((values, cells))
        cells, values = cells[order], values[order]
        first = np.flatnonzero(np.diff(cells, prepend=-1) | np.diff(values, prepend=-1))
        counts = np.add.reduceat(times[order], first) if len(first) else times
        return np.stack([*np.unravel_index(cells[first], self._cells.shape), values[first]], axis=1), counts

    def _targets(self, indices: Whole) -> Floats:
        if self.kind == "classification":
            return np.asarray(2.0 * indices - 1.0)
        return np.asarray(2.0 * indices / lattice_of(self.details.target, self.schema).width - 1.0)

    @cached_property
    def _widths(self) -> tuple[int, ...]:
        """Lattice points that share a grid point, for each column."""
        lattices = [lattice_of(column, self.schema) for column in self.labels]
        return tuple(max(1, -(-(lattice.width + 1) // GRID)) for lattice in lattices)

    @cached_property
    def _grid(self) -> list[Floats]:
        found = []
        for column, width in zip(self.labels, self._widths, strict=True):
            lattice = lattice_of(column, self.schema)
            starts = np.arange(lattice.low, lattice.high + 1, width)
            found.append(lattice.values(np.minimum(starts + (width - 1) / 2, lattice.high)))
        return found

    def vector(self, batches: Iterable[Mapping[str, Whole]]) -> Whole:
        """The exact, secret minimum on its lattice, of rows at hand."""
        return self._solved(*self.gathered(batches))

    def answer(self, table: Source) -> Whole:
        """The exact, secret minimum on its lattice."""
        return self._solved(*self.distinct(table))

    def _solved(self, rows: Whole, counts: Whole) -> Whole:
        return np.asarray(np.rint(minimum(self.problem(rows, counts)) / self.step), dtype=np.int64)


def regression(
    target: str,
    on: str | Sequence[str],
    *,
    bandwidth: float | Sequence[float] | str = "scott",
    penalty: float | None = None,
) -> Query:
    """A smooth curve that predicts a number from one to three others, with a band about the regression function.

    Noisy means of the target in cells about as wide as `bandwidth` are smoothed after the noise; `by` takes groups.
    With a `penalty` it is kernel ridge regression instead, residuals cut at half the range, whose band is about its own
    noise alone.

    >>> regression("salary", "age", bandwidth=10).name
    'regression of salary on age'
    """
    columns = arguments.names("on", on)
    return Query(LearningDetails(target, columns, bandwidth, penalty))  # type: ignore[arg-type]


def classification(
    target: str,
    on: str | Sequence[str],
    *,
    bandwidth: float | Sequence[float] | str = "scott",
    penalty: float | None = None,
    loss: str | None = None,
) -> Query:
    """A smooth score that tells two labels apart, from -1 to 1: twice the chance of the second label, less 1.

    With a `penalty` it is kernel classification instead, with loss `logistic` or `hinge` (rounded).

    >>> classification("ill", ["age", "weight"], bandwidth=[10, 8]).name
    'classification of ill on age, weight'
    """
    columns = arguments.names("on", on)
    details = ClassificationDetails(target, columns, bandwidth, penalty, loss)  # type: ignore[arg-type]
    return Query(details)
