"""Probabilities, tails, quantiles and moments of each law against a second route (mpmath or sums)."""

import math

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.errors import ParameterError
from sfumato.randomness import seeded
from sfumato.sampling import (
    CubeNoise,
    DiscreteGaussian,
    DiscreteLaplace,
    Geometric,
    RoundedNormal,
    Staircase,
    TruncatedLaplace,
    bernoulli,
    bernoulli_exp,
    gamma,
    rounded_gamma,
    uniform_integers,
)

LAWS = [
    DiscreteLaplace(0.2),
    DiscreteLaplace(3.0),
    DiscreteLaplace(30.0),
    Geometric(0.4),
    Geometric(12.0),
    DiscreteGaussian(0.3),
    DiscreteGaussian(2.5),
    DiscreteGaussian(70.0),
    RoundedNormal(0.2),
    RoundedNormal(3.0),
    RoundedNormal(80.0),
    Staircase(1, 1.0, 1),
    Staircase(5, 0.7, 2),
    Staircase(5, 0.2, 5),
    TruncatedLaplace(3.0, 7, 0.25),
    TruncatedLaplace(300.0, 40),
]
scales = st.floats(min_value=-3, max_value=15).map(lambda e: min(10.0**e, 1e15))
betas = st.floats(min_value=1e-9, max_value=0.999)


def weight(law, z: int) -> mpmath.mpf:
    """The unnormalized weight, from the definition."""
    if isinstance(law, DiscreteLaplace):
        return mpmath.exp(-abs(z) / mpmath.mpf(law.scale))
    if isinstance(law, TruncatedLaplace):
        return mpmath.exp(-abs(z) / mpmath.mpf(law.scale)) * ((abs(z) < law.reach) + law.edge * (abs(z) == law.reach))
    if isinstance(law, Geometric):
        return mpmath.exp(-z / mpmath.mpf(law.scale)) if z >= 0 else mpmath.mpf(0)
    if isinstance(law, DiscreteGaussian):
        return mpmath.exp(-(mpmath.mpf(z) ** 2) / (2 * mpmath.mpf(law.sigma) ** 2))
    if isinstance(law, RoundedNormal):
        return mpmath.ncdf((abs(z) + 0.5) / mpmath.mpf(law.sigma)) - mpmath.ncdf((abs(z) - 0.5) / mpmath.mpf(law.sigma))
    k = abs(z)
    level = 0 if k < law.width else 1 + (k - law.width) // law.sensitivity
    return mpmath.exp(-mpmath.mpf(law.epsilon) * level)


def half_width(law) -> int:
    if isinstance(law, Staircase):
        return int(law.sensitivity * (2 + 60 / law.epsilon)) + 2
    spread = getattr(law, "scale", None) or law.sigma
    return int((60 if hasattr(law, "scale") else 12) * spread) + 2


