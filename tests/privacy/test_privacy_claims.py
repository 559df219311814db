"""Claims as values: implication, groups, records; trade-off curves and their charts."""

from __future__ import annotations

import json
import math
from fractions import Fraction

import mpmath
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.accounting.tradeoff import profile_of, tradeoff_from_profile, tradeoff_of
from sfumato.errors import ParameterError
from sfumato.privacy.claims import claim_from, guarantee_from, to_record
from sfumato.privacy.gaussian import gaussian_delta
from sfumato.privacy.guarantees import CLAIMS, Approximate, Concentrated, GaussianPrivacy, Pure, Renyi
from sfumato.report.privacy_curves import profile_chart, tradeoff_chart

amounts = st.floats(0, 4)
claims = st.one_of(
    st.builds(Pure, amounts),
    st.builds(Approximate, amounts, st.floats(0, 0.1)),
    st.builds(Concentrated, amounts),
    st.builds(Renyi, st.floats(1.01, 64), amounts),
    st.builds(GaussianPrivacy, amounts),
)


def rows_of(chart):
    (rows,) = chart.to_dict()["datasets"].values()
    return rows


# laws
@given(claims)
def test_records_read_back_and_claims_imply_themselves(claim):
    assert claim_from(json.loads(json.dumps(to_record(claim)))) == claim
    assert claim.implies(claim)
    assert claim.group(1) == claim
    assert type(claim).__name__ in repr(claim)
    assert "{unit}" in claim.words()


@given(claims, claims, claims)
def test_implication_passes_through(first, second, third):
    if first.implies(second) and second.implies(third) and type(second) is type(third):
        assert first.implies(third)


@given(claims, st.integers(2, 5))
def test_a_group_is_protected_less(claim, size):
    try:
        grouped = claim.group(size)
    except ParameterError:
        return  # no guarantee is left, or the order is too low
    assert grouped.implies(grouped)
    for name in ("epsilon", "rho", "mu"):
        if getattr(claim, name, 0) > 0:
            assert getattr(grouped, name) > getattr(claim, name)


@given(claims)
def test_an_assumption_must_be_allowed(claim):
    fields = {**to_record(claim), "assumptions": ["mixing"]}
    assumed = claim_from(fields)
    assert not assumed.implies(claim)
    assert claim.implies(assumed)


@given(st.floats(0.05, 4), st.floats(0.001, 0.999))
def test_pure_within_gaussian_is_pure_above_its_trade_off(mu, alpha):
    pure = Pure(GaussianPrivacy(mu).pure_within())
    assert pure.implies(GaussianPrivacy(mu))
    assert tradeoff_of(pure)(alpha) >= tradeoff_of(GaussianPrivacy(mu))(alpha) - 1e-9


@given(st.floats(0.05, 3), st.floats(0, 1))
def test_trade_off_functions_fall_and_stay_below_perfect_privacy(mu, alpha):
    for claim in (GaussianPrivacy(mu), Pure(mu), Approximate(mu, 0.01)):
        curve = tradeoff_of(claim)
        assert 0 <= curve(alpha) <= 1 - alpha + 1e-12
        assert curve(min(1.0, alpha + 0.1)) <= curve(alpha) + 1e-12


# claims
def test_conversions_inside_implies_are_sharp():
    assert GaussianPrivacy(1.0).implies(Approximate(1.0, gaussian_delta(1.0, 1.0, 1.0)))
    assert not GaussianPrivacy(1.0).implies(Approximate(1.0, 0.126))
    assert GaussianPrivacy(1.0).implies(Concentrated(0.5 + 1e-12))
    assert Pure(1.0).implies(Concentrated(math.tanh(0.5) + 1e-12))
    assert not Pure(1.0).implies(Concentrated(0.46))
    assert Concentrated(0.1).implies(Approximate(2.15, 1e-6))
    assert not Concentrated(0.1).implies(Pure(100.0))
    assert Concentrated(0.1).implies(Renyi(4.0, 0.4000001))
    assert Renyi(10.0, 1.0).implies(Approximate(2.1739, 1e-6))
    assert not Renyi(10.0, 1.0).implies(Renyi(11.0, 2.0))


def test_profile_gives_the_gaussian_trade_off_back():
    direct, profile = tradeoff_of(GaussianPrivacy(1.0)), profile_of(GaussianPrivacy(1.0))
    derived = tradeoff_from_profile(profile, [i / 50 for i in range(400)])
    for alpha in (0.01, 0.1, 0.3, 0.6):
        assert direct(alpha) - 1e-3 <= derived(alpha) <= direct(alpha) + 1e-12


