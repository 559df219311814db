"""Quantiles: the exact law of every release of tiny tables, ties, far points; claims, audit, refusals."""

import itertools
import math
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracle import Oracle, loss, renyi
from scipy import stats

from sfumato.auditing import audit
from sfumato.errors import ParameterError, UnsupportedQuery
from sfumato.mechanisms import RecursiveQuantiles
from sfumato.mechanisms.selection import recursive_quantiles as module
from sfumato.mechanisms.selection.rank_errors import Chain, rank_error
from sfumato.privacy.adjacency import AddRemove, Person, Replace, Row
from sfumato.privacy.guarantees import Approximate, Concentrated, Pure
from sfumato.queries import bind, quantiles
from sfumato.queries.ranks import Ranks
from sfumato.randomness import seeded
from sfumato.spaces import Categories, Integers
from sfumato.spaces.lattice import Lattice
from sfumato.spaces.schema import Schema
from statistical import assert_law
from thinned import thinned

POINTS = 4


def question(probabilities, low=0, high=POINTS - 1, unit=None, adjacency=None, keys=()):
    columns = {"x": Integers(low, high), "c": Categories(["a", "b"])}
    schema = Schema(columns, unit or Row(), adjacency or AddRemove(), size=10)
    return bind(quantiles("x", probabilities).by(*keys), schema)


def ranked(rows):
    values, counts = np.unique(np.array(rows, dtype=np.int64), return_counts=True)
    return Ranks.counted(values, counts.astype(np.int64))


def reference(rows, points, p, rate):
    """The law of one quantile by its definition, in plain arithmetic."""
    n, width = len(rows), 2 * max(p, 1 - p)
    penalties = [max(0, sum(r < v for r in rows) - p * n, sum(r > v for r in rows) - (1 - p) * n) for v in points]
    weights = [math.exp(-rate * float(penalty / width)) for penalty in penalties]
    return [w / math.fsum(weights) for w in weights]


@pytest.fixture
def laws(monkeypatch):
    """The exact law of a release: every choice and every division of ties enumerated, as the code makes them."""
    oracle = Oracle()
    monkeypatch.setattr(module, "choose", oracle.choose)
    monkeypatch.setattr(module, "uniform_integers", oracle.uniform_integers)
    monkeypatch.setattr(module, "PLACES", 3)

    def law(mechanism, *cells):
        ranks = [ranked(rows) for rows in cells]
        return oracle.law(lambda: tuple(mechanism.release(ranks, None).reshape(-1).tolist()))

    return law


def multisets(most):
    return [rows for n in range(most + 1) for rows in itertools.combinations_with_replacement(range(POINTS), n)]


def added(rows, row):
    return tuple(sorted((*rows, row)))


# claims


@pytest.mark.parametrize(("count", "levels"), [(1, 1), (2, 2), (3, 2), (4, 3), (7, 3), (9, 4)])
def test_cost_is_a_choice_a_level_and_a_quarter_for_each_division(count, levels):
    mechanism = RecursiveQuantiles(question([i / (count + 1) for i in range(1, count + 1)]), 0.5)
    assert mechanism.levels == levels
    assert mechanism.guarantee(2) == Pure(levels + (levels - 1) / 4)


@pytest.mark.parametrize(("adjacency", "rows", "spread"), [(AddRemove(), 1, 1), (Replace(), 1, 2), (AddRemove(), 3, 3)])
def test_the_median_costs_one_half_a_row_and_replacement_twice_that(adjacency, rows, spread):
    """Document 004: sensitivity 1/2 and 1, and the exponential mechanism at rate c costs 2 c times that."""
    unit = Row() if rows == 1 else Person("id", rows)
    mechanism = RecursiveQuantiles(question([0.5], unit=unit, adjacency=adjacency), 0.5)
    assert mechanism.guarantee() == Pure(0.5 * spread)