# claims
@pytest.mark.parametrize("law", LAWS, ids=str)
def test_probabilities_and_moments_match_sums_over_the_lattice(law):
    with mpmath.workdps(50):
        reach = half_width(law)
        weights = {z: weight(law, z) for z in range(-reach, reach + 1)}
        total = mpmath.fsum(weights.values())
        mean = mpmath.fsum(z * w for z, w in weights.items()) / total
        square = mpmath.fsum(z * z * w for z, w in weights.items()) / total
        size = mpmath.fsum(abs(z) * w for z, w in weights.items()) / total
        for z in range(-reach // 4, reach // 4 + 1, max(1, reach // 40)):
            truth = weights[z] / total
            assert abs(law.pmf(z) - truth) <= 2e-11 * truth + mpmath.mpf(10) ** -300
        assert abs(law.variance - (square - mean**2)) <= 1e-12 * law.variance
        assert abs(law.mean_absolute - size) <= 1e-12 * size
        for t in range(0, reach // 3, max(1, reach // 60)):
            truth = mpmath.fsum(w for z, w in weights.items() if abs(z) > t) / total
            assert truth <= law.tail(t) <= truth * (1 + mpmath.mpf(10) ** -7) + mpmath.mpf(10) ** -18
        assert law.tail(-1) == 1


@pytest.mark.parametrize("law", [law for law in LAWS if not isinstance(law, DiscreteGaussian)], ids=str)
def test_tails_are_tight(law):
    with mpmath.workdps(50):
        reach = half_width(law)
        weights = {z: weight(law, z) for z in range(-reach, reach + 1)}
        total = mpmath.fsum(weights.values())
        t = reach // 8
        truth = mpmath.fsum(w for z, w in weights.items() if abs(z) > t) / total
        assert law.tail(t) <= truth * (1 + mpmath.mpf(10) ** -12)


@pytest.mark.parametrize("scale", [1e3, 1e7, 1e12, 1e15])
def test_moments_at_large_scales(scale):
    with mpmath.workdps(60):
        s = mpmath.mpf(scale)
        q = mpmath.exp(-1 / s)
        assert DiscreteLaplace(scale).variance == pytest.approx(float(2 * q / (1 - q) ** 2), rel=1e-12)
        assert DiscreteLaplace(scale).mean_absolute == pytest.approx(float(1 / mpmath.sinh(1 / s)), rel=1e-12)
        assert Geometric(scale).mean_absolute == pytest.approx(float(q / (1 - q)), rel=1e-12)
        assert DiscreteGaussian(scale).mean_absolute == pytest.approx(float(s * mpmath.sqrt(2 / mpmath.pi)), rel=1e-6)
        cell = mpmath.ncdf(3 + 1 / (2 * s)) - mpmath.ncdf(3 - 1 / (2 * s))
        assert RoundedNormal(scale).pmf(int(3 * scale)) == pytest.approx(float(cell), rel=1e-11)


@pytest.mark.parametrize(("scale", "dimension"), [(0.5, 1), (2.0, 2), (3.0, 4), (1.0, 20), (0.003, 500)])
def test_the_cube_matches_sums_over_shells(scale, dimension):
    law = CubeNoise(scale, dimension)
    with mpmath.workdps(40):
        shells = [
            ((2 * r + 1) ** dimension - max(2 * r - 1, 0) ** dimension) * mpmath.exp(-r / mpmath.mpf(scale))
            for r in range(int(scale * (dimension + 120)) + 5)
        ]
        total = mpmath.fsum(shells)
        assert law.pmf([0] * dimension) == pytest.approx(float(1 / total), rel=1e-11)
        mean = mpmath.fsum(r * w for r, w in enumerate(shells)) / total
        assert law.mean_norm == pytest.approx(float(mean), rel=1e-11)
        for t in (0, 1, int(scale * dimension), int(2 * scale * dimension)):
            tail = mpmath.fsum(shells[t + 1 :]) / total
            assert tail <= law.tail(t) <= tail * (1 + 1e-8)
        t = law.quantile(0.05)
        assert mpmath.fsum(shells[t + 1 :]) / total <= 0.05 < mpmath.fsum(shells[t:]) / total
    if dimension == 1:
        assert law.variance == pytest.approx(DiscreteLaplace(scale).variance, rel=1e-12)


@pytest.mark.parametrize(("scale", "dimension"), [(0.4, 2), (1.5, 2), (1.0, 3)])
def test_one_coordinate_of_the_cube_has_the_tails_of_its_sums(scale, dimension):
    law, reach = CubeNoise(scale, dimension), {2: 60, 3: 32}[dimension]
    grid = np.abs(np.stack(np.meshgrid(*[np.arange(-reach, reach + 1)] * dimension, indexing="ij"))).reshape(
        dimension, -1
    )
    masses = np.exp(-grid.max(axis=0) / scale)
    masses /= masses.sum()
    for beta in (0.4, 0.05, 0.002):
        t = law.coordinate_quantile(beta)
        assert masses[grid[0] > t].sum() <= beta
        assert t == 0 or masses[grid[0] > t - 1].sum() > beta * (1 - 1e-6)


@settings(max_examples=20, deadline=None)
@given(st.floats(300, 1e9), st.integers(1, 30), st.floats(1e-4, 0.5))
def test_wide_cubes_are_stretched_narrow_ones(scale, dimension, beta):
    law = CubeNoise(scale, dimension)
    radius = np.random.default_rng(1).gamma(dimension + 1, scale, 40_000)
    missed = np.mean(np.maximum(0, 1 - law.coordinate_quantile(beta) / radius))  # of the continuous law
    assert 0.9 * beta - 3e-3 <= missed <= beta + 3e-3


def test_the_cube_bound_at_large_scales_is_above_the_sum():
    law = CubeNoise(400.0, 3)
    shells = np.array([((2 * r + 1) ** 3 - max(2 * r - 1, 0) ** 3) * math.exp(-r / 400) for r in range(40_000)])
    for t in (0, 500, 2000, 4000):
        truth = shells[t + 1 :].sum() / shells.sum()
        assert truth <= law.tail(t) <= truth * 1.004


# laws
@given(scale=scales, beta=betas)
@settings(max_examples=60, deadline=None)
def test_quantiles_are_least_and_never_too_small(scale, beta):
    for law in (DiscreteLaplace(scale), Geometric(scale), RoundedNormal(scale), DiscreteGaussian(scale)):
        t = law.quantile(beta)
        assert law.tail(t) <= beta
        assert t == 0 or law.tail(t - 1) > beta


@given(sensitivity=st.integers(1, 10**6), epsilon=st.floats(1e-3, 20), beta=betas, data=st.data())
@settings(max_examples=60, deadline=None)
def test_staircase_quantiles_are_least(sensitivity, epsilon, beta, data):
    law = Staircase(sensitivity, epsilon, data.draw(st.integers(1, sensitivity)))
    t = law.quantile(beta)
    assert law.tail(t) <= beta
    assert t == 0 or law.tail(t - 1) > beta


@pytest.mark.parametrize("law", [*LAWS, DiscreteLaplace(1e15), Staircase(10**9, 1e-3, 5)], ids=str)
def test_shapes_types_and_repeatability(law):
    assert isinstance(law.sample((), seeded(1)), int)
    assert isinstance(law.sample(None, seeded(1)), int)
    for shape in (0, 3, (2, 3), (0, 4), 40_000):
        drawn = law.sample(shape, seeded(2))
        assert drawn.dtype == np.int64
        assert drawn.shape == (shape if isinstance(shape, tuple) else (shape,))
        assert np.array_equal(drawn, law.sample(shape, seeded(2)))
    assert law == type(law)(*(getattr(law, name) for name in law.__slots__))
    with pytest.raises(AttributeError):
        law.__setattr__(law.__slots__[0], 1.0)


def test_cube_shapes():
    law = CubeNoise(2.0, 5)
    assert law.sample(None, seeded(1)).shape == (5,)
    assert law.sample(3, seeded(1)).shape == (3, 5)
    assert law.sample((2, 3), seeded(1)).shape == (2, 3, 5)
    assert CubeNoise(1e12, 1000).sample(2, seeded(1)).shape == (2, 1000)


# refusals
@pytest.mark.parametrize("scale", [0, -1.0, 9e-4, 2e15, math.nan, math.inf, "1", True])
def test_refuses_bad_scales(scale):
    for law, name in ((DiscreteLaplace, "scale"), (Geometric, "scale"), (DiscreteGaussian, "sigma")):
        with pytest.raises(ParameterError, match=f"{name} must be between.*lattice"):
            law(scale)
    with pytest.raises(ParameterError, match="sigma must be between"):
        RoundedNormal(scale)
    with pytest.raises(ParameterError, match="scale must be between"):
        CubeNoise(scale, 2)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((0, 1.0, 1), "sensitivity"),
        ((2.5, 1.0, 1), "sensitivity"),
        ((2, 1.0, 3), "width"),
        ((2, 1.0, 0), "width"),
        ((2, 0.0, 1), "epsilon"),
        ((2, math.nan, 1), "epsilon"),
        ((10**12, 1e-6, 1), "sensitivity / epsilon"),
    ],
)
def test_staircase_refuses(arguments, message):
    with pytest.raises(ParameterError, match=message):
        Staircase(*arguments)


def test_other_refusals():
    rng = seeded(1)
    for call, message in [
        (lambda: DiscreteLaplace(1.0).quantile(0), "beta"),
        (lambda: DiscreteGaussian(1.0).quantile(1.0), "beta"),
        (lambda: CubeNoise(1.0, 0), "dimension"),
        (lambda: CubeNoise(1e15, 1000), "dimension"),
        (lambda: CubeNoise(1.0, 10_001), "dimension"),
        (lambda: bernoulli(1.5, 3, rng), "p must"),
        (lambda: bernoulli_exp(-1, 3, rng), "x must"),
        (lambda: bernoulli_exp(math.inf, 3, rng), "x must"),
        (lambda: uniform_integers(0, 3, rng), "high"),
        (lambda: gamma(0, rng), "shape"),
        (lambda: rounded_gamma(1, 0, rng), "scale"),
    ]:
        with pytest.raises(ParameterError, match=message):
            call()
