"""What PostgreSQL alone holds or does: every case through a role that may read and hold temporary objects, no more."""

import datetime
import math
import random
import struct
import threading

import pytest

import sfumato as sf
from sfumato.engines import column_types
from sfumato.engines.postgres.sessions import session
from sfumato.engines.postgres.writing import NAMES, NUMBER
from sfumato.errors import SchemaError
from sfumato.queries import bind, count, mean, sum
from sfumato.spaces.numerals import number_in
from sfumato.spaces.schema import Schema

pytestmark = pytest.mark.postgres
SUBNORMAL = 5e-324


@pytest.fixture
def made(server):
    """A function from commands of the owner to the reader's table `odd`."""
    owner, reader = server

    def run(*commands, grant=True):
        owner.raw_sql("DROP TABLE IF EXISTS odd CASCADE").close()
        for command in (*commands, *(["GRANT SELECT ON odd TO reader"] if grant else [])):
            owner.raw_sql(command).close()
        return reader.table("odd")

    yield run
    owner.raw_sql("DROP TABLE IF EXISTS odd CASCADE").close()


def answers(table, columns, *queries, unit=None, rows=None):
    """The last measure of each exact answer, cell by cell."""
    read = sf.read(table, schema=columns, dataset="odd", unit=unit, rows=rows)
    return [[int(v) for v in read.answer(bind(query, read.schema).statistic)[-1]] for query in queries]


def doubles(rng, count):
    """Doubles of every magnitude, and their neighbors at the ends."""
    ends = [0.0, -0.0, SUBNORMAL, -SUBNORMAL, 2.2250738585072014e-308, 1.7976931348623157e308, 1.0, -1.0, math.inf]
    drawn = [struct.unpack("d", rng.getrandbits(64).to_bytes(8, "little"))[0] for _ in range(count)]
    return ends + [value for value in drawn if not math.isnan(value)]


def by_python(sign, a, b):
    try:
        return {"+": lambda: a + b, "-": lambda: a - b, "*": lambda: a * b, "/": lambda: a / b}[sign]()
    except OverflowError:
        return math.copysign(math.inf, a * b)


def test_arithmetic_is_that_of_doubles_at_every_magnitude(server):
    rng = random.Random(11)
    values = doubles(rng, 400)
    pairs = [(rng.choice(values), rng.choice(values)) for _ in range(4000)]
    with session(server[1]) as con:
        for sign, name in NAMES.items():
            kept = [(a, b) for a, b in pairs if not (sign == "/" and b == 0)]
            found = con.execute(
                f"SELECT {name}(a, b) FROM unnest(%s::float8[], %s::float8[]) WITH ORDINALITY AS p(a, b, o) ORDER BY o",
                [[a for a, _ in kept], [b for _, b in kept]],
            ).fetchall()
            for (a, b), (value,) in zip(kept, found, strict=True):
                expected = by_python(sign, a, b)
                assert value == expected or (math.isnan(value) and math.isnan(expected)), (sign, a, b)


def test_texts_of_numbers_are_read_as_python_reads_them(server):
    rng = random.Random(12)
    signs, powers = ["", "-", "+"], ["", "E+9999", "e-9999", *(f"e{power}" for power in range(-400, 400, 23))]
    texts = [f"{rng.choice(signs)}{rng.randrange(10**size)}.{rng.randrange(10**9)}{rng.choice(powers)}"
             for size in range(1, 40) for _ in range(20)]  # fmt: skip
    texts += ["1.7976931348623158e308", "1.7976931348623159e308", "2.4703282292062327e-324", "2.4703282292062328e-324",
              "0e9999", "0.0e-9999", ".5", "5.", "0" * 500 + "1e-400", "1" + "0" * 400, "1" + "0" * 400 + "e-400",
              "0." + "0" * 20_000 + "1", "0." + "0" * 400 + "1e401", "9" * 20_000, "-" + "9" * 400]  # fmt: skip
    with session(server[1]) as con:
        found = con.execute(
            f"SELECT {NUMBER}(t) FROM unnest(%s::text[]) WITH ORDINALITY AS p(t, o) ORDER BY o", [texts]
        )
        for text, (value,) in zip(texts, found.fetchall(), strict=True):
            assert value == number_in(text), text[:80]


