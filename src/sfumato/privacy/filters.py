"""Budget filters: when may one more adaptively chosen charge be admitted?

A filter keeps a tuple of whole numbers that add up over charges, in units of 1e-12 rounded up, so
that a ledger can total them exactly; `admits` decides on the total alone.  Adding up epsilon (and
delta) is valid when each charge is chosen after seeing all earlier answers [RogersEtAl2016]; so is
adding up rho [FeldmanZrnic2021; WhitehouseEtAl2023].  The budget's type rules: a charge is
converted into it or refused.

An approximate budget admits by either sum.  Nine tenths of its delta pay for the deltas of the charges,
one tenth for the tail of the concentrated route, so that a spender who chooses the route after seeing
answers gains nothing.  The first charge is chosen before any answer: one that needs more than its share
decides for its own route, and all later charges have that one alone, with all of delta.

What is spent so far is a claim that holds at any moment, also one chosen after seeing answers.
Proof: docs/proofs/privacy-filters.md.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import ClassVar

from sfumato.errors import ParameterError
from sfumato.numeric import ceil_float, exact, round_up
from sfumato.privacy.conversions import (
    concentrated_for,
    concentrated_within,
    pure_to_concentrated,
)
from sfumato.privacy.guarantees import Approximate, Concentrated, Guarantee, Pure

__all__ = ["UNIT", "Amounts", "ApproximateFilter", "ConcentratedFilter", "Filter", "PureFilter", "filter_for", "units"]

UNIT = 10**12  # one whole epsilon, delta or rho in the ledger's units
Amounts = tuple[int, ...]
TAIL = 10  # one part in so many of an approximate budget's delta is kept for the concentrated route


@lru_cache(maxsize=4096, typed=True)  # budgets are compared with again and again
def units(amount: float) -> int:
    """An amount in whole units, its decimal read exactly, rounded up: ten times 0.1 is 1.

    >>> units(0.1) * 10 == units(1.0)
    True
    """
    return math.ceil(exact(amount) * UNIT)


def amount(total: int) -> float:
    """Whole units as the least number whose decimal is not below them: what adds up to 0.3 is shown as 0.3.

    >>> amount(units(0.1) + units(0.2)), amount(2_050_000_000_000), amount(1)
    (0.3, 2.05, 1e-12)
    """
    nearest = total / UNIT
    return nearest if exact(nearest) >= Fraction(total, UNIT) else round_up(nearest)


@dataclass(frozen=True, slots=True)
class PureFilter:
    """Epsilons add; only pure charges are admitted."""

    budget: Pure
    no_batches: ClassVar[str] = "a pure budget has no delta, without which epsilons simply add up"

    def amounts(self, claim: Guarantee) -> Amounts:
        """What one charge adds to the total."""
        if not isinstance(claim, Pure):
            raise ParameterError(
                f"a pure budget takes only pure charges, got {claim!r}: it has an epsilon alone, and no delta or rho "
                "to give; spend Pure(epsilon), in the shell --epsilon without --delta, or start a ledger whose budget "
                "is Approximate or Concentrated"
            )
        return (units(claim.epsilon),)

    def batch(self, claim: Guarantee, claims: Sequence[Guarantee]) -> Amounts:
        """What several releases fixed in advance cost together: no less than their sum, so that is not offered."""
        raise ParameterError(f"a batch needs an approximate budget: {self.no_batches}; charge each release by itself")

    def spare(self, total: Amounts, first: Amounts | None = None) -> float:
        """The delta that a batch may take: there is none."""
        return 0.0

    def admits(self, total: Amounts, first: Amounts | None = None) -> bool:
        """Whether a history with this total is within the budget."""
        return total[0] <= units(self.budget.epsilon)

    def spent(self, total: Amounts, first: Amounts | None = None) -> Guarantee:
        """What everything charged so far costs together, at any moment."""
        return Pure(amount(total[0]))


@dataclass(frozen=True, slots=True)
class ApproximateFilter:
    """Either epsilons or rhos add up, and deltas; concentrated charges have a rho only.

    A total is (epsilon, delta, rho, charges without an epsilon, charges): the first three in units.

    >>> f = ApproximateFilter(Approximate(1.0, 1e-6))
    >>> f.amounts(Pure(0.1))
    (100000000000, 0, 4995837496, 0, 1)
    >>> f.admits((0, 0, 2 * 10**10, 1, 2)), f.admits((10**12 + 1, 0, 3 * 10**10, 0, 2))
    (True, False)
    """

    budget: Approximate
    no_batches: ClassVar[str] = ""

    def amounts(self, claim: Guarantee) -> Amounts:
        """What one charge adds to the total."""
        if isinstance(claim, Concentrated):
            rho = units(claim.rho)
            return (0, 0, rho, 1, 1) if rho else (0, 0, 0, 0, 0)
        delta = self._deltas(claim.delta) if isinstance(claim, Approximate) else 0
        parts = (units(claim.epsilon), delta, units(pure_to_concentrated(claim.epsilon)))
        return (*parts, 0, 1 if any(parts) else 0)

    def batch(self, claim: Guarantee, claims: Sequence[Guarantee]) -> Amounts:
        """What several releases fixed in advance, with these claims, cost if together they meet `claim`.

        Without deltas of their own they have both: the epsilon of the claim, for which its delta pays, and the sum of
        their own rhos, which needs none.  With deltas, what fails for the claim and what fails for their own rhos are
        different outputs, and one delta does not pay for both: then the rho is that of the claim.
        """
        own = sum((exact(one.delta) for one in claims if isinstance(one, Approximate)), Fraction(0))
        if not isinstance(claim, Approximate) or own > exact(claim.delta):
            raise ParameterError(
                f"a batch is charged as Approximate(epsilon, delta), with at least the deltas of its releases, "
                f"got {claim!r}"
            )
        epsilon, delta, rho, _, _ = self.amounts(claim)
        if not own:
            rho = sum(self.amounts(one)[2] for one in claims)
        return (epsilon, delta, rho, 0, 1)

    def spare(self, total: Amounts, first: Amounts | None = None) -> float:
        """The delta that a batch may take and leave every route open that is open now."""
        route = "either" if first is None else self._route(first)
        most = {"either": (TAIL - 1) * self._most // TAIL, "epsilons": self._most, "rhos": 0}[route]
        return max(0, most - total[1]) / UNIT

    def admits(self, total: Amounts, first: Amounts | None = None) -> bool:
        """Whether a history with this total, whose first charge cost `first`, is within the budget."""
        epsilon, delta, rho, without, charges = total
        added = without == 0 and epsilon <= units(self.budget.epsilon) and delta <= self._most
        if charges <= 1:  # chosen before any answer was seen: either route may use all of delta
            return added or rho <= self._rhos(self._left(delta))
        route = "either" if first is None else self._route(first)
        if route == "epsilons":
            return added
        if route == "rhos":
            return delta == 0 and rho <= self._rhos(self.budget.delta)
        return TAIL * delta <= (TAIL - 1) * self._most and (added or rho <= self._rhos(self.budget.delta / TAIL))

    def spent(self, total: Amounts, first: Amounts | None = None) -> Guarantee:
        """What everything charged so far costs together, at any moment: in delta the whole budget's, if any."""
        epsilon, delta, rho, without, _ = total
        route = "either" if first is None else self._route(first)
        sums = without == 0 and (epsilon <= units(self.budget.epsilon) or self.budget.delta == 0)
        if sums or route == "epsilons":
            bound = amount(epsilon)
            if not sums and self.admits(total, first):  # a first charge by its rho: every path ends with it
                return self.budget
            return Approximate(bound, self.budget.delta if delta else 0.0)
        tail = self.budget.delta if route == "rhos" else self.budget.delta / TAIL
        most = max(self._rhos(tail), rho)
        bound = concentrated_within(ceil_float(Fraction(rho, UNIT)), ceil_float(Fraction(most, UNIT)), tail)
        return Approximate(bound, self.budget.delta)

    @property
    def _most(self) -> int:
        """The budget's delta in units, rounded down but for the last one."""
        return max(1, math.floor(exact(self.budget.delta) * UNIT)) if self.budget.delta else 0

    def _deltas(self, delta: float) -> int:
        """A charge's delta in units, rounded up; one that takes the last fraction of the budget takes all units.

        So a charge of the budget's own delta fits, whatever it is, and leaves no delta to any other.
        """
        if exact(delta) <= exact(self.budget.delta):
            return min(units(delta), self._most)
        return max(units(delta), self._most + 1)

    def _left(self, delta: int) -> float:
        return 0.0 if delta >= self._most else self.budget.delta - delta / UNIT

    def _route(self, first: Amounts) -> str:
        """The routes that a first charge leaves open: one that exceeds its share decides for its own."""
        _, delta, rho, without, _ = first
        if without:
            return "rhos" if rho > self._rhos(self.budget.delta / TAIL) else "either"
        beyond = TAIL * delta > (TAIL - 1) * self._most or rho > self._rhos(self.budget.delta / TAIL)
        return "epsilons" if beyond else "either"

    def _rhos(self, tail: float) -> int:
        """The greatest total rho whose tail fits, in units rounded down; -1 if none does."""
        return _rhos(self.budget.epsilon, tail) if 0 < tail < 1 else -1


