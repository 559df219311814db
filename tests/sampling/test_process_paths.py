"""Paths shown piece by piece: one joint law however they are asked, saved and reloaded; never too little noise.

Tests of a joint law whiten the values: under the true covariance every sum of squares along a fixed unit vector is
chi-square with one degree for each path, exactly.  The vectors are those in which the wrong law differs most.
"""

import json
import math
from types import SimpleNamespace

import numpy as np
import pytest
from mpmath import mp
from scipy import stats

from sfumato.errors import ParameterError, SchemaError
from sfumato.randomness import seeded
from sfumato.sampling.processes import DensePath, MarkovPath, path_from, path_of
from sfumato.sampling.processes.kernels import Gaussian, Matern12, Matern32, Matern52, Periodic, Scaled, Tensor
from sfumato.sampling.processes.path import NUGGET
from statistical import ALPHA
from thinned import thinned

POINTS = np.random.default_rng(5).permutation(np.linspace(-2, 6, 120))
FIRST, SECOND, THIRD = np.split(POINTS, 3)
PATHS = 250  # of 120 points: the sum of all squares has relative error 0.8 %, so 10 % off are 11 standard deviations
KERNELS = [Gaussian(0.5), Matern12(0.7), Matern32(0.7), Scaled(Matern52(0.7), 4.0), Periodic(1.0, 7.0)]


def least_pvalue(values, covariance, directions):
    """The least of the exact p-values of all sums of squares, times their number."""
    white = np.linalg.solve(np.linalg.cholesky(covariance), values.T)
    sums = [((direction @ white) ** 2).sum() for direction in directions] + [(white**2).sum()]
    degrees = [len(values)] * len(directions) + [values.size]
    tails = [2 * min(stats.chi2.cdf(s, n), stats.chi2.sf(s, n)) for s, n in zip(sums, degrees, strict=True)]
    return min(1.0, min(tails) * len(tails))


def contrasts(covariance, wrong):
    """Orthonormal vectors along which the whitened wrong covariance is largest and smallest."""
    inverse = np.linalg.inv(np.linalg.cholesky(covariance))
    return np.linalg.eigh(inverse @ wrong @ inverse.T)[1].T


def covariance_of(kernel, points):
    nugget = 0.0 if isinstance(path_of(kernel), MarkovPath) else NUGGET * kernel.peak
    return kernel.gram(points) + nugget * np.eye(len(points))


def forgotten(path):
    """A bug: what was shown is kept, but new points do not know of it."""
    fresh = path_of(path.kernel)
    known = {point: path.at([point], seeded(0))[0] for point in FIRST}
    at = fresh.at
    return SimpleNamespace(
        kernel=path.kernel,
        at=lambda points, rng: np.array([known[x] for x in points]) if points[0] in known else at(points, rng),
    )


def shown(kernel, rng, reload):
    """The values at 120 points, asked in three rounds with a reload after each."""
    path = path_of(kernel)
    first = path.at(FIRST, rng)
    path = reload(path)
    second = path.at(SECOND, rng)
    path = reload(path)
    assert np.array_equal(path.at(FIRST, rng), first)
    return np.concatenate([first, second, path.at(THIRD, rng)])


def saved(path):
    return path_from(json.loads(json.dumps(path.to_record())))


