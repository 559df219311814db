"""Data frames: declared columns only, each element by itself, before any type is inferred.

The type of a frame's column often depends on its values: one gap makes floats of whole numbers, one odd value makes
objects.  So a column whose type fits its space is taken as it is, and any other becomes the text (or list of texts)
that a text file would hold, element by element; the engine then reads it by the same patterns.  What an element means
depends on that element alone: no value makes reading fail, and none changes how another is read.
"""

from __future__ import annotations

import contextlib
import datetime
import math
from collections.abc import Callable, Iterable, Mapping
from decimal import Decimal
from fractions import Fraction
from numbers import Real
from typing import Any
from uuid import UUID

import ibis.expr.datatypes as dt
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sfumato.engines.coercion import fits
from sfumato.engines.columns import absent
from sfumato.errors import SchemaError
from sfumato.spaces import Categories, Curves, Dates, Integers, Interval, Space, Subsets
from sfumato.spaces.categories import BLANKS, read_label
from sfumato.spaces.codes import blank
from sfumato.spaces.dates import day_in
from sfumato.spaces.interval import number

__all__ = ["arrow_table"]

STRANGE = "\N{REPLACEMENT CHARACTER}"  # stands for an element that is there, but means nothing to its space
FIRST, LAST = -719_162, 2_932_896  # the days 0001-01-01 and 9999-12-31
WIDEST = 400  # digits of a number that is written out
PER_DAY = {"s": 86_400, "ms": 86_400_000, "us": 86_400_000_000, "ns": 86_400_000_000_000}

Wanted = Mapping[str, Space | None]  # columns and their spaces; None for identifiers, which are compared only


def arrow_table(source: Any, wanted: Wanted) -> pa.Table | None:
    """The wanted columns of a pandas, polars or Arrow frame; None for what is no frame."""
    home = type(source).__module__.partition(".")[0]
    if home == "pandas" and hasattr(source, "columns"):
        _must_hold(wanted, list(source.columns))
        return pa.table({name: _series(source[name], space) for name, space in wanted.items()})
    if home == "polars" and hasattr(source, "collect_schema"):
        _must_hold(wanted, list(source.collect_schema().names()))
        frame = source.lazy().select(*wanted).collect()  # once: the next time its rows may come in another order
        return pa.table({name: _polars(frame[name], space) for name, space in wanted.items()})
    if hasattr(source, "__arrow_c_stream__"):
        table = pa.table(source)
        _must_hold(wanted, table.column_names)
        return pa.table({name: _arrow(table[name], space) for name, space in wanted.items()})
    return None


def _must_hold(wanted: Wanted, held: list[Any]) -> None:
    for name in wanted:
        if name not in held:
            raise absent(name, held)
        if held.count(name) > 1:
            raise SchemaError(f"the table has the column {name!r} twice; rename one")


def _series(series: Any, space: Space | None) -> Any:
    """A pandas column, whatever its type: that may depend on values, so none is refused."""
    import pandas as pd

    if isinstance(series.dtype, pd.CategoricalDtype):
        codes = np.asarray(series.cat.codes)
        return _series(pd.Series(series.cat.categories), space).take(pa.array(codes, mask=codes < 0))
    if isinstance(series.dtype, pd.DatetimeTZDtype):
        series = series.dt.tz_convert(None)  # in UTC
    if series.dtype == object and pd.api.types.infer_dtype(series, skipna=True) != "string":
        return _elements(series, space)
    try:
        column = pa.chunked_array([pa.array(series, from_pandas=True)])
        odd = isinstance(column.type, pa.BaseExtensionType)  # a period's number is not the period
        if not odd and _fitting(_plain(column, space).type, space):
            return _arrow(column, space)
    except (pa.ArrowException, ValueError, TypeError, OverflowError):
        pass  # no Arrow type holds every value
    return _elements(series.astype(object), space)


def _polars(series: Any, space: Space | None) -> Any:
    return _elements(series.to_list(), space) if str(series.dtype) == "Object" else _arrow(series.to_arrow(), space)


def _arrow(column: Any, space: Space | None) -> Any:
    """An Arrow column; a type that cannot fit its space stays, and is refused where types are compared."""
    column = _plain(column if isinstance(column, pa.ChunkedArray) else pa.chunked_array([column]), space)
    kind = column.type
    if isinstance(space, Dates) and (pa.types.is_timestamp(kind) or pa.types.is_date(kind)):
        return _days(column, kind)
    nested = pa.types.is_nested(kind)
    if not _fitting(kind, space) or not (nested or pa.types.is_string(kind) or pa.types.is_large_string(kind)):
        return column
    try:
        column.validate(full=True)  # texts that are not UTF-8 are values like any other
    except pa.ArrowInvalid:
        return _elements([_value(element) for element in column], space)
    return column


def _value(element: Any) -> Any:
    """An Arrow element in Python; what cannot be had there is an object that means nothing."""
    try:
        return element.as_py()
    except (ValueError, OverflowError):
        return object()


def _plain(column: Any, space: Space | None) -> Any:
    """The same column without encodings, and of a type that engines know; of identifiers no digit is lost."""
    if isinstance(column.type, pa.BaseExtensionType):
        column = pa.chunked_array([chunk.storage for chunk in column.chunks], column.type.storage_type)
    kind = column.type
    if pa.types.is_run_end_encoded(kind):
        column = pa.chunked_array([pc.run_end_decode(chunk) for chunk in column.chunks], kind.value_type)
    elif pa.types.is_dictionary(kind):
        decoded = [chunk.dictionary.take(chunk.indices) for chunk in column.chunks]
        column = pa.chunked_array(decoded, kind.value_type)
    kind = column.type
    if pa.types.is_null(kind) or pa.types.is_string_view(kind):
        return column.cast(pa.string())
    if pa.types.is_float16(kind):
        return column.cast(pa.float32())
    if pa.types.is_decimal256(kind):
        return column.cast(pa.string() if space is None else pa.float64())
    if pa.types.is_decimal(kind) and not pa.types.is_decimal128(kind):
        return column.cast(pa.decimal128(kind.precision, kind.scale))
    return column


