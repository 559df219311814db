"""Fourier bases, series and suprema: the kernel they stand for, bounds that are above the truth and near it."""

import json
import math

import numpy as np
import pytest
from scipy import stats

from sfumato.errors import ParameterError
from sfumato.randomness import seeded
from sfumato.sampling.processes import Series, Torus, series_path, supremum_quantile
from sfumato.sampling.processes.kernels import Gaussian, Matern12, Matern52, Tensor
from sfumato.sampling.reals import normals
from statistical import ALPHA
from thinned import thinned

LINE = Torus((0.0,), (1.0,), (1.6,), (40,))
PLANE = Torus((0.0, -1.0), (1.0, 1.0), (1.8, 3.0), (6, 7))
SOLID = Torus((0.0,) * 3, (1.0,) * 3, (2.0,) * 3, (2, 3, 2))
KERNELS = {LINE: Gaussian(0.1), PLANE: Tensor((Gaussian(0.3), Matern52(0.5))), SOLID: Gaussian(0.5, 3)}
bases = pytest.mark.parametrize("basis", [LINE, PLANE, SOLID], ids=["line", "plane", "solid"])


def units(basis):
    return np.sqrt(basis.weights(KERNELS[basis]))


def fine(basis, coefficients):
    return np.abs(basis.on_grid(coefficients, {1: (5001,), 2: (301, 301), 3: (61, 61, 61)}[basis.dimension]))


def on_the_line(basis, rows):
    """The suprema of many paths at 5,001 points, some paths at a time."""
    design = basis.design(np.linspace(basis.low[0], basis.high[0], 5001)).T
    return np.concatenate([np.abs(some @ design).max(axis=1) for some in np.split(rows, 8)])


# claims


def test_the_series_kernel_is_the_kernel_where_the_torus_is_wide():
    points = np.linspace(0, 1, 25)
    design = LINE.design(points)
    assert np.allclose((design * LINE.weights(Gaussian(0.1))) @ design.T, Gaussian(0.1).gram(points), atol=1e-6)


@bases
def test_a_grid_has_the_values_of_the_points(basis):
    coefficients = units(basis) * normals((basis.features,), seeded(1))
    counts = (5, 6, 7)[: basis.dimension]
    axes = [np.linspace(*ends) for ends in zip(basis.low, basis.high, counts, strict=True)]
    points = np.stack([part.ravel() for part in np.meshgrid(*axes, indexing="ij")], axis=1)
    series = Series(basis, tuple(coefficients))
    assert np.allclose(series.on_grid(counts).ravel(), series.at(points), rtol=0, atol=1e-12)


@bases
def test_suprema_are_above_the_truth_and_near_it(basis):
    rows = units(basis) * normals((20, basis.features), seeded(2))
    bound = basis.suprema(rows)
    truth = np.array([fine(basis, row).max() for row in rows])
    assert (bound >= truth).all()
    assert (bound <= truth * (1.01 if basis.dimension == 1 else 1.05)).all()


@bases
def test_suprema_hold_for_the_roughest_series(basis):
    """The highest waves alone, where a grid sees least."""
    highest = np.abs(basis.index) == np.asarray(basis.degrees)
    rows = normals((30, basis.features), seeded(3)) * highest.all(axis=1)
    assert all(bound >= fine(basis, row).max() for bound, row in zip(basis.suprema(rows), rows, strict=True))


@bases
def test_spread_and_reach_bound_the_sums(basis):
    points = np.random.default_rng(1).random((500, basis.dimension))
    terms = np.abs(basis.design(points) * units(basis))
    spread = np.sqrt((terms**2).sum(axis=1))
    assert np.allclose(spread, basis.spread(units(basis)), rtol=1e-9)  # constant: cosines and sines share their units
    lopsided = units(basis) * (1 + (basis.index < 0).any(axis=1))
    assert np.sqrt(((basis.design(points) * lopsided) ** 2).sum(axis=1)).max() <= basis.spread(lopsided)
    assert terms.sum(axis=1).max() <= basis.reach(units(basis))


# distribution


