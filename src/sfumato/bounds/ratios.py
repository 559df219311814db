r"""Means, shares and variances over a private number of rows: what no mechanism can beat.

Put N rows at the lower end of the range and one unit after another at the upper end, each with all of its m rows.
With t of them and x = m t / N the mean's place in the range is x / (1 + x), the variance's x / (1 + x)^2 of the
squared range; where units are replaced, rows at the lower end are exchanged for rows at the upper one, and the places
are x and x (1 - x).  Standard deviations are the roots of variances.  Along t = 0..K neighboring tables are one unit
apart, so the least worst mean square of a chain with these answers (`bounds/line`) bounds the worst table of N to N +
m K rows.  Groups have chains of their own, drawn independently, so mean squares add.  The bound falls as N grows: of a
noisy number of rows the upper limit is taken, and error and bound are stated for that one N.
Proof: docs/proofs/bounds-ratios.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Protocol

import numpy as np
import numpy.typing as npt

from sfumato.answers.certificate import Certificate, NoBoundKnown, certified
from sfumato.bounds.line import least_of_answers, least_on_chain, least_variance, words
from sfumato.bounds.reachability import most_rows, obstacle
from sfumato.privacy.adjacency import Replace
from sfumato.privacy.guarantees import Guarantee
from sfumato.queries.mean import Mean
from sfumato.queries.ratio_error import (
    deviation_place_mean_square,
    mean_place_mean_square,
    variance_place_mean_square,
)
from sfumato.queries.vector import Noise, VectorQuestion, Whole

__all__ = [
    "MEASURE", "NAME", "PLACES", "Claiming", "Place", "Terms", "certify_deviation", "certify_mean", "certify_ratio",
    "certify_variance",
    "least_place", "rounded_down", "tables_of", "terms_of",
]  # fmt: skip

MEASURE = "root mean square error"
NAME = "least error along a chain of tables"
MISSED = 0.05  # the chance that the true number of rows lies above the upper limit
LONGEST = 128  # steps of a chain; longer ones take several units in a step
WIDEST = 50.0  # deviations of the least noise that a chain spans at most
BALANCE = 60.0  # between a long chain, which is hard, and a short one, on which the slope hardly falls
STEEP = 3.0  # deviations that a chain spans whose slope falls from infinity
MOST_SIZES = 4  # groups of more sizes than these share the chains of sizes with one digit


class Claiming(Protocol):
    """A mechanism with noise of one law on each number."""

    @property
    def noise(self) -> Noise: ...


@dataclass(frozen=True, slots=True)
class Place:
    """The answer as a function of x, rows moved over rows at the lower end, whose slope falls until `turn`."""

    at: Callable[[float], float]
    bend: float  # how fast the slope falls from its 1 at 0; infinitely fast where it is infinite there
    turn: float  # how far a chain may go


PLACES = {  # by kind, and whether units are replaced
    ("mean", False): Place(lambda x: x / (1 + x), 2.0, 4.0),
    ("mean", True): Place(lambda x: x, 0.0, 1.0),
    ("variance", False): Place(lambda x: x / (1 + x) ** 2, 4.0, 1.0),
    ("variance", True): Place(lambda x: x * (1 - x), 2.0, 0.5),
    ("std", False): Place(lambda x: math.sqrt(x) / (1 + x), math.inf, 1.0),
    ("std", True): Place(lambda x: math.sqrt(x * max(0.0, 1 - x)), math.inf, 0.5),
}


def certify_mean(
    question: Mean, mechanism: Claiming, claim: Guarantee, output: Whole | None
) -> Certificate | NoBoundKnown:
    """The certificate of means over private numbers of rows; of weighted ones, on rows of the largest weight."""
    return certify_ratio(
        "mean", question, mechanism, claim, output, mean_place_mean_square, 1, question.weights is not None
    )


def certify_variance(
    question: VectorQuestion, mechanism: Claiming, claim: Guarantee, output: Whole | None
) -> Certificate | NoBoundKnown:
    """The certificate of variances."""
    return certify_ratio("variance", question, mechanism, claim, output, variance_place_mean_square, 2)


def certify_deviation(
    question: VectorQuestion, mechanism: Claiming, claim: Guarantee, output: Whole | None
) -> Certificate | NoBoundKnown:
    """The certificate of standard deviations."""
    return certify_ratio("std", question, mechanism, claim, output, deviation_place_mean_square, 1)


@lru_cache(maxsize=4096)  # a service is asked at many spends
def least_place(claim: Guarantee, units: float, kind: str, replaced: bool) -> float:
    """The least worst mean square of the place, where rows of `units` units lie at the lower end; 0: nothing is known.

    >>> from sfumato.privacy.guarantees import Pure
    >>> round(10_000 * math.sqrt(least_place(Pure(1.0), 10_000.0, "mean", False)), 2)
    1.34
    """
    steps, each = _chain(claim, units, kind, replaced)
    if not steps:
        return 0.0
    place, joint = PLACES[kind, replaced], claim.group(each)
    answers = np.array([units * place.at(each * t / units) for t in range(steps + 2)])
    least = max(least_of_answers(joint, answers[:-1].tolist()), _by_slopes(joint, answers))
    return least / units**2 * (1 - 1e-9)


def _by_slopes(claim: Guarantee, answers: npt.NDArray[np.float64]) -> float:
    """What follows from a chain of counts: an answer errs by no less than the slope from its table to the end.

    The last answer lies beyond the chain, for the slope at its end.
    """
    steps = len(answers) - 2
    chain = least_on_chain(claim, steps)
    slopes = (answers[-2] - answers[:-1]) / np.maximum(steps - np.arange(steps + 1), 1)
    slopes[-1] = answers[-1] - answers[-2]
    if slopes.min() <= 0:
        return 0.0
    drawn = np.arange(len(chain.prior)) * chain.step
    return chain.mean_square / float((np.asarray(chain.prior) / slopes[drawn] ** 2).sum())


def _chain(claim: Guarantee, units: float, kind: str, replaced: bool) -> tuple[int, int]:
    """How many steps a chain has, and units in each: enough to be hard, few enough that the slope has hardly fallen."""
    place, variance = PLACES[kind, replaced], least_variance(claim)
    if variance <= 0 or units * place.turn < 1:
        return 0, 1
    best = STEEP * math.sqrt(variance)
    if place.bend < math.inf:
        best = math.cbrt(BALANCE * variance * units / place.bend) if place.bend else math.inf
    far = min(max(2.0, best), max(4.0, WIDEST * math.sqrt(variance)), units * place.turn)
    each = max(1, math.ceil(far / LONGEST))
    return max(1, math.floor(far / each)), each


@dataclass(frozen=True, slots=True)
class Terms:
    """For each cell a number of rows, the mean square of its place that is achieved, and the least; rows besides."""

    sizes: list[int]
    achieved: list[float]
    least: list[float]
    more: int


def terms_of(
    kind: str, question: VectorQuestion, mechanism: Claiming, claim: Guarantee, output: Whole | None,
    error: Callable[[Noise, float], float],
) -> Terms | NoBoundKnown:  # fmt: skip
    """What is achieved in each cell, and what is possible."""
    sizes = _sizes(question, mechanism.noise, output)
    if not sizes:
        return NoBoundKnown("it depends on the number of rows; declare size= to preview it")
    if sum(sizes) > most_rows(question.schema):
        return NoBoundKnown("the groups would need more rows than the declared size has")
    rows = question.schema.unit.rows
    replaced = isinstance(question.schema.adjacency, Replace)
    digits = 2 if len(set(sizes)) <= MOST_SIZES else 1
    found, more = {}, 0
    for size in set(sizes):
        units = rounded_down(size / rows, digits)
        achieved = error(mechanism.noise, float(_per_row(question) * size))
        found[size] = achieved, least_place(claim, units, kind, replaced) * (units * rows / size) ** 2
        steps, each = _chain(claim, units, kind, replaced)
        more = max(more, 0 if replaced else steps * each * rows)
    return Terms(sizes, [found[size][0] for size in sizes], [found[size][1] for size in sizes], more)


def certify_ratio(
    kind: str, question: VectorQuestion, mechanism: Claiming, claim: Guarantee, output: Whole | None,
    error: Callable[[Noise, float], float], power: int, weighted: bool = False, part: str = "group",
) -> Certificate | NoBoundKnown:  # fmt: skip
    found = obstacle(question)
    if found is not None:
        return NoBoundKnown(found)
    terms = terms_of(kind, question, mechanism, claim, output, error)
    if isinstance(terms, NoBoundKnown):
        return terms
    worth = question.lattice.value(question.lattice.width) ** power / math.sqrt(len(terms.sizes))
    heavy = " of the largest weight" if weighted else ""
    worst = tables_of(terms, most_rows(question.schema) < math.inf, heavy, part)
    achieved, least = worth * math.sqrt(sum(terms.achieved)), worth * math.sqrt(sum(terms.least))
    return certified(achieved, least, MEASURE, NAME, words(claim), worst)


def _per_row(question: VectorQuestion) -> int:
    """What the numbers of a row add up to."""
    return question.coordinate_sensitivity() // question.schema.unit.rows


def _sizes(question: VectorQuestion, noise: Noise, output: Whole | None) -> list[int]:
    """A number of rows for each cell: the upper limit of the noisy one, or the declared size in equal shares."""
    cells, k, declared = question.cells.count, question.coordinates, question.schema.size
    if output is None:
        return [] if declared is None else [max(1, declared // max(1, cells))] * cells
    totals = np.asarray(output, dtype=np.float64).reshape(-1, k).sum(axis=1) + k * noise.quantile(MISSED / k)
    limits = np.maximum(1, np.ceil(totals / _per_row(question)))
    room = most_rows(question.schema)  # of all cells together: where limits add up to more, each has its share of it
    return [int(limit) for limit in np.maximum(1, np.floor(limits * min(1.0, room / limits.sum())))]


def rounded_down(units: float, digits: int) -> float:
    """A number of units with few digits, at most the given one.

    >>> rounded_down(1234.0, 2), rounded_down(1234.0, 1), rounded_down(3.5, 1)
    (1200.0, 1000.0, 3.5)
    """
    unit = 10.0 ** (math.floor(math.log10(units)) + 1 - digits)
    return units if units < 10 else math.floor(units / unit) * unit


def tables_of(terms: Terms, full: bool, heavy: str = "", part: str = "group") -> str:
    """The tables whose worst is meant; `part` says what has a number of rows of its own."""
    sizes, more = terms.sizes, terms.more
    least, most = min(sizes), max(sizes)
    if len(sizes) == 1:
        return f"table of {most:,}{f' to {most + more:,}' if more else ''} rows{heavy}"
    besides = f", or up to {more:,} more" if more else ""
    if least == most:
        return f"table with {most:,} rows{heavy} in each {part}{besides}"
    shared = ", as far as its rows go," if full else ""
    return (
        f"table with the upper limits of its noisy counts{shared} in its {part}s "
        f"({least:,} to {most:,} rows{heavy}{besides})"
    )
