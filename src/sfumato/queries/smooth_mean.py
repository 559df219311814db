r"""The mean of a smooth function over the rows, from sums whose sensitivities share one budget.

With v the function's value at a row in steps of 1 / SCALE, kept inside its public range low..high, and R = high - low,
a complete row adds (v - low, high - v): not negative, adding up to R.  From there it is the mean of a bounded number
(docs/proofs/moments.md).  Intervals are widened by what cutting the columns into cells can hide.
"""

from __future__ import annotations

import math
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from sfumato.errors import UnsupportedQuery
from sfumato.queries.aggregation import Measure
from sfumato.queries.contributions import Segment, Simplex
from sfumato.queries.features import Axis, placed
from sfumato.queries.grouping import Cells
from sfumato.queries.query import Query
from sfumato.queries.question import Source
from sfumato.queries.ratio import ratio_interval
from sfumato.queries.smooth import SCALE, GaussianMixture, Polynomial, SmoothFunction, cut_axes, whole_values
from sfumato.queries.vector import Bounds, Noise, VectorQuestion, Whole
from sfumato.spaces.schema import Schema

__all__ = ["SmoothMean", "bind_smooth"]


class SmoothMean(VectorQuestion):
    """The mean of a smooth function of some columns."""

    @property
    def function(self) -> SmoothFunction:
        """The function."""
        assert isinstance(self.query.details, GaussianMixture | Polynomial)
        return self.query.details

    @cached_property
    def axes(self) -> tuple[Axis, ...]:
        """The columns' axes."""
        return cut_axes(self.function, self.schema)

    @cached_property
    def ends(self) -> tuple[int, int]:
        """The function's range in steps of 1 / SCALE."""
        low, high = self.function.range
        return math.floor(low * SCALE), max(math.ceil(high * SCALE), math.floor(low * SCALE) + 1)

    @property
    def width(self) -> int:
        """How many steps the range has."""
        return self.ends[1] - self.ends[0]

    @property
    def rows(self) -> int | None:
        """The public number of rows the mean is over, where there is one."""
        return self.schema.fixed_size if self.every_row_counts else None

    @cached_property
    def every_row_counts(self) -> bool:
        """Whether the number of rows is public and none can be left out, missing or filtered."""
        spaces: list[Any] = [self.schema.space(name) for name in self.function.columns]
        imputed = all(space.settled for space in spaces)
        return imputed and self.query.condition is None and self.schema.fixed_size is not None

    @property
    def coordinates(self) -> int:
        """One sum with a public number of rows, else two."""
        return 2 if self.rows is None else 1

    @property
    def body(self) -> Simplex | Segment:
        """A row adds (v - low, high - v), or v - low alone."""
        return Simplex(self.width) if self.rows is None else Segment(0, self.width)

    @property
    def measures(self) -> tuple[Measure, ...]:
        """Nothing that an engine sums by itself: see `answer`."""
        return ()

    def answer(self, table: Source) -> Whole:
        """The exact, secret sums: one pass over the rows, in batches."""
        above = present = 0
        for batch in table.rows(self.function.columns, self.query.bound_condition(self.schema)):
            cells = placed(batch, self.function.columns, self.axes)
            values = np.clip(whole_values(self.function, self.axes, cells), *self.ends)
            above += int((values - self.ends[0]).sum())
            present += len(cells)
        return self.vector(np.array([[present], [above]], dtype=object))

    @property
    def measure(self) -> str:
        """A mean."""
        return "mean of the function"

    def vector(self, totals: Whole) -> Whole:
        """The pair of sums, from the number of rows and the sum above the low end."""
        (present,), (above,) = totals
        sums = [above] if self.rows is not None else [above, self.width * present - above]
        return np.array(sums, dtype=object)

    def estimate(self, noisy: Whole) -> npt.NDArray[np.float64]:
        """The mean, kept inside the range; its middle where the noisy count is not positive."""
        a, b = self._pair(noisy)
        place = a / (a + b) if a + b > 0 else 0.5
        return self._values(np.clip(np.array([place]), 0.0, 1.0))

    def interval(self, noisy: Whole, noise: Noise, beta: float) -> Bounds:
        """By test inversion, widened by the cells' reach."""
        a, b = self._pair(noisy)
        if self.rows is not None:
            margin = noise.quantile(beta)
            low, high = (np.clip(np.array([(a + sign * margin) / (a + b)]), 0, 1) for sign in (-1, 1))
        else:
            low, high = ratio_interval(np.array([a]), np.array([b]), noise, beta)
        return self._values(low) - self.hidden, self._values(high) + self.hidden

    def preview(self, noise: Noise, beta: float) -> float | None:
        """The half-width at the middle of the range for the declared size."""
        rows = self.rows or self.schema.size
        if rows is None:
            return None
        if self.rows is not None:
            return noise.quantile(beta) / rows / SCALE + self.hidden
        half = np.array([self.width * rows / 2.0])
        low, high = ratio_interval(half, half, noise, beta)
        return float((high - low)[0] / 2) * self.width / SCALE + self.hidden

    @property
    def supposed_rows(self) -> int | None:
        """The declared size, where the number of rows is not public."""
        return None if self.rows is not None else self.schema.size

    @property
    def case(self) -> tuple[str, ...]:
        """Nearer to the ends of the function's range the error is larger."""
        return () if self.supposed_rows is None else ("a mean in the middle of the function's range",)

    @property
    def hidden(self) -> float:
        """How far cells and whole numbers can move the mean at most."""
        reach = sum(axis.reach for axis in self.axes)
        terms = len(self.function.weights if isinstance(self.function, GaussianMixture) else self.function.degrees)
        return self.function.slope * reach + (terms * (len(self.axes) + 2)) / SCALE

    def _pair(self, noisy: Whole) -> tuple[float, float]:
        if self.rows is not None:
            return float(noisy[0]), float(self.width * self.rows - noisy[0])
        return float(noisy[0]), float(noisy[1])

    def _values(self, place: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        return (self.ends[0] + place * self.width) / SCALE


def bind_smooth(query: Query, schema: Schema) -> SmoothMean:
    """The question, with every public mistake found."""
    if query.keys:
        raise UnsupportedQuery(f"a {query.kind} query takes no keys in by; narrow it with where")
    question = SmoothMean(query, schema, Cells(()))
    if question.width > 2**45:
        raise UnsupportedQuery("the function's range is too wide; divide its weights by a constant")
    assert question.axes
    return question
