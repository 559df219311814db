"""Parquet files on DuckDB: declared columns only, read so that no value can raise.

Most types are read by DuckDB itself.  What it would refuse by value (times beyond its range) or change (identifiers
that are not UTF-8) goes through Arrow as the file holds it, as whole numbers and bytes, and becomes a day, an elapsed
time or a text by guarded arithmetic.  A text that is not UTF-8 becomes one with `?` in it; identifiers are compared as
bytes.  Which way a file takes is decided by the types in its footer, which are public, never by values.
"""

from __future__ import annotations

import datetime
import glob
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import reduce
from pathlib import Path
from typing import TYPE_CHECKING

import ibis
import ibis.expr.datatypes as dt
import pyarrow as pa
import pyarrow.parquet as pq

from sfumato.engines.backends import bound, connected, decode, selected
from sfumato.engines.coercion import check_declared, reads_clock
from sfumato.engines.fields import found, kind_at, nested, places_of
from sfumato.engines.files import Files, must_be_apart
from sfumato.errors import SchemaError
from sfumato.privacy.adjacency import Person
from sfumato.spaces.schema import Schema

if TYPE_CHECKING:
    import ibis.expr.types as ir
    from ibis.backends.duckdb import Backend

__all__ = ["engine_types", "everything", "file_types", "opened", "read_columns", "time_units"]

Kinds = Mapping[str, pa.DataType]

NOTHING = "CAST(NULL AS VARCHAR)"  # a column of no type
OPTIONS = "can_have_nan = true, utf8_validation = 'replace', hive_partitioning = false"
TICKS = {"s": 86_400, "ms": 86_400 * 10**3, "us": 86_400 * 10**6, "ns": 86_400 * 10**9}  # of a day
WIDEST = 38  # digits of a decimal number in DuckDB, which reads longer ones as floats
FURTHEST = 3_000_000  # days before or after 1970: eight thousand years, beyond every date that can be declared


@ibis.udf.scalar.builtin(name="try")  # type: ignore[untyped-decorator]
def attempted(text: str) -> str:  # type: ignore[empty-body]
    """Null where its argument would raise."""


@ibis.udf.scalar.builtin  # type: ignore[untyped-decorator]
def make_date(day: dt.int32) -> datetime.date:  # type: ignore[empty-body]
    """The date so many days after 1970-01-01."""


@ibis.udf.scalar.builtin  # type: ignore[untyped-decorator]
def divide(one: int, other: int) -> int:  # type: ignore[empty-body]
    """The whole part of a quotient; Ibis divides floats."""


@ibis.udf.scalar.builtin(signature=((dt.int64,), dt.Interval("us")))  # type: ignore[untyped-decorator]
def to_microseconds(micros: int) -> object:
    """DuckDB's own: the elapsed time of so many microseconds."""


def opened(files: Files, schema: Schema, backend: Backend | None = None) -> ir.Table:
    """The declared columns of files, and their identifiers, as an Ibis table."""
    kinds = file_types(files)
    unit = schema.unit.column if isinstance(schema.unit, Person) else None
    if unit in files.keys:
        raise SchemaError(f"{unit!r} identifies persons and is part of the files' paths; store it within the files")
    places = places_of(schema, kinds)
    check_declared(schema, engine_types(kinds) | {name: _engine_type(kind_at(kinds, p)) for name, p in places.items()})
    for path in [*places.values(), *([] if unit is None else [(unit,)])]:
        _must_be_told_apart(path, kinds)
    if unit is not None and _hides(kinds.field(unit).type):
        raise SchemaError(
            f"{unit!r} identifies persons by lists or records of texts or long decimals, of which two may be read as "
            "one; store one number or text for each person"
        )
    if unit is not None and _may_be_times(kinds.field(unit).type) and files.rounded(unit):
        raise SchemaError(
            f"{unit!r} identifies persons by times of the old form INT96, of which two within a microsecond are read "
            "as one; write the file anew with times of 64 bits, or store one number or text for each person"
        )
    held = {name: kind_at(kinds, path) for name, path in places.items()}
    held |= {} if unit is None else {unit: kinds.field(unit).type}
    clocks = {name for name, space in schema.held.items() if reads_clock(space.form)}
    return read_columns(files, held, unit, backend, places, clocks)


def everything(files: Files, backend: Backend | None = None) -> ir.Table:
    """Every column that DuckDB reads whatever it holds; for reports, and for expressions of a user's own."""
    kinds = {field.name: field.type for field in file_types(files)}
    plain = {name: kind for name, kind in kinds.items() if _is_plain(kind)}
    for name in plain:
        _must_be_told_apart((name,), pa.schema(kinds))
    return read_columns(files, plain, None, backend)


def _must_be_told_apart(path: Sequence[str], held: Iterable[pa.Field]) -> None:
    """Refuse what DuckDB would take for another column or field, whose type is not the one that was compared."""
    for name in path:
        fields = {field.name: field.type for field in held}
        if [field.name.casefold() for field in held].count(name.casefold()) > 1:
            raise SchemaError(
                f"the file has several columns called {name!r} but for capitals, which the engine cannot tell apart; "
                "rename one"
            )
        held = fields[name] if pa.types.is_struct(fields[name]) else ()


