"""Questions asked of a synthetic table: the rows' own answers, scaled, with intervals that hold the real ones."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import sfumato as sf
from sfumato.errors import ParameterError, SchemaError, UnsupportedQuery
from sfumato.release import free_answers
from sfumato.release.free_answers import FreeAnswer, _ends

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


@pytest.mark.parametrize(
    ("query", "ends"),
    [
        (sf.mean("age"), (18.0, 90.0)),
        (sf.median("age"), (18.0, 90.0)),
        (sf.count(), (0.0, math.inf)),
        (sf.sum("age"), (-math.inf, math.inf)),
    ],
)
def test_no_interval_leaves_what_an_answer_can_be(query: Any, ends: tuple[float, float]) -> None:
    assert _ends(query, sf.Schema({"age": sf.Integers(18, 90)})) == ends
    wide = FreeAnswer("any", {}, np.array([50.0]), np.array([1e4]), 10.0, "many", *ends)
    assert wide.interval()[0] >= ends[0]
    assert wide.interval()[1] <= ends[1]
    assert wide.interval()[0] < 50.0 < wide.interval()[1]
