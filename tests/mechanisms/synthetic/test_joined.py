"""Marginals and moments in one table: parts of the budget, what the net finds, and rows that have the moments."""

from __future__ import annotations

import dataclasses
import math
from fractions import Fraction
from unittest.mock import patch

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato as sf
from losses import LOSSES
from sfumato.errors import ParameterError, UnsupportedQuery
from sfumato.mechanisms import JoinedSynthesis
from sfumato.mechanisms.synthetic import joined as module
from sfumato.mechanisms.synthetic.likeness import TOO_FEW, distances, standing
from sfumato.mechanisms.synthetic.smooth import SmoothSynthesis, features
from sfumato.mechanisms.synthetic.smooth.columns import moved, posterior
from sfumato.mechanisms.synthetic.smooth.drawing import balanced
from sfumato.mechanisms.synthetic.smooth.joining import joined
from sfumato.orders import preview
from sfumato.planner import best
from sfumato.privacy.adjacency import ADJACENCIES
from sfumato.privacy.guarantees import GaussianPrivacy
from sfumato.queries import bind
from sfumato.randomness import seeded
from views import view_of

SPACES = {name: sf.Interval(0, 10, step=0.5) for name in "xyz"}
KINDS = {**SPACES, "c": sf.Categories(["a", "b"])}
TARGETS = [sf.Pure(1.0), sf.Concentrated(0.3), sf.Approximate(1.0, 1e-6)]


def rows(count, chance):
    """Indices of three numbers, some missing, that grow with one another, and a category."""
    hidden = chance.random(count)
    numbers = {name: (20 * (hidden + chance.random(count)) / 2).astype(int) for name in "xyz"}
    numbers["z"] = np.where(chance.random(count) < 0.1, -1, numbers["z"])
    return {**numbers, "c": (hidden > 0.5).astype(int)}


def asked(**more):
    known = {"adjacency": sf.AddRemove(), **more}
    return bind(sf.synthetic(rows=known.pop("rows", None)), sf.Schema(KINDS, **known))


# claims


@pytest.mark.parametrize(("target", "share"), list(zip(TARGETS, ("4/5", "1/10", "1/10"), strict=True)))
@pytest.mark.parametrize("known", [{}, {"adjacency": sf.Replace(), "size": 40}])
def test_neighbors_cost_what_is_claimed_and_nearly_all_of_it_is_spent(target, share, known):
    """Rows added, removed or exchanged, at the corners: the exact loss of every step, added up."""
    mechanism = JoinedSynthesis.calibrate(asked(**known, rows=3), target, Fraction(share))
    held = rows(40, np.random.default_rng(1))
    corner = {"x": 20, "y": 20, "z": 20, "c": 1}
    other = {name: [*column[:-1], corner[name]] for name, column in held.items()}
    if not known:
        other = {name: [*column, corner[name]] for name, column in held.items()}
    cost, claim = LOSSES[JoinedSynthesis](mechanism, view_of(held), view_of(other))
    assert 0.2 * claim < cost <= claim * (1 + 1e-9)


@pytest.mark.parametrize("share", [1.0, 0.4, 0.0])
@pytest.mark.parametrize("known", [{}, {"adjacency": sf.Replace(), "size": 40}])
def test_numbers_alone_are_measured_once_more_of_public_rows_at_no_cost(known, share):
    """The marginals of rows that have the moments alone are those of the same rows for both neighbors."""
    schema = sf.Schema(SPACES, **{"adjacency": sf.AddRemove(), **known})
    mechanism = JoinedSynthesis.calibrate(bind(sf.synthetic(rows=2000), schema), sf.Pure(1.0), Fraction(5, 6))
    held = {name: np.abs(rows(40, np.random.default_rng(1))[name]) for name in "xyz"}
    other = {name: [*(column[:-1] if known else column), 20] for name, column in held.items()}
    with (
        patch.object(module, "standing", return_value=share) as asked_once,
        patch.object(JoinedSynthesis, "_plain", return_value=True),
    ):
        cost, claim = LOSSES[JoinedSynthesis](mechanism, view_of(held), view_of(other))
    assert asked_once.called
    assert 0.2 * claim < cost <= claim * (1 + 1e-9)


