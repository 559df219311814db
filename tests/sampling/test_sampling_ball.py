"""Ball noise: the law of its radius and of its coordinates, stretches, exactness at any scale."""

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy import integrate, special, stats

from sfumato.errors import ParameterError
from sfumato.randomness import seeded
from sfumato.sampling import balls as many
from sfumato.sampling.ball import BallNoise, _nearest, _roots
from sfumato.sampling.lazy import gamma, normal
from statistical import ALPHA, SAMPLES, assert_distribution, assert_law, ks_pvalue

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


# many vectors at once


@pytest.mark.parametrize(
    ("scale", "parts"), [(0.7, ((5, ONE),)), (40.0, ((2, ONE), (3, Fraction(5, 7)))), (1e7, ((4, ONE),))]
)
def test_doubles_decide_as_the_exact_reals_do(scale, parts, monkeypatch):
    """The same bits, every coordinate settled by lazy reals: the same vectors."""
    law = BallNoise(scale, parts)
    fast = many.balls(law, 300, seeded(7))
    monkeypatch.setattr(many, "UNKNOWN", 1e9)
    assert (many.balls(law, 300, seeded(7)) == fast).all()


def test_many_radii_are_gamma():
    found = np.linalg.norm(many.balls(BallNoise(1e5, ((5, ONE),)), SAMPLES, seeded(8)), axis=1)
    assert_distribution(found, lambda b: stats.gamma(5, scale=b).cdf, 1e5)


def test_many_directions_are_uniform():
    """The first of three coordinates over the radius is uniform on [-1, 1]."""
    found = many.balls(BallNoise(1e6, ((3, ONE),)), SAMPLES, seeded(9)).astype(float)
    share = found / np.linalg.norm(found, axis=1)[:, None]
    for column in share.T:
        assert_distribution(column, lambda width: stats.uniform(-width, 2 * width).cdf, 1.0)


def test_a_narrow_coordinate_is_a_rounded_laplace_variable():
    def rounded(scale):
        return lambda z: float(stats.laplace.cdf(z + 0.5, scale=scale) - stats.laplace.cdf(z - 0.5, scale=scale))

    found = many.balls(BallNoise(1.3, ((1, ONE),)), 400_000, seeded(10))
    assert_law(found, rounded(1.3), (rounded(1.25), rounded(1.35)))


@pytest.mark.parametrize("dimension", [1, 2, 7, 40])
@pytest.mark.parametrize("scale", [0.5, 25.0])
def test_the_joint_tail_is_bounded_and_nearly_attained(dimension, scale):
    law = many.BallVectors(scale, dimension)
    largest = np.abs(law.sample(20_000, seeded(dimension))).max(axis=1)
    for t in np.quantile(largest, [0.2, 0.5, 0.9, 0.99]).astype(int).tolist():
        beyond = float((largest > t).mean())
        assert beyond - 5 * math.sqrt(beyond * (1 - beyond) / 20_000) - 1e-3 <= law.tail(t)
        assert law.tail(t) <= beyond + 5 * math.sqrt(beyond * (1 - beyond) / 20_000) + 0.02
    assert law.tail(-1) == 1
    if scale > 1:
        assert float(np.abs(law.sample(20_000, seeded(1))).mean()) == pytest.approx(law.mean_absolute, rel=0.05)
    assert law.tail(law.quantile(1e-6)) <= 1e-6 < law.tail(law.quantile(1e-6) - 1)


def test_unknown_bits_of_a_small_sum_move_its_root_within_what_is_granted():
    rng = np.random.default_rng(8)
    for shape in (1, 2, 9):
        unknown = Fraction(shape) * Fraction(many.UNKNOWN)
        for mixed in 2.0 ** rng.uniform(-80, 5, 200):
            granted = Fraction(float(many._root_moved(np.array([mixed]), shape)[0]))
            # sqrt(2 (G + t)) <= sqrt(2 G) + g, squared: 2 t - g^2 <= 2 g sqrt(2 G)
            rest = 2 * unknown - granted**2
            assert rest <= 0 or rest**2 <= 8 * granted**2 * Fraction(mixed)


@pytest.mark.parametrize("dimension", [1, 7, 64])
def test_margins_far_out_end_and_lie_just_above_the_true_ones(dimension):
    law = many.BallVectors(1e3, dimension)
    shape = (law.law.dimension + 1) / 2
    for beta in (1e-3, 1e-9, 1e-12):
        margin = law.margin(beta)

        def beyond(g, margin=margin):
            return 2 * special.ndtr(-margin / (law.scale * np.sqrt(2 * g))) * stats.gamma.pdf(g, shape)

        true = integrate.quad(beyond, 0, 3000, points=[shape, margin / law.scale], limit=2000)[0]
        assert 0.8 * beta <= true <= beta
    with pytest.raises(ParameterError, match="beta"):
        law.margin(1e-305)


@pytest.mark.parametrize("scale", [1e13, 1e15])
def test_noise_is_certainly_beyond_a_distance_that_rounds_to_none(scale):
    assert many.BallVectors(scale, 3).tail(0) == pytest.approx(1.0)
    assert many.BallVectors(scale, 3).tail(0) <= 1.0
