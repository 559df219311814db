"""Files, frames and databases: what is read, what is refused, and that refusals say what to do."""

import gzip

import duckdb
import ibis
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import reference
import sfumato as sf
from sfumato.engines import column_types
from sfumato.engines.backends import quiet
from sfumato.errors import SchemaError
from sfumato.queries import bind, count, mean, median, sum, top

AGE = {"age": sf.Interval(0, 120, 1)}
FRAME = pa.table({"age": [30.0, 40.2, None], "id": ["a", "a", "b"]})


def totals(table, query):
    """The engine's answer in plain lists."""
    statistic = bind(query, table.schema).statistic
    return reference.comparable(table.answer(statistic), statistic)


def write(path, content):
    """A text file of exactly these bytes."""
    path.write_bytes(content)
    return path


@pytest.fixture
def database(tmp_path):
    """A DuckDB file with one table."""
    with quiet():
        connection = ibis.duckdb.connect(tmp_path / "people.duckdb")
        connection.create_table("people", FRAME)
        connection.disconnect()
    return tmp_path / "people.duckdb"


def sources(tmp_path, database):
    """The same three rows in every form."""
    pq.write_table(FRAME, tmp_path / "people.parquet")
    write(tmp_path / "people.csv", b"age,id\n30.0,a\n40.2,a\n,b\n")
    write(tmp_path / "people.tsv", b"age\tid\n30.0\ta\n40.2\ta\n\tb\n")
    write(tmp_path / "packed.csv.gz", gzip.compress(b"age,id\n30.0,a\n40.2,a\n,b\n"))
    write(tmp_path / "marked.csv", b"\xef\xbb\xbfage,id\r\n30.0,a\r\n40.2,a\r\n,b\r\n")
    files = [tmp_path / name for name in ("people.parquet", "people.csv", "people.tsv", "packed.csv.gz", "marked.csv")]
    with quiet():
        own = ibis.duckdb.connect().create_table("any", FRAME)
    frame = FRAME.to_pandas()
    return [*files, str(files[0]), database, FRAME, frame, pl.from_arrow(FRAME), own, own.filter(own["id"] != "z")]


def test_every_form_of_a_table_gives_the_same_answers(tmp_path, database):
    for source in sources(tmp_path, database):
        rows = sf.read(source, schema=AGE, dataset="people")
        people = sf.read(source, schema=AGE, unit="id", rows=1, dataset="people")
        assert totals(rows, mean("age")) == [[2], [70]]
        assert totals(rows, count()) == [[3]]
        assert totals(people, count()) == [[2]]


def test_fields_of_text_files_follow_the_documented_patterns(tmp_path):
    fields = [
        "1",
        " 2 ",
        "\t3",
        "4.",
        ".6e1",
        "+7",
        "1e2",
        "inf",
        "-Infinity",
        "nan",
        "1,5",
        "1_0",
        "0x1F",
        "x",
        "",
        "-",
    ]
    lines = "\n".join(f'"{field}"' for field in fields)
    table = sf.read(write(tmp_path / "a.csv", f"age\n{lines}\n".encode()), schema=AGE)
    assert totals(table, sum("age")) == [[9], [1 + 2 + 3 + 4 + 6 + 7 + 100 + 120 + 0]]


@pytest.mark.parametrize(
    "name", ["label", "position", "value", "count", "unit", "n0", "s0", "place", "key0", "_", "c_x"]
)
def test_no_column_name_collides_with_the_engine_s_own(name):
    spaces = {name: sf.Categories(["a", "b"]), "x y": sf.Interval(0, 9, 1), "h": sf.Subsets(["p"], cap=1)}
    frame = pa.table({name: ["a", "b", "?"], "x y": [1, 2, 3], "h": [["p"], [], None], "id": [1, 1, 2]})
    for unit in ({}, {"unit": "id", "rows": 2}):
        table = sf.read(frame, schema=spaces, dataset="d", **unit)
        assert totals(table, mean("x y").by(name)) == [[1, 1], [1, 2]]
        assert totals(table, median("x y").by(name)) == {(0, 1): 1, (1, 2): 1}
        assert totals(table, top("h", 1).by(name)) == {(0, 0): 1}


def test_drafts_see_names_and_types_only(tmp_path, database):
    assert column_types(database) == {"age": "float64", "id": "string"}
    assert column_types(write(tmp_path / "a.csv", b"age,id\n1,2\n")) == {"age": "string", "id": "string"}


