"""Whatever an engine raises, nothing of the data survives in the error that is shown."""

import traceback

import ibis
import pyarrow as pa
import pytest

import sfumato as sf
from sfumato.engines.backends import quiet
from sfumato.errors import EngineError, SchemaError
from sfumato.queries import bind, count, discovered, mean, median

SECRET = "very-secret-value"
SCHEMA = sf.Schema({"age": sf.Interval(0, 120, 1), "city": sf.Texts()}, dataset="d")


@pytest.fixture
def failing():
    """A view whose evaluation fails with a message that quotes the data."""
    with quiet():
        connection = ibis.duckdb.connect()
        held = connection.create_table("held", pa.table({"age": [SECRET], "city": ["x"]}))
        view = held.mutate(age=held["age"].cast("float64"))
        with pytest.raises(Exception, match=SECRET):
            view.to_pyarrow()
    return sf.read(view, schema=SCHEMA)


@pytest.mark.parametrize("query", [mean("age"), median("age"), count().where("age > 3").by(discovered("city"))])
def test_an_engine_s_message_is_withheld_everywhere(failing, query):
    with pytest.raises(EngineError) as caught:
        failing.answer(bind(query, SCHEMA).statistic)
    error = caught.value
    assert error.__cause__ is None
    assert error.__context__ is None
    assert SECRET not in "".join(traceback.format_exception(error)) + repr(error.args) + repr(vars(error))
    assert "withheld" in str(error)


def test_the_table_does_not_print_its_data():
    table = sf.read(pa.table({"age": ["1"], "city": [SECRET]}), schema=SCHEMA)
    assert SECRET not in repr(table) + str(table)


def test_rows_of_texts_and_large_sets_are_refused_by_their_type():
    items = [f"item {i}" for i in range(63)]
    schema = sf.Schema({"hobbies": sf.Subsets(items, cap=2), "city": sf.Texts()})
    table = sf.read(pa.table({"hobbies": pa.array([["item 0"]]), "city": ["x"]}), schema=schema)
    for column in ("hobbies", "city"):
        with pytest.raises(SchemaError, match=f"'{column}' must hold numbers, categories, curves, arrays or sets"):
            next(table.rows([column]))


def test_the_message_is_withheld_also_while_rows_stream(failing):
    with pytest.raises(EngineError, match="withheld") as caught:
        list(failing.rows(["age"]))
    assert SECRET not in "".join(traceback.format_exception(caught.value))
