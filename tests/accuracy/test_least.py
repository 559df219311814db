"""The least spend for a target: met, not met one grid point below, whatever the error's curve looks like."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato.accuracy.least import LAST, grid, least_spend, place_of
from sfumato.answers.targets import Target
from sfumato.errors import BudgetExceeded, ParameterError, UnsupportedQuery
from sfumato.privacy.spending import Spending, spending_of

CURVES = {
    "inverse": lambda a: 3 / a,
    "whole": lambda a: math.ceil(3 / a),
    "root": lambda a: 2 / math.sqrt(a),
    "whole root": lambda a: math.ceil(2 / math.sqrt(a)),
    "steep": lambda a: 3 / a + 0.5 / a**2,
    "starts late": lambda a: 3 / a if a > 0.01 else math.inf,
    "flat": lambda a: 1 / a + 0.01,
}


@settings(max_examples=150, deadline=None)
@given(
    curve=st.sampled_from(sorted(CURVES)),
    exponent=st.floats(0.05, 4),
    kind=st.sampled_from([sf.Pure(1.0), sf.Concentrated(1.0), sf.Approximate(1.0, 1e-7)]),
)
def test_what_is_found_meets_the_target_and_the_next_smaller_spend_does_not(curve, exponent, kind):
    wanted, tried = 10.0**exponent, []

    def error(spend):
        tried.append(spend)
        return CURVES[curve](spend.amount)

    found = least_spend(error, Target(wanted, 0.95, ""), Spending(kind))
    place = place_of(found.amount)
    assert grid(place) == found.amount
    assert CURVES[curve](found.amount) <= wanted
    assert place == 0 or CURVES[curve](grid(place - 1)) > wanted
    assert len(tried) <= 45
    assert all(type(spend) is type(kind) and spend.parts().get("delta") == kind.parts().get("delta") for spend in tried)


@given(st.integers(0, LAST))
def test_the_grid_and_its_places_are_inverse(place):
    assert place_of(grid(place)) == place
    assert place_of(math.nextafter(grid(place), math.inf)) == place
    assert place == 0 or grid(place - 1) < grid(place)


def test_a_target_out_of_reach_says_how_far_one_comes():
    target = Target(5.0, 0.95, "5")
    with pytest.raises(BudgetExceeded, match=r"ceiling 0.5 .* there it is 6"):
        least_spend(lambda spend: 3 / spend.amount, target, Spending(sf.Pure(0.5), 0.5))
    with pytest.raises(UnsupportedQuery, match="no epsilon up to 1000 is enough"):
        least_spend(lambda spend: 6.0, target, Spending(sf.Pure(1.0)))


def test_spend_beside_a_target_is_a_kind_or_a_ceiling():
    budget = sf.Approximate(2.0, 1e-6)
    assert spending_of(None, budget) == Spending(sf.Approximate(2.0, 1e-7))
    assert spending_of(sf.Approximate, budget) == Spending(sf.Approximate(2.0, 1e-7))
    assert spending_of(sf.Concentrated, budget) == Spending(sf.Concentrated(1.0))
    assert spending_of(sf.Pure(0.3), budget) == Spending(sf.Pure(0.3), 0.3)
    assert spending_of(None, sf.Pure(1.0)) == Spending(sf.Pure(1.0))
    with pytest.raises(ParameterError, match="needs a delta"):
        spending_of(sf.Approximate, sf.Pure(1.0))
    for wrong in (0.5, "pure", int, sf.Pure(0.0)):
        with pytest.raises(ParameterError):
            spending_of(wrong, budget)