@pytest.mark.parametrize("p", [0.1, 0.5, 0.9])
def test_every_release_of_every_tiny_table_costs_a_row_at_most_the_claim(laws, p):
    mechanism = RecursiveQuantiles(question([p]), 1.0)
    known = {rows: laws(mechanism, rows) for rows in multisets(6)}
    losses = [loss(known[rows], known[added(rows, x)]) for rows in multisets(5) for x in range(POINTS)]
    assert max(losses) <= mechanism.guarantee().epsilon + 1e-12


@pytest.mark.parametrize("p", [0.1, 0.5, 0.9])
def test_the_claim_is_nearly_attained(laws, p):
    mechanism = RecursiveQuantiles(question([p], high=40), 1.0)
    tables = [((1,) * 9 + (2,), 40), ((39,) + (40,) * 9, 0), ((1,) * 6 + (40,) * 4, 40)]
    assert max(loss(laws(mechanism, rows), laws(mechanism, added(rows, x))) for rows, x in tables) > 0.9


def test_without_the_width_the_claim_would_be_wrong(laws, monkeypatch):
    """The negative control: the same rate for p = 0.9 as for the median costs more than it says."""
    wrong = property(lambda self: 1.0)
    monkeypatch.setattr(module._Branch, "step", lambda self, rate: rate / self.p.denominator)
    monkeypatch.setattr(module._Branch, "width", wrong)
    mechanism = RecursiveQuantiles(question([0.9], high=20), 1.0)
    one, other = (1,) * 9 + (2,), (1,) * 9 + (2, 20)
    assert loss(laws(mechanism, one), laws(mechanism, other)) > 1.5


@pytest.mark.parametrize("probabilities", [(0.25, 0.5, 0.75), (0.1, 0.2, 0.9), (0.5, 0.95)])
def test_recursion_costs_at_most_the_claim_for_all_neighbors(laws, probabilities):
    mechanism = RecursiveQuantiles(question(probabilities), 1.0)
    known = {rows: laws(mechanism, rows) for rows in multisets(4)}
    claim = mechanism.guarantee().epsilon
    for rows in multisets(3):
        for x in range(POINTS):
            assert loss(known[rows], known[added(rows, x)]) <= claim + 1e-12
            replaced = [added(rows, y) for y in range(POINTS)]
            assert max(loss(known[added(rows, x)], known[other]) for other in replaced) <= 2 * claim + 1e-12
    for rows in multisets(2):  # persons with two rows
        for pair in itertools.combinations_with_replacement(range(POINTS), 2):
            assert loss(known[rows], known[added(added(rows, pair[0]), pair[1])]) <= 2 * claim + 1e-12


def test_concentrated_recursion_costs_at_most_the_claim(laws):
    mechanism = RecursiveQuantiles(question((0.25, 0.5, 0.75)), 1.0, concentrated=True)
    known = {rows: laws(mechanism, rows) for rows in multisets(3)}
    rho = mechanism.guarantee().rho
    for rows in multisets(2):
        for x in range(POINTS):
            for order in (1.01, 2.0, 8.0, 64.0):
                assert renyi(known[rows], known[added(rows, x)], order) <= order * rho + 1e-12


@pytest.mark.heavy
def test_a_row_that_moves_between_cells_costs_two_rows(laws):
    """The claim of replacement, two rows, covers it."""
    mechanism = RecursiveQuantiles(question([0.9], high=20, adjacency=Replace(), keys=("c",)), 1.0)
    rows, claim = (1,) * 9 + (2,), mechanism.guarantee().epsilon
    assert 0.9 < loss(laws(mechanism, rows, added(rows, 20)), laws(mechanism, added(rows, 20), rows)) <= claim + 1e-12
    for here, there, x in itertools.product([(), (0,), (0, 20)], [(), (7, 7)], (0, 9, 20)):
        assert loss(laws(mechanism, here, added(there, x)), laws(mechanism, added(here, x), there)) <= claim + 1e-12


def test_the_law_of_one_quantile_is_its_definition(laws):
    for rows, p in itertools.product([(), (0,), (1, 1, 3), (0, 0, 0, 3), (2, 2, 2, 2)], (0.1, 0.5, 0.75)):
        law = laws(RecursiveQuantiles(question([p]), 0.7), rows)
        expected = reference(rows, range(POINTS), Fraction(str(p)), 0.7)
        assert [law[(v,)] for v in range(POINTS)] == pytest.approx(expected)