def test_strange_decimals_and_dates_are_clipped_or_missing(made):
    table = made(
        "CREATE TABLE odd (d numeric, t date, s timestamptz)",
        "INSERT INTO odd VALUES ('NaN', 'infinity', 'infinity'), ('Infinity', '-infinity', '-infinity'), "
        "('-Infinity', '4713-01-01 BC', '0044-03-15 BC'), (('1' || repeat('0', 100000))::numeric, '5874897-12-31', "
        "'294276-01-01'), ('1e-16000', '2024-02-29', '2024-02-29 23:59:59+00'), (7.5, NULL, NULL)",
    )
    columns = {"d": sf.Interval(0, 10, 0.5), "t": sf.Dates("2000-01-01", "2030-12-31"),
               "s": sf.Dates("2000-01-01", "2030-12-31")}  # fmt: skip
    whole = (datetime.date(2030, 12, 31) - datetime.date(2000, 1, 1)).days
    leap = (datetime.date(2024, 2, 29) - datetime.date(2000, 1, 1)).days
    found = answers(
        table, columns, sum("d"), sum("t"), sum("s"), count().where("d is null"), count().where("t is null")
    )
    assert found == [[20 + 0 + 20 + 0 + 15], [0 + whole + leap], [0 + whole + leap], [1], [3]]


def test_arrays_count_from_one_whatever_their_bounds(made):
    table = made(
        "CREATE TABLE odd (a float8[], h text[], m numeric[])",
        "INSERT INTO odd VALUES ('[5:7]={1,2,3}', '[0:1]={go,judo}', '{1,NaN,1e400}'), ('{{1,2,3}}', '{{go},{chess}}', "
        "NULL), (NULL, NULL, '{}'), ('{1,2}', '{}', '{1,2,3}')",
    )
    columns = {"a": sf.Box(0, 10, (3,), step=1), "h": sf.Subsets(["go", "judo", "chess"], cap=3)}
    found = answers(table, columns, sum("a[0]"), sum("a[2]"), count().where("'go' in h"))
    assert found == [[2], [6], [2]]


def test_enumerated_and_padded_texts_and_booleans(made):
    table = made(
        "DROP TYPE IF EXISTS mood CASCADE", "CREATE TYPE mood AS ENUM ('sad', 'ok')",
        "CREATE TABLE odd (m mood, c char(4), b boolean, u uuid)",
        "INSERT INTO odd VALUES ('sad', 'a', true, gen_random_uuid()), ('ok', 'b   ', false, gen_random_uuid()), "
        "(NULL, NULL, NULL, NULL)",
    )  # fmt: skip
    columns = {"m": sf.Categories(["sad", "ok"]), "c": sf.Categories(["a", "b"]), "b": sf.Categories([False, True])}
    assert answers(table, columns, count().by("m"), count().by("c"), count().by("b"), unit="u", rows=2) == [[1, 1]] * 3


def test_texts_compare_by_bytes_whatever_the_collation(made):
    table = made(
        "CREATE COLLATION IF NOT EXISTS loose (provider = icu, locale = 'und-u-ks-level1', deterministic = false)",
        "CREATE TABLE odd (c text COLLATE loose, i text COLLATE loose)",
        "INSERT INTO odd VALUES ('a', 'x'), ('A', 'X'), ('\u00e1', 'x\u0301')",
    )
    columns = {"c": sf.Categories(["a", "A", "\u00e1"])}
    assert answers(table, columns, count().by("c")) == [[1, 1, 1]]
    assert answers(table, columns, count().by("c"), unit="i", rows=1) == [[1, 1, 1]]


@pytest.mark.parametrize(
    ("commands", "word"),
    [
        (["CREATE TABLE odd (x float8)", "DROP TABLE odd", "CREATE VIEW odd AS SELECT 1.0::float8 AS x"], "view"),
        (["CREATE TABLE odd (x float8)", "ALTER TABLE odd ENABLE ROW LEVEL SECURITY",
          "CREATE POLICY part ON odd USING (x > 0)"], "policy"),
        (["CREATE TABLE odd (x interval)"], "elapsed"),
    ],
)  # fmt: skip
def test_what_may_fail_by_value_or_hide_rows_is_refused_by_name(made, server, commands, word):
    table = made(*commands)
    with pytest.raises(SchemaError, match=word):
        sf.read(table, schema={"x": sf.Interval(0, 1, 0.1)}, dataset="odd")
    server[0].raw_sql(f"DROP {'VIEW' if word == 'view' else 'TABLE'} odd").close()


