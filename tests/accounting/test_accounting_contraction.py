"""Contraction: closed forms, brute force over random and extremal channels, the exact supremum at a total variation."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

from sfumato.accounting import divergences
from sfumato.accounting.channels import Channel
from sfumato.accounting.contractions import (
    DIVERGENCES,
    channel_chi_square_contraction,
    channel_total_variation_contraction,
    chi_square_contraction,
    classical_divergence,
    largest_divergence,
    total_variation_contraction,
)
from sfumato.errors import ParameterError

FUNCTIONS = {
    "kullback-leibler": divergences.kullback_leibler,
    "chi-square": divergences.chi_square,
    "hellinger": divergences.squared_hellinger,
    "total-variation": divergences.total_variation,
}
epsilons = st.floats(0.05, 4)
seeds = st.integers(0, 10**6)


def response(epsilon: float) -> Channel:
    keep = math.exp(epsilon) / (1 + math.exp(epsilon))
    return Channel([[keep, 1 - keep], [1 - keep, keep]])


def staircase(epsilon: float, inputs: int, seed: int) -> np.ndarray:
    """A random extreme point of the epsilon-private channels: a vertex of the staircase polytope."""
    columns = np.array(list(itertools.product((1.0, math.exp(epsilon)), repeat=inputs))).T
    prices = np.random.default_rng(seed).normal(size=columns.shape[1])
    found = linprog(prices, A_eq=columns, b_eq=np.ones(inputs))
    matrix = columns * found.x
    matrix = matrix[:, matrix.max(axis=0) > 1e-12]
    return matrix / matrix.sum(axis=1, keepdims=True)


def laws(inputs: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    shape = rng.choice([0.1, 1.0, 10.0])
    return tuple(rng.dirichlet(np.full(inputs, shape), 2) * 0.999 + 0.001 / inputs)


# claims
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 3.0])
def test_randomized_response_attains_both_coefficients(epsilon):
    squared = channel_chi_square_contraction(response(epsilon))
    assert squared == pytest.approx(math.tanh(epsilon / 2) ** 2, rel=1e-9)
    assert chi_square_contraction(epsilon) == pytest.approx(squared, rel=1e-9)
    varied = channel_total_variation_contraction(response(epsilon))
    assert varied == pytest.approx(total_variation_contraction(epsilon), rel=1e-9)


@pytest.mark.parametrize("kind", ["kullback-leibler", "chi-square", "hellinger"])
@pytest.mark.parametrize("epsilon", [0.2, 1.0, 3.0])
def test_the_squared_coefficient_is_approached_by_inputs_close_together(kind, epsilon):
    near = np.array([[0.5 + 1e-4, 0.5 - 1e-4], [0.5, 0.5]])
    ratio = FUNCTIONS[kind](*(near @ response(epsilon).floats())) / FUNCTIONS[kind](*near)
    assert ratio == pytest.approx(math.tanh(epsilon / 2) ** 2, rel=1e-3)


@pytest.mark.parametrize("kind", DIVERGENCES)
@pytest.mark.parametrize("epsilon", [0.3, 1.0, 3.0])
@pytest.mark.parametrize("t", [0.3, 1.0])
def test_the_largest_divergence_is_the_optimum_of_its_linear_program(kind, epsilon, t):
    columns = np.array(list(itertools.product((1.0, math.exp(epsilon)), repeat=3)))
    values = [DIVERGENCES[kind](t * a + (1 - t) * c, t * b + (1 - t) * c) for a, b, c in columns]
    found = linprog(-np.array(values), A_eq=columns.T, b_eq=np.ones(3))
    assert largest_divergence(kind, epsilon, t) == pytest.approx(-found.fun, rel=1e-6)


def test_total_variation_one_is_the_known_supremum():
    assert largest_divergence("kullback-leibler", 1.0, 1.0) == pytest.approx(math.tanh(0.5), rel=1e-9)
    assert largest_divergence("chi-square", 1.0, 1.0) == pytest.approx(4 * math.sinh(0.5) ** 2, rel=1e-9)


# laws
@given(epsilons, seeds, st.integers(2, 4))
@settings(max_examples=60)
def test_no_private_channel_lets_more_through(epsilon, seed, inputs):
    matrix = staircase(epsilon, inputs, seed)
    first, second = laws(inputs, seed)
    outputs = first @ matrix, second @ matrix
    before = divergences.total_variation(first, second)
    for kind, function in FUNCTIONS.items():
        after = function(*outputs)
        share = total_variation_contraction(epsilon) if kind == "total-variation" else chi_square_contraction(epsilon)
        assert after <= function(first, second) * share * (1 + 1e-7) + 1e-12
        assert after <= largest_divergence(kind, epsilon, before) * (1 + 1e-6) + 1e-12
    both = divergences.kullback_leibler(*outputs) + divergences.kullback_leibler(*outputs[::-1])
    assert both <= largest_divergence("jeffreys", epsilon, before) * (1 + 1e-6) + 1e-12
    assert channel_chi_square_contraction(Channel(matrix)) <= chi_square_contraction(epsilon) * (1 + 1e-7)


@given(seeds, st.integers(2, 5))
@settings(max_examples=60)
def test_the_coefficient_of_a_channel_bounds_every_pair_of_inputs(seed, inputs):
    matrix = np.random.default_rng(seed).dirichlet(np.ones(3), inputs)
    first, second = laws(inputs, seed + 1)
    coefficient = channel_chi_square_contraction(Channel(matrix))
    for kind in ("kullback-leibler", "chi-square", "hellinger"):
        after = FUNCTIONS[kind](first @ matrix, second @ matrix)
        assert after <= coefficient * FUNCTIONS[kind](first, second) * (1 + 1e-9) + 1e-12


@given(epsilons, st.floats(0.001, 1))
def test_the_classical_bound_is_never_below_the_supremum(epsilon, t):
    assert largest_divergence("jeffreys", epsilon, t) <= classical_divergence(epsilon, t)


# refusals
def test_refuses_what_has_no_meaning():
    with pytest.raises(ParameterError, match="total_variation"):
        largest_divergence("chi-square", 1.0, 1.5)
    with pytest.raises(ParameterError, match="kind"):
        largest_divergence("distance", 1.0, 0.5)
    with pytest.raises(ParameterError, match="epsilon"):
        classical_divergence(-1.0, 0.5)


def test_kinds_are_spelled_as_their_functions_too():
    assert largest_divergence("total_variation", 0.5, 0.1) == largest_divergence("total-variation", 0.5, 0.1)
    with pytest.raises(ParameterError, match="kind must be one of"):
        largest_divergence(["total-variation"], 0.5, 0.1)
