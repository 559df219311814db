"""Questions asked of a synthetic table: the rows' own answers, scaled, with intervals that hold the real ones."""

from __future__ import annotations

import datetime
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import sfumato as sf
from sfumato.errors import ParameterError, SchemaError, UnsupportedQuery
from sfumato.queries import bind
from sfumato.queries.goals import UNIT, Batch
from sfumato.release import free_answers
from sfumato.release.free_answers import FreeAnswer, _ends
from sfumato.release.prediction import worst
from sfumato.release.workload import TOLD

N = 3000
SPACES: dict[str, Any] = {
    "age": sf.Integers(0, 99, missing=40), "pay": sf.Interval(0, 100, step=0.5), "sex": sf.Categories(["f", "m"]),
}  # fmt: skip


@pytest.fixture(scope="module")
def frame() -> pd.DataFrame:
    rng = np.random.default_rng(7)
    sex = rng.choice(["f", "m"], N, p=[0.4, 0.6])
    age = np.clip(rng.normal(45, 15, N).round(), 0, 99)
    pay = np.clip(20 + 0.5 * age + 10 * (sex == "m") + rng.normal(0, 8, N), 0, 100)
    return pd.DataFrame({"age": age, "pay": pay, "sex": sex})


@pytest.fixture(scope="module")
def made(frame: pd.DataFrame, tmp_path_factory: pytest.TempPathFactory) -> Any:
    derived = {"late": ("age - 60", sf.Interval(0, 40, step=1))}
    table = sf.read(frame, schema=sf.Schema(SPACES, dataset="people", derived=derived))
    place = tmp_path_factory.mktemp("asked") / "people.ledger"
    return sf.Session(table, budget=sf.Concentrated(1.0), ledger=place).synthesize(spend=sf.Concentrated(1.0))


@pytest.fixture(scope="module")
def means(made: Any) -> Any:
    return made.ask(sf.mean("pay").by("sex"))


def test_numbers_by_groups_and_conditions_lie_in_their_intervals(made: Any, means: Any, frame: pd.DataFrame) -> None:
    """At 99.99 % of Student's t each, the real answers lie inside; and intervals are no wider than they need to be."""
    real = frame.groupby("sex")["pay"].mean()
    low, high = means.interval(0.9999)
    for place, key in enumerate(means.keys["sex"]):
        assert low[place] < real[key] < high[place]
        assert high[place] - low[place] < 20
    older = made.ask(sf.count().where("age > 60"))
    low, high = older.interval(0.9999)
    assert low < (frame["age"] > 60).sum() < high
    assert high - low < N / 2
    assert 0 < made.method["total_error"] < N / 10


def test_a_quantile_that_all_samples_agree_on_is_as_sure_beside_others_as_alone(
    frame: pd.DataFrame, tmp_path: Path
) -> None:
    """Four in five are zero: so is the median, however far the upper tail scatters."""
    paid = frame.assign(pay=frame["pay"].where(np.arange(N) % 5 == 0, 0.0))
    table = sf.read(paid, schema=sf.Schema(SPACES, dataset="paid"))
    spend = sf.Approximate(2.0, 1e-6)
    made = sf.Session(table, budget=spend, ledger=tmp_path / "paid.ledger").synthesize(["pay", "sex"], spend=spend)
    alone, beside = made.ask(sf.median("pay")), made.ask(sf.quantiles("pay", [0.5, 0.97]))
    assert [end[0] for end in beside.interval()] == [end[0] for end in alone.interval()]
    low, high = beside.interval(0.9999)
    assert low[1] < paid["pay"].quantile(0.97) < high[1]


def test_the_share_of_a_small_group_is_less_sure_than_that_of_all(made: Any) -> None:
    """What columns are off by in all rows says little of the share of a group, which may be all of these."""
    low, high = made.ask(sf.share("sex == 'f'").where("age >= 80")).interval()
    assert high - low > 3 * made.errors().within(("age", "sex"))