def test_only_declared_columns_are_read(made):
    table = made("CREATE TABLE odd (x float8, secret text)", "INSERT INTO odd VALUES (1, 'a')",
                 "GRANT SELECT (x) ON odd TO reader", grant=False)  # fmt: skip
    assert answers(table, {"x": sf.Interval(0, 1, 1)}, count().where("x >= 1")) == [[1]]


def test_sessions_write_nothing_and_threads_do_not_meet(made, server):
    table = made("CREATE TABLE odd (x float8)", "INSERT INTO odd SELECT g % 10 FROM generate_series(1, 20000) g")
    read = sf.read(table, schema={"x": sf.Interval(0, 10, 1)}, dataset="odd")
    statistic, found = bind(mean("x"), read.schema).statistic, []
    stream = read.rows(["x"])
    next(stream)  # left open
    workers = [threading.Thread(target=lambda: found.append(read.answer(statistic).tolist())) for _ in range(6)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert found == [found[0]] * 6
    del stream
    with pytest.raises(Exception, match="read-only"), session(server[1]) as con:
        con.execute("CREATE TEMPORARY TABLE scratch (x int)")


def test_an_address_names_a_table_and_no_error_repeats_it(made, server):
    made("CREATE TABLE odd (x float8)", "INSERT INTO odd VALUES (1), (2)")
    folder = server[0].con.info.host
    address = f"postgresql://reader:hush@/postgres?host={folder}"
    columns = {"x": sf.Interval(0, 10, 1)}
    read = sf.read(address, schema=columns, table="public.odd", dataset="odd")
    assert read.answer(bind(sum("x"), read.schema).statistic)[-1].tolist() == [3]
    for given in ({"table": "none"}, {"table": None}):
        with pytest.raises(SchemaError) as caught:
            sf.read(address, schema=columns, dataset="odd", **given)
        assert "hush" not in str(caught.value)
        assert caught.value.__context__ is None
    with pytest.raises(SchemaError, match="let us in"):
        sf.read("postgresql://nobody:hush@127.0.0.1:1/none", schema=columns, table="odd", dataset="odd")


def test_a_type_that_no_list_decides_is_refused_by_name(made):
    table = made("CREATE TABLE odd (x json)")
    with pytest.raises(SchemaError, match="'x' is of the PostgreSQL type json, which is not read"):
        sf.read(table, schema=Schema({"x": sf.Interval(0, 1, 0.1)}))


def test_statements_end_at_the_limit_of_the_role_or_the_address_or_at_ours(server):
    import ibis

    with session(server[1]) as con:
        assert con.execute("SHOW statement_timeout").fetchone() == ("6h",)
    folder = server[0].con.info.host
    own = ibis.connect(f"postgresql://reader@/postgres?host={folder}&options=-c%20statement_timeout%3D90s")
    with session(own) as con:
        assert con.execute("SHOW statement_timeout").fetchone() == ("90s",)
    own.disconnect()


def test_what_the_role_may_not_read_is_refused_when_it_is_opened(made):
    table = made("CREATE TABLE odd (x INT, hidden INT)", grant=False)
    with pytest.raises(SchemaError, match=r"may not read x; .* GRANT SELECT on this column") as refused:
        sf.read(table, schema={"x": sf.Integers(0, 9)}, dataset="odd")
    assert refused.value.__cause__ is refused.value.__context__ is None
    table = made("CREATE TABLE odd (x INT, hidden INT)", "GRANT SELECT (x) ON odd TO reader", grant=False)
    assert answers(table, {"x": sf.Integers(0, 9)}, count()) == [[0]]
    with pytest.raises(SchemaError, match="may not read hidden; "):
        sf.read(table, schema={"hidden": sf.Integers(0, 9)}, dataset="odd")
    assert column_types(table) == {"x": "int32"}  # a draft is of what the role may read


@pytest.mark.parametrize("kind", ["point", "json", "xml"])
def test_identifiers_that_the_server_does_not_compare_are_refused_when_the_table_is_opened(made, kind):
    """Whatever it holds: a question of it would fail after its charge."""
    table = made(f"CREATE TABLE odd (person {kind}, x int)")
    with pytest.raises(SchemaError, match=r"'person' identifies persons.*store one number or text"):
        sf.read(table, schema={"x": sf.Integers(0, 9)}, dataset="odd", unit="person", rows=2)
    assert answers(table, {"x": sf.Integers(0, 9)}, count()) == [[0]]
