"""Means and sums of every entry of an array: one for each place.

A row adds to all places at once, so the vector is as many vectors of one number's question side by side: their l1
sensitivities add up, those of l2 as roots of squares (docs/proofs/contributions.md).  An array is present or missing as
a whole.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from sfumato.answers.answer import Answer
from sfumato.answers.estimates import Estimates
from sfumato.errors import UnsupportedQuery
from sfumato.queries.aggregation import Measure
from sfumato.queries.contributions import Copies, Segment, Simplex
from sfumato.queries.query import Query
from sfumato.queries.ratio import ratio_interval
from sfumato.queries.vector import Bounds, Noise, Noisy, VectorQuestion, Whole, per_cell, share_rows
from sfumato.spaces import Lattice
from sfumato.spaces.schema import Schema

__all__ = ["EntryMeans", "EntryQuestion", "EntrySums", "has_entries"]

MOST_ENTRIES = 1_000  # sums of one query


@dataclass(frozen=True)
class EntryQuestion(VectorQuestion):
    """One number for each entry of an array in each cell; the numbers of a cell stand side by side."""

    @property
    def size(self) -> int:
        """How many entries there are."""
        return self.schema.space(self.query.column or "").size or 1

    @cached_property
    def lattice(self) -> Lattice:
        """The lattice of an entry."""
        return self.schema.lattice(self._name(0))

    @property
    def never_missing(self) -> bool:
        """An array of another length is missing."""
        return False

    @property
    def measures(self) -> tuple[Measure, ...]:
        """The number of present rows, and the sum of each entry counted from the lower bound."""
        names = [self._name(place) for place in range(self.size)]
        return (Measure(names[0]), *(Measure(name, 1) for name in names))

    @property
    def _numbers(self) -> int:
        return self.size * self.cells.count

    def _name(self, place: int) -> str:
        return f"{self.query.column}{self.schema.space(self.query.column or '').named_entry(place)}"

    def _sums(self, totals: Whole) -> tuple[Whole, Whole]:
        """The rows of each cell, in a column, and the sums of the entries counted from the lower bound."""
        found = np.asarray(totals, dtype=object)
        return found[0][:, None], found[1:].T

    def read(self, output: Whole, mechanism: Noisy) -> Answer:
        """One estimate a cell and entry, with its interval."""

        def ends(beta: float, joint: bool) -> Bounds:
            return self.interval(output, mechanism.noise, per_cell(beta, self._numbers or 1, joint))

        keys = self.cells.columns(repeat=self.size)
        names = [self._name(place).removeprefix(self.query.column or "") for place in range(self.size)]
        flat = all(name.count("[") == 1 for name in names)
        places = {self.query.column or "": (list(range(self.size)) if flat else names) * self.cells.count}
        return Estimates(
            {**keys, **places}, self.estimate(output), ends, self.measure, "axis", self.is_total, self.frame
        )

    @property
    def several(self) -> bool:
        """Whether there is more than one number."""
        return self._numbers > 1

    @property
    @abstractmethod
    def body(self) -> Copies:
        """What one row may add: to every entry what it may add to one."""


@dataclass(frozen=True)
class EntrySums(EntryQuestion):
    """The sum of each entry over each cell."""

    @property
    def coordinates(self) -> int:
        """One sum an entry."""
        return self.size

    @property
    def body(self) -> Copies:
        """A row adds a value to each entry's sum, or nothing to any."""
        return Copies(self.size, Segment(min(self.lattice.low, 0), max(self.lattice.high, 0)))

    @property
    def is_total(self) -> bool:
        """Nothing adds up to zero."""
        return True

    def vector(self, totals: Whole) -> Whole:
        """The sums of the lattice indices, entry after entry, cell after cell."""
        rows, above = self._sums(totals)
        return np.asarray(above + self.lattice.low * rows, dtype=object).reshape(-1)

    def estimate(self, noisy: Whole) -> npt.NDArray[np.float64]:
        """The noisy sums in the column's units."""
        return self.lattice.values(noisy)

    def interval(self, noisy: Whole, noise: Noise, beta: float) -> Bounds:
        """The noise's quantile on both sides."""
        margin = noise.quantile(beta)
        return self.lattice.values(noisy - margin), self.lattice.values(noisy + margin)

    def preview(self, noise: Noise, beta: float) -> float:
        """The noise's quantile in the column's units."""
        return self.lattice.value(noise.quantile(beta))


@dataclass(frozen=True)
class EntryMeans(EntryQuestion):
    """The mean of each entry over each cell: of the pair (a, b) the place of a among both, as for one number."""

    @property
    def coordinates(self) -> int:
        """Two sums an entry."""
        return 2 * self.size

    @property
    def body(self) -> Copies:
        """A row adds (t, R - t) to each entry's pair, or nothing to any."""
        return Copies(self.size, Simplex(self.lattice.width))

    @property
    def frame(self) -> tuple[float, float]:
        """The entries' bounds."""
        return self.lattice.low_value, self.lattice.high_value

    def vector(self, totals: Whole) -> Whole:
        """The pairs (a, b), entry after entry, cell after cell."""
        rows, above = self._sums(totals)
        return np.stack([above, self.lattice.width * rows - above], axis=2).reshape(-1)

    def estimate(self, noisy: Whole) -> npt.NDArray[np.float64]:
        """The ratio, kept inside the bounds; the middle of the range where the noisy count is not positive."""
        a, b = np.asarray(noisy, dtype=np.float64).reshape(-1, 2).T
        total = a + b
        place = np.where(total > 0, a / np.where(total > 0, total, 1.0), 0.5)
        return self._values(np.clip(place, 0.0, 1.0))

    def interval(self, noisy: Whole, noise: Noise, beta: float) -> Bounds:
        """By test inversion, entry by entry."""
        a, b = np.asarray(noisy, dtype=np.float64).reshape(-1, 2).T
        low, high = ratio_interval(a, b, noise, beta)
        return self._values(low), self._values(high)

    def preview(self, noise: Noise, beta: float) -> float | None:
        """The half-width at the middle of the range for the declared size, shared equally by the cells."""
        if self.schema.size is None:
            return None
        each = share_rows(self.schema.size, self.cells.count)
        half = np.full(1, self.lattice.width * each / 2.0)
        low, high = ratio_interval(half, half, noise, beta)
        return float((high - low)[0] / 2) * self.lattice.value(self.lattice.width)

    @property
    def supposed_rows(self) -> int | None:
        """The declared size, shared equally by the cells."""
        return None if self.schema.size is None else share_rows(self.schema.size, self.cells.count)

    @property
    def case(self) -> tuple[str, ...]:
        """Nearer to the ends of the range the error is larger."""
        return ("means in the middle of the range",)

    def _values(self, place: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        return self.lattice.values(self.lattice.low + place * self.lattice.width)


def has_entries(query: Query, schema: Schema, weight: str | None) -> bool:
    """Whether a query is about every entry of an array; what such a query cannot have is refused."""
    column = query.column or ""
    size = schema.space(column).size
    if size is None:
        return False
    if weight is not None:
        raise UnsupportedQuery(
            f"weight= is for numbers; ask for one entry, such as {column + schema.space(column).named_entry(0)!r}"
        )
    if size > MOST_ENTRIES:
        raise UnsupportedQuery(
            f"{column!r} has {size} entries, at most {MOST_ENTRIES} are answered at once; ask for some of them"
        )
    return True
