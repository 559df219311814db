"""Objects show their answer, error, cost and certificate: in a terminal, in a notebook, and as frames."""

from __future__ import annotations

import datetime
import re
import sys
from html.parser import HTMLParser

import numpy as np
import polars as pl
import pyarrow as pa
import pytest

import sfumato as sf
from sfumato.answers.frames import pandas_frame, polars_frame
from sfumato.cards import Card
from sfumato.errors import LedgerError, ParameterError, SfumatoError, UnsupportedQuery
from sfumato.plans import read_plan
from sfumato.report.answers import few

HOSTILE = "<script>alert(1)</script>"


class Balanced(HTMLParser):
    """The tags of a page, which must close what they open."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: set[str] = set()

    def handle_starttag(self, tag, attrs):
        self.open.append(tag)
        self.seen.add(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def page(thing: object) -> str:
    """What a notebook shows, well formed, without scripts."""
    found = thing._repr_html_()
    reader = Balanced()
    reader.feed(found)
    assert not reader.open
    assert reader.seen <= {"div", "strong", "table", "tr", "th", "td"}
    return found


@pytest.fixture(scope="module")
def session(tmp_path_factory):
    rng = np.random.default_rng(5)
    data = pa.table({
        "age": rng.integers(0, 90, 900),
        "sex": rng.choice(["F", "M"], 900),
        "born": [datetime.date(1990, 1, 1) + datetime.timedelta(int(days)) for days in rng.integers(0, 900, 900)],
    })  # fmt: skip
    schema = sf.Schema(
        {"age": sf.Integers(0, 100), "sex": sf.Categories(["F", "M"]), "born": sf.Dates("1990-01-01", "1993-01-01")},
        dataset="people", size=900,
    )  # fmt: skip
    ledger = tmp_path_factory.mktemp("shown") / "people.ledger"
    return sf.Session(sf.read(data, schema=schema), budget=50.0, ledger=ledger)


QUESTIONS = {
    "mean": sf.mean("age"),
    "counts": sf.count().by("sex"),
    "histogram": sf.histogram("age"),
    "median": sf.median("born"),
    "top": sf.most_popular("sex"),
    "density": sf.density("age", bandwidth=8.0),
}


@pytest.mark.parametrize("name", QUESTIONS)
def test_a_release_shows_its_answer_error_cost_and_certificate(session, name):
    release = session.release(QUESTIONS[name], spend=0.5, name=f"{HOSTILE} {name}")
    shown, omitted = few(release)
    assert len(shown.rows) + omitted == release.table().num_rows
    for text in (str(release), page(release)):
        for cell in shown.rows[0]:
            assert cell in text
        assert "epsilon = 0.5" in text
        assert release.accuracy() in text
        assert ("more" in text) == (omitted > 0)
    assert release.certificate.words() in str(release)
    for part in ("Pure(epsilon=0.5)", release.certificate.brief(), "answers" if len(shown.rows) > 1 else shown.single):
        assert part in repr(release)
    assert str(sf.load(release.save(session.ledger.path.parent / f"{name}.json"))) == str(release)


def test_a_cross_table_is_laid_out_with_its_margins(session):
    ages = sf.bins("age", 0, 18, 65, 100)
    crossed = session.release(sf.crosstab("sex", ages), spend=2.0)
    assert crossed.name == "sex by age"
    numbers = {(row["sex"], row["age"]): row["estimate"] for row in crossed.table().to_pylist()}
    assert len(numbers) == 3 * 4
    assert sum(numbers[sex, None] for sex in "FM") == pytest.approx(numbers[None, None])
    laid = crossed.pivot()
    assert laid.column_names == ["sex", "[0, 18)", "[18, 65)", "[65, 100]", "total"]
    assert laid["sex"].to_pylist() == ["F", "M", None]
    assert laid["total"].to_pylist() == [numbers[sex, None] for sex in ("F", "M", None)]
    low, high = (crossed.pivot(end)["total"].to_numpy() for end in ("low", "high"))
    assert (low < high).all()
    shown, omitted = few(crossed)
    assert (shown.headings, len(shown.rows), omitted) == (("sex", *laid.column_names[1:]), 3, 0)
    assert shown.rows[-1][0] == "total"
    assert re.fullmatch(r"[\d,]+ ± \d+", shown.rows[-1][-1])
    assert "12 answers" in repr(crossed)
    assert shown.rows[0][1] in page(crossed)
    assert session.release(sf.count().by("sex", ages), spend=0.5).pivot().shape == (2, 4)
    with pytest.raises(UnsupportedQuery, match="two keys or more"):
        session.release(QUESTIONS["mean"], spend=0.5, name="one").pivot()
    deep = session.release(sf.crosstab(["sex", ages, sf.bins("born", count=20)]), spend=2.0)
    assert few(deep)[0].headings[-1] == "95% interval"  # too many columns for one across
    assert deep.pivot()["age"].to_pylist()[:5] == ["[0, 18)", "[18, 65)", "[65, 100]", None, "[0, 18)"]


def test_one_number_is_a_float_and_others_say_that_they_are_none(session):
    one = session.release(QUESTIONS["mean"], spend=0.5, name="one")
    assert float(one) == one.value
    low, high = one.interval()
    assert f"{one.value:.2f} (95% interval {low:.2f} to {high:.2f})" in repr(one)
    for several in (QUESTIONS["counts"], QUESTIONS["median"]):
        with pytest.raises(UnsupportedQuery, match="not one number"):
            float(session.release(several, spend=0.5))


def test_a_table_of_rows_a_plan_a_session_and_a_ledger_show_themselves(session, tmp_path):
    made = session.synthesize(["age", "sex"], spend=1.0, rows=30, name="made")
    assert "… 20 more" in str(made)
    assert "30 rows" in repr(made)
    for thing in (
        session,
        session.releases,
        session.ledger,
        made,
        sf.Pure(0.5),
        session.preview(sf.count(), spend=0.1),
    ):
        assert page(thing)
    for text in (str(session), page(session), str(session.ledger), page(session.ledger)):
        assert "made" in text
        assert "epsilon 1" in text
        assert "adding or removing any one row" in text
    assert "Integers(low=0" in str(session._table)
    assert page(session._table)
    curve = session.release(QUESTIONS["density"], spend=0.5, name="curve").curve
    assert "density" in repr(curve)
    assert page(curve).count("<tr>") > 5


# frames


def test_frames_have_native_types_and_the_same_numbers(session):
    by = session.release(sf.mean("born").by("sex"), spend=2.0)
    level = {"level": 0.8, "joint": True}
    assert by.to_arrow(**level).equals(by.table(**level))
    assert by.to_pandas()["low"].dtype == "datetime64[ms]"
    assert by.to_polars()["low"].dtype == pl.Date
    assert by.to_polars(**level)["low"].to_list() == by.table(**level)["low"].to_pylist()


def test_gaps_leave_whole_numbers_whole():
    table = pa.table({"rooms": pa.array([3, None]), "full": pa.array([3, 4]), "open": pa.array([True, None])})
    assert [str(kind) for kind in pandas_frame(table).dtypes] == ["Int64", "int64", "boolean"]
    assert polars_frame(table).schema == {"rooms": pl.Int64, "full": pl.Int64, "open": pl.Boolean}


def test_without_polars_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "polars", None)
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(UnsupportedQuery, match=r"sfumato\[polars\]"):
        polars_frame(pa.table({"a": [1]}))


# forgiving input


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        (0.25, sf.Pure(0.25)),
        (1, sf.Pure(1.0)),
        (np.float64(0.5), sf.Pure(0.5)),
        ({"epsilon": 0.5}, sf.Pure(0.5)),
        ({"rho": 0.1}, sf.Concentrated(0.1)),
    ],
)
def test_a_number_is_the_epsilon_of_pure_privacy(session, given, meant):
    assert session.order(sf.count(), given).spend == meant
    assert session.order(sf.count(), given).identity == session.order(sf.count(), meant).identity


@pytest.mark.parametrize("given", [0, -1.0, float("nan"), True, "0.1", {"epsilon": 0.0}, {"eps": 1.0}, None, {}])
def test_other_spends_are_refused_before_any_charge(session, given):
    before = session.spent
    with pytest.raises(ParameterError):
        session.release(sf.count(), spend=given, name="refused")
    assert session.spent == before


def test_a_session_opens_from_a_plan_and_lists_what_is_stored(session, tmp_path):
    import pyarrow.parquet as pq

    pq.write_table(pa.table({"age": list(range(100))}), tmp_path / "people.parquet")
    text = """
