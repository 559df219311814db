"""Candidates, the fit, what it falls back to, and tables that try to break it."""

import numpy as np
import pytest

from sfumato.errors import ParameterError
from sfumato.mechanisms.synthetic.smooth import SmoothSynthesis
from sfumato.mechanisms.synthetic.smooth.candidates import candidates, even
from sfumato.mechanisms.synthetic.smooth.features import View
from sfumato.mechanisms.synthetic.smooth.fit import fit
from sfumato.mechanisms.synthetic.smooth.moments import covariance, shrunk, spread
from sfumato.privacy.guarantees import Approximate, Concentrated, Pure
from sfumato.randomness import seeded

DELTA = Approximate(1.0, 1e-3)


def kernels(points: np.ndarray, sigma: float = 4.0, count: int = 300) -> np.ndarray:
    """Values of mixtures of ten Gaussian kernels at the points."""
    rng = np.random.default_rng(8)
    centers = rng.uniform(-1, 1, (count * 10, points.shape[1]))
    far = ((centers**2).sum(axis=1)[:, None] - 2 * centers @ points.T) + (points**2).sum(axis=1)
    values = np.exp(-far / (2 * sigma**2)).reshape(count, 10, -1)
    return (values * rng.dirichlet(np.ones(10), count)[:, :, None]).sum(axis=1)


def skewed(n: int, d: int, seed: int = 0) -> np.ndarray:
    """Rows with a strong common factor, skewed, their means spread over the box."""
    rng = np.random.default_rng(seed)
    factor = rng.gamma(2.0, 0.1, (n, 1))
    return np.clip(np.linspace(-0.9, 0.3, d) + factor + 0.15 * rng.standard_normal((n, d)), -1, 1)


def worst(truth: np.ndarray, made) -> float:
    return float(np.abs(made.answers(kernels(made.points)) - truth).max())


# candidates and moments


@pytest.mark.parametrize("sd", [0.02, 0.2, 0.45])
def test_candidates_have_the_mean_and_square_asked_for(sd):
    d = 9
    mean = np.linspace(-0.85, 0.6, d)
    view = View.of_box(d)
    goal = (float(mean @ mean) + d * sd**2 - view.level) / view.width
    points = candidates(view, mean, goal, sd**2 * np.eye(d), 600)
    y, s = view.seen(points)
    assert np.abs(points).max() <= 1
    assert np.allclose(y.mean(axis=0), mean, atol=1e-6)
    assert s.mean() == pytest.approx(goal, abs=1e-6)


def test_shrinking_keeps_precise_means_and_forgets_noise():
    means = np.linspace(-0.8, 0.4, 20)
    assert np.allclose(shrunk(means, 1e-6), means)
    noise = 3.0 * np.random.default_rng(0).standard_normal(20)
    assert np.abs(shrunk(noise, 3.0)).max() < 0.5


def test_mean_and_spread_add_up_to_the_square_that_is_believed():
    mean = np.full(10, 0.5)
    kept, total = spread(mean, 0.01, 3.0, 1e-6)
    assert float(kept @ kept) + total == pytest.approx(3.0, rel=1e-6)
    kept, total = spread(mean, 0.05, 2.4, 1e-6)  # less than the means explain: they give way
    assert float(kept @ kept) + total == pytest.approx(2.4, rel=1e-6)
    assert total > 0


def test_a_covariance_lost_in_noise_becomes_a_ball():
    noisy = np.diag([0.3, 0.1, 0.1, 0.1])
    assert np.allclose(covariance(noisy, 1e-9, 0.6), noisy, atol=1e-6)
    assert np.allclose(covariance(noisy, 10.0, 0.6), 0.15 * np.eye(4))


# fit


def test_fit_meets_precise_features_and_ignores_lost_ones():
    rng = np.random.default_rng(4)
    features = rng.standard_normal((3, 500))
    goals = np.array([0.2, -0.1, 5.0])
    weights = fit(features, goals, np.array([1e-6, 1e-6, 1e6]))
    assert weights.min() >= 0
    assert weights.sum() == pytest.approx(1.0)
    assert np.allclose((features @ weights)[:2], goals[:2], atol=1e-5)
    assert np.allclose(fit(features, goals, np.full(3, 1e6)), 1 / 500, rtol=1e-3)


