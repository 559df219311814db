"""The steward's look: the counts of plain Python, through every source, marked as secret and free."""

import datetime
import json
import math
import random
from collections import Counter
from pathlib import Path

import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import sfumato as sf
from sfumato.engines.backends import quiet
from sfumato.errors import EngineError
from sfumato.spaces.schema import Schema
from thinned import thinned

COLUMNS = {
    "age": sf.Interval(0, 100, 1, na=[999], missing=3),
    "n": sf.Integers(-5, 5),
    "state": sf.Categories(["CA", "NY", "TX"], other="else", missing="none", na=["?"]),
    "flag": sf.Categories([False, True], na=[9]),
    "rooms": sf.Categories([1, 2, 3]),
    "hobbies": sf.Subsets(["go", "chess", "judo"], cap=2, na=["none"]),
    "city": sf.Texts(4, na=["n/a"]),
    "[bold]day": sf.Dates("2020-01-01", "2020-12-31", na=["9999-12-31"]),
}
VALUES = {
    "age": ["30", "abc", "-7", "100.4", "101", "999", "", "inf", "12.5"],
    "n": ["1", "-9", "5", "x", "6", ""],
    "state": ["CA", "ca", "?", "", "NY", "else"],
    "flag": ["TRUE", "0", "9", "maybe", ""],
    "rooms": ["1", "2.0", "7", ""],
    "hobbies": ["go;chess;judo", "golf;go", "none", "", "judo"],
    "city": ["Bonn", "Berlin", "n/a", ""],
    "[bold]day": ["2020-05-05", "1999-01-01", "2021-01-01", "9999-12-31", "soon", ""],
    "id": ["a", "b", "c", "c", "d", ""],
}


def rows_of(seed, count=60):
    """Random rows as texts, null for empty; one unreadable line at the end of the file is a row of nulls."""
    rng = random.Random(seed)
    rows = [{name: rng.choice(values) or None for name, values in VALUES.items()} for _ in range(count)]
    return [*rows, dict.fromkeys(VALUES)]


def sources(rows, folder):
    table = pa.table({name: pa.array([row[name] for row in rows], pa.string()) for name in VALUES})
    lines = [",".join(row[name] or "" for name in VALUES) for row in rows[:-1]]
    (folder / "a.csv").write_text("\n".join([",".join(VALUES), *lines, '"open']) + "\n")
    pq.write_table(table, folder / "a.parquet")
    return [folder / "a.csv", folder / "a.parquet", table, table.to_pandas(), pl.from_arrow(table)]


def expected(rows):
    """The counts in plain Python."""
    found = {name: Counter() for name in COLUMNS}
    for row in rows:
        for name, space in COLUMNS.items():
            found[name][verdict(row[name], space)] += 1
        items = [item for item in (row["hobbies"] or "").split(";") if item]
        found["hobbies"]["unknown"] += any(item not in ("go", "chess", "judo", "none") for item in items)
        found["hobbies"]["cut"] += len(items) == 3
        found["city"]["cut"] += row["city"] == "Berlin"
    return found


def verdict(text, space):
    if text is None or text in map(str, space.na):
        return "missing"
    if isinstance(space, sf.Categories):
        return "fine" if sf.Categories(space.values).coerce(text) is not None else "unknown"
    if isinstance(space, sf.Dates):
        day = sf.Dates("0001-01-01", "9999-12-31").coerce(text)
        return "unreadable" if day is None else clipped((day - datetime.date(1970, 1, 1)).days, space)
    if not isinstance(space, sf.Interval | sf.Integers):
        return "fine"
    return clipped(float(text), space) if text.lstrip("-.0123456789") in ("", "inf") else "unreadable"


def clipped(number, space):
    nearest = math.floor(number + 0.5) if math.isfinite(number) else number
    return "below" if nearest < space.lattice.low else "above" if nearest > space.lattice.high else "fine"


@pytest.mark.parametrize("seed", thinned(range(2), 1))
def test_the_counts_are_those_of_plain_python_through_every_source(seed, tmp_path):
    rows = rows_of(seed)
    counts = expected(rows)
    people = Counter(row["id"] for row in rows if row["id"] is not None)
    for source in sources(rows, tmp_path):
        schema = Schema(COLUMNS, sf.Person("id", 5), size=7, dataset="d")
        found = sf.check(sf.read(source, schema=schema))
        assert (found.rows, found.units, found.size) == (len(rows), len(people), 7)
        assert found.no_id == sum(row["id"] is None for row in rows)
        assert found.people_cut == sum(number > 5 for number in people.values())
        assert found.rows_cut == sum(max(number - 5, 0) for number in people.values())
        for column in found.columns:
            for name in ("missing", "unreadable", "below", "above", "unknown", "cut"):
                if getattr(column, name) is not None:
                    assert getattr(column, name) == counts[column.column][name], (column.column, name)
        used = {column.column: column.used for column in found.columns}
        assert used["age"] == 1.0
        assert used["rooms"] == pytest.approx(2 / 3)
        assert used["city"] is None


