"""Paths on grids: their covariance, what is added to it and never taken away, and refusals."""

import numpy as np
import pytest
from scipy import stats

from sfumato.errors import ParameterError
from sfumato.randomness import seeded
from sfumato.sampling.processes import grid_path, grids
from sfumato.sampling.processes.kernels import (
    Gaussian,
    Matern12,
    Matern32,
    Matern52,
    Periodic,
    Polynomial,
    Scaled,
    Sobolev,
    Sum,
    Tensor,
)
from statistical import ALPHA

DRAWS = 3_000
CASES = [
    (Gaussian(0.1), "circulant", (40,)),
    (Matern12(0.5), "circulant", (33,)),
    (Sum((Matern52(0.3), Scaled(Gaussian(0.2), 2.0))), "circulant", (40,)),
    (Periodic(1.0, 0.73), "series", (20,)),
    (Sobolev(2), "kronecker", (20,)),
    (Matern32(0.3, 2), "circulant", (6, 7)),
    (Gaussian(0.3, 2), "kronecker", (6, 7)),
    (Tensor((Matern12(0.3), Gaussian(0.4), Periodic(1.0, 2.0))), "kronecker", (4, 3, 4)),
]


@pytest.mark.parametrize(("kernel", "method", "counts"), CASES, ids=[repr(case[0]) for case in CASES])
def test_a_grid_path_has_the_kernels_covariance(kernel, method, counts):
    """Sums of squares along eigenvectors, exactly chi-square; 3,000 draws tell a variance 30 % off, together 5 %.

    The spline has four eigenvectors that count, so it gets four times the draws.
    """
    d = len(counts)
    rng = seeded(31)
    draws = 4 * DRAWS if isinstance(kernel, Sobolev) else DRAWS
    paths = [grid_path(kernel, (0.0,) * d, (1.0,) * d, counts, rng) for _ in range(draws)]
    assert {path.method for path in paths} == {method}
    values = np.array([path.values.ravel() for path in paths])
    points = np.stack([p.ravel() for p in np.meshgrid(*paths[0].axes, indexing="ij")], axis=1)
    variances, vectors = np.linalg.eigh(kernel.gram(points))
    kept = variances > 1e-3 * kernel.peak  # far above what may be added
    assert paths[0].extra <= 1e-5 * kernel.peak
    sums = ((values @ vectors[:, kept]) ** 2 / variances[kept]).sum(axis=0)
    tails = 2 * np.minimum(stats.chi2.cdf(sums, draws), stats.chi2.sf(sums, draws))
    assert tails.min() * kept.sum() >= ALPHA
    for factor in (0.9, 1.1):
        total, degrees = sums.sum() * factor, draws * kept.sum()
        assert 2 * min(stats.chi2.cdf(total, degrees), stats.chi2.sf(total, degrees)) < ALPHA


@pytest.mark.parametrize("kernel", [Gaussian(0.4), Gaussian(2.0), Matern52(3.0), Periodic(0.5, 0.37)], ids=repr)
def test_raised_eigenvalues_only_add_and_are_counted(kernel):
    """On a torus too small for the kernel: what is drawn minus what is wanted is nonnegative and below `extra`."""
    n, size, step = 20, 40, 1 / 19
    raised, extra = grids._eigenvalues(kernel, [size], [step])
    drawn = np.fft.irfft(raised, size)[:n]
    lags = np.abs(np.subtract.outer(np.arange(n), np.arange(n)))
    excess = drawn[lags] - kernel.gram(np.arange(n) * step)
    assert np.linalg.eigvalsh(excess)[0] > -1e-13
    assert 0 <= excess[0, 0] <= extra


def test_enlarging_the_torus_avoids_raising():
    small = grids._eigenvalues(Gaussian(0.3), [40], [1 / 19])[1]
    path = grid_path(Gaussian(0.3), (0.0,), (1.0,), (20,), seeded(1))
    assert path.extra < 1e-6 < small


def test_refuses_what_it_cannot_draw():
    rng = seeded(1)
    with pytest.raises(ParameterError, match=r"of the variance.*use series_path"):
        grid_path(Sum((Periodic(0.3, 0.3711),)), (0.0,), (1.0,), (30,), rng)
    with pytest.raises(ParameterError, match="not a function of x - y"):
        grid_path(Polynomial(2, 2.0), (0.0,), (1.0,), (5000,), rng)
    with pytest.raises(ParameterError, match="at least 2 points"):
        grid_path(Gaussian(1.0), (0.0,), (1.0,), (1,), rng)
    with pytest.raises(ParameterError, match="2 entries"):
        grid_path(Gaussian(1.0, 2), (0.0,), (1.0,), (5,), rng)
    with pytest.raises(ParameterError, match="too many"):
        grid_path(Matern12(1.0), (0.0,), (1.0,), (10**8,), rng)