REFUSALS = [
    (lambda path: sf.read(path / "none.csv", schema=AGE), ["none.csv", "check the path"]),
    (lambda path: sf.read(write(path / "a.xls", b""), schema=AGE), ["a.xls", ".csv", ".parquet", "data frame"]),
    (lambda path: sf.read(write(path / "a.parquet", b"secret"), schema=AGE), ["a.parquet", "cannot be read"]),
    (lambda path: sf.read(write(path / "a.duckdb", b"secret"), schema=AGE), ["a.duckdb", "cannot be read"]),
    (lambda path: sf.read(write(path / "a.csv.gz", b"secret"), schema=AGE), ["a.csv.gz", "cannot be read"]),
    (lambda path: sf.read(write(path / "a.csv", b""), schema=AGE), ["first line", "name the columns"]),
    (lambda path: sf.read(write(path / "a.csv", b"age,age\n"), schema=AGE), ["first line", "'age' twice"]),
    (lambda path: sf.read(pd.DataFrame([[1, 2]], columns=["age", "age"]), schema=AGE, dataset="d"), ["'age' twice"]),
    (lambda path: sf.read(write(path / "a.csv", b"Age\n1\n"), schema=AGE), ["'age'", "'Age'", "capitals"]),
    (lambda path: sf.read(write(path / "a.csv", b"secret,34\n"), schema=AGE), ["'age'", "2 columns", "first line"]),
    (lambda path: sf.read(write(path / "a.csv", b"\xff,age\n"), schema=AGE), ["first line", "UTF-8"]),
    (lambda path: sf.read(write(path / "a.csv", b'"age\n1\n'), schema=AGE), ["first line", "name the columns"]),
    (lambda path: sf.read(pa.table({"secret": [1]}), schema=AGE, dataset="d"), ["'age'", "1 column", "Correct"]),
    (lambda path: sf.read(FRAME, schema={"age": sf.Texts(), "Age": sf.Texts()}, dataset="d"), ["capitals", "rename"]),
    (lambda path: sf.read(FRAME, schema=AGE, quoted_lines="yes", dataset="d"), ["quoted_lines", "True or False"]),
    (lambda path: sf.read(FRAME, schema=AGE, unit="person", rows=1, dataset="d"), ["'person'", "Correct the name"]),
    (lambda path: sf.read(FRAME, schema=AGE), ["dataset=", "ledger"]),
    (lambda path: sf.read(FRAME, schema=AGE, unit="id", dataset="d"), ["unit='id'", "rows="]),
    (lambda path: sf.read(FRAME, schema=AGE, rows=1, dataset="d"), ["rows=", "unit="]),
    (lambda path: sf.read(FRAME, schema=AGE, adjacency="swap", dataset="d"), ["adjacency", "add-remove, replace"]),
    (lambda path: sf.read(FRAME, schema=AGE, adjacency="replace", dataset="d"), ["replacement", "size="]),
    (lambda path: sf.read(FRAME, schema={}, dataset="d"), ["columns is empty"]),
    (lambda path: sf.read(FRAME, schema={"age": (0, 120)}, dataset="d"), ["'age'", "Interval(low, high)"]),
    (lambda path: sf.read(FRAME, schema={"id": sf.Texts()}, unit="id", rows=1, dataset="d"), ["'id'", "leave it out"]),
    (lambda path: sf.read(object(), schema=AGE, dataset="d"), ["object", "pass a file's path"]),
    (lambda path: sf.read(FRAME, schema=AGE, adjacency="replace", size=2, dataset="d"), ["size=2", "3 rows", "size=3"]),
]


@pytest.mark.parametrize("number", range(len(REFUSALS)))
def test_schema_mistakes_are_refused_with_the_reason_and_the_fix(number, tmp_path):
    mistake, words = REFUSALS[number]
    with pytest.raises(SchemaError) as caught:
        mistake(tmp_path)
    message = str(caught.value)
    assert [word for word in words if word not in message] == []
    assert len(message) < 400
    assert "secret" not in message
    assert caught.value.__cause__ is None
    assert caught.value.__context__ is None