def exact_quantiles(rows, probabilities):
    ordered = sorted(rows)
    return [ordered[min(len(ordered) - 1, math.ceil(p * len(ordered)) - 1)] for p in probabilities]


@pytest.mark.parametrize(
    "rows",
    [
        [7] * 40_000,
        [0] * 12_000 + [50] * 28_000,
        [0] * 4_000 + [7] * 32_000 + [90] * 4_000,
        [i % 97 for i in range(40_000)],
    ],
)
def test_ties_of_any_weight_give_the_right_quantiles(rows):
    """Ranks are off by at most `tied_error`: with such heavy ties the values are exactly right but at edges of ties."""
    probabilities = [0.05, 0.15, 0.25, 0.35, 0.5, 0.62, 0.74, 0.85, 0.95]
    mechanism = RecursiveQuantiles.calibrate(question(probabilities, high=100), Pure(8.0))
    found = mechanism.release([ranked(rows)], seeded(3))[0]
    counts = Counter(rows)
    slack = mechanism.tied_error(1e-6) + max(counts.values()) * mechanism.levels / (2 * module.PLACES)
    for p, v in zip(probabilities, found.tolist(), strict=True):
        below, upto = sum(c for x, c in counts.items() if x < v), sum(c for x, c in counts.items() if x <= v)
        assert below - slack <= p * len(rows) <= upto + slack
    if len(counts) < 4:
        assert found.tolist() == exact_quantiles(rows, probabilities)


def test_the_rank_error_of_one_quantile_is_within_its_bound():
    rows = np.arange(1000)
    mechanism = RecursiveQuantiles(question([0.3], high=999), 0.2)
    rng = seeded(4)
    errors = [abs(int(mechanism.release([ranked(rows)], rng)[0, 0]) - 300) for _ in range(400)]
    assert np.mean(np.array(errors) > mechanism.error(0.05)) <= 0.05
    assert np.mean(errors) < 2 * 1.4 / 0.2  # two-sided exponential with scale w / rate = 7


# laws


@settings(deadline=None)
@given(st.floats(1e-3, 50), st.integers(1, 12), st.integers(1, 5))
def test_calibrate_never_exceeds_its_target(epsilon, count, rows):
    query = question([i / (count + 1) for i in range(1, count + 1)], unit=Person("id", rows), adjacency=Replace())
    for target in (Pure(epsilon), Concentrated(epsilon), Approximate(epsilon, 1e-6)):
        claim = RecursiveQuantiles.calibrate(query, target).guarantee()
        assert claim.implies(target)
        spent = claim.rho / target.rho if isinstance(claim, Concentrated) else claim.epsilon / epsilon
        assert spent >= 1 - 1e-14


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(0, 60), max_size=40), st.floats(0.01, 0.99), st.integers(1, 30), st.integers(0, 10**6))
def test_a_window_leaves_out_only_penalties_above_its_slack(rows, p, slack, seed):
    ranks, share = ranked(rows), Fraction(p).limit_denominator(1000)
    rng = np.random.default_rng(seed)
    low, high = sorted(rng.integers(0, 61, 2).tolist())
    start, stop = int(np.sum(np.array(rows) < low)), int(np.sum(np.array(rows) <= high))
    node = module._Node(start, max(start, stop), low, high)
    window = module._Window.around(ranks, node, share, slack)
    inside = [int(s) + i for s, c in zip(window.starts, window.counts, strict=True) for i in range(int(c))]
    penalties = np.repeat(window.penalties, window.counts)
    outside = [window.outside_point(node, i) for i in range(window.outside)]
    assert sorted(inside + outside) == list(range(low, high + 1))
    assert [module._penalty(ranks, node, v, share) for v in inside] == penalties.tolist()
    assert all(module._penalty(ranks, node, v, share) > slack * share.denominator for v in outside)


