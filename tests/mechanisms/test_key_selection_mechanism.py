"""Keys by coins of their own, and keys with counts by one noise: exact claims, the best chances, intervals, audits."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracle import hockey_stick

from sfumato.auditing import audit
from sfumato.bounds import certify
from sfumato.bounds.climb import raised
from sfumato.errors import ParameterError, UnsupportedQuery
from sfumato.mechanisms import CountedKeys, DiscoveredKeys, KeyDiscovery, KeySelection, mechanism_from
from sfumato.mechanisms.selection.key_selection import ONE, chances
from sfumato.planner import best, options
from sfumato.privacy.adjacency import AddRemove, Person, Replace, Row
from sfumato.privacy.guarantees import Approximate, Pure
from sfumato.queries import bind, count, discovered, mean
from sfumato.queries.keys import Found
from sfumato.randomness import seeded
from sfumato.spaces import Integers, Texts
from sfumato.spaces.schema import Schema
from statistical import SAMPLES


def question(rows=1, adjacency=None, query=None):
    schema = Schema({"k": Texts(9), "x": Integers(0, 9)}, Row() if rows == 1 else Person("id", rows),
                    adjacency or AddRemove(), size=10_000)  # fmt: skip
    return bind((query or count()).by(discovered("k")), schema)


USUAL = Approximate(1.0, 1e-6)


# claims


@pytest.mark.parametrize(
    ("epsilon", "delta", "least"), [(1.0, 1e-6, 16), (0.5, 1e-7, 35), (2.0, 1e-6, 9), (0.1, 1e-6, 132)]
)
def test_names_are_found_as_early_as_any_mechanism_can(epsilon, delta, least):
    mechanism = KeySelection.calibrate(question(), Approximate(epsilon, delta))
    assert mechanism.guarantee() == Approximate(epsilon, delta)
    assert mechanism.error(0.05) == least
    assert certify(question(), mechanism).factor == 1.0


@pytest.mark.parametrize("epsilon", [999.0, 1e3, 1e7, 1e300])
def test_any_epsilon_has_its_chances(epsilon):
    found = chances(epsilon, 1e-6)
    assert found == chances(1e3, 1e-6)
    assert found[:2] == (0, math.floor(Fraction(1e-6) * ONE))
    assert found[-1] == ONE
    assert len(found) <= 4
    assert (
        KeySelection.calibrate(question(), Approximate(epsilon, 1e-6)).guarantee().implies(Approximate(epsilon, 1e-6))
    )


def test_keys_with_counts_are_found_in_one_stage():
    mechanism = best(question(), USUAL)
    assert isinstance(mechanism, CountedKeys)
    assert mechanism.error(0.05) == 17  # two stages: 33
    assert math.sqrt(mechanism.noise.variance) == pytest.approx(1.36, abs=0.01)  # two stages: 2.80
    assert certify(question(), mechanism).factor <= 1.1
    assert mechanism.guarantee().implies(USUAL)


def test_two_stages_remain_for_other_answers_and_several_keys_a_unit():
    for asked in (question(query=mean("x")), question(3)):
        mechanism = best(asked, USUAL)
        assert isinstance(mechanism, DiscoveredKeys)
        assert isinstance(mechanism.discovery, KeySelection)
        assert mechanism.error() < KeyDiscovery.calibrate(asked, Approximate(0.5, 1e-6)).error()
    assert [option.name for option in options(question(), USUAL)][-1] == "key-selection then laplace"


@pytest.mark.parametrize("moved", [1, 2])
@pytest.mark.parametrize(("epsilon", "delta"), [(0.7, 0.05), (2.0, 0.01)])
def test_no_neighbors_cost_more_than_the_claim_and_some_cost_all_of_it(epsilon, delta, moved):
    """Exact laws of several keys at once, each of whose holders grows or falls by one."""
    mechanism = KeySelection(question(moved), epsilon, delta)
    claim, table = mechanism.guarantee(), [Fraction(p, ONE) for p in chances(epsilon, delta)]
    worst = 0.0
    for before in itertools.product(range(len(table) - 1), repeat=moved):
        laws = []
        for more in (0, 1):
            coins = [{1: float(table[k + more]), 0: float(1 - table[k + more])} for k in before]
            outputs = itertools.product(*(coin.items() for coin in coins))
            laws.append({tuple(v for v, _ in some): math.prod(p for _, p in some) for some in outputs})
        worst = max(worst, hockey_stick(laws[0], laws[1], claim.epsilon), hockey_stick(laws[1], laws[0], claim.epsilon))
    assert worst <= claim.delta * (1 + 1e-9)
    assert worst >= claim.delta * (1 - 1e-6)


# laws


@settings(deadline=None, max_examples=60)
@given(st.floats(0.02, 8), st.floats(1e-12, 0.5))
def test_chances_are_the_largest_that_are_safe(epsilon, delta):
    """Every step keeps both inequalities exactly, and loses at most 2^-100 of the recursion."""
    table = [Fraction(p, ONE) for p in chances(epsilon, delta)]
    least, most = Fraction(math.exp(epsilon)) * (1 + Fraction(1, 2**50)), Fraction(delta)
    assert table[0] == 0
    assert table[-1] == 1
    for p, q in itertools.pairwise(table):
        assert p <= q <= least * p + most
        assert 1 - p <= least * (1 - q) + most
        assert float(q) == pytest.approx(raised(float(p), epsilon, delta), rel=1e-9, abs=1e-12)


@settings(deadline=None, max_examples=60)
@given(st.floats(0.05, 8), st.floats(1e-12, 0.3), st.integers(1, 6), st.sampled_from([AddRemove(), Replace()]))
def test_calibrate_never_exceeds_its_target(epsilon, delta, rows, adjacency):
    target = Approximate(epsilon, delta)
    assert KeySelection.calibrate(question(rows, adjacency), target).guarantee().implies(target)
    assert CountedKeys.calibrate(question(1, adjacency), target).guarantee().implies(target)


# distribution


def test_coins_follow_the_chances():
    mechanism = KeySelection(question(), 0.5, 0.02)
    table = chances(0.5, 0.02)
    for held in range(len(table) + 2):
        shown = mechanism.release(np.full(SAMPLES // 5, held), seeded(held)).mean()
        chance = table[min(held, len(table) - 1)] / ONE
        assert abs(shown - chance) <= 5 * math.sqrt(chance * (1 - chance) * 5 / SAMPLES) + 1e-12


@pytest.mark.parametrize("true", [1, 4, 8, 12])
def test_intervals_hold_given_that_the_key_is_shown(true):
    """Threshold 8: a plain interval would miss every shown key of one holder."""
    mechanism = CountedKeys(question(), KeyDiscovery(question(), 1.5, 8))
    drawn = true + mechanism.noise.law.sample(200_000, seeded(true))
    shown = drawn[drawn >= 8][:4000]
    asked = mechanism.over(("a",)).query
    for beta in (0.05, 0.3):
        low, high = asked.interval(shown, mechanism.noise, beta)
        missed = float(((low > true) | (high < true)).mean())
        assert missed <= beta + 5 * math.sqrt(beta * (1 - beta) / len(shown))
    plain = mechanism.noise.quantile(0.05)
    if true == 1:
        assert (np.abs(shown - true) > plain).all()


class View:
    def __init__(self, texts, units):
        self.held = texts, np.array(units)

    def units(self):
        return self.held


def test_keys_come_sorted_with_their_counts_and_are_read_again():
    asked, mechanism = question(), CountedKeys.calibrate(question(), USUAL)
    output = mechanism.release(View(["b", "a", "rare"], [900, 500, 1]), seeded(2))
    assert output.keys == ("a", "b")
    table = asked.read(output, mechanism).table()
    assert table["k"] == ["a", "b"]
    assert abs(table["estimate"][1] - 900) < 30
    assert mechanism_from(mechanism.to_record(), asked) == mechanism
    again = asked.restored(asked.stored(output))
    assert asked.read(again, mechanism).table() == table
    empty = asked.read(Found((), np.zeros(0, dtype=np.int64)), mechanism)
    assert empty.table()["estimate"] == []


# audit


def attacked(epsilon, delta):
    mechanism = KeySelection(question(), epsilon, delta)
    return lambda data, rng: mechanism.release(np.array(data), rng).tolist()


PAIRS = [([1], [2]), ([0], [1])]


def test_audit_does_not_refute_the_claim():
    assert not audit(attacked(1.0, 0.05), Approximate(1.0, 0.05), pairs=PAIRS, seconds=0.4, generator=seeded).refuted


def test_audit_catches_chances_that_grow_too_fast():
    assert audit(attacked(1.6, 0.1), Approximate(1.0, 0.05), pairs=PAIRS, seconds=5, generator=seeded).refuted


# refusals


def test_refuses_what_it_cannot_do():
    with pytest.raises(UnsupportedQuery, match="needs a delta"):
        KeySelection.calibrate(question(), Pure(1.0))
    with pytest.raises(ParameterError, match="delta of at least"):
        KeySelection(question(), 1.0, 1e-40)
    with pytest.raises(ParameterError, match="spend more epsilon"):
        KeySelection(question(), 1e-6, 1e-6)
    for asked in (question(2), question(query=mean("x"))):
        with pytest.raises(UnsupportedQuery, match="one stage"):
            CountedKeys.calibrate(asked, USUAL)
    with pytest.raises(ParameterError, match="shape") as refusal:
        KeySelection(question(), 1.0, 0.1).release(np.array([[31337]]), seeded(1))
    assert "31337" not in str(refusal.value)
