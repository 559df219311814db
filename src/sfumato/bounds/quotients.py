r"""Ratios of two sums, and differences of means and shares: what no mechanism can beat.

Ratios: rows with numerator a and denominator b add up to a / b; with B the sum of their denominators, t units of m rows
each with numerator a' and the largest denominator d move it to a / b + (a' / d - a / b) x / (1 + x), x = m t d / B: the
chain of a mean over B / d rows (`bounds/ratios.py`).  Where units are replaced, b = d and rows are exchanged.
Differences: with the second group fixed, the first is a mean, so no difference is better than its harder group.
Proof: docs/proofs/bounds-quotients.md.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from fractions import Fraction

from sfumato.answers.certificate import Certificate, NoBoundKnown, certified
from sfumato.bounds.line import words
from sfumato.bounds.numbers import IN_BOTH, groups_of
from sfumato.bounds.ratios import MEASURE, NAME, Claiming, least_place, rounded_down, tables_of, terms_of
from sfumato.bounds.reachability import most_rows, obstacle, undecided
from sfumato.privacy.adjacency import Replace
from sfumato.privacy.guarantees import Guarantee
from sfumato.queries.difference import Difference
from sfumato.queries.quotient import Quotient
from sfumato.queries.ratio_error import mean_place_mean_square, quotient_mean_square
from sfumato.queries.vector import Noise, Whole

__all__ = ["certify_difference", "certify_quotient"]

MISSED = 0.05  # the chance that the true sum of denominators lies above the upper limit


def certify_difference(
    question: Difference, mechanism: Claiming, claim: Guarantee, output: Whole | None
) -> Certificate | NoBoundKnown:
    """The certificate of differences of means and shares."""
    inner = question.inner
    if groups_of(question.schema) > 1:
        return NoBoundKnown(IN_BOTH)
    if not question.of_means:
        return NoBoundKnown(f"none is proven here for differences of a {inner.query.kind}")
    found = obstacle(question)
    if found is None and inner.judged is not None:
        found = undecided(inner.judged, inner.schema)
    if found is not None:
        return NoBoundKnown(found)
    terms = terms_of("mean", inner, mechanism, claim, output, mean_place_mean_square)
    if isinstance(terms, NoBoundKnown):
        return terms
    roots = [math.sqrt(one) for one in terms.achieved]
    achieved = sum((one + other) ** 2 for one, other in zip(roots[0::2], roots[1::2], strict=True))
    least = sum(max(pair) for pair in zip(terms.least[0::2], terms.least[1::2], strict=True))
    worth = inner.lattice.value(inner.lattice.width) / math.sqrt(max(1, question.cells.count))
    heavy = " of the largest weight" if inner.weights is not None else ""
    worst = tables_of(terms, most_rows(question.schema) < math.inf, heavy)
    return certified(worth * math.sqrt(achieved), worth * math.sqrt(least), MEASURE, NAME, words(claim), worst)


def certify_quotient(
    question: Quotient, mechanism: Claiming, claim: Guarantee, output: Whole | None
) -> Certificate | NoBoundKnown:
    """The certificate of ratios of two sums: of all cells together at one sum of denominators, the largest."""
    found = obstacle(question)
    if found is not None:
        return NoBoundKnown(found)
    total = _largest(question, mechanism, output)
    if total is None:
        return NoBoundKnown("it depends on the number of rows; declare size= to preview it")
    replaced = isinstance(question.schema.adjacency, Replace)
    room = most_rows(question.schema) / max(1, question.cells.count)
    chains = [
        _achieved(question, mechanism.noise, one) for one in _moves(question, total, replaced) if one.rows <= room
    ]
    if not chains:
        return NoBoundKnown("no two kinds of rows have ratios within the bounds, or there are too few rows")
    chain, achieved = max(chains, key=lambda one: one[0].move ** 2 / (one[0].total ** 2 * one[1]))
    units = chain.total / (question.below.high * question.schema.unit.rows)
    few = rounded_down(units, 2)
    least = chain.move**2 * least_place(claim, few, "mean", replaced) * (few / units) ** 2
    groups = " in each group" if question.cells.count > 1 else ""
    added = chain.total * float(question.below.step)
    worst = f"table whose {question.query.measured[1]} adds up to {added:,.6g} or more{groups}"
    return certified(math.sqrt(achieved), math.sqrt(least), MEASURE, NAME, words(claim), worst)


@dataclass(frozen=True, slots=True)
class Start:
    """So many rows of one denominator, and how far rows of the largest one move their ratio."""

    rows: int
    denominator: int
    move: float

    @property
    def total(self) -> int:
        """What the denominators add up to, in steps."""
        return self.rows * self.denominator


def _achieved(question: Quotient, noise: Noise, start: Start) -> tuple[Start, float]:
    """The mean square on tables of such a sum of denominators."""
    low, high = question.bounds
    added = start.total * float(question.below.step)
    return start, quotient_mean_square(noise, added, question.worth, max(abs(low), abs(high)), high - low)


def _largest(question: Quotient, mechanism: Claiming, output: Whole | None) -> float | None:
    """The largest sum of denominators of a cell, in steps: an upper limit of the noisy ones, or from the size."""
    w = question.multiples[1]
    if output is None:
        size = question.schema.size
        return None if size is None else max(1, size // max(1, question.cells.count)) * float(question.below.high)
    limit = mechanism.noise.quantile(MISSED)
    return max(float(question.below.high), *((float(noisy) + limit) / w for noisy in output[1::2]))


def _moves(question: Quotient, total: float, replaced: bool) -> list[Start]:
    """Tables of one kind of row whose denominators add up to about `total`, and ratios within the bounds."""
    above, below = question.above, question.below
    step = Fraction(above.step) / below.step
    low, high = (Fraction(end) for end in question.bounds)

    def within(a: int, b: int) -> bool:
        return b > 0 and low <= step * a / b <= high

    ends = {above.low, above.high}
    for bound in (low, high):  # numerators that just stay within the bounds at the largest denominator
        ends |= {math.floor(bound * below.high / step), math.ceil(bound * below.high / step)}
    moved = [a for a in ends if above.low <= a <= above.high and within(a, below.high)]
    starts = {(a, below.high) for a in moved}
    for a, bound in itertools.product((above.low, above.high), (low, high)):
        if not replaced and bound != 0:  # denominators at which a row just stays within the bounds
            starts |= {(a, b) for b in (math.floor(step * a / bound), math.ceil(step * a / bound))}
            starts |= {(a, max(1, below.low))}
    found = []
    for a, b in starts:
        if max(1, below.low) <= b <= below.high and within(a, b):
            far = max((abs(step * a / b - step * other / below.high) for other in moved), default=Fraction(0))
            if far > 0:
                found.append(Start(max(1, math.floor(total / b)), b, float(far) * (1 - 1e-12)))
    return found
