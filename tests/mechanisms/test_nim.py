"""NIM: claims by its own gauge, levels, sharing of the budget, distribution, refusals."""

import copy
import math

import numpy as np
import pytest

from sfumato.errors import ParameterError, UnsupportedQuery
from sfumato.mechanisms.geometry.nim import NIM, Level, shares, subspaces
from sfumato.mechanisms.geometry.noise_body import Columns, NoiseBody
from sfumato.privacy.guarantees import Concentrated, Pure
from sfumato.randomness import seeded
from sfumato.sampling.bodies import Hull

SIGNS = Columns("signs", np.random.default_rng(1).choice([-1, 1], size=(6, 20)))
# two long directions among eight: where one body for all directions wastes noise on the long ones
LONG = Columns("long", np.random.default_rng(2).choice([-1, 1], size=(8, 24)) * np.array([[1000] * 2 + [1] * 6]).T)
FORMS = [(projected, share) for projected in (False, True) for share in ("equal", "two-thirds", "optimized")]
every = pytest.mark.parametrize(("projected", "share"), FORMS)


def charge(made):
    """max_i sum_m epsilon_m ||D_m f_i||, every gauge by a linear program."""
    columns = made.query.vertices.astype(float)
    gauges = [Hull(level.down @ columns).gauge_by_program((level.down @ columns).T) for level in made.levels]
    return (np.array([level.epsilon for level in made.levels]) @ np.array(gauges)).max()


# claims
@every
def test_the_claim_is_the_gauge_of_the_levels(projected, share):
    made = NIM.calibrate(SIGNS, Pure(0.8), projected, share)
    assert made.guarantee().epsilon == pytest.approx(charge(made), rel=1e-6)
    assert made.guarantee().epsilon >= charge(made) * (1 - 1e-12)
    assert made.guarantee(3).epsilon == pytest.approx(3 * made.guarantee().epsilon)
    assert made.guarantee(0).epsilon == 0
    assert "real-arithmetic" in made.guarantee().assumptions


@every
def test_calibrate_meets_its_target_and_spends_it(projected, share):
    for epsilon in (0.3, 2.0):
        made = NIM.calibrate(SIGNS, Pure(epsilon), projected, share)
        assert 0.999 * epsilon < made.guarantee().epsilon <= epsilon
        assert made.guarantee().epsilon <= sum(level.epsilon for level in made.levels) * (1 + 1e-9)
        assert NIM(made.query, made.levels) == made == copy.deepcopy(made)


def test_any_subspaces_keep_the_claim():
    """Rotated at random, the levels are bad for accuracy; the charge is still that of their gauges."""
    turn = np.linalg.qr(np.random.default_rng(5).normal(size=(6, 6)))[0]
    levels = tuple(Level(turn[part], turn[part].T, 0.5) for part in (slice(0, 3), slice(3, 5), slice(5, 6)))
    made = NIM(SIGNS, levels)
    assert made.guarantee().epsilon == pytest.approx(charge(made), rel=1e-6)
    assert made.guarantee().epsilon <= 1.5 * (1 + 1e-9)


@pytest.mark.parametrize("dimension", [1, 2, 3, 4, 5, 7, 8])
def test_there_are_as_many_levels_as_halvings(dimension):
    columns = np.random.default_rng(dimension).choice([-1.0, 1.0], size=(dimension, 40))
    for projected in (False, True):
        maps, sizes = subspaces(columns, projected)
        assert len(maps) == len(sizes) == math.floor(math.log2(dimension)) + 1
        assert sum(up @ down for down, up in maps) == pytest.approx(np.eye(dimension), abs=1e-12)


# laws
def test_sharing_by_two_thirds_is_best_for_a_sum_and_the_program_is_no_worse():
    sizes = np.array([9.0, 3.0, 1.0])
    even = np.ones((3, 1))
    found = shares("two-thirds", sizes, even)
    found /= found.sum()
    least = (sizes**2 / found**2).sum()
    for other in np.random.default_rng(1).dirichlet(np.ones(3), size=200):
        assert least <= (sizes**2 / other**2).sum()
    reaches = np.array([[1.0, 0.2, 0.5], [0.3, 1.0, 0.5], [0.2, 0.4, 1.0]])
    best = shares("optimized", sizes, reaches)
    assert (best @ reaches).max() <= 1 + 1e-9
    plain = found / (found @ reaches).max()
    assert (sizes**2 / best**2).sum() < (sizes**2 / plain**2).sum()


