"""Gaussian-process noise on the coefficients of a function: claims, laws, distribution, audits, refusals."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from sfumato.auditing import audit
from sfumato.bounds.line import least_variance
from sfumato.errors import ParameterError, UnsupportedQuery
from sfumato.mechanisms import Coefficients, Gaussian, Process, Vector
from sfumato.privacy.guarantees import Approximate, Concentrated, Pure
from sfumato.randomness import seeded
from sfumato.sampling import RoundedNormal
from sfumato.sampling.processes import Torus, kernels
from statistical import ALPHA, SAMPLES, assert_law

BASIS = Torus((0.0,), (1.0,), (1.6,), (20,))
KERNEL = kernels.Gaussian(0.1)
WEIGHTS = BASIS.weights(KERNEL)
STEPS = 2.0**20  # of the lattice in one standard unit of a coefficient


def kernel_sum(rows: float = 1.0) -> Coefficients:
    """sum_i K(x_i, .) with K the cut-off kernel: a record moves it by sqrt(K(x, x)), rounding by sqrt(features)."""
    moved = rows * math.sqrt(WEIGHTS.sum()) * STEPS + math.sqrt(BASIS.features)
    return Coefficients("kernel sum", BASIS, tuple(np.sqrt(WEIGHTS) / STEPS), l2=moved)


def coefficients(records) -> np.ndarray:
    """The integer answer: weights times basis functions at the records, in units of the lattice."""
    return np.rint(BASIS.design(np.asarray(records)).sum(axis=0) * np.sqrt(WEIGHTS) * STEPS).astype(np.int64)


def small(l2: float = 2.0) -> Coefficients:
    return Coefficients("small", Torus((0.0,), (1.0,), (1.5,), (1,)), (1.0, 0.5, 0.5), l2=l2)


# claims


@pytest.mark.parametrize(
    "target", [Concentrated(0.3), Approximate(1.0, 1e-6), Approximate(3.0, 0.1), Approximate(9.0, 1e-9)]
)
def test_claims_are_those_of_the_gaussian_mechanism_on_the_coefficients(target):
    query = small(7.5)
    plain = Vector("same", query.dimension, 20.0, 7.5, 7.5)
    ours, theirs = Process.calibrate(query, target), Gaussian.calibrate(plain, target)
    assert ours.sigma == theirs.sigma
    assert [ours.guarantee(k) for k in (0, 1)] == [theirs.guarantee(k) for k in (0, 1)]


def test_the_sensitivity_of_coefficients_is_that_of_the_reproducing_space():
    """|K(x, .) - K(x', .)|^2 = 2 K(0) - 2 K(x - x'), by the coefficients in units sqrt(w)."""
    x = np.array([0.1, 0.35, 0.9])
    scaled = BASIS.design(x) * np.sqrt(WEIGHTS)
    design = BASIS.design(x)
    gram = (design * WEIGHTS) @ design.T
    for i, j in [(0, 1), (0, 2), (1, 2)]:
        distance = ((scaled[i] - scaled[j]) ** 2).sum()
        assert math.isclose(distance, gram[i, i] + gram[j, j] - 2 * gram[i, j], rel_tol=1e-12)
    for records in ([0.2], [0.2, 0.7], [0.2, 0.7, 0.7001]):
        moved = np.linalg.norm((coefficients([*records, 0.5]) - coefficients(records)).astype(float))
        assert moved <= kernel_sum().sensitivity("l2")


def test_a_whole_curve_costs_no_more_than_its_value_at_one_point():
    """At each point within sqrt(1 / (2 rho V(rho))) of the best concentrated mechanism for that value alone."""
    for rho, most in ((0.01, 1.001), (0.1, 1.003), (1.0, 1.03)):
        process = Process.calibrate(kernel_sum(), Concentrated(rho))
        peak = float(WEIGHTS.sum())  # what a record at y adds to the value at y
        found = process.deviations(np.linspace(0, 1, 11)) / (peak * math.sqrt(least_variance(Concentrated(rho))))
        assert np.all((found >= 1) & (found < most))


def test_the_kernels_own_coefficients_minimize_the_integrated_square():
    """Any other variances that are equal for a cosine and its sine, at the same sensitivity, have a larger sum."""
    best = WEIGHTS.sum() ** 2
    rng = np.random.default_rng(1)
    for power in (0.0, 0.5, 0.9, 1.1, 2.0):
        noise = WEIGHTS**power * np.exp(0.1 * rng.normal(size=WEIGHTS.size) * (power != 0.9))
        noise[2::2] = noise[1::2]
        moved = (BASIS.design(rng.random(5)) ** 2 * WEIGHTS**2 / noise).sum(axis=1)
        assert np.allclose(moved, moved[0])
        assert noise.sum() * moved[0] > best * 1.0001
    assert math.isclose(WEIGHTS.sum() * (WEIGHTS**2 / WEIGHTS).sum(), best)


def test_deviations_and_margins_are_those_of_the_series():
    process, points = Process(kernel_sum(), 3 * STEPS), np.linspace(0, 1, 7)
    assert np.allclose(process.deviations(points), 3 * math.sqrt(WEIGHTS.sum()), rtol=1e-9)
    assert math.isclose(process.peak_deviation, 3 * math.sqrt(WEIGHTS.sum()), rel_tol=1e-9)
    assert np.allclose(process.margins_at(points, 0.05), 1.959964 * process.deviations(points), rtol=1e-4)


# laws


@settings(max_examples=60, deadline=None)
@given(st.floats(0.1, 1e6), st.floats(1e-3, 30), st.floats(1e-12, 0.5))
def test_calibrate_never_exceeds_its_target(sensitivity, epsilon, delta):
    for target in (Approximate(epsilon, delta), Concentrated(epsilon)):
        assert Process.calibrate(small(sensitivity), target).guarantee().implies(target)


@settings(deadline=None)
@given(st.floats(0.1, 100), st.integers(0, 9), st.integers(0, 9))
def test_guarantee_grows_with_distance(sigma, near, far):
    claims = [Process(small(), sigma).guarantee(d).rho for d in sorted((near, far))]
    assert claims[0] <= claims[1]


def test_the_claims_assume_nothing():
    for target in (Concentrated(0.3), Approximate(1.0, 1e-6)):
        assert not Process.calibrate(small(), target).guarantee().assumptions


# distribution


def test_noise_is_the_rounded_normal():
    many = Coefficients("many", Torus((0.0,), (1.0,), (2.0,), (SAMPLES // 2,)), (1.0,) * (SAMPLES + 1), l2=1.0)
    noise = Process(many, 3.0).release(np.zeros(SAMPLES + 1, dtype=np.int64), seeded(13))
    assert_law(noise, RoundedNormal(3.0).pmf, (RoundedNormal(2.7).pmf, RoundedNormal(3.3).pmf))


def test_the_noise_of_the_curve_is_one_path_of_the_kernel():
    """Whitened sums of squares at eight points of 4,000 releases, chi-square up to the lattice; 10 % off fails."""
    process, points, rng = Process(kernel_sum(), 2 * STEPS), np.linspace(0, 1, 8), seeded(14)
    nothing = np.zeros(BASIS.features, dtype=np.int64)
    values = np.array([process.curve(process.release(nothing, rng), points) for _ in range(4000)])
    design = BASIS.design(points)
    white = np.linalg.solve(np.linalg.cholesky(4 * (design * WEIGHTS) @ design.T), values.T)
    sums = (white**2).sum(axis=1)
    tails = 2 * np.minimum(stats.chi2.cdf(sums, 4000), stats.chi2.sf(sums, 4000))
    assert tails.min() * 8 >= ALPHA
    for factor in (1 / 1.1, 1.1):
        total = sums.sum() * factor
        assert 2 * min(stats.chi2.cdf(total, 32_000), stats.chi2.sf(total, 32_000)) < ALPHA


@pytest.mark.parametrize("beta", [0.05, 0.3])
def test_the_error_holds_for_the_whole_curve_and_is_sharp(beta):
    """4,000 releases on a fine grid: at most beta of them leave the band, and at least 0.7 beta."""
    process, rng = Process(kernel_sum(), 2 * STEPS), seeded(15)
    nothing, units = np.zeros(BASIS.features, dtype=np.int64), np.asarray(kernel_sum().units)
    band = process.error(beta)
    largest = [np.abs(BASIS.on_grid(process.release(nothing, rng) * units, (801,))).max() for _ in range(4000)]
    over = int((np.array(largest) > band).sum())
    assert stats.binom.sf(over - 1, 4000, beta) >= ALPHA
    assert stats.binom.cdf(over, 4000, 0.7 * beta) >= ALPHA


def test_a_coarse_lattice_widens_the_band_by_its_rounding():
    """Units as large as the noise: the band must cover noise that is far from normal."""
    query, rng = small(), seeded(16)
    process = Process(query, 0.4)
    nothing = np.zeros(3, dtype=np.int64)
    points = np.linspace(0, 1, 201)
    over = sum(
        np.abs(process.curve(process.release(nothing, rng), points)).max() > process.error(0.05) for _ in range(4000)
    )
    assert stats.binom.sf(over - 1, 4000, 0.05) >= ALPHA


# audit


def attacked(sigma: float):
    mechanism = Process(small(), sigma)
    answers = {0: np.zeros(3, dtype=np.int64), 1: np.array([0, 2, 0])}
    return lambda data, rng: mechanism.release(answers[data], rng).tolist()


def test_audit_does_not_refute_the_claim():
    claim = Process(small(), 3.0, 1.0).guarantee()
    assert not audit(attacked(3.0), claim, pairs=[(0, 1)], seconds=0.4, generator=seeded).refuted


def test_audit_catches_half_the_noise():
    claim = Process(small(), 3.0, 1.0).guarantee()
    assert audit(attacked(1.5), claim, pairs=[(0, 1)], seconds=10, generator=seeded).refuted


# refusals


@pytest.mark.parametrize("sigma", [0.0, -1.0, math.nan, math.inf])
def test_refuses_a_bad_sigma(sigma):
    with pytest.raises(ParameterError, match="sigma"):
        Process(small(), sigma)


@pytest.mark.parametrize("target", [Pure(1.0), Approximate(1.0, 0.0), Concentrated(0.0)])
def test_refuses_targets_it_cannot_meet(target):
    with pytest.raises(UnsupportedQuery, match="delta > 0"):
        Process.calibrate(small(), target)


def test_refuses_what_does_not_fit():
    with pytest.raises(ParameterError, match="units must be 3"):
        Coefficients("short", small().basis, (1.0,), l2=1.0)
    with pytest.raises(ParameterError, match="not negative"):
        Coefficients("negative", small().basis, (1.0, -1.0, 1.0), l2=1.0)
    with pytest.raises(ParameterError, match="l2"):
        Coefficients("endless", small().basis, (1.0, 1.0, 1.0), l2=math.inf)
    with pytest.raises(ParameterError, match="norm must be l2"):
        small().sensitivity("l1")
    with pytest.raises(ParameterError, match="beta"):
        Process(small(), 1.0).margins_at([0.5], 0.0)


def test_refuses_an_answer_of_another_shape_without_printing_it():
    with pytest.raises(ParameterError, match="dimension 3") as refusal:
        Process(small(), 1.0).release(np.array([31337]), seeded(1))
    assert "31337" not in str(refusal.value)
