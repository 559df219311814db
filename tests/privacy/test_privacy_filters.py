"""Filters and the odometer: whole-unit sums, both routes, and an adaptive spender who cannot win."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.errors import ParameterError
from sfumato.privacy.conversions import concentrated_for, concentrated_to_approximate
from sfumato.privacy.filters import UNIT, ApproximateFilter, filter_for
from sfumato.privacy.guarantees import Approximate, Concentrated, GaussianPrivacy, Pure
from sfumato.privacy.odometer import Odometer

BUDGET = Approximate(1.0, 1e-6)


def total_of(budget, claims):
    chosen = filter_for(budget)
    amounts = [chosen.amounts(claim) for claim in claims]
    return tuple(map(sum, zip(*amounts, strict=True)))


def admitted(budget, claims):
    """How many of the claims are admitted, one after the other."""
    chosen = filter_for(budget)
    total, first = tuple(0 for _ in chosen.amounts(Pure(0.0))), None
    for number, claim in enumerate(claims):
        amounts = chosen.amounts(claim)
        after, first = tuple(a + b for a, b in zip(total, amounts, strict=True)), first or (any(amounts) and amounts)
        if not chosen.admits(after, first or None):
            return number
        total = after
    return len(claims)


# claims
def test_ten_tenths_are_one():
    for budget, claim in ((Pure(1.0), Pure(0.1)), (BUDGET, Approximate(0.1, 9e-8))):
        assert admitted(budget, [claim] * 11) == 10
    assert admitted(Concentrated(1.0), [Concentrated(0.1)] * 11) == 10


def test_many_small_pure_charges_go_farther_by_their_rhos():
    count = admitted(BUDGET, [Pure(0.01)] * 2000)
    rho = 0.01 * math.tanh(0.005)
    assert count == math.floor(concentrated_for(1.0, 1e-7) / rho) > 300


def test_concentrated_charges_are_admitted_to_the_rho_of_the_tail():
    rho = concentrated_for(1.0, 1e-7)
    assert admitted(BUDGET, [Concentrated(rho / 4 * (1 - 1e-9))] * 5) == 4
    spent = filter_for(BUDGET).spent(total_of(BUDGET, [Concentrated(rho / 4)] * 3))
    assert spent.epsilon >= concentrated_to_approximate(0.75 * rho, 1e-7) * (1 - 1e-9)
    assert spent.epsilon <= 1.0


def test_deltas_of_charges_leave_a_tenth_unless_the_first_takes_it_all():
    assert admitted(BUDGET, [Approximate(1.0, 1e-6)]) == 1
    assert admitted(BUDGET, [Concentrated(concentrated_for(1.0, 1e-6) * (1 - 1e-9))]) == 1
    assert admitted(BUDGET, [Approximate(0.1, 3e-7)] * 4) == 3


def test_a_first_charge_beyond_its_share_decides_for_its_own_route():
    assert admitted(BUDGET, [Approximate(0.1, 9.5e-7), *[Pure(0.3)] * 4]) == 4  # by epsilons, to the whole of them
    assert admitted(BUDGET, [Approximate(0.1, 9.5e-7), Approximate(0.1, 5e-8), Approximate(0.1, 1e-9)]) == 2
    assert admitted(BUDGET, [Approximate(0.1, 9.5e-7), Concentrated(1e-6)]) == 1
    rho = concentrated_for(1.0, 1e-6)  # more than the tenth of delta allows
    assert admitted(BUDGET, [Concentrated(0.9 * rho), Concentrated(0.09 * rho), Concentrated(0.02 * rho)]) == 2
    assert admitted(BUDGET, [Concentrated(0.9 * rho), Approximate(1e-9, 1e-12)]) == 1
    small = Concentrated(rho / 10)  # decides nothing: either route, with its share
    assert admitted(BUDGET, [small, Approximate(0.0, 9.5e-7)]) == 1


deltas = st.floats(1e-16, 0.5, exclude_min=True) | st.integers(2, 10**6).map(lambda n: n**-1.5)


@given(deltas, st.floats(0.01, 5))
def test_a_whole_budget_is_spent_whatever_its_delta(delta, epsilon):
    whole = Approximate(epsilon, delta)
    assert admitted(whole, [whole]) == 1
    assert admitted(whole, [whole, Approximate(0.0, delta)]) == 1
    assert admitted(whole, [Approximate(0.0, delta), Pure(epsilon)]) == 2
    assert admitted(whole, [Approximate(epsilon, math.nextafter(delta, 1.0))]) == 0


@given(deltas, st.lists(st.floats(0, 1), min_size=1, max_size=12))
def test_admitted_deltas_never_add_up_to_more_than_the_budgets(delta, shares):
    claims = [Approximate(0.001, delta * share) for share in shares]
    count = admitted(Approximate(1.0, delta), claims)
    total = sum((Fraction(repr(claim.delta)) for claim in claims[:count]), Fraction(0))
    assert total <= Fraction(repr(delta))


@pytest.mark.parametrize(("start", "growth"), [(1e-3, 1.3), (1e-2, 1.3), (1e-3, 2.0)])
def test_what_is_spent_is_true_at_a_moment_chosen_after_seeing_answers(start, growth):
    """200,000 readers of Gaussian releases stop where the loss first exceeds what is reported as spent.

    The tail is a tenth of delta, 0.01; the mean excess has a standard error below 0.0003.  Power: reporting the
    conversion of the rho spent so far, each at its own best order, fails by more than four of them.
    """
    chosen, tail = ApproximateFilter(Approximate(6.0, 0.1)), 0.01
    rhos = [start * growth**k for k in range(60)]
    total, first, told, own = (0,) * 5, chosen.amounts(Concentrated(start)), [], []
    for rho in rhos:
        total = tuple(a + b for a, b in zip(total, chosen.amounts(Concentrated(rho)), strict=True))
        if not chosen.admits(total, first):
            break
        told.append(chosen.spent(total, first).epsilon)
        own.append(concentrated_to_approximate(total[2] / UNIT, tail))
    assert told[-1] <= 6.0
    steps = np.sqrt(2 * np.array(rhos[: len(told)]))
    losses = np.cumsum(np.random.default_rng(6).standard_normal((200_000, len(steps))) * steps + steps**2 / 2, axis=1)

    def excess(bounds):
        above = losses > np.array(bounds)
        at = np.argmax(above, axis=1)
        loss, bound = losses[np.arange(len(at)), at], np.array(bounds)[at]
        return np.mean(np.where(above.any(axis=1), -np.expm1(np.minimum(bound - loss, 0.0)), 0.0))

    assert excess(told) <= tail
    assert excess(own) > tail + 0.0012


@given(st.lists(st.deferred(lambda: charges), min_size=1, max_size=8))
def test_what_is_spent_grows_and_stays_within_the_budget(claims):
    count = admitted(BUDGET, claims)
    chosen, before = filter_for(BUDGET), 0.0
    costly = [amounts for amounts in map(chosen.amounts, claims[:count]) if any(amounts)]
    for number in range(1, len(costly) + 1):
        total = tuple(map(sum, zip(*costly[:number], strict=True)))
        spent = chosen.spent(total, costly[0])
        assert spent.epsilon <= BUDGET.epsilon * (1 + 1e-12)
        assert spent.delta <= BUDGET.delta
        before = spent.epsilon
    assert before >= 0


def test_a_budget_without_delta_adds_epsilons():
    assert admitted(Approximate(1.0, 0.0), [Pure(0.25)] * 5) == 4
    assert admitted(Approximate(1.0, 0.0), [Concentrated(0.001)]) == 0


# laws
charges = st.one_of(
    st.builds(Pure, st.floats(0, 0.5)),
    st.builds(Approximate, st.floats(0, 0.5), st.floats(0, 1e-6)),
    st.builds(Concentrated, st.floats(0, 0.05)),
)


@given(st.lists(charges, max_size=8), charges, st.randoms())
def test_admission_ignores_order_and_shrinks_with_every_charge(claims, more, shuffler):
    chosen = filter_for(BUDGET)
    mixed = list(claims)
    shuffler.shuffle(mixed)
    total = total_of(BUDGET, [Pure(0.0), *claims])
    assert total == total_of(BUDGET, [Pure(0.0), *mixed])
    if not chosen.admits(total):
        assert not chosen.admits(total_of(BUDGET, [*claims, more]))


@given(charges)
def test_nothing_is_free_and_nothing_costs_nothing(claim):
    amounts = ApproximateFilter(BUDGET).amounts(claim)
    sizes = (getattr(claim, name, 0.0) for name in ("epsilon", "delta", "rho"))
    assert any(amounts) == any(size > 0 for size in sizes)
    if hasattr(claim, "epsilon"):
        assert amounts[0] / UNIT >= claim.epsilon * (1 - 1e-15)


def test_an_adaptive_spender_who_switches_routes_stays_within_the_budget():
    """Exact loss of a spender who goes on by rho after bad news, else spends delta and epsilon.

    First k randomized responses; where their sum is high he goes on with more of them (allowed by
    rho only), elsewhere he takes a charge whose delta is all that is left.
    """
    budget, epsilon = Approximate(2.0, 1e-2), 0.1
    limit = math.floor(concentrated_for(2.0, 1e-3) / (epsilon * math.tanh(epsilon / 2)))
    assert admitted(budget, [Pure(epsilon)] * (limit + 5)) == limit > 20
    likely, first = 1 / (1 + math.exp(-epsilon)), 6
    assert admitted(budget, [Pure(epsilon)] * first + [Approximate(0.0, 9e-3)]) == first + 1
    failure = 0.0
    for heads in range(first + 1):
        chance = math.comb(first, heads) * likely**heads * (1 - likely) ** (first - heads)
        loss = (2 * heads - first) * epsilon
        if heads <= first // 2:  # the delta charge: revealed with 9e-3, else nothing more
            failure += chance * (9e-3 + (1 - 9e-3) * max(0.0, -math.expm1(2.0 - loss)))
            continue
        rest = np.arange(limit - first + 1)
        masses = np.array(
            [math.comb(limit - first, int(j)) * likely**j * (1 - likely) ** (limit - first - j) for j in rest]
        )
        losses = loss + (2 * rest - (limit - first)) * epsilon
        failure += chance * float(np.sum(masses * -np.expm1(-np.maximum(losses - 2.0, 0.0))))
    assert failure <= 1e-2


# odometer
@given(st.lists(charges, max_size=12))
def test_the_odometer_never_runs_back_nor_above_the_sum(claims):
    meter = Odometer(tail=1e-6)
    readings = [meter.epsilon()]
    for claim in claims:
        meter = meter.charged(claim)
        readings.append(meter.epsilon())
    assert readings == sorted(readings)
    assert readings[-1] <= meter.epsilons
    assert meter.delta() >= 1e-6 + math.fsum(getattr(c, "delta", 0.0) for c in claims)


def test_the_odometer_gains_on_the_sum_for_many_charges():
    meter = Odometer(tail=1e-6)
    for _ in range(3000):
        meter = meter.charged(Pure(0.01))
    assert meter.epsilon() < 0.2 * meter.epsilons


def test_the_odometer_bound_fails_no_more_often_than_promised():
    """20,000 paths of 400 randomized responses with a tail of 0.05, looked at after every step.

    Power: a bound of a third of the size fails on more than 0.05 of the paths.
    """
    rng, epsilon, steps = np.random.default_rng(5), 0.1, 400
    meter, bounds = Odometer(tail=0.05), []
    for _ in range(steps):
        meter = meter.charged(Pure(epsilon))
        bounds.append(meter.epsilon())
    signs = rng.random((20_000, steps)) < 1 / (1 + math.exp(-epsilon))
    losses = np.cumsum(np.where(signs, epsilon, -epsilon), axis=1)
    assert np.mean(np.any(losses > np.array(bounds), axis=1)) <= 0.05
    assert np.mean(np.any(losses > np.array(bounds) / 3, axis=1)) > 0.05


# refusals
def test_budgets_refuse_what_they_cannot_hold():
    with pytest.raises(ParameterError, match=r"pure budget .* start a ledger"):
        filter_for(Pure(1.0)).amounts(Approximate(0.1, 1e-9))
    with pytest.raises(ParameterError, match="concentrated budget"):
        filter_for(Concentrated(1.0)).amounts(Approximate(0.1, 1e-9))
    with pytest.raises(ParameterError, match="tail"):
        Odometer(tail=0.0)
    with pytest.raises(ParameterError, match="mu"):
        GaussianPrivacy(-1.0)


def test_a_batch_takes_the_same_flags_for_both_sums():
    """With deltas of their own, what fails for the claim and for the rhos of the members are different outputs."""
    held = ApproximateFilter(Approximate(3.0, 1e-5))
    claim = Approximate(1.0, 2e-6)
    alone = held.amounts(claim)
    with_deltas = held.batch(claim, [Approximate(0.2, 5e-7), Approximate(0.2, 5e-7), Pure(0.1)])
    assert with_deltas[:3] == alone[:3]
    without = held.batch(claim, [Pure(0.2), Pure(0.2), Concentrated(0.01)])
    assert without[2] == 2 * held.amounts(Pure(0.2))[2] + held.amounts(Concentrated(0.01))[2] < alone[2]
    assert without[:2] == alone[:2]
