"""K-norm noise: pivots against linear programs, exact samplers against each other, walks against exact samplers.

Two samples are compared by the Kolmogorov-Smirnov distance of each watched figure (coordinates, their squares, norms
in l1, l2, linf), at level ALPHA in all.  Power: with m draws on each side the critical distance is about
sqrt(ln(2 / alpha) / m); draws 10 % too large, and draws with all mass at the centers of the facets, must be refused.
"""

import itertools
import math

import numpy as np
import pytest

from sfumato.errors import ParameterError
from sfumato.randomness import seeded
from sfumato.sampling.bodies import Hull, facets, knorm, sampler
from sfumato.sampling.bodies.bouncing import bounce
from sfumato.sampling.bodies.diagnostics import (
    cubic_gap,
    deviation,
    diagnose,
    effective_size,
    features,
    split_rhat,
    stein_gap,
)
from sfumato.sampling.bodies.hit_and_run import hit_and_run
from sfumato.sampling.bodies.knorm import METHODS
from sfumato.sampling.bodies.metropolis import ball_walk, grid_walk
from sfumato.sampling.bodies.simplices import cones
from sfumato.sampling.bodies.sum_zero import SumZeroNoise
from statistical import ALPHA, pooled_pvalue


def signs(n, d, seed=1):
    return np.random.default_rng(seed).choice([-1.0, 1.0], size=(d, n))


def differences(n):
    return np.array([np.eye(n)[i] - np.eye(n)[j] for i in range(n) for j in range(i)]).T


SMALL = Hull(signs(50, 5))
SKEW = Hull(np.random.default_rng(4).normal(size=(4, 12)) * np.array([[1], [3], [10], [0.2]]))
CUBE = Hull(np.array(list(itertools.product([-1.0, 1.0], repeat=4))).T)  # every facet holds eight columns
SUM_ZERO = Hull(differences(5))
PLANE = Hull(np.array([[1.0, 2, 0, 1], [0, 1, 1, 3], [1, 3, 1, 4]]))  # the third row is the sum of the others
MANY = 60_000
HULLS = [SMALL, SKEW, CUBE, SUM_ZERO, PLANE, Hull([[3.0, -1.0, 2.0]]), Hull([[2.0]]), Hull(signs(200, 40))]
every = pytest.mark.parametrize("hull", HULLS, ids=lambda hull: "x".join(map(str, hull.vertices.shape)))


def refused(first, second):
    """Whether some watched figure differs between two samples, at level ALPHA in all."""
    ours, theirs = features(first), features(second)
    share = ALPHA / ours.shape[1]
    critical = math.sqrt(math.log(2 / share) / 2) * math.sqrt(1 / len(ours) + 1 / len(theirs))
    return any(distance(a, b) > critical for a, b in zip(ours.T, theirs.T, strict=True))


def distance(a, b):
    both = np.sort(np.concatenate([a, b]))
    left, right = (np.searchsorted(np.sort(x), both, side="right") / len(x) for x in (a, b))
    return np.abs(left - right).max()


