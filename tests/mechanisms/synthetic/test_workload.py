"""Tables for a workload: parts of the budget, what the net finds, and rows that answer its queries."""

from __future__ import annotations

import re
from fractions import Fraction
from unittest.mock import patch

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyarrow.csv import write_csv
from scipy import stats

import sfumato as sf
from losses import LOSSES
from sfumato.errors import ParameterError, UnsupportedQuery
from sfumato.mechanisms import WorkloadSynthesis
from sfumato.mechanisms.synthetic.marginals.noise import ConcentratedNoise, PureNoise, Reach
from sfumato.mechanisms.synthetic.workload import rounds
from sfumato.mechanisms.synthetic.workload.judging import misfits
from sfumato.mechanisms.synthetic.workload.rounds import Fitting, measured, moved, planned
from sfumato.mechanisms.synthetic.workload.seeds import EACH, sown
from sfumato.orders import preview
from sfumato.queries import bind
from sfumato.queries.goals import UNIT, Batch
from sfumato.randomness import seeded
from sfumato.release.prediction import _workload
from views import view_of

ALPHA = 1e-6
KINDS = {"x": sf.Interval(0, 9, step=1), "c": sf.Categories(["a", "b"]), "d": sf.Categories(["u", "v"])}
SINGLE = [sf.count().where(f"x >= {low} and c == '{c}' and d == '{d}'") for low in range(9) for c in "ab" for d in "uv"]
MIXED = [*SINGLE[:12], sf.mean("x").by("c"), sf.crosstab("c", "d"), sf.share("x >= 5")]
TARGETS = [sf.Pure(1.0), sf.Concentrated(0.3), sf.Approximate(1.0, 1e-6)]


def rows(count, chance):
    """A parity that no pair of columns shows: d is 'v' where exactly one of x >= 5 and c == 'b' holds."""
    x, c = chance.integers(0, 10, count), chance.integers(0, 2, count)
    d = (x >= 5) ^ (c == 1) ^ (chance.random(count) < 0.05)
    return {"x": x, "c": c, "d": d.astype(int)}


def asked(workload, **more):
    known = {"adjacency": sf.AddRemove(), **more}
    return bind(sf.synthetic(rows=known.pop("rows", None), workload=workload), sf.Schema(KINDS, **known))


# claims


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("known", [{}, {"adjacency": sf.Replace(), "size": 40}])
@pytest.mark.parametrize("workload", [SINGLE, MIXED])
def test_neighbors_cost_what_is_claimed_and_much_of_it_is_spent(target, known, workload):
    """A row added or exchanged: the exact loss of every step, added up; all queries at once, and in rounds."""
    mechanism = WorkloadSynthesis.calibrate(asked(workload, **known, rows=3), target)
    held = rows(40, np.random.default_rng(1))
    corner = {"x": 9, "c": 1, "d": 1}
    cut = slice(None) if not known else slice(-1)
    other = {name: [*column[cut], corner[name]] for name, column in held.items()}
    with patch.object(rounds, "MOST_MEASURED", 8 if target.takes_normal else 192):
        cost, claim = LOSSES[WorkloadSynthesis](mechanism, view_of(held), view_of(other))
    assert 0.05 * claim < cost <= claim * (1 + 1e-9)


def test_answers_with_a_third_of_their_noise_are_found():
    schema = {"adjacency": sf.Replace(), "size": 5, "rows": 3}
    mechanism = WorkloadSynthesis.calibrate(asked([sf.histogram("x")], **schema), sf.Pure(1.0), Fraction(9, 10))
    tables = [view_of({"x": [first, 1, 2, 3, 4], "c": [0] * 5, "d": [0] * 5}) for first in (0, 9)]
    less = PureNoise.law
    with patch.object(
        PureNoise, "law", lambda self, scale: less(self, scale / 3 if self.reach.rows >= UNIT else scale)
    ):
        cost, claim = LOSSES[WorkloadSynthesis](mechanism, *tables)
    assert cost > claim


