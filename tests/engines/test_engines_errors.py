"""Whatever an engine raises, nothing of the data survives in the error that is shown."""

import traceback

import ibis
import pyarrow as pa
import pytest

import sfumato as sf
from sfumato.engines.backends import quiet
from sfumato.errors import EngineError
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