format = "sfumato-plan/2"
[table]
path = "people.parquet"
unit = "row"
[columns.age]
type = "integers"
low = 0
high = 120
[budget]
epsilon = 2.0
[[release]]
query = "count"
name = "people"
spend = { epsilon = 0.5 }
"""
    (tmp_path / "people.toml").write_text(text)
    opened = sf.Session.from_plan(tmp_path / "people.toml")
    assert list(opened.releases) == []
    release = opened.release(sf.count(), spend=0.5, name="people")
    assert list(opened.releases) == ["people"]
    assert opened.releases["people"].to_bytes() == release.to_bytes()
    assert opened.spent == sf.Pure(0.5)
    assert "people" in opened.releases
    with pytest.raises(LedgerError, match="did you mean 'people'"):
        opened.releases["peple"]
    assert "people" in str(opened.releases)
    plan = read_plan(tmp_path / "people.toml")
    assert "Pure(epsilon=0.5)" in str(plan)
    assert "1 releases" in repr(plan)
    assert page(plan)


def test_cards_are_escaped_and_steer_no_terminal():
    card = Card(HOSTILE, {"fact": HOSTILE}, ("a", HOSTILE), (("\x1b[2J", HOSTILE),), (), 3)
    assert "<script>" not in card.html()
    assert "\x1b" not in card.html()
    assert "… 3 more" in str(card)


def test_a_laboratory_says_in_a_notebook_that_it_protects_nobody():
    table = sf.read(pa.table({"x": [1, 2]}), schema=sf.Schema({"x": sf.Integers(0, 3)}))
    release = sf.reference.lab(table, budget=1.0, seed=3).release(sf.count(), spend=0.5)
    for text in (repr(release), str(release), page(release)):
        assert "NOT PRIVATE" in text
    assert issubclass(UnsupportedQuery, SfumatoError)


def test_a_preview_says_where_a_declaration_would_help(tmp_path):
    """And is right about how much."""
    data = pa.table({"age": list(range(100)), "sex": ["F", "M"] * 50})

    def preview(question, **declared):
        columns = {"age": sf.Integers(0, 120, **declared), "sex": sf.Categories(["F", "M"], missing="F")}
        schema = sf.Schema(columns, adjacency=sf.Replace(), size=100, dataset=f"people{len(declared)}")
        name = tmp_path / f"{len(declared)}.ledger"
        return sf.Session(sf.read(data, schema=schema), budget=1.0, ledger=name).preview(question, spend=0.5)

    before, after = preview(sf.mean("age")), preview(sf.mean("age"), missing=0)
    assert "missing= declared for 'age'" in str(before)
    promised = float(before.hint.split("would be ")[1].split()[0])
    assert promised - 0.01 <= after.half_width / before.half_width <= promised
    assert before.to_record()["hint"] == before.hint
    assert after.hint is None
    assert preview(sf.count().by("sex")).hint is None


def test_questions_certificates_checks_and_divisions_show_themselves(session):
    """In words where they are printed, and escaped in a notebook."""
    question = sf.mean("age").by("sex").where("age >= 18")
    assert repr(question) == "Query('mean of age by sex where age >= 18')"
    release = session.release(sf.count(), spend=0.1, name="rows to format")
    assert f"{release:.1f}" == f"{float(release):.1f}"
    assert f"{release}" == str(release)
    assert str(release.certificate) == release.certificate.words()
    divided = session.divide([{"query": sf.count(), "name": "<one>"}, {"query": sf.mean("age"), "name": "two"}])
    assert "two: " in str(divided)
    shown = [thing._repr_html_() for thing in (release.certificate, divided)]
    assert all(text.startswith("<pre>") and text.endswith("</pre>") for text in shown)
    assert "&lt;one&gt;" in shown[1]
    assert "<one>" not in shown[1]
    assert "\n" in shown[1]
