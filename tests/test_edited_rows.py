"""The rows of a published table are tied to its record by their digest."""

from __future__ import annotations

import datetime
import json

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import sfumato as sf
from sfumato.cli import main
from sfumato.release.fingerprint import rows_digest
from sfumato.release.tables import METADATA

DAYS = [datetime.date(2026, 1, day) for day in range(1, 31)]


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    held = pd.DataFrame({
        "age": [20.5, None, 40.0] * 50, "state": ["CA", "NY", None] * 50, "day": (DAYS * 5)[:150],
        "hobbies": [["chess"], ["judo", "opera"], []] * 50, "sure": [True, False, None] * 50,
    })  # fmt: skip
    spaces = {
        "age": sf.Interval(0, 120, 0.5), "state": sf.Categories(["CA", "NY"]), "day": sf.Dates(DAYS[0], DAYS[-1]),
        "hobbies": sf.Subsets(["chess", "judo", "opera"], 2), "sure": sf.Categories([True, False]),
    }  # fmt: skip
    schema = sf.Schema(spaces, size=150, dataset="edited")
    ledger = tmp_path_factory.mktemp("ledger") / "edited.ledger"
    return sf.Session(sf.read(held, schema=schema), budget=10.0, ledger=ledger).synthesize(spend=5.0)


def rewritten(made, path, rows, forget=False):
    """The file of a table with other rows under the same record."""
    record = json.loads(made._described().schema.metadata[METADATA])
    if forget:
        del record["rows"]
    pq.write_table(rows.replace_schema_metadata({METADATA: json.dumps(record)}), path)
    return sf.load(path)


def test_a_saved_table_is_not_disputed(made, tmp_path):
    again = sf.load(made.save(tmp_path / "made.parquet"))
    assert not again.disputed
    assert again.to_record() == made.to_record()
    assert again.sealed == rows_digest(made.rows)
    pq.write_table(pq.read_table(tmp_path / "made.parquet"), tmp_path / "chunks.parquet", row_group_size=7)
    assert not sf.load(tmp_path / "chunks.parquet").disputed


def test_rows_that_were_changed_are_disputed_wherever_they_are_shown(made, tmp_path):
    ages = made.rows["age"].to_pylist()
    for changed in (
        made.rows.slice(0, 100),
        made.rows.set_column(0, "age", pa.array([None, *ages[1:]] if ages[0] is not None else [1.0, *ages[1:]])),
        made.rows.take(pa.array([*range(1, len(made)), 0])),
        pa.concat_tables([made.rows, made.rows.slice(0, 1)]),
        made.rows.drop_columns(["state"]).append_column("state", pa.array(["CA"] * len(made))),
    ):
        again = rewritten(made, tmp_path / "edited.parquet", changed)
        assert again.edited
        assert again.disputed
        assert "disputed" in repr(again)
        assert again.to_record()["rows"] == made.sealed  # writing it again hides nothing
        assert sf.load(again.save(tmp_path / "again.parquet")).disputed
    assert "DISPUTED" in rewritten(made, tmp_path / "edited.parquet", made.rows.slice(0, 100)).words()


def test_files_of_before_have_no_digest_and_open_as_they_did(made, tmp_path):
    again = rewritten(made, tmp_path / "old.parquet", made.rows, forget=True)
    assert not again.disputed
    assert "rows" not in again.to_record()


@pytest.mark.parametrize("command", [["ask", "edited.parquet", "count"], ["more", "edited.parquet", "--rows", "5"]])
def test_the_shell_takes_no_rows_that_were_changed(command, made, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    rewritten(made, tmp_path / "edited.parquet", made.rows.slice(0, 100))
    with pytest.raises(SystemExit) as ended:
        main([*command, *(["--out", "rows.csv"] if command[0] == "more" else [])])
    assert ended.value.code == 1
    assert "not those that were released" in " ".join(capsys.readouterr().err.split())


@pytest.mark.parametrize(
    "values",
    [
        pa.array([1, None, 3]), pa.array([1.5, None, float("nan")]), pa.array(["a", None, "é"]),
        pa.array([True, None, False]), pa.array(DAYS[:3]), pa.array([datetime.time(1, 2, 3), None, None]),
        pa.array([["a"], None, []]), pa.array([[1.0, 2.0], None, None], pa.list_(pa.float64(), 2)),
        pa.array([datetime.timedelta(1), None, None]), pa.array([None, None, None]),
        pa.array(["a", None, "b"]).dictionary_encode(), pa.array([datetime.datetime(2026, 1, 1), None, None]),
        pa.array([{"a": 1}, None, {"a": 2}]), pa.array([1, None, 2], pa.uint8()), pa.array([b"a", None, b"b"]),
        pa.array([1, None, 2], pa.float32()), pa.array(["a", None, "b"], pa.large_string()),
        pa.array(DAYS[:3], pa.date64()),
        *(pa.array([5, None, 6], pa.timestamp(unit)) for unit in ("s", "ms", "us", "ns")),
        *(pa.array([5, None, 6], pa.duration(unit)) for unit in ("s", "ms", "us", "ns")),
        *(pa.array([5, None, 6], pa.time32(unit)) for unit in ("s", "ms")), pa.array([5, None, 6], pa.time64("ns")),
    ],
)  # fmt: skip
def test_a_digest_is_that_of_the_values_and_survives_a_file(values, tmp_path):
    rows = pa.table({"x": values})
    digest = rows_digest(rows)
    pq.write_table(rows, tmp_path / "rows.parquet", row_group_size=1)
    assert rows_digest(pq.read_table(tmp_path / "rows.parquet")) == digest
    assert rows_digest(pa.concat_tables([rows.slice(0, 1), rows.slice(1)])) == digest
    assert rows_digest(rows.rename_columns(["y"])) != digest
    assert rows_digest(rows.slice(0, 2)) != digest
    if values.null_count < 3:
        assert rows_digest(rows.take([1, 0, 2])) != digest