# accuracy


@pytest.mark.parametrize(("target", "limit"), [(Pure(1.0), 0.75), (DELTA, 0.45)])
def test_smaller_errors_than_a_noisy_mean_with_a_guessed_spread(target, limit):
    """Means over six seeds at n = 600, d = 30: ratios of about 0.4 and 0.2, the limits are far above their scatter."""
    table = skewed(600, 30)
    plan = SmoothSynthesis.plan([1001] * 30, 600, target)
    truth, ours, control = kernels(table).mean(axis=1), [], []
    for seed in range(6):
        ours.append(worst(truth, plan.release(table, seeded(seed))))
        rng = np.random.default_rng(seed)
        mean = np.clip(table.mean(axis=0) + rng.laplace(0, 0.1, 30), -1, 1)
        guess = np.clip(mean + 0.3 * rng.standard_normal((1000, 30)), -1, 1)
        control.append(np.abs(kernels(guess).mean(axis=1) - truth).max())
    assert np.mean(ours) <= limit * np.mean(control)


@pytest.mark.heavy
def test_errors_fall_with_rows():
    """16 times the rows: 1/16 of the noise, and sampling plays no part; a factor of 5 leaves room for structure."""
    errors = []
    for n in (1000, 16_000):
        table = skewed(n, 10)
        plan = SmoothSynthesis.plan([1001] * 10, n, Pure(0.2))
        truth = kernels(table).mean(axis=1)
        errors.append(np.mean([worst(truth, plan.release(table, seeded(seed))) for seed in range(5)]))
    assert errors[1] <= errors[0] / 5


def test_without_information_it_is_no_worse_than_a_uniform_cube():
    """Two rows, epsilon 0.01: the noise is far beyond the box, whatever the rows are."""
    table = np.full((2, 20), 0.1)
    cube = np.random.default_rng(0).uniform(-1, 1, (4000, 20))
    truth = kernels(table).mean(axis=1)
    control = np.abs(kernels(cube).mean(axis=1) - truth).max()
    plan = SmoothSynthesis.plan([101] * 20, 2, Pure(0.01))
    found = [worst(truth, plan.release(table, seeded(seed))) for seed in range(8)]
    assert np.mean(found) <= 1.3 * control


def test_a_table_that_fills_the_box_evenly_gets_points_that_do():
    """Its moments are those of an even box; those of a normal law are not, nor any that noise hides."""
    chance = np.random.default_rng(5)
    plan = SmoothSynthesis.plan([101] * 4, rows=5000, target=Pure(1.0))
    uniform, normal = chance.uniform(-1, 1, (5000, 4)), 0.4 * chance.normal(size=(5000, 4)).clip(-2, 2)
    made = plan.release(uniform, seeded(1))
    assert np.array_equal(made.points, even(1000, 4))
    assert 1 / float(made.weights @ made.weights) > 900  # of 1000 points
    assert not np.array_equal(plan.release(normal, seeded(1)).points, even(1000, 4))
    few = SmoothSynthesis.plan([101] * 4, rows=20, target=Pure(1.0))
    assert not np.array_equal(few.release(uniform[:20], seeded(1)).points, even(1000, 4))


def test_even_points_have_as_many_in_every_half_of_every_column():
    assert np.abs(np.sign(even(64, 5)).sum(axis=0)).max() == 0
    assert np.abs(even(1000, 7).mean(axis=0)).max() < 0.01  # of random points: about 0.04
    assert even(7, 3).shape == (7, 3)
    assert np.abs(even(1, 2)).max() < 1


def test_more_noise_than_signal_adds_no_block_and_plenty_of_rows_do():
    assert SmoothSynthesis.plan([11] * 30, 500, Pure(1.0)).design.blocks == ("mean", "radius")
    assert "second" in SmoothSynthesis.plan([11] * 6, 50_000, Pure(1.0)).design.blocks


