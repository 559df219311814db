"""Threads on one table: each question has a cursor of its own, and a stream is not ended by another question."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import sfumato as sf
from sfumato.queries import bind, count, histogram, mean

ROWS = 20_000
HELD = pa.table({"x": np.arange(ROWS) % 10 * 1.0, "c": np.array(list("abcd"))[np.arange(ROWS) % 4]})
SCHEMA = {"x": sf.Integers(0, 9), "c": sf.Categories(list("abcd"))}
QUESTIONS = [
    (count(), [[ROWS]]),
    (count().where("c == 'a'"), [[ROWS // 4]]),
    (histogram("c"), [[ROWS // 4] * 4]),
    (mean("x").where("x >= 5"), [[ROWS // 2], [ROWS // 2 * 7]]),
]


@pytest.fixture(params=["frame", "parquet", "csv"])
def table(request, tmp_path):
    """The same rows from memory and from files."""
    if request.param == "parquet":
        pq.write_table(HELD, tmp_path / "a.parquet")
    elif request.param == "csv":
        HELD.to_pandas().to_csv(tmp_path / "a.csv", index=False)
    source = HELD if request.param == "frame" else tmp_path / f"a.{request.param}"
    return sf.read(source, schema=SCHEMA, dataset="d")


def test_four_threads_on_one_table_get_the_right_answers(table):
    def ask(number):
        question, expected = QUESTIONS[number % 4]
        return table.answer(bind(question, table.schema).statistic).tolist() == expected

    with ThreadPoolExecutor(4) as pool:
        assert all(pool.map(ask, range(40)))


def test_a_question_between_two_batches_leaves_the_stream_alone(table):
    batches = table.rows(["x"])
    total = next(batches)["x"].sum()
    assert table.answer(bind(count(), table.schema).statistic).tolist() == [[ROWS]]
    assert total + sum(batch["x"].sum() for batch in batches) == ROWS // 10 * 45
