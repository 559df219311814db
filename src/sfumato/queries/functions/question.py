"""Bound questions whose answer is a function: whole coefficients in, a public curve out.

An answer is a vector of whole numbers: one for each coefficient of the reading, and where the number of rows is private
one more, the count times `count_weight`.  Everything here is a function of public quantities, except `answer`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, Protocol, Self

import numpy as np
import numpy.typing as npt

from sfumato.answers.curves import Covariance, Curve, Divisor, Floats, Padded, Pull, Reading, Silence, margins
from sfumato.answers.functions import Function, Functions
from sfumato.answers.statements import Accuracy, ErrorByRows, ErrorStatement, NotStated, level_of, state_by_rows
from sfumato.errors import ParameterError, UnsupportedQuery
from sfumato.numeric import shown_up
from sfumato.privacy.adjacency import Replace
from sfumato.queries.grouping import Cells
from sfumato.queries.query import Query
from sfumato.queries.question import Source
from sfumato.queries.vector import NEEDS_SIZE, Noise, Noisy
from sfumato.queries.whole import WholeTable
from sfumato.spaces.schema import Schema

if TYPE_CHECKING:
    from sfumato.queries.functions.density import Density

__all__ = [
    "GUESSED",
    "SHOWN",
    "FunctionQuestion",
    "SummedCurve",
    "Whole",
    "plain_question",
    "points_within",
]

Whole = npt.NDArray[Any]
SHOWN = {1: 101, 2: 21, 3: 9}  # points a side in the table of a release
SILENCE = Silence()
MOST_HEIGHT = 0.1  # of its height, that a curve may be off by its noisy number of rows, where an error is stated
COUNTED = 0.1  # of the failure probability, for the noisy number of rows
GUESSED = 1000  # rows, where errors are compared and no size is declared


class Waved(Protocol):
    """A mechanism that adds noise to coefficients: the question in its own units, and the law of the noise."""

    @property
    def query(self) -> FunctionQuestion: ...

    @property
    def noise(self) -> Noise: ...


@dataclass(frozen=True)
class FunctionQuestion(WholeTable, ABC):
    """A query bound to a schema.  `norm` says which noise the units are for, `coarser` how many waves are left out."""

    query: Query
    schema: Schema
    norm: str = "l2"
    coarser: int = 0

    @property
    @abstractmethod
    def kind(self) -> str:
        """What the curve is: density, distribution, mean curve, ..."""

    @property
    @abstractmethod
    def labels(self) -> tuple[str, ...]:
        """The names of the curve's variables."""

    @property
    @abstractmethod
    def reading(self) -> Reading:
        """How coefficients become a function."""

    @property
    @abstractmethod
    def worth(self) -> Floats:
        """What one whole step of each coefficient is worth."""

    @property
    @abstractmethod
    def count_weight(self) -> int:
        """How much each row adds to the last number; 0 where the divisor is public and there is no such number."""

    @property
    @abstractmethod
    def divisor(self) -> float | None:
        """What sums are divided by, where it is public."""

    @property
    def hidden(self) -> int:
        """Numbers between the coefficients and the count that the reading does not show."""
        return 0

    @property
    def bias(self) -> float:
        """How far the curve without noise may be from the ideal one, where that is bounded."""
        return 0.0

    @property
    def bounds(self) -> tuple[tuple[float, float], ...] | None:
        """Where the curve may be looked at, if that is less than the box of its waves."""
        return None

    @property
    def frame(self) -> tuple[tuple[float, float], ...] | None:
        """What tables and pictures show, if that is less than where the curve may be looked at."""
        return None

    @property
    def smoothed(self) -> str | None:
        """How much the curve is smoothed, in words, where a bandwidth says so."""
        return None

    @property
    def pull(self) -> Pull | None:
        """What a penalty does to the curve, if there is one."""
        return None

    @property
    def fittable(self) -> Density | None:
        """Itself, where units of waves are fitted to its range."""
        return None

    @property
    def most_coarse(self) -> int:
        """How many steps of leaving out waves make sense."""
        return 0

    @abstractmethod
    def sensitivity(self, norm: str) -> float:
        """How far one unit moves the vector of whole numbers, outward."""

    @abstractmethod
    def answer(self, table: Source) -> Whole:
        """The exact, secret vector of this question."""

    @property
    def dimension(self) -> int:
        """Whole numbers released in all."""
        return self.basis.features

    @cached_property
    def basis(self) -> Padded:
        """The functions that the numbers multiply; that of a hidden one or of the count is nothing."""
        return Padded(self.reading, self.hidden + (self.count_weight > 0))

    @cached_property
    def units(self) -> tuple[float, ...]:
        """What one whole step of each number is worth on the curve of sums."""
        return (*self.worth.tolist(), *[0.0] * self.basis.extra)

    def shaped(self, norm: str, coarser: int = 0) -> Self:
        """The same question with units for noise measured in `norm`, and fewer waves."""
        if not (isinstance(coarser, int) and 0 <= coarser <= self.most_coarse):
            raise ParameterError(f"coarser must be from 0 to {self.most_coarse}, got {coarser!r}")
        return replace(self, norm=norm, coarser=coarser)

    def curve(self, output: Whole, noise: Noise | Silence = SILENCE) -> Curve:
        """The public curve of noisy coefficients."""
        numbers = np.asarray(output, dtype=np.float64)
        divisor = Divisor(self.divisor or 1.0)
        if self.count_weight:
            divisor = Divisor(float(numbers[-1]) / self.count_weight, 1 / self.count_weight)
        sums = numbers[: self.reading.size] * self.worth
        return Curve(
            self.name, self.kind, self.reading, sums, self.worth, noise, divisor, self.bias, self.labels,
            self.bounds, self.pull, self.frame,
        )  # fmt: skip

    def points(self) -> Floats:
        """The points that a release's table shows."""
        return points_within(self.frame or self.bounds or self.reading.domain)

    def read(self, output: Whole, mechanism: Waved) -> Function | Functions:
        """The curve in the units, and with the waves, that the mechanism was shaped for."""
        return mechanism.query.function(output, mechanism.noise)

    def function(self, output: Whole, noise: Noise) -> Function:
        """The curve of noisy coefficients of this very question, with the points that are shown and its error."""
        curve, points = self.curve(output, noise), self.points()
        return Function(
            curve, points, self.labels, partial(self.accuracy_of, curve, points), self.less_means(output, curve),
            self.smoothed,
        )  # fmt: skip

    def less_means(self, output: Whole, curve: Curve) -> Covariance | None:
        """The covariance, of second moments that come with their means."""
        return None

    def expected(self, mechanism: Noisy, rows: float | None = None) -> Curve:
        """A curve of nothing with the noise to expect: what previews measure."""
        size = self.divisor or rows or self.schema.size or GUESSED
        nothing = np.zeros(self.reading.size)
        return Curve(
            self.name, self.kind, self.reading, nothing, self.worth, mechanism.noise, Divisor(float(size)), self.bias,
            self.labels, self.bounds, self.pull,
        )  # fmt: skip

    def accuracy(self, mechanism: Waved, beta: float) -> Accuracy:
        """The error to expect, from public quantities: of the units and waves that the mechanism was shaped for."""
        if self.divisor is None and self.schema.size is None:
            return NotStated(NEEDS_SIZE)
        asked = mechanism.query
        if self.divisor is not None:
            return asked.expect_error(mechanism, beta)
        assert self.schema.size is not None
        if self.query.selection is not None:
            return asked.expect_errors(mechanism, beta, self.schema.size, self.query.selection)
        return replace(asked.expect_error(mechanism, beta), rows=self.schema.size)

    def expect_error(self, mechanism: Waved, beta: float) -> ErrorStatement:
        """The error of a curve over the declared number of rows."""
        expected = self.expected(mechanism)
        return ErrorStatement("curve", expected.half_width(1 - beta), level_of(beta), besides=self.besides(expected))

    def expect_errors(self, mechanism: Waved, beta: float, rows: int, selection: str) -> ErrorByRows:
        """The errors of curves over so many rows, and fewer, as far as their noisy number leaves the height known.

        The noise z of the sums and v of the number of rows n moves a height f to (f n + z) / (n + v): by at most
        |z| / (n - |v|), and by the share |v| / (n - |v|) of f.
        """
        reach = self._reaches(mechanism, beta)
        found = state_by_rows(rows, selection, lambda n: ErrorStatement(
            "curve", reach[0] / max(n - reach[1], 1.0), level_of(beta), besides=self.besides(self.expected(mechanism))
        ))  # fmt: skip
        assert isinstance(found, ErrorByRows)
        kept = [one for one in found.at if reach[1] <= MOST_HEIGHT * ((one.rows or 1) - reach[1])] or found.at[:1]
        share = max(reach[1] / max((one.rows or 1) - reach[1], 1.0) for one in kept)
        told = (f"and at most {shown_up(100 * share, 2)} % of the curve's own height",) if reach[1] else ()
        return replace(found, at=tuple(replace(one, besides=(*told, *one.besides)) for one in kept))

    def _reaches(self, mechanism: Waved, beta: float) -> tuple[float, float]:
        """How far noise moves the curve of sums, and the number of rows, but for `beta`."""
        one = replace(self.expected(mechanism), divisor=Divisor(1.0))
        if not self.count_weight:
            return one.half_width(1 - beta), 0.0
        count = float(margins(np.array([[1 / self.count_weight]]), mechanism.noise, COUNTED * beta)[0])
        return one.half_width(1 - (1 - COUNTED) * beta), count

    def accuracy_of(self, curve: Curve, points: Floats, beta: float) -> Accuracy:
        """The error of a released curve, from its own band."""
        besides = self.besides(curve)
        if self.divisor is not None:
            return ErrorStatement("curve", curve.half_width(1 - beta), level_of(beta), besides=besides)
        low, high = curve.band(points, 1 - beta)
        estimate = curve.at(points)
        reach = float(np.maximum(high - estimate, estimate - low).max())
        return ErrorStatement("points", max(reach, 0.0), level_of(beta), besides=besides)

    def besides(self, curve: Curve) -> tuple[str, ...]:
        """What the bands are about, where that is not the data's curve; what approximating it adds; the bandwidth."""
        about = (f"noise alone: about {curve.covered()}",) if self.pull else ()
        moved = (f"grid and truncation move it by at most {shown_up(self.bias, 2)}",) if self.bias else ()
        return about + moved + (() if self.smoothed is None else (self.smoothed,))

    def predicted(self, mechanism: Noisy) -> float:
        """Root mean square of the noise to expect over the domain, and the bias."""
        return self.expected(mechanism).deviation() + self.bias