@settings(max_examples=20, deadline=None)
@given(st.fractions(Fraction(1, 1000), Fraction(999, 1000)), st.sampled_from(TARGETS), st.booleans(), st.integers(1, 3))
def test_parts_add_up_to_the_target(share, target, public, most):
    known = {"adjacency": sf.Replace(), "size": 50} if public else {"unit": sf.Person("id", most)}
    question = asked(MIXED[:14], **known)
    mechanism = WorkloadSynthesis.calibrate(question, target, share)
    whole = mechanism.whole
    assert mechanism.for_marginals + mechanism.for_answers == whole.for_rows < whole.amount
    scales = mechanism.noise.scales(mechanism.for_answers, [goal.size for goal in question.goals])
    assert mechanism.noise.cost(scales) <= mechanism.for_answers
    assert mechanism.guarantee().implies(target)
    assert WorkloadSynthesis.from_record(question, mechanism.to_record()) == mechanism
    assert mechanism.noise.reach.l1 == UNIT * (2 if public else most)


# laws


@pytest.mark.parametrize("seed", range(3))
def test_what_one_row_moves_is_at_most_the_reach(seed):
    """All rows exchanged for all others, and removed, at random tables: sums, scores, worst and mean misfits."""
    chance = np.random.default_rng(seed)
    question = asked(MIXED)
    goals, sizes = question.goals, [goal.size for goal in question.goals]
    ends = np.cumsum([0, *sizes])
    universe = {"x": np.arange(-1, 10).repeat(9), "c": np.tile(np.arange(-1, 2).repeat(3), 11)}
    universe["d"] = np.tile(np.arange(-1, 2), 33)
    each = [[goal.sums(Batch({n: v[[r]] for n, v in universe.items()}, question.schema)) for goal in goals]
            for r in range(99)]  # fmt: skip
    base = [chance.integers(0, 20 * UNIT, size) for size in sizes]
    features = chance.random((50, int(ends[-1]))).astype(np.float32)
    weights = np.full(50, 1 / 50)
    scores = [
        rounds._scored([b + p for b, p in zip(base, part, strict=True)], ends, weights, features, 33.3, 1e5)
        for part in [*each, [0 * b for b in base]]
    ]
    alone = max(np.abs(score - scores[-1]).max() for score in scores)
    apart = max(np.abs(one - other).max() for one in scores for other in scores)
    assert alone <= UNIT
    assert UNIT < apart <= 2 * UNIT  # attained by the cross table, not by single counts
    single = [place for place, size in enumerate(sizes) if size == 1]
    assert max(np.abs(one - other)[single].max() for one in scores for other in scores) <= UNIT


@pytest.mark.parametrize("kind", [PureNoise, ConcentratedNoise])
def test_errors_of_a_workload_are_within_what_is_stated(kind):
    """Three hundred judgements of the same rows: misses at most one in ten, and no fewer than an honest bound has.

    At this amount noise hides less than the errors are; of smaller ones the bound is never missed.
    """
    question = asked(MIXED)
    real, made = (rows(400, np.random.default_rng(seed)) for seed in (1, 2))
    exact, own = ([goal.sums(Batch(held, question.schema)) for goal in question.goals] for held in (real, made))
    apart = [np.abs(a - b).sum() / UNIT / 400 for a, b in zip(exact, own, strict=True)]
    true, runs, beta, missed = np.array([np.mean(apart), max(apart)]), 300, 0.1, np.zeros(2)
    noise = moved(kind(Reach(1, both=True)), question.goals)
    for seed in range(runs):
        found = misfits(exact, own, 400, 400.0, noise, Fraction(1), seeded(seed))
        said = _workload(found, kind is ConcentratedNoise, 400.0, 0.0, beta)
        missed += np.array([part.most for part in said]) < true
    for count in missed:
        assert stats.binomtest(int(count), runs, beta, alternative="greater").pvalue > ALPHA
        assert count > 0.01 * runs


