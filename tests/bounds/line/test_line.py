"""The least mean square on a line: numbers, and programmes solved another way that no bound may exceed."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from scipy.optimize import linprog

from sfumato.bounds.line import least_of_answers, least_on_chain, least_variance, words
from sfumato.privacy.guarantees import Approximate, Concentrated, Pure


def noise_programme(epsilon, delta, mesh, reach):
    """The second moment of the best law on Z/mesh up to `reach`: noise that exists, so no bound may exceed it."""
    last = reach * mesh
    places, folds = np.arange(last + 1), np.where(np.arange(last + 1) == 0, 1.0, 2.0)
    here = np.arange(-last, last + 1)
    rows, slack = np.arange(len(here)), last + 1 + np.arange(len(here))
    beside = abs(here + mesh)
    inside = beside <= last
    entries = [(rows, abs(here), np.ones(len(here))), (rows, slack, -np.ones(len(here)))]
    entries += [(rows[inside], beside[inside], np.full(inside.sum(), -math.exp(epsilon)))]
    entries += [(np.full(len(here), len(here)), slack, np.ones(len(here)))]
    matrix = _matrix(entries, (len(here) + 1, last + 1 + len(here)))
    limits = np.append(np.zeros(len(here)), delta)
    costs = np.append(folds * (places / mesh) ** 2, np.zeros(len(here)))
    total = sparse.csr_matrix(np.append(folds, np.zeros(len(here)))[None, :])
    solved = linprog(costs, A_ub=matrix, b_ub=limits, A_eq=total, b_eq=[1.0])
    return solved.fun if solved.status == 0 else math.inf


def chain_programme(epsilon, delta, answers, outputs):
    """The least worst mean square of mechanisms with these outputs on a chain: one that exists."""
    tables, count = len(answers), len(outputs)
    laws = np.arange(tables * count).reshape(tables, count)
    pairs = [(t, t + d) for t in range(tables) for d in (-1, 1) if 0 <= t + d < tables]
    size = tables * count + 1 + len(pairs) * count
    entries, row = [], 0
    for number, (one, other) in enumerate(pairs):
        rows = row + np.arange(count)
        slack = tables * count + 1 + number * count + np.arange(count)
        entries += [(rows, laws[one], np.ones(count)), (rows, laws[other], np.full(count, -math.exp(epsilon)))]
        entries += [(rows, slack, -np.ones(count)), (np.full(count, row + count), slack, np.ones(count))]
        row += count + 1
    for table in range(tables):
        entries += [(np.full(count, row), laws[table], (outputs - answers[table]) ** 2)]
        entries += [(np.array([row]), np.array([tables * count]), np.array([-1.0]))]
        row += 1
    limits = np.zeros(row)
    limits[count : (count + 1) * len(pairs) : count + 1] = delta
    sums = [(np.full(count, table), laws[table], np.ones(count)) for table in range(tables)]
    costs = np.zeros(size)
    costs[tables * count] = 1.0
    matrices = {"A_ub": _matrix(entries, (row, size)), "A_eq": _matrix(sums, (tables, size))}
    return linprog(costs, b_ub=limits, b_eq=np.ones(tables), **matrices).fun


def _matrix(entries, shape):
    rows, columns, values = (np.concatenate(part) for part in zip(*entries, strict=True))
    return sparse.csr_matrix((values, (rows, columns)), shape=shape)


# claims: the numbers that the theorems give
def test_pure_noise_is_the_geometric_law():
    assert least_variance(Pure(1.0)) == pytest.approx(1 / (2 * math.sinh(0.5) ** 2), rel=1e-9)


@pytest.mark.parametrize(("rho", "least"), [(0.01, 49.936), (0.1, 4.982), (0.5, 0.9877), (1.0, 0.478)])
def test_concentrated_noise(rho, least):
    found = least_variance(Concentrated(rho))
    assert least <= found <= 1 / (2 * rho)


@pytest.mark.parametrize(
    ("epsilon", "delta", "least"),
    [(1.0, 1e-6, 1.837), (0.1, 1e-3, 154.5), (0.05, 0.01, 151.3), (0.01, 0.01, 497.1), (0.1, 0.3, 0.7884)],
)
def test_approximate_noise(epsilon, delta, least):
    assert least <= least_variance(Approximate(epsilon, delta)) <= 1.003 * least


@pytest.mark.parametrize(("steps", "share"), [(20, 0.8955), (40, 0.965), (60, 0.982), (120, 0.990)])
def test_chains_rise_to_the_line(steps, share):
    assert share <= least_on_chain(Pure(1.0), steps).mean_square / least_variance(Pure(1.0)) <= 1


def test_who_is_bounded():
    claims = (Pure(1.0), Concentrated(1.0), Approximate(1.0, 1e-6), Approximate(1.0, 0.0))
    assert [words(claim) for claim in claims] == [
        "pure mechanisms", "concentrated mechanisms", "mechanisms with epsilon and delta", "pure mechanisms",
    ]  # fmt: skip


# laws: true for every parameter
@settings(max_examples=15)
@given(st.floats(0.05, 3), st.floats(0.001, 0.5), st.integers(1, 3))
def test_no_noise_beats_the_line(epsilon, delta, mesh):
    existing = noise_programme(epsilon, delta, mesh, 8)
    assert least_variance(Approximate(epsilon, delta)) <= existing * (1 + 1e-6) + 1e-9


@settings(max_examples=15)
@given(st.floats(0.2, 3), st.sampled_from([0.0, 1e-6, 0.01, 0.2]), st.integers(1, 5), st.integers(0, 2**32 - 1))
def test_no_mechanism_beats_a_chain(epsilon, delta, steps, seed):
    answers = np.cumsum(np.random.default_rng(seed).uniform(0.3, 1.5, steps + 1))
    existing = chain_programme(epsilon, delta, answers, np.linspace(answers[0], answers[-1], 8 * steps + 1))
    claim = Approximate(epsilon, delta)
    assert least_of_answers(claim, answers) <= existing * (1 + 1e-6) + 1e-9


@settings(max_examples=10)
@given(st.floats(0.02, 2), st.integers(1, 60))
def test_concentrated_chains_stay_below_the_line(rho, steps):
    chain = least_on_chain(Concentrated(rho), steps)
    assert chain.mean_square <= min(least_variance(Concentrated(rho)), steps**2 / 4)
    assert sum(chain.prior) == pytest.approx(1.0)


@pytest.mark.parametrize("rho", [0.05, 0.1, 0.5])
@pytest.mark.parametrize("steps", [8, 20, 60])
def test_the_best_guess_from_normal_noise_does_not_beat_the_prior(rho, steps):
    chain = least_on_chain(Concentrated(rho), steps)
    tables, deviation = np.arange(steps + 1.0), 1 / math.sqrt(2 * rho)
    outputs = np.arange(-8 * deviation, steps + 8 * deviation, deviation / 20)
    joint = (
        np.array(chain.prior)[:, None] * np.exp(-((outputs - tables[:, None]) ** 2) * rho) * math.sqrt(rho / math.pi)
    )
    guesses = tables @ joint / joint.sum(0)
    risk = (joint * (guesses - tables[:, None]) ** 2).sum() * deviation / 20
    assert chain.step == 1
    assert 0.95 * risk * (steps == 60) < chain.mean_square <= risk * (1 + 1e-6)


@pytest.mark.parametrize(("size", "share"), [(1000, 0.9), (10_000, 0.975)])
@pytest.mark.parametrize("claim", [Pure(1.0), Concentrated(0.1), Approximate(1.0, 1e-6)])
def test_means_of_a_private_number_of_rows(claim, size, share):
    upper = np.arange(301.0)
    least = least_of_answers(claim, upper / (size + upper))
    assert share**2 * least_variance(claim) <= least * size**2 <= least_variance(claim)


@pytest.mark.parametrize(("rho", "steps", "least"), [(0.1, 5, 1.57), (0.02, 4, 2.3), (0.5, 2, 0.25), (1.0, 1, 0.07)])
def test_short_chains_under_rho(rho, steps, least):
    chain = least_on_chain(Concentrated(rho), steps)
    assert least <= chain.mean_square <= steps**2 / 4
    assert sum(chain.prior) == pytest.approx(1.0)
    assert least_of_answers(Concentrated(rho), np.arange(steps + 1) * 7.0) == pytest.approx(49 * chain.mean_square)


# audit: a bound that is too high is found out
def test_whole_answers_overstate_a_chain():
    answers = np.arange(11.0)
    whole, quarters = (chain_programme(1.0, 0.0, answers, np.linspace(0, 10, count)) for count in (11, 41))
    assert whole > 1.05 * quarters
    least = least_on_chain(Pure(1.0), 10).mean_square
    assert 0.98 * quarters < least <= quarters


# refusals: none; every claim has a number
@settings(max_examples=10)
@given(st.floats(0, 1e5), st.floats(0, 0.999999), st.integers(1, 10**9))
def test_every_claim_has_a_number(loss, delta, steps):
    for claim in (Pure(loss), Approximate(loss, delta), Concentrated(loss)):
        least = least_variance(claim)
        assert 0 <= least_on_chain(claim, steps).mean_square <= least < math.inf


@pytest.mark.parametrize("answers", [[], [1.0], [2.0, 2.0, 2.0]])
def test_answers_that_do_not_change_need_no_error(answers):
    assert least_of_answers(Pure(1.0), answers) == 0.0
