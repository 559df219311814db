"""What is said of an error is checked by simulation: it holds as often as it says, and half of it does not."""

from __future__ import annotations

import ast
import math
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import sfumato as sf
from sfumato.answers.statements import KINDS, MEANS, ErrorByRows, ErrorStatement, MeanError, NotStated
from sfumato.errors import ParameterError
from sfumato.mechanisms import Laplace
from sfumato.mechanisms.synthetic.trigonometric import Trigonometric
from sfumato.planner import best
from sfumato.queries import bind
from sfumato.randomness import seeded

TESTS = Path(__file__).parents[1]
DRAWS = 400
BETA = 0.05
MISSES = BETA + 4.8 * math.sqrt(BETA * (1 - BETA) / DRAWS)  # exceeded once in a million tests at coverage 0.95

# Where each kind of statement is held against draws.
CHECKS = {
    "answer": "statements/test_error_statements.py::test_a_release_states_the_error_that_it_has",
    "curve": "answers/test_curves.py::test_bands_cover_whole_curves_as_often_as_they_say",
    "points": "answers/test_curves.py::test_a_private_divisor_is_covered_too",
    "rank": "mechanisms/test_recursive_quantiles_mechanism.py::test_the_error_on_any_table_is_reached_by_some_table",
    "ranks": "mechanisms/test_recursive_quantiles_mechanism.py::test_ranks_on_any_table_are_within_what_is_stated",
    "tied": "mechanisms/test_recursive_quantiles_mechanism.py::test_ranks_on_any_table_are_within_what_is_stated",
    "choice": "mechanisms/test_selection_mechanisms.py::test_error_bounds_the_chance_of_a_bad_choice",
    "score": "queries/test_scored.py::test_the_chosen_score_is_as_near_the_largest_as_stated",
    "left": "mechanisms/test_sorted_counts.py::test_errors_and_intervals_hold_on_any_table",
    "keys": "mechanisms/test_key_discovery_mechanism.py::test_error_is_where_keys_are_found",
    "shares": "statements/test_error_statements.py::test_shares_of_thresholds_are_within_what_is_stated",
    "columns": "mechanisms/synthetic/test_judging.py::test_mean_errors_are_within_what_is_stated",
    "measured": "mechanisms/synthetic/test_judging.py::test_mean_errors_are_within_what_is_stated",
    "others": "mechanisms/synthetic/test_judging.py::test_mean_errors_are_within_what_is_stated",
    "workload": "mechanisms/synthetic/test_workload.py::test_errors_of_a_workload_are_within_what_is_stated",
    "worst": "mechanisms/synthetic/test_workload.py::test_errors_of_a_workload_are_within_what_is_stated",
    "features": "statements/test_error_statements.py::test_feature_means_are_within_what_is_stated",
    "spectrum": "mechanisms/test_component_mechanisms.py::test_the_error_bound_is_kept_as_often_as_it_says",
}


def test_every_kind_of_statement_is_checked():
    assert set(CHECKS) == set(KINDS)
    for check in CHECKS.values():
        path, name = check.split("::")
        defined = {
            node.name for node in ast.parse((TESTS / path).read_text()).body if isinstance(node, ast.FunctionDef)
        }
        assert name in defined, check


def asked(frame, columns, query, spend, **declared):
    """The bound question, its mechanism, the exact answer and the true value of each cell."""
    table = sf.read(pa.table(frame), schema=columns, dataset="d", **declared)
    question = bind(query, table.schema)
    mechanism = best(question, spend)
    exact = mechanism.take(table)
    return question, mechanism, exact


def missed(question, mechanism, exact, truth, seed):
    """How often each cell lies beyond its own reach, and beyond half of it."""
    rng, beyond, half = seeded(seed), 0.0, 0.0
    for draw in range(DRAWS):
        noisy = mechanism.release(exact, rng)
        read = question.read(noisy, mechanism)
        columns = read.list_numbers(1 - BETA)
        estimate, low, high = (np.array(columns[name]) for name in ("estimate", "low", "high"))
        assert (low <= estimate).all()
        assert (estimate <= high).all()
        reach, error = np.maximum(high - estimate, estimate - low), np.abs(estimate - truth)
        if draw < 5:
            said = read.error(1 - BETA)
            assert (said.least, said.most) == (pytest.approx(reach.min()), pytest.approx(reach.max()))
        rounding = 1e-9 * (1 + np.abs(truth))
        beyond, half = beyond + (error > reach + rounding), half + (error > reach / 2 + rounding)
    return beyond / DRAWS, half / DRAWS