@given(st.floats(1.0, 1e7), st.fractions(Fraction(1, 10**4), 3), st.booleans())
@settings(max_examples=30, deadline=None)
def test_as_many_queries_are_planned_as_the_noise_allows(total, amount, pure):
    goals = asked(SINGLE).goals
    noise = moved((PureNoise if pure else ConcentratedNoise)(Reach(1, both=False)), goals)
    many = planned(noise, amount, goals, total)
    assert 8 <= many <= len(goals)
    assert many <= planned(noise, 2 * amount, goals, total)
    assert many <= planned(noise, amount, goals, 2 * total)


# rows


@pytest.mark.parametrize("known", [{}, {"adjacency": sf.Replace(), "size": 4000}])
@pytest.mark.parametrize("most", [8, 192])
def test_rows_answer_what_no_pair_of_columns_tells(known, most):
    """Shares that independent columns miss by an eighth: measured in rounds, or all at once."""
    held = rows(4000, np.random.default_rng(4))
    question = asked(SINGLE, **known)
    with patch.object(rounds, "MOST_MEASURED", most):
        made = WorkloadSynthesis.calibrate(question, sf.Concentrated(0.5)).release(view_of(held), seeded(5))
    errors = [
        abs(goal.sums(Batch(held, question.schema))[0] / 4000 - goal.sums(Batch(made.rows, question.schema))[0] / count)
        / UNIT for count in [len(made.rows["x"])] for goal in question.goals
    ]  # fmt: skip
    assert np.mean(errors) < 0.02
    assert max(errors) < 0.06  # without the workload 0.12
    assert made.judged["workload"]["mean"] < 200
    assert made.answered
    assert made.measured is not None


def test_weights_follow_the_answers_and_stay_near_the_rows_elsewhere():
    question = asked([sf.count().where("x >= 5"), sf.count().where("c == 'a'")])
    batch = Batch(rows(3000, np.random.default_rng(6)), question.schema)
    exact = [np.array([2400 * UNIT]), np.array([1500 * UNIT])]
    noise = moved(PureNoise(Reach(1, both=False)), question.goals)
    fitting = measured(question.goals, exact, batch, 3000.0, noise, Fraction(1), seeded(7))
    assert isinstance(fitting, Fitting)
    weights = fitting.weights(fitting.features(batch))
    assert weights @ (batch.columns["x"] >= 5) == pytest.approx(0.8, abs=0.02)
    assert weights @ (batch.columns["d"] == 1) == pytest.approx(0.5, abs=0.04)


FAR = {"x": sf.Integers(0, 99), "c": sf.Categories(["a", "b"]), "y": sf.Integers(0, 999, missing=0)}
ABOUT_FAR = [
    sf.count().where("x >= 85 and c == 'b'"),
    sf.count().where("not (x < 80 or c == 'a') and y < 50"),
    sf.histogram(sf.bins("x", 0, 40, 85, 99)),
    sf.share("y >= 600").by("c"),
    sf.mean("y").where("x > 90"),
]

FEW_FAR = [sf.count().where("x >= 85 and c == 'b'"), *(sf.count().where(f"y >= {low}") for low in range(50, 500, 25))]


def test_rows_that_the_model_lacks_are_invented_for_every_number_that_asks_for_them():
    """No row lies above 60: seeds do, change nothing else, keep the rules, and are the same for the same rows."""
    question = bind(sf.synthetic(workload=ABOUT_FAR, keep=["x < 95"]), sf.Schema(FAR, adjacency=sf.AddRemove()))
    chance = np.random.default_rng(1)
    held = {"x": chance.integers(0, 60, 900), "c": chance.integers(0, 2, 900), "y": chance.integers(0, 500, 900)}
    pool = Batch(held, question.schema)
    seeds = sown(question.goals, question.levels, question.rules, pool)
    counted = [(0, 0), (1, 0), (2, 2), (3, 0), (3, 2), (4, 0), (4, 1)]
    assert set(zip(seeds.goals.tolist(), seeds.numbers.tolist(), strict=True)) == set(counted)
    assert seeds.many == len(counted)
    assert (seeds.rows["x"] < 95).all()
    for goal, number in counted:
        chosen = (seeds.goals == goal) & (seeds.numbers == number)
        assert 1 <= chosen.sum() <= EACH
        some = Batch({name: column[chosen] for name, column in seeds.rows.items()}, question.schema)
        assert question.goals[goal].sums(some)[number] >= UNIT * chosen.sum() // 2
    bars = (seeds.goals == 2).nonzero()[0]
    assert set(seeds.rows["y"][bars]) <= set(held["y"])  # what is not asked about is as rows have it
    again = sown(question.goals, question.levels, question.rules, pool)
    assert all((again.rows[name] == column).all() for name, column in seeds.rows.items())
    assert not len(sown(asked(SINGLE).goals, asked(SINGLE).levels, asked(SINGLE).rules, some_rows()))


