"""Finite channels: claims decided exactly, by a second route over all events, and example 4.5 of document 001."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mpmath import mp

from sfumato.accounting.channels import Channel
from sfumato.accounting.divergences import hockey_stick, kullback_leibler
from sfumato.accounting.exponentials import exponential
from sfumato.errors import ParameterError
from sfumato.numeric import ceil_float
from sfumato.privacy.guarantees import Approximate, Concentrated, Pure

channels = st.integers(2, 4).flatmap(
    lambda outputs: st.lists(
        st.lists(st.integers(0, 9), min_size=outputs, max_size=outputs).filter(any), min_size=2, max_size=4
    )
).map(lambda rows: Channel([[Fraction(entry, sum(row)) for entry in row] for row in rows]))  # fmt: skip
epsilons = st.floats(0, 5)


def flip(p: Fraction) -> Channel:
    return Channel([[1 - p, p], [p, 1 - p]])


def over_all_events(channel: Channel, epsilon: float) -> float:
    """The largest p(A) - e^epsilon q(A), by trying every event."""
    matrix, factor = channel.floats(), math.exp(epsilon)
    events = [list(event) for event in itertools.product((0.0, 1.0), repeat=channel.outputs)]
    pairs = itertools.permutations(range(channel.inputs), 2)
    return max(float(np.array(event) @ (matrix[x] - factor * matrix[y])) for x, y in pairs for event in events)


# claims
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 3.0])
@pytest.mark.parametrize("delta", [0.0, 0.05, 0.3])
def test_a_flipped_bit_is_private_exactly_from_the_printed_probability_on(epsilon, delta):
    least = (1 - delta) / (1 + math.exp(epsilon))
    enough, short = Fraction(least * (1 + 1e-12)), Fraction(least * (1 - 1e-12))
    assert flip(enough).verify(Approximate(epsilon, delta)).holds
    verdict = flip(short).verify(Approximate(epsilon, delta))
    assert verdict.holds is False
    x, y = verdict.pair
    p, q = (sum(flip(short).rows[i][z] for z in verdict.event) for i in (x, y))
    assert p > Fraction(math.exp(epsilon)) * q + Fraction(delta) - Fraction(1, 10**15)


@pytest.mark.parametrize("delta", [0.0, 0.1])
def test_asked_twice_it_breaks(delta):
    once = flip(Fraction((1 - delta) / (1 + math.e) * (1 + 1e-12)))
    assert once.verify(Approximate(1.0, delta)).holds
    assert once.compose(once).verify(Approximate(1.0, delta)).holds is False
    assert once.compose(once).verify(Approximate(2.0, min(2 * delta, 0.99))).holds


@pytest.mark.parametrize("k", [2, 3, 17])
def test_uniform_lies_cost_their_formula(k):
    keep, lie = Fraction(3, k + 2), Fraction(1, k + 2)
    channel = Channel([[keep if i == j else lie for j in range(k)] for i in range(k)])
    assert channel.epsilon() == pytest.approx(math.log(3), rel=1e-14)
    assert channel.epsilon() >= math.log(3)
    assert channel.profile(0.0) == ceil_float(keep - lie)
    assert channel.mutual_information([1 / k] * k) == pytest.approx(
        math.log(k) + float(keep) * math.log(keep) + (k - 1) * float(lie) * math.log(lie), rel=1e-12
    )


def test_pairs_of_values_settle_the_claim_for_tables_of_independent_records():
    one = Channel([[Fraction(1, 2), Fraction(1, 3), Fraction(1, 6)], [Fraction(1, 4), Fraction(1, 4), Fraction(1, 2)]])
    three = one.product(one).product(one)
    tables = list(itertools.product(range(2), repeat=3))
    neighbors = [
        (i, j) for i, a in enumerate(tables) for j, b in enumerate(tables) if sum(map(int.__ne__, a, b)) == 1 and i < j
    ]
    for epsilon in (0.0, 0.3, 0.8):
        assert three.profile(epsilon, neighbors) == one.profile(epsilon)
    assert three.epsilon(0.0, neighbors) == one.epsilon() < three.epsilon()


def test_floats_are_rounded_outward_and_may_stay_undecided():
    channel = Channel([[0.75, 0.25], [0.25, 0.75]])
    assert channel.verify(Pure(math.log(3))).holds is None
    assert channel.verify(Pure(math.log(3) + 1e-13)).holds
    assert channel.verify(Pure(math.log(3) - 1e-13)).holds is False
    assert channel.epsilon() > math.log(3)


# laws
@given(channels, epsilons)
def test_the_profile_is_the_largest_over_all_events(channel, epsilon):
    assert channel.profile(epsilon) == pytest.approx(over_all_events(channel, epsilon), abs=1e-12)


@given(channels, st.floats(0, 0.5))
def test_epsilon_and_profile_are_inverse(channel, delta):
    epsilon = channel.epsilon(delta)
    if math.isfinite(epsilon):
        assert channel.verify(Approximate(epsilon, delta)).holds
        if epsilon > 1e-6:
            assert channel.verify(Approximate(epsilon * (1 - 1e-9), delta)).holds is False


@given(channels, epsilons)
def test_the_profile_agrees_with_the_floating_divergence(channel, epsilon):
    matrix = channel.floats()
    worst = max(hockey_stick(a, b, epsilon) for a, b in itertools.permutations(matrix, 2))
    assert channel.profile(epsilon) == pytest.approx(worst, abs=1e-12)


@given(channels, st.data())
@settings(max_examples=40)
def test_post_processing_helps_nobody_to_tell(channel, data):
    rows = data.draw(
        st.lists(
            st.lists(st.integers(0, 5), min_size=3, max_size=3).filter(any),
            min_size=channel.outputs,
            max_size=channel.outputs,
        )
    )
    later = channel.then(Channel([[Fraction(e, sum(row)) for e in row] for row in rows]))
    for epsilon in (0.0, 0.5):
        assert later.profile(epsilon) <= channel.profile(epsilon)
    assert later.epsilon(0.1) <= channel.epsilon(0.1)


@given(channels)
def test_mutual_information_is_the_mean_divergence_from_the_output_law(channel):
    prior = np.full(channel.inputs, 1 / channel.inputs)
    law = channel.output_law(prior)
    mean = sum(w * kullback_leibler(row, law / law.sum()) for w, row in zip(prior, channel.floats(), strict=True))
    assert channel.mutual_information(prior) == pytest.approx(mean, abs=1e-12)


@given(st.fractions(0, 800), st.integers(30, 300))
@settings(max_examples=60)
def test_the_exponential_is_enclosed_as_closely_as_asked(x, bits):
    low, high = exponential(x, bits)
    assert high - low <= low / 2**bits
    with mp.workprec(bits + 1400):
        value = mp.exp(mp.mpf(x.numerator) / x.denominator)
        assert mp.mpf(low.numerator) / low.denominator <= value <= mp.mpf(high.numerator) / high.denominator


# refusals
@pytest.mark.parametrize("matrix", [[], [[]], [[1, 0], [1]], [[0.5, 0.4]], [[2, -1]], [[math.nan, 1.0]], [["a", "b"]]])
def test_refuses_what_is_not_a_channel(matrix):
    with pytest.raises(ParameterError, match="matrix"):
        Channel(matrix)


def test_refuses_claims_pairs_and_priors_that_do_not_fit():
    channel = flip(Fraction(1, 3))
    with pytest.raises(ParameterError, match="convert"):
        channel.verify(Concentrated(0.1))
    with pytest.raises(ParameterError, match="pairs"):
        channel.profile(0.1, [(0, 2)])
    with pytest.raises(ParameterError, match="prior"):
        channel.mutual_information([1.0])
    with pytest.raises(ParameterError, match="inputs"):
        channel.compose(Channel([[1]]))
