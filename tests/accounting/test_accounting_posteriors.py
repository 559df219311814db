"""What somebody could learn: the printed numbers against every event of exact pairs, and attained by the worst."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.accounting.posteriors import PRIORS, beliefs
from sfumato.errors import ParameterError
from sfumato.privacy.gaussian import gaussian_delta
from sfumato.privacy.guarantees import Approximate, Concentrated, Pure

epsilons = st.floats(0.01, 5)
deltas = st.floats(-8, -1).map(lambda power: 10.0**power)


def machine(epsilon: float, delta: float) -> tuple[np.ndarray, np.ndarray]:
    """It tells with probability delta, and else answers by randomized response."""
    likely = (1 - delta) / (1 + math.exp(-epsilon))
    p = np.array([delta, likely, 1 - delta - likely, 0.0])
    return p, p[::-1]


def best_guess(p: np.ndarray, q: np.ndarray, prior: float) -> float:
    """Over all events: the chance that "the first table" is said where it is, and not where it is not."""
    events = itertools.product((False, True), repeat=len(p))
    return max(prior * p[list(e)].sum() + (1 - prior) * (1 - q[list(e)].sum()) for e in events)


def hockey_stick(p: np.ndarray, q: np.ndarray, factor: float) -> float:
    return float(np.maximum(p - factor * q, 0).sum())


# claims
def test_numbers_of_one_epsilon():
    found = beliefs(Pure(math.log(3)))
    assert [belief.prior for belief in found] == list(PRIORS)
    assert [round(belief.most, 6) for belief in found] == [0.029412, 0.25, 0.75]
    assert [round(belief.least, 6) for belief in found] == [0.003356, 0.035714, 0.25]
    assert [round(belief.guess, 6) for belief in found] == [0.99, 0.9, 0.75]


# laws
@settings(max_examples=40)
@given(epsilons, deltas, st.floats(0.01, 0.5))
def test_the_worst_machine_attains_what_is_said_and_never_beats_it(epsilon, delta, prior):
    p, q = machine(epsilon, delta)
    (belief,) = beliefs(Approximate(epsilon, delta), [prior])
    guess = best_guess(p, q, prior)
    assert guess <= belief.guess
    assert guess == pytest.approx(belief.guess, abs=1e-9)
    after = prior * p[1:3] / (prior * p[1:3] + (1 - prior) * q[1:3])
    assert belief.least * (1 - 1e-9) <= after.min() == pytest.approx(belief.least, rel=1e-6)
    assert belief.most * (1 + 1e-9) >= after.max() == pytest.approx(belief.most, rel=1e-6)


@settings(max_examples=40)
@given(st.lists(st.floats(1e-4, 1), min_size=2, max_size=5), st.randoms(use_true_random=False), st.floats(0.01, 0.5))
def test_printed_numbers_hold_for_every_event_of_every_pair(masses, random, prior):
    p = np.array(masses) / sum(masses)
    q = np.array(random.sample(list(p), len(p)))
    epsilon = float(np.max(np.abs(np.log(p / q)))) * random.uniform(0.2, 1.0)
    delta = max(hockey_stick(p, q, math.exp(epsilon)), hockey_stick(q, p, math.exp(epsilon)))
    claim = Approximate(epsilon, min(0.999, delta * (1 + 1e-9)))
    (belief,) = beliefs(claim, [prior])
    printed = [float(cell.split(" %")[0]) / 100 for cell in belief.cells()]
    assert max(best_guess(p, q, prior), best_guess(q, p, prior)) <= printed[3] + 1e-12
    first, second = machine(claim.epsilon, claim.delta)
    for factor in np.geomspace(1, 50, 9):  # the machine tells more, at every price of a false alarm
        assert max(hockey_stick(p, q, factor), hockey_stick(q, p, factor)) <= hockey_stick(first, second, factor) + 1e-9
    if delta < 1e-12:
        after = prior * p / (prior * p + (1 - prior) * q)
        assert printed[1] - 1e-12 <= after.min()
        assert after.max() <= printed[2] + 1e-12


@given(st.floats(1e-4, 4), st.floats(0.01, 0.5))
def test_gaussian_noise_keeps_what_its_rho_says(rho, prior):
    (belief,) = beliefs(Concentrated(rho), [prior])
    apart = gaussian_delta(1.0, math.sqrt(2 * rho), math.log((1 - prior) / prior))
    assert 1 - prior + prior * apart <= belief.guess + 1e-9
    assert belief.guess <= 1 - prior + prior * math.sqrt(rho / 2) + 1e-9


def test_an_honest_delta_of_half_would_be_found_out():
    p, q = machine(0.5, 0.02)
    (belief,) = beliefs(Approximate(0.5, 0.01), [0.5])
    assert best_guess(p, q, 0.5) > belief.guess


def test_nothing_released_teaches_nothing_and_everything_teaches_all():
    assert [(one.least, one.most) for one in beliefs(Pure(0.0))] == [(prior, prior) for prior in PRIORS]
    assert [cell.split(" (")[0] for cell in beliefs(Pure(1e4), [0.1])[0].cells()] == ["10 %", "0 %", "100 %", "100 %"]


# refusals
@pytest.mark.parametrize("prior", [0.0, 0.6, -1.0, "half"])
def test_refuses_what_is_no_prior(prior):
    with pytest.raises(ParameterError, match="prior"):
        beliefs(Pure(1.0), [prior])
