r"""Differences of an answer between two groups of the same table.

Counts and sums: a row adds what it adds to the one group, or takes it off in the other, so that one number carries
the noise of one.  Means and shares: each group's pair carries noise of its own.  With n_g a group's true total, T_g its
noisy one and p_g its place, W_g = T_g (p^_g - p_g) is pure noise, so the error of the difference of places is

    W_1 / n_1 - W_2 / n_2 + (1 - T_1 / n_1) (p^_1 - p_1) - (1 - T_2 / n_2) (p^_2 - p_2):

the quantile of the first two at weights no less than the true ones, and a second order that a small share of beta for
where the n_g and p_g lie bounds (docs/proofs/difference.md).  Of other kinds the two intervals at half of beta each are
taken.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from sfumato import arguments
from sfumato.answers.answer import Units
from sfumato.answers.statements import GROUPS
from sfumato.errors import ParameterError, SchemaError, UnsupportedQuery
from sfumato.numeric import ceil_float, round_up
from sfumato.privacy.adjacency import Person, Replace
from sfumato.queries.aggregation import Aggregation, Measure
from sfumato.queries.constants import plain_constant
from sfumato.queries.contributions import Contribution, Segment
from sfumato.queries.counts import Counts
from sfumato.queries.details import Details, Grouped, known_parts
from sfumato.queries.grouping import Cells, Key
from sfumato.queries.mean import Mean
from sfumato.queries.query import Query
from sfumato.queries.ratio import ratio_interval
from sfumato.queries.total import Total
from sfumato.queries.vector import Bounds, Noise, VectorQuestion, Whole
from sfumato.queries.weighted_noise import weighted_quantile
from sfumato.spaces import Label
from sfumato.spaces.schema import Schema

__all__ = ["Difference", "DifferenceDetails", "TotalDifference", "difference"]

Floats = npt.NDArray[np.float64]
COMPARED = ("count", "sum", "mean", "share", "ratio", "variance", "std", "correlation")
ELSEWHERE = 0.02  # of beta, for totals and places to lie where the weights are not looked at


@dataclass(frozen=True, slots=True)
class DifferenceDetails(Grouped):
    """The answer to a question in the first of two groups, less that in the second."""

    kind: ClassVar[str] = "difference"

    of: Details
    across: str
    between: tuple[Label, Label]

    def __post_init__(self) -> None:
        if self.of.kind not in COMPARED:
            raise ParameterError(f"a difference is one of {', '.join(COMPARED)}; a {self.of.kind} has none")
        arguments.text("across", self.across)
        groups = tuple(plain_constant(one, "between") for one in arguments.several("between", self.between))
        if len(groups) != 2 or groups[0] == groups[1]:
            raise ParameterError(f'between names two categories of {self.across!r}, as in between=("F", "M")')
        object.__setattr__(self, "between", groups)

    def subject(self) -> str:
        """What is asked."""
        one, other = self.between
        return f"difference of {self.of.subject()} between {self.across} {one} and {other}"

    def to_record(self) -> dict[str, Any]:
        """Plain values."""
        inner = {"query": self.of.kind, **self.of.to_record()}
        return {"of": inner, "across": self.across, "between": list(self.between)}

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> DifferenceDetails:
        """What `to_record`, or a plan, describes."""
        known_parts(cls.kind, record, "of", "across", "between")
        inner = record.get("of")
        if not isinstance(inner, Mapping):
            raise SchemaError('of is the question that is compared, as in { query = "mean", column = "income" }')
        asked = Query.from_record(inner)
        _must_be_plain(asked)
        if asked.limits is not None:
            raise ParameterError("put per_person on the difference itself, not on the question that is compared")
        return cls(asked.details, record.get("across", ""), arguments.several("between", record.get("between", ())))

    def over(self, query: Query, schema: Schema, cells: Cells) -> Difference:
        """One for each cell."""
        labels = schema.space(self.across).labels
        if labels is None:
            raise UnsupportedQuery(f"across must be a column of categories; {self.across!r} has none declared")
        for group in self.between:
            if group not in labels:
                raise SchemaError(
                    f"{group!r} is not a declared category of column {self.across!r}; declared are "
                    f"{', '.join(map(repr, labels[:10]))}"
                )
        if self.across in {key.column for key in cells.keys}:
            raise SchemaError(f"the groups of {self.across!r} are compared, so it cannot be a key of by as well")
        split = Cells((*cells.keys, Key(self.across, self.between)))
        assert isinstance(self.of, Grouped)
        inner = self.of.over(replace(query, details=self.of), schema, split)
        assert isinstance(inner, VectorQuestion)
        return (TotalDifference if isinstance(inner, Counts | Total) else Difference)(query, schema, cells, inner)


def _must_be_plain(asked: Query) -> None:
    if asked.keys or asked.condition is not None:
        raise ParameterError(
            "a difference compares a whole question; put by(...) and where(...) on the difference itself"
        )


@dataclass(frozen=True)
class Difference(VectorQuestion):
    """The difference of two groups over each cell; `inner` asks for both groups of each."""

    inner: VectorQuestion

    @property
    def of_means(self) -> bool:
        """Whether the two answers are means or shares."""
        return isinstance(self.inner, Mean)

    @property
    def coordinates(self) -> int:
        """Those of both groups."""
        return 2 * self.inner.coordinates

    @property
    def body(self) -> Contribution:
        """A row adds to one of the groups what it adds to the inner question."""
        return self.inner.body

    def sensitivity(self, norm: str) -> float:
        """That of both groups of each cell, in as many of which a person may count as its limits say."""
        return self.inner.sensitivity(norm)

    @property
    def measures(self) -> tuple[Measure, ...]:
        """What the engine computes for each group."""
        return self.inner.measures

    @property
    def statistic(self) -> Aggregation:
        """What the engine is asked."""
        return self.inner.statistic

    @property
    def measure(self) -> str:
        """What the numbers are."""
        return self.query.details.subject()

    @property
    def shown_in(self) -> Units | None:
        """A difference of dates is no date."""
        return None

    @property
    def span(self) -> tuple[float, float] | None:
        """From the least answer of one group less the largest of the other, to the contrary."""
        if isinstance(self.inner, Mean):
            worth = self.inner.lattice.value(self.inner.lattice.width)
            return -worth, worth
        ends = self.inner.span
        return None if ends is None else (ends[0] - ends[1], ends[1] - ends[0])

    def vector(self, totals: Whole) -> Whole:
        """What the inner question releases."""
        return self.inner.vector(totals)

    def estimate(self, noisy: Whole) -> Floats:
        """The first group's estimate less the second's."""
        one, other = _by_group(self.inner.estimate(noisy))
        return one - other

    def interval(self, noisy: Whole, noise: Noise, beta: float) -> Bounds:
        """The two intervals together; of means and shares a narrower one."""
        if isinstance(self.inner, Mean):
            return _of_means(self.inner, noisy, noise, beta)
        low, high = (_by_group(end) for end in self.inner.interval(noisy, noise, beta / 2))
        return low[0] - high[1], high[0] - low[1]

    def preview(self, noise: Noise, beta: float) -> float | None:
        """The half-width of two groups, each as the inner question's preview says."""
        group = self.inner.typical()
        if group is None:
            return None
        low, high = self.interval(np.concatenate([group, group]), noise, beta)
        return float(high[0] - low[0]) / 2

    @property
    def case(self) -> tuple[str, ...]:
        """That of the inner question."""
        return self.inner.case

    @property
    def supposed_rows(self) -> int | None:
        """The rows of each of the two groups."""
        return self.inner.supposed_rows

    @property
    def selection(self) -> str:
        """Rows are in one of the two groups, or in none."""
        return GROUPS

    def with_rows(self, rows: int) -> Self:
        """The same question about a table in which each group has so many rows."""
        inner = self.inner.with_rows(rows)
        return replace(self, schema=inner.schema, inner=inner)


