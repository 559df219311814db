"""Loss distributions: certified brackets against exact values and against another library."""

from __future__ import annotations

import math

import mpmath
import numpy as np
import pytest
from dp_accounting.pld import privacy_loss_distribution
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.accounting.amplification import Poisson
from sfumato.accounting.batch import Batch
from sfumato.accounting.composition import optimal_delta, optimal_epsilon
from sfumato.accounting.divergences import hockey_stick
from sfumato.accounting.lattice import discrete_gaussian_law, discrete_laplace_law, law_of
from sfumato.accounting.laws import (
    MASS_ERROR,
    FiniteLaw,
    GaussianLaw,
    LaplaceLaw,
    approximate_law,
    pure_law,
)
from sfumato.accounting.loss import Grid, lowered, raised
from sfumato.errors import ParameterError
from sfumato.privacy.gaussian import discrete_gaussian_delta, gaussian_delta
from sfumato.privacy.guarantees import Approximate, Concentrated, Pure
from sfumato.privacy.laplace import discrete_laplace_delta, laplace_delta

GAUSS, LAPLACE = GaussianLaw(1 / 50), LaplaceLaw(1 / 50)


def exact_gaussian_epsilon(mu: float, delta: float) -> float:
    low, high = 0.0, 100.0
    for _ in range(80):
        middle = (low + high) / 2
        low, high = (middle, high) if gaussian_delta(1.0, mu, middle) > delta else (low, middle)
    return high


def delta_of(grid: Grid, epsilon: float) -> float:
    points = grid.step * np.arange(grid.first, grid.first + len(grid.masses))
    return float(np.sum(grid.masses * -np.expm1(-np.maximum(points - epsilon, 0)))) + grid.infinity


# claims
def test_a_thousand_gaussians_and_a_thousand_laplaces_within_a_thousandth():
    lower, upper = Batch(((GAUSS, 1000), (LAPLACE, 1000))).epsilon(1e-6)
    assert lower <= 4.29557 <= upper
    assert upper <= 1.001 * lower


@pytest.mark.parametrize("count", [1, 10, 1000, 10_000])
def test_gaussian_compositions_bracket_the_exact_value(count):
    lower, upper = Batch(((GAUSS, count),)).epsilon(1e-6)
    truth = exact_gaussian_epsilon(math.sqrt(count) / 50, 1e-6)
    assert lower <= truth <= upper <= 1.001 * lower
    if count == 10_000:
        assert truth == pytest.approx(10.99715, abs=1e-5)


def test_ten_thousand_laplaces_are_known_to_a_thousandth():
    lower, upper = Batch(((LAPLACE, 10_000),)).epsilon(1e-6)
    assert 10.897 <= lower <= upper <= 10.950
    assert upper <= 1.001 * lower


@pytest.mark.parametrize("count", [1, 7, 1000])
def test_randomized_response_agrees_with_the_exact_formula(count):
    lower, upper = Batch(((pure_law(0.02), count),)).epsilon(1e-6)
    truth = optimal_epsilon(Pure(0.02), count, 1e-6)
    assert lower <= truth * (1 + 1e-12)
    assert truth <= upper * (1 + 1e-12)
    assert upper <= lower * (1 + 1e-6)


def test_the_printed_laplace_rule_breaks_its_claim():
    scale = math.sqrt(2 * 1000 * math.log(1e3)) / 10  # k = 1000, epsilon 10, delta 1e-3
    laplace = Batch(((LaplaceLaw(1 / scale), 1000),)).delta(10.0)
    worst = Batch(((pure_law(1 / scale), 1000),)).delta(10.0)
    assert laplace.lower > 3.3e-3
    assert laplace.upper == pytest.approx(3.4e-3, rel=0.01)
    assert worst.lower <= optimal_delta(Pure(1 / scale), 1000, 10.0) <= worst.upper * (1 + 1e-9)
    assert worst.upper == pytest.approx(4.2e-3, rel=0.01)
    fine = math.sqrt(2 * 1000 * math.log(1e3)) / 5
    assert Batch(((LaplaceLaw(1 / fine), 1000),)).delta(5.0).upper <= 1e-3


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        (GaussianLaw(0.5), lambda: privacy_loss_distribution.from_gaussian_mechanism(2.0)),
        (LaplaceLaw(0.25), lambda: privacy_loss_distribution.from_laplace_mechanism(4.0)),
        (
            approximate_law(0.1, 1e-8),
            lambda: privacy_loss_distribution.from_randomized_response(2 / (1 + math.exp(0.1)), 2),
        ),
    ],
    ids=["gaussian", "laplace", "randomized response"],
)
def test_an_independent_library_agrees(ours, theirs):
    upper = Batch(((ours, 30),)).epsilon(1e-6).upper
    other = theirs().self_compose(30).get_epsilon_for_delta(1e-6)
    assert upper == pytest.approx(other, rel=2e-3 if ours.infinity == 0 else 0.02)