@pytest.mark.parametrize("target", TARGETS)
def test_where_marginals_know_the_moments_they_get_all_of_it_for_the_same_price(target):
    mechanism = JoinedSynthesis.calibrate(asked(rows=3), target, Fraction(1, 10))
    held = rows(40, np.random.default_rng(1))
    other = {name: [*column, 1] for name, column in held.items()}
    with patch.object(module, "JOINING", np.inf):
        cost, claim = LOSSES[JoinedSynthesis](mechanism, view_of(held), view_of(other))
        made = mechanism.release(view_of(held), seeded(1))
    assert 0.2 * claim < cost <= claim * (1 + 1e-9)
    assert made.measurements()["moments"] is False
    assert "moments" not in mechanism.release(view_of(held), seeded(1)).measurements()
    mostly = JoinedSynthesis.calibrate(asked(rows=3), target, Fraction(4, 5))
    with patch.object(module, "JOINING", np.inf):
        assert mostly.release(view_of(held), seeded(1)).moments


def test_moments_with_a_third_of_their_noise_are_found():
    question = bind(sf.synthetic(rows=3), sf.Schema(SPACES, adjacency=sf.Replace(), size=5))
    mechanism = JoinedSynthesis.calibrate(question, sf.Pure(1.0), Fraction(1))
    less = dataclasses.replace(mechanism.smooth, design=_third(mechanism.smooth.design))
    corners = [view_of({"x": [first] + [0] * 4, "y": [first] + [0] * 4, "z": [first] + [0] * 4}) for first in (0, 20)]
    with patch.object(module, "_plan", lambda *_: less):
        cost, claim = LOSSES[JoinedSynthesis](mechanism, *corners)
    assert cost > claim


def _third(design):
    return dataclasses.replace(
        design, measured=tuple(dataclasses.replace(part, scale=part.scale / 3) for part in design.measured)
    )


@settings(max_examples=20, deadline=None)
@given(st.fractions(Fraction(1, 1000), 1), st.integers(1, 10**6), st.sampled_from(TARGETS), st.booleans())
def test_parts_add_up_to_the_target_whatever_the_number_of_rows_turns_out_to_be(share, size, target, public):
    known = {"adjacency": sf.Replace(), "size": size} if public else {"adjacency": sf.AddRemove()}
    question = bind(sf.synthetic(good_for="both"), sf.Schema(SPACES, **known))
    mechanism = JoinedSynthesis.calibrate(question, target, share)
    whole = module._whole(question, target)
    plan = module._plan(question, target, share, size).guarantee()
    paid = Fraction(plan.mu) ** 2 / 2 if isinstance(plan, GaussianPrivacy) else Fraction(plan.amount)
    spent = paid + (whole.amount - whole.for_rows)
    spent += 0 if public else whole.for_rows * share * module.COUNTING
    spent += 0 if mechanism.counted is None else mechanism.counted.for_rows
    assert spent <= whole.amount * (1 + Fraction(1, 10**12))
    assert mechanism.guarantee().implies(target)
    assert JoinedSynthesis.from_record(question, mechanism.to_record()) == mechanism


# choices


