"""The exponential mechanism and permute-and-flip on popular items: exact laws, losses, draws, audits, refusals."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracle import Oracle, loss, permuted_law, renyi

from sfumato.auditing import audit
from sfumato.errors import ParameterError, UnsupportedQuery
from sfumato.mechanisms import Exponential, PermuteAndFlip
from sfumato.mechanisms.selection import exponential, permute_and_flip
from sfumato.privacy.adjacency import AddRemove, Person, Replace, Row
from sfumato.privacy.guarantees import Approximate, Concentrated, Pure
from sfumato.queries import bind, top
from sfumato.randomness import seeded
from sfumato.spaces import Categories, Subsets
from sfumato.spaces.schema import Schema
from statistical import assert_law

ITEMS = ("a", "b", "c")
SETS = [frozenset(some) for k in range(4) for some in itertools.combinations(range(3), k)]


def question(k=1, unit=None, adjacency=None, keys=()):
    columns = {"h": Subsets(ITEMS, cap=3), "c": Categories(["x", "y"])}
    schema = Schema(columns, unit or Row(), adjacency or AddRemove(), size=5)
    return bind(top("h", k).by(*keys), schema)


def counts(rows):
    return np.array([[sum(i in row for row in rows) for i in range(3)]])


KINDS = (Exponential, PermuteAndFlip)


@pytest.fixture
def laws(monkeypatch):
    """The exact law of a release of either mechanism."""
    oracle = Oracle()
    monkeypatch.setattr(exponential, "choose", oracle.choose)
    monkeypatch.setattr(permute_and_flip, "permute_and_flip", oracle.permute_and_flip)
    return lambda mechanism, scores: oracle.law(lambda: tuple(mechanism.release(scores, None).reshape(-1).tolist()))


# claims


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("k", "rows", "adjacency", "epsilon"), [
    (1, 1, AddRemove(), 0.5), (3, 1, AddRemove(), 1.5), (1, 1, Replace(), 1.0), (2, 3, Replace(), 6.0)])  # fmt: skip
def test_cost_is_rate_times_spread_times_choices(kind, k, rows, adjacency, epsilon):
    unit = Row() if rows == 1 else Person("id", rows)
    assert kind(question(k, unit, adjacency), 0.5).guarantee() == Pure(epsilon)
    assert kind(question(k, unit, adjacency), 0.5).guarantee(2) == Pure(2 * epsilon)


def test_the_law_is_exponential_in_the_score(laws):
    law = laws(Exponential(question(), 0.7), np.array([[5, 3, 0]]))
    weights = [math.exp(0.7 * q) for q in (5, 3, 0)]
    assert [law[(i,)] for i in range(3)] == pytest.approx([w / sum(weights) for w in weights])


def test_permute_and_flip_is_the_noisy_maximum_with_exponential_noise():
    """A second route to the same law, by integrating over the winner's noise [DingEtAl2021]."""
    penalties, rate = (0.0, 1.0, 3.0), 0.8
    noise = np.linspace(0, 60, 600_001)
    density = rate * np.exp(-rate * noise)
    below = [
        [1 - np.exp(-rate * np.maximum(noise - penalties[i] + penalties[j], 0)) for j in range(3)] for i in range(3)
    ]
    wins = [np.trapezoid(density * np.prod([below[i][j] for j in range(3) if j != i], axis=0), noise) for i in range(3)]
    assert permuted_law(penalties, rate) == pytest.approx(wins, abs=1e-6)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("k", [1, 2])
def test_no_neighbor_of_any_small_table_costs_more_than_the_claim(laws, kind, k):
    mechanism = kind(question(k), 0.9)
    worst = worst_replaced = 0.0
    for rows in itertools.combinations_with_replacement(SETS, 2):
        here = laws(mechanism, counts(rows))
        one_more = [laws(mechanism, counts((*rows, row))) for row in SETS]
        worst = max(worst, *(loss(here, other) for other in one_more))
        worst_replaced = max(worst_replaced, *(loss(a, b) for a, b in itertools.combinations(one_more, 2)))
    claim = mechanism.guarantee().epsilon
    assert 0.5 * claim < worst <= claim + 1e-12
    assert worst < worst_replaced <= 2 * claim + 1e-12


def test_the_concentrated_claim_of_the_exponential_mechanism_holds_for_every_order(laws):
    mechanism = Exponential(question(2), 1.5, concentrated=True)
    rho = mechanism.guarantee().rho
    assert rho == pytest.approx(2 * 1.5**2 / 8)
    for rows in itertools.combinations_with_replacement(SETS, 2):
        here = laws(mechanism, counts(rows))
        for row in SETS:
            other = laws(mechanism, counts((*rows, row)))
            for order in (1.01, 2.0, 10.0, 100.0):
                assert renyi(here, other, order) <= order * rho + 1e-12


