"""The confidence limits are valid, by exact enumeration rather than by sampling."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from sfumato.accounting.promises import curve, points
from sfumato.auditing.confirming import Errors
from sfumato.auditing.limits import Counts, clopper_pearson, epsilon_limit, wealth
from sfumato.privacy.guarantees import Approximate, Concentrated, Pure


@given(trials=st.integers(1, 60), chance=st.floats(0.01, 0.99), alpha=st.sampled_from([0.1, 0.01, 1e-6]))
def test_clopper_pearson_misses_with_probability_at_most_alpha(trials: int, chance: float, alpha: float) -> None:
    law = stats.binom(trials, chance)
    limits = [clopper_pearson(k, trials, alpha) for k in range(trials + 1)]
    above = sum(law.pmf(k) for k in range(trials + 1) if limits[k][0] > chance)
    below = sum(law.pmf(k) for k in range(trials + 1) if limits[k][1] < chance)
    assert above <= alpha * (1 + 1e-6)
    assert below <= alpha * (1 + 1e-6)


@given(
    q=st.floats(0.001, 0.3),
    share=st.floats(0.0, 1.0),
    epsilon=st.floats(0.0, 2.0),
    delta=st.floats(0.0, 0.2),
    guess=st.tuples(st.floats(0.0, 1.0), st.floats(0.0, 1.0)),
)
def test_the_bet_cannot_win_in_the_mean_under_the_claim(
    q: float, share: float, epsilon: float, delta: float, guess: tuple[float, float]
) -> None:
    p = share * min(1.0, math.exp(epsilon) * q + delta)
    mean = 0.0
    for a in (0, 1):
        for b in (0, 1):
            chance = (p if a else 1 - p) * (q if b else 1 - q)
            counts = Counts(int(a and b), int(a and not b), int(b and not a), 1)
            mean += chance * math.exp(wealth(counts, guess, epsilon, delta))
    assert mean <= 1 + 1e-9


@pytest.mark.parametrize("epsilon", [0.0, 1.0])
def test_limit_exceeds_the_truth_with_probability_at_most_alpha(epsilon: float) -> None:
    trials, q, alpha = 30, 0.2, 0.05
    p = math.exp(epsilon) * q
    wrong = 0.0
    for i in range(trials + 1):
        for j in range(trials + 1):
            shown = (
                epsilon_limit(Counts(0, i, j, trials), (0.9, 0.1), (epsilon, 0.0), alpha, 1) if i + j <= trials else 0
            )
            if shown > epsilon:
                wrong += stats.binom.pmf(i, trials, p) * stats.binom.pmf(j, trials, q)
    assert wrong <= alpha


def test_limit_has_power() -> None:
    counts = Counts(0, 500, 0, 1000)
    assert epsilon_limit(counts, (0.5, 0.0), (1.0, 0.0), 1e-6, 1) > 2.5
    assert epsilon_limit(counts, (0.5, 0.0), (1.0, 0.0), 1e-6, None) > 2.5
    assert epsilon_limit(Counts(0, 100, 100, 1000), (0.5, 0.1), (1.0, 0.0), 1e-6, 1) <= 1.0


def test_shares_of_the_attempts_add_up_to_alpha() -> None:
    errors = Errors(1e-6)
    assert sum(errors.next() for _ in range(10_000)) <= 1e-6
    assert errors.attempts == 10_000


def test_concentrated_claim_allows_what_gaussian_noise_does() -> None:
    rho = 0.3
    mu = math.sqrt(2 * rho)
    for epsilon, delta in points(Concentrated(rho)):
        exact = stats.norm.cdf(mu / 2 - epsilon / mu) - math.exp(epsilon) * stats.norm.cdf(-mu / 2 - epsilon / mu)
        assert exact <= delta <= 6 * exact + 1e-4


def test_curve_of_a_pure_claim_is_that_of_randomized_response() -> None:
    high = math.e / (1 + math.e)
    law = np.array([high, 1 - high])
    for epsilon in (0.0, 0.3, 0.9, 1.0, 2.0):
        exact = np.maximum(law - math.exp(epsilon) * law[::-1], 0).sum()
        assert curve(Pure(1.0), epsilon) == pytest.approx(exact, abs=1e-9)
    assert points(Approximate(1.0, 0.01)) == ((1.0, 0.01),)