def test_what_a_table_should_be_good_for_decides_what_is_measured():
    big, small, mixed = sf.Schema(SPACES, size=100_000), sf.Schema(SPACES, size=2000), sf.Schema(KINDS, size=900)
    for schema, good_for in ((big, "both"), (big, "marginals"), (big, "smooth"), (small, "both"), (mixed, "both")):
        seen = preview(sf.synthetic(good_for=good_for), schema, spend=sf.Pure(1.0))
        assert seen.mechanism == ("marginal-synthesis" if good_for == "marginals" else "joined-synthesis")
        assert ("averages of smooth functions" in str(seen)) == (good_for != "marginals")
        assert ("counts of a column" in str(seen)) == (good_for != "smooth")
    drowned = preview(
        sf.synthetic(good_for="both"), sf.Schema(SPACES, size=60), spend=sf.Pure(1.0)
    )  # counts would tell nothing
    assert "counts of a column" not in str(drowned)
    with pytest.raises(UnsupportedQuery, match="all of them numbers"):
        preview(sf.synthetic(good_for="smooth"), mixed, spend=sf.Pure(1.0))
    with pytest.raises(ParameterError, match="both, smooth, marginals"):
        sf.synthetic(good_for="everything")
    asked_for = sf.synthetic(good_for="smooth")
    assert sf.Query.from_record(asked_for.to_record()) == asked_for
    assert "good_for" not in sf.synthetic(good_for="both").to_record()  # as 1.0.0rc1 wrote its default
    assert "good_for" not in bind(sf.synthetic(good_for="both"), small).specification()
    assert bind(sf.synthetic(), small).specification()["good_for"] == "marginals"
    assert sf.Query.from_record({"query": "synthetic"}) == sf.synthetic(good_for="both")
    assert sf.Query.from_record(sf.synthetic().to_record()) == sf.synthetic()
    for schema, spend in ((small, sf.Pure(1.0)), (mixed, sf.Concentrated(0.1)), (small, sf.Approximate(1.0, 1e-6))):
        assert preview(sf.synthetic(), schema, spend=spend).mechanism == "marginal-synthesis"


# rows


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 10**6))
def test_columns_move_onto_the_wanted_means_and_keep_their_values_and_order(seed):
    chance = np.random.default_rng(seed)
    points = np.clip(chance.normal(chance.uniform(-0.5, 0.5, 4), 0.3, (3000, 4)), -1, 1)
    present = chance.random(points.shape) > 0.1
    points = np.where(present, points, 0.0)
    mean = points.mean(axis=0) + chance.uniform(-0.1, 0.1, 4)
    square = (points**2).sum(axis=1).mean() * chance.uniform(0.9, 1.1)
    sources = moved(points, present, mean, square)
    made = np.take_along_axis(points, sources, axis=0)
    assert np.abs(made.mean(axis=0) - mean).max() < 0.01
    assert (made**2).sum(axis=1).mean() == pytest.approx(square, rel=0.03)
    for column in range(4):
        held = present[:, column]
        assert (made[~held, column] == 0).all()
        order = np.argsort(points[held, column], kind="stable")
        assert (np.diff(made[held, column][order]) >= 0).all()


def test_means_are_believed_as_far_as_the_other_columns_say_that_rows_are_off():
    chance = np.random.default_rng(2)
    own, spread = chance.uniform(-0.5, 0.5, 40), np.full(40, 0.2)
    near, _, off = posterior(own, spread, own + chance.normal(0, 0.05, 40), 0.05)  # gaps are noise: rows are right
    assert np.abs(near - own).max() < 0.02
    assert off < 1e-3
    true = own + chance.normal(0, 0.2, 40)
    far, error, off = posterior(own, spread, true + chance.normal(0, 0.01, 40), 0.01)  # gaps are not noise
    assert np.abs(far - true).max() < 0.04
    assert error < 0.01
    assert 0.3 < off < 3


def test_rows_that_have_the_moments_stay_where_they_are_however_small_the_ball_that_was_chosen():
    """Moments of a ball a tenth as wide as the rows are: pulled into it, the rows agree with what was measured."""
    chance = np.random.default_rng(6)
    rows = np.stack([chance.binomial(100, share, 3000) for share in (0.1, 0.5, 0.9, 0.3)], axis=1)
    plan = SmoothSynthesis.plan([101] * 4, 3000, sf.Concentrated(0.01), adjacency=sf.AddRemove(), rows_per_unit=1)
    points = plan.box(rows)
    center = points.mean(axis=0) + 0.1
    for reach in (0.05, 0.2, 2.0):
        view = features.View(center, reach, float(center @ center), reach, ball=True)
        measured = view.features(points, tuple(plan.errors)).mean(axis=0) / features.QUANTUM
        parts = np.cumsum([features.dimension(block, 4) for block in plan.errors])[:-1]
        noisy = dict(zip(plan.errors, np.split(measured, parts), strict=True))
        made, _ = joined(plan, view, 0.1, noisy, rows, 1e-6, 3000, chance)
        assert np.abs(plan.box(made).mean(axis=0) - points.mean(axis=0)).max() < 0.02
        assert np.square(plan.box(made)).sum(axis=1).mean() == pytest.approx(
            np.square(points).sum(axis=1).mean(), rel=0.02
        )