def test_better_sharing_and_projecting_first_lower_the_error():
    errors = {form: NIM.calibrate(SIGNS, Pure(1.0), *form).root_mean_square for form in FORMS}
    for projected in (False, True):
        equal, two_thirds, optimized = (errors[projected, share] for share in ("equal", "two-thirds", "optimized"))
        assert optimized <= two_thirds * 1.001
        if not projected:  # where the charge is the sum
            assert two_thirds <= equal * 1.001
    assert errors[True, "optimized"] < 0.8 * errors[False, "optimized"]


def test_nim_beats_one_body_on_an_anisotropic_query():
    nim = NIM.calibrate(LONG, Pure(1.0)).root_mean_square
    single = NoiseBody.calibrate(LONG, Pure(1.0)).root_mean_square
    assert nim < 0.9 * single
    assert NIM.calibrate(SIGNS, Pure(1.0)).root_mean_square > NoiseBody.calibrate(SIGNS, Pure(1.0)).root_mean_square


# distribution
def test_released_noise_has_the_predicted_size():
    """600 releases: the root mean square has a standard error of about 3 %."""
    made, rng = NIM.calibrate(SIGNS, Pure(0.01)), seeded(3)
    zero = np.zeros(6, dtype=np.int64)
    draws = np.array([made.release(zero, rng) for _ in range(600)], dtype=float)
    assert np.sqrt((draws**2).mean()) == pytest.approx(made.root_mean_square, rel=0.12)
    assert (np.abs(draws) > made.margins(0.05)).mean() < 0.06
    assert (np.abs(draws).max(axis=1) > made.error(0.05)).mean() < 0.06
    assert made.mean_error("linf") < made.mean_error("l2") < made.mean_error("l1")
    repeated = [made.release(zero, seeded(7)).tolist() for _ in range(2)]
    assert repeated[0] == repeated[1]


# audit
def test_a_level_that_is_left_out_of_the_charge_would_be_noticed():
    made = NIM.calibrate(SIGNS, Pure(1.0))
    fewer = np.array([level.epsilon for level in made.levels][:-1]) @ made.reaches[:-1]
    assert fewer.max() < 0.95 * made.guarantee().epsilon


# refusals
@pytest.mark.parametrize(
    ("make", "kind", "word"),
    [
        (lambda: NIM.calibrate(SIGNS, Concentrated(0.5)), UnsupportedQuery, "pure"),
        (lambda: NIM.calibrate(SIGNS, Pure(1.0), share="greedy"), ParameterError, "two-thirds"),
        (lambda: NIM.calibrate(Columns("rows", [[1, 2], [2, 4]]), Pure(1.0)), UnsupportedQuery, "independent rows"),
        (lambda: NIM.calibrate(Columns("zero", [[0]]), Pure(1.0)), UnsupportedQuery, "does not depend"),
        (lambda: NIM.calibrate(Columns("nan", [[math.nan]]), Pure(1.0)), ParameterError, "NaN"),
        (lambda: NIM(SIGNS, ()), ParameterError, "levels"),
        (lambda: NIM(SIGNS, (Level(np.eye(6), np.eye(6), -1.0),)), ParameterError, "positive"),
        (lambda: NIM(SIGNS, (Level(np.eye(6)[:3], np.eye(6)[:, :3], 1.0),)), ParameterError, "every direction"),
        (lambda: NIM.calibrate(SIGNS, Pure(1.0)).margins(2.0), ParameterError, "beta"),
        (lambda: NIM.calibrate(SIGNS, Pure(1.0)).release(np.zeros(3), seeded(1)), ParameterError, "shape"),
    ],
)
def test_refusals(make, kind, word):
    with pytest.raises(kind, match=word):
        make()
