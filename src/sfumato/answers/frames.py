"""Public tables as frames of other libraries, in their native types."""

from __future__ import annotations

import importlib.util
import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from sfumato.errors import UnsupportedQuery

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl
    import pyarrow as pa

    from sfumato.spaces.schema import Schema

__all__ = ["Framed", "pandas_frame", "polars_frame", "write_csv"]

FORMULA = "^([=+\\-@\\t\\r])"  # how a text begins that a spreadsheet would run


def pandas_frame(table: pa.Table) -> pd.DataFrame:
    """The table in pandas: dates as its dates, whole numbers and truths with gaps as its types that have gaps.

    >>> import pyarrow as pa
    >>> pandas_frame(pa.table({"rooms": pa.array([3, None])}))["rooms"].dtype
    Int64Dtype()
    """
    import pandas as pd
    import pyarrow as pa

    native = {
        pa.int8(): pd.Int8Dtype(), pa.int16(): pd.Int16Dtype(), pa.int32(): pd.Int32Dtype(),
        pa.int64(): pd.Int64Dtype(), pa.bool_(): pd.BooleanDtype(),
    }  # fmt: skip
    frame = table.to_pandas(date_as_object=False)
    for name in table.column_names:
        column = table[name]
        if column.null_count and column.type in native:
            frame[name] = column.to_pandas(types_mapper=native.get)
    return frame


def polars_frame(table: pa.Table) -> pl.DataFrame:
    """The table in Polars, which is no part of an installation unless it is asked for."""
    if importlib.util.find_spec("polars") is None:
        raise UnsupportedQuery(
            "polars is not installed; install the extra `polars` (pip install 'sfumato[polars]'), or use to_arrow()"
        )
    import polars as pl

    frame = pl.from_arrow(table)
    assert isinstance(frame, pl.DataFrame)
    return frame


class Framed:
    """What has a public table, and hands it on."""

    __slots__ = ()

    def table(self, level: float = 0.95, *, joint: bool = False) -> pa.Table:
        """The table, in Arrow's types."""
        raise NotImplementedError

    def to_arrow(self, level: float = 0.95, *, joint: bool = False) -> pa.Table:
        """The same as `table`."""
        return self.table(level, joint=joint)

    def to_pandas(self, level: float = 0.95, *, joint: bool = False) -> pd.DataFrame:
        """The table as a pandas frame."""
        return pandas_frame(self.table(level, joint=joint))

    def to_polars(self, level: float = 0.95, *, joint: bool = False) -> pl.DataFrame:
        """The table as a Polars frame."""
        return polars_frame(self.table(level, joint=joint))


def write_csv(table: pa.Table, path: Path, schema: Schema | None = None) -> None:
    """The table as a text file that no spreadsheet takes for formulas; sets are joined as `schema` reads them."""
    import pyarrow.csv

    held = {} if schema is None else schema.held
    joints = {name: space.to_record().get("separator", ";") for name, space in held.items()}
    pyarrow.csv.write_csv(_inert(table, joints), path)


def _inert(rows: pa.Table, joints: Mapping[str, str]) -> pa.Table:
    """The rows with an apostrophe before every text, and every column's name, that a spreadsheet would run."""
    import pyarrow as pa
    import pyarrow.compute as pc

    columns = []
    for name, column in zip(rows.column_names, rows.columns, strict=True):
        kind = column.type
        if pa.types.is_dictionary(kind):
            column = column.cast(kind.value_type)
        if pa.types.is_list(kind):
            joint = joints.get(name, ";")
            joined = [None if held is None else joint.join(map(str, held)) for held in column.to_pylist()]
            column = pa.chunked_array([pa.array(joined, pa.string())])
        numbers = pa.types.is_list(kind) and (
            pa.types.is_floating(kind.value_type) or pa.types.is_integer(kind.value_type)
        )
        if not numbers and (pa.types.is_string(column.type) or pa.types.is_large_string(column.type)):
            column = pc.replace_substring_regex(column, pattern=FORMULA, replacement=r"'\1")
        if pa.types.is_duration(column.type):  # a number would not say its unit
            elapsed = [None if value is None else str(value) for value in column.to_pylist()]
            column = pa.chunked_array([pa.array(elapsed, pa.string())])
        columns.append(column)
    names = [re.sub(FORMULA, r"'\1", name) for name in rows.column_names]
    return pa.Table.from_arrays(columns, names=names)
