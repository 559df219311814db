"""Budget filters: when may one more adaptively chosen charge be admitted?

A filter keeps a tuple of whole numbers that add up over charges, in units of 1e-12 rounded up, so
that a ledger can total them exactly; `admits` decides on the total alone.  Adding up epsilon (and
delta) is valid when each charge is chosen after seeing all earlier answers [RogersEtAl2016]; so is
adding up rho [FeldmanZrnic2021].  The budget's type rules: a charge is converted into it or refused.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

from sfumato.errors import ParameterError
from sfumato.privacy.guarantees import Approximate, Concentrated, Guarantee, Pure

__all__ = ["UNIT", "ApproximateFilter", "ConcentratedFilter", "Filter", "PureFilter", "filter_for"]

UNIT = 10**12  # one whole epsilon, delta or rho in the ledger's units


def units(amount: float) -> int:
    """An amount in whole units, rounded up."""
    return math.ceil(Fraction(amount) * UNIT)


@dataclass(frozen=True, slots=True)
class PureFilter:
    """Epsilons add; only pure charges are admitted."""

    budget: Pure

    def amounts(self, claim: Guarantee) -> tuple[int, ...]:
        """What one charge adds to the total."""
        if not isinstance(claim, Pure):
            raise ParameterError(
                f"a pure budget takes only pure charges, got {claim!r}; "
                "spend Pure(epsilon), or open the ledger with an Approximate or Concentrated budget"
            )
        return (units(claim.epsilon),)

    def admits(self, total: tuple[int, ...]) -> bool:
        """Whether a history with this total is within the budget."""
        return total[0] <= units(self.budget.epsilon)

    def spent(self, total: tuple[int, ...]) -> Guarantee:
        """The guarantee of everything charged so far."""
        return Pure(total[0] / UNIT)


@dataclass(frozen=True, slots=True)
class ApproximateFilter:
    """Epsilons and deltas add."""

    budget: Approximate

    def amounts(self, claim: Guarantee) -> tuple[int, ...]:
        """What one charge adds to the total."""
        if isinstance(claim, Concentrated):
            raise ParameterError(
                f"an approximate budget takes pure and approximate charges, got {claim!r}; "
                "spend Approximate(epsilon, delta), or open the ledger with a Concentrated budget"
            )
        delta = claim.delta if isinstance(claim, Approximate) else 0.0
        return (units(claim.epsilon), units(delta))

    def admits(self, total: tuple[int, ...]) -> bool:
        """Whether a history with this total is within the budget."""
        return total[0] <= units(self.budget.epsilon) and total[1] <= units(self.budget.delta)

    def spent(self, total: tuple[int, ...]) -> Guarantee:
        """The guarantee of everything charged so far."""
        return Approximate(total[0] / UNIT, total[1] / UNIT)


@dataclass(frozen=True, slots=True)
class ConcentratedFilter:
    """Rhos add; a pure charge counts as epsilon^2 / 2.  [BunSteinke2016, Proposition 1.4]"""

    budget: Concentrated

    def amounts(self, claim: Guarantee) -> tuple[int, ...]:
        """What one charge adds to the total."""
        if isinstance(claim, Approximate):
            raise ParameterError(
                f"a concentrated budget takes pure and concentrated charges, got {claim!r}; "
                "spend Concentrated(rho) or Pure(epsilon)"
            )
        if isinstance(claim, Pure):
            return (math.ceil(Fraction(claim.epsilon) ** 2 / 2 * UNIT),)
        return (units(claim.rho),)

    def admits(self, total: tuple[int, ...]) -> bool:
        """Whether a history with this total is within the budget."""
        return total[0] <= units(self.budget.rho)

    def spent(self, total: tuple[int, ...]) -> Guarantee:
        """The guarantee of everything charged so far."""
        return Concentrated(total[0] / UNIT)


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
