"""What guarantees answer for themselves, against `implies`; and the one parser of amounts."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.errors import ParameterError
from sfumato.privacy.claims import guarantee_of
from sfumato.privacy.guarantees import GUARANTEES, Approximate, Concentrated, Pure, Renyi
from sfumato.privacy.parts import must_be_positive

amounts = st.floats(1e-3, 5)
guarantees = st.one_of(
    st.builds(Pure, amounts),
    st.builds(Approximate, amounts, st.sampled_from([0.0, 1e-9, 1e-6, 1e-3])),
    st.builds(Concentrated, amounts),
)


# laws
@given(guarantees)
def test_what_is_within_a_guarantee_meets_it_and_more_does_not(claim):
    epsilon, rho = claim.pure_within(), claim.concentrated_within()
    assert Pure(epsilon).implies(claim)
    assert not Pure(epsilon * (1 + 1e-6)).implies(claim)
    assert Concentrated(rho).implies(claim)
    assert not Concentrated(rho * (1 + 1e-6) + 1e-12).implies(claim)
    assert claim.takes_normal == (rho > 0)


@given(guarantees)
def test_what_a_guarantee_implies_follows(claim):
    if claim.pure_epsilon < math.inf:
        assert claim.implies(Pure(claim.pure_epsilon))
    if claim.concentrated_rho < math.inf:
        assert claim.implies(Concentrated(claim.concentrated_rho))
    if claim.takes_normal:
        assert Concentrated(0.01).implies(claim.at_rho(0.01))


@given(guarantees, st.integers(1, 50))
def test_shares_add_up_and_are_covered(claim, count):
    share = claim.share(count)
    assert type(share) is type(claim)
    for name, amount in claim.parts().items():
        assert share.parts()[name] * count == pytest.approx(amount)
    assert claim.covers(share)
    assert not share.covers(claim) or count == 1
    assert share.covers(claim, room=count)


@given(guarantees)
def test_amounts_read_back(claim):
    assert guarantee_of(claim.parts()) == claim
    assert guarantee_of({**dict.fromkeys(("epsilon", "delta", "rho")), **claim.parts()}, ["mixing"]) == claim.assuming(
        "mixing"
    )
    assert claim.with_parts({claim.names()[0]: 0.25}).amount == 0.25


# refusals
@pytest.mark.parametrize("given", [{}, {"delta": 1e-6}, {"epsilon": 1.0, "rho": 1.0}, {"mu": 1.0}])
def test_refuses_amounts_of_no_kind(given):
    with pytest.raises(ParameterError, match="epsilon, or epsilon and delta, or rho"):
        guarantee_of(given)


@pytest.mark.parametrize("amount", [0.0, -1.0, math.nan])
def test_refuses_to_spend_nothing(amount):
    with pytest.raises(ParameterError, match="rho must be above 0"):
        must_be_positive({"rho": amount})
    must_be_positive({"epsilon": 1.0, "delta": 0.0})


def test_no_pure_or_approximate_claim_follows_from_what_cannot():
    with pytest.raises(ParameterError, match="follows from rho"):
        Pure(1.0).at_rho(0.1)
    assert Renyi(4.0, 1.0).pure_within() == 0.0
    assert not Pure(1.0).covers(Approximate(0.5, 0.0))
    assert not Pure(1.0).covers(Pure(0.5, assumptions={"mixing"}))
    assert len({kind.names() for kind in GUARANTEES.values()}) == len(GUARANTEES)  # names tell the kinds apart
