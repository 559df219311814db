"""The engine against plain Python, integer for integer, on hostile tables."""

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

import reference
import sfumato as sf
from sfumato.queries import bind
from strategies import queries, schemas, sized, tables

SLOW = settings(
    max_examples=40,
    deadline=None,
    derandomize=True,
    phases=(Phase.explicit, Phase.generate),  # a counterexample is small already; shrinking it takes minutes
    suppress_health_check=list(HealthCheck),
)


@SLOW
@given(data=st.data())
def test_duckdb_agrees_with_plain_python(data):
    schema = data.draw(schemas())
    held = data.draw(tables(schema))
    schema = sized(schema, held.num_rows)
    table = sf.read(held, schema=schema)
    rows = held.to_pylist()
    for _ in range(3):
        statistic = bind(data.draw(queries(schema)), schema).statistic
        found = reference.comparable(table.answer(statistic), statistic)
        assert found == reference.answer(rows, statistic, schema)


@pytest.mark.heavy
@settings(SLOW, max_examples=20)
@given(data=st.data())
def test_physical_order_and_threads_do_not_matter(data):
    schema = data.draw(schemas())
    held = data.draw(tables(schema, most=12))
    schema = sized(schema, held.num_rows)
    shuffled = held.take(pa.array(data.draw(st.permutations(range(held.num_rows))), pa.int64()))
    tables_ = [sf.read(rows, schema=schema) for rows in (held, shuffled)]
    tables_[1].source.get_backend().raw_sql("SET threads = 1")
    statistic = bind(data.draw(queries(schema)), schema).statistic
    one, other = (reference.comparable(table.answer(statistic), statistic) for table in tables_)
    assert one == other
