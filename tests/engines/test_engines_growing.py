"""Tables that grow by files: kept answers are those of the whole table, and trusted while their file is as it was."""

import json
import os
import stat
import time

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import sfumato as sf
from sfumato.engines.growing import Growing
from sfumato.errors import SchemaError
from sfumato.queries.aggregation import Aggregation, Distinct, Frequencies, Measure
from sfumato.queries.grouping import Cells, Key

COLUMNS = {
    "x": sf.Interval(0, 100, step=0.01),
    "age": sf.Integers(0, 90),
    "region": sf.Categories(["a", "b", "c"]),
    "word": sf.Texts(8),
}
LONG_AGO = time.time() - 3600


def written(path, seed, rows=400):
    chance = np.random.default_rng(seed)
    table = pa.table(
        {
            "x": pa.array(chance.uniform(-5, 105, rows), mask=chance.random(rows) < 0.1),
            "age": chance.integers(-3, 95, rows),
            "region": chance.choice(["a", "b", "c", "other"], rows),
            "word": chance.choice([f"w{i}" for i in range(30)], rows),
        }
    )
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(table, path)
    os.utime(path, (LONG_AGO, LONG_AGO))
    return path


@pytest.fixture
def months(tmp_path, monkeypatch):
    monkeypatch.setattr("sfumato.engines.growing.SETTLED", -10.0)  # the files of a test are as old as the test
    return [written(tmp_path / "visits" / f"{month}.parquet", month) for month in range(3)]


def opened(months, keep=None):
    return sf.read([str(path) for path in months], schema=COLUMNS, dataset="visits", keep=keep)


def statistics():
    from sfumato.queries import bind

    schema = sf.Schema(COLUMNS, dataset="visits")
    seen = []

    class Look:
        steady = True

        def answer(self, statistic):
            seen.append(statistic)
            raise StopIteration

    for query in (
        sf.count(),
        sf.histogram("region"),
        sf.mean("x").by("region"),
        sf.variance("x").where("age >= 18"),
        sf.sum("age").by(sf.bins("x", [0, 20, 50, 100])),
        sf.count().where(sf.col("region") == "a"),
    ):
        with pytest.raises(StopIteration):
            bind(query, schema).answer(Look())
    return [*seen, Frequencies(None, seen[0].cells, "age"), Frequencies(None, seen[1].cells, "x", shift=3),
            Distinct(None, "word")]  # fmt: skip


def same(statistic, one, other):
    if isinstance(statistic, Aggregation):
        return (one == other).all() and one.shape == other.shape
    if isinstance(statistic, Frequencies):
        return sorted(zip(*map(list, one), strict=True)) == sorted(zip(*map(list, other), strict=True))
    return dict(zip(*map(list, one), strict=True)) == dict(zip(*map(list, other), strict=True))


def files_read(monkeypatch):
    """The files that are counted from here on."""
    read = []
    found = Growing._found

    def watched(self, part, asked, computed):
        return found(self, part, asked, lambda: (read.append(part.path.name), computed())[1])

    monkeypatch.setattr(Growing, "_found", watched)
    return read


def test_answers_are_those_of_the_whole_table_and_the_second_time_no_file_is_read(months, tmp_path, monkeypatch):
    asked, whole = statistics(), opened(months)
    expected = [whole.answer(one) for one in asked]
    first = opened(months, tmp_path / "kept")
    assert all(same(one, first.answer(one), true) for one, true in zip(asked, expected, strict=True))
    read, again = files_read(monkeypatch), opened(months, tmp_path / "kept")
    assert all(same(one, again.answer(one), true) for one, true in zip(asked, expected, strict=True))
    assert read == []
    folder = sf.read(months[0].parent, schema=COLUMNS, keep=tmp_path / "kept")
    assert same(asked[2], folder.answer(asked[2]), expected[2])


