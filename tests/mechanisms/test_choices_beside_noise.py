"""Choices beside normal noise: how far apart two normal laws must lie to be as easy to tell apart as a choice."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import numpy.typing as npt
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import special

from sfumato.mechanisms.noise.normals import composed
from sfumato.mechanisms.selection.selection import gaussian_cost, gaussian_rate
from sfumato.privacy.guarantees import Approximate

Reals = npt.NDArray[np.float64]


def told_apart(one: Reals, other: Reals) -> tuple[Reals, Reals]:
    """Errors of the first and second kind of the best tests between two laws on finitely many points."""
    order = np.argsort(-other / one, kind="stable")
    return np.append(0, np.cumsum(one[order])), np.append(1, 1 - np.cumsum(other[order]))


def covered(one: Reals, other: Reals, mu: float) -> bool:
    """Whether no test between the two laws is better than the best between N(0, 1) and N(mu, 1)."""
    first, second = told_apart(one, other)
    return bool((second >= special.ndtr(special.ndtri(np.clip(1 - first, 0, 1)) - mu) - 1e-12).all())


@settings(deadline=None)
@given(seed=st.integers(0, 10**6), rate=st.floats(0.01, 3.0), many=st.integers(2, 12))
def test_a_choice_is_covered_by_normal_laws_its_mu_apart(seed: int, rate: float, many: int) -> None:
    chance = np.random.default_rng(seed)
    scores, change = chance.normal(0, 3 / rate, many), chance.uniform(-1, 1, many)
    change[chance.integers(0, many)], change[chance.integers(0, many)] = 1.0, -1.0
    laws = [special.softmax(rate * held) for held in (scores, scores + change)]
    mu = math.sqrt(2 * gaussian_cost(rate, 2, 1))
    assert covered(*laws, mu)
    assert covered(*laws[::-1], mu)


def test_no_smaller_mu_covers_every_choice() -> None:
    even = [special.softmax(held) for held in (np.array([-0.05, 0.05]), np.array([0.05, -0.05]))]  # losses 0.2 apart
    mu = math.sqrt(2 * gaussian_cost(0.1, 2, 1))
    assert covered(*even, mu)
    assert not covered(*even, 0.99 * mu)


@settings(deadline=None, max_examples=20)
@given(seed=st.integers(0, 10**6), rate=st.floats(0.1, 1.0), sigma=st.floats(0.7, 3.0))
def test_a_choice_and_noise_that_depends_on_it_are_covered_together(seed: int, rate: float, sigma: float) -> None:
    """Two choices, the second among scores that the first decides, then one of two numbers with rounded noise."""
    chance, edges = np.random.default_rng(seed), np.array([-np.inf, *np.arange(-40, 42), np.inf])
    laws: list[list[Reals]] = [[], []]
    scores, changes = chance.normal(0, 2, (4, 3)), chance.choice([-1.0, 1.0], (4, 3))
    for first, second in np.ndindex(3, 3):
        noise = sigma if first else 2 * sigma  # what is measured, and how closely, follows from what was chosen
        for side in (0, 1):
            held = [special.softmax(rate * (scores[k] + side * changes[k])) for k in (0, 1 + first)]
            cells = np.diff(special.ndtr((edges + 0.5 - side) / noise))
            laws[side].append(held[0][first] * held[1][second] * cells)
    one, other = (np.concatenate(part) for part in laws)
    mu = math.sqrt(2 * gaussian_cost(rate, 2, 2) + sigma**-2)
    assert covered(np.maximum(one, 1e-300), other, mu)


@given(amount=st.floats(1e-9, 50.0), spread=st.integers(1, 10**6), rounds=st.integers(1, 1000))
def test_rates_of_choices_beside_noise_cost_no_more_than_their_amount(amount: float, spread: int, rounds: int) -> None:
    rate = gaussian_rate(amount, spread, rounds)
    assert gaussian_cost(rate, spread, rounds) <= amount <= gaussian_cost(rate, spread, rounds) * (1 + 1e-9)
    assert Fraction(gaussian_cost(rate, spread, rounds)) >= (Fraction(rate) * spread) ** 2 * rounds * 314159 / 1600000


@given(epsilon=st.floats(0.01, 3.0), steps=st.floats(0.001, 5.0), ratio=st.floats(0.01, 4.0))
def test_pure_steps_beside_noise_are_covered_also_where_they_alone_exceed_the_target(
    epsilon: float, steps: float, ratio: float
) -> None:
    """The hardest step, randomized response, and then noise: the two parts of a mixture, each of its own ratio."""
    claim = composed(Fraction(steps), Fraction(ratio), Approximate(epsilon, 1e-6))
    assert isinstance(claim, Approximate)
    grown, mu = math.exp(claim.epsilon), math.sqrt(ratio)
    kept, other = special.expit(steps), special.expit(-steps)
    spent = sum(over(here, grown * there, mu) for here, there in ((kept, other), (other, kept)))
    assert spent <= claim.delta * (1 + 1e-9) + 1e-12


def over(here: float, there: float, mu: float) -> float:
    """The mass of `here` N(mu, 1) above `there` N(0, 1)."""
    end = math.log(there / here) / mu + mu / 2
    return float(here * special.ndtr(mu - end) - there * special.ndtr(-end))