def file_types(files: Files) -> pa.Schema:
    """The Arrow schema of files, from their footers, and the texts in their paths; several must hold the same."""
    if files.store is None:
        for path in files.paths:
            if not path.is_file():
                raise SchemaError(f"{path} is no file; Parquet files are read by their names, without patterns")
        must_be_apart(files)
    found = files.footer(files.paths[0])
    for number, path in enumerate(files.paths[1:], start=2):
        if not found.equals(other := files.footer(path)):
            raise SchemaError(  # folders' names may be values
                f"{files.paths[0].name} and {path.name}, the first file and number {number} by their paths, do not "
                "hold the same columns of the same types, in one order: "
                f"{_differing(found, other)}; Parquet files that are read together must, so write one of them anew"
            )
    inside = {name.casefold() for name in found.names}
    for key in files.keys:
        if key.casefold() in inside:
            raise SchemaError(f"{key!r} is a column of the files and part of their paths; rename one")
        found = found.append(pa.field(key, pa.string()))
    return found


def _differing(one: pa.Schema, other: pa.Schema) -> str:
    """Which columns two files hold differently, from their footers, which are public."""
    pairs = [{field.name: str(field.type) for field in held} for held in (one, other)]
    names = sorted(name for name, _ in set(pairs[0].items()) ^ set(pairs[1].items()))
    return ", ".join(map(repr, dict.fromkeys(names))) or "their order, or whether values may be missing"


def time_units(path: Path) -> dict[str, str]:
    """The units of times in a file, by column; nothing if it is no Parquet file."""
    try:
        kinds = pq.read_schema(path.absolute())
    except Exception:
        return {}
    return {field.name: field.type.unit for field in kinds if pa.types.is_timestamp(field.type)}


def engine_types(kinds: pa.Schema) -> dict[str, dt.DataType]:
    """The types as engines call them."""
    return {field.name: _engine_type(field.type) for field in kinds}


def read_columns(
    files: Files,
    kinds: Kinds,
    unit: str | None,
    backend: Backend | None = None,
    places: Mapping[str, tuple[str, ...]] | None = None,
    clocks: Collection[str] = (),
) -> ir.Table:
    """These columns of files that hold the same types.

    `places` says which are found elsewhere than under their own names, `clocks` of which timestamps the time of day is
    wanted.
    """
    backend = connected() if backend is None else backend
    places = {name: (name,) for name in kinds} | dict(places or {})
    if files.store is not None or any(name in files.keys or _raw(kind, name == unit) for name, kind in kinds.items()):
        return _through_arrow(files, kinds, unit, backend, places, clocks)
    return _by_duckdb(files, kinds, backend, places)


def _by_duckdb(files: Files, kinds: Kinds, backend: Backend, places: Mapping[str, tuple[str, ...]]) -> ir.Table:
    read = {name: _readable(_extracted(places[name]), kind) for name, kind in kinds.items()}
    names = ", ".join(f"{column} AS {_extracted((name,))}" for name, column in read.items())
    listed = ", ".join(_quoted(glob.escape(str(path.absolute())), "'") for path in files.paths)
    types = {name: _engine_type(kind) for name, kind in kinds.items()}
    return selected(backend, f"SELECT {names} FROM read_parquet([{listed}], {OPTIONS})", types)


def _readable(column: str, kind: pa.DataType) -> str:
    """A column so that nothing that reads it raises; the furthest days are DuckDB's infinities."""
    if pa.types.is_null(kind):
        return NOTHING
    if not pa.types.is_date32(kind):
        return column
    first, last = f"make_date({-FURTHEST})", f"make_date({FURTHEST})"
    return f"CASE WHEN {column} > {last} THEN {last} WHEN {column} < {first} THEN {first} ELSE {column} END"


def _extracted(path: tuple[str, ...]) -> str:
    """A column, or a field within it, in DuckDB's words."""
    column, *fields = path
    names = (_quoted(name, "'") for name in fields)
    return reduce(lambda inner, name: f"struct_extract({inner}, {name})", names, _quoted(column, '"'))


def _through_arrow(
    files: Files,
    kinds: Kinds,
    unit: str | None,
    backend: Backend,
    places: Mapping[str, tuple[str, ...]],
    clocks: Collection[str],
) -> ir.Table:
    raw = {
        places[name]: kind if name in files.keys else _raw(kind, name == unit) or _undecoded(kind)
        for name, kind in kinds.items()
    }
    held = pa.schema(list(nested(raw)))
    rows = bound(ibis.memtable(files.dataset(held)), backend)
    return rows.select(
        **{
            name: rows[name] if name == unit else _typed(found(rows, places[name]), kind, name in clocks)
            for name, kind in kinds.items()
        }
    )


