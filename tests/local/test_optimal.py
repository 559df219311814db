"""Optimal channels: known optima, brute force over random private channels, and the protocol they become."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.accounting.channels import Channel
from sfumato.errors import ParameterError
from sfumato.local.optimal import (
    best_subset_size,
    frequencies,
    least_mean_variance,
    mutual_information,
    optimal_channel,
    separation,
)
from sfumato.local.protocols import Duchi, Hybrid, OptimizedWindow, SubsetSelection
from sfumato.local.protocols.tabulated import Tabulated
from sfumato.privacy.guarantees import Pure
from sfumato.randomness import seeded
from statistical import ALPHA

UTILITIES = {
    "information": lambda k: mutual_information([1 / k] * k),
    "skewed information": lambda k: mutual_information([2 * (i + 1) / (k * (k + 1)) for i in range(k)]),
    "chi-square": lambda k: separation("chi-square", [1.0, *[0.0] * (k - 1)], [1 / k] * k),
    "frequencies": lambda k: frequencies([1 / k] * k),
}


def private_channel(k: int, outputs: int, epsilon: float, seed: int) -> np.ndarray:
    """A random epsilon-private channel: random columns in the cone, the row sums evened out by one more."""
    rng = np.random.default_rng(seed)
    columns = np.exp(rng.uniform(0, epsilon, (outputs, k))) * rng.dirichlet(np.ones(outputs))[:, None]
    sums = columns.sum(axis=0)
    scale = (math.exp(epsilon) - 1) / (math.exp(epsilon) * sums.max() - sums.min())
    return np.vstack([columns * scale, 1 - scale * sums]).T


# claims
@pytest.mark.parametrize("epsilon", [0.2, 1.0, 3.0])
def test_two_inputs_are_best_served_by_randomized_response(epsilon):
    keep = math.exp(epsilon) / (1 + math.exp(epsilon))
    found = optimal_channel(mutual_information([0.5, 0.5]), 2, epsilon)
    assert np.allclose(np.sort(found.matrix.ravel()), [1 - keep, 1 - keep, keep, keep])
    assert found.value == pytest.approx(math.log(2) + keep * math.log(keep) + (1 - keep) * math.log(1 - keep))


@pytest.mark.parametrize("k", [3, 5, 8])
@pytest.mark.parametrize("epsilon", [0.3, 1.0, 4.0])
@pytest.mark.parametrize("goal", ["frequencies", "mutual-information"])
def test_symmetric_utilities_are_best_served_by_subsets_of_one_size(k, epsilon, goal):
    utility = UTILITIES["frequencies"](k) if goal == "frequencies" else UTILITIES["information"](k)
    _, value = best_subset_size(k, epsilon, goal)
    assert optimal_channel(utility, k, epsilon).value == pytest.approx(value, rel=1e-7)


@pytest.mark.parametrize("k", [3, 6])
@pytest.mark.parametrize("epsilon", [0.5, 2.0])
def test_the_frequency_optimum_is_the_variance_of_subset_selection(k, epsilon):
    protocol = SubsetSelection.calibrate(k, Pure(epsilon))
    population = protocol.variance(1, [1 / k] * k).sum() + 1 - 1 / k
    information = optimal_channel(frequencies([1 / k] * k), k, epsilon).value
    assert population == pytest.approx((k - 1) ** 2 / information, rel=1e-6)


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 2.5, 5.0])
def test_our_mean_is_within_1_1_of_the_best_channel_on_a_grid(epsilon):
    least = least_mean_variance(epsilon, inputs=17, outputs=101)
    assert OptimizedWindow.calibrate(-1, 1, Pure(epsilon)).risk(1) <= 1.03 * least
    others = [kind.calibrate(-1, 1, Pure(epsilon)).risk(1) for kind in (Duchi, Hybrid)]
    assert min(others) >= 0.999 * least


def test_refining_the_grid_changes_the_least_variance_by_less_than_a_percent():
    coarse, fine = least_mean_variance(1.0, 11, 81), least_mean_variance(1.0, 25, 161)
    assert coarse == pytest.approx(fine, rel=0.01)


@pytest.mark.parametrize(("k", "epsilon"), [(2, 1.0), (4, 0.3), (5, 2.0)])
def test_the_protocol_is_private_exactly_and_as_good_as_promised(k, epsilon):
    protocol = Tabulated.calibrate(k, Pure(epsilon))
    channel = Channel(protocol.channel())
    assert channel.verify(protocol.guarantee()).holds
    assert protocol.guarantee().implies(Pure(epsilon))
    assert channel.verify(Pure(epsilon * 0.999)).holds is False
    assert protocol.variance(1, [1 / k] * k).sum() == pytest.approx(
        SubsetSelection.calibrate(k, Pure(epsilon)).variance(1, [1 / k] * k).sum(), rel=1e-4
    )


def test_an_uneven_prior_is_served_better_than_by_subsets():
    prior = [0.9, 0.05, 0.03, 0.02]
    best = optimal_channel(mutual_information(prior), 4, 1.0).value
    size, _ = best_subset_size(4, 1.0, "mutual-information")
    subsets = [[x in subset for subset in itertools.combinations(range(4), size)] for x in range(4)]
    even = np.where(np.array(subsets), math.e, 1.0)
    assert best > 1.2 * Channel(even / even.sum(axis=1, keepdims=True)).mutual_information(prior)


# laws
@given(st.integers(2, 4), st.floats(0.2, 3), st.integers(0, 10**6), st.sampled_from(sorted(UTILITIES)))
@settings(max_examples=60, deadline=None)
def test_no_private_channel_beats_the_optimum(k, epsilon, seed, name):
    matrix = private_channel(k, 6, epsilon, seed)
    assert matrix.min() > 0
    assert (matrix.max(axis=0) / matrix.min(axis=0)).max() <= math.exp(epsilon) * (1 + 1e-9)
    utility = UTILITIES[name](k)
    assert utility(matrix.T).sum() <= optimal_channel(utility, k, epsilon).value * (1 + 1e-7)


# distribution
def test_estimates_are_unbiased_with_the_stated_variance():
    """Power: with 400 runs a bias of half a standard deviation, or a variance 40 % off, is refused at 1e-6."""
    protocol, n, runs = Tabulated.calibrate(4, Pure(1.0)), 500, 400
    truth = np.repeat(np.arange(4), [250, 125, 75, 50])
    shares = np.bincount(truth) / n
    rng = seeded(71)
    found = np.array([protocol.estimate(protocol.tally(protocol.randomize(truth, rng)), n) for _ in range(runs)])
    deviation = np.sqrt(protocol.variance(n, shares))
    assert np.all(np.abs(found.mean(axis=0) - shares) < 5.5 * deviation / math.sqrt(runs))
    ratio = found.var(axis=0, ddof=1) / deviation**2
    assert np.all(np.abs(ratio - 1) < math.sqrt(2 * math.log(4 / ALPHA)) * math.sqrt(2 / runs) * 1.1)


def test_records_reports_and_bad_values_go_round():
    protocol = Tabulated.calibrate(3, Pure(0.7))
    record = protocol.to_record()
    record = {name: list(value) if isinstance(value, tuple) else value for name, value in record.items()}
    assert Tabulated.from_record(record) == protocol
    reports = protocol.randomize([0, 1, 2, -5, math.nan, "x"], seeded(3))
    assert protocol.valid(reports).all()
    assert np.array_equal(protocol.decode(protocol.encode(reports)), reports)


# refusals
def test_a_channel_that_merges_inputs_estimates_nothing():
    merged = Tabulated.calibrate(4, Pure(0.3), mutual_information([0.49, 0.49, 0.01, 0.01]))
    assert Channel(merged.channel()).verify(Pure(0.3)).holds
    with pytest.raises(ParameterError, match="tell all inputs apart"):
        merged.estimate(np.zeros(merged.cells, dtype=np.int64), 10)


def test_refuses_what_cannot_be_optimized_or_drawn():
    with pytest.raises(ParameterError, match="k must"):
        optimal_channel(frequencies([0.5, 0.5]), 13, 1.0)
    with pytest.raises(ParameterError, match="goal"):
        best_subset_size(4, 1.0, "speed")
    with pytest.raises(ParameterError, match="prior"):
        mutual_information([0.5, 0.4])
    good = Tabulated.calibrate(3, Pure(1.0))
    with pytest.raises(ParameterError, match="units"):
        Tabulated(3, good.ratio, good.subsets, (1 << 61,) * len(good.units))


@settings(max_examples=40, deadline=None)
@given(k=st.integers(2, 5), epsilon=st.floats(0.02, 10.0), name=st.sampled_from(sorted(UTILITIES)))
def test_optimal_channels_are_verified_exactly(k, epsilon, name):
    """The rationals, and the floats nearest to them, meet epsilon; and they attain the optimum."""
    utility = UTILITIES[name](k)
    found = optimal_channel(utility, k, epsilon)
    assert found.channel.relative_error == 0
    assert found.channel.verify(Pure(epsilon)).holds is True
    assert Channel(found.matrix).verify(Pure(epsilon)).holds is True
    assert found.channel.verify(Pure(0.99 * epsilon)).holds is False
    assert float(utility(found.matrix.T).sum()) == pytest.approx(found.value, rel=1e-6, abs=1e-8)


MISFITS = {
    "of other inputs": mutual_information([0.5, 0.5]),
    "of a wrong shape": lambda columns: columns,
    "infinite": lambda columns: np.log(0 * columns[:, 0]),
}


@pytest.mark.parametrize("utility", MISFITS.values(), ids=MISFITS)
def test_a_utility_that_does_not_fit_is_refused(utility):
    with np.errstate(divide="ignore"), pytest.raises(ParameterError, match="priors must name 3 inputs"):
        optimal_channel(utility, 3, 1.0)
