r"""Which bound speaks about counts, sums, and means over a public number of rows.

Add or remove: rows at the far end of the range make each number a count in steps of s, so that its mean square is at
least s^2 V.  If a unit can change it by every whole number up to s and the claim is pure, the best discrete staircase
less 1/4 is a second bound.  Replaced units move a number by the width of its range, or one up and another down: the
bound is that of `bounds/linear.py` for as many units as were declared.  Proof: docs/proofs/bounds-numbers.md.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Protocol

import numpy as np

from sfumato.answers.certificate import Certificate, NoBoundKnown
from sfumato.bounds.exchanges import families_of_cells
from sfumato.bounds.line import least_variance
from sfumato.bounds.linear import Least, among, best_family
from sfumato.bounds.reachability import obstacle, takes_every_row
from sfumato.bounds.staircase import integer_sum_mean_square
from sfumato.privacy.adjacency import Person, Replace
from sfumato.privacy.guarantees import Guarantee
from sfumato.queries.counts import Counts
from sfumato.queries.difference import TotalDifference
from sfumato.queries.mean import Mean
from sfumato.queries.smooth import SCALE, whole_values
from sfumato.queries.smooth_mean import SmoothMean
from sfumato.queries.total import Total
from sfumato.queries.vector import Noise, VectorQuestion
from sfumato.spaces.schema import Schema

__all__ = [
    "IN_BOTH", "certify_counts", "certify_public_mean", "certify_smooth_mean", "certify_total",
    "certify_total_difference", "groups_of", "least_of_numbers",
]  # fmt: skip


IN_BOTH = "a person may count in both groups of a difference"
SAMPLED = 9  # places a side where a function is looked at


class Noised(Protocol):
    """A mechanism that adds noise of one law to each number."""

    @property
    def noise(self) -> Noise: ...


def certify_counts(question: Counts, mechanism: Noised, claim: Guarantee) -> Certificate | NoBoundKnown:
    """Of counts and histograms: a row adds one."""
    return _certify(question, mechanism, claim, 1, 1, 1.0)


def certify_total(question: Total, mechanism: Noised, claim: Guarantee) -> Certificate | NoBoundKnown:
    """Of sums: a row adds its value, or a weight times it, which leaves gaps."""
    return _certify(
        question, mechanism, claim, *question.ends, question.lattice.value(1) * question.step, question.dense
    )


def certify_total_difference(
    question: TotalDifference, mechanism: Noised, claim: Guarantee
) -> Certificate | NoBoundKnown:
    """Of differences of counts or sums: a row adds its value, or takes it off."""
    if groups_of(question.schema) > 1:
        return NoBoundKnown(IN_BOTH)
    (worth,) = question.inner.estimate(np.array([1], dtype=object))
    return _certify(question, mechanism, claim, -question.reach, question.reach, float(worth), question.inner.dense)


def certify_public_mean(question: Mean, mechanism: Noised, claim: Guarantee) -> Certificate | NoBoundKnown:
    """Of a mean over a public number of rows, which is a sum counted from the lower bound."""
    return _certify(
        question, mechanism, claim, 0, question.lattice.width, question.lattice.value(1) / (question.rows or 1)
    )


def certify_smooth_mean(question: SmoothMean, mechanism: Noised, claim: Guarantee) -> Certificate | NoBoundKnown:
    """Of the mean of a smooth function over a public number of rows: from its values at some rows."""
    size = question.rows
    if size is None:
        return NoBoundKnown("the mean of a function over a private number of rows is a ratio")
    places = [np.unique(np.linspace(0, axis.cells - 1, SAMPLED).round().astype(np.int64)) for axis in question.axes]
    cells = np.stack([part.ravel() for part in np.meshgrid(*places, indexing="ij")], axis=1)
    values = np.clip(whole_values(question.function, question.axes, cells), *question.ends)
    least = best_family(families_of_cells(1, float(values.max() - values.min()), 0.0, size), claim, size)
    found = Least(least, "least variance of a count, along replacements", among(claim, size))
    return found.certificate(mechanism.noise.variance, worth=1 / (SCALE * size))


def _certify(
    question: VectorQuestion,
    mechanism: Noised,
    claim: Guarantee,
    low: int,
    high: int,
    worth: float,
    single: bool = True,
) -> Certificate | NoBoundKnown:
    """A row adds low..high units, each `worth` that much."""
    if question.dimension == 0 or question.sensitivity("linf") == 0:
        return NoBoundKnown("the answer is public, its error is zero")
    found = obstacle(question)
    if found is not None:
        return NoBoundKnown(found)
    least = least_of_numbers(question, claim, low, high, single)
    return least.certificate(mechanism.noise.variance, question.dimension, worth)


def least_of_numbers(question: VectorQuestion, claim: Guarantee, low: int, high: int, single: bool = True) -> Least:
    """The least mean square of all numbers together, where a row adds low..high to one of them, or nothing.

    `single`: whether values of one step can be added up; of a person's total that is the column's to say.
    """
    rows, cells, reach = question.schema.unit.rows, question.dimension, max(-low, high)
    if isinstance(question.schema.adjacency, Replace):
        absent = question.schema.fixed_size is None or not takes_every_row(question)
        width = max(high, 0) - min(low, 0) if absent else high - low
        units = question.schema.size
        families = families_of_cells(cells, float(rows * width), float(rows * reach) if cells > 1 else 0.0, units)
        least = best_family(families, claim, units)
        return Least(least, "least variance of a count, along replacements", among(claim, units))
    moved, named = rows * reach, "least variance of a count"
    least = float(moved) ** 2 * least_variance(claim)
    if moved > 1 and single and low <= 1 and high >= -1 and 0 < claim.pure_epsilon < math.inf:
        stairs = integer_sum_mean_square(moved, claim.pure_epsilon) - 0.25
        least, named = max((least, named), (stairs, "discrete staircase less 1/4"))
    groups = groups_of(question.schema)
    if groups > 1:
        several = squared_norm_of_groups(cells, groups) * float(moved) ** 2 * least_variance(claim)
        return Least(*max((cells * least, named), (several, "least variance of a count, in several groups")),
                     among(claim, None))  # fmt: skip
    return Least(cells * least, named, among(claim, None))


def groups_of(schema: Schema) -> int:
    """In how many cells at once a unit may count; one where they may be attributes, of which a person has one each."""
    return 1 if schema.people or not isinstance(schema.unit, Person) else schema.unit.groups or 1


@lru_cache(maxsize=256)
def squared_norm_of_groups(cells: int, groups: int) -> float:
    """gamma^2 of the moves by one in up to `groups` of the cells, from below: any k of them, equally often.

    >>> round(squared_norm_of_groups(20, 1), 6), round(squared_norm_of_groups(20, 3), 2)
    (20.0, 58.24)
    """
    k = np.unique(np.geomspace(1, min(groups, cells), 200).round())
    others = (cells - 1) * np.sqrt(k * (cells - k) / (cells * max(cells - 1, 1)))
    return float(((k / math.sqrt(cells) + others) ** 2).max()) * (1 - 1e-9)
