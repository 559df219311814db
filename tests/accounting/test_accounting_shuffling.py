"""Shuffling: against the exact law of all multisets for small crowds, a second route for large ones, and laws."""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mpmath import mp
from scipy import stats

from sfumato.accounting import blankets, shuffling
from sfumato.accounting.blankets import Blanket
from sfumato.accounting.channels import Channel
from sfumato.accounting.shuffling import _binomial, shuffled, shuffled_delta, shuffled_epsilon
from sfumato.errors import ParameterError


def response(k: int, local: float) -> Channel:
    ratio = Fraction(math.exp(local))
    total = ratio + k - 1
    return Channel([[ratio / total if i == j else 1 / total for j in range(k)] for i in range(k)])


def staircase() -> Channel:
    """Both values in question share a report that the third avoids: the extreme case of the general proof."""
    p, a = Fraction(3), Fraction(1, 8)
    c = (1 - 1 / p - a * (p + 1 - 2 / p)) / (p - 1 / p)
    d = (1 - 2 * a - c) / p
    return Channel([[p * a, a, p * c, d], [a, p * a, p * c, d], [a, a, c, p * d]])


def exact_delta(channel: Channel, first: int, second: int, others: tuple[int, ...], epsilon: float) -> float:
    """The hockey stick between the laws of the multiset of all reports, by enumeration."""

    def law(value: int) -> dict[tuple[int, ...], Fraction]:
        here = {(0,) * channel.outputs: Fraction(1)}
        for holder in (value, *others):
            after: dict[tuple[int, ...], Fraction] = defaultdict(Fraction)
            for counts, weight in here.items():
                for z, chance in enumerate(channel.rows[holder]):
                    after[(*counts[:z], counts[z] + 1, *counts[z + 1 :])] += weight * chance
            here = after
        return here

    p, q = law(first), law(second)
    factor = Fraction(math.exp(epsilon))
    return float(sum(max(Fraction(0), p[counts] - factor * q[counts]) for counts in p))


def worst_delta(channel: Channel, reports: int, epsilon: float) -> float:
    """The largest over the two values and over what everyone else holds."""
    crowds = itertools.combinations_with_replacement(range(channel.inputs), reports - 1)
    pairs = list(itertools.permutations(range(channel.inputs), 2))
    return max(exact_delta(channel, x, y, others, epsilon) for others in crowds for x, y in pairs)


# claims
@pytest.mark.parametrize(("k", "reports"), [(2, 6), (3, 5), (4, 4)])
@pytest.mark.parametrize("epsilon", [0.0, 0.2, 0.5])
def test_no_crowd_is_worse_than_the_bounds_and_some_is_nearly_as_bad(k, reports, epsilon):
    channel = response(k, 1.0)
    exact = worst_delta(channel, reports, epsilon)
    own = max(shuffled_delta(blanket, reports, epsilon) for blanket in Blanket.of(channel))
    assert exact <= own <= exact * 1.25
    assert own <= shuffled_delta(1.0, reports, epsilon) * (1 + 1e-4)


@pytest.mark.parametrize("epsilon", [0.0, 0.3, 0.8])
def test_the_extreme_randomizer_of_the_proof_stays_below_both_bounds(epsilon):
    channel = staircase()
    exact = worst_delta(channel, 4, epsilon)
    assert 0 < exact <= max(shuffled_delta(blanket, 4, epsilon) for blanket in Blanket.of(channel))
    assert exact <= shuffled_delta(channel.epsilon(), 4, epsilon)


def test_reports_outside_the_two_values_do_not_hide_for_free():
    """The published count of two values gives 0.0324 here, below the truth: the reason for blankets."""
    exact = exact_delta(response(4, 1.0), 0, 1, (3, 3, 3, 3), 0.5)
    assert exact == pytest.approx(0.033445, abs=1e-6)
    assert exact <= shuffled_delta(Blanket.generalized_response(4, 1.0), 5, 0.5) == pytest.approx(0.036737, abs=1e-5)


def test_two_counts_agree_with_a_sum_over_all_outcomes():
    local, reports, epsilon = 1.0, 12, 0.2
    share, own, total = 2 / (1 + math.e), math.e / (1 + math.e), 0.0
    for clones in range(reports):
        weight = stats.binom.pmf(clones, reports - 1, share)
        heads = [*(math.comb(clones, a) / 2**clones for a in range(clones + 1)), 0.0]
        for a in range(clones + 2):
            before = heads[a - 1] if a else 0.0
            p, q = own * before + (1 - own) * heads[a], own * heads[a] + (1 - own) * before
            total += weight * max(0.0, p - math.exp(epsilon) * q)
    assert total <= shuffled_delta(local, reports, epsilon) <= total * (1 + 1e-6) + 1e-15


