"""Data frames: declared columns only, each element by itself, before any type is inferred.

The type of a frame's column often depends on its values: one gap makes floats of whole numbers, one odd value makes
objects.  So a column whose type fits its space is taken as it is, and any other becomes the text (or list of texts)
that a text file would hold, element by element; the engine then reads it by the same patterns.  What an element means
depends on that element alone: no value makes reading fail, and none changes how another is read.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import reduce
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, TypeGuard, runtime_checkable

import ibis.expr.datatypes as dt
import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from sfumato.engines.coercion import fits, reads_clock
from sfumato.engines.columns import absent
from sfumato.engines.fields import Path, fields_of
from sfumato.engines.identities import identity, unicode
from sfumato.errors import SchemaError
from sfumato.spaces import Space
from sfumato.spaces.categories import BLANKS
from sfumato.spaces.codes import blank
from sfumato.spaces.dates import FIRST, LAST
from sfumato.spaces.forms import Entries, Form, Labels, Numbers, Points, Sets, Strings
from sfumato.spaces.subsets import items_in

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl

__all__ = ["arrow_table"]

STRANGE = "\N{REPLACEMENT CHARACTER}"  # stands for an element that is there, but means nothing to its space
DAY_MICROS = 86_400_000_000
PER_DAY = {"s": 86_400, "ms": 86_400_000, "us": 86_400_000_000, "ns": 86_400_000_000_000}

Column: TypeAlias = pa.Array | pa.ChunkedArray
Reader = Callable[[object], object]
Wanted = Mapping[str, Space | None]  # columns and their spaces; None for identifiers, which are compared only


@runtime_checkable
class ArrowStream(Protocol):
    """Whatever hands out its rows by the Arrow PyCapsule interface."""

    def __arrow_c_stream__(self, requested_schema: object = None) -> object: ...


def arrow_table(source: object, wanted: Wanted, paths: Mapping[str, Path]) -> pa.Table | None:
    """The wanted columns of a pandas, polars or Arrow frame; None for what is no frame.

    `paths` says which of them are fields of records: such a field lies in a column of its own name, else in one of
    structures, or of mappings.
    """
    if _is_pandas(source):
        places = _places(wanted, paths, list(source.columns))
        return _table(source.__getitem__, wanted, places, _series, _pandas_structures)
    if _is_polars(source):
        places = _places(wanted, paths, list(source.collect_schema().names()))
        read = dict.fromkeys(place[0] for place in places.values())
        frame = source.lazy().select(*read).collect()  # once: the next time its rows may come in another order
        return _table(frame.__getitem__, wanted, places, _polars, _polars_structures)
    if isinstance(source, ArrowStream):
        table = pa.table(source)
        return _table(
            table.__getitem__, wanted, _places(wanted, paths, table.column_names), _arrow, lambda column: column
        )
    return None


def _table(
    taken: Callable[[str], Any],
    wanted: Wanted,
    places: Mapping[str, Path],
    plain: Callable[[Any, Space | None], Column],
    structures: Callable[[Any], Column | list[object]],
) -> pa.Table:
    """The columns, each by the rule of its frame: plain ones, and those within structures."""
    read = {}
    for name, (column, *fields) in places.items():
        held, space = taken(column), wanted[name]
        read[name] = _field(structures(held), name, fields, space) if fields else plain(held, space)
    return pa.table(read)


def _pandas_structures(series: pd.Series) -> Column | list[object]:
    import pandas as pd

    return pa.array(series) if isinstance(series.dtype, pd.ArrowDtype) else series.to_list()


def _polars_structures(series: pl.Series) -> Column | list[object]:
    return series.to_list() if str(series.dtype) == "Object" else series.to_arrow()


def _field(values: Column | list[object], whole: str, names: Sequence[str], space: Space | None) -> Column:
    """A field of structures, or of mappings one by one; what is no mapping has none."""
    if isinstance(values, list):
        return _elements([reduce(_part, names, value) for value in values], space)
    column = values if isinstance(values, pa.ChunkedArray) else pa.chunked_array([values])
    for name in names:
        if pa.types.is_null(column.type):
            break  # no row has any
        column = _plain(column, space)
        held = fields_of(column.type)
        if name not in held:
            raise SchemaError(f"the table has no structure with the field {whole!r}, which a Record declares")
        column = pa.chunked_array([pc.struct_field(chunk, name) for chunk in column.chunks], held[name])
    return _arrow(column, space)


def _part(value: object, name: str) -> object:
    return value.get(name) if isinstance(value, Mapping) else None


def _places(wanted: Wanted, paths: Mapping[str, Path], held: list[object]) -> dict[str, Path]:
    """Where each wanted column lies: under its own name, else in that of its record."""
    places = {name: paths.get(name, (name,)) for name in wanted}
    places |= {name: (whole,) for name, place in places.items() if (whole := ".".join(place)) in held}
    for name, place in places.items():
        if place[0] not in held:
            raise absent(name, held)
        if held.count(place[0]) > 1:
            raise SchemaError(f"the table has the column {place[0]!r} twice; rename one")
    return places


def _is_pandas(source: object) -> TypeGuard[pd.DataFrame]:
    return ("pandas", "DataFrame") in _kinds(source)


def _is_polars(source: object) -> TypeGuard[pl.DataFrame | pl.LazyFrame]:
    return not {("polars", "DataFrame"), ("polars", "LazyFrame")}.isdisjoint(_kinds(source))


def _kinds(source: object) -> list[tuple[str, str]]:
    """The packages and names of an object's classes; the packages need not be installed."""
    return [(kind.__module__.partition(".")[0], kind.__name__) for kind in type(source).__mro__]