@pytest.mark.parametrize("kernel", thinned([Gaussian(0.5), Matern32(0.7), Scaled(Matern52(0.7), 4.0)], 1), ids=repr)
def test_evaluated_saved_reloaded_and_evaluated_elsewhere_is_one_path(kernel):
    """And the law is refused if a reload starts a new path, or if the covariance is 10 % off."""
    rng, truth = seeded(21), covariance_of(kernel, POINTS)
    parts = np.zeros_like(truth)
    for block in (slice(0, 40), slice(40, 80), slice(80, 120)):
        parts[block, block] = truth[block, block]
    directions = contrasts(truth, parts)
    values = np.array([shown(kernel, rng, saved) for _ in range(PATHS)])
    assert least_pvalue(values, truth, directions) >= ALPHA
    for factor in (0.9, 1.1):
        assert least_pvalue(values, factor * truth, directions) < ALPHA
    forgetful = np.array([shown(kernel, rng, forgotten) for _ in range(PATHS // 5)])
    assert least_pvalue(forgetful, truth, directions) < ALPHA


@pytest.mark.parametrize("kernel", [*KERNELS, Tensor((Matern32(1.0), Gaussian(1.0)))], ids=repr)
def test_what_was_shown_stays(kernel):
    rng, points = seeded(22), np.random.default_rng(3).random((30, kernel.dimension))
    path = path_of(kernel)
    before = path.at(points[:20], rng)
    path.at(points[10:], rng)
    assert np.array_equal(path.at(points[:20], rng), before)
    assert np.array_equal(saved(path).at(points[:20], rng), before)
    again = path.at(np.concatenate([points[:1], points[:1]]), rng)
    assert again[0] == again[1] == before[0]


def test_a_reloaded_path_goes_on_exactly_as_the_saved_one():
    for kernel in KERNELS:
        path = path_of(kernel)
        path.at(FIRST, seeded(1))
        copy = saved(path)
        assert np.allclose(path.at(SECOND, seeded(2)), copy.at(SECOND, seeded(2)), rtol=1e-6, atol=1e-7)


# never less noise


@pytest.mark.parametrize("spacing", [1e-2, 1e-6, 1e-12])
def test_a_nearly_singular_matrix_never_gets_less_noise(spacing):
    """L L^T - K is positive definite in exact arithmetic, and at most 3e-8 of the peak."""
    points = np.concatenate([[0.0], np.arange(1, 9) * spacing, [0.5]])
    path = DensePath(Gaussian(1.0))
    for part in (points[:3], points[3:5], points[5:]):
        path.at(part, seeded(1))
    with mp.workdps(60):
        at = [mp.mpf(float(x)) for x in points]
        kernel = mp.matrix([[mp.exp(-((x - y) ** 2) / 2) for y in at] for x in at])
        factor = mp.matrix(path._factor.tolist())
        excess = factor * factor.T - kernel
        mp.cholesky(excess)  # raises if it is not positive definite
        assert max(excess[i, i] for i in range(len(at))) < 3e-8


def test_many_close_points_have_finite_consistent_values():
    for kernel in (Gaussian(1.0), Matern52(1.0), Periodic(1.0, 1.0)):
        values = path_of(kernel).at(np.linspace(0, 1e-9, 300), seeded(5))
        assert np.isfinite(values).all()
        assert np.abs(values - values[0]).max() < 1e-3  # the nugget's deviation is 1e-4


@pytest.mark.parametrize("kernel", [Matern12(1.0), Matern32(1e-3), Matern52(1e10)], ids=repr)
@pytest.mark.parametrize("points", [[0.0, 1e-200, 2e-200], [0.0, 5e-324, 1e-310, 1.0], [-1e308, 0.0, 1e308]])
def test_markov_paths_serve_the_closest_and_the_farthest_points(kernel, points):
    values = MarkovPath(kernel).at(points, seeded(9))
    assert np.isfinite(values).all()
    assert np.abs(values).max() < 10


def test_markov_paths_refine_a_long_grid_in_one_law():
    """Increments over a grid drawn at once, then between its points: their variances, along the whole path."""
    kernel, count = Matern12(0.3), 40_000
    grid = np.linspace(0, 400, count)
    path = MarkovPath(kernel)
    coarse = path.at(grid, seeded(6))
    middles = path.at((grid[1:] + grid[:-1]) / 2, seeded(7))
    a = math.exp(-(grid[1] - grid[0]) / 2 / 0.3)
    bridge = (middles - (coarse[1:] + coarse[:-1]) * a / (1 + a * a)) / math.sqrt((1 - a * a) / (1 + a * a))
    statistic = (bridge**2).sum()
    assert ALPHA < stats.chi2.cdf(statistic, bridge.size) < 1 - ALPHA
    assert stats.chi2.cdf(statistic / 1.1, bridge.size) < ALPHA  # 10 % off is refused
    assert stats.chi2.sf(statistic * 1.1, bridge.size) < ALPHA


# refusals


@pytest.mark.parametrize("kernel", [Gaussian(1.0), Matern32(1.0)])
def test_a_closed_path_forgets(kernel):
    path = path_of(kernel)
    path.at([0.0, 1.0], seeded(1))
    path.close()
    for ask in (lambda: path.at([0.0], seeded(1)), path.to_record):
        with pytest.raises(ParameterError, match="closed"):
            ask()
    assert "0 points" in repr(path)


def test_refuses_too_many_points_and_bad_records():
    with pytest.raises(ParameterError, match="at most 4096; use series_path"):
        DensePath(Gaussian(1.0)).at(np.arange(5000.0), seeded(1))
    with pytest.raises(SchemaError, match="unknown path"):
        path_from({"path": "magic"})
    for kernel in (Gaussian(1.0), Matern32(1.0)):
        path = path_of(kernel)
        path.at([0.0, 1.0], seeded(1))
        record = path.to_record()
        record["points"] = record["points"][:1]
        with pytest.raises(ParameterError, match="save the path again"):
            path_from(record)
    with pytest.raises(ParameterError, match="Matern kernel in one dimension"):
        MarkovPath(Gaussian(1.0))