def stated_for_all(question, mechanism):
    """What is stated before the release if all rows count, shared equally by the groups."""
    said = question.accuracy(mechanism, BETA)
    return said.supposed if isinstance(said, ErrorByRows) else said


def beyond_preview(question, mechanism, exact, truth, seed):
    """How often each cell lies beyond what was stated before the release."""
    said, rng = stated_for_all(question, mechanism), seeded(seed)
    errors = [np.abs(question.estimate(mechanism.release(exact, rng)) - truth) for _ in range(2000)]
    return np.mean(np.array(errors) > said.most * (1 + 1e-9), axis=0)


PREVIEW_MISSES = BETA + 4.8 * math.sqrt(BETA * (1 - BETA) / 2000)

RNG = np.random.default_rng(7)
LOW = RNG.integers(0, 7, 3000).tolist()  # near the lower end of 0..120
GROUP = RNG.choice(["a", "b"], 3000, p=[0.9, 0.1]).tolist()
FRAME = {"x": LOW, "s": GROUP}
COLUMNS = {"x": sf.Integers(0, 120), "s": sf.Categories(["a", "b", "c"])}


def values(where=None):
    return np.array([x for x, s in zip(LOW, GROUP, strict=True) if where is None or s == where], dtype=float)


TRUTHS = {
    "count": (sf.count(), lambda: [3000.0]),
    "histogram": (sf.histogram("s"), lambda: [float(len(values("a"))), float(len(values("b"))), 0.0]),
    "sum": (sf.sum("x").by("s"), lambda: [values("a").sum(), values("b").sum(), 0.0]),
    "mean": (sf.mean("x"), lambda: [values().mean()]),
    "means of unequal groups": (sf.mean("x").by("s"), lambda: [values("a").mean(), values("b").mean(), math.nan]),
    "variance": (sf.variance("x"), lambda: [values().var()]),
    "variances of unequal groups": (sf.variance("x").by("s"), lambda: [values("a").var(), values("b").var(), math.nan]),
}


@pytest.mark.parametrize("spend", [sf.Pure(1.0), sf.Concentrated(0.1)], ids=["pure", "concentrated"])
@pytest.mark.parametrize("name", TRUTHS)
def test_a_release_states_the_error_that_it_has(name, spend):
    """Means near the end of their range and in groups of unequal size too; no claim is made about an empty group."""
    query, truth = TRUTHS[name]
    question, mechanism, exact = asked(FRAME, COLUMNS, query, spend, size=3000)
    known = np.array(truth())
    beyond, half = missed(question, mechanism, exact, known, len(name))
    kept = ~np.isnan(known)
    assert beyond[kept].max() <= MISSES
    refused = 1.6 * BETA if "variance" in name else MISSES  # this one lies at the end of its range
    assert half[kept].min() > refused, "half of what is stated must be refused"


def test_every_answer_of_a_workload_is_within_what_is_stated():
    column = {"x": sf.Integers(0, 15)}
    question, mechanism, exact = asked({"x": [i % 11 for i in range(500)]}, column, sf.prefix("x"), sf.Pure(1.0))
    truth = np.cumsum(np.bincount([i % 11 for i in range(500)], minlength=16)).astype(float)
    said, rng, beyond = question.accuracy(mechanism, BETA), seeded(3), 0.0
    margins = question.margins(mechanism, BETA)
    assert (said.least, said.most) == (pytest.approx(margins.min()), pytest.approx(margins.max()))
    for _ in range(DRAWS):
        error = np.abs(question.read(mechanism.release(exact, rng), mechanism).estimates - truth)
        beyond = beyond + (error > margins + 1e-9)
    assert (beyond / DRAWS).max() <= MISSES