class TotalDifference(Difference):
    """The difference of counts or sums: one number, which a row moves one way or the other."""

    coordinates = 1

    @property
    def reach(self) -> int:
        """The most that a row adds or takes off."""
        return int(self.inner.body.alone("linf"))

    @property
    def body(self) -> Segment:
        """A row of the first group adds, one of the second takes off."""
        return Segment(-self.reach, self.reach)

    def sensitivity(self, norm: str) -> float:
        """One number a row; of a person who counts in several groups, of which two may be those of one number."""
        unit, reach = self.schema.unit, self.reach
        if not isinstance(unit, Person) or unit.groups is None:
            return VectorQuestion.sensitivity(self, norm)
        body = self.inner.body
        both = body.high - body.low if isinstance(body, Segment) else reach  # what is added less what is taken off
        alone = unit.rows * _spread(norm, min(unit.groups, 2 * self.cells.count), self.cells.count, reach, both)
        return ceil_float(alone * (2 if isinstance(self.schema.adjacency, Replace) else 1))

    @property
    def is_total(self) -> bool:
        """Equal groups differ by nothing."""
        return True

    def vector(self, totals: Whole) -> Whole:
        """The first group's total less the second's."""
        pairs = np.asarray(self.inner.vector(totals), dtype=object).reshape(-1, 2)
        return np.asarray(pairs[:, 0] - pairs[:, 1], dtype=object)

    def estimate(self, noisy: Whole) -> Floats:
        """In the units of the inner question."""
        return self.inner.estimate(noisy)

    def interval(self, noisy: Whole, noise: Noise, beta: float) -> Bounds:
        """The noise's quantile on both sides."""
        margin, found = noise.quantile(beta), np.asarray(noisy, dtype=object)
        return self.inner.estimate(found - margin), self.inner.estimate(found + margin)

    def preview(self, noise: Noise, beta: float) -> float | None:
        """The noise's quantile in the units of the inner question."""
        return self.inner.preview(noise, beta)

    @property
    def supposed_rows(self) -> None:
        """The number of rows does not matter."""
        return

    @property
    def case(self) -> tuple[str, ...]:
        """All tables."""
        return ()


