"""The chooser: near the known optimum everywhere, near the least measured error, within a limit of bytes."""

import math

import numpy as np
import pytest

from sfumato.errors import ParameterError, UnsupportedQuery
from sfumato.local.choosing import choose, choose_mean, rank, rank_means
from sfumato.local.protocols import GeneralizedResponse
from sfumato.privacy.guarantees import Approximate, Concentrated, Pure
from sfumato.randomness import seeded


def optimum(k, epsilon):
    """The least worst-case total variance of any protocol as n grows, times n; data drawn at random  [YeBarg2018]."""
    size, ratio = np.arange(1, k), math.exp(epsilon)
    found = (k - 1) ** 2 / k * (size * ratio + k - size) ** 2 / (size * (k - size) * (ratio - 1) ** 2)
    return float(found.min())


@pytest.mark.parametrize("epsilon", [0.1, 0.3, 0.7, 1.0, 1.7, 2.5, 3.3, 4.2, 5.0])
def test_frequencies_are_within_a_tenth_of_the_optimum(epsilon):
    """At equal frequencies, data drawn at random: the variance for given data plus that of the data, 1 - 1/k."""
    for k in (2, 3, 4, 6, 10, 17, 32, 65, 200, 513, 1024, 2500, 4096):
        best = choose(k, Pure(epsilon), 1).total_variance + 1 - 1 / k
        assert best <= 1.02 * optimum(k, epsilon)
        assert best >= 0.999999 * optimum(k, epsilon)


@pytest.mark.parametrize(
    ("k", "epsilon"), [(4, 2.0), *(pytest.param(*one, marks=pytest.mark.heavy) for one in [(16, 1.0), (64, 3.0)])]
)
def test_the_pick_has_nearly_the_least_measured_error(k, epsilon):
    """Total squared error over 2,000 collections of 60 people: none has 3 % less than the pick, at 5.5 deviations.

    Power: the slack of 5.5 deviations is below 25 %, so that a pick of half again the least error is refused.
    """
    people, runs = 60, 2_000
    held = np.arange(people) % k
    truth = np.bincount(held, minlength=k) / people
    measured = {}
    for i, option in enumerate(rank(k, Pure(epsilon), people)):
        reports = option.protocol.randomize(np.tile(held, runs), seeded(620 + i))
        found = [option.protocol.estimate(option.protocol.tally(part), people) for part in np.split(reports, runs)]
        errors = ((np.array(found) - truth) ** 2).sum(axis=1)
        measured[option.protocol.name] = errors.mean(), errors.std() / math.sqrt(runs)
    pick = choose(k, Pure(epsilon), people)
    mean, deviation = measured[pick.protocol.name]
    assert abs(mean - pick.total_variance) <= 5.5 * deviation
    for other, spread in measured.values():
        slack = 5.5 * math.hypot(deviation, 1.03 * spread)
        assert mean <= 1.03 * other + slack
        assert slack <= 0.25 * other


def test_a_limit_of_bytes_is_kept():
    free = choose(4096, Pure(0.5), 1000)
    with pytest.raises(UnsupportedQuery, match="the shortest report has 2"):
        choose(4096, Pure(0.5), 1000, most_bytes=1)
    for limit in (2, 4, 1000):
        found = choose(4096, Pure(0.5), 1000, most_bytes=limit)
        assert found.report_bytes <= limit
        assert found.total_variance >= free.total_variance / 1.01


def test_ranks_are_sorted_and_say_what_they_cost():
    ranked = rank(100, Pure(1.0), 10_000)
    assert [c.total_variance for c in ranked] == sorted(c.total_variance for c in ranked)
    assert len(ranked) == 6
    assert "typical error" in str(ranked[0])
    assert rank(100, Pure(1.0), 20_000)[0].total_variance == pytest.approx(ranked[0].total_variance / 2)
    assert all(c.protocol.guarantee().implies(Approximate(1.0, 0.01)) for c in rank(9, Approximate(1.0, 0.01), 5))


@pytest.mark.parametrize("epsilon", [0.1, 0.6, 1.3, 3.0, 5.0, 12.0])
def test_means_take_the_least_worst_variance(epsilon):
    ranked = rank_means(-1, 1, Pure(epsilon), 1)
    pick = choose_mean(-1, 1, Pure(epsilon), 1)
    assert {c.protocol.name for c in ranked} == {"window", "hybrid", "piecewise", "duchi", "laplace"}
    assert pick.total_variance <= 1.01 * min(c.protocol.variance(1)[0] for c in ranked)
    assert pick.protocol.guarantee().implies(Pure(epsilon))


def test_huge_domains_leave_those_that_can():
    assert {c.protocol.name for c in rank(1 << 22, Pure(1.0), 10)} == {"grr", "hadamard"}
    with pytest.raises(UnsupportedQuery, match="no protocol takes k"):
        rank(1 << 30, Pure(1.0), 10)
    with pytest.raises(ParameterError, match="n must be"):
        choose(10, Pure(1.0), 0)


@pytest.mark.parametrize("target", [1.0, Concentrated(1.0)])
@pytest.mark.parametrize(
    "door", [choose, rank, lambda k, target, n: GeneralizedResponse.calibrate(k, target)], ids=["choose", "rank", "one"]
)
def test_a_target_that_no_report_can_meet_is_refused_in_words(door, target):
    with pytest.raises(UnsupportedQuery, match=r"a target such as Pure\(1.0\)"):
        door(5, target, n=1000)
