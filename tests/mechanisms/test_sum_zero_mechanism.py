"""Noise of sum zero on histograms under replacement: claims, laws, distribution, an audit, and refusals."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato.auditing import audit
from sfumato.errors import UnsupportedQuery
from sfumato.mechanisms import Laplace, SumZero
from sfumato.planner import best, options
from sfumato.privacy.guarantees import Concentrated, Pure
from sfumato.queries import bind
from sfumato.randomness import seeded
from sfumato.sampling.bodies.sum_zero import OneOfSumZero, SumZeroNoise


def column(cells, settled=True):
    labels = [f"c{i}" for i in range(cells)]
    return sf.Categories(labels, other="c0", missing="c0") if settled else sf.Categories(labels)


def schema(cells, settled=True, **more):
    return sf.Schema({"c": column(cells, settled)}, **{"adjacency": sf.Replace(), "size": 100, **more})


def histogram(cells):
    return bind(sf.histogram("c"), schema(cells))


# claims


@pytest.mark.parametrize(("cells", "gain"), [(2, 2.06), (3, 1.57), (5, 1.30), (100, 1.01)])
def test_both_doors_have_one_noise_that_beats_laplace(cells, gain):
    doors = [sf.histogram("c"), sf.count().by("c"), sf.workload("c", ["each"])]
    found = [best(bind(door, schema(cells)), Pure(1.0)) for door in doors]
    assert [type(one) for one in found] == [SumZero] * 3
    assert len({one.scale for one in found}) == len({one.root_mean_square for one in found}) == 1
    laplace = Laplace.calibrate(histogram(cells), Pure(1.0)).root_mean_square
    assert laplace / found[0].root_mean_square == pytest.approx(gain, abs=0.006)


@pytest.mark.parametrize("cells", [2, 3, 4])
def test_no_replacement_costs_more_than_epsilon_and_two_cost_more_than_one(cells):
    mechanism = SumZero.calibrate(histogram(cells), Pure(0.8))
    law = SumZeroNoise(mechanism.scale, cells)
    near = [z for z in itertools.product(range(-4, 5), repeat=cells) if sum(z) == 0]
    move = np.zeros(cells, dtype=int)
    move[:2] = 1, -1
    worst = max(math.log(law.pmf(z) / law.pmf(np.array(z) + move)) for z in near)
    assert worst == pytest.approx(0.8)
    assert mechanism.guarantee().epsilon == pytest.approx(0.8, rel=1e-12)
    assert max(math.log(law.pmf(z) / law.pmf(np.array(z) + 2 * move)) for z in near) == pytest.approx(1.6)


# laws


@pytest.mark.parametrize(("scale", "cells"), [(0.4, 2), (1.0, 3), (0.7, 4)])
def test_one_cell_has_the_marginal_of_the_vectors(scale, cells):
    law, reach = SumZeroNoise(scale, cells), {2: 60, 3: 40, 4: 15}[cells]
    one, masses = OneOfSumZero(law), np.zeros(2 * reach + 1)
    for z in itertools.product(range(-reach, reach + 1), repeat=cells - 1):
        masses[z[0] + reach] += law.pmf((*z, -sum(z)))
    at = np.arange(-reach, reach + 1)
    assert one.variance == pytest.approx(float(masses @ at**2), rel=1e-4)
    assert one.mean_absolute == pytest.approx(float(masses @ np.abs(at)), rel=1e-4)
    for beta in (0.3, 0.05, 0.003):
        t = one.quantile(beta)
        assert masses[np.abs(at) > t].sum() <= beta < masses[np.abs(at) > t - 1].sum()


@settings(max_examples=30, deadline=None)
@given(st.floats(0.05, 3000), st.integers(2, 512), st.floats(1e-14, 0.9))
def test_quantiles_rise_as_tails_shrink_and_stay_below_laplace_of_twice_the_scale(scale, cells, beta):
    one = OneOfSumZero(SumZeroNoise(scale, cells))
    assert one.quantile(beta) <= one.quantile(beta / 2)
    assert one.variance <= 8 * scale**2 + 1
    assert one.quantile(beta) <= 2 * scale * math.log(1 / beta) * 1.02 + 3


def test_wide_laws_are_stretched_narrow_ones_and_their_bars_hold():
    wide, cells = 3000.0, 4
    one = OneOfSumZero(SumZeroNoise(wide, cells))
    draws = SumZeroNoise(wide, cells).sample(4000, seeded(4))
    for beta in (0.5, 0.1):
        missed = (np.abs(draws) > one.quantile(beta)).mean()
        assert abs(missed - beta) < 5 * math.sqrt(beta / 4000)
    assert (draws**2).mean() == pytest.approx(one.variance, rel=0.1)


# distribution


def test_the_total_is_exact_and_the_bars_cover():
    mechanism = SumZero.calibrate(histogram(4), Pure(0.5))
    truth, rng = np.array([40, 30, 20, 10]), seeded(6)
    outputs = np.array([mechanism.release(truth, rng) for _ in range(3000)])
    assert (outputs.sum(axis=1) == 100).all()
    each = np.abs(outputs - truth) <= mechanism.noise.quantile(0.05)
    assert 0.94 <= each.mean() <= 0.975
    assert (np.abs(outputs - truth).max(axis=1) <= mechanism.error(0.05)).mean() >= 0.94


# audit


def attacked(epsilon):
    mechanism = SumZero.calibrate(histogram(3), Pure(epsilon))
    return lambda data, rng: mechanism.release(np.array(data), rng).tolist()


def test_audit_does_not_refute_the_claim():
    assert not audit(attacked(1.0), Pure(1.0), pairs=[([5, 5, 5], [6, 4, 5])], seconds=0.4, generator=seeded).refuted


def test_audit_catches_half_the_noise():
    assert audit(attacked(2.0), Pure(1.0), pairs=[([5, 5, 5], [6, 4, 5])], seconds=4, generator=seeded).refuted


# refusals


@pytest.mark.parametrize("asked", [
    bind(sf.histogram("c"), schema(3, settled=False)),
    bind(sf.histogram("c"), schema(3, adjacency=sf.AddRemove())),
    bind(sf.histogram("c"), schema(3, unit=sf.Person("id", 2))),
    bind(sf.count().by("c").where("c != 'c1'"), schema(3)),
    bind(sf.workload("c", ["prefix"]), schema(3)),
])  # fmt: skip
def test_refuses_counts_without_a_public_total(asked):
    with pytest.raises(UnsupportedQuery, match="public total"):
        SumZero.calibrate(asked, Pure(1.0))
    assert SumZero not in {type(option.mechanism) for option in options(asked, Pure(1.0))}


def test_refuses_what_is_not_pure():
    with pytest.raises(UnsupportedQuery, match="pure"):
        SumZero.calibrate(histogram(3), Concentrated(1.0))