def _spread(norm: str, groups: int, cells: int, reach: int, both: int) -> Fraction:
    """The norm of so many groups in cells of two: `both` in a cell whose two are taken, `reach` where one is.

    With k cells taken twice and s once, 2 k + s <= groups and k + s <= cells: sums are largest in a corner.
    """
    found = []
    for twice in {0, max(0, groups - cells), min(groups // 2, cells)}:
        once = min(groups - 2 * twice, cells - twice)
        moved = [(twice, both), (once, reach)]
        if norm == "linf":
            found.append(Fraction(max(length for times, length in moved if times)))
        elif norm == "l1":
            found.append(Fraction(sum(times * length for times, length in moved)))
        else:
            squares = sum(times * length**2 for times, length in moved)
            found.append(Fraction(round_up(math.sqrt(ceil_float(Fraction(squares))))))
    return max(found)


def _by_group(values: Floats) -> tuple[Floats, Floats]:
    return values[0::2], values[1::2]


def _of_means(inner: Mean, noisy: Whole, noise: Noise, beta: float) -> Bounds:
    """Of differences of means, which have two noisy numbers a group."""
    pairs = np.asarray(noisy, dtype=np.float64).reshape(-1, 2)
    share = ELSEWHERE * beta / 4
    total = pairs.sum(axis=1)
    apart = float(weighted_quantile(np.ones((1, 2)), noise, share)[0])
    low, high = ratio_interval(pairs[:, 0], pairs[:, 1], noise, share)
    decided = total > 2 * apart  # so that the true total is at least half of the noisy one
    least, safe = np.where(decided, total - apart, 1.0), np.where(decided, total, 1.0)
    place = np.where(decided, pairs[:, 0] / safe, (low + high) / 2)
    second = apart / least * np.maximum(place - low, high - place)
    sizes = np.stack([(1 - low) / least, high / least], axis=1).reshape(-1, 4)
    first = weighted_quantile(sizes, noise, (1 - ELSEWHERE) * beta)
    both = decided[0::2] & decided[1::2]
    half = np.where(both, first + second[0::2] + second[1::2], 1.0)
    middle = _by_group(place)[0] - _by_group(place)[1]
    ends = _by_group(low), _by_group(high)
    bottom, top = ends[0][0] - ends[1][1], ends[1][0] - ends[0][1]
    worth = inner.lattice.value(inner.lattice.width)
    return np.maximum(bottom, np.minimum(middle - half, top)) * worth, np.minimum(
        top, np.maximum(middle + half, bottom)
    ) * worth


def difference(of: Query, *, across: str, between: Sequence[Label]) -> Query:
    """The answer in the first of two groups less that in the second: `between` names two categories of `across`.

    >>> from sfumato.queries import mean
    >>> difference(mean("income"), across="sex", between=("F", "M")).by("state").name
    'difference of mean of income between sex F and M by state'
    """
    arguments.instance("of", of, Query, "a question such as mean(...)")
    _must_be_plain(of)
    compared = arguments.several("between", between)
    return Query(DifferenceDetails(of.details, across, compared), limits=of.limits)