def test_single_laplace_and_tiny_deltas():
    assert Batch(((LaplaceLaw(1.0), 1),)).delta(0.3).upper == pytest.approx(laplace_delta(1.0, 1.0, 0.3), rel=1e-3)
    lower, upper = Batch(((GaussianLaw(0.1), 50),)).epsilon(1e-30)
    assert lower <= exact_gaussian_epsilon(0.1 * math.sqrt(50), 1e-30) <= upper <= 1.001 * lower


def test_what_is_revealed_outright_cannot_be_promised_away():
    assert Batch(((approximate_law(0.1, 1e-3), 5),)).epsilon(1e-3).upper == math.inf
    with pytest.raises(ParameterError, match="raise it"):
        Batch(((approximate_law(0.1, 1e-3), 5),)).guarantee(1e-3)


@pytest.mark.parametrize(("scale", "shift"), [(2.0, 1), (3.0, 2), (10.0, 25), (400.0, 1000)])
def test_integer_noise_has_its_own_law(scale, shift):
    for law, delta in (
        (discrete_laplace_law(scale, shift), discrete_laplace_delta),
        (discrete_gaussian_law(scale, shift), discrete_gaussian_delta),
    ):
        for epsilon in (0.0, 0.3 * shift / scale):
            lower, upper = Batch(((law, 1),)).delta(epsilon)
            truth = delta(scale, shift, epsilon)
            assert lower <= truth * (1 + 1e-9)
            assert truth <= upper * (1 + 1e-9) + 1e-12
            assert upper <= truth * 1.02 + 1e-9


def test_integer_laplace_noise_of_sensitivity_one_is_randomized_response():
    ours = Batch(((discrete_laplace_law(50.0, 1), 1000),)).epsilon(1e-6)
    assert ours.upper == pytest.approx(optimal_epsilon(Pure(0.02), 1000, 1e-6), rel=1e-6)
    assert ours.lower > Batch(((LAPLACE, 1000),)).upper(1e-6)


def test_integer_gaussians_compose_to_about_the_continuous_value():
    lower, upper = Batch(((discrete_gaussian_law(50.0, 1), 1000),)).epsilon(1e-6)
    assert lower <= upper <= 1.001 * lower
    assert upper == pytest.approx(exact_gaussian_epsilon(math.sqrt(1000) / 50, 1e-6), rel=2e-3)


def test_normal_masses_are_relatively_accurate_far_into_the_tails():
    for low, width in ((-30.3, 0.02), (-12.1, 0.03), (-0.01, 0.02), (7.7, 0.01), (20.0, 0.5)):
        with mpmath.workdps(50):
            sides = (mpmath.mpf(-abs(low + width)), mpmath.mpf(-abs(low)))
            ends = sides if low > 0 else (mpmath.mpf(low), mpmath.mpf(low + width))
            truth = mpmath.ncdf(ends[1]) - mpmath.ncdf(ends[0])
        mass = GaussianLaw(2.0).cells(2.0 * (np.array([low, low + width]) + 1.0))[0][0]
        slip = 64 * 2.0**-53 * (1 + abs(low)) / width  # rounding of the edges themselves
        assert abs(float(mass / truth) - 1) <= MASS_ERROR + slip * (1 + abs(low) * width)


# laws
@given(st.floats(0.001, 3), st.integers(1, 100_000), st.floats(-40, -1))
@settings(max_examples=25, deadline=None)
def test_gaussian_plans_of_any_size_are_bracketed(mu, count, digits):
    total = min(mu * math.sqrt(count), 30.0)
    mu, delta = total / math.sqrt(count), 10.0**digits
    lower, upper = Batch(((GaussianLaw(mu), count),)).epsilon(delta)
    low, high = 0.0, 2000.0
    for _ in range(80):
        middle = (low + high) / 2
        low, high = (middle, high) if gaussian_delta(1.0, total, middle) > delta else (low, middle)
    assert lower <= high * (1 + 1e-9) + 1e-12
    assert low <= upper * (1 + 1e-9) + 1e-12
    assert upper <= 1.001 * lower + 1e-9


@given(st.floats(0.01, 2), st.floats(0.003, 0.5), st.floats(0, 3))
@settings(max_examples=60)
def test_grids_lie_above_and_below_their_law(size, step, epsilon):
    for law, truth in (
        (GaussianLaw(size), gaussian_delta(1.0, size, epsilon)),
        (LaplaceLaw(size), laplace_delta(1.0, size, epsilon)),
    ):
        assert delta_of(raised(law, step, 1e-14), epsilon) >= truth * (1 - 3e-12) - 1e-13
        below = lowered(law, step, 1e-14)
        assert delta_of(below, epsilon + below.drift) <= truth + 1e-13


@given(
    st.lists(st.floats(0.02, 1), min_size=2, max_size=5),
    st.lists(st.floats(0.02, 1), min_size=2, max_size=5),
    st.integers(1, 3),
    st.floats(0, 2),
)
@settings(max_examples=40, deadline=None)
def test_finite_laws_compose_to_the_product_law(first, second, count, epsilon):
    size = max(len(first), len(second))
    p, q = (np.resize(np.array(law), size) for law in (first, second))
    p, q = p / p.sum(), q / q.sum()
    products = [p, q]
    for _ in range(count - 1):
        products = [np.outer(a, b).ravel() for a, b in zip(products, (p, q), strict=True)]
    joint = [law / law.sum() for law in products]
    truth = max(hockey_stick(joint[0], joint[1], epsilon), hockey_stick(joint[1], joint[0], epsilon))
    lower, upper = Batch(((FiniteLaw.of(p, q), count),)).delta(epsilon)
    assert lower <= truth + 1e-12
    assert upper >= truth - 1e-12


