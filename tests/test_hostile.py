"""Hostile rows through the real engine and a whole session: no exception, and no more movement than claimed."""

import math

import numpy as np
import pyarrow as pa
import pytest

import sfumato as sf
from sfumato.privacy.adjacency import AddRemove, Person, Replace, Row
from sfumato.queries import bind, count, discovered, histogram, mean, median, sum, top, variance
from sfumato.spaces import Categories, Interval, Subsets, Texts
from sfumato.spaces.schema import Schema

COLUMNS = {
    "salary": Interval(-1000, 200_000, 1),
    "state": Categories(["CA", "NY"]),
    "hobbies": Subsets(["chess", "go", "judo"], cap=2),
    "city": Texts(8),
}
HONEST = {"salary": [10.0, 20.5, 30.25], "state": ["CA", "NY", "CA"], "hobbies": [["go"], [], ["judo", "go"]],
          "city": ["x", "y", "x"], "id": [1, 2, 3]}  # fmt: skip
ROWS = {
    "NaN": (math.nan, "CA", [None], "x"),
    "infinity": (math.inf, "NY", ["go", "judo", "chess"], "z" * 100),
    "minus infinity": (-math.inf, "CA", ["go"] * 50, ""),
    "huge": (1e308, "CA", ["golf"], "\x00"),
    "minus huge": (-1e308, "NY", [""], "'; DROP TABLE source; --"),
    "null": (None, None, None, None),
    "unknown": (0.0, "Mars", [], "日本"),
    "minus zero": (-0.0, "ca", ["CHESS"], " "),
}
VECTORS = [count(), histogram("state"), sum("salary"), sum("salary").by("state"), mean("salary"),
           mean("salary").by("state"), variance("salary"),
           count().where("salary > 100 or 'go' in hobbies")]  # fmt: skip
TYPES = pa.schema({"salary": pa.float64(), "state": pa.string(), "hobbies": pa.list_(pa.string()),
                   "city": pa.string(), "id": pa.int64()})  # fmt: skip


def held(*extra, repeat=1):
    """The honest rows and these, the latter all of person 9."""
    rows = {name: [*values] for name, values in HONEST.items()}
    for row in extra * repeat:
        for name, value in zip(rows, (*row, 9), strict=True):
            rows[name].append(value)
    return pa.table(rows, schema=TYPES)


def schema(unit, adjacency):
    """The declared columns, four units."""
    return Schema(COLUMNS, unit, adjacency, size=4)


@pytest.mark.parametrize("unit", [Row(), Person("id", 2)], ids=["row", "person"])
def test_a_hostile_unit_moves_no_answer_further_than_claimed(unit):
    repeat = 1 if isinstance(unit, Row) else 5
    for adjacency in (AddRemove(), Replace()):
        public = schema(unit, adjacency)
        plain = sf.read(held() if adjacency == AddRemove() else held(ROWS["null"], repeat=repeat), schema=public)
        worse = [sf.read(held(row, repeat=repeat), schema=public) for row in ROWS.values()]
        for query in (VECTORS[3], VECTORS[5], VECTORS[6], VECTORS[7]):
            question = bind(query, public)
            base = question.vector(plain.answer(question.statistic))
            for table in worse:
                moved = np.abs(question.vector(table.answer(question.statistic)) - base)
                assert moved.sum() <= question.sensitivity("l1"), query.name
                assert moved.max() <= question.sensitivity("linf"), query.name


@pytest.mark.parametrize("rows", [[], ["NaN"], list(ROWS)], ids=["empty", "one", "all"])
def test_whole_releases_of_hostile_tables_raise_nothing(rows, tmp_path):
    table = held(*(ROWS[name] for name in rows)).slice(3)
    public = Schema(COLUMNS, Person("id", 3), dataset="hostile")
    session = sf.Session(sf.read(table, schema=public), budget=sf.Approximate(100.0, 1e-5), ledger=tmp_path / "ledger")
    questions = [*VECTORS, median("salary"), top("hobbies", 2), median("salary").by("state")]
    for query in questions:
        release = session.release(query, spend=sf.Pure(1.0))
        assert not any(math.isinf(number) for number in np.ravel(release.value) if isinstance(number, float))
    assert session.release(count().by(discovered("city")), spend=sf.Approximate(1.0, 1e-6)) is not None


def test_a_person_with_a_million_rows_counts_as_two(tmp_path):
    many = 1_000_000
    table = pa.table({"salary": np.full(many + 1, 1e308), "id": np.append(np.full(many, 7), 8)})
    public = Schema({"salary": COLUMNS["salary"]}, Person("id", 2))
    question = bind(mean("salary"), public)
    rows, above = sf.read(table, schema=public).answer(question.statistic)
    assert int(rows[0]) == 3
    assert int(above[0]) == 3 * COLUMNS["salary"].lattice.width