def test_the_release_says_how_far_its_answers_may_be_off():
    """At sigma = 4 twice the statement covers nine in ten answers, and it is not idle."""
    table = skewed(3000, 12)
    for target in (Pure(1.0), DELTA):
        made = SmoothSynthesis.plan([1001] * 12, 3000, target).release(table, seeded(5))
        values = kernels(made.points)
        said = 2 * made.deviations(values)
        gaps = np.abs(made.answers(values) - kernels(table).mean(axis=1))
        assert (gaps <= said).mean() >= 0.9
        assert np.median(said) <= 0.05


# hostile tables

CASES = {
    "one row": (np.zeros((1, 4), dtype=np.int64), [5] * 4),
    "a constant column": (np.tile(np.array([[2, 0, 4]]), (50, 1)), [5, 1, 5]),
    "more columns than rows": (np.arange(120).reshape(3, 40) % 7, [7] * 40),
    "everything missing": (np.full((30, 3), -1), [5] * 3),
    "indices beyond": (np.array([[999, -5, 2]] * 10), [5] * 3),
    "two hundred columns": (np.random.default_rng(0).integers(0, 9, (300, 200)), [9] * 200),
    "all rows in a corner": (np.full((400, 6), 8), [9] * 6),
}


@pytest.mark.parametrize("target", [Pure(1.0), DELTA, Concentrated(0.5)], ids=repr)
@pytest.mark.parametrize("case", CASES)
def test_hostile_tables_get_points_of_the_box(case, target):
    rows, sizes = CASES[case]
    plan = SmoothSynthesis.plan(sizes, rows.shape[0], target, points=200)
    points, weights = plan.run(rows, seeded(3))
    assert points.shape[1] == len(sizes)
    assert np.isfinite(points).all()
    assert np.abs(points).max() <= 1
    assert weights.min() >= 0
    assert weights.sum() == pytest.approx(1.0)
    back = plan.indices(points)
    assert (back >= 0).all()
    assert (back < np.array(sizes)).all()


def test_infinite_and_missing_points_are_only_clipped():
    table = skewed(100, 3)
    table[0] = [np.nan, np.inf, -np.inf]
    made = SmoothSynthesis.plan([11] * 3, 100, Pure(1.0)).release(table, seeded(0))
    assert np.isfinite(made.points).all()


def test_the_same_seed_gives_the_same_points():
    table, plan = skewed(200, 5), SmoothSynthesis.plan([11] * 5, 200, Pure(1.0))
    one, two = plan.release(table, seeded(7)), plan.release(table, seeded(7))
    assert np.array_equal(one.points, two.points)
    assert np.array_equal(one.weights, two.weights)


def test_memory_stays_bounded_for_long_tables():
    """Features are summed in batches: no array of all rows and all features is made."""
    view = View.of_box(40)
    rows = np.zeros((20_000, 40))
    assert view.totals(rows, ("second",)).shape == (820,)


# refusals


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"sizes": []}, "sizes"),
        ({"sizes": [0, 3]}, "sizes"),
        ({"sizes": [3] * 1001}, "sizes"),
        ({"rows": 0}, "rows"),
        ({"rows_per_unit": 0}, "rows_per_unit"),
        ({"points": 1}, "points"),
        ({"target": Pure(0.0)}, "epsilon"),
        ({"blocks": ("radius",)}, "blocks"),
    ],
)
def test_refuses_what_no_plan_can_be_made_for(change, reason):
    wanted = {"sizes": [5, 5], "rows": 10, "target": Pure(1.0), **change}
    with pytest.raises(ParameterError, match=reason):
        SmoothSynthesis.plan(**wanted)


def test_refuses_rows_of_another_width_without_showing_them():
    plan = SmoothSynthesis.plan([5, 5], 10, Pure(1.0))
    with pytest.raises(ParameterError, match="columns") as refusal:
        plan.run(np.full((10, 3), 424242), seeded(0))
    assert "424242" not in str(refusal.value)
