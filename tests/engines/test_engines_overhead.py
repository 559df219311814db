"""What a question costs beside the query that it stands for, without a clock: operators, statements, nesting."""

import json
import re
from contextlib import contextmanager

import ibis.expr.operations as ops
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import sfumato as sf
from sfumato.engines import backends
from sfumato.privacy.adjacency import Person, Row
from sfumato.queries import bind

SPACES = {"x": sf.Interval(0, 200, 0.01), "g": sf.Categories(range(100))}
MEAN = sf.mean("x").by("g")
ASKED = [  # and the aggregates that a plan of DuckDB holds for each
    (MEAN, ["count", "sum"]),
    (sf.mean("x").by("g").where("x >= 10"), ["count", "sum"]),
    (sf.sum("x"), ["count", "sum"]),
    (sf.count().by("g"), ["count_star"]),
]
OUTSIDE = {"PYTHON_ARROW_SCAN"}  # of the labels, which is read once the rows are grouped


@pytest.fixture
def opened(tmp_path):
    draw = np.random.default_rng(5)
    columns = {"x": draw.uniform(-5, 220, 900), "g": draw.integers(0, 110, 900), "id": np.arange(900) // 3}
    pq.write_table(pa.table(columns), tmp_path / "a.parquet")
    return lambda unit: sf.read(tmp_path / "a.parquet", schema=sf.Schema(SPACES, unit))


class Recorder:
    """A cursor that notes which of its methods are called."""

    def __init__(self, cursor, calls):
        self._cursor, self._calls = cursor, calls

    def __getattr__(self, name):
        self._calls.append(name)
        return getattr(self._cursor, name)


@pytest.fixture
def calls(monkeypatch):
    """The methods of cursors that questions call, in turn."""
    found, original = [], backends._cursor

    @contextmanager
    def recorded(expression, backend):
        with original(expression, backend) as cursor:
            yield Recorder(cursor, found)

    monkeypatch.setattr(backends, "_cursor", recorded)
    return found


def explain(expression):
    """Return DuckDB's plan of an expression as one list of operators, outer ones first."""
    backend = expression.get_backend()
    with backends._cursor(expression, backend) as cursor:
        ((_, text),) = cursor.execute(f"EXPLAIN (FORMAT json) {backends._written(expression, backend)}").fetchall()
    operators, waiting = [], json.loads(text)
    while waiting:
        operators.append(waiting.pop())
        waiting += operators[-1]["children"]
    return operators


def test_a_question_is_planned_and_run_once(opened, calls):
    table = opened(Row())
    calls.clear()
    table.answer(bind(MEAN, table.schema).statistic)
    assert calls == ["sql"]
    table = opened(Person("id", 2))
    calls.clear()
    table.answer(bind(MEAN, table.schema).statistic)
    assert calls == ["execute", "execute", "sql"]  # a place is attached, filled, and read
    calls.clear()
    table.answer(bind(MEAN, table.schema).statistic)
    assert calls == ["sql"]


@pytest.mark.parametrize("unit", [Row(), Person("id", 2)], ids=["row", "person"])
def test_a_question_does_no_more_work_on_a_row(opened, unit):
    """One scan, at most three projections below one aggregate, and no test there of what is only counted."""
    table = opened(unit)
    for question, aggregates in ASKED:
        operators = explain(table._expression(bind(question, table.schema).statistic, True))
        found = [one for one in operators if "Aggregates" in one["extra_info"]]
        assert [[re.sub(r"\(.*?\)", "", told) for told in listed(one)] for one in found] == [aggregates], question.name
        below = [one["name"] for one in operators[operators.index(found[0]) + 1 :] if one["name"] not in OUTSIDE]
        assert below.count("PROJECTION") <= 3, question.name
        others = [name for name in below if name not in ("PROJECTION", "FILTER")]
        assert len(others) == 1, question.name
        assert below.count("FILTER") <= (question.condition is not None), question.name


def listed(operator):
    """Return the aggregates of an operator, which stand alone where there is but one."""
    told = operator["extra_info"]["Aggregates"]
    return [told] if isinstance(told, str) else told


def test_a_question_is_written_with_no_more_parts(opened):
    """Ibis takes its time for each: relations that nest, and operations on values beside columns and constants."""
    for unit, relations, operations in ((Row(), 9, 17), (Person("id", 2), 7, 6)):
        table = opened(unit)
        node = table._expression(bind(MEAN, table.schema).statistic, True).op()
        assert len(node.find(ops.Relation)) <= relations
        values = [one for one in node.find(ops.Value) if not isinstance(one, ops.Field | ops.Literal)]
        assert len(values) <= operations, values
