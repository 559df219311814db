"""A first day with real tables: what is easily got wrong is read as it was meant, or refused in words, uncharged."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest

import sfumato as sf
from sfumato.errors import LedgerError, ParameterError, SchemaError, SfumatoError

ROWS = 600
COLUMNS = {
    "age": sf.Integers(0, 120),
    "sex": sf.Categories(["Male", "Female"]),
    "income": sf.Interval(0, 200_000),
    "member": sf.Categories([False, True]),
    "class": sf.Categories([1, 2, 3]),
}


@pytest.fixture(scope="module")
def frame():
    rng = np.random.default_rng(4)
    return pd.DataFrame(
        {
            "age": rng.integers(0, 90, ROWS),
            "sex": rng.choice(["Male", "Female"], ROWS),
            "income": rng.gamma(2, 20_000, ROWS).round(2),
            "member": rng.random(ROWS) < 0.5,
            "class": rng.choice([1.0, 2.0, 3.0, np.nan], ROWS),
        }
    )


@pytest.fixture(scope="module")
def session(frame, tmp_path_factory):
    table = sf.read(frame, schema=COLUMNS, dataset="first", size=ROWS)
    return sf.Session(table, budget=sf.Approximate(90.0, 1e-4), ledger=tmp_path_factory.mktemp("first") / "ledger")


def test_a_wrong_number_of_rows_is_refused_where_it_is_public(frame):
    with pytest.raises(SchemaError, match="600 rows"):
        sf.read(frame, schema=COLUMNS, dataset="first", adjacency="replace", size=500)


def test_whole_numbers_with_gaps_are_labels_in_files_and_frames(frame, tmp_path):
    frame.to_csv(tmp_path / "first.csv", index=False)  # pandas writes 3.0
    for source in (tmp_path / "first.csv", frame, pl.from_pandas(frame).lazy()):
        table = sf.read(source, schema={"class": COLUMNS["class"]}, dataset="first")
        counts = sf.Session(table, budget=50.0, ledger=tmp_path / f"{type(source).__name__}.ledger").release(
            sf.count().by("class"), spend=50.0
        )
        assert np.allclose(counts.value, frame["class"].value_counts().sort_index(), atol=2)


def test_the_steward_sees_what_spelling_and_bounds_lose(frame):
    declared = {"sex": sf.Categories(["M", "F"]), "age": sf.Integers(0, 50)}
    sex, age = sf.check(sf.read(frame, schema=declared, dataset="first")).columns
    assert sex.unknown == ROWS
    assert age.above == (frame["age"] > 50).sum()


def test_more_columns_and_another_guess_of_the_size_leave_stored_releases_as_they_are(frame, session):
    first = session.release(sf.count(), spend=1.0, name="rows")
    spent = session.spent
    table = sf.read(frame, schema={**COLUMNS, "age": sf.Integers(0, 100)}, dataset="first", size=700)
    again = sf.Session(table, budget=sf.Approximate(90.0, 1e-4), ledger=session.ledger.path)
    assert again.release(sf.count(), spend=1.0, name="rows").value == first.value
    assert again.spent == spent
    with pytest.raises(LedgerError, match=r"query was .*count.*now .*mean"):
        session.release(sf.mean("age"), spend=1.0, name="rows")


def test_a_new_ledger_is_announced(session, frame):
    assert "is new" in session.notice
    table = sf.read(frame, schema=COLUMNS, dataset="first")
    assert sf.Session(table, budget=sf.Approximate(90.0, 1e-4), ledger=session.ledger.path).notice is None


def test_truth_values_lists_and_conditions_of_sql_are_read(session):
    for question in [
        sf.share("member = TRUE"),
        sf.mean("age").by(["sex", "member"]),
        sf.count().by(sf.bins("age", [0, 18, 65, 120])),
        sf.density(["age"], bandwidth=20),
        sf.count().where("age = 40 AND sex <> 'Male' OR age in (6, 7, 8)"),
        sf.count().where("income is not null & not member == false"),
    ]:
        assert session.preview(question, spend=0.1).fits


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        (lambda s: s.preview(sf.count().where("sex == 'male'"), spend=1.0), "did you mean 'Male'"),
        (lambda s: s.preview(sf.count().by(sf.bins("age", [18, 30])), spend=1.0), "must cover"),
        (lambda s: s.preview(sf.mean("agee"), spend=1.0), "did you mean 'age'"),
        (lambda s: s.release("mean age", spend=1.0), "must be a question"),
        (lambda s: s.release(sf.mean("age")), "give spend="),
        (lambda s: s.release(sf.mean("age"), spend="1"), "spend must be"),
        (lambda s: sf.Interval("0", "10"), "finite number"),
        (lambda s: float(s.release(sf.histogram("sex"), spend=0.1)), "not one number"),
    ],
)
def test_what_is_wrong_is_said(wrong, words, session):
    with pytest.raises(SfumatoError, match=words):
        wrong(session)


def test_no_interval_leaves_out_its_own_estimate(session):
    release = session.release(sf.histogram("age"), spend=0.05)
    low, high = release.interval()
    assert release.value.min() < 0
    assert (low <= release.value).all()
    assert (release.value <= high).all()


def test_a_preview_says_where_a_declaration_would_help(frame, tmp_path):
    table = sf.read(frame, schema=COLUMNS, dataset="first", adjacency="replace", size=ROWS)
    preview = sf.Session(table, budget=1.0, ledger=tmp_path / "ledger").preview(sf.mean("income"), spend=1.0)
    assert "missing=" in preview.hint


def test_devices_report_labels(session):
    teams = sf.local.collect("team", ["Sales", "Research"], spend=20.0, people=50)
    sent = [sf.local.Client(teams).report("Sales") for _ in range(50)]
    assert sf.local.estimate(teams, sent).values[0] > 0.9
    with pytest.raises(ParameterError):
        sf.local.Client(teams).report("sales")


@pytest.mark.heavy
def test_large_workloads_are_planned(tmp_path):
    """All ranges of 1,561 values, and the tables of every pair of four columns with a delta that none needs."""
    delays = sf.read(pd.DataFrame({"delay": [0]}), schema={"delay": sf.Integers(-60, 1500)}, dataset="delays")
    session = sf.Session(delays, budget=1.0, ledger=tmp_path / "delays.ledger")
    assert session.preview(sf.ranges("delay"), spend=1.0).half_width < 100
    columns = {"month": sf.Integers(1, 12), "hour": sf.Integers(0, 23), "carrier": sf.Integers(1, 14)}
    flights = sf.read(
        pd.DataFrame({"month": [1], "hour": [1], "carrier": [1], "origin": ["a"]}),
        schema={**columns, "origin": sf.Categories(["a", "b", "c"])},
        dataset="flights",
    )
    session = sf.Session(flights, budget=sf.Approximate(1.0, 1e-6), ledger=tmp_path / "flights.ledger")
    pairs = sf.marginals(["month", "hour", "carrier", "origin"], k=2)
    assert session.preview(pairs, spend=sf.Approximate(1.0, 1e-6)).half_width < 50