@pytest.mark.parametrize("basis", thinned([LINE, PLANE, SOLID], 2), ids=["line", "plane", "solid"])
def test_quantiles_of_suprema_are_never_too_small_and_sharp(basis):
    """Fresh paths, true suprema from below: at most beta exceed, and not far fewer; 4,000 draws see 1 %."""
    count = {1: 4000, 2: 400, 3: 150}[basis.dimension]
    rows = units(basis) * normals((count, basis.features), seeded(4))
    suprema = basis.suprema(rows) if basis.dimension > 1 else on_the_line(basis, rows)
    for beta in (0.5, 0.2, 0.05):
        over = int((suprema > supremum_quantile(basis, tuple(units(basis)), beta)).sum())
        assert stats.binom.sf(over - 1, count, beta) >= ALPHA
        assert stats.binom.cdf(over, count, 0.6 * beta) >= ALPHA


def test_quantiles_of_one_number_are_those_of_a_normal():
    """A single constant: the supremum is |z|; simulated limits within 3 % above, the tails a proven bound."""
    basis = Torus((0.0,), (1.0,), (1.0,), (0,))
    for beta in (0.5, 0.05, 0.003, 1e-4, 1e-9):
        truth = -stats.norm.ppf(beta / 2)
        assert truth <= supremum_quantile(basis, (1.0,), beta) <= truth * 1.12


def test_quantiles_grow_as_fewer_failures_are_allowed_and_scale():
    chosen = tuple(units(LINE))
    found = [supremum_quantile(LINE, chosen, beta) for beta in (0.9, 0.3, 0.05, 2.1e-3, 1.9e-3, 1e-6, 1e-12)]
    assert found == sorted(found)
    doubled = tuple(2 * unit for unit in chosen)
    assert math.isclose(supremum_quantile(LINE, doubled, 0.05), 2 * found[2], rel_tol=1e-12)
    assert supremum_quantile(LINE, (0.0,) * LINE.features, 0.05) == 0.0


def test_a_series_path_has_the_kernels_covariance():
    rng, points = seeded(8), np.linspace(0, 1, 6)
    values = np.array([series_path(Matern12(0.3), LINE, rng).at(points) for _ in range(5000)])
    design = LINE.design(points)
    truth = (design * LINE.weights(Matern12(0.3))) @ design.T
    white = np.linalg.solve(np.linalg.cholesky(truth), values.T)
    for statistic, degrees in [((white**2).sum(axis=1), 5000), (np.array([(white**2).sum()]), 30_000)]:
        tails = 2 * np.minimum(stats.chi2.cdf(statistic, degrees), stats.chi2.sf(statistic, degrees))
        assert tails.min() * len(tails) >= ALPHA
    assert stats.chi2.cdf((white**2).sum() / 1.1, 30_000) < ALPHA  # 10 % off, 11 standard deviations, is refused


# laws


@bases
def test_records_bring_the_same_function_back(basis):
    series = series_path(KERNELS[basis], basis, seeded(1))
    again = Series.from_record(json.loads(json.dumps(series.to_record())))
    assert again == series
    points = np.random.default_rng(2).random((5, basis.dimension))
    assert np.array_equal(again.at(points), series.at(points))


# refusals


def test_refusals_name_the_argument():
    with pytest.raises(ParameterError, match="1 to 3 dimensions, got 10"):
        Torus((0.0,) * 10, (1.0,) * 10, (2.0,) * 10, (1,) * 10)
    with pytest.raises(ParameterError, match="one entry for each axis"):
        Torus((0.0,), (1.0, 1.0), (2.0,), (1,))
    with pytest.raises(ParameterError, match="low < high <= low"):
        Torus((0.0,), (1.0,), (0.5,), (1,))
    with pytest.raises(ParameterError, match="features"):
        Torus((0.0,), (1.0,), (2.0,), (10**6,))
    with pytest.raises(ParameterError, match="kernel has dimension 2"):
        LINE.weights(Gaussian(1.0, 2))
    with pytest.raises(ParameterError, match="81, one for each"):
        Series(LINE, (1.0,))
    with pytest.raises(ParameterError, match="beta"):
        supremum_quantile(LINE, tuple(units(LINE)), 0.0)
