"""Cube noise on vectors of one parity: claims, laws, distribution, an audit, and refusals."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato as sf
from losses import compared
from sfumato.auditing import audit
from sfumato.errors import ParameterError, UnsupportedQuery
from sfumato.mechanisms import NoiseBody, ParityCube
from sfumato.planner import best, options
from sfumato.privacy.guarantees import Concentrated, Pure
from sfumato.queries import bind
from sfumato.randomness import seeded
from sfumato.sampling.bodies import Cube
from sfumato.sampling.parity import ParityNoise


def signs(rows, cells, seed=0):
    return np.where(np.random.default_rng(seed).random((rows, cells)) < 0.5, 1, -1)


def asked(matrix, **schema):
    matrix = np.asarray(matrix)
    labels = [f"c{i}" for i in range(matrix.shape[1])]
    return bind(sf.workload("c", matrix.tolist()), sf.Schema({"c": sf.Categories(labels)}, **schema))


# claims


@pytest.mark.parametrize(
    ("rows", "cells", "epsilon", "gain"), [(3, 30, 3.0, 1.22), (5, 30, 3.0, 1.11), (6, 100, 5.0, 1.42)]
)
def test_sign_matrices_at_large_epsilon_have_less_noise_than_the_cube(rows, cells, epsilon, gain):
    question = asked(signs(rows, cells))
    found = best(question, Pure(epsilon))
    assert isinstance(found, ParityCube)
    cube = NoiseBody.calibrate(question, Pure(epsilon), Cube(rows))
    assert cube.root_mean_square / found.root_mean_square == pytest.approx(gain, abs=0.02)


UNITS = [{}, {"unit": sf.Person("id", 3)}, {"adjacency": sf.Replace(), "size": 9},
         {"adjacency": sf.Replace(), "size": 9, "unit": sf.Person("id", 2)}]  # fmt: skip


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 4), st.integers(1, 5), st.sampled_from(UNITS), st.floats(0.15, 6), st.data())
def test_no_unit_costs_more_than_is_claimed(rows, cells, unit, epsilon, data):
    odd = st.integers(-3, 2).map(lambda n: 2 * n + 1)
    matrix = np.array(data.draw(st.lists(st.lists(odd, min_size=cells, max_size=cells), min_size=rows, max_size=rows)))
    question = asked(matrix, **unit)
    mechanism = ParityCube.calibrate(question, Pure(epsilon))
    most, replaced = question.schema.unit.rows, "adjacency" in unit
    held = [np.array(c) for c in itertools.product(range(most + 1), repeat=cells) if sum(c) <= most]
    pairs = itertools.combinations(held, 2) if replaced else ((c, 0 * c) for c in held)
    for one, other in pairs:
        cost, claim = compared(mechanism, matrix @ one, matrix @ other)
        assert cost <= claim * (1 + 1e-9)


def test_the_net_tells_a_move_off_the_lattice():
    mechanism = ParityCube.calibrate(asked([[1, 1], [1, -1]]), Pure(1.0))
    assert compared(mechanism, np.array([0, 0]), np.array([1, 0]))[0] == math.inf


# laws


@pytest.mark.parametrize(("scale", "dimension"), [(0.4, 1), (0.7, 2), (1.2, 2), (0.6, 3)])
def test_probabilities_tails_and_moments_are_those_of_sums_over_the_lattice(scale, dimension):
    law, reach = ParityNoise(scale, dimension), {1: 80, 2: 50, 3: 24}[dimension]
    vectors = np.indices((2 * reach + 1,) * dimension).reshape(dimension, -1) - reach
    vectors = vectors[:, ((vectors - vectors[0]) % 2 == 0).all(axis=0)]
    masses = np.exp(-np.abs(vectors).max(axis=0) / scale)
    masses /= masses.sum()
    for i in range(0, vectors.shape[1], max(1, vectors.shape[1] // 7)):
        assert law.pmf(vectors[:, i]) == pytest.approx(masses[i], rel=1e-9)
    first = np.abs(vectors[0])
    assert law.variance == pytest.approx(masses @ first**2, rel=1e-9)
    assert law.mean_absolute == pytest.approx(masses @ first, rel=1e-9)
    for beta in (0.4, 0.05, 1e-3):
        t = law.quantile(beta)
        assert masses[first > t].sum() <= beta
        assert t == 0 or masses[first > t - 1].sum() > beta


# distribution


@pytest.mark.parametrize(("scale", "dimension"), [(0.7, 2), (0.5, 3)])
def test_draws_have_the_law_and_one_parity(scale, dimension):
    """40,000 draws: each of the nearest vectors within five deviations; a scale 15 % off fails."""
    law, draws = ParityNoise(scale, dimension), ParityNoise(scale, dimension).vectors(40_000, seeded(5))
    assert ((draws - draws[:, :1]) % 2 == 0).all()
    near = [np.zeros(dimension, dtype=int), *map(np.array, itertools.product((-1, 1), repeat=dimension))]

    def fits(other):
        chances = np.array([other.pmf(z) for z in near])
        seen = np.array([(draws == z).all(axis=1).mean() for z in near])
        return bool((np.abs(seen - chances) <= 5 * np.sqrt(chances / 40_000)).all())

    assert fits(law)
    assert not fits(ParityNoise(1.15 * scale, dimension))


# audit


def attacked(epsilon):
    mechanism = ParityCube.calibrate(asked([[1, 1], [1, -1]]), Pure(epsilon))
    return lambda data, rng: mechanism.release(np.array(data), rng).tolist()


def test_audit_does_not_refute_the_claim():
    assert not audit(attacked(1.0), Pure(1.0), pairs=[([4, 2], [5, 1])], seconds=0.4, generator=seeded).refuted


def test_audit_catches_half_the_noise():
    assert audit(attacked(2.0), Pure(1.0), pairs=[([4, 2], [5, 1])], seconds=4, generator=seeded).refuted


# refusals


def test_refuses_even_entries_wide_noise_and_other_targets():
    even = asked([[1, 2], [1, 1]])
    with pytest.raises(UnsupportedQuery, match="odd entries"):
        ParityCube.calibrate(even, Pure(1.0))
    assert ParityCube not in {type(option.mechanism) for option in options(even, Pure(1.0))}
    with pytest.raises(ParameterError, match="use the cube"):
        ParityCube.calibrate(asked([[1, 1], [1, -1]]), Pure(0.001))
    with pytest.raises(UnsupportedQuery, match="pure"):
        ParityCube.calibrate(asked([[1, 1], [1, -1]]), Concentrated(1.0))