def test_what_was_measured_precisely_is_met_by_rows_that_are_nearly_right():
    """Rows are worth much then, and the measured moments as much more as their noise says."""
    chance = np.random.default_rng(8)
    hidden, own = chance.normal(size=(2, 8000, 1)), chance.normal(size=(8000, 4))
    real, near = (
        np.rint(50 + 15 * (np.sqrt(part) * hidden + np.sqrt(1 - part) * own)).clip(0, 100).astype(int)
        for part, hidden in zip((0.34, 0.3), hidden, strict=True)
    )
    plan = SmoothSynthesis.plan([101] * 4, 8000, sf.Pure(1e3), blocks=("mean", "radius", "second"))
    view, off, noisy = plan.measure(plan.box(real), seeded(1))
    made, _ = joined(plan, view, off, noisy, near, 1e-4, 8000, chance)

    def missed(rows):
        seen = view.features(plan.box(rows), ("second",)).mean(axis=0) / features.QUANTUM
        return float(np.linalg.norm(seen - noisy["second"]))

    assert missed(made) < 0.3 * missed(near)


def test_with_most_of_the_budget_rows_come_closer_to_the_measured_moments():
    """Rows without the relations of the table: second moments with little noise are met twice as well as before."""
    chance = np.random.default_rng(8)
    hidden, own = chance.normal(size=(8000, 1)), chance.normal(size=(2, 8000, 3))
    real = np.rint(50 + 15 * (np.sqrt(0.2) * hidden + np.sqrt(0.8) * own[0])).clip(0, 100).astype(int)
    apart = np.rint(50 + 15 * own[1]).clip(0, 100).astype(int)
    plan = SmoothSynthesis.plan([101] * 3, 8000, sf.Pure(3.0), blocks=("mean", "radius", "second"))
    view, off, noisy = plan.measure(plan.box(real), seeded(1))

    def missed(rows):
        seen = view.features(plan.box(rows), ("second",)).mean(axis=0) / features.QUANTUM
        return float(np.linalg.norm(seen - noisy["second"]))

    plain, closer = (joined(plan, view, off, noisy, apart, 1e-4, 8000, chance, held)[0] for held in (False, True))
    assert missed(closer) < 0.8 * missed(plain) < 0.8 * missed(apart)


def test_points_of_the_moments_stand_for_a_table_that_noisy_marginals_do_not_tell_from_them():
    """A law that is known by its moments; and one whose values are few, which they do not tell."""
    chance = np.random.default_rng(3)
    spaces = {name: sf.Interval(0, 1, step=0.001) for name in "abcdefg"}
    schema = sf.Schema(spaces, adjacency=sf.Replace(), size=8000)
    mechanism = JoinedSynthesis.calibrate(bind(sf.synthetic(good_for="both"), schema), sf.Pure(1.0), Fraction(5, 6))
    hidden = chance.normal(size=(8000, 1)) + 0.3 * chance.normal(size=(8000, 7))
    normal = np.rint(500 + 130 * hidden).clip(0, 1000).astype(int)
    few = 500 * (normal > 400).astype(int) + 500 * (normal > 600)
    for table, alone in ((normal, True), (few, False)):
        made = mechanism.release(view_of(dict(zip(spaces, table.T, strict=True))), seeded(2))
        assert (made.column_noise == ()) is alone
        assert made.judged