def test_charts_carry_their_curves():
    curves = {"gaussian": profile_of(GaussianPrivacy(1.0)), "pure": profile_of(Pure(1.0))}
    drawn = rows_of(profile_chart(curves, [0.0, 0.5, 1.0, 2.0]))
    assert len(drawn) == 4 + 2  # points of delta 0 are left out
    traded = rows_of(tradeoff_chart({"gaussian": tradeoff_of(GaussianPrivacy(1.0))}, points=11))
    assert {row["curve"] for row in traded} == {"perfect privacy", "gaussian"}


# refusals
def test_refuses_unknown_and_unspendable_records():
    with pytest.raises(ParameterError, match="unknown guarantee"):
        claim_from({"type": "other"})
    with pytest.raises(ParameterError, match="cannot have the parts"):
        claim_from({"type": "pure", "rho": 1.0})
    with pytest.raises(ParameterError, match="convert it first"):
        guarantee_from(to_record(GaussianPrivacy(1.0)))
    with pytest.raises(ParameterError, match="order must be above 1"):
        Renyi(1.0, 0.5)
    with pytest.raises(ParameterError, match="higher order"):
        Renyi(2.0, 0.5).group(2)
    with pytest.raises(ParameterError, match="convert it"):
        tradeoff_of(Concentrated(1.0))
    with pytest.raises(ParameterError, match="at least one curve"):
        profile_chart({}, [1.0])
    with pytest.raises(ParameterError, match="alpha must lie"):
        tradeoff_of(GaussianPrivacy(1.0))(1.5)


def test_every_claim_has_a_name():
    assert list(CLAIMS) == ["pure", "approximate", "concentrated", "renyi", "gaussian"]


# normal noise within a claim


@given(epsilon=st.floats(0.0, 30.0), delta=st.floats(1e-12, 0.4))
def test_normal_noise_within_a_claim_meets_it_and_a_little_more_does_not(epsilon: float, delta: float) -> None:
    target = Approximate(epsilon, delta)
    amount = target.normal_within()
    assert amount >= target.concentrated_within()
    assert target.at_normal(amount).implies(target)
    assert GaussianPrivacy.of_normal(amount).implies(target)
    assert not GaussianPrivacy.of_normal(amount * (1 + 1e-6)).implies(target)
    assert GaussianPrivacy.of_normal(amount).normal_within() <= amount * (1 + 1e-12)


@given(amount=st.floats(1e-9, 50.0))
def test_the_mu_of_normal_noise_never_falls_short(amount: float) -> None:
    assert Fraction(GaussianPrivacy.of_normal(amount).mu) ** 2 >= 2 * Fraction(amount)
    assert Fraction(GaussianPrivacy(amount).normal_within()) <= Fraction(amount) ** 2 / 2
    assert GaussianPrivacy(amount).at_normal(GaussianPrivacy(amount).normal_within()).implies(GaussianPrivacy(amount))
    assert Concentrated(amount).normal_within() == Concentrated(amount).at_normal(amount).rho == amount
    assert Pure(amount).normal_within() == Approximate(amount, 0.0).normal_within() == 0.0


@pytest.mark.parametrize("mu", [1e-15, 1e-9, 1e-6, 1e-4, 0.0099, 0.01, 0.3, 5.0])
def test_pure_claims_within_a_gaussian_one_are_within_it_to_the_last_digit(mu: float) -> None:
    with mpmath.workdps(60):
        half = mpmath.mpf(mu) / 2
        exact = mpmath.log(mpmath.ncdf(half) / mpmath.ncdf(-half))
        assert exact * (1 - mpmath.mpf(10) ** -5) <= GaussianPrivacy(mu).pure_within() <= exact


@pytest.mark.parametrize(("epsilon", "delta"), [(700.0, 1e-317), (1.0, 1e-320), (1.0, 1e-315), (0.0, 1e-310), (0, 0.9)])
def test_deltas_next_to_none_are_never_understated(epsilon: float, delta: float) -> None:
    target = Approximate(epsilon, delta)
    amount = target.normal_within()
    if amount:
        with mpmath.workdps(60):
            mu = mpmath.sqrt(2 * mpmath.mpf(amount))
            tails = [mpmath.ncdf(side * mu / 2 - epsilon / mu) for side in (1, -1)]
            assert tails[0] - mpmath.exp(epsilon) * tails[1] <= target.at_normal(amount).delta <= delta
