"""Rows in folders of Parquet files: piece by piece, numbered on, whole or not there at all."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

import sfumato as sf
from sfumato.cli.app import app
from sfumato.errors import ParameterError, UnsupportedQuery
from sfumato.release import folders

STORED = Path(__file__).parent / "fixtures" / "v0_2_0" / "tables" / "synthetic.parquet"


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pieces of a hundred rows."""
    monkeypatch.setattr(folders, "PIECE", 100)
    monkeypatch.setattr(folders.sliced, "__defaults__", (100,))


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("rows", [1, 100, 101, 250])
def test_more_rows_come_in_pieces_that_are_one_table(tmp_path: Path, rows: int) -> None:
    table = sf.load(STORED)
    place = table.write_more(tmp_path / "many", rows)
    assert [pq.read_metadata(file).num_rows for file in sorted(place.iterdir())] == [
        min(100, rows - start) for start in range(0, rows, 100)
    ]
    assert pq.read_table(place).schema.remove_metadata().equals(table.rows.schema.remove_metadata())
    read = sf.read(place, schema={name: table.schema.space(name) for name in table.rows.column_names})
    session = sf.Session(read, budget=sf.Pure(1000.0), ledger=tmp_path / "l")
    assert abs(session.release(sf.count(), spend=sf.Pure(100.0)).value - rows) < 3


@pytest.mark.usefixtures("small")
def test_keys_number_on_from_piece_to_piece(tmp_path: Path) -> None:
    rng = np.random.default_rng(4)
    held = pa.table({"id": np.arange(300), "age": rng.integers(0, 50, 300)})
    columns = {"id": sf.Integers(0, 999), "age": sf.Integers(0, 50)}
    table = sf.read(held, schema=columns, size=300, dataset="d")
    session = sf.Session(table, budget=sf.Concentrated(50), ledger=tmp_path / "l")
    made = session.synthesize(spend=sf.Concentrated(50), keep=["unique(id)"], good_for="marginals")
    drawn = pq.read_table(made.write_more(tmp_path / "many", 350))["id"].to_pylist()
    assert len(set(drawn)) == 350
    assert not set(drawn) & set(made.rows["id"].to_pylist())
    with pytest.raises(ParameterError, match="from 1 to 350"):  # before anything is drawn
        made.write_more(tmp_path / "further", 400, after=350)
    with pytest.raises(UnsupportedQuery, match="numbers of 'id'"):
        made.write_more(tmp_path / "further", 1, after=700)
    assert sorted(one.name for one in tmp_path.iterdir() if one.is_dir()) == ["many"]


@pytest.mark.usefixtures("small")
def test_a_table_is_saved_in_a_folder_with_its_record(tmp_path: Path) -> None:
    table = sf.load(STORED)
    place = table.save(tmp_path / "parts")
    assert pq.read_table(place).replace_schema_metadata(None).equals(table.rows)
    assert len(list(place.iterdir())) == -(-len(table.rows) // 100)
    for file in place.iterdir():
        assert b"sfumato" in b" ".join(pq.read_schema(file).metadata)
    with pytest.raises(ParameterError, match="is there already"):
        table.save(place)
    with pytest.raises(ParameterError, match=r"\.xlsx"):
        table.save(tmp_path / "parts.xlsx")


def test_where_writing_fails_no_folder_is_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table, written = sf.load(STORED), [0]

    def full(*given: Any, **options: Any) -> None:
        written[0] += 1
        if written[0] == 2:
            raise OSError(28, "No space left on device")

    monkeypatch.setattr(folders, "PIECE", 10)
    monkeypatch.setattr(pq, "write_table", full)
    with pytest.raises(OSError, match="No space"):
        table.write_more(tmp_path / "many", 50)
    assert not os.listdir(tmp_path)


def test_the_command_writes_a_folder_and_none_over_another(tmp_path: Path) -> None:
    out = tmp_path / "many"
    command = ["more", str(STORED), "--rows", "57", "--out", str(out)]
    first = CliRunner().invoke(app, command)
    assert first.exit_code == 0, first.output
    assert "57 rows like" in first.output
    assert "folder" in first.output
    assert pq.read_table(out).num_rows == 57
    again = CliRunner().invoke(app, command)
    assert again.exit_code != 0
    assert pq.read_table(out).num_rows == 57
