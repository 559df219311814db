"""What is shown as spent is what was charged, and what is shown as left can be spent."""

import random

import pytest

from sfumato.ledger.rules import remaining
from sfumato.numeric import exact
from sfumato.privacy.filters import filter_for
from sfumato.privacy.guarantees import Approximate, Concentrated, Pure
from sfumato.report.answers import cost, left

DRAWS = random.Random(12)


@pytest.mark.parametrize("amounts", [[DRAWS.randrange(1, 400) / 1000 for _ in range(9)] for _ in range(30)])
def test_decimals_that_were_charged_are_shown_as_their_sum(amounts):
    whole = sum(map(exact, amounts))
    for budget, kind in ((Pure(9.0), Pure), (Approximate(9.0, 1e-6), Pure), (Concentrated(9.0), Concentrated)):
        rules = filter_for(budget)
        total = tuple(map(sum, zip(*(rules.amounts(kind(amount)) for amount in amounts), strict=True)))
        spent = rules.spent(total, rules.amounts(kind(amounts[0])))
        shown = spent.rho if isinstance(spent, Concentrated) else spent.epsilon
        assert exact(shown) == whole
        assert exact(float(cost(spent).split()[1].rstrip(","))) == whole


def test_what_is_shown_as_left_fits():
    budget = Approximate(3.5, 1e-6)
    rules = filter_for(budget)
    for _ in range(200):
        charges = [
            Approximate(DRAWS.uniform(0.01, 0.5), DRAWS.uniform(1e-9, 1e-7)) for _ in range(DRAWS.randrange(1, 6))
        ]
        first = rules.amounts(charges[0])
        total = tuple(map(sum, zip(*map(rules.amounts, charges), strict=True)))
        found = left(remaining(budget, (rules, total, first)))
        epsilon, delta = (float(part.split()[1]) for part in found.split(","))
        after = tuple(map(sum, zip(total, rules.amounts(Approximate(epsilon, delta)), strict=True)))
        assert rules.admits(after, first), (charges, epsilon, delta)