def test_rows_are_alike_where_they_lie_no_farther_apart_than_noise_takes_them():
    columns = bind(sf.synthetic(good_for="both"), sf.Schema(SPACES)).levels
    chance = np.random.default_rng(1)

    def some(low, high):
        return {name: chance.integers(low, high, 4000) for name in "xyz"}

    one, same, near, between, far = some(0, 21), some(0, 21), some(2, 21), some(3, 21), some(8, 21)
    assert max(distances(one, same, columns)) < min(distances(one, near, columns)) < 1
    assert standing(one, near, near, columns) == 1
    assert standing(one, far, same, columns) == 0
    away, noise = (math.prod(distances(one, held, columns)) for held in (between, near))
    assert TOO_FEW < noise / away < 0.8
    assert standing(one, between, near, columns) == pytest.approx(noise / away)
    assert distances(one, one, columns) == (0, 0)
    assert standing(one, one, one, columns) == 1


@pytest.mark.parametrize("count", [1, 2, 3, 400, 8000])
@pytest.mark.parametrize("share", [0.25, 0.7])
def test_points_stand_for_a_share_of_the_rows_and_all_have_the_moments(count, share):
    chance = np.random.default_rng(4)
    spaces = {name: sf.Interval(0, 1, step=0.001) for name in "abc"}
    question = bind(sf.synthetic(rows=count), sf.Schema(spaces, adjacency=sf.Replace(), size=8000))
    mechanism = JoinedSynthesis.calibrate(question, sf.Pure(1.0), Fraction(5, 6))
    table = np.rint(1000 * chance.beta(2, 5, size=(8000, 3))).astype(int)
    with (
        patch.object(module, "standing", return_value=share),
        patch.object(JoinedSynthesis, "_alone", wraps=mechanism._alone, autospec=False) as alone,
    ):
        made = mechanism.release(view_of(dict(zip(spaces, table.T, strict=True))), seeded(2))
    rows = np.stack([made.rows[name] for name in spaces], axis=1)
    assert rows.shape == (count, 3)
    assert alone.call_args.args[2] == round(share * count)
    assert made.column_noise != ()  # they are still rows of marginals that were measured
    if count >= 400:
        apart = np.abs(rows.mean(axis=0) - table.mean(axis=0))
        assert (apart < 30 + 60 / np.sqrt(count / 400)).all()
        first, last = rows[: count // 2], rows[count // 2 :]  # in any order
        assert (np.abs(first.mean(axis=0) - last.mean(axis=0)) < 8 * rows.std(axis=0) / np.sqrt(count)).all()


def test_a_mean_beyond_a_column_s_own_values_is_reached():
    """Counts in which noise hid the few rows far out: the measured mean says that there are some."""
    chance = np.random.default_rng(7)
    real = np.stack([np.where(chance.random(4000) < 0.05, 80, 0), *chance.binomial(100, 0.5, (2, 4000))], axis=1)
    plan = SmoothSynthesis.plan([101] * 3, 4000, sf.Pure(1e5), adjacency=sf.AddRemove(), blocks=features.BLOCKS[:2])
    view, off, noisy = plan.measure(plan.box(real), seeded(1))
    rows = real.copy()
    rows[:, 0] = 0
    made, _ = joined(plan, view, off, noisy, rows, 1e-3, 4000, chance)
    assert made.mean(axis=0) == pytest.approx(real.mean(axis=0), abs=0.1)
    assert (made[:, 0] == 0).mean() > 0.8


def test_categories_keep_their_counts_when_rows_are_weighted():
    held = rows(3000, np.random.default_rng(4))
    mechanism = JoinedSynthesis.calibrate(
        asked(adjacency=sf.Replace(), size=3000), sf.Concentrated(0.2), Fraction(1, 10)
    )
    with patch.object(JoinedSynthesis, "_kept", side_effect=JoinedSynthesis._kept, autospec=True) as kept:
        made = mechanism.release(view_of(held), seeded(5))
    drawn = kept.call_args.args[2]
    assert np.bincount(made.rows["c"] + 1).tolist() == np.bincount(drawn.rows["c"] + 1).tolist()


def test_rows_are_drawn_with_the_sums_of_their_weights():
    chance = np.random.default_rng(3)
    features = chance.normal(size=(12, 4000))
    weights = np.exp(features[0] / 2)
    weights /= weights.sum()
    chosen = balanced(features, weights, 3000, chance)
    assert len(chosen) == 3000
    assert np.abs(features[:, chosen].mean(axis=1) - features @ weights).max() < 2e-3  # at random about 0.05


@pytest.mark.parametrize("known", [{}, {"adjacency": sf.Replace(), "size": 5000}])
def test_a_table_has_its_marginals_and_its_moments(known):
    held = rows(5000, np.random.default_rng(4))
    mechanism = JoinedSynthesis.calibrate(asked(**known), sf.Concentrated(0.2), Fraction(1, 10))
    made = mechanism.release(view_of(held), seeded(5))
    assert abs(len(made.rows["x"]) - 5000) < (30 if not known else 1)
    assert abs((made.rows["c"] == 1).mean() - held["c"].mean()) < 0.03
    assert abs((made.rows["z"] < 0).mean() - 0.1) < 0.03
    for name in "xy":
        assert abs(made.rows[name].mean() - held[name].mean()) < 0.3  # of 20; it varies by about 0.05
    assert made.judged
    assert made.measured


@pytest.mark.parametrize("missing", [0.0, 0.05])
@pytest.mark.parametrize("adjacency", ["add-remove", "replace"])
def test_numbers_in_far_too_wide_bounds_are_not_moved_by_the_noise_of_moments(adjacency, missing):
    """Incomes in 0 to 10^8, a third of them none: noise of a mean, in the box, is more than all that they hold.

    Where some are missing they lie in the middle of the bounds, and noise in their number moves the mean, too.
    """
    chance, size = np.random.default_rng(10), 20_000
    pay = np.exp(chance.normal(10, 1, size))
    frame = pd.DataFrame({
        "pay": pay, "gain": np.where(chance.random(size) < 0.35, 0, pay), "age": chance.integers(18, 90, size),
    }).round()  # fmt: skip
    frame.loc[chance.random(size) < missing, "gain"] = np.nan
    spaces = {"pay": sf.Integers(0, 10**8), "gain": sf.Integers(0, 10**8), "age": sf.Integers(0, 120)}
    schema = sf.Schema(spaces, dataset="pay", size=size, adjacency=ADJACENCIES[adjacency])
    mechanism = best(bind(sf.synthetic(good_for="both"), schema), sf.Pure(1.0))
    assert isinstance(mechanism, JoinedSynthesis)
    rows = mechanism.release(mechanism.take(sf.read(frame, schema=schema)), seeded(4)).rows
    assert (rows["gain"] < 0).mean() == pytest.approx(missing, abs=0.015)
    for name in ("pay", "gain"):
        held = rows[name][rows[name] >= 0]
        assert np.median(held) == pytest.approx(frame[name].median(), rel=0.15)
        assert held.mean() == pytest.approx(frame[name].mean(), rel=0.25)
    assert (rows["gain"][rows["gain"] >= 0] == 0).mean() == pytest.approx(0.35, abs=0.02)


def test_second_moments_are_measured_beside_counts_before_they_are_without():
    """Rows of noisy counts have a worse covariance than none at all; where nothing can be known of it, it is not."""
    for size, alone, beside in ((8000, False, True), (1000, False, False), (50_000, True, True)):
        schema = sf.Schema({name: sf.Integers(0, 1000) for name in "abcd"}, adjacency=sf.Replace(), size=size)
        blocks = [
            JoinedSynthesis.calibrate(
                bind(sf.synthetic(good_for="both"), schema), sf.Pure(1.0), share
            ).smooth.design.blocks
            for share in (Fraction(1), Fraction(5, 6))
        ]
        assert ["second" in held for held in blocks] == [alone, beside]


@pytest.mark.parametrize("adjacency", ["add-remove", "replace"])
def test_a_column_whose_few_far_values_noise_hides_keeps_its_measured_mean(adjacency, tmp_path):
    """One in twenty-five has a loss, each of another size: no level of it shows, but the mean is known; via a file."""
    chance, size = np.random.default_rng(12), 20_000
    loss = np.where(chance.random(size) < 0.04, chance.integers(1000, 5000, size), 0)
    frame = pd.DataFrame({"loss": loss, **{name: chance.integers(0, 100, size) for name in "abc"}})
    frame.to_parquet(tmp_path / "losses.parquet")
    spaces = {"loss": sf.Integers(0, 5000), **{name: sf.Integers(0, 100) for name in "abc"}}
    schema = sf.Schema(spaces, dataset="losses", size=size, adjacency=ADJACENCIES[adjacency])
    mechanism = best(bind(sf.synthetic(good_for="both"), schema), sf.Pure(1.0))
    table = sf.read(tmp_path / "losses.parquet", schema=schema)
    made = mechanism.release(mechanism.take(table), seeded(4)).rows["loss"]
    assert made.mean() == pytest.approx(loss.mean(), abs=15)  # of 5000, as its noise is; without it 0, not 120


def test_a_column_in_two_far_halves_has_a_mean_though_no_row_lies_at_its_median():
    """Half of the rows at each end of the bounds: nothing is near the middle, and nothing is averaged over nothing."""
    ends = np.repeat([0, 20], 1000)
    question = bind(sf.synthetic(good_for="both"), sf.Schema(SPACES, adjacency=sf.Replace(), size=len(ends)))
    mechanism = JoinedSynthesis.calibrate(question, sf.Pure(1e5))
    made = mechanism.release(view_of({"x": ends, "y": ends, "z": ends[::-1]}), seeded(1)).rows
    for name in "xyz":
        assert np.bincount(made[name], minlength=21)[[0, 20]] == pytest.approx(1000, abs=20)


@pytest.mark.parametrize("seed", range(6))
def test_rows_far_from_the_median_stay_where_they_are_more_than_noise_makes(seed):
    """Grades whose median is as near to their mean as noise is: the mean would be met without the other grades."""
    chance, size = np.random.default_rng(seed), 4000
    grades = chance.choice([0, 4, 5, 6, 10], size, p=[0.25, 0.05, 0.4, 0.05, 0.25])
    held = {"x": grades, "y": chance.permutation(grades), "z": chance.permutation(grades)}
    question = bind(sf.synthetic(good_for="both"), sf.Schema(dict.fromkeys("xyz", sf.Integers(0, 10)), size=size))
    mechanism = JoinedSynthesis.calibrate(question, sf.Pure(1.0), Fraction(5, 6))
    made = mechanism.release(view_of(held), seeded(seed)).rows
    for name in "xyz":
        assert made[name].std() == pytest.approx(grades.std(), rel=0.2)  # of 3.6; the median alone has none


@pytest.mark.parametrize("seed", range(6))
def test_few_rows_at_both_ends_stay_where_each_end_shows(seed):
    """One in ten at either end of a thousand steps, the rest in the middle, where the mean is without them, too."""
    chance, size = np.random.default_rng(seed), 500
    names, middle = "xyz", np.repeat([0, 500, 1000], [50, 400, 50])
    held = {name: chance.permutation(middle) for name in names}
    question = bind(sf.synthetic(good_for="both"), sf.Schema(dict.fromkeys(names, sf.Integers(0, 1000)), size=size))
    mechanism = JoinedSynthesis.calibrate(question, sf.Concentrated(0.03), Fraction(1, 4))
    made = mechanism.release(view_of(held), seeded(seed)).rows
    for name in names:
        assert made[name].std() == pytest.approx(middle.std(), rel=0.25)


@pytest.mark.parametrize("epsilon", [30.0, 300.0, 680.0])
@pytest.mark.parametrize("good_for", ["smooth", "both"])
def test_large_budgets_with_a_delta_are_planned_for_any_number_of_rows(epsilon, good_for):
    for size in (10, 1000, 10**6):
        schema = sf.Schema({name: sf.Integers(0, 100) for name in "abc"}, size=size)
        target = sf.Approximate(epsilon, 1e-6)
        question = bind(sf.synthetic(good_for=good_for), schema)
        assert best(question, target).guarantee().implies(target)
        for share in (Fraction(1, 2), Fraction(5, 6), Fraction(1)):
            assert JoinedSynthesis.calibrate(question, target, share).guarantee().implies(target)
