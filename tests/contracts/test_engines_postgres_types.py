"""PostgreSQL's types: a closed list decides each, and no value of one that is read decides whether a question fails."""

import pytest

import sfumato as sf
from sfumato.engines.physical_types import POSTGRES
from sfumato.errors import SchemaError
from typing_cases import answer_joined, compare, list_spaces

pytestmark = pytest.mark.postgres

NAMED = """
SELECT typname FROM pg_type WHERE typnamespace = 'pg_catalog'::regnamespace AND typtype IN ('b', 'r', 'm', 'e', 'd')
AND NOT EXISTS (SELECT FROM pg_type e WHERE e.typarray = pg_type.oid)
"""
ODD = {  # plain values, and odd ones
    "int2": (["1"], ["-32768", "32767"]),
    "int4": (["1"], ["-2147483648", "2147483647"]),
    "int8": (["1"], ["-9223372036854775808", "9223372036854775807"]),
    "float4": (["1"], ["NaN", "Infinity", "-Infinity", "3.4e38", "1e-45", "-0"]),
    "float8": (["1"], ["NaN", "Infinity", "-Infinity", "1.7e308", "5e-324", "-0"]),
    "numeric": (["1"], ["NaN", "Infinity", "-Infinity", "9" * 1000, "1e-400"]),
    "bool": (["t"], ["f"]),
    "text": (["1"], ["", "1e999", "9" * 400, "9999-99-99", "P99999999999999999D"]),
    "varchar(9)": (["1"], ["", "nan", "1e99999"]),
    "citext": (["1"], ["", "INF", "1E999"]),
    "mood": (["a"], ["1e999", "inf", ""]),
    "uuid": (["1" * 32], ["0" * 32, "f" * 32]),
    "bytea": (["1"], ["", "\\xff00"]),
    "char(3)": (["1"], ["", "inf"]),
    "date": (["2024-02-01"], ["infinity", "-infinity", "4713-01-01 BC", "5874897-12-31"]),
    "timestamp": (["2024-02-01"], ["infinity", "-infinity", "4713-01-01 BC", "294276-12-31 23:59:59.999999"]),
    "timestamptz": (["2024-02-01 00:00+00"], ["infinity", "4713-01-02 BC", "294276-12-31 23:59:59.999999+00"]),
    "time": (["07:30"], ["24:00", "00:00", "23:59:59.999999"]),
    "int4[]": (["{1}"], ["{}", "{NULL}", "{{1,2},{2,1}}", "[5:6]={1,2}", "{-2147483648}"]),
    "numeric[]": (["{1,2}"], ["{NaN,1e400}", "{Infinity,NULL}", "{1e-400}"]),
    "text[]": (["{1,2}"], ["{1e999,NULL}", "{{a},{b}}", '{"",inf}']),
    "date[]": (["{2024-02-01}"], ["{infinity}"]),
    "whole": (["1"], ["-2147483648"]),
    "float8[]": (["{1,2}"], ["{NaN,Infinity}", "{{1},{2}}", "{}"]),
    "oid": (["1"], ["4294967295"]), "timetz": (["07:30+00"], ["24:00-15:59:59"]),
    "money": (["1"], ["-92233720368547758.08"]),
    "bit(3)": (["101"], ["111"]), "jsonb": (["1"], ["{}"]), "int4range": (["[1,2)"], ["empty"]),
}  # fmt: skip
CALLED = {"char(3)": "bpchar", "varchar(9)": "varchar", "mood": "enum", "whole": "int4", "bit(3)": "bit"}
REFUSED = ("oid", "timetz", "money", "bit(3)", "jsonb", "int4range", "uuid", "bytea", "date[]", "whole")


@pytest.fixture
def store(server):
    owner, reader = server
    owner.raw_sql(
        "CREATE EXTENSION IF NOT EXISTS citext; DROP TYPE IF EXISTS mood CASCADE; DROP DOMAIN IF EXISTS whole CASCADE; "
        "CREATE TYPE mood AS ENUM ('a', '1', '1e999', 'inf', ''); CREATE DOMAIN whole AS int4"
    ).close()

    def run(name, kind, values):
        owner.raw_sql(f"DROP TABLE IF EXISTS {name} CASCADE").close()
        owner.raw_sql(f"CREATE TABLE {name} (v {kind}, x int, pid text)").close()
        for place, value in enumerate(values):
            owner.raw_sql(f"INSERT INTO {name} VALUES ('{value}', {place % 9}, 'p{place}')").close()
        owner.raw_sql(f"GRANT SELECT ON {name} TO reader").close()
        return reader.table(name)

    return run


def test_every_type_of_the_server_is_decided(server):
    named = {name for (name,) in server[0].con.execute(NAMED).fetchall()}
    assert named <= POSTGRES.keys(), named - POSTGRES.keys()


def test_every_type_that_is_read_has_its_extremes_here():
    held = {CALLED.get(kind, kind).removesuffix("[]") for kind in ODD} | {"array"}
    assert {name for name, known in POSTGRES.items() if known.is_read or known.identifies} <= held


@pytest.mark.parametrize("kind", ODD)
def test_no_value_of_a_server_decides_whether_a_question_fails(store, kind):
    plain, odd = ODD[kind]
    tables = store("plain", kind, plain), store("odd", kind, [*plain, *odd])
    failures, answered = [], 0
    spaces = ("imputed", "dates", "clock", "labels", "sets", "box", "string")
    for name in ("truths", *spaces) if kind == "bool" else spaces:  # truths are read as nothing else
        answered += compare(f"{kind} as {name}", *tables, list_spaces()[name], failures)
    assert not failures
    assert bool(answered) == (kind not in REFUSED)


def test_a_table_that_is_made_anew_with_another_type_is_read(store):
    """What a session prepared for the old one is not run again."""
    for kind in ("int8", "float8"):
        people = store("anew", kind, ["1"])
        assert {answer_joined(people, sf.Integers(0, 9)) for _ in range(8)} == {"answered"}


@pytest.mark.parametrize("kind", ["float8[]", "text[]", "interval", "bpchar", "jsonb", "timetz", "money"])
def test_identifiers_that_two_persons_may_share_are_refused(store, kind):
    values = {"bpchar": ["a"], "jsonb": ["1"], "timetz": ["07:30+00"], "money": ["1"], "interval": ["1 day"]}
    table = store("plain", kind, values.get(kind, ["{1,2}"]))
    with pytest.raises(SchemaError, match=r"'v' identifies persons|elapsed times on PostgreSQL"):
        sf.read(table, schema={"x": sf.Integers(0, 9)}, dataset="d", unit="v", rows=1)