def _fitting(kind: pa.DataType, space: Space | None) -> bool:
    if space is None:
        return bool(pa.types.is_integer(kind) or pa.types.is_string(kind) or pa.types.is_large_string(kind))
    return fits(space, dt.DataType.from_pyarrow(kind))


def _days(column: Any, kind: pa.DataType) -> Any:
    """Times and dates by their day, in whole numbers: no time is too early or too late."""
    if pa.types.is_date32(kind):
        held, unit = column.cast(pa.int32()).cast(pa.int64()), 1
    else:
        held, unit = column.cast(pa.int64()), 86_400_000 if pa.types.is_date64(kind) else PER_DAY[kind.unit]
    missing = held.is_null().to_numpy(zero_copy_only=False) if hasattr(held, "is_null") else None
    days = np.clip(pc.fill_null(held, 0).to_numpy() // unit, FIRST, LAST)
    return pa.array(days.astype(np.int32), pa.int32(), mask=np.asarray(missing)).cast(pa.date32())


def _elements(values: Iterable[Any], space: Space | None) -> Any:
    """Any Python objects, one by one."""
    values = map(_real, values)  # one complex number makes pandas take all others for complex ones
    if isinstance(space, Curves):
        return pa.array([_points(value) for value in values], pa.list_(pa.float64()))
    if isinstance(space, Subsets):
        return pa.array([_items(value, space) for value in values], pa.list_(pa.string()))
    if space is None:
        return pa.array([_identity(value) for value in values], pa.binary())
    read = _reader(space)
    return pa.array([read(value) for value in values], pa.string())


def _real(value: Any) -> Any:
    """A complex number without an imaginary part as the real one that it is; all else unchanged."""
    if not isinstance(value, complex | np.complexfloating):
        return value
    if value != value:
        return None
    return value.real if value.imag == 0 else value


def _reader(space: Space) -> Callable[[Any], str | None]:
    """What a text file would hold for an element; None for null."""
    if isinstance(space, Dates):
        return lambda value: _text(value, _day)
    if isinstance(space, Interval | Integers):
        return lambda value: _text(value, _numeral)
    if isinstance(space, Categories):
        kind = type(space.values[0])
        strange = STRANGE
        while strange in space.values or strange in space.na:
            strange += STRANGE
        return lambda value: _text(value, lambda other: _label(other, kind), strange)
    return lambda value: value if isinstance(value, str) and _unicode(value) else None


def _text(value: Any, spelled: Callable[[Any], str | None], strange: str = STRANGE) -> str | None:
    """Null as None, texts as they are, all else as it is spelled; `strange` for what means nothing."""
    if blank(value):
        return None
    if isinstance(value, str):
        return value if _unicode(value) else strange
    return spelled(value) or strange


def _numeral(value: Any) -> str | None:
    found = number(value)
    return None if found is None else repr(found)


def _day(value: Any) -> str | None:
    found = None if isinstance(value, int | float) else day_in(value)
    return None if found is None else Dates.date(min(max(found, FIRST), LAST)).isoformat()


def _label(value: Any, kind: type) -> str | None:
    label = None if kind is str else read_label(value, kind)
    if label is None and kind is bool:
        label = read_label(value, int)  # perhaps a code
    return None if label is None else str(label)


def _items(value: Any, space: Subsets) -> list[str | None] | None:
    """The items of a set as texts; None where it is none."""
    if isinstance(value, str):
        value = [item.strip(BLANKS) for item in value.split(space.separator)]
    if blank(value) or not isinstance(value, Iterable) or isinstance(value, Mapping):
        return None
    kind = type(space.of[0])
    return [_text(item, lambda other: _label(other, kind)) for item in value]


def _points(value: Any) -> list[float] | None:
    """A curve's numbers, NaN where one is missing; None where it is no curve."""
    try:
        points = np.array([math.nan if entry is None else entry for entry in value], dtype=float)
    except (TypeError, ValueError, OverflowError):
        return None
    return list(points) if points.ndim == 1 else None


def _identity(value: Any) -> bytes | None:
    """The bytes that tell persons apart, no two of one kind alike; None for what identifies nobody."""
    if blank(value) or isinstance(value, bool):
        return None
    if isinstance(value, bytes):
        return value
    if isinstance(value, Real | Decimal):
        spelled = _digits(value)
    elif isinstance(value, str | UUID | datetime.date | datetime.time):
        spelled = str(value)
    else:
        return None
    return spelled.encode() if _unicode(spelled) else None


def _digits(value: Any) -> str:
    """A number with all of its digits, however many: whole ones without a point, others as a text file holds them."""
    if isinstance(value, Decimal):
        if not value or not value.is_finite() or abs(value.adjusted()) > WIDEST:
            return str(value) if value else "0"
        plain = f"{value:f}"
        return plain.rstrip("0").rstrip(".") if "." in plain else plain
    try:
        numerator, denominator = map(int, value.as_integer_ratio())
    except (AttributeError, OverflowError, ValueError):  # infinite
        return str(value)
    if denominator == 1:
        return str(numerator) if abs(numerator) < 10**WIDEST else hex(numerator)
    exact = Fraction(numerator, denominator)
    with contextlib.suppress(OverflowError):
        if Fraction(float(exact)) == exact:
            return repr(float(exact))
    return f"{numerator:x}/{denominator:x}"


def _unicode(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
