"""Bound questions whose answer is a function: whole coefficients in, a public curve out.

An answer is a vector of whole numbers: one for each coefficient of the reading, and where the number of rows is private
one more, the count times `count_weight`.  Everything here is a function of public quantities, except `answer`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from sfumato.curves import Curve, Divisor, Floats, Padded, Pull, Reading, Silence
from sfumato.errors import UnsupportedQuery
from sfumato.numeric import shown_up
from sfumato.queries.query import Query
from sfumato.queries.vector import NEEDS_SIZE
from sfumato.queries.whole import WholeTable
from sfumato.schema import Schema
from sfumato.statements import Accuracy, ErrorStatement, NotStated, level_of

__all__ = ["FunctionQuestion", "Whole", "plain_question"]

Whole = npt.NDArray[Any]
SHOWN = {1: 101, 2: 21, 3: 9}  # points a side in the table of a release
GUESSED = 1000  # rows, where errors are compared and no size is declared


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
    def pull(self) -> Pull | None:
        """What a penalty does to the curve, if there is one."""
        return None

    @property
    def most_coarse(self) -> int:
        """How many steps of leaving out waves make sense."""
        return 0

    @abstractmethod
    def sensitivity(self, norm: str) -> float:
        """How far one unit moves the vector of whole numbers, outward."""

    @abstractmethod
    def answer(self, table: Any) -> Whole:
        """The exact, secret vector of this question."""

    def exact(self, table: Any, mechanism: Any) -> Whole:
        """The exact, secret vector of the question as `mechanism` answers it."""
        return self.read_by(mechanism).answer(table)

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
        return replace(self, norm=norm, coarser=coarser)

    def read_by(self, mechanism: Any) -> FunctionQuestion:
        """The same question as `mechanism` answers it."""
        answered: FunctionQuestion = mechanism.query
        return answered

    def curve(self, output: Whole, mechanism: Any = None) -> Curve:
        """The public curve."""
        numbers = np.asarray(output, dtype=np.float64)
        noise = Silence() if mechanism is None else mechanism.noise
        divisor = Divisor(self.divisor or 1.0)
        if self.count_weight:
            divisor = Divisor(float(numbers[-1]) / self.count_weight, 1 / self.count_weight)
        sums = numbers[: self.reading.size] * self.worth
        return Curve(
            self.name, self.kind, self.reading, sums, self.worth, noise, divisor, self.bias, self.labels,
            self.bounds, self.pull,
        )  # fmt: skip

    def points(self) -> Floats:
        """The points that a release's table shows."""
        domain = self.bounds or self.reading.domain
        axes = [np.linspace(low, high, SHOWN[len(domain)]) for low, high in domain]
        return np.stack([part.reshape(-1) for part in np.meshgrid(*axes, indexing="ij")], axis=1)

    def estimate(self, output: Whole) -> Floats:
        """The curve at `points`."""
        return self.curve(output).at(self.points())

    def table(self, output: Whole, mechanism: Any, beta: float, joint: bool = False) -> dict[str, list[Any]]:
        """The public columns: points, estimate, and the ends of pointwise intervals or of the band."""
        curve, points = self.curve(output, mechanism), self.points()
        low, high = curve.band(points, 1 - beta) if joint else curve.interval(points, 1 - beta)
        columns = {label: points[:, j].tolist() for j, label in enumerate(self.labels)}
        return columns | {"estimate": curve.at(points).tolist(), "low": low.tolist(), "high": high.tolist()}

    def expected(self, mechanism: Any, rows: float | None = None) -> Curve:
        """A curve of nothing with the noise to expect: what previews measure."""
        size = self.divisor or rows or self.schema.size or GUESSED
        nothing = np.zeros(self.reading.size)
        return Curve(
            self.name, self.kind, self.reading, nothing, self.worth, mechanism.noise, Divisor(float(size)), self.bias,
            self.labels, self.bounds, self.pull,
        )  # fmt: skip

    def accuracy(self, mechanism: Any, beta: float) -> Accuracy:
        """The error to expect, from public quantities."""
        if self.divisor is None and self.schema.size is None:
            return NotStated(NEEDS_SIZE)
        expected = self.expected(mechanism)
        given = () if self.divisor is not None else (f"{self.schema.size:,} rows",)
        return ErrorStatement(
            "curve", expected.half_width(1 - beta), level_of(beta), given=given, besides=self._besides(expected)
        )

    def accuracy_of(self, output: Whole, mechanism: Any, beta: float) -> Accuracy:
        """The error of a release, from its own band."""
        curve, points = self.curve(output, mechanism), self.points()
        besides = self._besides(curve)
        if self.divisor is not None:
            return ErrorStatement("curve", curve.half_width(1 - beta), level_of(beta), besides=besides)
        low, high = curve.band(points, 1 - beta)
        estimate = curve.at(points)
        reach = float(np.maximum(high - estimate, estimate - low).max())
        return ErrorStatement("points", max(reach, 0.0), level_of(beta), besides=besides)

    def _besides(self, curve: Curve) -> tuple[str, ...]:
        """What the bands are about, where that is not the curve of the data, and what approximating it adds."""
        about = (f"noise alone: about {curve.covered()}",) if self.pull else ()
        moved = (f"grid and truncation move it by at most {shown_up(self.bias, 2)}",) if self.bias else ()
        return about + moved

    def predicted(self, mechanism: Any) -> float:
        """Root mean square of the noise to expect over the domain, and the bias."""
        return self.expected(mechanism).deviation() + self.bias


def plain_question(query: Query, schema: Schema) -> None:
    """Refuse keys, which no function-valued question has."""
    if query.keys:
        raise UnsupportedQuery(f"a {query.kind} has no `by`; narrow it with where(...) and ask once for each cell")
