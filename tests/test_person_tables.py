"""Synthetic tables of persons through the doors: sessions, files, plans, the command line, and what is free later."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest
from typer.testing import CliRunner

import sfumato as sf
from sfumato.cli.app import app
from sfumato.errors import ParameterError, UnsupportedQuery
from sfumato.orders import preview
from sfumato.plans import read_plan
from sfumato.queries import Query, bind

COLUMNS = {"sex": sf.Categories(["f", "m"]), "x": sf.Integers(0, 9), "shop": sf.Categories(["n", "s", "w"])}
SCHEMA = sf.Schema(COLUMNS, unit=sf.Person("id", 3), dataset="visits", size=300)
PLAN = """
format = "sfumato-plan/2"

[table]
path = "visits.csv"
unit = { column = "id", rows = 3 }
size = 300

[columns]
sex = { type = "categories", values = ["f", "m"] }
x = { type = "integers", low = 0, high = 9 }
shop = { type = "categories", values = ["n", "s", "w"] }

[budget]
epsilon = 9

[[release]]
query = "synthetic"
person = ["sex"]
rows = 50
spend = { epsilon = 2.0 }
"""


def visits() -> pa.Table:
    """Three hundred persons."""
    rng = np.random.default_rng(2)
    whose = np.repeat(np.arange(300), rng.integers(1, 4, 300))
    sexes, shops = np.array(["f", "m"]), np.array(["n", "s", "w"])
    return pa.table({
        "id": [f"u{i}" for i in whose], "sex": sexes[(whose * 7) % 2], "x": rng.integers(0, 10, len(whose)),
        "shop": shops[whose % 3],
    })  # fmt: skip


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Any:
    folder = tmp_path_factory.mktemp("persons")
    pyarrow.parquet.write_table(visits(), folder / "visits.parquet")
    table = sf.read(folder / "visits.parquet", schema=SCHEMA)
    session = sf.Session(table, budget=sf.Pure(40.0), ledger=folder / "visits.ledger")
    release = session.synthesize(person=["sex"], rows=400, spend=sf.Pure(40.0))
    assert session.release(sf.synthetic(rows=400, person=["sex"]), spend=sf.Pure(40.0)).rows == release.rows
    return release


def grouped(rows: pa.Table) -> dict[int, list[dict[str, Any]]]:
    found: dict[int, list[dict[str, Any]]] = {}
    for row in rows.to_pylist():
        found.setdefault(row["id"], []).append(row)
    return found


def test_rows_come_in_persons_who_share_what_is_theirs(made: Any) -> None:
    assert made.rows.column_names == ["id", *COLUMNS]
    assert len(made.rows) == 400
    persons = grouped(made.rows)
    assert max(len(rows) for rows in persons.values()) <= 3
    assert all(len({row["sex"] for row in rows}) == 1 for rows in persons.values())
    assert "persons counted once each" in str(made)


def test_sets_and_arrays_of_a_person_are_the_same_in_all_of_her_rows(tmp_path: Path) -> None:
    """Their parts are noisy, and what they are put together to where they differ is drawn once."""
    rng, whose = np.random.default_rng(2), np.repeat(np.arange(300), 3)
    sets = [[["a"], ["a", "b"], ["b", "c"], None][kind] for kind in rng.integers(0, 4, 300)]
    arrays = [[[1.0, 2.0], [3.0, 4.0], None][kind] for kind in rng.integers(0, 3, 300)]
    held = pa.table({"id": whose, "likes": [sets[i] for i in whose], "place": [arrays[i] for i in whose]})
    columns = {"likes": sf.Subsets(["a", "b", "c"], cap=2), "place": sf.Box(0, 5, shape=(2,))}
    schema = sf.Schema(columns, unit=sf.Person("id", 3), dataset="likes", size=300)
    session = sf.Session(sf.read(held, schema=schema), budget=sf.Pure(9), ledger=tmp_path / "a.ledger")
    table = session.synthesize(spend=sf.Pure(1), person=["likes", "place"])
    for rows in (table.rows, table.more(200)):
        seen: dict[str, set[int]] = {}
        for row in rows.to_pylist():
            seen.setdefault(str((row["likes"], row["place"])), set()).add(row["id"])
        assert sum(len(ids) for ids in seen.values()) == len(set(rows["id"].to_pylist()))


def test_what_is_free_afterwards_is_of_rows_and_more_of_them_are_whole_persons(made: Any) -> None:
    low, high = made.ask(sf.count()).interval()
    assert low < high
    more = made.more(100)
    assert len(more) == 100
    again = list(grouped(more).values())
    assert min(row["id"] for row in more.to_pylist()) > max(made.rows["id"].to_pylist())
    held = [[{**row, "id": 0} for row in rows] for rows in grouped(made.rows).values()]
    assert all([{**row, "id": 0} for row in rows] in held for rows in again[:-1])
    later = made.more(100, after=100)["id"].to_pylist()
    assert not {*later} & {*more["id"].to_pylist(), *made.rows["id"].to_pylist()}
    with pytest.raises(UnsupportedQuery, match="given= chooses single rows"):
        made.more(5, given="x > 3")


@pytest.mark.parametrize("kind", ["parquet", "csv"])
def test_a_stored_table_opens_again(made: Any, kind: str, tmp_path: Path) -> None:
    made.save(tmp_path / f"made.{kind}")
    if kind == "csv":
        assert pyarrow.csv.read_csv(tmp_path / "made.csv").column_names == ["id", *COLUMNS]
        return
    opened = sf.load(tmp_path / "made.parquet")
    assert opened.rows == made.rows
    assert opened.mechanism == made.mechanism
    assert opened.question.person == ("sex",)
    assert opened.method["repeats"].keys() == {"x", "shop"}


def test_a_plan_and_the_command_line_ask_the_same(tmp_path: Path) -> None:
    pyarrow.csv.write_csv(visits(), tmp_path / "visits.csv")
    plan = tmp_path / "visits.toml"
    plan.write_text(PLAN)
    assert read_plan(plan).releases[0].query == sf.synthetic(rows=50, person=["sex"], good_for="both")
    runner, out = CliRunner(), tmp_path / "made.parquet"
    asked = ["synthesize", str(plan), "--person", "sex", "--rows", "50", "--epsilon", "2", "--out", str(out)]
    assert runner.invoke(app, asked).exit_code == 0
    stored = sf.load(out)
    assert stored.rows.column_names == ["id", *COLUMNS]
    assert stored.question.person == ("sex",)


@pytest.mark.parametrize(
    ("asked", "schema", "said"),
    [
        ({"person": ["sex"]}, sf.Schema(COLUMNS), "persons are protected, and here rows are"),
        ({"person": ["age"]}, SCHEMA, "'age' is none of it"),
        ({"person": ["x"], "columns": ["sex", "shop"]}, SCHEMA, "'x' is none of it"),
        ({"person": [], "good_for": "smooth"}, SCHEMA, "are measured alone"),
        ({"person": [], "keep": ["x >= 1"]}, SCHEMA, "are kept by rows alone"),
    ],
)
def test_what_no_person_has_is_refused(asked: dict[str, Any], schema: sf.Schema, said: str) -> None:
    with pytest.raises(ParameterError, match=said):
        bind(sf.synthetic(**asked), schema)


def test_the_question_is_written_and_read_and_says_nothing_of_persons_by_default() -> None:
    plain, asked = sf.synthetic(rows=3), sf.synthetic(rows=3, person=["x", "sex", "x"])
    assert "person" not in plain.to_record()
    assert "person" not in bind(plain, SCHEMA).specification()
    assert Query.from_record(asked.to_record()) == asked == sf.synthetic(rows=3, person=["sex", "x"])
    assert bind(asked, SCHEMA).specification()["person"] == ["sex", "x"]


def test_a_preview_states_the_noise_with_and_without_persons() -> None:
    alone, together = (preview(sf.synthetic(person=person), SCHEMA, spend=sf.Pure(1.0)) for person in (None, []))
    assert alone.numbers["noise_of_persons"] == together.numbers["column_noise"]
    assert together.numbers["noise_of_rows"] == pytest.approx(alone.numbers["column_noise"])
    assert "this supposes 3 rows for every person" in str(alone)
    assert "without person= that noise would be" in str(together)
    single = sf.Schema(COLUMNS, unit=sf.Person("id", 1), size=300)
    assert "noise_of_persons" not in preview(sf.synthetic(), single, spend=sf.Pure(1.0)).numbers