def _series(series: pd.Series, space: Space | None) -> Column:
    """A pandas column, whatever its type: that may depend on values, so none is refused."""
    import pandas as pd

    if isinstance(series.dtype, pd.CategoricalDtype):
        codes = np.asarray(series.cat.codes)
        return _series(pd.Series(series.cat.categories), space).take(pa.array(codes, mask=codes < 0))
    if isinstance(series.dtype, pd.DatetimeTZDtype):
        series = series.dt.tz_convert(None)  # in UTC
    if isinstance(series.dtype, pd.ArrowDtype):
        return _arrow_elements(pa.array(series), space)
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


def _arrow_elements(values: Column, space: Space | None) -> Column:
    """Read a column of an Arrow type; where the type does not fit, element by element, also those that Python lacks."""
    column = values if isinstance(values, pa.ChunkedArray) else pa.chunked_array([values])
    extended = isinstance(column.type, pa.BaseExtensionType)
    kind = _plain(column, space).type
    ticks = space is None and pa.types.is_temporal(kind) and not pa.types.is_interval(kind)  # Python rounds some
    if not extended and (ticks or _fitting(kind, space)):
        return _arrow(column, space)
    return _elements([_value(element) for element in column], space)


def _polars(series: pl.Series, space: Space | None) -> Column:
    return _elements(series.to_list(), space) if str(series.dtype) == "Object" else _arrow(series.to_arrow(), space)


def _arrow(column: Column, space: Space | None) -> Column:
    """An Arrow column; a type that cannot fit its space stays, and is refused where types are compared."""
    column = _plain(column if isinstance(column, pa.ChunkedArray) else pa.chunked_array([column]), space)
    column = _ticks(column) if space is None else column
    kind = column.type
    clock = space is not None and reads_clock(space.form)
    if _fitting(kind, space) and clock and pa.types.is_timestamp(kind):
        return _clock(column, PER_DAY[kind.unit])
    if _fitting(kind, space) and (pa.types.is_timestamp(kind) or pa.types.is_date(kind)):
        return _days(column, kind)
    if _fitting(kind, space) and (pa.types.is_duration(kind) or pa.types.is_time(kind)):
        return _elapsed(column, kind)
    nested = pa.types.is_nested(kind)
    if not _fitting(kind, space) or not (nested or pa.types.is_string(kind) or pa.types.is_large_string(kind)):
        return column
    try:
        column.validate(full=True)  # texts that are not UTF-8 are values like any other
    except pa.ArrowInvalid:
        return _elements([_value(element) for element in column], space)
    return column