NUMERIC, TEXT = sf.Interval(0, 1, 1), sf.Categories(["a"])
MISFITS = [
    (NUMERIC, pa.array([True])), (NUMERIC, pa.array(["a"]).cast(pa.binary())), (NUMERIC, pa.array([[1]])),
    (sf.Integers(0, 1), pa.array([0], pa.timestamp("s"))), (TEXT, pa.array([1])), (TEXT, pa.array([1.0])),
    (sf.Categories([1]), pa.array([True])), (sf.Subsets(["a"], cap=1), pa.array([[1]])),
    (sf.Subsets([1], cap=1), pa.array([1])), (sf.Subsets([1], cap=1), pa.array([[True]])), (sf.Texts(), pa.array([1])),
]  # fmt: skip


@pytest.mark.parametrize("number", range(len(MISFITS)))
def test_a_type_that_does_not_fit_is_refused(number):
    space, column = MISFITS[number]
    with pytest.raises(SchemaError, match=r"column 'x' is declared as \w+, but the table holds .*convert the column"):
        sf.read(pa.table({"x": column}), schema={"x": space}, dataset="d")


def test_the_tables_of_a_database_must_be_named_when_there_are_several(database):
    with quiet():
        connection = ibis.duckdb.connect(database)
        connection.create_table("second", FRAME)
        connection.disconnect()
    with pytest.raises(SchemaError, match="people, second; name one with table="):
        sf.read(database, schema=AGE)
    assert totals(sf.read(database, schema=AGE, table="second"), count()) == [[3]]


def test_other_backends_are_refused_by_name():
    with quiet():
        table = ibis.polars.connect({"t": pl.DataFrame({"age": [1]})}).table("t")
    with pytest.raises(SchemaError, match="'polars' are not supported; use duckdb, pyspark or postgres"):
        sf.read(table, schema=AGE, dataset="d")


@pytest.mark.parametrize("made", [pa.table, pd.DataFrame, pl.DataFrame], ids=["arrow", "pandas", "polars"])
@pytest.mark.parametrize("space", [sf.Interval(0, 1, 0.1), sf.Categories(["a"]), sf.Integers(0, 3)])
def test_a_column_of_nothing_but_nulls_is_read_like_any_other(made, space):
    """Frames give it no type; whether a column is empty is in the data, so it must not be refused."""
    schema = sf.Schema({"c": space})
    (batch,) = sf.read(made({"c": [None, None]}), schema=schema).rows(["c"])
    assert batch["c"].tolist() == [-1, -1]


def test_several_parquet_files_are_one_table(tmp_path):
    rows = pa.table({"age": [30.0, 40.0, None, 7.0], "id": ["a", "a", "b", "b"]})
    months = [tmp_path / f"m{month}.parquet" for month in range(2)]
    for place, path in enumerate(months):
        pq.write_table(rows.slice(2 * place, 2), path)
    for source in ([*months], tuple(map(str, months)), tmp_path / "m*.parquet", str(tmp_path / "*.parquet")):
        table = sf.read(source, schema=AGE, unit="id", rows=1, dataset="months")
        assert totals(table, count()) == [[2]]  # one row of each person, in whichever file it lies
        assert totals(sf.read(source, schema=AGE, dataset="months"), sum("age")) == [[3], [77]]
    assert column_types(tmp_path / "m*.parquet").keys() == {"age", "id"}


def test_several_files_that_are_no_table_are_refused(tmp_path):
    pq.write_table(pa.table({"age": [1.0]}), tmp_path / "a.parquet")
    pq.write_table(pa.table({"age": [1]}), tmp_path / "b.parquet")
    write(tmp_path / "a.csv", b"age\n1\n")
    write(tmp_path / "b.csv", b"age\n2\n")
    (tmp_path / "links").mkdir()
    (tmp_path / "links" / "a.parquet").symlink_to(tmp_path / "a.parquet")
    for source, words in [
        (tmp_path / "none*.parquet", "no file matches"),
        ([tmp_path / "a.parquet", tmp_path / "a.csv"], "all are Parquet"),
        (tmp_path / "*.parquet", "same columns of the same types"),
        ([tmp_path / "a.parquet", tmp_path / "c.parquet"], "there is no file"),
        ([], "cannot read a table from list"),
        ([1, 2], "cannot read a table from list"),
        ([tmp_path / "a.parquet", str(tmp_path / "a.parquet")], "named twice"),
        ([tmp_path / "a.parquet", tmp_path / "links" / "*.parquet"], "named twice"),
    ]:
        with pytest.raises(SchemaError, match=words):
            sf.read(source, schema=AGE, dataset="t")
    with pytest.raises(SchemaError, match="say dataset"):
        sf.read(tmp_path / "*.parquet", schema=AGE)