@pytest.mark.parametrize(("local", "reports"), [(0.5, 300), (2.0, 3000), (4.0, 20_000)])
def test_two_routes_agree_on_binary_response(local, reports):
    for epsilon in (0.0, 0.05, 0.3):
        counts = shuffled_delta(local, reports, epsilon)
        blanket = shuffled_delta(Blanket.generalized_response(2, local), reports, epsilon)
        assert blanket == pytest.approx(counts, rel=3e-3, abs=1e-15)
        assert blanket >= counts * (1 - 1e-6) - 2e-20


def test_figures_for_a_telemetry_collection():
    assert shuffled_epsilon(1.0, 10_000, 1e-6) == pytest.approx(0.043206, rel=1e-3)  # 0.0530 by the first clones
    assert shuffled_epsilon(Blanket.generalized_response(100, 1.0), 10_000, 1e-6) == pytest.approx(0.00718, rel=2e-3)
    claim = shuffled(response(3, 1.0), 1000, 1e-6)
    assert claim.assumptions == {"honest-reports"}
    assert claim.epsilon < shuffled(1.0, 1000, 1e-6).epsilon


# laws
@given(st.floats(0.1, 4), st.integers(2, 3000), st.floats(0, 0.5), st.integers(1, 1000))
@settings(max_examples=40)
def test_shuffling_helps_more_with_more_reports(local, reports, epsilon, more):
    alone = -math.expm1(epsilon - local) / (1 + math.exp(-local)) if epsilon < local else 0.0
    value = shuffled_delta(local, reports, epsilon)
    assert value <= alone * (1 + 1e-6) + 1e-15
    assert shuffled_delta(local, reports + more, epsilon) <= value * (1 + 1e-6) + 1e-15


@given(st.integers(2, 50), st.floats(0.2, 3), st.integers(2, 400), st.floats(0, 1))
@settings(max_examples=30, deadline=None)
def test_a_known_randomizer_never_costs_more_than_the_worst(k, local, reports, share):
    epsilon = share * local
    worst = shuffled_delta(local, reports, epsilon)
    size = max(1, round(k / (1 + math.exp(local))))
    for blanket in (
        Blanket.generalized_response(k, local), Blanket.subset(k, min(size, k - 1), local),
        Blanket.unary(0.5, 1 / (1 + math.exp(local))),
    ):  # fmt: skip
        assert shuffled_delta(blanket, reports, epsilon) <= worst * (1 + 5e-3) + 1e-12


@given(st.floats(0.2, 3), st.integers(2, 20_000), st.floats(1e-9, 1e-2))
@settings(max_examples=20, deadline=None)
def test_epsilon_and_delta_are_inverse(local, reports, delta):
    epsilon = shuffled_epsilon(local, reports, delta)
    assert shuffled_delta(local, reports, epsilon) <= delta
    if epsilon > 1e-4:
        assert shuffled_delta(local, reports, epsilon * (1 - 1e-3)) > delta


def test_a_blanket_of_a_channel_is_that_of_its_formula():
    ratio = math.exp(1.0)
    subsets = list(itertools.combinations(range(4), 2))
    rows = [[Fraction(ratio) if x in subset else Fraction(1) for subset in subsets] for x in range(4)]
    channel = Channel([[entry / sum(row) for entry in row] for row in rows])
    (found,) = Blanket.of(channel)
    expected = Blanket.subset(4, 2, 1.0)
    assert np.allclose(sorted(found.kinds), sorted(expected.kinds))


def blankets_of(k: int, local: float) -> tuple[Blanket, ...]:
    size = max(1, min(k - 1, round(k / (1 + math.exp(local)))))
    near = 1 / (1 + math.exp(local))
    return Blanket.generalized_response(k, local), Blanket.subset(k, size, local), Blanket.unary(0.5, near)


def measure(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, int]]:
    """Points and terms of every window, and counts of every binomial law, from here on."""
    sizes: list[tuple[int, int]] = []
    law, binomial = blankets._sum_law, shuffling._binomial

    def sum_law(index, weights, m, size):
        sizes.append((size, len(index)))
        return law(index, weights, m, size)

    def counted_law(trials, share):
        found = binomial(trials, share)
        sizes.append((len(found[0]), 1))
        return found

    monkeypatch.setattr(blankets, "_sum_law", sum_law)
    monkeypatch.setattr(shuffling, "_binomial", counted_law)
    return sizes


