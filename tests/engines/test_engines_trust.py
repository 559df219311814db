"""What an engine is not to believe: false footers, settings that were changed, tables that rest on something lazy."""

import math
import random
import struct
import warnings
from concurrent.futures import ThreadPoolExecutor
from weakref import WeakSet

import duckdb
import ibis
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import reference
import sfumato as sf
from sfumato.engines import backends, canary, rows
from sfumato.errors import SchemaError
from sfumato.privacy.adjacency import Person, Row
from sfumato.queries import bind, bins, count, histogram, mean, median
from sfumato.spaces.schema import Schema

SPACES = {"v": sf.Interval(0, 120, 1), "k": sf.Integers(0, 120), "c": sf.Categories(["aa", "bb"])}
ASKED = [
    mean("v"),
    mean("k"),
    count().where("v >= 50"),
    count().where("k >= 0"),
    count().where("not k >= 50"),
    histogram("c"),
    count().where("c == 'aa'"),
    mean("v").by("c"),
    histogram(bins("v", 0, 40, 80, 120)),
    median("v"),
]
SIZE = 300


def held(seed=0, **changes):
    """Rows within their bounds; `changes` puts one value into a column."""
    draw = np.random.default_rng(seed)
    columns = {
        "v": draw.uniform(10, 90, SIZE),
        "k": draw.integers(10, 90, SIZE),
        "c": draw.choice(["aa", "bb"], SIZE),
        "id": np.arange(SIZE),
    }
    for name, value in changes.items():
        columns[name][SIZE // 2] = value
    return pa.table(columns)


def write(table, path):
    """A file whose pages hold the values as they are."""
    pq.write_table(table, path, compression="none", use_dictionary=False)
    return path


def under_a_false_footer(claimed, table, folder):
    """The pages of one table under the footer of another of the same layout."""
    pages = write(table, folder / "pages.parquet").read_bytes()
    footer = write(claimed, folder / "footer.parquet").read_bytes()
    lengths = [struct.unpack("<I", content[-8:-4])[0] + 8 for content in (pages, footer)]
    assert len(pages) - lengths[0] == len(footer) - lengths[1]
    path = folder / "spliced.parquet"
    path.write_bytes(pages[: -lengths[0]] + footer[-lengths[1] :])
    return path


def agrees(source, table, unit, asked=ASKED):
    """Whether every answer is plain Python's."""
    schema = Schema(SPACES, unit)
    opened = sf.read(source, schema=schema)
    for question in asked:
        statistic = bind(question, schema).statistic
        found = reference.comparable(opened.answer(statistic), statistic)
        assert found == reference.answer(table.to_pylist(), statistic, schema), question.name


LIES = {"v": 1e15, "v ": math.nan, "v  ": -math.inf, "k": 2**62, "k ": -(2**63), "c": "zz", "id": 10**9}


@pytest.mark.parametrize("unit", [Row(), Person("id", 1)], ids=["row", "person"])
@pytest.mark.parametrize("lie", LIES)
def test_a_false_footer_changes_no_answer(tmp_path, lie, unit):
    table = held(**{lie.strip(): LIES[lie]})
    draw = random.Random(f"{lie} {unit}")
    agrees(under_a_false_footer(held(), table, tmp_path), table, unit, draw.sample(ASKED, 5))


def test_texts_outside_the_extremes_of_the_footer_are_found(tmp_path):
    claimed = held().set_column(2, "c", pa.array(["zz"] * SIZE))
    for unit in (Row(), Person("id", 1)):
        agrees(under_a_false_footer(claimed, held(), tmp_path), held(), unit, [ASKED[5], ASKED[6], ASKED[7]])


BELIEVING = "SET disabled_optimizers = ''"


@pytest.mark.parametrize("moment", ["before", "after"])
def test_settings_that_users_change_change_no_answer(tmp_path, moment):
    table = held(v=math.nan)
    with backends.quiet():
        connection = ibis.duckdb.connect()
        source = connection.read_parquet(write(table, tmp_path / "a.parquet"))
    changed = (BELIEVING, "SET default_collation = 'NOCASE'", "SET integer_division = true")
    schema = Schema(SPACES)
    if moment == "before":
        for setting in changed:
            connection.raw_sql(setting)
    opened = sf.read(source, schema=schema)
    if moment == "after":
        for setting in changed:
            connection.raw_sql(setting)
    for question in ASKED:
        statistic = bind(question, schema).statistic
        found = reference.comparable(opened.answer(statistic), statistic)
        assert found == reference.answer(table.to_pylist(), statistic, schema), question.name


def test_connections_of_our_own_are_set_up_for_every_cursor_and_set_nothing_for_an_answer(monkeypatch):
    connection = backends.connected()
    told = [setting.split(maxsplit=3) for setting in backends.SETTINGS["duckdb"]]
    with connection.con.cursor() as cursor:
        for _, name, _, value in told:
            (held,) = cursor.execute(f"SELECT current_setting('{name}')::text").fetchone()
            assert held == value.strip("'"), name
    kept = backends.selected(connection, "SELECT 1 AS one", {"one": "int32"})
    monkeypatch.setitem(backends.SETTINGS, "duckdb", ("SET no_such_setting = 1",))
    assert backends.executed(kept)["one"].to_pylist() == [1]  # others' threads may be in the middle of a question


@pytest.fixture
def believing(monkeypatch):
    """DuckDB with statistics propagation on."""
    settings = (BELIEVING, *backends.SETTINGS["duckdb"][1:])
    monkeypatch.setitem(backends.SETTINGS, "duckdb", settings)
    monkeypatch.setattr(canary, "_tried", set())


def test_hidden_statistics_suffice_where_the_setting_fails(tmp_path, believing):
    table = held(v=math.nan, k=2**62)
    path = under_a_false_footer(held(), table, tmp_path)
    for unit in (Row(), Person("id", 1)):
        agrees(path, table, unit)


def test_the_setting_suffices_where_statistics_show(tmp_path, monkeypatch):
    monkeypatch.setattr(rows, "isolated", lambda table, *_: table)
    table = held(v=math.nan, k=2**62)
    agrees(under_a_false_footer(held(), table, tmp_path), table, Row())


def test_an_engine_that_believes_footers_is_refused(tmp_path, believing, monkeypatch):
    monkeypatch.setattr(canary, "isolated", lambda table, *_: table)
    monkeypatch.setattr("sfumato.engines.parquet.OPTIONS", "can_have_nan = false")
    with pytest.raises(SchemaError, match=r"trial question wrongly.*use a version"):
        sf.read(write(held(), tmp_path / "a.parquet"), schema=SPACES, dataset="d")


def test_a_locked_configuration_is_refused():
    with backends.quiet():
        connection = ibis.duckdb.connect()
        source = connection.create_table("held", held())
        connection.raw_sql("SET lock_configuration = true")
    with pytest.raises(SchemaError, match=r"refuses settings.*open another connection"):
        sf.read(source, schema=SPACES, dataset="d")


def test_a_user_s_own_parquet_tables_are_read_anew(tmp_path):
    table = held(v=math.nan)
    for name in ("it's [1].parquet", "plain.parquet"):
        write(table, tmp_path / name)
    with backends.quiet():
        source = ibis.duckdb.connect().read_parquet(tmp_path / "plain.parquet")
    for unit in (Row(), Person("id", 1)):
        agrees(source, table, unit, ASKED[:3])
        agrees(source.filter(source["k"] >= 0), table, unit, ASKED[:3])
        agrees(source.mutate(v=source["v"] * 1.0), table, unit, ASKED[:3])
        agrees(tmp_path / "it's [1].parquet", table, unit, ASKED[:3])


def test_lazy_sources_are_refused_by_name(tmp_path):
    (tmp_path / "a.csv").write_text("v\n1\n")
    write(held(), tmp_path / "a.parquet")
    write(held().cast(pa.schema([("v", pa.float32()), *list(held().schema)[1:]])), tmp_path / "b.parquet")
    with backends.quiet():
        connection = ibis.duckdb.connect()
        connection.raw_sql(f"CREATE VIEW seen AS SELECT * FROM '{tmp_path}/a.parquet'")
        lazy = [
            connection.read_csv(tmp_path / "a.csv"),
            connection.table("seen"),
            connection.create_table("own", held(), temp=True),
            connection.read_parquet([tmp_path / "a.parquet", tmp_path / "b.parquet"]),
            connection.read_parquet(tmp_path / "*.parquet"),
        ]
    for source in lazy:
        with pytest.raises(SchemaError, match=r"create_table|by their names|do not hold the same columns"):
            sf.read(source, schema={"v": SPACES["v"]}, dataset="d")


def test_views_of_databases_are_refused_whatever_they_hold(tmp_path):
    """A view may fail by what one row holds; whether it does is not looked at."""
    write(held(), tmp_path / "outside.parquet")
    connection = duckdb.connect(tmp_path / "a.duckdb")
    connection.register("rows", held(v=math.nan))
    connection.execute("CREATE TABLE held AS SELECT * FROM rows")
    connection.execute("CREATE VIEW within AS SELECT * FROM held")
    connection.execute("CREATE VIEW failing AS SELECT *, 'no number'::INTEGER AS w FROM held")
    connection.execute(f"CREATE VIEW beyond AS SELECT * FROM '{tmp_path}/outside.parquet'")
    connection.close()
    schema = Schema(SPACES)
    opened = sf.read(tmp_path / "a.duckdb", schema=schema, table="held")
    assert opened.answer(bind(mean("v"), schema).statistic)[0][0] == SIZE - 1
    for name in ("within", "failing", "beyond"):
        with pytest.raises(SchemaError, match=f"'{name}' in .* is a view; store its rows"):
            sf.read(tmp_path / "a.duckdb", schema=schema, table=name)


class Idle:
    """Stands for a connection that lives on somewhere."""


@pytest.mark.parametrize("kind", ["memory", "file"])
def test_threads_that_open_tables_at_once_do_not_meet(kind, tmp_path, monkeypatch):
    """As in a service: connections live while others are opened, one trial file and one list of filters serve all."""
    living = [Idle() for _ in range(20_000)]
    monkeypatch.setattr(backends, "OWN", WeakSet(living))
    monkeypatch.setattr(canary, "OWN", backends.OWN)
    monkeypatch.setattr(canary, "_tried", WeakSet())
    canary._trial_file.cache_clear()
    source, filters = held() if kind == "memory" else tmp_path / "held.parquet", list(warnings.filters)
    if kind == "file":
        pq.write_table(held(), source)
    with ThreadPoolExecutor(4) as pool:
        opened = list(pool.map(lambda _: sf.read(source, schema=SPACES, dataset="d"), range(24)))
    assert len(opened) == 24
    assert warnings.filters == filters