@pytest.mark.parametrize("log", ["_delta_log/0.json", ".hoodie/hoodie.properties", "metadata/v1.metadata.json"])
def test_files_of_which_a_log_says_what_counts_are_refused(tmp_path, log):
    home = tmp_path / "table"
    for place in ("month=1", "month=2", "alone"):
        (home / place).mkdir(parents=True)
        pq.write_table(FRAME, home / place / "a.parquet")
    for named in (home / "month=1", home / "month=*" / "*.parquet"):
        assert totals(sf.read(named, schema=AGE, dataset="t"), count())[0][0] in (3, 6)
    (home / log).parent.mkdir()
    write(home / log, b"{}")
    (tmp_path / "link").symlink_to(home / "month=1", target_is_directory=True)
    several = [home / place / "a.parquet" for place in ("month=1", "month=2")]
    for source in (home, home / "month=1", home / "month=*" / "*.parquet", several, tmp_path / "link"):
        with pytest.raises(SchemaError, match=r"(Delta|Hudi|Iceberg) table.*deleted or replaced"):
            sf.read(source, schema=AGE, dataset="t")
    if not log.startswith("metadata"):
        with pytest.raises(SchemaError, match="deleted or replaced"):
            sf.read(home.as_uri(), schema=AGE, dataset="t")
    assert totals(sf.read(home / "alone" / "a.parquet", schema=AGE), count()) == [[3]]  # said by its own name


def test_tables_of_other_schemas_of_a_database_are_named_and_read(database):
    connection = duckdb.connect(database)
    connection.execute('CREATE SCHEMA s; CREATE TABLE s."a.b""c" AS SELECT 30 AS age FROM range(7)')
    connection.execute("CREATE TABLE s.people AS SELECT 30 AS age FROM range(5)")
    connection.close()
    held = {"people": 3, "s.people": 5, 's.a.b"c': 7}
    assert {name: totals(sf.read(database, table=name, schema=AGE), count())[0][0] for name in held} == held
    with pytest.raises(SchemaError, match=r"no table 'peeple'; it holds the tables people, s\.a\.b.c, s\.people; "):
        sf.read(database, table="peeple", schema=AGE)
    with pytest.raises(SchemaError, match=r"holds the tables people, s\.a"):
        column_types(database)


@pytest.mark.parametrize("source", [lambda path: path, lambda path: FRAME, lambda path: ibis.memtable(FRAME)])
def test_a_table_is_named_only_where_there_are_several(tmp_path, source):
    pq.write_table(FRAME, tmp_path / "people.parquet")
    with pytest.raises(SchemaError, match="holds one alone: leave it out"):
        sf.read(source(tmp_path / "people.parquet"), table="people", schema=AGE, dataset="people")
    with pytest.raises(SchemaError, match="holds one alone"):
        column_types(source(tmp_path / "people.parquet"), "people")


def test_files_that_differ_are_refused_by_the_columns_that_do(tmp_path):
    pq.write_table(FRAME, tmp_path / "a.parquet")
    for other, words in [
        (FRAME.rename_columns(["alter", "id"]), "'age', 'alter'"),
        (FRAME.set_column(0, "age", [["30", "40", "50"]]), "'age'"),
        (FRAME.select(["id", "age"]), "their order"),
    ]:
        pq.write_table(other, tmp_path / "b.parquet")
        with pytest.raises(
            SchemaError, match=f"a.parquet and b.parquet, .* number 2 .* do not hold the same .*: {words}"
        ):
            sf.read(tmp_path, schema=AGE, dataset="months")


def test_files_that_differ_are_named_without_the_values_in_their_paths(tmp_path):
    for name, ages in (("someone", [1]), ("somebody", ["1"])):
        (tmp_path / f"name={name}").mkdir()
        pq.write_table(pa.table({"age": ages}), tmp_path / f"name={name}" / "p.parquet")
    with pytest.raises(SchemaError, match=r"p\.parquet and p\.parquet, .* number 2 by their paths") as refused:
        sf.read(tmp_path, schema=AGE, dataset="people")
    assert "some" not in str(refused.value)