def _raw(kind: pa.DataType, identifier: bool) -> pa.DataType | None:
    """How the file holds what DuckDB would convert, or None."""
    if pa.types.is_timestamp(kind) or pa.types.is_duration(kind) or pa.types.is_time64(kind):
        return pa.int64()
    if pa.types.is_time32(kind) or (identifier and pa.types.is_date(kind)):  # days of persons stay as far apart
        return pa.int32()
    if identifier and pa.types.is_decimal256(kind):  # as floats two persons may be one
        return pa.string()
    return pa.binary() if identifier and _is_text(kind) else None


def _hides(kind: pa.DataType) -> bool:
    """Whether values of several parts may be the same to DuckDB though they differ."""
    parts = [kind.field(place).type for place in range(kind.num_fields)]
    return any(_is_text(part) or pa.types.is_decimal256(part) or _hides(part) for part in parts)


def _may_be_times(kind: pa.DataType) -> bool:
    """Whether values are times, or may hold some: nothing else is stored in the old form."""
    return bool(pa.types.is_timestamp(kind) or pa.types.is_nested(kind))


def _undecoded(kind: pa.DataType) -> pa.DataType:
    """A type beside raw ones: texts as bytes, and none that DuckDB cannot take over from Arrow."""
    if pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind):
        return pa.list_(_undecoded(kind.value_type))
    if pa.types.is_float16(kind):
        return pa.float32()
    if pa.types.is_decimal256(kind):
        return pa.float64()
    if pa.types.is_date(kind):
        return pa.int32()
    return pa.binary() if _is_text(kind) else kind


def _typed(column: ir.Column, kind: pa.DataType, clock: bool) -> ir.Column:
    """A raw column as a day, an elapsed time (of a timestamp, perhaps that since midnight) or a text."""
    if pa.types.is_timestamp(kind) and clock:
        within = column % TICKS[kind.unit]
        return to_microseconds(
            _micros(ibis.ifelse(within < 0, within + TICKS[kind.unit], within), TICKS[kind.unit] // 86_400)
        )
    if pa.types.is_date(kind):
        return make_date(column.clip(-FURTHEST, FURTHEST))
    if pa.types.is_timestamp(kind):
        return make_date(_day(column, TICKS[kind.unit]).cast("int32"))
    if pa.types.is_duration(kind) or pa.types.is_time(kind):
        return to_microseconds(_micros(column.cast("int64"), TICKS[kind.unit] // 86_400))
    if isinstance(column.type(), dt.Array) and column.type().value_type.is_binary():
        return column.map(_text)
    return _text(column) if column.type().is_binary() else column


def _day(ticks: ir.Column, day: int) -> ir.Column:
    """The day in which a number of ticks lies; far ones are cut first, so that nothing overflows."""
    most = min(FURTHEST, 2**63 // day - 1)
    within = ticks % day
    started = ticks - ibis.ifelse(within < 0, within + day, within)
    return ibis.cases(
        (ticks < -most * day, ibis.literal(-most - 1, "int64")),
        (ticks >= most * day, ibis.literal(most, "int64")),
        (ticks.notnull(), divide(started, day)),
        else_=ibis.null("int64"),
    )


def _micros(ticks: ir.Column, second: int) -> ir.Column:
    """Microseconds, rounded down, of ticks of which a second has so many; long ones are cut, so that none overflows."""
    if second > 10**6:
        coarse = second // 10**6
        within = ticks % coarse
        return divide(ticks - within, coarse) - ibis.ifelse(within < 0, 1, 0)
    factor = 10**6 // second
    return ticks.clip(-(2**62 // factor), 2**62 // factor) * factor


def _text(column: ir.Column) -> ir.Column:
    text = ibis.coalesce(attempted(decode(column)), ibis.literal("?"))
    return ibis.ifelse(column.isnull(), ibis.null("string"), text)


def _is_text(kind: pa.DataType) -> bool:
    kind = kind.value_type if pa.types.is_dictionary(kind) else kind
    return bool(
        pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind)
        or pa.types.is_binary(kind) or pa.types.is_large_binary(kind) or pa.types.is_fixed_size_binary(kind)
        or pa.types.is_null(kind)  # a column of no type: texts that are all missing
    )  # fmt: skip


def _is_plain(kind: pa.DataType) -> bool:
    """Whether DuckDB itself reads every value of the type."""
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return _is_plain(kind.value_type)
    numbers = pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal128(kind)
    times = pa.types.is_date(kind) or (pa.types.is_timestamp(kind) and kind.unit in ("us", "ns"))
    return bool(numbers or times or pa.types.is_boolean(kind) or _is_text(kind))


def _engine_type(kind: pa.DataType) -> dt.DataType:
    if pa.types.is_null(kind):
        return dt.string
    if pa.types.is_decimal256(kind) and kind.precision > WIDEST:
        return dt.float64
    try:
        return dt.DataType.from_pyarrow(kind)
    except Exception:  # a type that no space fits
        return dt.unknown


def _quoted(text: str, mark: str) -> str:
    return mark + text.replace(mark, mark + mark) + mark
