"""A value on which an expression raises is read as a missing one, and the question is answered all the same."""

import threading

import ibis
import pyarrow as pa
import pytest

import sfumato as sf
from sfumato.engines import coercion, rows
from sfumato.engines.attempts import attempt, careful
from sfumato.engines.backends import connected, executed, quiet, take_care
from sfumato.errors import EngineError
from sfumato.queries import bind

CURSE = 7
SPACES = {"v": sf.Integers(0, 9), "w": sf.Integers(0, 9, missing=3), "x": sf.Integers(0, 9)}
DERIVED = {"d": ("v + x", sf.Integers(0, 18))}
QUESTIONS = [
    sf.count(), sf.mean("v"), sf.mean("w"), sf.histogram("v"),
    sf.count().where("v is null"), sf.count().where("w is null"), sf.count().where("d is null"),
    sf.count().where("v > 3 or x > 3"), sf.mean("d"), sf.histogram(sf.bins("d", 0, 9, 18)),
]  # fmt: skip


def raise_on(cursed, column):
    """Return the number, by an expression that raises where it is the cursed one."""
    broken = (column.cast("string") + "th").cast("int64")
    return ibis.ifelse(column == cursed, broken, column)


@pytest.fixture
def planted(monkeypatch):
    """Plant an expression that raises on one number into the reading of all numbers."""
    read = coercion.number_of
    monkeypatch.setattr(coercion, "number_of", lambda raw, form: raise_on(CURSE, read(raw, form)))


def open_table(numbers, persons=False):
    held = pa.table({"v": numbers, "w": numbers, "x": [1, 2, 3, 4, 5], "pid": list("abcab")})
    who = {"unit": "pid", "rows": 1} if persons else {}
    return sf.read(held, schema=SPACES, derived=DERIVED, dataset="d", **who)


def answer_all(table):
    return [str(bind(one, table.schema).answer(table)) for one in QUESTIONS]


@pytest.mark.parametrize("persons", [False, True])
def test_a_value_that_raises_counts_as_a_missing_one(planted, persons):
    """Other rows are as they were, and so is the table without such a value."""
    assert answer_all(open_table([1, 5, CURSE, 2, 9], persons)) == answer_all(open_table([1, 5, None, 2, 9], persons))


@pytest.mark.parametrize("persons", [False, True])
def test_care_changes_no_answer_that_there_is(persons):
    quick, care = (open_table([1, 5, 7, None, 99], persons) for _ in range(2))
    with careful():
        assert answer_all(care) == answer_all(quick)


def test_rows_that_are_streamed_are_read_with_care(planted):
    batches = list(open_table([1, 5, CURSE, 2, 9]).rows(["v", "w", "x", "d"]))
    (batch,) = [{name: values.tolist() for name, values in one.items()} for one in batches]
    assert batch == {
        "v": [1, 5, -1, 2, 9],
        "w": [1, 5, 3, 2, 9],
        "x": [1, 2, 3, 4, 5],
        "d": [2, -1, -1, 6, 14],
    }  # 5 + 2 is cursed as well


def test_a_stream_that_raises_late_goes_on_where_it_was(planted, monkeypatch):
    """Rows that were handed out do not come twice."""
    monkeypatch.setattr("sfumato.engines.table.LEAST_BATCH", 64)
    monkeypatch.setattr("sfumato.engines.table.BATCH", 64)
    numbers = [place % 7 for place in range(200_000)] + [CURSE, 8]
    held = pa.table({"v": numbers, "x": [place % 5 for place in range(len(numbers))]})
    table = sf.read(held, schema={"v": SPACES["v"], "x": SPACES["x"]}, dataset="d")
    batches = list(table.rows(["v", "x"]))
    assert [int(v) for batch in batches for v in batch["v"]] == [*numbers[:-2], -1, 8]
    assert [int(v) for batch in batches for v in batch["x"]] == held["x"].to_pylist()