class SummedCurve(FunctionQuestion):
    """A curve made of sums over rows: how far rows move them, for the whole table and for groups of rows."""

    @abstractmethod
    def alone(self, norm: str) -> float:
        """The largest norm of what one row adds, the count included."""

    @abstractmethod
    def apart(self, norm: str) -> float:
        """The largest norm of the difference of what two rows add that both count."""

    @property
    def places(self) -> int:
        """The points of a grid that rows are counted on; 1 where rows are read."""
        return 1

    @abstractmethod
    def vectors(self, table: Source, groups: Cells) -> list[Whole]:
        """The exact, secret vector of each group of rows."""

    def sensitivity(self, norm: str) -> float:
        """The largest of what one row adds and of a difference of two, times the rows of a unit."""
        alone = self.alone(norm)
        if not isinstance(self.schema.adjacency, Replace):
            return self.schema.unit.rows * alone
        apart = self.apart(norm)
        return self.schema.unit.rows * (apart if self.divisor is not None else max(alone, apart))


def points_within(domain: Sequence[tuple[float, float]], sides: Sequence[int] | None = None) -> Floats:
    """The points of a box that a table shows, as many along each side."""
    counts = [SHOWN[len(domain)]] * len(domain) if sides is None else sides
    axes = [np.linspace(low, high, count) for (low, high), count in zip(domain, counts, strict=True)]
    return np.stack([part.reshape(-1) for part in np.meshgrid(*axes, indexing="ij")], axis=1)


def plain_question(query: Query, schema: Schema) -> None:
    """Refuse keys where a question has one curve."""
    if query.keys:
        raise UnsupportedQuery(f"a {query.kind} has no `by`; narrow it with where(...) and ask once for each cell")
