"""Randomized response: both halves of 4.10, tables 5 and 7, the exact channel, audit, refusals."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.auditing import audit, audit_law
from sfumato.bounds import discrete_record_error
from sfumato.errors import ParameterError, UnsupportedQuery
from sfumato.mechanisms import RandomizedResponse
from sfumato.privacy.guarantees import Approximate, Concentrated, Pure
from sfumato.randomness import seeded
from sfumato.spaces import Categories
from statistical import assert_law

STATES = Categories([f"state {i}" for i in range(48)])
FEW = Categories(["a", "b", "c"])


def channel(others, p):
    """Row k: the law of the answer of a record in category k."""
    return np.full((others + 1, others + 1), float(p)) + np.eye(others + 1) * float(1 - p * (others + 1))


def delta_of(others, p, epsilon):
    rows = channel(others, p)
    return max(np.maximum(a - math.exp(epsilon) * b, 0).sum() for a in rows for b in rows)


# claims


@pytest.mark.parametrize(("epsilon", "delta", "keep", "bound"),
                         [(0.1, 0.1, 0.12, 0.879), (2.0, 0.5, 0.57, 0.432), (7.0, 0.6, 0.98, 0.016)])  # fmt: skip
def test_tables_5_and_7_of_document_001(epsilon, delta, keep, bound):
    mechanism = RandomizedResponse.calibrate(STATES, Approximate(epsilon, delta))
    assert mechanism.others == 47
    assert round(mechanism.keep, 2) == keep
    assert round(discrete_record_error(47, epsilon, delta), 3) == bound
    assert mechanism.error() == pytest.approx(discrete_record_error(47, epsilon, delta), rel=1e-9)  # attained


@pytest.mark.parametrize("others", [1, 2, 5])
@pytest.mark.parametrize(("epsilon", "delta"), [(0.5, 0.0), (1.0, 0.1), (2.0, 0.3)])
def test_both_halves_of_4_10(others, epsilon, delta):
    """Private if and only if p lies between the two ends, checked on the exact channel."""
    low = (1 - delta) / (others + math.exp(epsilon))
    high = (math.exp(epsilon) + delta) / (1 + others * math.exp(epsilon))
    for p, private in [(low, True), (low * 0.999, False), (min(high, 1 / others) * 0.9999, True)]:
        assert bool(delta_of(others, p, epsilon) <= delta + 1e-12) is private
    if high * 1.001 <= 1 / others:
        assert delta_of(others, high * 1.001, epsilon) > delta + 1e-12


@pytest.mark.parametrize("target", [Pure(1.0), Approximate(0.5, 0.2), Approximate(3.0, 1e-6)])
def test_the_claim_is_the_exact_channels(target):
    mechanism = RandomizedResponse.calibrate(FEW, target)
    claim = mechanism.guarantee()
    delta = getattr(claim, "delta", 0.0)
    assert delta_of(2, mechanism.p, claim.epsilon) <= delta + 1e-15
    assert delta_of(2, mechanism.p, claim.epsilon - 1e-6) > delta
    assert not audit_law(channel(2, mechanism.p), claim).refuted
    assert audit_law(channel(2, mechanism.p / 2), claim).refuted


# laws


@settings(deadline=None)
@given(st.floats(0, 2000), st.floats(0, 0.99), st.integers(2, 60))
def test_calibrate_never_exceeds_its_target(epsilon, delta, categories):
    target = Approximate(epsilon, delta)
    mechanism = RandomizedResponse.calibrate(Categories(range(categories)), target)
    assert mechanism.guarantee().implies(target)
    assert mechanism.keep >= 1 / categories - 1e-12


@settings(deadline=None)
@given(st.integers(0, 4), st.integers(0, 4))
def test_guarantee_grows_with_distance(near, far):
    mechanism = RandomizedResponse(FEW, Fraction(1, 5), 1e-4)
    claims = [mechanism.guarantee(d) for d in sorted((near, far))]
    assert claims[0].epsilon <= claims[1].epsilon


# distribution


def test_answers_follow_the_channel():
    """100,000 answers; a lie 10 % rarer or likelier is refused, and so is one that prefers a neighbor."""
    mechanism = RandomizedResponse(FEW, Fraction(1, 10))
    answers = mechanism.release(np.full(100_000, 1), seeded(17))
    law = {0: 0.1, 1: 0.8, 2: 0.1}
    wrong = ({0: 0.09, 1: 0.82, 2: 0.09}, {0: 0.11, 1: 0.78, 2: 0.11}, {0: 0.11, 1: 0.8, 2: 0.09})
    assert_law(answers, lambda z: law.get(z, 0.0), tuple((lambda z, w=w: w.get(z, 0.0)) for w in wrong))


# audit


def attacked(p):
    mechanism = RandomizedResponse(FEW, p)
    return lambda data, rng: mechanism.release(np.array([data]), rng).tolist()


def test_audit_does_not_refute_the_claim():
    claim = RandomizedResponse(FEW, Fraction(1, 5)).guarantee()
    assert not audit(attacked(Fraction(1, 5)), claim, pairs=[(0, 1)], seconds=0.4, generator=seeded).refuted


def test_audit_catches_half_the_lies():
    claim = RandomizedResponse(FEW, Fraction(1, 5)).guarantee()
    assert audit(attacked(Fraction(1, 10)), claim, pairs=[(0, 1)], seconds=4, generator=seeded).refuted


# refusals


@pytest.mark.parametrize("p", [Fraction(0), Fraction(-1, 5), Fraction(1, 2)])
def test_refuses_a_probability_that_hides_the_truth_or_nothing(p):
    with pytest.raises(ParameterError, match="p must lie"):
        RandomizedResponse(FEW, p)


def test_refuses_other_targets_single_categories_and_bad_deltas():
    with pytest.raises(UnsupportedQuery, match="pure or approximate"):
        RandomizedResponse.calibrate(FEW, Concentrated(1.0))
    with pytest.raises(ParameterError, match="two categories"):
        RandomizedResponse.calibrate(Categories(["only"]), Pure(1.0))
    with pytest.raises(ParameterError, match="delta"):
        RandomizedResponse(FEW, Fraction(1, 5), 1.5)