@settings(deadline=None)
@given(st.lists(st.floats(allow_nan=True, allow_infinity=True), max_size=30))
def test_ranks_of_any_array_follow_the_lattice(numbers):
    lattice = Lattice.between(-1, 1, 0.25)
    array = np.array(numbers, dtype=np.float64)
    kept = array.copy()
    ranks = Ranks.of(array, lattice)
    expected = [lattice.index(x) for x in numbers if not math.isnan(x)]
    assert ranks.rows == len(expected)
    for point in range(lattice.low - 1, lattice.high + 2):
        assert ranks.around(point) == (sum(x < point for x in expected), sum(x <= point for x in expected))
    assert np.array_equal(array, kept, equal_nan=True)


# distribution


@pytest.mark.parametrize("far", thinned([750.0, 0.5], 1))
def test_draws_follow_the_definition_also_through_the_far_points(monkeypatch, far):
    """With FAR = 0.5 nearly every point enters by rejection; 12,000 draws refuse a rate 25 % off."""
    monkeypatch.setattr(module, "FAR", far)
    rows, p = [3, 3, 4, 8, 9, 9, 9, 14, 15, 15], 0.3
    mechanism, rng = RecursiveQuantiles(question([p], high=20), 0.9), seeded(15)
    ranks = [ranked(rows)]
    draws = np.array([mechanism.release(ranks, rng)[0, 0] for _ in range(12_000)])

    def law(rate):
        weights = reference(rows, range(21), Fraction(3, 10), rate)
        return lambda z: weights[z] if 0 <= z <= 20 else 0.0

    assert_law(draws, law(0.9), (law(0.67), law(1.2)))


# audit


def attacked(rate, probabilities):
    mechanism = RecursiveQuantiles(question(probabilities, high=10), rate)
    known = {len(rows): [ranked(rows)] for rows in PAIR}
    return lambda data, rng: mechanism.release(known[len(data)], rng)[0].tolist()


PAIR = ([1, 1, 1], [1, 1, 1, 10])


def test_audit_does_not_refute_the_claim():
    claim = RecursiveQuantiles(question((0.5, 0.9), high=10), 0.5).guarantee()
    assert not audit(attacked(0.5, (0.5, 0.9)), claim, pairs=[PAIR], seconds=0.4, generator=seeded).refuted


@pytest.mark.heavy
def test_audit_catches_a_third_of_the_noise():
    """The loss is then 1.14 against a claim of 0.5, on an event of probability 0.05: 10,000 runs show it."""
    claim = RecursiveQuantiles(question((0.5,), high=10), 0.5).guarantee()
    assert audit(attacked(1.5, (0.5,)), claim, pairs=[PAIR], seconds=15, generator=seeded).refuted


# refusals


@pytest.mark.parametrize("rate", [0.0, -1.0, math.nan, math.inf])
def test_refuses_a_bad_rate(rate):
    with pytest.raises(ParameterError, match="rate"):
        RecursiveQuantiles(question([0.5]), rate)


def test_refuses_an_answer_with_another_number_of_cells():
    with pytest.raises(ParameterError, match="1 cells, got 2"):
        RecursiveQuantiles(question([0.5]), 1.0).release([ranked([1]), ranked([2])], seeded(1))


@pytest.mark.parametrize("target", [Pure(0.0), Concentrated(0.0)])
def test_refuses_an_empty_target(target):
    with pytest.raises(UnsupportedQuery, match="epsilon > 0 or rho > 0"):
        RecursiveQuantiles.calibrate(question([0.5]), target)


# accuracy: what is stated against what is drawn


def rank_errors(mechanism, values, rng, draws):
    """The largest rank error over all quantiles, draw by draw."""
    values = np.sort(np.asarray(values))
    n, wanted = len(values), np.array([float(p) for p in mechanism.query.probabilities])
    ranks, worst = ranked(values), []
    for _ in range(draws):
        found = mechanism.release([ranks], rng)[0]
        below, above = np.searchsorted(values, found), n - np.searchsorted(values, found, side="right")
        worst.append(np.maximum(np.maximum(below - wanted * n, above - (1 - wanted) * n), 0).max())
    return np.array(worst)


