"""No value decides whether a question fails: every type that a source names, at its extremes, in every space.

Each table is read twice, with plain values and with odd ones beside them: both are refused, in the same words, or both
are answered.  A type that a source names and no list decides fails here.
"""

import warnings

import duckdb
import ibis
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import sfumato as sf
from frame_cases import list_numpy, list_pandas, list_polars
from sfumato.engines import coercion, guarding, physical_types
from sfumato.engines.physical_types import ARROW, DUCKDB, ENCODED, SPARK
from sfumato.errors import SchemaError
from sfumato.queries import bind
from typing_cases import (
    TICKS,
    compare,
    join_values,
    list_arrow,
    list_spaces,
    store_types,
    take_bits,
    with_others,
)

QUICK = {"hugeint", "timestamp[s]"}


def read_all(kinds, door, spaces=None, joins=True):
    """Compare what every type comes to, in every space; return the failures and how many pairs were answered."""
    failures, answered = [], 0
    for kind, plain, odd in kinds:
        for name, space in list_spaces().items():
            if spaces is None or name in spaces:
                answered += compare(f"{door}: {kind} as {name}", plain, odd, space, failures, joins)
    print(f"{door}: {len(kinds)} types, {answered} answered")
    return failures, answered


def list_stored(con, wanted=None):
    names = store_types(con.con, wanted)
    with warnings.catch_warnings(action="ignore"):
        return [(kind, con.table(f"plain_{i}"), con.table(f"odd_{i}")) for i, kind in enumerate(names)]


def list_frames(make, wanted=None):
    """Arrow's types in frames of one kind; those that it cannot hold are left out."""
    found = []
    for kind, plain, odd in list_arrow():
        if wanted is not None and str(kind) not in wanted:
            continue
        try:
            found.append((kind, make(with_others(plain)), make(with_others(join_values(plain, odd)))))
        except BaseException as error:  # polars panics where it has no such type
            if isinstance(error, KeyboardInterrupt):
                raise
    return found


def list_own(listed, wanted=None):
    """A library's own types, in its frames."""
    if listed is list_pandas:
        import pandas as library
    else:
        import polars as library
    found = []
    for kind, plain, odd in listed():
        if wanted is None or str(kind) in wanted:
            found.append((kind, with_others_in(library, plain), with_others_in(library, odd)))
    return found


def with_others_in(library, column):
    size = len(column)
    others = {"x": [place % 9 for place in range(size)], "pid": [f"p{place}" for place in range(size)]}
    return library.DataFrame({"v": column, **others})


def make_pandas(table):
    import pandas as pd

    column = table["v"].combine_chunks() if isinstance(table["v"], pa.ChunkedArray) else table["v"]
    values = pd.Series(pd.arrays.ArrowExtensionArray(pa.chunked_array([column])))
    return pd.DataFrame({"v": values, "x": table["x"].to_pandas(), "pid": table["pid"].to_pandas()})


def make_polars(table):
    import polars as pl

    return pl.from_arrow(table)


# coverage: every type that a source names is decided
def test_every_type_of_duckdb_is_decided():
    named = {name.lower() for (name,) in duckdb.sql("SELECT DISTINCT logical_type FROM duckdb_types()").fetchall()}
    assert named <= DUCKDB.keys(), named - DUCKDB.keys()


def test_every_type_of_arrow_is_decided():
    named = {name.removeprefix("Type_").lower() for name in dir(pa.lib) if name.startswith("Type_")}
    assert named <= {*ARROW, *ENCODED}, named - {*ARROW, *ENCODED}
    listed = {name for kind, _, _ in list_arrow() for name in physical_types.name_arrow_type(kind)}
    assert {*ARROW} - listed <= {"interval_months", "interval_day_time"}  # which Python cannot make


def test_every_type_of_spark_is_decided():
    types = pytest.importorskip("pyspark.sql.types")
    named = {one.__name__ for one in vars(types).values() if isinstance(one, type) and issubclass(one, types.DataType)}
    abstract = {"DataType", "AtomicType", "NumericType", "IntegralType", "FractionalType", "AnsiIntervalType",
                "AnyTimeType", "DatetimeType", "SpatialType", "StructField"}  # fmt: skip
    assert named - abstract <= SPARK.keys(), named - abstract - SPARK.keys()


def test_every_type_of_numpy_pandas_and_polars_is_decided():
    """Their extremes are in `frame_cases`, where a new one belongs."""
    import polars as pl
    from pandas.core.dtypes.base import _registry

    held = {plain.dtype.type for plain, _ in list_numpy()}
    assert {getattr(np.dtypes, name).type for name in np.dtypes.__all__} <= held
    held = {type(plain.dtype).__name__ for _, plain, _ in list_pandas()}
    assert {one.__name__ for one in _registry.dtypes} - held <= {"ArrowDtype"}  # of which `list_arrow` has all
    held = {type(plain.dtype).__name__ for _, plain, _ in list_polars()}
    concrete = [one for one in descend(pl.DataType) if not [*descend(one)] and one.__module__.startswith("polars")]
    assert {one.__name__ for one in concrete} - held <= {"Unknown", "Map", "Extension"}


def descend(kind):
    for one in kind.__subclasses__():
        yield one
        yield from descend(one)


# the quick part: what was wrong once, and its neighbors
def test_coarse_times_and_wide_numbers_of_duckdb_decide_nothing():
    failures, answered = read_all(list_stored(ibis.duckdb.connect(), QUICK), "DuckDB", ("whole", "dates"))
    assert not failures
    assert answered == 2


