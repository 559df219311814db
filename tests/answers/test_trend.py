"""Regressions read from noisy moments of cells: pools, the smooth curve, and what its band covers."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.answers.curves import Tallies, Trend
from sfumato.answers.curves.pooling import pools
from sfumato.errors import ParameterError
from thinned import thinned

LEVELS = np.array([0.0, 0.5, 1.0])


def tallied(x, t, side, epsilon, rng, noise=True):
    cell = np.minimum((x * side).astype(int), side - 1)
    basis = ((1 - t) ** 2, 2 * t * (1 - t), t * t)
    sums = np.array([np.bincount(cell, weights=one, minlength=side) for one in basis]).T
    if noise:
        sums = sums + rng.laplace(0, 1 / epsilon, sums.shape)
    places = ((np.arange(side) + 0.5) / side)[:, None]
    return Tallies((side,), places, np.array([1 / side]), sums, LEVELS, 2 / epsilon**2)


def trend(tallies, domain=((0.0, 1.0),)):
    return Trend("trend", "regression", ("x",) * len(domain), domain, (0.0, 1.0), tallies)


@settings(max_examples=20)
@given(st.integers(0, 2**32), st.sampled_from([(9,), (5, 4), (3, 2, 4)]), st.floats(0.05, 50))
def test_a_cell_is_in_one_pool_at_most_and_hostile_sums_have_a_band(seed, sides, epsilon):
    rng = np.random.default_rng(seed)
    count, d = int(np.prod(sides)), len(sides)
    sums = rng.choice([0.0, -5.0, 40.0, 3e6], (count, 3)) + rng.laplace(0, 1 / epsilon, (count, 3))
    axes = [(np.arange(side) + 0.5) / side for side in sides]
    places = np.stack([part.reshape(-1) for part in np.meshgrid(*axes, indexing="ij")], axis=1)
    tallies = Tallies(sides, places, 1 / np.array(sides), sums, LEVELS, 2 / epsilon**2)
    found = np.concatenate([pool.cells for pool in pools(tallies)])
    assert len(np.unique(found)) == len(found) > 0
    curve = trend(tallies, ((0.0, 1.0),) * d)
    points = rng.random((5, d)) if d > 1 else rng.random(5)
    low, high = curve.band(points)
    estimate = curve.at(points)
    assert ((low >= 0) & (low <= estimate) & (estimate <= high) & (high <= 1)).all()
    inner = curve.interval(points)
    assert ((low <= inner[0] + 1e-12) & (inner[1] <= high + 1e-12)).all()


def test_cells_without_rows_are_not_seen_and_their_band_is_the_whole_range():
    rng = np.random.default_rng(3)
    x = np.concatenate([rng.uniform(0, 0.4, 3000), np.full(200, 0.98)])
    curve = trend(tallied(x, np.where(x < 0.5, 0.2, 0.7), 32, 1.0, rng))
    assert curve.seen([0.1, 0.3, 0.98]).all()
    assert not curve.seen([0.6, 0.7, 0.8]).any()
    low, high = curve.band([0.7])
    assert (low[0], high[0]) == (0.0, 1.0)
    assert abs(curve.at([0.98])[0] - 0.7) < 0.05


@pytest.mark.parametrize(
    "function", [lambda x: 0.3 + 0.3 * np.sin(4 * x), lambda x: 0.2 + 0.6 * x, lambda x: np.abs(x - 0.4)]
)
@pytest.mark.parametrize("rows", thinned([1000, 20_000], 1))
def test_bands_cover_regression_functions_and_half_of_them_would_not(function, rows):
    rng = np.random.default_rng(rows)
    grid, covered, narrow = np.linspace(0, 1, 101), 0, 0
    for _ in range(12):
        x = rng.beta(2, 3, rows)
        t = (rng.random(rows) < function(x)).astype(float) * 0.5 + 0.5 * function(x)
        curve = trend(tallied(x, t, 24, 1.0, rng))
        low, high = curve.band(grid)
        away = np.abs(curve.at(grid) - function(grid))
        covered += bool(((low <= function(grid)) & (function(grid) <= high)).all())
        narrow += bool((away <= 0.25 * (high - low) / 2).all())
    assert covered >= 11
    assert narrow < 10


def test_more_budget_brings_the_curve_nearer():
    rng, errors = np.random.default_rng(1), []
    x = rng.random(2000)
    t = np.clip(0.5 + 0.3 * np.sin(5 * x) + rng.normal(0, 0.05, 2000), 0, 1)
    grid = np.linspace(0.02, 0.98, 50)
    for epsilon in (0.05, 1.0, 20.0):
        found = [trend(tallied(x, t, 24, epsilon, rng)).at(grid) for _ in range(4)]
        errors.append(float(np.mean([np.sqrt(((one - 0.5 - 0.3 * np.sin(5 * grid)) ** 2).mean()) for one in found])))
    assert errors[0] > 2 * errors[1] > 2 * errors[2]


def test_points_beyond_the_declared_bounds_are_refused():
    curve = trend(tallied(np.random.default_rng(0).random(100), np.full(100, 0.5), 8, 1.0, np.random.default_rng(0)))
    for wrong in ([1.01], [-0.1], [np.nan]):
        with pytest.raises(ParameterError, match="declared bounds"):
            curve.at(wrong)
    with pytest.raises(ParameterError, match="numbers each"):
        trend(curve.tallies, ((0.0, 1.0), (0.0, 1.0))).at([0.1, 0.2, 0.3])
