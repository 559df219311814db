"""Values of every type that sources name, plain ones and odd ones, for `test_physical_types`."""

import itertools
import struct

import pyarrow as pa

import sfumato as sf
from sfumato.errors import SchemaError, SfumatoError
from sfumato.queries import bind

MOST = 2**63
TICKS = [0, 1, -1, MOST - 1, -MOST, 1 - MOST, MOST - 2, 10**15, -(10**15), 2**62, -(2**62), 253_402_300_800_000_000]
DAYS = [0, -1, 2**31 - 1, -(2**31), 1 - 2**31, 3_000_000, -3_000_000]
FLOATS = [
    0x7FF8000000000001,
    0xFFFFFFFFFFFFFFFF,
    0x7FF0000000000000,
    0xFFF0000000000000,
    1 << 63,
    1,
    0x7FEFFFFFFFFFFFFF,
]
TEXTS = [
    "",
    "\0",
    "1e999",
    "-inf",
    "nan",
    "9" * 400,
    "9999-99-99",
    "P9999999999999999999D",
    "99999999:59:59",
    "[,;",
    "é",
]

# DuckDB's types: values in SQL, plain ones and odd ones.
SQL = {
    "boolean": (["true", "false"], ["true"]),
    "tinyint": (["1", "2"], ["-128", "127", "0"]),
    "smallint": (["1", "2"], ["-32768", "32767"]),
    "integer": (["1", "2"], ["-2147483648", "2147483647"]),
    "bigint": (["1", "2"], ["-9223372036854775808", "9223372036854775807"]),
    "utinyint": (["1", "2"], ["0", "255"]),
    "usmallint": (["1", "2"], ["65535"]),
    "uinteger": (["1", "2"], ["4294967295"]),
    "ubigint": (["1", "2"], ["18446744073709551615", "9223372036854775808"]),
    "hugeint": (["1", "2"], [str(2**127 - 1), f"'-{2**127}'", str(10**38)]),
    "uhugeint": (["1", "2"], [f"'{2**128 - 1}'"]),
    "bignum": (["1", "2"], ["'" + "9" * 400 + "'"]),
    "decimal(38, 0)": (["1", "2"], ["9" * 38, "-" + "9" * 38]),
    "decimal(38, 37)": (["1", "2"], ["9." + "9" * 37]),
    "decimal(18, 2)": (["1", "2"], ["9" * 16 + ".99"]),
    "decimal(4, 4)": (["0.1", "0.2"], ["-0.9999"]),
    "float": (["1", "2"], ["'nan'", "'inf'", "'-inf'", "3.4e38", "1e-45", "-0.0"]),
    "double": (["1", "2"], ["'nan'", "'inf'", "'-inf'", "1.7e308", "5e-324", "-0.0"]),
    "varchar": (["'1'", "'2'"], [f"'{text}'" for text in TEXTS if "\0" not in text]),
    "varchar with a collation": (["'a' collate nocase", "'b'"], ["'A'", "''"]),
    "json": (["'1'", "'2'"], ["'{}'", "'null'"]),
    "enum('a', 'b', '1e999')": (["'a'", "'b'"], ["'1e999'"]),
    "blob": (["'a'", "'b'"], ["'\\xFF\\xFE'", "''"]),
    "uuid": ([f"'{'1' * 32}'", f"'{'2' * 32}'"], [f"'{'f' * 32}'", f"'{'0' * 32}'"]),
    "bit": (["'1'", "'0'"], ["'" + "1" * 200 + "'"]),
    "time": (["'07:30:00'", "'08:00:00'"], ["'00:00:00'", "'24:00:00'", "'23:59:59.999999'"]),
    "time_ns": (["'07:30:00'", "'08:00:00'"], ["'23:59:59.999999999'"]),
    "time with time zone": (["'07:30:00+00'", "'08:00:00+00'"], ["'00:00:00+15:59:59'", "'24:00:00-15:59:59'"]),
    "timestamptz_ns": (["'2024-01-01 00:00:00+00'", "'2024-01-02 00:00:00+00'"], ["'2262-01-01 00:00:00+00'"]),
    "interval": (["interval 1 hour", "interval 2 hours"],
                 ["interval 2147483647 months", "interval (-2147483647) days", "to_microseconds(9223372036854775807)",
                  "interval '2147483647 months 2147483647 days' + to_microseconds(9223372036854775807)"]),
    "integer[]": (["[1]", "[2, 1]"], ["[]", "[null]", "[2147483647, -2147483648]"]),
    "hugeint[]": (["[1]", "[2, 1]"], [f"[{2**127 - 1}]"]),
    "double[]": (["[1]", "[2, 1]"], ["['nan'::double]", "['inf'::double, null]"]),
    "varchar[]": (["['a']", "['b', 'a']"], ["['']", "[null, '9e999']"]),
    "integer[2]": (["[1, 2]", "[2, 1]"], ["[null, 2147483647]"]),
    "double[][]": (["[[1, 2]]", "[[2, 1]]"], ["[['nan'::double], []]", "[null]"]),
    "timestamp_s[]": (["['2024-01-01'::timestamp_s]"] * 2, ["[]"]),
    "struct(a integer)": (["{'a': 1}", "{'a': 2}"], ["{'a': null}"]),
    "map(integer, integer)": (["map{1: 1}", "map{2: 2}"], ["map{}"]),
    "union(a integer)": (["union_value(a := 1)", "union_value(a := 2)"], ["union_value(a := -2147483648)"]),
    "variant": (["1::variant", "2::variant"], ["'x'::variant"]),
    "tuple": (["row(1, 2)", "row(2, 1)"], ["row(null, 1)"]),
}  # fmt: skip