def test_times_of_frames_decide_nothing():
    failures, _ = read_all(list_frames(make_pandas, {"date32[day]"}), "pandas", ("plain", "string"))
    assert not failures
    wanted = {"date32[day]", "time64[us]", "timestamp[s, tz=UTC]"}
    failures, _ = read_all(list_frames(lambda table: table, wanted), "Arrow", ("plain", "dates", "clock", "string"))
    assert not failures


# the whole
@pytest.mark.heavy
@pytest.mark.parametrize("spaces", [[name] for name in list_spaces()], ids=str)
def test_no_value_of_duckdb_decides_whether_a_question_fails(spaces):
    failures, _ = read_all(list_stored(ibis.duckdb.connect()), "DuckDB", spaces)
    assert not failures


@pytest.mark.heavy
@pytest.mark.parametrize("make", [lambda table: table, make_pandas, make_polars], ids=["arrow", "pandas", "polars"])
@pytest.mark.parametrize("spaces", [[name] for name in list_spaces()], ids=str)
def test_no_value_of_a_frame_decides_whether_a_question_fails(make, spaces):
    failures, _ = read_all(list_frames(make), "frame", spaces, joins=False)
    assert not failures


@pytest.mark.heavy
@pytest.mark.parametrize(
    ("listed", "spaces"),
    [(list_pandas, ["labels"]), (list_pandas, ["string"])]
    + [(list_polars, [name]) for name in ("number", "imputed", "whole", "plain", "dates", "clock", "elapsed")],
    ids=lambda each: "-".join(each) if isinstance(each, list) else each.__name__,
)
def test_no_value_of_a_type_of_a_library_decides_whether_a_question_fails(listed, spaces):
    failures, _ = read_all(list_own(listed), listed.__name__, spaces)
    assert not failures


@pytest.mark.heavy
@pytest.mark.parametrize("spaces", [[name] for name in list_spaces()], ids=str)
def test_no_value_of_a_parquet_file_decides_whether_a_question_fails(tmp_path, spaces):
    def write(table):
        path = tmp_path / f"{len(list(tmp_path.iterdir()))}.parquet"
        try:
            pq.write_table(table, path)
        except BaseException:
            path.unlink(missing_ok=True)
            raise
        return path

    failures, _ = read_all(list_frames(write), "Parquet", spaces, joins=False)
    assert not failures


# planted: omissions that the net above catches
def plant_a_list_that_takes_times(monkeypatch):
    """Coarse times are read as they are."""
    monkeypatch.setattr(guarding, "COARSE", ())


def plant_a_null_of_decimals(monkeypatch):
    """Wide whole numbers are compared with codes before they are doubles."""
    whole = coercion._without
    monkeypatch.setattr(coercion, "number_of", lambda raw, form: whole(raw, (99.0,), "float64"))


@pytest.mark.parametrize(
    ("plant", "kinds"),
    [(plant_a_list_that_takes_times, {"timestamp[s]"}), (plant_a_null_of_decimals, {"hugeint"})],
)
def test_planted_omissions_are_caught(monkeypatch, plant, kinds):
    from sfumato.engines import table

    monkeypatch.setattr(table, "can_attempt", lambda backend: False)  # the second wall would hide it
    plant(monkeypatch)
    failures, _ = read_all(list_stored(ibis.duckdb.connect(), kinds), "DuckDB", ("whole", "dates"))
    assert failures


def test_a_type_that_the_list_lacks_is_caught(monkeypatch):
    monkeypatch.delitem(DUCKDB, "timestamp_ns")
    with pytest.raises(AssertionError):
        test_every_type_of_duckdb_is_decided()


# identifiers: none that the source tells apart are one
def count_persons(source):
    table = sf.read(source, schema={"x": sf.Integers(0, 9)}, dataset="d", unit="pid", rows=1)
    return int(bind(sf.count(), table.schema).answer(table)[0])


@pytest.mark.parametrize("make", [lambda table: table, make_pandas], ids=["arrow", "pandas"])
def test_identifiers_of_frames_are_never_taken_for_one(make):
    """Of two times that differ in one tick both count, or none where it has no meaning."""
    for kind in (pa.timestamp("ns", "UTC"), pa.timestamp("s", "UTC"), pa.time64("ns"), pa.duration("ns"), pa.date64()):
        rows = pa.table({"pid": take_bits(kind, TICKS), "x": [1] * len(TICKS), "v": [1] * len(TICKS)})
        if make is make_pandas:
            import pandas as pd

            rows = pd.DataFrame({"pid": pd.Series(pd.arrays.ArrowExtensionArray(rows["pid"])), "x": [1] * len(TICKS)})
        assert count_persons(rows) == len(TICKS), kind


def test_long_numbers_and_fine_times_of_frames_are_never_taken_for_one():
    import pandas as pd

    longs = np.array([2**63, 2**63 + 1, 0.5], dtype=np.longdouble)
    fine = [np.datetime64(1, "as"), np.datetime64(2, "as"), np.datetime64(1, "ns")]
    for series in (pd.Series(longs), pd.Series(list(longs), dtype=object), pd.Series(fine, dtype=object)):
        assert count_persons(pd.DataFrame({"pid": series, "x": [1, 1, 1]})) == 3


@pytest.mark.parametrize("kind", ["interval", "integer[]", "time with time zone", "json", "bit"])
def test_identifiers_whose_equality_may_be_coarse_are_refused_by_name(kind):
    con = ibis.duckdb.connect()
    ((_, plain, _),) = list_stored(con, {kind})
    with pytest.raises(SchemaError, match="'v' identifies persons and is of the DuckDB type"):
        sf.read(plain, schema={"x": sf.Integers(0, 9)}, dataset="d", unit="v", rows=1)