def check_grid(locals_: tuple[float, ...], crowds: tuple[int, ...], deltas: tuple[float, ...], ks: tuple[int, ...]):
    """Every figure is a number from 0 to what one report costs, and never far above what holds for any randomizer."""
    for local, reports, delta in itertools.product(locals_, crowds, deltas):
        general = shuffled_epsilon(local, reports, delta)
        assert 0 <= general <= local * (1 + 1e-12)
        for blanket in (blanket for k in ks for blanket in blankets_of(k, local)):
            own = shuffled_epsilon(blanket, reports, delta)
            assert 0 <= own <= local + 1e-9
            assert own <= general * (1 + 0.02) + 1e-9, (local, reports, delta)
            if reports > 1:
                fewer = shuffled_delta(blanket, reports // 2, 0.9 * own)
                assert shuffled_delta(blanket, reports, 0.9 * own) <= fewer * (1 + 0.02) + 1e-12


def test_any_epsilon_and_crowd_has_a_figure_in_bounded_memory(monkeypatch):
    """A window of 2^31 points was asked for at epsilon 8 and a million reports, and a logarithm of 0 was taken."""
    sizes = measure(monkeypatch)
    check_grid((8.0,), (1, 10**6), (1e-6,), (3,))
    check_grid((50.0,), (2,), (1e-6,), (40,))
    assert max(size for size, _ in sizes) <= blankets.MOST_POINTS
    assert max(size * terms for size, terms in sizes) <= blankets.MOST_STEPS
    assert len(sizes) < 300


@pytest.mark.heavy
def test_every_figure_of_the_grid_takes_bounded_memory(monkeypatch):
    sizes = measure(monkeypatch)
    check_grid(
        (0.1, 0.5, 1.0, 2.0, 4.0, 6.0, 8.0, 12.0, 20.0, 50.0), (1, 2, 10, 100, 10**4, 10**6), (1e-9, 1e-3), (3, 40)
    )
    check_grid((1.0, 8.0, 20.0), (10**8,), (1e-6,), (40,))
    assert max(size for size, _ in sizes) <= blankets.MOST_POINTS
    assert max(size * terms for size, terms in sizes) <= blankets.MOST_STEPS


@pytest.mark.parametrize("local", [3.0, 8.0, 14.0])
def test_large_epsilons_stay_above_the_exact_law(local):
    for k, reports in ((2, 5), (3, 3)):
        channel = response(k, local)
        for epsilon in (0.3 * local, 0.8 * local, 0.98 * local):
            exact = worst_delta(channel, reports, epsilon)
            own = max(shuffled_delta(blanket, reports, epsilon) for blanket in Blanket.of(channel))
            assert exact <= own * (1 + 1e-12)
            assert exact <= shuffled_delta(channel.epsilon(), reports, epsilon) * (1 + 1e-12)
            alone = exact_delta(channel, 0, 1, (), epsilon)
            assert own <= alone * (1 + 1e-6)


@pytest.mark.parametrize(
    ("local", "reports"), [(8.0, 10**5), pytest.param(14.0, 10**8, marks=pytest.mark.heavy), (12.0, 10**6)]
)
def test_two_routes_agree_at_large_epsilons(local, reports):
    counts, blanket = (shuffled_epsilon(one, reports, 1e-6) for one in (local, Blanket.generalized_response(2, local)))
    assert blanket == pytest.approx(counts, rel=3e-3)


# refusals
def test_refuses_what_has_no_blanket():
    with pytest.raises(ParameterError, match="local"):
        shuffled_delta(0.0, 10, 0.1)
    with pytest.raises(ParameterError, match="reports"):
        shuffled_delta(1.0, 0, 0.1)
    with pytest.raises(ParameterError, match="pure"):
        Blanket.of(Channel([[1, 0], [Fraction(1, 2), Fraction(1, 2)]]))
    with pytest.raises(ParameterError, match="kinds"):
        Blanket(((0.5, 0.5, 0.9), (0.5, 0.5, 0.1)))
    with pytest.raises(ParameterError, match="exact"):
        Blanket.of(Channel([[0.5, 0.5], [0.25, 0.75]]))


def test_binomial_weights_of_large_crowds_are_not_below_the_truth():
    """Against 40 digits: logarithms near ln n! lose digits, which the weights allow for."""
    others, share = 10**8, 2 / (1 + math.e)
    counts, weights = _binomial(others, share)
    mp.dps = 40
    for place in np.linspace(0, len(counts) - 1, 25).astype(int).tolist():
        first = int(counts[place])
        ways = mp.loggamma(others + 1) - mp.loggamma(first + 1) - mp.loggamma(others - first + 1)
        true = mp.exp(ways + first * mp.log(mp.mpf(share)) + (others - first) * mp.log(1 - mp.mpf(share)))
        assert true <= weights[place] <= true * (1 + mp.mpf(2e-5))


def test_a_blanket_above_a_rare_report_is_refused():
    with pytest.raises(ParameterError, match="blanket below both"):
        Blanket(((1 - 1e-13, 1 - 1e-13, 0.5), (1e-13, 1e-13, 9e-13)))