def some_rows():
    return Batch(rows(3000, np.random.default_rng(2)), asked(SINGLE).schema)


@pytest.mark.parametrize("most", [8, 192])
def test_a_query_about_rows_that_noise_hid_is_met(most):
    """A twelfth of the rows lies far from the others, where a column's counts miss it: measured, and then made."""
    question = bind(sf.synthetic(workload=FEW_FAR), sf.Schema(FAR, adjacency=sf.AddRemove()))
    chance = np.random.default_rng(3)
    held = {"x": chance.integers(0, 60, 3000), "c": chance.integers(0, 2, 3000), "y": chance.integers(0, 500, 3000)}
    held["x"][:250], held["c"][:250] = 90, 1
    mechanism = WorkloadSynthesis.calibrate(question, sf.Concentrated(0.02), Fraction(99, 100))
    with patch.object(rounds, "MOST_MEASURED", most):
        made = mechanism.release(view_of(held), seeded(4))
    share = question.goals[0].sums(Batch(made.rows, question.schema))[0] / UNIT / len(made.rows["x"])
    assert share == pytest.approx(1 / 12, abs=0.035)
    others = (made.rows["x"] < 60).mean()
    assert others == pytest.approx(11 / 12, abs=0.06)


# doors


def test_a_stored_table_knows_its_workload(tmp_path):
    chance = np.random.default_rng(8)
    held = rows(500, chance)
    frame = {"x": held["x"], "c": np.array(["a", "b"])[held["c"]], "d": np.array(["u", "v"])[held["d"]]}
    write_csv(pa.table(frame), tmp_path / "t.csv")
    table = sf.read(tmp_path / "t.csv", schema=KINDS)
    session = sf.Session(table, ledger=tmp_path / "ledger", budget=sf.Pure(10.0))
    seen = session.preview(sf.synthetic(workload=MIXED), spend=sf.Pure(2.0))
    assert re.search(r"(about \d+|all) of its 15 queries are measured", str(seen))
    made = session.synthesize(spend=sf.Pure(2.0), workload=MIXED)
    assert "queries of the workload by" in str(made.error())
    assert "the worst of them by" in str(made.error())
    made.save(tmp_path / "made.parquet")
    again = sf.load(tmp_path / "made.parquet")
    assert again.question == made.question
    assert again.mechanism == made.mechanism
    assert str(again.error()) == str(made.error())
    assert len(again.more(20)) == 20


def test_mistakes_are_refused_before_anything_is_charged():
    with pytest.raises(ParameterError, match="workload is empty"):
        sf.synthetic(workload=[])
    with pytest.raises(ParameterError, match=r"sf\.count"):
        sf.synthetic(workload=["x >= 3"])
    with pytest.raises(ParameterError, match="leave out good_for"):
        sf.synthetic(workload=SINGLE, good_for="smooth")
    with pytest.raises(UnsupportedQuery, match="ask the made table"):
        preview(sf.synthetic(workload=[sf.median("x")]), sf.Schema(KINDS), spend=sf.Pure(1.0))
    query = sf.synthetic(workload=MIXED)
    assert sf.Query.from_record(query.to_record()) == query
    assert "workload" not in sf.synthetic().to_record()
    assert preview(query, sf.Schema(KINDS), spend=sf.Pure(1.0)).mechanism == "workload-synthesis"
