"""Lower bounds of local privacy: below every protocol's exact error, close to the best, and attained as n grows."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.answers.certificate import Certificate, NoBoundKnown
from sfumato.bounds.minimax import (
    assouad,
    asymptotic_frequency_error,
    ball_mean_error,
    cap_information,
    certify_local,
    cube_information,
    cube_mean_error,
    density_error,
    fano,
    frequency_error,
    frequency_l1_error,
    le_cam,
    mean_error,
    pair_information,
    subset_information,
    van_trees,
    worst_frequency_error,
)
from sfumato.bounds.minimax.conjugate import STRENGTHS, column_peaks, signs_error
from sfumato.errors import ParameterError
from sfumato.local.optimal import best_subset_size, frequencies, optimal_channel
from sfumato.local.protocols import (
    PROTOCOLS,
    Duchi,
    GeneralizedResponse,
    HadamardResponse,
    Hybrid,
    Hypercube,
    LocalHashing,
    LocalLaplace,
    OptimizedUnary,
    OptimizedWindow,
    Piecewise,
    PrivUnit,
    SquareWave,
    SubsetSelection,
    SymmetricUnary,
)
from sfumato.privacy.guarantees import Approximate, Pure
from sfumato.randomness import seeded

CATEGORICAL = (GeneralizedResponse, SubsetSelection, OptimizedUnary, SymmetricUnary, LocalHashing, HadamardResponse)
NUMERIC = (Duchi, Piecewise, Hybrid, OptimizedWindow, LocalLaplace)
FLOATING = frozenset({"real-arithmetic"})


# claims
@pytest.mark.parametrize("epsilon", [0.3, 1.0, 4.0])
def test_duchi_is_optimal_as_n_grows(epsilon):
    found = certify_local(Duchi.calibrate(-3, 5, Pure(epsilon)), 10**8)
    assert 1 <= found.factor <= 1.002


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 3.0])
@pytest.mark.parametrize("k", [2, 3, 16])
def test_subset_selection_is_optimal_as_n_grows(epsilon, k):
    protocol = SubsetSelection.calibrate(k, Pure(epsilon))
    assert 1 <= certify_local(protocol, 10**9).factor <= 1.02
    population = protocol.risk(1) + 1 - 1 / k
    assert population == pytest.approx(asymptotic_frequency_error(1, epsilon, k), rel=1e-6)


def test_privunit_is_optimal_as_n_grows():
    found = certify_local(PrivUnit.calibrate(8, Pure(1.0, assumptions=FLOATING)), 10**9)
    assert isinstance(found, Certificate)
    assert 1 <= found.factor <= 1.05


def test_certificates_at_a_million_people():
    factors = {
        "subsets of 8": certify_local(SubsetSelection.calibrate(8, Pure(1.0)), 10**6).factor,
        "response of 8": certify_local(GeneralizedResponse.calibrate(8, Pure(1.0)), 10**6).factor,
        "mean": certify_local(OptimizedWindow.calibrate(0, 10, Pure(1.0)), 10**6).factor,
        "signs": certify_local(Hypercube.calibrate(8, -1, 1, Pure(1.0)), 10**6).factor,
    }
    limits = {"subsets of 8": 1.03, "response of 8": 1.15, "mean": 1.05, "signs": 1.6}
    assert all(1 <= factors[name] <= limit for name, limit in limits.items()), factors


@pytest.mark.parametrize("epsilon", [0.2, 1.0, 4.0])
@pytest.mark.parametrize("k", [2, 5, 9])
def test_the_information_of_subsets_is_the_optimum_over_all_channels(epsilon, k):
    found = subset_information(k, epsilon)
    assert found == pytest.approx(best_subset_size(k, epsilon)[1], rel=1e-8)
    assert found == pytest.approx(optimal_channel(frequencies([1 / k] * k), k, epsilon).value, rel=1e-6)
    assert pair_information(k, epsilon) <= found


@pytest.mark.parametrize("d", [2, 3, 10, 200])
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 5.0])
def test_the_information_of_caps_beats_every_half_space_drawn(d, epsilon):
    """Caps of the sphere, by simulation: none exceeds the supremum, the best comes close.

    Power: 400,000 heights know E[x; A] within half a percent; a constant off by 10 % would show.
    """
    heights = np.random.default_rng(seeded(5).word()).normal(size=(400_000, d)) if d < 20 else None
    if heights is None:
        x = np.random.default_rng(seeded(5).word()).normal(size=400_000) / math.sqrt(d)
        first = np.sort(x / np.sqrt(x**2 + np.random.default_rng(seeded(6).word()).chisquare(d - 1, x.size) / d))[::-1]
    else:
        first = np.sort(heights[:, 0] / np.linalg.norm(heights, axis=1))[::-1]
    share = np.arange(1, first.size + 1) / first.size
    values = math.expm1(epsilon) * np.cumsum(first) / first.size / (1 + math.expm1(epsilon) * share)
    assert (d * values.max()) ** 2 == pytest.approx(cap_information(d, epsilon), rel=0.02)


@pytest.mark.parametrize("epsilon", [0.3, 1.0, 3.0])
def test_the_information_of_signs_bounds_every_subset_of_a_small_cube(epsilon):
    """All 2^8 sets of {-1, 1}^3."""
    corners = np.array([[(i >> j & 1) * 2 - 1 for j in range(3)] for i in range(8)])
    grown, best = math.expm1(epsilon), 0.0
    for mask in range(1, 256):
        inside = np.array([mask >> i & 1 for i in range(8)], dtype=bool)
        first = corners[inside].sum(axis=0) / 8
        best = max(best, grown**2 * float(first @ first) / (1 + grown * inside.mean()) ** 2)
    assert best <= cube_information(3, epsilon) <= 2.5 * best
    assert cube_information(1, epsilon) == pytest.approx(math.tanh(epsilon / 2) ** 2, rel=1e-8)


def test_rates_in_n_and_epsilon():
    assert density_error(10**4, 0.5) / density_error(10**8, 0.5) == pytest.approx(100, rel=0.1)  # n^(-1/2)
    assert mean_error(10**8, 0.1) / mean_error(10**8, 0.2) == pytest.approx(4, rel=0.02)
    assert ball_mean_error(10**9, 0.2, 20) / ball_mean_error(10**9, 0.2, 10) == pytest.approx(2, rel=0.2)
    assert frequency_l1_error(10**6, 1.0, 8) / frequency_l1_error(10**8, 1.0, 8) == pytest.approx(10, rel=0.02)
    assert worst_frequency_error(100, 1.0) == pytest.approx(mean_error(100, 1.0) / 4, rel=1e-9)


def test_le_cam_is_below_van_trees_for_the_mean():
    best = max(le_cam(2 * h, h, 10**6, 1.0) for h in np.geomspace(1e-5, 0.9, 200).tolist())
    assert 0.05 * mean_error(10**6, 1.0) <= best <= mean_error(10**6, 1.0)


def test_fano_and_assouad_fall_to_nothing_when_reports_tell_all():
    assert fano(0.1, 1000, 0.01, 100, 1.0) > 0
    assert fano(0.1, 1000, 0.01, 10**6, 1.0) == 0.0
    assert fano(0.1, 2, 0.0, 1, 1.0) == 0.0
    assert assouad(0.1, 10, 0.01, 10**3, 1.0) == pytest.approx(10 * 0.1**2 / 8, rel=0.3)
    assert assouad(0.1, 10, 0.01, 10**6, 1.0) == 0.0


def test_certificates_of_vectors_from_a_thousand_people():
    factors = [certify_local(Hypercube.calibrate(d, -1, 1, Pure(1.0)), 1000).factor for d in (1, 10, 100)]
    assert all(1 <= found <= limit for found, limit in zip(factors, (1.2, 1.9, 2.6), strict=True)), factors
    assert cube_mean_error(1000, 1.0, 100) > 11
    assert ball_mean_error(1000, 1.0, 100) > 0.11
    assert frequency_error(1000, 1.0, 1000) > 0.03


def test_one_sign_is_bounded_in_closed_form():
    for n, epsilon in ((1, 0.5), (40, 1.0), (1000, 3.0)):
        exact = 1 / (1 + math.sqrt(n) * math.tanh(epsilon / 2)) ** 2
        assert signs_error(n, epsilon, 1) == pytest.approx(exact, rel=1e-8)
        assert mean_error(n, epsilon) >= exact * (1 - 1e-8)


def test_without_reports_to_speak_of_the_bounds_are_the_trivial_risk():
    """A report of almost no information: the middle is best, and its errors are d and 1 - 1/k."""
    assert cube_mean_error(1, 1e-6, 7) == pytest.approx(7, rel=1e-3)
    assert frequency_error(1, 1e-6, 7) == pytest.approx(6 / 7, rel=1e-3)


@given(st.sampled_from([3, 4, 10, 300]), st.floats(0.05, 6), st.floats(0.01, 1000))
@settings(max_examples=15, deadline=None)
def test_the_information_of_categories_is_above_every_column_drawn(k, epsilon, strength):
    """E |p (w - <p, w>)|^2 / <p, w> under the prior, by simulation, for random columns and staircases of each size.

    Power: the mean over 4,000 draws is known within a few percent; the constant (s + 3) read as s would show.
    """
    words = seeded(k)
    rng = np.random.default_rng(words.word())
    laws = rng.dirichlet(np.full(k, strength / k), size=4000)
    columns = [np.where(np.arange(k) < size, math.exp(epsilon), 1.0) for size in {1, 2, k // 2, k - 1}]
    columns.append(rng.uniform(1, math.exp(epsilon), k))
    for column in columns:
        mass = laws @ column
        values = ((laws * (column - mass[:, None])) ** 2).sum(axis=1) / mass / column.mean()
        near = float(np.interp(strength, STRENGTHS, column_peaks(epsilon))) * (1 + strength / k)
        assert values.mean() - 5 * values.std() / math.sqrt(4000) <= near * 1.02


def test_no_single_report_beats_the_bound_on_three_categories():
    """All channels from three categories to 45 guesses, by linear program, against all laws on a grid: n = 1."""
    from scipy.optimize import linprog

    steps = 8
    grid = np.array([(i, j, steps - i - j) for i in range(steps + 1) for j in range(steps + 1 - i)]) / steps
    size = len(grid)
    loss = ((grid[:, None, :] - grid[None, :, :]) ** 2).sum(axis=2)  # of guess z when the law is p
    for epsilon, factor in ((0.5, 1.4), (1.5, 1.75), (3.0, 1.25)):  # the bound speaks of averages over one prior
        worst = np.hstack([np.hstack([grid[:, [x]] * loss for x in range(3)]), -np.ones((size, 1))])
        pairs = [(a, b) for a in range(3) for b in range(3) if a != b]
        signs = np.array([[float(x == a) - math.exp(epsilon) * (x == b) for x in range(3)] for a, b in pairs])
        private = np.hstack([np.kron(signs, np.eye(size)), np.zeros((6 * size, 1))])
        upper = np.vstack([worst, private])
        sums = np.hstack([np.kron(np.eye(3), np.ones(size)), np.zeros((3, 1))])
        cost = np.append(np.zeros(3 * size), 1.0)
        best = linprog(cost, A_ub=upper, b_ub=np.zeros(len(upper)), A_eq=sums, b_eq=np.ones(3), method="highs").fun
        assert frequency_error(1, epsilon, 3) <= best <= factor * frequency_error(1, epsilon, 3)


# laws
@pytest.mark.parametrize("bound", [cube_mean_error, ball_mean_error, frequency_error, frequency_l1_error])
@pytest.mark.parametrize("epsilon", [0.2, 1.0, 4.0])
def test_more_dimensions_and_categories_are_never_easier(bound, epsilon):
    for n in (1, 100, 1000, 10**7):
        found = [
            bound(n, epsilon, d) for d in (2, 3, 4, 5, 10, 17, 18, 40, 63, 64, 65, 66, 100, 128, 129, 137, 400, 401)
        ]
        assert found == sorted(found)
    assert cube_mean_error(100, epsilon, 1) <= cube_mean_error(100, epsilon, 2)
    assert ball_mean_error(100, epsilon, 1) <= ball_mean_error(100, epsilon, 2)


@given(st.floats(0.05, 6), st.integers(1, 10**7), st.integers(2, 200))
@settings(max_examples=60, deadline=None)
def test_no_shrunken_estimate_beats_the_bounds(epsilon, n, d):
    """What unbiased estimates can become: multiplied by the best number, which their bias pays for."""
    factors = np.linspace(0, 1, 2001)
    response = math.tanh(epsilon / 2)

    def best(variance: float, told: float, away: float) -> float:
        """The least over factors a of the worst of a^2 (variance - told x) + (1 - a)^2 x over x in [0, away]."""
        at = [factors**2 * (variance - told * x) + (1 - factors) ** 2 * x for x in (0.0, away)]
        return float(np.maximum(*at).min())

    assert mean_error(n, epsilon) <= best(1 / (n * response**2), 1 / n, 1.0)
    sampled = best(d * d / (n * response**2), 1 / n, float(d))  # one coordinate of d, randomized
    assert cube_mean_error(n, epsilon, d) <= sampled
    chosen = SubsetSelection.calibrate(d, Pure(epsilon))
    assert frequency_error(n, epsilon, d) <= best(chosen.risk(n) + (1 - 1 / d) / n, 1 / n, 1 - 1 / d)


@given(st.sampled_from(CATEGORICAL), st.integers(2, 300), st.floats(0.1, 5), st.integers(10, 10**8))
@settings(max_examples=60, deadline=None)
def test_no_protocol_for_categories_beats_the_bounds(kind, k, epsilon, n):
    protocol = kind.calibrate(k, Pure(epsilon))
    for objective in ("total", "worst"):
        found = certify_local(protocol, n, objective)
        assert isinstance(found, NoBoundKnown) or found.factor >= 1
    even = np.full(k, 1 / k)
    spread = float(np.sqrt(np.asarray(protocol.variance(n, even)) + even * (1 - even) / n).sum())
    assert frequency_l1_error(n, epsilon, k) <= spread  # mean absolute errors are below standard deviations


@given(st.sampled_from(NUMERIC), st.floats(0.1, 5), st.integers(10, 10**8))
@settings(max_examples=40, deadline=None)
def test_no_protocol_for_numbers_beats_the_bound(kind, epsilon, n):
    assert certify_local(kind.calibrate(-1, 1, Pure(epsilon)), n).factor >= 1


@given(st.integers(1, 40), st.floats(0.1, 5), st.integers(10, 10**8))
@settings(max_examples=30, deadline=None)
def test_no_protocol_for_vectors_beats_the_bound(d, epsilon, n):
    assert certify_local(Hypercube.calibrate(d, -1, 1, Pure(epsilon)), n).factor >= 1
    assert ball_mean_error(n, epsilon, d) <= cube_mean_error(n, epsilon, d) * d


@given(st.floats(0.1, 3), st.integers(10, 10**6), st.integers(2, 64))
@settings(max_examples=30, deadline=None)
def test_more_people_more_privacy_loss_and_fewer_categories_make_it_easier(epsilon, n, k):
    assert frequency_error(2 * n, epsilon, k) <= frequency_error(n, epsilon, k)
    assert frequency_error(n, 1.1 * epsilon, k) <= frequency_error(n, epsilon, k) * (1 + 1e-6)
    assert frequency_error(n, epsilon, k + 1) >= frequency_error(n, epsilon, k)
    assert van_trees(3, 0.5, 2 * n, 0.1) <= van_trees(3, 0.5, n, 0.1)


# refusals
def test_where_no_bound_is_known_it_says_so():
    assert "open problem" in certify_local(GeneralizedResponse.calibrate(4, Approximate(1.0, 0.01)), 100).reason
    assert isinstance(certify_local(SquareWave.calibrate(0, 1, Pure(1.0)), 100), NoBoundKnown)
    assert all(kind.goal in ("frequencies", "mean", "means", "distribution") for kind in PROTOCOLS.values())


def test_refuses_what_has_no_meaning():
    with pytest.raises(ParameterError, match="epsilon"):
        frequency_error(100, 0.0, 4)
    with pytest.raises(ParameterError, match="n must"):
        van_trees(1, 0.5, 0, 1.0)
    with pytest.raises(ParameterError, match="total_variation"):
        le_cam(0.1, 1.5, 10, 1.0)