def test_rows_of_expressions_without_an_order_come_once_each(planted, monkeypatch):
    """Groups, joins and windows hand out rows in another order each time: a second run would repeat some."""
    monkeypatch.setattr("sfumato.engines.table.LEAST_BATCH", 64)
    monkeypatch.setattr("sfumato.engines.table.BATCH", 64)
    connection, count = ibis.duckdb.connect(), 60_000
    cursed = f"CASE WHEN i = {count - 5} THEN {CURSE} ELSE (i % 7)::BIGINT END"
    connection.con.execute(f"CREATE TABLE t AS SELECT i, {cursed} AS v, (i % 5)::BIGINT AS x FROM range({count}) r(i)")
    with quiet():
        plain = connection.table("t")
    shapes = {
        "plain": plain,
        "group": plain.group_by("i").aggregate(v=plain.v.max(), x=plain.x.max()),
        "distinct": plain.distinct(),
        "join": plain.join(plain.select("i"), "i"),
        "window": plain.mutate(x=plain.x.max().over(ibis.window(group_by=plain.i))),
        "union": plain.union(plain.filter(plain.i < 0)),
    }
    wanted = sorted(place % 7 for place in range(count) if place != count - 5)
    for name, shape in shapes.items():
        table = sf.read(shape, schema={"v": SPACES["v"], "x": SPACES["x"]}, dataset="d")
        found = sorted(int(v) for batch in table.rows(["v", "x"]) for v in batch["v"])
        assert found == [-1, *wanted], name


@pytest.mark.parametrize("own", [True, False])
def test_threads_take_care_at_once(planted, own):
    """One connection was asked by several threads at once, and settings of one undid those of another."""
    connection = None if own else ibis.duckdb.connect()
    held = pa.table({"v": [1, 5, CURSE, 2, 9], "w": [1, 5, CURSE, 2, 9], "x": [1, 2, 3, 4, 5]})
    with quiet():
        source = held if connection is None else connection.create_table("t", held)
    table = sf.read(source, schema=SPACES, derived=DERIVED, dataset="d")
    wanted = answer_all(open_table([1, 5, None, 2, 9]))
    found: list[object] = []

    def ask():
        try:
            found.append(answer_all(table))
        except Exception as error:
            found.append(error)

    threads = [threading.Thread(target=ask) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [wanted] * 6


def test_a_condition_that_raises_is_false(monkeypatch):
    between = rows.TESTS["between"]

    def broken(test, schema, held):
        return raise_on(CURSE, held["c_v"]) == between(test, schema, held).cast("int64") * held["c_v"]

    monkeypatch.setitem(rows.TESTS, "between", broken)
    table = open_table([1, 5, CURSE, 2, 9])
    assert bind(sf.count().where("v > 0"), table.schema).answer(table).tolist() == [4]


def test_a_formula_that_raises_is_missing(monkeypatch):
    computed = rows.computed
    monkeypatch.setattr(rows, "computed", lambda *given: raise_on(CURSE, computed(*given)))
    table = open_table([1, 5, 4, 2, 9])  # v + x: 2, 7, 7, 6, 14
    assert bind(sf.histogram(sf.bins("d", 0, 6, 7, 8, 18)), table.schema).answer(table).tolist() == [1, 1, 0, 1]


def test_the_same_expression_in_several_columns_is_not_taken_out_of_its_try():
    """An optimizer that computes it once for all would compute it outside."""
    backend = connected()
    with quiet():
        table = backend.create_table("t", pa.table({"v": [1, CURSE]}))
    take_care(backend)
    broken = raise_on(CURSE, table["v"])
    with careful():
        both = table.select(a=attempt(broken), b=attempt(broken + 1), c=attempt(broken * 2, 5))
    assert executed(both).to_pylist() == [{"a": 1, "b": 2, "c": 2}, {"a": None, "b": None, "c": 5}]


def test_what_fails_with_care_too_is_withheld(monkeypatch):
    def fail(*given, **named):
        raise RuntimeError("seven")

    table = open_table([1, 5, 7, 2, 9])
    monkeypatch.setattr("sfumato.engines.table.executed", fail)
    with pytest.raises(EngineError, match="withheld") as refused:
        bind(sf.count(), table.schema).answer(table)
    assert "seven" not in str(refused.value)