def walked(hull, count, thin=12, chains=4, seed=1):
    """Draws of the walk, far enough apart to count as independent."""
    paths = [bounce(hull.frame, -(-count // chains), thin, seeded(seed + i)) for i in range(chains)]
    return np.concatenate([path.points for path in paths])[:count] @ hull.frame.lift.T


def facet_centers(hull, count):
    """A wrong law with the right gauges, every point on the axis of its facet's cone; and the facets' normals."""
    bases, sizes = cones(hull)
    generator = np.random.default_rng(9)
    chosen = bases[generator.choice(len(sizes), size=count, p=sizes / sizes.sum())]
    gauges = generator.gamma(hull.degrees, size=(count, 1))
    return gauges * chosen.mean(axis=2), np.linalg.inv(chosen).sum(axis=1)


# pivots
@every
def test_gauges_by_pivots_are_those_of_a_linear_program(hull):
    points = np.random.default_rng(2).normal(size=(25, hull.vertices.shape[1])) @ hull.vertices.T
    assert hull.gauge(points) == pytest.approx(hull.gauge_by_program(points), rel=1e-9)


@pytest.mark.heavy
@every
def test_normals_and_gauges_of_a_walk_fit(hull):
    path = bounce(hull.frame, 200, 3, seeded(1))
    assert np.abs(path.normals @ hull.frame.columns).max() <= 1 + 1e-9
    gauges = (path.points * path.normals).sum(axis=1)
    assert gauges[:20] == pytest.approx(hull.gauge_by_program(path.points[:20] @ hull.frame.lift.T), rel=1e-8)


@pytest.mark.heavy
def test_a_long_walk_over_degenerate_facets_stays_sound():
    """Differences of sign columns: facets hold many columns, and dependent ones must not enter a basis together."""
    first, second = np.triu_indices(40, 1)
    columns = signs(40, 14)
    hull = Hull(columns[:, first] - columns[:, second])
    path = bounce(hull.frame, 1500, 3, seeded(3))
    assert np.abs(path.normals @ hull.frame.columns).max() <= 1 + 1e-7
    last = path.points[-10:]
    gauges = (last * path.normals[-10:]).sum(axis=1)
    assert gauges == pytest.approx(hull.gauge_by_program(last @ hull.frame.lift.T), rel=1e-8)
    assert stein_gap(path.points[None], path.normals[None]) < 7


def test_a_spoiled_state_is_noticed():
    state = facets.locate(SMALL.frame.columns, np.array([0.3, -0.2, 0.9, 0.1, 0.5]))
    assert facets.healthy(SMALL.frame.columns, state)
    state[7][:] = 1e9
    assert not facets.healthy(SMALL.frame.columns, state)
    state[7][:] = 0.0
    state[4][:] *= 1.01
    assert not facets.healthy(SMALL.frame.columns, state)


def test_points_outside_the_span_have_no_gauge():
    assert PLANE.gauge([[1.0, 1.0, 0.0]]).tolist() == [math.inf]
    assert not PLANE.contains([[1.0, 1.0, 0.0]])[0]


def test_duplicates_signs_zeros_and_order_of_columns_do_not_matter():
    columns = signs(12, 4)
    doubled = np.hstack([-columns[:, ::-1], np.zeros((4, 2)), columns])
    assert np.array_equal(Hull(columns).columns, Hull(doubled).columns)
    first, second = (knorm(Hull(c), 1.0, 5, seeded(3))[0] for c in (columns, doubled))
    assert np.array_equal(first, second)


def test_a_point_on_a_lower_face_is_located():
    """The first axis lies on an edge of the cross-polytope and in the middle of the cube's facet."""
    for columns in (np.eye(4), CUBE.frame.columns):
        state = facets.locate(np.ascontiguousarray(columns), np.array([1.0, 0.0, 0.0, 0.0]))
        assert state[6].sum() == pytest.approx(Hull(columns).gauge_by_program([[1.0, 0, 0, 0]])[0])
        assert np.abs(columns.T @ state[4]).max() <= 1 + 1e-9


def test_nearly_dependent_rows_are_walked_or_refused_clearly():
    rows = np.random.default_rng(8).normal(size=(5, 30))
    squeezed = np.vstack([rows, rows[0] + 1e-6 * rows[1] * rows[2]])
    points = np.random.default_rng(9).normal(size=(5, 30)) @ squeezed.T
    hull = Hull(squeezed)
    assert hull.gauge(points) == pytest.approx(hull.gauge_by_program(points), rel=1e-4)


# exact samplers
def test_the_most_exact_sampler_is_chosen():
    assert sampler(Hull(signs(6, 8))) == "columns"
    assert sampler(SUM_ZERO) == "replacement"
    assert sampler(SMALL) == "simplices"
    assert sampler(Hull(signs(1000, 10))) == "rejection"
    assert sampler(Hull(signs(200, 40))) == "walk"
    _, found = knorm(SMALL, 1.0, 3, seeded(1))
    assert (found.method, found.exact, found.effective) == ("simplices", True, None)


@pytest.mark.parametrize(
    ("hull", "first", "second"),
    [
        (SUM_ZERO, "replacement", "simplices"),
        (Hull(3 * differences(4)), "replacement", "simplices"),
        (Hull(signs(4, 4, seed=3)), "columns", "simplices"),
        (SMALL, "simplices", "rejection"),
        (SKEW, "simplices", "rejection"),
        (Hull([[3.0, -1.0, 2.0]]), "simplices", "rejection"),
    ],
)
def test_exact_samplers_agree(hull, first, second):
    """MANY draws each: critical distance 0.017; 10 % in size moves a norm's law by 0.035 or more."""
    ours, theirs = (knorm(hull, 1.0, MANY, seeded(i), method=m)[0] for i, m in enumerate((first, second)))
    assert not refused(ours, theirs)
    assert refused(1.1 * ours, theirs)


@pytest.mark.parametrize(("scale", "cells"), [(0.7, 2), (1.0, 3), (0.4, 4)])
def test_exact_noise_of_sum_zero_has_its_law(scale, cells):
    """Chi-square of 60,000 draws over the vectors near zero; a scale 10 % off, with statistic 300 above, must fail."""
    draws = SumZeroNoise(scale, cells).sample(60_000, seeded(12))
    assert (draws.sum(axis=1) == 0).all()
    near = [v for v in itertools.product(range(-3, 4), repeat=cells) if sum(v) == 0]
    index = {v: i for i, v in enumerate(near)}
    seen = np.bincount([index.get(tuple(z), len(near)) for z in draws.tolist()], minlength=len(near) + 1)

    def pvalue(law):
        due = np.array([law.pmf(v) for v in near])
        return pooled_pvalue(seen.astype(float), np.append(due, 1 - due.sum()) * len(draws))

    assert pvalue(SumZeroNoise(scale, cells)) >= ALPHA
    assert pvalue(SumZeroNoise(1.1 * scale, cells)) < ALPHA


def test_rounded_draws_of_sum_zero_are_close_to_the_exact_ones():
    """20,000 draws each: critical distance 0.03; 10 % in size moves the l1 norm's law by 0.078."""
    exact = SumZeroNoise(300.0, 5).sample(20_000, seeded(1)) / 300
    real, _ = knorm(SUM_ZERO, 1.0, 20_000, seeded(2))
    assert not refused(exact, real)
    assert refused(1.1 * exact, real)


def test_rate_divides_the_noise():
    slow, fast = (knorm(SMALL, rate, 50, seeded(1))[0] for rate in (0.5, 2.0))
    assert slow == pytest.approx(4 * fast)


# walks
@pytest.mark.parametrize("hull", [SMALL, SKEW, CUBE, SUM_ZERO, PLANE], ids=["signs", "skew", "cube", "sum", "plane"])
def test_the_walk_agrees_with_the_exact_sampler_in_small_dimension(hull):
    """MANY draws each: critical distance 0.017; 10 % in size moves a norm's law by 0.035 or more."""
    exact, _ = knorm(hull, 1.0, MANY, seeded(2))
    walk = walked(hull, MANY, thin=6)
    assert not refused(walk, exact)
    assert refused(1.1 * exact, walk)


def test_mass_at_the_centers_of_facets_is_refused():
    exact, _ = knorm(SKEW, 1.0, 10_000, seeded(2))
    centers, _ = facet_centers(SKEW, 10_000)
    assert refused(centers @ SKEW.frame.lift.T, exact)


@pytest.mark.heavy
def test_the_walk_agrees_with_rejection_in_twenty_dimensions():
    """2,800 draws each: critical distance 0.081; 10 % in size moves the l2 norm's law by 0.16."""
    hull = Hull(signs(200, 20))
    exact, _ = knorm(hull, 1.0, 2800, seeded(3), method="rejection")
    walk = walked(hull, 2800)
    assert not refused(walk, exact)
    assert refused(1.1 * walk, exact)
    assert np.linalg.norm(exact, axis=1).mean() == pytest.approx(41.9, abs=1)


@pytest.mark.parametrize(
    ("n", "d", "count", "mean", "within"),
    [(50, 5, 20_000, 7.5, 0.2), (1000, 10, 4000, 20.0, 0.4), (200, 20, 3000, 41.9, 1.0), (200, 40, 1500, 78.0, 2.0)],
)
def test_mean_errors_on_sign_matrices(n, d, count, mean, within):
    """Standard errors 0.025, 0.12, 0.2 and 0.35."""
    method = "simplices" if d == 5 else "walk"
    draws, _ = knorm(Hull(signs(n, d)), 1.0, count, seeded(5), method=method)
    assert np.linalg.norm(draws, axis=1).mean() == pytest.approx(mean, abs=within)


def test_stein_identities_hold_and_notice_wrong_laws():
    """Twenty dimensions, 6,000 records of 4 chains: entries of E[z y^T] have standard errors of about 0.02."""
    hull = Hull(signs(200, 20))
    paths = [bounce(hull.frame, 1500, 6, seeded(i)) for i in range(4)]
    points, normals = (np.stack([getattr(path, name) for path in paths]) for name in ("points", "normals"))
    moment = np.einsum("cti,ctj->ij", points, normals) / (points.shape[0] * points.shape[1])
    assert np.abs(moment - np.eye(20)).max() < 0.12
    assert np.abs(1.2 * moment - np.eye(20)).max() > 0.12
    found = diagnose(points, normals, "walk")
    assert found.effective > 1000
    assert found.rhat < 1.02
    assert max(found.stein, found.drift, found.cubic) < 6.5  # standard errors; 400 of them are compared
    assert stein_gap(1.3 * points, normals) > 10


def test_the_cubic_field_notices_mass_at_facet_centers():
    centers, normals = facet_centers(SKEW, 20_000)
    assert cubic_gap(centers[None], normals[None]) > 10
    assert stein_gap(centers[None], normals[None]) < 6  # which the linear fields do not notice
    path = bounce(SKEW.frame, 20_000, 3, seeded(9))
    assert cubic_gap(path.points[None], path.normals[None]) < 6


@pytest.mark.heavy
def test_hit_and_run_agrees_with_the_exact_sampler():
    path = hit_and_run(SKEW.frame, MANY, 10, 100, seeded(3))
    exact, _ = knorm(SKEW, 1.0, MANY, seeded(4))
    assert not refused(path.points @ SKEW.frame.lift.T, exact)
    assert refused(1.1 * exact, path.points @ SKEW.frame.lift.T)


@pytest.mark.heavy
def test_ball_and_grid_walks_are_uniform_when_refused_steps_count():
    cube = Hull(np.array([[1.0, 1.0], [1.0, -1.0]]))  # a square: uniform has second moments 1/3
    ball = ball_walk(cube, 200_000, 1.0, seeded(1))
    assert (ball**2).mean(axis=0) == pytest.approx([1 / 3, 1 / 3], abs=0.02)
    grid = grid_walk(cube, 400_000, 0.3, seeded(2))
    assert cube.gauge(grid[::1000]).max() <= 1 + 1e-9
    places, counts = np.unique(np.round(grid / grid[grid > 1e-9].min()).astype(int), axis=0, return_counts=True)
    assert counts.min() > 0.6 * counts.mean()
    assert counts.max() < 1.5 * counts.mean()
    assert len(places) > 30


def test_each_call_walks_anew():
    hull, rng = Hull(signs(60, 30)), seeded(1)
    first, second = (knorm(hull, 1.0, 1, rng)[0] for _ in range(2))
    assert np.linalg.norm(first - second) > 1


# diagnostics
def test_effective_size_of_an_autoregression():
    """Correlation 0.8 a step: one in nine counts.  20,000 steps give it within about 10 %."""
    steps = np.random.default_rng(1).normal(size=(4, 5000, 2))
    for t in range(1, 5000):
        steps[:, t, 0] = 0.8 * steps[:, t - 1, 0] + 0.6 * steps[:, t, 0]
    found = effective_size(steps)
    assert found[0] == pytest.approx(20_000 / 9, rel=0.2)
    assert found[1] == pytest.approx(20_000, rel=0.1)


def test_split_rhat_sees_chains_apart_and_chains_that_drift():
    noise = np.random.default_rng(2).normal(size=(4, 1000, 1))
    assert split_rhat(noise)[0] < 1.01
    assert split_rhat(noise + np.arange(4)[:, None, None])[0] > 1.5
    assert split_rhat(noise + np.linspace(0, 4, 1000)[None, :, None])[0] > 1.2
    assert deviation(noise) < 5 < deviation(noise + 0.5)


# refusals
def test_refusals():
    with pytest.raises(ParameterError, match=", ".join(METHODS)):
        knorm(SMALL, 1.0, 3, seeded(1), method="magic")
    with pytest.raises(ParameterError, match="rate"):
        knorm(SMALL, 0.0, 3, seeded(1))
    with pytest.raises(ParameterError, match="step"):
        ball_walk(SMALL, 10, 0.0, seeded(1))
