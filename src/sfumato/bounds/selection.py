r"""What no private choice can beat: popular items by their lead, quantiles by rank, with a stated probability.

From one common table every candidate can be made the only good answer by the same number of units.  There the
probabilities of being chosen average at most 1 / (number of candidates), and each unit raises that average by no more
than `bounds.climb` says: until it has reached the level, some table is answered badly too often.

Popular items: a set of k of D items leads by t after some units, so any other choice loses t or more.  Quantiles: s
rows share an interior value v with p n - s/2 below and (1-p) n - s/2 above, so every other point is off by s/2.
Proof: docs/proofs/bounds-selection.md.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Protocol

from sfumato.answers.certificate import Certificate, NoBoundKnown, certified
from sfumato.bounds.climb import among, least_steps
from sfumato.bounds.reachability import obstacle, public_units
from sfumato.privacy.adjacency import Replace
from sfumato.privacy.guarantees import Guarantee
from sfumato.queries.popular import Popular
from sfumato.queries.quantiles import Quantiles

__all__ = ["certify_popular", "certify_quantiles", "least_lead", "least_rank_error"]

BETA = 0.05
NAME = "climbing from a table without a best answer"
CROWDED = NoBoundKnown("with ties the error of several quantiles depends on them, and rows of this size must be tied")
HALF = Fraction(1, 2)  # of a rank: a smaller bound says nothing
FEW = NoBoundKnown("the declared size is too small for the tables that the bound compares")


class Choosing(Protocol):
    """A mechanism that chooses, and bounds its loss."""

    def error(self, beta: float = 0.05) -> float: ...


def certify_popular(question: Popular, mechanism: Choosing, claim: Guarantee) -> Certificate | NoBoundKnown:
    """By the lead from which the best items are chosen with probability 95 %."""
    many, k = len(question.items), question.k
    found = obstacle(question)
    if found is not None or not question.cells.count:
        return NoBoundKnown(found or "there is no cell")
    if k == many:
        return NoBoundKnown("every item is chosen, and only their order is asked for")
    lead = least_lead(question, claim)
    if lead is None:
        return FEW
    return certified(
        math.floor(mechanism.error(BETA)) + 1, lead,
        "lead from which the most popular are chosen with probability 0.95", NAME, among(claim),
    )  # fmt: skip


def least_lead(question: Popular, claim: Guarantee) -> int | None:
    """The largest over j of what j unknown items must lead by, where k - j others lead already; None if rows are few.

    The claim does not let fewer than `steps` units tell which j do.
    """
    many, k = len(question.items), question.k
    found = [0]
    for j in range(1, k + 1):
        steps = least_steps(claim, 1 / math.comb(many - k + j, j), 1 - BETA)
        if steps is not None:
            found.append(_lead(question, j, steps - 1))
    return max(found) + 1 if max(found) else None


def _lead(question: Popular, j: int, units: int) -> int:
    """How far `units` units can make j items lead, where the k - j others do; 0 where the size does not allow it."""
    many, k, schema = len(question.items), question.k, question.schema
    held, size = schema.space(question.details.column).most_items, public_units(schema)
    lead = units * schema.unit.rows * min(held, j) // j
    if isinstance(schema.adjacency, Replace) and held == 1:  # the rows that join leave the other items
        lost = units * schema.unit.rows // (many - k)
        if schema.fixed_size is None:
            reserved = math.comb(many - k + j, j) * units + 1  # persons with the rows that leave, for each set
            if size is None or size >= (1 + many + k - j) * reserved + (k - j) * (lead + lost):
                return lead + lost
        else:
            lead += lost
            if j == k and schema.fixed_size % many:
                lead -= 1  # a row too many somewhere; where j < k, the leading items hold such rows
            return lead if schema.fixed_size >= many * (lost + 1) + (k - j) * lead else 0
    return lead if size is None or size >= units + (k - j) * lead else 0


def certify_quantiles(question: Quantiles, mechanism: Choosing, claim: Guarantee) -> Certificate | NoBoundKnown:
    """By the rank error that is reached with probability 5 %, in the smallest steps that rank errors have."""
    found = obstacle(question)
    if found is not None or not question.cells.count:
        return NoBoundKnown(found or "there is no cell")
    single = len(question.probabilities) == 1
    least = max(least_rank_error(question, claim, p) for p in question.probabilities)
    if least < HALF:
        return FEW if single else CROWDED
    achieved = math.ceil(Fraction(mechanism.error(BETA)) / _step(question)) * _step(question)
    measure = "rank error that is reached with probability 0.05"
    return certified(
        float(achieved), float(least), measure, NAME, among(claim), "table" if single else "table without ties"
    )


def least_rank_error(question: Quantiles, claim: Guarantee, p: Fraction) -> Fraction:
    """The least rank error that a mechanism may reach with probability 5 % at most on every table; 0 if none is known.

    One quantile: rows share a value.  Several: they have values of their own, next to one another, in disjoint blocks.
    """
    points, rows, size = question.lattice.width + 1, question.schema.unit.rows, question.schema.fixed_size
    single, many = len(question.probabilities) == 1, public_units(question.schema)

    def hidden(units: int) -> Fraction | None:
        """The rank error of missing what so many units make the quantile; None where the claim lets them be found."""
        found = _placed(p, units * rows, size)
        if found is None:
            return None
        error, ends = found
        if many is not None and size is None and many < units + -(-ends // rows):
            return None
        places = points - 2 if single else (points - ends) // (units * rows)
        steps = least_steps(claim, 1 / places, 1 - BETA) if places > 1 else None
        return error if steps is not None and steps > units else None

    low, high = 0, 1
    while hidden(high) is not None:
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if hidden(middle) is None else (middle, high)
    step = _step(question)
    error = max((hidden(units) or Fraction(0) for units in (low - 1, low) if units > 0), default=Fraction(0))
    return (error // step + 1) * step if error > 0 else error


def _placed(p: Fraction, tied: int, size: int | None) -> tuple[Fraction, int] | None:
    """Where `tied` rows lie around the quantile: the rank error of every other point, and the rows at the ends.

    With a public size the place is rounded; else the ends solve low (1 - p) - high p = tied (p - 1/2) in whole numbers.
    """
    if size is not None:
        place = p * size - Fraction(tied, 2)
        low = round(place)
        return (Fraction(tied, 2) - abs(place - low), size - tied) if 0 <= low <= size - tied else None
    if tied * p.denominator % 2:
        tied -= 1
    u, w = p.numerator, p.denominator
    offset = tied * (2 * u - w) // 2
    if 2 * u >= w:
        high = -offset * pow(u, -1, w - u) % (w - u) if w - u > 1 else 0
        low = (high * u + offset) // (w - u)
    else:
        low = offset * pow(w - u, -1, u) % u if u > 1 else 0
        high = (low * (w - u) - offset) // u
    return Fraction(tied, 2), low + high


def _step(question: Quantiles) -> Fraction:
    """What rank errors are multiples of: of every quantile that is asked for."""
    return Fraction(1, math.lcm(*(p.denominator for p in question.probabilities)))