def test_an_answer_is_that_of_the_rows_scaled_to_the_table(made: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(free_answers, "SAMPLES", 2)
    rows = made.to_pandas()
    found = made.ask(sf.mean("pay").where("sex == 'f'"))
    assert found.value == pytest.approx(rows[rows["sex"] == "f"]["pay"].mean(), abs=0.01)
    counted = made.ask(sf.count().by("sex"))
    assert sum(counted.value) == pytest.approx(made.method["total"], abs=1)
    assert made.ask(sf.mean("late")).value > 0  # a column that is computed from others


@pytest.mark.heavy
def test_rows_that_noise_has_hidden_are_in_the_interval(tmp_path: Path) -> None:
    """The far end of a column is not among the made rows: nothing is certain of it, and nothing is below zero."""
    chance = np.random.default_rng(1)
    ages = np.clip(chance.gamma(6, 6.5, 5000), 17, 90).astype(int)
    frame = pd.DataFrame({"age": ages, "sex": chance.choice(["f", "m"], 5000)})
    schema = sf.Schema({"age": sf.Integers(17, 90, missing=40), "sex": sf.Categories(["f", "m"])}, dataset="p")
    session = sf.Session(sf.read(frame, schema=schema), budget=sf.Pure(0.2), ledger=tmp_path / "l")
    table = session.synthesize(spend=sf.Pure(0.2))
    top = int(table.to_pandas()["age"].max())
    assert top < ages.max()
    assert f"age above {top} (declared to 90)" in table.advice()["no rows"]
    for least in (top + 1, top - 3):
        for query, real in ((sf.count(), (ages >= least).sum()), (sf.share("age >= 88"), (ages >= 88).mean())):
            asked = query.where(f"age >= {least}") if query.kind == "count" else query
            low, high = table.ask(asked).interval()
            assert 0 <= low <= real <= high
            assert high - low > 0
    whole, found = table.ask(sf.count()).value, table.ask(sf.count().where("age > 40")).interval(0.95)
    assert found[1] - found[0] <= 2.01 * (table.errors().within(("age",)) * whole + 4 * table.method["total_error"])


def test_it_shows_what_it_is(made: Any, means: Any) -> None:
    text = str(means)
    assert "not proven" in text
    assert "random sample of about" in text
    table = means.to_pandas()
    assert list(table.columns) == ["sex", "estimate", "low", "high"]
    assert (table["low"] <= table["estimate"]).all()
    narrow, wide = (means.interval(level)[1][0] - means.interval(level)[0][0] for level in (0.5, 0.99))
    assert narrow < wide


def test_refusals_say_what_to_do(made: Any, means: Any) -> None:
    with pytest.raises(ParameterError, match="query must be"):
        made.ask("mean of pay")
    with pytest.raises(SchemaError, match="no column 'pays'"):
        made.ask(sf.mean("pays"))
    with pytest.raises(ParameterError, match="level"):
        means.interval(1.0)
    with pytest.raises(UnsupportedQuery, match="one by one"):
        means.table(joint=True)


@pytest.mark.parametrize(("total", "off"), [(1e12, 0.0), (1.0, 1e9)])
def test_no_more_rows_are_held_than_fit(made: Any, total: float, off: float) -> None:
    with pytest.raises(UnsupportedQuery, match=r"at most 10,000,000; compute the answer from the rows"):
        free_answers.asked(sf.count(), made.rows, made.question.rules, made.errors(), total, off)


@pytest.mark.parametrize(("rows", "total", "off"), [(1, 1.0, 90.0), (9, 2000.0, 0.0), (2000, 100.0, 60.0)])
def test_of_too_few_rows_no_interval_is_given(made: Any, rows: int, total: float, off: float) -> None:
    """Samples of one row are all that row: its interval would have no width."""
    with pytest.raises(UnsupportedQuery, match="too few to say how far"):
        free_answers.asked(sf.mean("pay"), made.rows.slice(0, rows), made.question.rules, made.errors(), total, off)


def test_a_table_for_smooth_queries_alone_says_why_it_predicts_no_errors(tmp_path: Path) -> None:
    numbers = {name: np.arange(60) % 10 for name in "abc"}
    schema = sf.Schema(dict.fromkeys("abc", sf.Integers(0, 9)), adjacency=sf.Replace(), size=60)
    session = sf.Session(sf.read(pd.DataFrame(numbers), schema=schema), budget=sf.Pure(1.0), ledger=tmp_path / "x")
    smooth = session.synthesize(spend=sf.Pure(1.0), good_for="smooth")
    with pytest.raises(UnsupportedQuery, match=r"made for smooth queries alone.*good_for='marginals'"):
        smooth.ask(sf.mean("a"))


def test_a_table_of_an_earlier_version_has_no_errors_to_build_on() -> None:
    old = sf.load(Path(__file__).parent / "fixtures" / "v0_2_0" / "tables" / "synthetic.parquet")
    assert "not stated" in old.accuracy()
    for asking in (old.errors, lambda: old.ask(sf.count())):
        with pytest.raises(UnsupportedQuery, match="were not measured"):
            asking()


def test_groups_that_the_rows_do_not_have_are_the_least_known(tmp_path: Path) -> None:
    """Of 60 rows, with next to no noise: a job that nobody has is not said to be known."""
    rng = np.random.default_rng(3)
    held = pd.DataFrame({"job": rng.choice(["a", "b", "c"], 60, p=[0.9, 0.08, 0.02]), "pay": rng.uniform(0, 100, 60)})
    spaces = {"job": sf.Categories(["a", "b", "c", "d"]), "pay": SPACES["pay"]}
    session = sf.Session(sf.read(held, schema=sf.Schema(spaces)), budget=sf.Pure(50.0), ledger=tmp_path / "x.ledger")
    low, high = session.synthesize(spend=sf.Pure(50.0)).ask(sf.mean("pay").by("job")).interval()
    widths = np.subtract(high, low)
    assert widths.min() > 0
    assert widths[0] <= widths[3] * (1 + 1e-9)


def test_of_a_group_that_nobody_may_be_in_all_that_an_answer_can_be_is_its_interval(tmp_path: Path) -> None:
    """Ten of 4000 hold a job that next to no row has: its mean was said to lie in the middle of the bounds."""
    rng = np.random.default_rng(4)
    job = np.array(["rare"] * 10 + ["usual"] * 3990)
    pay = np.where(job == "rare", rng.uniform(0, 2, 4000), rng.uniform(40, 60, 4000)).round(1)
    spaces = {"job": sf.Categories(["rare", "usual", "none"]), "pay": sf.Interval(0, 100, step=0.1)}
    schema = sf.Schema(spaces, dataset="jobs", size=4000)
    table = sf.read(pd.DataFrame({"job": job, "pay": pay}), schema=schema)
    made = sf.Session(table, budget=sf.Pure(0.2), ledger=tmp_path / "l").synthesize(spend=sf.Pure(0.2))
    for query, whole in ((sf.mean, (0.0, 100.0)), (sf.variance, (0.0, 2500.0)), (sf.median, (0.0, 100.0))):
        low, high = made.ask(query("pay").by("job")).interval()
        assert (low[2], high[2]) == whole
        assert (low[0], high[0]) == whole
        assert high[1] - low[1] < whole[1] / 4
    assert made.ask(sf.mean("pay").where("job == 'none'")).interval() == (0.0, 100.0)
    low, high = made.ask(sf.mean("pay").where("job == 'usual'")).interval()
    assert low < pay[10:].mean() < high
    assert high - low < 25


def test_of_a_column_that_hardly_any_row_has_all_that_an_answer_can_be_is_its_interval(tmp_path: Path) -> None:
    """Five of 4000 have a bonus, and so have some made rows, by noise: its mean was said to lie about theirs."""
    rng = np.random.default_rng(4)
    bonus = [1.0] * 5 + [None] * 3995
    table = pd.DataFrame({"bonus": bonus, "pay": [*rng.uniform(40, 60, 3900).round(1), *[None] * 100]})
    spaces = {name: sf.Interval(0, 100, step=0.1) for name in table}
    schema = sf.Schema(spaces, dataset="bonuses", size=4000)
    read = sf.read(table, schema=schema)
    made = sf.Session(read, budget=sf.Pure(2.0), ledger=tmp_path / "l").synthesize(spend=sf.Pure(2.0))
    assert 0 < len(made.rows) - made.rows["bonus"].null_count < 100
    for query in (sf.mean, sf.median):
        nothing = made.ask(query("bonus"))
        assert tuple(np.ravel(nothing.interval())) == (0.0, 100.0)
        assert np.ravel(nothing.value).tolist() == [None], (
            "a number beside the whole range would be taken for an answer"
        )
        assert nothing.table()["no_answer"].to_pylist() == [True]
        assert "no answer" in str(nothing)
        low, high = np.ravel(made.ask(query("pay")).interval())
        assert high - low < 25


def test_answers_that_all_stray_to_one_side_have_room_for_that() -> None:
    """A spread that a few large values make is next to nothing in most smaller samples: that scatters little."""
    assert free_answers._scatter([np.array([1.0])] * 10, np.array([5.0])) == [4.0]
    assert free_answers._scatter([np.array([4.0]), np.array([6.0])], np.array([5.0])) == [math.sqrt(2)]


@pytest.mark.parametrize(
    ("query", "ends"),
    [
        (sf.mean("age"), (18.0, 90.0)),
        (sf.median("age"), (18.0, 90.0)),
        (sf.count(), (0.0, math.inf)),
        (sf.items("likes"), (0.0, math.inf)),
        (sf.crosstab(sf.bins("age", 18, 40, 90), sf.bins("debt", -90, -9, 0)), (0.0, math.inf)),
        (sf.workload(sf.bins("age", 18, 40, 90), [[1, -1]]), (-math.inf, math.inf)),
        (sf.sum("age"), (0.0, math.inf)),
        (sf.sum("debt"), (-math.inf, 0.0)),
        (sf.sum("change"), (-math.inf, math.inf)),
        (sf.std("age"), (0.0, 36.0)),
        (sf.variance("age"), (0.0, 1296.0)),
        (sf.correlation("age", "debt"), (-1.0, 1.0)),
    ],
)
def test_no_interval_leaves_what_an_answer_can_be(query: Any, ends: tuple[float, float]) -> None:
    numbers = {"age": sf.Integers(18, 90), "debt": sf.Integers(-90, 0), "change": sf.Integers(-9, 9)}
    assert _ends(query, sf.Schema({**numbers, "likes": sf.Subsets(["a", "b"], cap=1)})) == ends
    inside = next(middle for middle in (50.0, 20.0, -0.5) if ends[0] < middle < ends[1])
    wide = FreeAnswer("any", {}, np.array([inside]), np.array([1e4]), 10.0, "many", *ends)
    assert wide.interval()[0] >= ends[0]
    assert wide.interval()[1] <= ends[1]
    assert wide.interval()[0] < inside < wide.interval()[1]


@pytest.mark.parametrize("spend", [sf.Pure(1.0), sf.Approximate(1.0, 1e-6)], ids=["pure", "approximate"])
def test_values_that_noise_has_hidden_are_in_the_intervals_of_means_and_spreads(tmp_path: Path, spend: Any) -> None:
    """Incomes with a long tail: the largest are no made rows, and no sample of these tells of them."""
    chance, size = np.random.default_rng(5), 5000
    age = chance.integers(18, 90, size)
    pay = np.where(chance.random(size) < 0.35, 0, np.exp(chance.normal(9.5 + age / 80, 0.8, size))).round()
    schema = sf.Schema({"age": sf.Integers(0, 120), "pay": sf.Interval(0, 1e6, step=1)}, dataset="p", size=size)
    table = sf.read(pd.DataFrame({"age": age, "pay": pay}), schema=schema)
    made = sf.Session(table, budget=spend, ledger=tmp_path / "l").synthesize(spend=spend)
    assert made.to_pandas()["pay"].max() < pay.max()
    for query, real in ((sf.mean("pay"), pay.mean()), (sf.std("pay"), pay.std()), (sf.variance("pay"), pay.var())):
        low, high = made.ask(query).interval()
        assert 0 <= low <= real <= high
    low, high = made.ask(sf.std("age")).interval()  # whose values leave little room
    assert high - low < 20
    assert low <= age.std() <= high


def test_dates_and_times_are_answered_as_dates_and_times(tmp_path: Path) -> None:
    """As a session answers them, in every form of the answer; ends of an extent lie within the declared bounds."""
    chance = np.random.default_rng(3)
    days = pd.Timestamp("2021-03-01") + pd.to_timedelta(chance.integers(0, 100, N), unit="D")
    waits = pd.to_timedelta(chance.integers(10, 50, N), unit="min")
    pay = chance.integers(0, 40, N)
    frame = pd.DataFrame({"day": days, "wait": waits, "sex": chance.choice(["f", "m"], N), "pay": pay})
    spaces: dict[str, Any] = {
        "day": sf.Dates("2021-01-01", "2021-12-31"), "wait": sf.Duration(0, 60, unit="minutes", step=1),
        "sex": sf.Categories(["f", "m"]), "pay": sf.Integers(0, 100),
    }  # fmt: skip
    table = sf.read(frame, schema=sf.Schema(spaces, dataset="visits"))
    made = sf.Session(table, budget=sf.Pure(3), ledger=tmp_path / "l").synthesize(spend=sf.Pure(3))
    found = made.ask(sf.mean("day"))
    low, high = found.interval()
    assert datetime.date(2021, 1, 1) <= low <= found.value <= high <= datetime.date(2021, 12, 31)
    assert str(found.value) in str(found)
    assert found.to_arrow()["estimate"].to_pylist() == [found.value]
    grouped = made.ask(sf.median("wait").by("sex"))
    assert all(datetime.timedelta(minutes=10) <= one <= datetime.timedelta(minutes=50) for one in grouped.value)
    assert all(isinstance(end, datetime.timedelta) for ends in grouped.interval() for end in ends)
    assert isinstance(made.ask(sf.variance("day")).value, float)
    least, most = made.ask(sf.extent("pay")).interval()
    assert min(least) >= 0
    assert max(most) <= 100


BOTH = "age >= 40 and pay <= 55 and sex == 'f'"
CELLS = sf.crosstab("sex", sf.bins("age", 0, 40, 60, 99))
WORKLOAD = [
    *(sf.count().where(f"age >= {age} and pay <= {pay} and sex == '{sex}'")
      for age in (30, 40, 50) for pay in (40, 55) for sex in "fm"),
    CELLS, sf.mean("pay").by("sex"), sf.sum("pay").where("age >= 60"), sf.share("pay >= 50"),
]  # fmt: skip
SPENDS = [sf.Pure(4.0), sf.Approximate(4.0, 1e-6)]


@pytest.fixture(scope="module", params=SPENDS, ids=["pure", "approximate"])
def worked(request: Any, frame: pd.DataFrame, tmp_path_factory: pytest.TempPathFactory) -> Any:
    place = tmp_path_factory.mktemp("worked") / "people.ledger"
    table = sf.read(frame, schema=sf.Schema(SPACES, dataset="people"))
    return sf.Session(table, budget=request.param, ledger=place).synthesize(spend=request.param, workload=WORKLOAD)


def told(made: Any, **workload: Any) -> Any:
    """The same table, had its workload been judged so, and nothing measured."""
    judged = {**made.method["judged"], "workload": {**made.method["judged"]["workload"], **workload}}
    return replace(made, method={**made.method, "judged": judged, "answered": [], "total_error": 0.5})


def wide(interval: tuple[Any, Any]) -> Any:
    return np.subtract(interval[1], interval[0])


def test_a_query_of_the_workload_is_no_farther_off_than_is_stated_of_the_worst(
    worked: Any, frame: pd.DataFrame
) -> None:
    """At every level, and the answer stays that of the rows; the real ones lie inside (missed once in 10^8)."""
    for query in WORKLOAD[:4]:
        found = worked.ask(query)
        before = replace(found, within=None)
        for level in (0.3, 0.5, 0.95, 1 - 1e-8):
            low, high = found.interval(level)
            assert high - low <= 2 * worst(worked.method, 1 - level) + 2  # rows: the answer itself is of whole ones
            assert before.interval(level)[0] <= low <= found.value <= high <= before.interval(level)[1]
        assert low <= len(frame.query(query.name.split(" where ")[1])) <= high
    near = told(worked, worst=10.0, mean=2.0, scale=1.0)
    found = near.ask(sf.count().where(BOTH))
    assert found.value == worked.ask(sf.count().where(BOTH)).value
    assert 20 < wide(found.interval()) < 40 < wide(replace(found, within=None).interval())
    assert "a query that the table was made for" in str(found)
    assert near.error().besides[-2].most * near.method["total"] == pytest.approx(worst(near.method, 0.05))


def test_queries_of_the_workload_are_known_in_other_words_and_others_are_not(
    worked: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(free_answers, "SAMPLES", 3)
    near = told(worked, worst=10.0, mean=2.0, scale=1.0)
    found, counted = near.ask(CELLS), near.ask(sf.count().by(*CELLS.keys))
    assert (wide(found.interval()) <= wide(replace(found, within=None).interval())).all()
    assert found.within(0.95)[:6] == pytest.approx(counted.within(0.95), abs=0.1)
    assert (found.within(0.95) <= worst(near.method, 0.05) + 2).all()  # margins, too: sums of cells
    assert near.ask(sf.count().where("age > 39 and pay <= 55 and sex == 'f'")).within is not None
    for query in WORKLOAD[-3:]:
        found = near.ask(query)
        assert np.all(wide(found.interval()) < wide(replace(found, within=None).interval()))
    others = (CELLS.where("age >= 50"), sf.count().where("age >= 41"), sf.count().by("sex"), sf.sum("pay").by("sex"))
    for other in (*others, sf.mean("age").by("sex"), sf.share("pay >= 51"), sf.median("pay")):
        assert near.ask(other).within is None


def test_measured_answers_count_where_they_say_more_than_the_worst(worked: Any) -> None:
    """What is known of a measured one is its own noise, and how far the rows lie from the noisy answer."""
    far, rows = told(worked, worst=500.0, mean=100.0), worked.to_pandas()
    share = float(((rows["age"] >= 40) & (rows["pay"] <= 55) & (rows["sex"] == "f")).mean())
    place = [query.name for query in WORKLOAD].index(sf.count().where(BOTH).name)
    first = {"query": place, "shares": [share], "scale": 3.0}
    both = [{**first, "shares": [0.9], "scale": 30.0}, first]  # the less noisy one counts
    own = replace(far, method={**far.method, "answered": both}).ask(sf.count().where(BOTH))
    least = 3.0 * (1.96 if "tables" in far.method["judged"] else math.log(20))
    assert least - 0.01 < own.within(0.95)[0] < least + 2
    silent = far.ask(sf.count().where(BOTH)).within(0.95)[0]
    assert silent == pytest.approx(worst(far.method, 0.05), abs=2)
    assert silent >= 500


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize(
    "query",
    [
        sf.count().where("x <= 3"),
        sf.histogram("c", "x"),
        sf.crosstab("c", sf.bins("x", -8, -4, 0, 5)),
        sf.sum("x").by("c"),
        sf.mean("x").by("c"),
        sf.mean("x"),
        sf.share("x >= 2").by("c"),
        sf.share("x >= 2"),
    ],
    ids=lambda query: query.name,
)
def test_rows_that_numbers_are_off_by_are_told_in_the_unit_of_the_question(query: Any, seed: int) -> None:
    """Two random tables: their answers differ by no more than their numbers allow, and hardly ever by far less."""
    chance = np.random.default_rng(seed)
    schema = sf.Schema({"x": sf.Interval(-8, 5, step=0.25), "c": sf.Categories(["a", "b", "c"])})
    (goal,), tables = bind(sf.synthetic(workload=[query]), schema).goals, []
    for size in (500, 400):
        x = np.where(chance.random(size) < 0.1, -1, chance.binomial(52, chance.uniform(0.3, 0.7), size))
        tables.append(Batch({"x": x, "c": chance.integers(-1, 3, size)}, schema))
    real, made = (goal.sums(batch).reshape(goal.cells.count, -1) / UNIT for batch in tables)
    (exact, _, own), (said, slope, rounded) = (TOLD[query.kind](query, schema, one) for one in (real, made))
    off, apart = np.abs(exact - said), np.abs(real - made).sum(axis=1)
    apart = apart if len(apart) == len(off) else np.full(len(off), apart.sum())  # margins are sums of cells
    assert (off <= slope * apart + rounded + own + 1e-9).all()
    levels, groups = tables[1].columns["x"], tables[1].columns["c"]
    if query.kind in ("sum", "mean"):  # the unit itself
        first = levels[(levels >= 0) & ((groups == 0) | (not query.keys))] * 0.25 - 8
        assert said[0] == pytest.approx(getattr(first, query.kind)(), abs=rounded[0])


def test_numbers_of_rows_are_shown_whole_and_keys_are_not() -> None:
    """The number itself is as it was."""
    found = FreeAnswer("any", {"pay": [2.5]}, np.array([1363.36]), np.array([1.0]), 10.0, "many", whole=True)
    assert found.shown()[0][:2] == ("2.5", "1,363")
    assert found.to_arrow()["estimate"].to_pylist() == [1363.36]
    assert replace(found, whole=False).shown()[0][1] == "1,363.36"