def test_half_the_spread_would_be_wrong(laws):
    """The negative control: twice the rate breaks the claim on a table that is easy to find."""
    claim, twice = Exponential(question(), 0.9).guarantee().epsilon, Exponential(question(), 1.8)
    assert loss(laws(twice, counts([{0}, {0}])), laws(twice, counts([{0}, {0}, {1}]))) > claim


@settings(deadline=None)
@given(st.lists(st.integers(0, 12), min_size=2, max_size=5), st.floats(0.05, 3))
def test_permute_and_flip_is_never_worse(penalties, rate):
    weights = [math.exp(-rate * (x - min(penalties))) for x in penalties]
    plain = sum(x * w for x, w in zip(penalties, weights, strict=True)) / sum(weights)
    flipped = sum(x * p for x, p in zip(penalties, permuted_law(penalties, rate), strict=True))
    assert flipped <= plain + 1e-12


def test_error_bounds_the_chance_of_a_bad_choice(laws):
    for kind in KINDS:
        mechanism = kind(question(), 0.5)
        for scores in ((20, 19, 0), (20, 10, 10), (9, 9, 0)):
            law = laws(mechanism, np.array([scores]))
            lost = sum(p for (i,), p in law.items() if max(scores) - scores[i] > mechanism.error(0.1))
            assert lost <= 0.1


# laws


@settings(deadline=None)
@given(st.floats(1e-3, 50), st.integers(1, 3), st.integers(1, 7), st.sampled_from([AddRemove(), Replace()]))
def test_calibrate_never_exceeds_its_target(epsilon, k, rows, adjacency):
    query = question(k, Person("id", rows), adjacency)
    for kind in KINDS:
        for target in (Pure(epsilon), Approximate(epsilon, 1e-9)):
            claim = kind.calibrate(query, target).guarantee()
            assert claim.implies(target)
            assert claim.epsilon >= epsilon * (1 - 1e-15)
    assert Exponential.calibrate(query, Concentrated(epsilon)).guarantee().implies(Concentrated(epsilon))


# distribution


@pytest.mark.parametrize("kind", KINDS)
def test_draws_follow_the_exact_law(kind):
    """20,000 draws of one item refuse a rate 15 % off: the statistic's mean is above 100 with 2 degrees."""
    scores, rng = np.array([[8, 7, 5]]), seeded(16)
    mechanism = kind(question(), 0.5)
    draws = np.array([mechanism.release(scores, rng)[0, 0] for _ in range(20_000)])

    def law(rate):
        penalties = [0, 1, 3]
        weights = [math.exp(-rate * x) for x in penalties]
        table = permuted_law(penalties, rate) if kind is PermuteAndFlip else [w / sum(weights) for w in weights]
        return lambda z: table[z] if 0 <= z < 3 else 0.0

    assert_law(draws, law(0.5), (law(0.4), law(0.6)))


# audit


def attacked(kind, rate):
    mechanism = kind(question(2), rate)
    return lambda data, rng: mechanism.release(np.array([data]), rng)[0].tolist()


PAIR = ([3, 3, 3], [3, 4, 4])


@pytest.mark.parametrize("kind", KINDS)
def test_audit_does_not_refute_the_claim(kind):
    assert not audit(attacked(kind, 0.5), Pure(1.0), pairs=[PAIR], seconds=0.4, generator=seeded).refuted


@pytest.mark.parametrize("kind", KINDS)
def test_audit_catches_half_the_noise(kind):
    assert audit(attacked(kind, 2.0), Pure(1.0), pairs=[PAIR], seconds=5, generator=seeded).refuted


# refusals


@pytest.mark.parametrize("kind", KINDS)
def test_refuses_bad_rates_and_answers(kind):
    for rate in (0.0, -1.0, math.nan, math.inf):
        with pytest.raises(ParameterError, match="rate"):
            kind(question(), rate)
    for shape in ((3,), (2, 3), (1, 4)):
        with pytest.raises(ParameterError, match="3 candidates in 1 cells") as refusal:
            kind(question(), 1.0).release(np.full(shape, 31337), seeded(1))
        assert "31337" not in str(refusal.value)


def test_refuses_targets_it_cannot_meet():
    with pytest.raises(UnsupportedQuery, match="pure or approximate"):
        PermuteAndFlip.calibrate(question(), Concentrated(1.0))
    with pytest.raises(UnsupportedQuery, match="epsilon > 0 or rho > 0"):
        Exponential.calibrate(question(), Pure(0.0))


@pytest.mark.parametrize("mechanism", [Exponential, PermuteAndFlip])
def test_plain_scores_are_refused_in_words(mechanism):
    with pytest.raises(ParameterError, match="query must be a question about popular items"):
        mechanism.calibrate([3, 1, 2], Pure(1.0))