def take_bits(kind, raw):
    """Return an Arrow array of a type of 32 or 64 bits with these whole numbers as its bits; None is null."""
    width = {16: "h", 32: "i", 64: "q"}[kind.bit_width]
    size = 1 << kind.bit_width
    signed = [0 if one is None else (one + size // 2) % size - size // 2 for one in raw]
    held = pa.py_buffer(struct.pack(f"={len(raw)}{width}", *signed))
    valid = pa.array([one is not None for one in raw]).buffers()[1]
    return pa.Array.from_buffers(kind, len(raw), [valid, held])


def list_arrow():
    """Yield names, and Arrow arrays of plain and of odd values, for every type that can be had."""
    day = {"s": 86_400, "ms": 86_400_000, "us": 86_400_000_000, "ns": 86_400_000_000_000}
    for bits, sign in itertools.product((8, 16, 32, 64), ("int", "uint")):
        kind = getattr(pa, f"{sign}{bits}")()
        ends = (0, 2**bits - 1) if sign == "uint" else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)
        yield kind, pa.array([1, 2], kind), pa.array([*ends, None], kind)
    yield pa.bool_(), pa.array([True, False]), pa.array([True, None])
    yield pa.null(), pa.nulls(2), pa.nulls(1)
    for kind, patterns in ((pa.float16(), [0x7E01, 0xFFFF, 0x7C00, 0xFC00, 1]), (pa.float64(), FLOATS),
                           (pa.float32(), [0x7FC00001, 0xFFFFFFFF, 0x7F800000, 0xFF800000, 1])):  # fmt: skip
        yield kind, pa.array([1.0, 2.0]).cast(kind), take_bits(kind, [*patterns, None])
    for unit, zone in itertools.product(day, (None, "UTC", "Asia/Tokyo")):
        kind = pa.timestamp(unit, zone)
        yield kind, take_bits(kind, [19_800 * day[unit], 19_801 * day[unit]]), take_bits(kind, [*TICKS, None])
    for unit in day:
        kind = pa.duration(unit)
        yield kind, take_bits(kind, [day[unit] // 24, day[unit] // 12]), take_bits(kind, [*TICKS, None])
        kind = pa.time32(unit) if unit in ("s", "ms") else pa.time64(unit)
        odd = DAYS if unit in ("s", "ms") else TICKS
        yield kind, take_bits(kind, [day[unit] // 24, day[unit] // 12]), take_bits(kind, [*odd, None])
    yield pa.date32(), take_bits(pa.date32(), [19_800, 19_801]), take_bits(pa.date32(), [*DAYS, None])
    yield pa.date64(), take_bits(pa.date64(), [19_800 * day["ms"]] * 2), take_bits(pa.date64(), [*TICKS, None])
    for make, digits in ((pa.decimal32, 9), (pa.decimal64, 18), (pa.decimal128, 38), (pa.decimal256, 76)):
        kind = make(digits, 2)
        most = int("9" * digits)
        big = pa.scalar(f"{most // 100}.99").cast(kind) if digits < 39 else pa.scalar(f"-{most // 100}.99").cast(kind)
        yield kind, pa.array(["1", "2"]).cast(kind), pa.array([big.as_py(), None], kind)
    bad = pa.array([b"\xff\xfe", b"", b"1\xe9", None])
    text = pa.Array.from_buffers(pa.string(), 4, bad.buffers())
    yield pa.string(), pa.array(["1", "2"]), pa.concat_arrays([text, pa.array(TEXTS)])
    yield pa.large_string(), pa.array(["1", "2"], pa.large_string()), pa.array(TEXTS, pa.large_string())
    yield pa.string_view(), pa.array(["1", "2"], pa.string_view()), pa.array(TEXTS, pa.string_view())
    for kind in (pa.binary(), pa.large_binary(), pa.binary_view(), pa.binary(2)):
        yield kind, pa.array([b"11", b"22"], kind), pa.array([b"\xff\xfe", b"\0\0", None], kind)
    coded = pa.dictionary(pa.int8(), pa.string())
    yield coded, pa.array(["1", "2"], coded), pa.array([*TEXTS, None], coded)
    far = take_bits(pa.timestamp("s"), TICKS)
    times = pa.dictionary(pa.int8(), pa.timestamp("s"))
    plain = take_bits(pa.timestamp("s"), [0, 86_400]).dictionary_encode().indices.cast(pa.int8())
    yield (times, pa.DictionaryArray.from_arrays(plain, take_bits(pa.timestamp("s"), [0, 86_400])),
           pa.DictionaryArray.from_arrays(pa.array(range(len(far)), pa.int8()), far))  # fmt: skip
    runs = pa.RunEndEncodedArray.from_arrays(pa.array([1, 2], pa.int32()), pa.array([1, 2], pa.int64()))
    yield (
        runs.type,
        runs,
        pa.RunEndEncodedArray.from_arrays(pa.array([1], pa.int32()), pa.array([MOST - 1], pa.int64())),
    )
    for inner in (pa.int64(), pa.float64(), pa.string()):
        values = [["1"], ["2", "1"]] if inner == pa.string() else [[1], [2, 1]]
        odd = [[None], [], None, ["1e999"]] if inner == pa.string() else [[None], [], None]
        for make in (pa.list_, pa.large_list, pa.list_view, pa.large_list_view):
            yield make(inner), pa.array(values, make(inner)), pa.array(odd, make(inner))
        fixed = pa.list_(inner, 2)
        yield fixed, pa.array([v * 2 if len(v) == 1 else v for v in values], fixed), pa.array([None], fixed)
    deep = pa.list_(pa.list_(pa.float64()))
    yield deep, pa.array([[[1, 2]], [[2, 1]]], deep), pa.array([[None], [], None, [[], [1]]], deep)
    struct_kind, map_kind = pa.struct([("a", pa.int64())]), pa.map_(pa.int64(), pa.int64())
    yield struct_kind, pa.array([{"a": 1}, {"a": 2}], struct_kind), pa.array([None, {"a": MOST - 1}], struct_kind)
    yield map_kind, pa.array([[(1, 1)], [(2, 2)]], map_kind), pa.array([None, []], map_kind)
    months = pa.month_day_nano_interval()
    yield months, pa.array([(1, 1, 1), (2, 2, 2)], months), pa.array([(2**31 - 1, 2**31 - 1, MOST - 1), None], months)
    for extended, plain, odd in ((pa.uuid(), [b"1" * 16, b"2" * 16], [b"\xff" * 16, None]),
                                 (pa.json_(), ["1", "2"], ["{}", None]),
                                 (pa.bool8(), [1, 0], [-128, None])):  # fmt: skip
        storage = extended.storage_type
        yield (extended, pa.ExtensionArray.from_storage(extended, pa.array(plain, storage)),
               pa.ExtensionArray.from_storage(extended, pa.array(odd, storage)))  # fmt: skip
    sparse = pa.UnionArray.from_sparse(pa.array([0, 0], pa.int8()), [pa.array([1, 2]), pa.array(["a", "b"])])
    yield sparse.type, sparse, sparse
    dense = pa.UnionArray.from_dense(pa.array([0, 0], pa.int8()), pa.array([0, 1], pa.int32()), [pa.array([1, 2])])
    yield dense.type, dense, dense


def list_spaces():
    """Yield a name for each form that a column is declared in, and the space."""
    return {
        "number": sf.Interval(0, 120, 0.5, na=[99]),
        "imputed": sf.Interval(0, 120, 0.5, na=[99], missing=1),
        "whole": sf.Integers(0, 9, na=[7]),
        "plain": sf.Integers(0, 9),
        "dates": sf.Dates("2024-01-01", "2024-04-30", na=["2024-02-01"]),
        "clock": sf.TimeOfDay(step=3600),
        "elapsed": sf.Duration(0, 24, "hours", step=0.25, missing=1),
        "labels": sf.Categories([1, 2], other=3, missing=3, na=[9]),
        "codes": sf.Categories([1, 2]),
        "texts": sf.Categories(["a", "b"], na=["?"]),
        "truths": sf.Categories([False, True]),
        "sets": sf.Subsets([1, 2], cap=1, na=[9]),
        "words": sf.Subsets(["a", "b"], cap=1),
        "curve": sf.Curves(points=[0, 1], low=0, high=3, step=1),
        "box": sf.Box(0, 3, shape=(2,), step=1),
        "string": sf.Texts(4, na=["?"]),
    }


def list_questions(space, persons):
    """Return questions that read the column in each way that it can be read; all columns decide which rows count."""
    null = [] if space.curve is not None and persons else [sf.count().where("v is null")]
    if persons:
        return null or [sf.count()]
    if space.lattice is not None:
        null = [sf.count().where("v is null or w is null"), sf.mean("v"), sf.histogram("v")]
    if space.labels is not None and not space.form.listed:
        null.append(sf.histogram("v"))
    return [*null, sf.mean("v[0]")] if space.size is not None else null


EVENTS = pa.table({"x": [place % 9 for place in range(40)], "pid": [f"p{place}" for place in range(40)]})


def answer_joined(source, space):
    """Return what events come to whose persons have the column as an attribute."""
    who = {"schema": {"x": sf.Integers(0, 9)}, "unit": "pid", "rows": 1, "dataset": "d"}
    try:
        table = sf.read(EVENTS, people=source, attributes={"v": space}, **who)
    except SchemaError as error:
        return str(error)
    for question in list_questions(space, persons=True):
        bind(question, table.schema).answer(table)
    return "answered"


def answer_all(source, space, persons):
    """Return what the table comes to: the refusal's text, or that everything was answered."""
    derived = {"w": ("v + x", sf.Interval(0, 99, 1))} if space.lattice is not None and space.form.plain else None
    derived = derived or ({"w": ("hour(v) + x", sf.Integers(0, 99))} if space.part("hour") is not None else None)
    derived = derived or ({"w": ("year(v) + x", sf.Integers(0, 9999))} if space.part("year") is not None else None)
    who = {"unit": "pid", "rows": 1} if persons else {}
    try:
        table = sf.read(source, schema={"v": space, "x": sf.Integers(0, 9)}, dataset="d", derived=derived, **who)
    except SchemaError as error:
        return str(error)
    for question in list_questions(space, persons):
        bound = bind(question, table.schema)
        bound.answer(table)
    if not persons and space.longest is None:
        for _ in table.rows(["v", "x"]):
            pass
    return "answered"


def compare(name, plain, odd, space, failures, joins=True):
    """Note where a question about a table fails, or its refusal differs, by the odd values; return whether it is read.

    The column is one of rows, one of persons' rows, and with `joins` an attribute of people beside other events.
    """
    ways = {
        "rows": lambda source: answer_all(source, space, False),
        "persons": lambda source: answer_all(source, space, True),
        **({"people": lambda source: answer_joined(source, space)} if joins else {}),
    }
    for way, answer in ways.items():
        said = []
        for source in (plain, odd):
            try:
                said.append(answer(source))
            except SfumatoError as error:
                said.append(f"FAILED {type(error).__name__}: {str(error)[:90]}")
            except Exception as error:  # nothing may
                said.append(f"RAISED {type(error).__name__}: {str(error)[:150]}")
        if said[0] != said[1] or any(one.startswith(("FAILED", "RAISED")) for one in said):
            failures.append((name, way, *said))
        if said[0] != "answered":
            return int(way == "people")
    return 1


def with_others(column):
    """Return the Arrow column as one of a table with identifiers and another column."""
    size = len(column)
    return pa.table(
        {"v": column, "x": pa.array([place % 9 for place in range(size)]), "pid": [f"p{i}" for i in range(size)]}
    )


def store(con, name, rows):
    """Keep an Arrow table in a DuckDB connection."""
    con.register("arriving", rows)
    con.execute(f"CREATE OR REPLACE TABLE {name} AS SELECT * FROM arriving")
    con.unregister("arriving")


def store_sql(con, name, kind, values):
    """Keep values of a DuckDB type, given in SQL, in a connection."""
    plain = kind in ("variant", "tuple", "interval") or kind.startswith(("union", "struct")) or "collation" in kind
    cast = "{}" if plain else f"CAST({{}} AS {kind})"
    lines = " UNION ALL ".join(
        f"SELECT {cast.format(value)} AS v, {place % 9} AS x, 'p{place}' AS pid" for place, value in enumerate(values)
    )
    con.execute(f"CREATE OR REPLACE TABLE {name} AS {lines}")


LOADED = [pa.timestamp("s"), pa.timestamp("ms"), pa.timestamp("us"), pa.timestamp("ns"), pa.timestamp("us", "UTC"),
          pa.time64("us"), pa.time64("ns"), pa.duration("us"), pa.date32(), pa.float64(), pa.float32()]  # fmt: skip


def store_types(con, wanted=None):
    """Store the types (None: all) in a DuckDB connection as `plain_N` and `odd_N`; return their names."""
    con.execute("SET TimeZone = 'UTC'")
    names = []
    for kind, (plain, odd) in SQL.items():
        if wanted is None or kind in wanted:
            store_sql(con, f"plain_{len(names)}", kind, plain)
            store_sql(con, f"odd_{len(names)}", kind, [*plain, *odd])
            names.append(kind)
    for kind, plain, odd in list_arrow():
        if kind in LOADED and (wanted is None or str(kind) in wanted):
            store(con, f"plain_{len(names)}", with_others(plain))
            store(con, f"odd_{len(names)}", with_others(pa.concat_arrays([plain, odd])))
            names.append(str(kind))
    return names


def join_values(plain, odd):
    """Return plain and odd values in one array; of types that Arrow cannot join, the odd ones alone."""
    try:
        return pa.concat_arrays([plain, odd])
    except (pa.ArrowException, TypeError):
        return odd