@pytest.mark.parametrize("spend", [sf.Pure(0.5), sf.Concentrated(0.02)], ids=["pure", "concentrated"])
@pytest.mark.parametrize(("rows", "groups"), [(400, 1), (60, 1), (600, 3)])
def test_a_preview_of_a_mean_holds_in_the_case_that_it_names(rows, groups, spend):
    """In the middle of the range, the declared size shared equally; elsewhere it does not, which is why it is said."""
    frame = {"x": [0, 120] * (rows // 2), "s": ["abc"[i // 2 % groups] for i in range(rows)]}
    query = sf.mean("x").by("s") if groups > 1 else sf.mean("x")
    columns = {"x": sf.Integers(0, 120), "s": sf.Categories(["a", "b", "c"])}
    question, mechanism, exact = asked(frame, columns, query, spend, size=rows)
    said = stated_for_all(question, mechanism)
    assert said.given == ("a mean in the middle of the range",)
    assert said.rows == rows // groups
    truth = np.full(question.cells.count, 60.0)
    assert beyond_preview(question, mechanism, exact, truth, rows).max() <= PREVIEW_MISSES


def test_a_preview_of_a_variance_holds_in_the_case_that_it_names():
    frame = {"x": list(range(121)) * 4}
    question, mechanism, exact = asked(frame, {"x": sf.Integers(0, 120)}, sf.variance("x"), sf.Pure(1.0), size=484)
    said = question.accuracy(mechanism, BETA)
    assert (said.given, said.rows) == (("values spread evenly over the range",), 484)
    truth = np.array([np.var(range(121))])
    assert beyond_preview(question, mechanism, exact, truth, 5).max() <= PREVIEW_MISSES


def test_the_middle_of_the_range_says_nothing_of_its_ends():
    """The negative control: what a preview of a mean names is needed."""
    question, mechanism, exact = asked(FRAME, COLUMNS, sf.mean("x").by("s"), sf.Pure(1.0), size=3000)
    known = np.array([values("a").mean(), values("b").mean(), math.nan])
    assert beyond_preview(question, mechanism, exact, known, 1)[1] > 0.2  # the smaller group, at the lower end


def test_without_a_size_nothing_is_stated_before_and_all_after():
    question, mechanism, exact = asked(FRAME, COLUMNS, sf.mean("x"), sf.Pure(1.0))
    assert question.accuracy(mechanism, BETA) == NotStated("depends on the number of rows; declare size= to preview it")
    assert question.read(mechanism.release(exact, seeded(1)), mechanism).error(1 - BETA).most < 120


def test_a_release_and_its_record_say_what_its_intervals_say(tmp_path):
    table = sf.read(pa.table(FRAME), schema=COLUMNS, dataset="d", size=3000)
    session = sf.Session(table, budget=sf.Pure(3.0), ledger=tmp_path / "l")
    release = session.release(sf.mean("x").by("s"), spend=sf.Pure(1.0))
    low, high = release.interval(0.9)
    said = release.error(0.9)
    estimates = np.array(release.answer.list_numbers()["estimate"])
    assert said.most == pytest.approx(np.maximum(high - estimates, estimates - low).max())
    assert said.probability == 0.9
    assert release.to_record()["error_in_words"] == release.error().words()
    assert release.error().words() in release.words()
    preview = session.preview(sf.mean("x").by("s"), spend=sf.Pure(1.0))
    assert preview.accuracy == preview.errors[0].words()
    assert "depends on how many rows each group holds: ± " in str(preview)
    assert " for 1,000 rows, ± " in str(preview)
    assert "(for a mean in the middle of the range)" in str(preview)
    assert (preview.half_width, list(preview.half_widths)) == (None, [1000, 100, 10])
    whole = session.preview(sf.mean("x"), spend=sf.Pure(1.0), name="all")
    assert "(for a mean in the middle of the range, 3,000 rows)" in str(whole)


def test_a_count_below_nothing_lies_in_its_own_interval():
    question, mechanism, _ = asked({"x": [1]}, {"x": sf.Integers(0, 9)}, sf.count(), sf.Pure(0.1))
    columns = question.read(np.array([-29]), mechanism).table(1 - BETA)
    assert columns["low"] == [-29.0]
    assert columns["high"][0] >= 0


def test_quantiles_state_what_ties_add_where_they_add_something():
    column = {"x": sf.Integers(0, 100_000)}
    one, nine = (
        bind(sf.quantiles("x", wanted), sf.Schema(column, dataset="d"))
        for wanted in ([0.5], [i / 10 for i in range(1, 10)])
    )
    first, second = (question.accuracy(best(question, sf.Pure(0.5)), BETA) for question in (one, nine))
    assert (first.kind, first.besides) == ("rank", ())
    assert second.kind == "ranks"
    (tied,) = second.besides
    assert second.least < second.most < tied.most == best(nine, sf.Pure(0.5)).tied_error(BETA)
    assert "; with ties within ± 989.5 rows; and 3/2048 of the rows that share a value" in second.words()
    assert 59 < second.least < 1.5 * 59  # what nine deciles of 5,000 rows were found to err by


def test_shares_of_thresholds_are_within_what_is_stated():
    column = sf.Integers(0, 63)
    frame = {"x": RNG.integers(0, 40, 800).tolist()}
    question, mechanism, exact = asked(frame, {"x": column}, sf.thresholds("x"), sf.Pure(2.0), size=800)
    said, rng = question.accuracy(mechanism, 0.2), seeded(11)
    truth = np.cumsum(exact) / 800
    worst = [np.abs(question.estimate(mechanism.release(exact, rng)) - truth).max() for _ in range(60)]
    assert np.mean(np.array(worst) > said.most) <= 0.2
    assert said.most < 0.5


@pytest.mark.parametrize("replaced", [False, True])
def test_feature_means_are_within_what_is_stated(replaced):
    """All at once, also where the number of rows is private and the means are as large as they can be."""
    declared = {"adjacency": sf.Replace()} if replaced else {}
    column = {"x": sf.Interval(0, 1, step=0.01, missing=0.0)}
    table = sf.read(pa.table({"x": [1.0] * 300}), schema=column, dataset="d", size=300, **declared)
    mechanism = Trigonometric.calibrate(bind(sf.trigonometric(["x"], order=4, grid=40), table.schema), sf.Pure(1.0))
    assert mechanism.counted is not replaced
    exact, rng, broken, halved = mechanism.take(table), seeded(5), 0, 0
    truth, _ = mechanism.means(exact)
    for _ in range(300):
        output = mechanism.release(exact, rng)
        said, worst = mechanism.accuracy(0.2, output), np.abs(mechanism.means(output)[0] - truth).max()
        broken, halved = broken + (worst > said.most), halved + (worst > said.most / 4)
    assert broken / 300 <= 0.2 + 4.8 * math.sqrt(0.16 / 300)
    assert halved / 300 > 0.35


# the values themselves


@pytest.mark.parametrize(
    "made",
    [
        lambda: ErrorStatement("guess", 1.0, 0.9),
        lambda: ErrorStatement("answer", -1.0, 0.9),
        lambda: ErrorStatement("rank", 1.0, 1.0),
        lambda: MeanError("guess", "x", 1.0),
    ],
)
def test_refuses_what_is_no_statement(made):
    with pytest.raises(ParameterError):
        made()


def test_a_statement_shows_its_numbers_rounded_up():
    said = ErrorStatement("answer", 3.14159, 0.95, least=2.71828, each=True, besides=("and more",))
    assert said.words() == "± 2.719 to 3.142, each with probability 0.95; and more"
    assert said.words(probability=False) == "± 2.719 to 3.142; and more"
    assert MeanError("items", "hobbies", 0.12341).words() == "hobbies off by 0.1235 items"
    assert set(MEANS) == {"wrong", "items", "point", "distance"}


def test_noise_alone_decides_the_error_of_a_count():
    question = bind(sf.count(), sf.Schema({"x": sf.Integers(0, 9)}, dataset="d"))
    mechanism = Laplace.calibrate(question, sf.Pure(1.0))
    assert question.accuracy(mechanism, BETA) == ErrorStatement("answer", float(mechanism.noise.quantile(BETA)), 0.95)
