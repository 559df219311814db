"""Key discovery: exact deltas with the mass at the threshold, both adjacencies, audit, refusals."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracle import hockey_stick

from sfumato.auditing import audit
from sfumato.errors import ParameterError, UnsupportedQuery
from sfumato.mechanisms import KeyDiscovery
from sfumato.privacy.adjacency import AddRemove, Person, Replace, Row
from sfumato.privacy.guarantees import Approximate, Concentrated, Pure
from sfumato.queries import bind, count, discovered
from sfumato.randomness import seeded
from sfumato.sampling import DiscreteLaplace
from sfumato.spaces import Texts
from sfumato.spaces.schema import Schema
from statistical import SAMPLES, assert_law


def question(rows=1, adjacency=None):
    unit = Row() if rows == 1 else Person("id", rows)
    return bind(count().by(discovered("k")), Schema({"k": Texts(9)}, unit, adjacency or AddRemove(), size=9))


REACH = 60


def law_of(held, scale, threshold):
    """The exact law of one key's output: 0 where withheld; tails beyond REACH are one outcome."""
    if held == 0:
        return {0: 1.0}
    noise = DiscreteLaplace(scale)
    shown = {v: noise.pmf(v - held) for v in range(threshold, REACH)}
    shown[REACH] = noise.tail(REACH - held - 1) / 2
    return {0: 1 - math.fsum(shown.values()), **shown}


def product(*laws):
    keys = itertools.product(*(law.items() for law in laws))
    return {tuple(v for v, _ in some): math.prod(p for _, p in some) for some in keys}


# claims


def test_delta_counts_the_mass_at_the_threshold():
    mechanism = KeyDiscovery(question(), 2.0, 9)
    exact = hockey_stick(law_of(1, 2.0, 9), law_of(0, 2.0, 9), 0.5)
    assert mechanism.guarantee().epsilon == 0.5
    assert mechanism.guarantee().delta == pytest.approx(exact, rel=1e-9)
    without = DiscreteLaplace(2.0).tail(8) / 2  # P(1 + Z > T): the planted omission
    assert without < 0.7 * exact


@pytest.mark.parametrize("m", [1, 2, 3])
@pytest.mark.parametrize(("scale", "threshold"), [(1.0, 2), (1.0, 5), (3.0, 2), (4.0, 6)])
def test_one_unit_added_costs_at_most_the_claim(m, scale, threshold):
    claim = KeyDiscovery(question(m), scale, threshold).guarantee()
    worst = 0.0
    for before in itertools.combinations_with_replacement((0, 1, 4), m):
        sizes = [product(*(law_of(h + more, scale, threshold) for h in before)) for more in (0, 1)] if m < 3 else None
        if sizes is None:  # three keys: only new ones, by the closed form
            d = 1 - law_of(1, scale, threshold)[0]
            worst = max(worst, 1 - (1 - d) ** 3)
            continue
        worst = max(worst, hockey_stick(*sizes, claim.epsilon))
    assert worst <= claim.delta * (1 + 1e-9)
    assert worst >= claim.delta * (1 - 1e-6)


@pytest.mark.parametrize(("scale", "threshold"), [(1.0, 2), (2.0, 4), (6.0, 2)])
def test_replacement_doubles_epsilon_and_not_delta(scale, threshold):
    """A unit's key a is exchanged for a key b, each held by nobody or by some others; and the same for two keys."""
    one, two = (KeyDiscovery(question(m, Replace()), scale, threshold).guarantee() for m in (1, 2))
    assert one.epsilon == pytest.approx(2 / scale)
    assert one.delta == KeyDiscovery(question(), scale, threshold).guarantee().delta
    for a, b in itertools.product((0, 1, 3), repeat=2):
        held = [product(law_of(a + x, scale, threshold), law_of(b + 1 - x, scale, threshold)) for x in (0, 1)]
        assert hockey_stick(*held, one.epsilon) <= one.delta * (1 + 1e-9)
        assert hockey_stick(*held, two.epsilon) <= two.delta * (1 + 1e-9)


@pytest.mark.parametrize(("epsilon", "delta"), [(1.0, 1e-6), (0.3, 1e-9), (5.0, 0.01)])
def test_calibration_takes_the_least_threshold(epsilon, delta):
    mechanism = KeyDiscovery.calibrate(question(3), Approximate(epsilon, delta))
    assert mechanism.guarantee().implies(Approximate(epsilon, delta))
    if mechanism.threshold > 2:
        lower = KeyDiscovery(question(3), mechanism.scale, mechanism.threshold - 1)
        assert lower.guarantee().delta > delta


def test_error_is_where_keys_are_found():
    mechanism = KeyDiscovery(question(), 2.0, 9)
    held = int(mechanism.error(0.05))
    assert law_of(held, 2.0, 9)[0] <= 0.05 < law_of(held - 2, 2.0, 9)[0]


# laws


@settings(max_examples=60, deadline=None)
@given(st.floats(1e-2, 20), st.floats(1e-12, 0.3), st.integers(1, 6), st.sampled_from([AddRemove(), Replace()]))
def test_calibrate_never_exceeds_its_target(epsilon, delta, rows, adjacency):
    target = Approximate(epsilon, delta)
    assert KeyDiscovery.calibrate(question(rows, adjacency), target).guarantee().implies(target)


# distribution


def test_shown_counts_follow_the_exact_law():
    shown = KeyDiscovery(question(), 3.0, 4).release(np.full(SAMPLES, 5), seeded(18))

    def law(scale):
        table = law_of(5, scale, 4)
        return lambda z: table.get(z, 0.0) if z < REACH else 0.0

    assert_law(shown, law(3.0), (law(2.7), law(3.3)))


# audit


def attacked(threshold):
    """What is shown: how many keys, and their counts."""
    mechanism = KeyDiscovery(question(), 1.0, threshold)
    return lambda data, rng: sum(mechanism.release(np.array(data, dtype=np.int64), rng).tolist())


def test_audit_does_not_refute_the_claim():
    claim = KeyDiscovery(question(), 1.0, 4).guarantee()
    assert not audit(attacked(4), claim, pairs=[([], [1]), ([4], [5])], seconds=0.4, generator=seeded).refuted


def test_audit_catches_the_omitted_mass_at_the_threshold():
    claim = KeyDiscovery(question(), 1.0, 4).guarantee()
    planted = Approximate(claim.epsilon, DiscreteLaplace(1.0).tail(3) / 2)
    assert audit(attacked(4), planted, pairs=[([], [1])], seconds=6, generator=seeded).refuted


# refusals


@pytest.mark.parametrize("threshold", [1, 0, -3, 2.5])
def test_refuses_a_threshold_that_one_unit_reaches(threshold):
    with pytest.raises(ParameterError, match="threshold"):
        KeyDiscovery(question(), 1.0, threshold)


@pytest.mark.parametrize("target", [Pure(1.0), Concentrated(1.0), Approximate(1.0, 0.0)])
def test_refuses_targets_without_a_delta(target):
    with pytest.raises(UnsupportedQuery, match="needs a delta"):
        KeyDiscovery.calibrate(question(), target)


def test_refuses_an_answer_of_another_shape_without_printing_it():
    with pytest.raises(ParameterError, match="shape") as refusal:
        KeyDiscovery(question(), 1.0, 3).release(np.array([[31337]]), seeded(1))
    assert "31337" not in str(refusal.value)