def test_labels_for_other_and_for_missing_values_are_used_where_rows_count_as_them():
    labels = sf.Categories(["a", "b"], other="else", missing="none")
    for values, used in ((["a", "b", "c", None], 1.0), (["a", "b", "c"], 0.75), (["a", "b"], 0.5)):
        (column,) = sf.check(sf.read(pa.table({"x": values}), schema={"x": labels}, dataset="d")).columns
        assert column.used == used


def test_lists_and_curves_are_checked_too():
    held = pa.table({"h": [["go", "chess"], ["golf", None], None, []], "c": [[1.0, 2.0], [1.0], None, [3.0, 4.0]]})
    spaces = {"h": sf.Subsets(["go", "chess"], cap=1), "c": sf.Curves((0, 1), 0, 9, 1)}
    sets, curves = sf.check(sf.read(held, schema=Schema(spaces, dataset="d"))).columns
    assert (sets.missing, sets.unknown, sets.cut) == (1, 1, 1)
    assert (curves.missing, curves.unreadable) == (1, 1)


@pytest.mark.parametrize("unit", [None, "id"])
def test_derived_columns_are_checked_from_the_coerced_values_of_every_row(unit):
    held = pa.table({"kg": [70, 80, None, 1000.0], "m": [1.75, 0.0, 1.8, 1.0], "id": ["a", "a", "a", "b"]})
    computed = {
        "bmi": ("kg / (m * m)", sf.Interval(10, 60, 1)),
        "heavy": ("kg > 75", sf.Categories([True])),
    }
    columns = {"kg": sf.Interval(0, 200, 1), "m": sf.Interval(0, 3, 0.05)}
    found = sf.check(sf.read(held, schema=columns, dataset="d", unit=unit, rows=1 if unit else None, derived=computed))
    assert [column.column for column in found.columns] == ["kg", "m", "bmi", "heavy"]
    bmi, heavy = found.columns[2:]
    assert (bmi.missing, bmi.unreadable, bmi.below, bmi.above) == (2, 0, 0, 1)  # 0 / 0 and no weight; 200 / 1
    assert (heavy.unknown, heavy.used) == (2, 1.0)  # false where the weight is missing


@pytest.mark.parametrize("adjacency", [sf.AddRemove(), sf.Replace()])
def test_derived_columns_of_events_joined_with_people_are_checked(adjacency):
    events = pa.table({"id": ["a", "a", "b", "c"], "kg": [70, 90, None, 1000]})
    people = pa.table({"id": ["a", "b"], "m": [2.0, 1.5]})
    found = sf.check(
        sf.read(
            events, schema={"kg": sf.Interval(0, 200, 1)}, dataset="d", unit="id", rows=1, adjacency=adjacency,
            people=people, attributes={"m": sf.Interval(0, 3, 0.5)},
            derived={"bmi": ("kg / (m * m)", sf.Interval(0, 20, 1))},
        )
    )  # fmt: skip
    (bmi,) = [column for column in found.columns if column.column == "bmi"]
    assert (bmi.missing, bmi.above) == (2, 1)  # no weight, and nobody of that name; 90 / 4


@pytest.mark.parametrize("unit", [sf.Row(), sf.Person("id", 1)])
def test_an_empty_table_can_be_checked(unit):
    frame = pd.DataFrame({name: pd.Series([], dtype=object) for name in VALUES})
    found = sf.check(sf.read(frame, schema=Schema(COLUMNS, unit, dataset="d")))
    assert (found.rows, found.units) == (0, 0)
    assert "NOT RELEASABLE" in str(found)


def test_what_is_shown_is_marked_secret_and_frozen(tmp_path):
    found = sf.check(sf.read(sources(rows_of(1), tmp_path)[0], schema=COLUMNS))
    assert str(found).startswith("NOT RELEASABLE: exact and secret")
    assert "NOT RELEASABLE" in repr(found)
    assert str(found.rows) not in repr(found)
    assert found.to_record()["releasable"] is False
    json.dumps(found.to_record())
    assert list(found.to_pandas()["column"]) == list(COLUMNS)
    with pytest.raises(AttributeError):
        found.rows = 0


def test_an_engine_s_message_is_withheld():
    import ibis

    with quiet():
        held = ibis.duckdb.connect().create_table("held", pa.table({"age": ["very-secret"]}))
        view = held.mutate(age=held["age"].cast("float64"))
    with pytest.raises(EngineError, match="withheld") as caught:
        sf.check(sf.engines.Table(view, Schema({"age": sf.Interval(0, 1, 1)}, dataset="d")))
    assert caught.value.__context__ is None


def test_nothing_is_stored(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    source = sources(rows_of(1), tmp_path)[1]
    before = set(Path().iterdir())
    sf.check(sf.read(source, schema=COLUMNS))
    assert set(Path().iterdir()) == before