@given(st.permutations([(GAUSS, 3), (LAPLACE, 5), (pure_law(0.3), 2), (GaussianLaw(0.2), 1)]))
@settings(max_examples=8, deadline=None)
def test_the_order_of_a_plan_does_not_matter(parts):
    reference = Batch(((GAUSS, 3), (LAPLACE, 5), (pure_law(0.3), 2), (GaussianLaw(0.2), 1)))
    assert Batch(tuple(parts)).upper(1e-6) == pytest.approx(reference.upper(1e-6), rel=1e-9)


@given(st.integers(1, 400), st.integers(1, 400), st.floats(1e-9, 1e-2))
@settings(max_examples=15, deadline=None)
def test_more_releases_cost_more_and_nothing_is_free(few, more, delta):
    less, both = (Batch(((LAPLACE, count),)).epsilon(delta) for count in (few, few + more))
    assert less.lower <= both.upper
    assert both.upper <= (few + more) / 50 * (1 + 1e-9)
    assert Batch(()).epsilon(delta).upper == 0
    assert Batch(((pure_law(1.0), few),)).upper(1e-9) > 0


def test_curve_falls_and_guarantee_holds():
    batch = Batch(((GAUSS, 100),))
    curve = batch.curve([0.0, 0.5, 1.0])
    assert [end.upper for end in curve] == sorted((end.upper for end in curve), reverse=True)
    claim = batch.guarantee(1e-6)
    assert isinstance(claim, Approximate)
    assert gaussian_delta(1.0, 0.2, claim.epsilon) <= 1e-6


def test_claims_have_worst_laws():
    assert law_of(Approximate(0.5, 1e-6)).infinity == 1e-6
    assert Batch(((law_of(Pure(0.5)), 3),)).upper(1e-9) <= 1.5 * (1 + 1e-9)
    with pytest.raises(ParameterError, match="no worst pair"):
        law_of(Concentrated(0.1))


# refusals
def test_refuses_counts_and_tolerances_that_are_none():
    with pytest.raises(ParameterError, match="count must be a whole number"):
        Batch(((GAUSS, 0),))
    with pytest.raises(ParameterError, match="tolerance"):
        Batch(((GAUSS, 1),)).epsilon(1e-6, tolerance=0.0)
    with pytest.raises(ParameterError, match="coarser lattice"):
        discrete_gaussian_law(1e6, 1)
    with pytest.raises(ParameterError, match="larger tolerance"):
        raised(GaussianLaw(1.0), 1e-9, 1e-9)


# laws of one's own


class Claimed:
    """A law that says what it is told to: masses of P and Q at given losses."""

    symmetric, infinity = True, 0.0

    def __init__(self, losses, p, q):
        self.losses, self.p, self.q = (np.array(part, dtype=float) for part in (losses, p, q))
        self.atoms = tuple(self.losses.tolist())

    def reversed(self):
        return self

    def span(self, tail):
        return float(self.losses[0]), float(self.losses[-1])

    def cells(self, edges):
        inside = [(edges[:-1] <= loss) & (loss < edges[1:]) for loss in self.losses]
        return tuple(sum(here * mass for here, mass in zip(inside, masses, strict=True)) for masses in (self.p, self.q))


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 10**6), outcomes=st.integers(2, 12), wrong=st.floats(0.05, 0.9))
def test_laws_of_ones_own_must_be_consistent(seed, outcomes, wrong):
    rng = np.random.default_rng(seed)
    p, q = rng.dirichlet(np.ones(outcomes)), rng.dirichlet(np.ones(outcomes))
    order = np.argsort(p / q)
    p, q = p[order], q[order]
    losses = np.log(p / q)
    assert Batch(((Claimed(losses, p, q), 3),)).upper(1e-3) >= 0
    for masses in ((wrong * p, q), (p, wrong * q), (wrong * p, wrong * q)):
        with pytest.raises(ParameterError, match="add up to"):
            Batch(((Claimed(losses, *masses), 3),))
    with pytest.raises(ParameterError, match=r"ratio lies outside it|add up to"):
        Batch(((Claimed(losses - wrong, p, q), 3),))
    with pytest.raises(ParameterError, match="ratio lies outside it"):
        Batch(((Claimed([0.0, 1.0], [0.5, 0.5], [0.5, 0.5]), 1),))


@settings(max_examples=20, deadline=None)
@given(mu=st.floats(1e-4, 30.0), rate=st.floats(0.001, 0.99))
def test_the_laws_of_the_library_are_consistent(mu, rate):
    for law in (
        GaussianLaw(mu),
        LaplaceLaw(mu),
        pure_law(mu),
        discrete_laplace_law(1 / mu, 3),
        Poisson(GaussianLaw(mu), rate),
    ):
        Batch(((law, 2),))
