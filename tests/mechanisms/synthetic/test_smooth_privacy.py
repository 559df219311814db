"""What the smooth synthesis claims: sensitivities of its features, its composed cost, its noise, and an audit."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from sfumato.auditing import audit
from sfumato.mechanisms.noise.laws import LAWS
from sfumato.mechanisms.synthetic.smooth import SmoothSynthesis
from sfumato.mechanisms.synthetic.smooth.features import BLOCKS, QUANTUM, View, dimension, within_ball
from sfumato.mechanisms.synthetic.smooth.measurement import Measurement, moved
from sfumato.privacy.adjacency import AddRemove, Replace
from sfumato.privacy.gaussian import gaussian_delta
from sfumato.privacy.guarantees import Approximate, Concentrated, Pure
from sfumato.randomness import seeded
from statistical import SAMPLES, assert_distribution

TARGETS = [Pure(1.0), Pure(0.05), Pure(7.0), Approximate(1.0, 1e-3), Approximate(0.2, 1e-9), Concentrated(0.1)]
ORDERS = {"cube": np.inf, "laplace": 1, "normal": 2}


def rows_of(columns: int) -> np.ndarray:
    """Corners, faces, the middle, points along the diagonal, and random rows."""
    rng = np.random.default_rng(5)
    diagonal = np.outer(np.linspace(-1, 1, 41), np.ones(columns))
    corners = rng.choice([-1.0, 0.0, 1.0], (60, columns))
    return np.concatenate([diagonal, corners, rng.uniform(-1, 1, (60, columns))])


def views(columns: int) -> list[View]:
    off = np.linspace(-0.9, 0.7, columns)
    return [View.of_box(columns), View(off, 0.5, 1.0, 0.7, ball=True), View(off, 3.0, 0.2, 4.0, ball=True)]


# claims


@pytest.mark.parametrize("columns", [1, 2, 5])
@pytest.mark.parametrize("block", BLOCKS)
def test_no_row_and_no_exchange_moves_a_block_further_than_claimed(block, columns):
    """All pairs of hostile rows, in the norm of every law that the block may be measured with."""
    for view in views(columns):
        found = view.features(rows_of(columns), (block,))
        assert found.shape[1] == dimension(block, columns)
        laws = ("laplace", "cube", "normal")
        for law in laws if block != "radius" else ("laplace",):
            gaps = np.linalg.norm((found[:, None] - found[None]).astype(float), ord=ORDERS[law], axis=2)
            single = np.linalg.norm(found.astype(float), ord=ORDERS[law], axis=1)
            claim = moved(block, columns, LAWS[law].norm, 1, exchanged=True, ball=view.ball)
            assert gaps.max() <= claim
            assert single.max() <= moved(block, columns, LAWS[law].norm, 1, exchanged=False, ball=view.ball)
            if (not view.ball and (law == "cube" and block != "second")) or (block == "radius" and columns > 2):
                assert gaps.max() >= 0.7 * claim  # the claim is not idle


@pytest.mark.parametrize("target", TARGETS, ids=repr)
@pytest.mark.parametrize(("adjacency", "unit"), [(Replace(), 1), (Replace(), 3), (AddRemove(), 1), (AddRemove(), 4)])
def test_the_guarantee_meets_the_target_and_wastes_little(target, adjacency, unit):
    plan = SmoothSynthesis.plan([11] * 12, 5000, target, adjacency=adjacency, rows_per_unit=unit)
    found = plan.guarantee()
    assert found.implies(target)
    if isinstance(target, Pure):
        assert found.epsilon >= 0.999 * target.epsilon
    elif isinstance(target, Concentrated):
        assert found.rho >= 0.99 * target.rho
    else:
        assert found.delta == 0 or found.delta >= 0.99 * target.delta


def test_the_cost_is_the_sum_of_moved_over_scale_by_a_second_route():
    plan = SmoothSynthesis.plan([11] * 30, 569, Pure(1.0))
    assert plan.design.blocks == ("mean", "radius")
    assert sum(m.moved / m.scale for m in plan.design.measured) == pytest.approx(1.0, rel=1e-6)
    plan = SmoothSynthesis.plan([11] * 30, 569, Approximate(1.0, 1e-3))
    ratio = sum((m.moved / m.scale) ** 2 for m in plan.design.measurements) ** 0.5
    spent = float(plan.design.radius_cost)
    assert plan.design.center is not None
    assert gaussian_delta(1.0, ratio, 1.0 - spent) == pytest.approx(plan.guarantee().delta, rel=1e-6)


def test_the_choice_of_a_radius_costs_what_it_says():
    plan = SmoothSynthesis.plan([11] * 30, 569, Approximate(1.0, 1e-3), rows_per_unit=3)
    assert plan.design.radius_cost == 2 * 3 * Fraction(plan.design.radius_rate)


# laws


def test_a_row_has_the_same_features_alone_and_among_others():
    """Otherwise the sum would depend on neighbors in memory, and no sensitivity would hold."""
    rows = np.random.default_rng(2).uniform(-1, 1, (257, 7))
    for view in views(7):
        together = view.features(rows, BLOCKS)
        assert all(np.array_equal(view.features(rows[i : i + 1], BLOCKS)[0], together[i]) for i in range(257))
        assert np.array_equal(view.totals(rows, BLOCKS), together.sum(axis=0))


def test_within_ball_never_leaves_a_row_longer_than_the_quantum():
    rng = np.random.default_rng(3)
    whole = rng.integers(-QUANTUM, QUANTUM + 1, (2000, 9))
    inside = within_ball(whole)
    assert ((inside.astype(object) ** 2).sum(axis=1) <= QUANTUM**2).all()
    short = whole // 9
    assert np.array_equal(within_ball(short), short)


# distribution


def test_laplace_noise_has_its_scale():
    """KS on 100,000 draws; a scale 10 % off must fail."""
    law = Measurement("radius", SAMPLES, LAWS["laplace"], 1e5, 1)
    assert_distribution(law.release(np.zeros(SAMPLES, dtype=np.int64), seeded(1)), laplace, 1e5)


def test_normal_noise_has_its_scale():
    law = Measurement("mean", SAMPLES, LAWS["normal"], 1e5, 1)
    assert_distribution(law.release(np.zeros(SAMPLES, dtype=np.int64), seeded(2)), normal, 1e5)


def laplace(scale):
    return stats.laplace(scale=scale).cdf


def normal(scale):
    return stats.norm(scale=scale).cdf


# audit


def pipeline(plan, block):
    """A column of three rows through the plan: what it releases of one block."""

    def release(data, rng):
        return plan.measure(np.array(data, dtype=float).reshape(-1, 1), rng)[2][block].tolist()

    return release


PAIRS = [([0.5, -1.0, 1.0], [0.5, -1.0, -1.0]), ([0.5, 0.0, 1.0], [0.5, 0.0, 0.0])]


@pytest.mark.parametrize("block", ["mean", "radius"])
def test_audit_does_not_refute_the_claim(block):
    plan = SmoothSynthesis.plan([3], 3, Pure(1.0))
    assert not audit(pipeline(plan, block), Pure(1.0), pairs=PAIRS, seconds=0.4, generator=seeded).refuted


def test_audit_catches_a_third_of_the_noise():
    plan = SmoothSynthesis.plan([3], 3, Pure(1.0))
    less = tuple(replace(m, scale=m.scale / 3) for m in plan.design.measured)
    broken = replace(plan, design=replace(plan.design, measured=less))
    assert broken.guarantee().epsilon > 2.9  # the claim itself would say so
    assert audit(pipeline(broken, "mean"), Pure(1.0), pairs=PAIRS, seconds=4, generator=seeded).refuted