def test_a_new_month_costs_one_pass_over_the_month(months, tmp_path, monkeypatch):
    asked, table = statistics(), opened(months, tmp_path / "kept")
    for one in asked:
        table.answer(one)
    months.append(written(months[0].with_name("3.parquet"), 3))
    read, grown, whole = files_read(monkeypatch), opened(months, tmp_path / "kept"), opened(months)
    assert all(same(one, grown.answer(one), whole.answer(one)) for one in asked)
    assert set(read) == {"3.parquet"}


def test_a_file_that_changed_is_counted_anew_and_what_was_kept_of_it_is_gone(months, tmp_path):
    keep, asked = tmp_path / "kept", statistics()
    table = opened(months, keep)
    before = [table.answer(one) for one in asked]
    held = set(keep.iterdir())
    written(months[1], 77)  # with the very time of modification that it had
    grown, whole = opened(months, keep), opened(months)
    assert all(same(one, grown.answer(one), whole.answer(one)) for one in asked)
    assert not all(same(one, grown.answer(one), old) for one, old in zip(asked, before, strict=True))
    assert held - set(keep.iterdir())
    assert len(set(keep.iterdir())) == len(held)


def test_what_is_damaged_is_ignored(months, tmp_path):
    keep, asked = tmp_path / "kept", statistics()
    table = opened(months, keep)
    expected = [table.answer(one) for one in asked]
    for place, file in enumerate(sorted(keep.iterdir())):
        content = file.read_bytes()
        record = json.loads(content)
        other = json.dumps(record | {"answer": [[7]]}).encode()
        file.write_bytes([content[: len(content) // 2], b"", b"[]", other, b"\xff\xfe"][place % 5])
    table = opened(months, keep)
    assert all(same(one, table.answer(one), true) for one, true in zip(asked, expected, strict=True))


def test_a_file_that_was_written_just_now_is_not_kept(months, tmp_path, monkeypatch):
    monkeypatch.setattr("sfumato.engines.growing.SETTLED", 3600.0)
    opened(months, tmp_path / "kept").answer(statistics()[0])
    assert list((tmp_path / "kept").iterdir()) == []


def test_what_is_kept_is_private_and_no_release_tells_of_it(months, tmp_path):
    keep = tmp_path / "kept"
    stored = []
    for table, name in ((opened(months, keep), "with"), (opened(months), "without")):
        session = sf.Session(table, budget=sf.Pure(1e9), ledger=tmp_path / f"{name}.ledger")
        release = session.release(sf.mean("x").by("region"), spend=sf.Pure(1e8))
        record = json.loads(release.to_bytes())
        stored.append((record["query"], record["schema"], record["mechanism"], release.value))
        assert b"kept" not in release.to_bytes()
    assert stored[0][:3] == stored[1][:3]
    assert stored[0][3] == pytest.approx(stored[1][3], abs=0.01)
    assert stat.S_IMODE(keep.stat().st_mode) == 0o700
    assert {stat.S_IMODE(file.stat().st_mode) for file in keep.iterdir()} == {0o600}


def test_a_plan_keeps_in_a_folder_beside_it(months, tmp_path):
    from sfumato.plans import read_plan, write_plan
    from sfumato.plans.outlook import opened_table

    plan = {
        "format": "sfumato-plan/2",
        "table": {"path": "visits", "unit": "row", "keep": "kept"},
        "columns": {"age": {"type": "integers", "low": 0, "high": 90}},
        "budget": {"epsilon": 1.0},
        "release": [{"name": "all", "query": "count", "spend": {"epsilon": 0.1}}],
    }
    (tmp_path / "plan.json").write_text(json.dumps(plan))
    read = read_plan(tmp_path / "plan.json")
    (tmp_path / "else").mkdir()
    assert read_plan(write_plan(read, tmp_path / "else" / "plan.json")).keep == read.keep.parent / "else/../kept"
    table = opened_table(read)
    assert table.answer(statistics()[0])[0, 0] == 1200
    assert list((tmp_path / "kept").iterdir())


def test_a_damaged_file_is_refused_before_anything_is_charged(months, tmp_path):
    content = months[2].read_bytes()
    months[2].write_bytes(content[: len(content) // 2])
    with pytest.raises(SchemaError, match="cannot be read"):
        opened(months, tmp_path / "kept")


def test_folders_that_others_may_read_and_tables_that_do_not_add_up_are_refused(months, tmp_path):
    open_folder = tmp_path / "open"
    open_folder.mkdir(mode=0o755)
    with pytest.raises(SchemaError, match="chmod 700"):
        opened(months, open_folder)
    with pytest.raises(SchemaError, match="several files"):
        sf.read(months, schema={"x": COLUMNS["x"]}, unit="word", rows=2, dataset="d", keep=tmp_path / "k")
    with pytest.raises(SchemaError, match="Parquet files of this machine"):
        sf.read(pa.table({"x": [1.0]}), schema={"x": COLUMNS["x"]}, dataset="d", keep=tmp_path / "k")
    with pytest.raises(SchemaError, match="no folder"):
        opened(months, written(tmp_path / "file.parquet", 9))


def test_a_linked_file_whose_folder_is_renamed_is_another_month(tmp_path, monkeypatch):
    monkeypatch.setattr("sfumato.engines.growing.SETTLED", -10.0)
    held = written(tmp_path / "store" / "0.parquet", 0)
    folder = tmp_path / "visits" / "month=1"
    folder.mkdir(parents=True)
    (folder / "0.parquet").symlink_to(held)
    schema = {"month": sf.Categories(["1", "2"])}
    asked = Aggregation(None, Cells((Key("month", ("1", "2")),)), (Measure(None),))
    for counts in ([400, 0], [0, 400]):
        table = sf.read(tmp_path / "visits", schema=schema, keep=tmp_path / "kept")
        assert table.answer(asked).tolist() == [counts]
        if folder.exists():
            folder.rename(folder.with_name("month=2"))


def test_a_file_that_goes_and_a_folder_that_cannot_be_made_are_said_plainly(months, tmp_path):
    table = opened(months, tmp_path / "kept")
    months[1].unlink()
    with pytest.raises(SchemaError, match=r"1\.parquet is gone"):
        table.answer(statistics()[0])
    with pytest.raises(SchemaError, match="cannot be made one"):
        opened(months[:1], months[0] / "kept")


def test_what_a_killed_process_was_writing_is_removed(months, tmp_path):
    opened(months, tmp_path / "kept")
    draft = tmp_path / "kept" / f".{'a' * 40}.{'0' * 16}.new.json"
    draft.write_text("[[7]]")
    os.utime(draft, (LONG_AGO, LONG_AGO))
    opened(months, tmp_path / "kept")
    assert not draft.exists()


def test_a_new_version_of_the_table_reads_no_file_that_was_counted_before(months, tmp_path, monkeypatch):
    asked, kept = statistics(), tmp_path / "kept"

    def version(name):
        return sf.read(list(map(str, months)), schema=sf.Schema(COLUMNS, dataset="visits", version=name), keep=kept)

    first = version("2026-01")
    expected, held = [first.answer(one) for one in asked], sorted(kept.iterdir())
    read, second = files_read(monkeypatch), version("2026-02")
    assert all(same(one, second.answer(one), true) for one, true in zip(asked, expected, strict=True))
    assert read == []
    assert sorted(kept.iterdir()) == held


@pytest.mark.parametrize("place", [".", "kept", "month=1/kept"])
def test_what_is_kept_lies_outside_the_folder_of_the_table(tmp_path, place):
    """Its files would be taken for those of the table the next time, and refused."""
    (tmp_path / "people" / "month=1").mkdir(parents=True, mode=0o700)
    pq.write_table(pa.table({"age": [1.0]}), tmp_path / "people" / "month=1" / "a.parquet")
    with pytest.raises(SchemaError, match="lies in the folder of the table; name a folder elsewhere"):
        sf.read(tmp_path / "people", schema={"age": sf.Integers(0, 9)}, keep=tmp_path / "people" / place)
    assert [path.name for path in (tmp_path / "people").rglob("*")] == ["month=1", "a.parquet"]
