"""Ball noise: the law of its radius and of its coordinates, stretches, exactness at any scale."""

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from sfumato.errors import ParameterError
from sfumato.randomness import seeded
from sfumato.sampling.ball import BallNoise, _nearest, _roots
from sfumato.sampling.lazy import gamma, normal
from statistical import ALPHA, assert_distribution, ks_pvalue

ONE = Fraction(1)


def draws(law: BallNoise, count: int, seed: int) -> np.ndarray:
    rng = seeded(seed)
    return np.array([law.sample(rng) for _ in range(count)], dtype=float)


def test_one_coordinate_is_laplace():
    """KS, 4,000 draws: critical distance 0.043; a scale 30 % off moves the cdf by 0.05 at least, so margin 0.5."""
    found = draws(BallNoise(1e6, ((1, ONE),)), 4_000, 1).reshape(-1)
    assert_distribution(found, lambda b: stats.laplace(scale=b).cdf, 1e6, margin=0.5)


def test_the_radius_is_gamma():
    """KS, 1,500 draws in 5 dimensions: critical distance 0.07; a scale 25 % off moves the cdf by 0.19."""
    found = np.linalg.norm(draws(BallNoise(1e5, ((5, ONE),)), 1_500, 2), axis=1)
    assert_distribution(found, lambda b: stats.gamma(5, scale=b).cdf, 1e5, margin=0.25)


def test_an_even_number_of_coordinates_is_a_projection():
    """Two of three coordinates: z = r sqrt(1 - u^2) on the plane, r gamma of shape 3, u uniform."""
    found = np.linalg.norm(draws(BallNoise(1e5, ((2, ONE),)), 2_000, 3), axis=1) / 1e5
    generator = np.random.default_rng(1)
    other = np.sort(generator.gamma(3, size=10**6) * np.sqrt(1 - generator.uniform(0, 1, 10**6) ** 2))
    assert ks_pvalue(found, lambda x: np.searchsorted(other, x, side="right") / other.size) >= ALPHA
    assert ks_pvalue(found, lambda x: np.searchsorted(1.4 * other, x, side="right") / other.size) < ALPHA


def test_stretches_multiply_before_rounding():
    law = BallNoise(1e6, ((1, ONE), (1, Fraction(1, 2)), (1, Fraction(3))))
    sizes = np.sqrt(np.square(draws(law, 1_500, 4)).mean(axis=0))
    assert sizes == pytest.approx(np.sqrt(law.variances), rel=0.2)


@pytest.mark.parametrize("scale", [1e-3, 0.3, 1e12])
def test_small_and_large_scales(scale):
    found = BallNoise(scale, ((3, ONE),)).sample(seeded(5))
    assert np.isfinite(found).all()
    assert np.abs(found).max() <= 1 + scale * 800


def test_refining_never_changes_a_decided_coordinate():
    """Enclosures shrink inside one another: the rounded ends of a finer one lie between those of a coarser one."""
    rng = seeded(6)
    mixing, point = gamma(3, rng), normal(rng)
    factor = Fraction(10) ** 60  # coarse: 64 bits do not decide
    low, high = _nearest(_roots(factor, mixing), point)
    assert low < high
    for _ in range(3):
        mixing.refine(rng)
        point.refine(rng)
        finer = _nearest(_roots(factor, mixing), point)
        assert low <= finer[0] <= finer[1] <= high
        low, high = finer
    assert low == high
    assert low == pytest.approx(math.sqrt(float(factor) * float(mixing)) * float(point), rel=1e-12)


@pytest.mark.parametrize("parts", [(), ((1, Fraction(0)),), ((2, Fraction(-1)),), ((0, ONE),), ((10**6, ONE),)])
def test_refuses_nonsense(parts):
    with pytest.raises(ParameterError, match="parts"):
        BallNoise(1.0, parts)


def test_refuses_what_would_overflow():
    with pytest.raises(ParameterError, match="coarsen"):
        BallNoise(1e15, ((1, Fraction(10**6)),))