@dataclass(frozen=True, slots=True)
class ConcentratedFilter:
    """Rhos add; a pure charge counts as epsilon tanh(epsilon / 2)."""

    budget: Concentrated
    no_batches: ClassVar[str] = "under a concentrated budget rhos add up as they are"

    def amounts(self, claim: Guarantee) -> Amounts:
        """What one charge adds to the total."""
        if isinstance(claim, Approximate):
            raise ParameterError(
                f"a concentrated budget takes pure and concentrated charges, got {claim!r}; "
                "spend Concentrated(rho) or Pure(epsilon)"
            )
        if isinstance(claim, Pure):
            return (units(pure_to_concentrated(claim.epsilon)),)
        return (units(claim.rho),)

    def batch(self, claim: Guarantee, claims: Sequence[Guarantee]) -> Amounts:
        """What several releases fixed in advance cost together: rhos add up already, so that is not offered."""
        raise ParameterError(f"a batch needs an approximate budget: {self.no_batches}; charge each release by itself")

    def spare(self, total: Amounts, first: Amounts | None = None) -> float:
        """The delta that a batch may take: there is none."""
        return 0.0

    def admits(self, total: Amounts, first: Amounts | None = None) -> bool:
        """Whether a history with this total is within the budget."""
        return total[0] <= units(self.budget.rho)

    def spent(self, total: Amounts, first: Amounts | None = None) -> Guarantee:
        """What everything charged so far costs together, at any moment."""
        return Concentrated(amount(total[0]))


@lru_cache(maxsize=256)
def _rhos(epsilon: float, tail: float) -> int:
    return math.floor(Fraction(concentrated_for(epsilon, tail)) * UNIT)


Filter = PureFilter | ApproximateFilter | ConcentratedFilter


def filter_for(budget: Guarantee) -> Filter:
    """The filter of a budget; budgets rest on no assumptions.

    >>> f = filter_for(Pure(1.0))
    >>> f.admits(f.amounts(Pure(1.0))), f.admits((f.amounts(Pure(1.0))[0] + 1,))
    (True, False)
    """
    if isinstance(budget, Pure):
        return PureFilter(budget)
    if isinstance(budget, Approximate):
        return ApproximateFilter(budget)
    return ConcentratedFilter(budget)
