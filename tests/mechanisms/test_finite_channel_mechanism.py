"""The best channel of a record: exactly private in whole weights, as near as the bound allows, audited, refused."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato.accounting.channels import Channel
from sfumato.auditing import audit
from sfumato.bounds.randomizers import least_distance, line_losses, spread_out
from sfumato.errors import ParameterError, UnsupportedQuery
from sfumato.mechanisms import FiniteChannel
from sfumato.mechanisms.noise.finite_channel import ALL
from sfumato.mechanisms.sanitized.nearest import Nearest
from sfumato.privacy.guarantees import Approximate, Concentrated, Pure
from sfumato.randomness import seeded
from statistical import assert_law

LINE = line_losses((0, 1, 2, 3, 4))


def exact(mechanism):
    """The rational matrix, the chance of being shown included."""
    delta = Fraction(mechanism.delta)
    return Channel([
        [(1 - delta) * Fraction(weight, ALL) + delta * (x == y) for y, weight in enumerate(row)]
        for x, row in enumerate(mechanism.weights)
    ])  # fmt: skip


# claims
@pytest.mark.parametrize("target", [Pure(0.3), Pure(1.0), Approximate(1.0, 0.05), Approximate(2.0, 1e-6)])
def test_the_claim_is_the_exact_channels(target):
    mechanism = FiniteChannel.calibrate(LINE, target)
    assert mechanism.guarantee().implies(target)
    assert exact(mechanism).verify(mechanism.guarantee()).holds
    if isinstance(target, Pure):
        assert exact(mechanism).epsilon() == pytest.approx(target.epsilon, rel=1e-9)


def test_a_number_is_published_three_times_nearer_than_with_laplace_noise():
    near = Nearest.calibrate("x", sf.Integers(0, 100), Pure(1.0), 33)
    assert near.mean_error / near.diameter == pytest.approx(0.3173, abs=1e-3)
    assert near.mean_error / near.diameter <= 1.006 * least_distance(100, 1.0)


# laws
@given(st.integers(2, 12), st.integers(1, 9), st.floats(1e-3, 25), st.integers(0, 2**32))
@settings(max_examples=50, deadline=None)
def test_whole_weights_are_exactly_private(values, answers, epsilon, seed):
    losses = tuple(map(tuple, np.random.default_rng(seed).exponential(1, (values, answers)).tolist()))
    mechanism = FiniteChannel.calibrate(losses, Pure(epsilon))
    assert mechanism.guarantee().implies(Pure(epsilon))
    assert exact(mechanism).verify(mechanism.guarantee()).holds
    constant = np.array(losses).max(axis=0).min()
    assert mechanism.error() <= constant * (1 + 1e-5)


@given(st.integers(1, 5000), st.floats(0.05, 6), st.sampled_from([0.0, 1e-6, 0.2]), st.sampled_from([3, 9, 17]))
@settings(max_examples=25, deadline=None)
def test_the_stated_distance_is_the_worst_over_all_numbers(width, epsilon, delta, points):
    target = Approximate(epsilon, delta) if delta else Pure(epsilon)
    part = Nearest.calibrate("x", sf.Integers(0, width), target, points)
    numbers = np.arange(width + 1) if width < 200 else np.unique(np.linspace(0, width, 200).astype(int))
    places = np.array(part.places)
    at = np.abs(places[:, None] - numbers).argmin(axis=0)
    law = (1 - delta) * np.array(part.channel.weights, dtype=float)[at] / ALL + delta * np.eye(len(places))[at]
    mean = (law * np.abs(places - numbers[:, None])).sum(axis=1)
    assert mean.max() <= part.mean_error * (1 + 1e-9)
    if width < 200:
        assert mean.max() == pytest.approx(part.mean_error, rel=1e-9)


# distribution
def test_answers_follow_the_weights():
    """100,000 answers; an end that is 10 % rarer or likelier is refused."""
    mechanism = FiniteChannel.calibrate(line_losses((0, 1, 2)), Approximate(1.0, 0.1))
    answers = mechanism.release(np.full(100_000, 2), seeded(11))
    law = {y: float(p) for y, p in enumerate(exact(mechanism).rows[2])}
    wrong = tuple({**law, 2: law[2] * c, 0: law[0] + law[2] * (1 - c)} for c in (0.9, 1.1))
    assert_law(answers, lambda z: law.get(z, 0.0), tuple((lambda z, w=w: w.get(z, 0.0)) for w in wrong))


# audit
def attacked(mechanism):
    return lambda data, rng: mechanism.release(np.array([data]), rng).tolist()


def test_audit_does_not_refute_the_claim_and_catches_a_channel_of_more():
    claim = FiniteChannel.calibrate(LINE, Pure(1.0)).guarantee()
    true, false = (attacked(FiniteChannel.calibrate(LINE, Pure(epsilon))) for epsilon in (1.0, 1.6))
    assert not audit(true, claim, pairs=[(0, 4)], seconds=0.4, generator=seeded).refuted
    assert audit(false, claim, pairs=[(0, 4)], seconds=4, generator=seeded).refuted


# the door on plain numbers
def test_the_best_channel_of_a_finite_metric_space():
    tree = [[0, 2, 4, 4], [2, 0, 4, 4], [4, 4, 0, 2], [4, 4, 2, 0]]
    best = sf.reference.nearest(tree, Pure(1.5))
    assert 1 <= best.certificate.factor <= 1.0001
    drawn = best.release([0, 1, 2, 3] * 5, seeded(3))
    assert drawn.value.shape == (20,)
    assert drawn.guarantee.implies(Pure(1.5))
    assert "linear program" in best.certificate.words()


# refusals
def test_refuses_what_is_no_channel():
    with pytest.raises(ParameterError, match="add up"):
        FiniteChannel(((0.0, 1.0), (1.0, 0.0)), ((ALL, 1), (0, ALL)))
    with pytest.raises(ParameterError, match="one row a value"):
        FiniteChannel(((0.0, 1.0),), ((ALL, 0), (0, ALL)))
    with pytest.raises(ParameterError, match="sometimes shown"):
        FiniteChannel(((0.0,), (1.0,)), ((ALL,), (ALL,)), 0.1)
    with pytest.raises(UnsupportedQuery, match="pure or approximate"):
        FiniteChannel.calibrate(LINE, Concentrated(1.0))
    with pytest.raises(ParameterError, match="tells them apart"):
        FiniteChannel(((0.0, 1.0), (1.0, 0.0)), ((ALL, 0), (0, ALL)))


@pytest.mark.parametrize("losses", [[], [[1.0]], [[0, 1], [1]], [[0, math.nan], [1, 0]], [["a", "b"], ["c", "d"]]])
def test_refuses_what_are_no_losses(losses):
    with pytest.raises(ParameterError, match="losses"):
        sf.reference.nearest(losses, Pure(1.0))


def test_refuses_positions_beyond_the_values_without_printing_them():
    with pytest.raises(ParameterError, match="positions from 0 to 4") as refusal:
        sf.reference.nearest(LINE, Pure(1.0)).release([7], seeded(1))
    assert "7" not in str(refusal.value)


def test_places_of_a_narrow_range_are_its_numbers():
    assert spread_out(4) == (0, 1, 2, 3, 4)