DRAWS = 300
EXCESS = 0.05 + 4.8 * math.sqrt(0.05 * 0.95 / DRAWS)  # of failures at 0.05: once in a million tests


@pytest.mark.parametrize(
    ("count", "rows", "epsilon", "shape"),
    [(1, 5000, 0.05, "uniform"), (3, 5000, 0.5, "lognormal"), (9, 5000, 0.5, "uniform"), (7, 10_000, 0.3, "normal")],
)
def test_ranks_where_values_lie_evenly_are_stated_within_half_of_what_is_found(count, rows, epsilon, shape):
    rng, drawn = seeded(count), np.random.default_rng(rows)
    values = {
        "uniform": lambda: drawn.uniform(0, 1, rows),
        "lognormal": lambda: np.clip(drawn.lognormal(0, 0.4, rows) / 6, 0, 1),
        "normal": lambda: np.clip(drawn.normal(0.5, 0.1, rows), 0, 1),
    }[shape]()
    wanted = [i / (count + 1) for i in range(1, count + 1)]
    mechanism = RecursiveQuantiles.calibrate(question(wanted, high=10**6), Pure(epsilon))
    errors = rank_errors(mechanism, (values * 10**6).astype(int), rng, DRAWS)
    stated = mechanism.spread_error(0.05)
    assert np.mean(errors > stated) <= EXCESS
    assert stated <= 1.5 * np.quantile(errors, 0.95)
    assert np.mean(errors > stated / 2) > EXCESS, "half of what is stated must be refused"


@settings(max_examples=12, deadline=None)
@given(seed=st.integers(0, 10**6), count=st.integers(1, 7), groups=st.integers(1, 40), rate=st.floats(0.05, 1.0))
def test_ranks_on_any_table_are_within_what_is_stated(seed, count, groups, rate):
    """Clusters, gaps and heavy ties: with ties the division's own error comes on top, and no more."""
    drawn = np.random.default_rng(seed)
    centers = drawn.integers(0, 1000, groups)
    tied = drawn.choice(centers, 600, p=drawn.dirichlet(np.full(groups, 0.5)))
    apart = drawn.choice(1001, 400, replace=False)
    wanted = sorted({round(p, 3) for p in drawn.uniform(0.02, 0.98, count)})
    mechanism = RecursiveQuantiles(question(wanted, high=1000), rate)
    assert mechanism.spread_error() <= mechanism.error() + 1 + mechanism.levels
    for values, stated in ((apart, mechanism.error()), (tied, mechanism.tied_error() + mechanism.levels)):
        assert np.mean(rank_errors(mechanism, values, seeded(seed), 60) > stated) <= 0.05 + 4.8 * 0.0282


@pytest.mark.parametrize("p", [0.5, 0.2])
def test_the_error_on_any_table_is_reached_by_some_table(p):
    """One value without penalty, all other points of the lattice at the penalty x: nearly all of what is stated."""
    mechanism = RecursiveQuantiles(question([p], high=10**5), 0.2)
    stated = mechanism.error(0.05)
    x = int(0.8 * stated)
    values = [0] * int(p * 4000 - x) + [50_000] * (2 * x) + [10**5] * int((1 - p) * 4000 - x)
    assert np.mean(rank_errors(mechanism, values, seeded(1), 200) >= x) > 0.2


def test_the_tail_of_a_sum_of_exponentials_is_exact():
    """Against the gamma law and the partial fractions of distinct scales."""
    for beta in (0.2, 0.05, 1e-6):
        assert stats.gamma(3).sf(rank_error([Chain(0.0, {0: 1.0, 1: 1.0, 2: 1.0})], beta)) == pytest.approx(beta)
        x = rank_error([Chain(2.0, {0: 1.0, 1: 2.0, 2: 4.0})], beta) - 2.0
        exact = sum(math.prod(b / (b - c) for c in (1, 2, 4) if c != b) * math.exp(-x / b) for b in (1, 2, 4))
        assert exact == pytest.approx(beta)
    assert rank_error([Chain(0.0, {0: 1.0})] * 5, 0.05) == pytest.approx(math.log(100))