def _ticks(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return identifiers as they are, times of every kind by the whole numbers that stand for them: none is rounded."""
    kind = column.type
    if pa.types.is_date32(kind) or pa.types.is_time32(kind):
        return column.cast(pa.int32())
    return column.cast(pa.int64()) if pa.types.is_temporal(kind) and not pa.types.is_interval(kind) else column


def _value(element: pa.Scalar) -> object:
    """An Arrow element in Python; what cannot be had there is an object that means nothing."""
    try:
        return element.as_py()
    except (ValueError, OverflowError):
        return object()


def _plain(column: pa.ChunkedArray, space: Space | None) -> pa.ChunkedArray:
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
    if kind == pa.binary_view():
        return column.cast(pa.large_binary())
    if pa.types.is_float16(kind):
        return column.cast(pa.float32())
    if pa.types.is_decimal256(kind):
        return column.cast(pa.string() if space is None else pa.float64())
    if pa.types.is_duration(kind) and space is None:  # the engine counts in microseconds, and not beyond 64 bits
        return column.cast(pa.int64())
    if pa.types.is_decimal(kind) and not pa.types.is_decimal128(kind):
        return column.cast(pa.decimal128(kind.precision, kind.scale))
    return column


def _fitting(kind: pa.DataType, space: Space | None) -> bool:
    if space is None:
        return bool(pa.types.is_integer(kind) or pa.types.is_string(kind) or pa.types.is_large_string(kind))
    return space.form is None or fits(space.form, dt.DataType.from_pyarrow(kind))


def _days(column: pa.ChunkedArray, kind: pa.DataType) -> pa.Array:
    """Times and dates by their day, in whole numbers: no time is too early or too late."""
    if pa.types.is_date32(kind):
        held, unit = column.cast(pa.int32()).cast(pa.int64()), 1
    else:
        held, unit = column.cast(pa.int64()), 86_400_000 if pa.types.is_date64(kind) else PER_DAY[kind.unit]
    days = np.clip(pc.fill_null(held, 0).to_numpy() // unit, FIRST, LAST)
    return pa.array(days.astype(np.int32), pa.int32(), mask=_gaps(held)).cast(pa.date32())


def _clock(column: pa.ChunkedArray, day: int) -> pa.Array:
    """Times by what a clock shows, in microseconds since midnight rounded down."""
    held = column.cast(pa.int64())
    ticks = pc.fill_null(held, 0).to_numpy() % day
    micros = ticks // (day // DAY_MICROS) if day >= DAY_MICROS else ticks * (DAY_MICROS // day)
    return pa.array(micros, pa.int64(), mask=_gaps(held)).cast(pa.duration("us"))


def _elapsed(column: pa.ChunkedArray, kind: pa.DataType) -> pa.Array:
    """Elapsed times, and times of day since midnight, in microseconds rounded down: none is too long."""
    held = column.cast(pa.int32() if pa.types.is_time32(kind) else pa.int64()).cast(pa.int64())
    ticks, second = pc.fill_null(held, 0).to_numpy(), PER_DAY[kind.unit] // 86_400
    micros = (
        ticks // (second // 10**6) if second >= 10**6 else np.clip(ticks, *_within(10**6 // second)) * (10**6 // second)
    )
    return pa.array(micros, pa.int64(), mask=_gaps(held)).cast(pa.duration("us"))


def _within(factor: int) -> tuple[int, int]:
    """The whole numbers whose product with a factor fits in 64 bits."""
    return -(2**63 - 1) // factor + 1, (2**63 - 1) // factor


def _gaps(held: pa.ChunkedArray) -> npt.NDArray[np.bool_]:
    return np.asarray(held.is_null().to_numpy())


def _elements(values: Iterable[object], space: Space | None) -> pa.Array:
    """Any Python objects, one by one."""
    values = map(_real, values)  # one complex number makes pandas take all others for complex ones
    if space is None:
        return pa.array([identity(value) for value in values], pa.binary())
    values = (float(value) if isinstance(value, np.longdouble) else value for value in values)
    kind, reader = READERS[type(space.form)]
    read = reader(space, space.form)
    return pa.array([read(value) for value in values], kind)


def _real(value: object) -> object:
    """A complex number without an imaginary part as the real one that it is; or unchanged."""
    if not isinstance(value, complex | np.complexfloating):
        return value
    if value != value:
        return None
    return value.real if value.imag == 0 else value


def _text(value: object, space: Space, strange: str = STRANGE) -> str | None:
    """What a text file would hold: null as None, texts as they are, `strange` for what means nothing."""
    if blank(value):
        return None
    if isinstance(value, str):
        return value if unicode(value) else strange
    return space.written(value) or strange


def _label_reader(space: Space, form: Labels) -> Reader:
    strange = STRANGE
    while strange in form.labels or strange in form.na:
        strange += STRANGE
    return lambda value: _text(value, space, strange)


def _items_reader(space: Space, form: Sets) -> Reader:
    def items(value: object) -> list[str | None] | None:
        """The items of a set as texts; None where it is none."""
        if isinstance(value, str):
            value = [item.strip(BLANKS) for item in value.split(form.separator)]
        held = items_in(value)
        return None if held is None else [_text(item, space) for item in held]

    return items


def _points(value: object) -> list[float] | None:
    """A curve's numbers, NaN where one is missing; None where it is no curve."""
    if not isinstance(value, Iterable):
        return None
    try:
        points = np.array([math.nan if entry is None else entry for entry in value], dtype=float)
    except (TypeError, ValueError, OverflowError):
        return None
    return list(points) if points.ndim == 1 else None


def _entries(value: object, form: Entries) -> list[float] | None:
    """An array's numbers, row after row, from a text as in a text file."""
    if isinstance(value, str):
        return _points(form.numbers_in(value))
    if len(form.shape) == 1 or not isinstance(value, Iterable):
        return _points(value)
    try:
        entries = np.array(value if isinstance(value, np.ndarray) else list(value), dtype=float)
    except (TypeError, ValueError, OverflowError):
        return None
    return [float(entry) for entry in entries.flat] if entries.shape in (form.shape, (form.size,)) else None


def _string(value: object) -> str | None:
    return value if isinstance(value, str) and unicode(value) else None


# The type of a column of elements, and what becomes of each of them.
READERS: dict[type[Form] | type[None], tuple[pa.DataType, Callable[..., Reader]]] = {
    Numbers: (pa.string(), lambda space, form: lambda value: _text(value, space)),
    Labels: (pa.string(), _label_reader),
    Sets: (pa.list_(pa.string()), _items_reader),
    Points: (pa.list_(pa.float64()), lambda space, form: _points),
    Entries: (pa.list_(pa.float64()), lambda space, form: lambda value: _entries(value, form)),
    Strings: (pa.string(), lambda space, form: _string),
    type(None): (pa.string(), lambda space, form: _string),
}
