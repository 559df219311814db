"""The digest of a table's rows: of names, types and values, however they are chunked, encoded or written to a file."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["rows_digest"]

AT_ONCE = 2**16  # rows: what they take beside the table is bounded; another number gives other digests


def rows_digest(rows: pa.Table) -> str:
    """SHA-256 over the number of rows and each column in turn, so many of its rows at a time, in hexadecimal.

    >>> import pyarrow as pa
    >>> whole = pa.table({"age": [30, None], "state": ["CA", "NY"]})
    >>> parts = pa.concat_tables([whole.slice(0, 1), whole.slice(1)])
    >>> rows_digest(whole) == rows_digest(parts), rows_digest(whole) == rows_digest(whole.slice(0, 1))
    (True, False)
    """
    found = hashlib.sha256(f"{rows.num_rows}\n".encode())
    for name in rows.column_names:
        found.update(f"{len(name.encode())} {name}\n".encode())
        for start in range(0, max(rows.num_rows, 1), AT_ONCE):
            _add(found.update, rows[name].slice(start, AT_ONCE).combine_chunks())
    return found.hexdigest()


def _add(add: Callable[[bytes], None], column: pa.Array) -> None:
    """The type, which values there are, and these values: those of fixed width as they are, others by their lengths."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    as_held = {pa.timestamp("s"): pa.timestamp("ms"), pa.time32("s"): pa.time32("ms"), pa.date64(): pa.date32()}
    column = column.cast(as_held.get(column.type, column.type))  # what files turn types into
    kind = column.type
    several = pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind)
    text = pa.types.is_string(kind) or pa.types.is_large_string(kind)
    add(("list" if several else "text" if text else str(kind)).encode() + b"\n")  # files rename some types
    add(np.packbits(column.is_valid().to_numpy(zero_copy_only=False)).tobytes())
    held = column.drop_null()
    if pa.types.is_null(kind):
        return
    if several:
        add(pc.list_value_length(held).to_numpy(zero_copy_only=False).astype("<i8").tobytes())
        _add(add, held.flatten())
    elif text:
        add(pc.binary_length(held).to_numpy(zero_copy_only=False).astype("<i8").tobytes())
        add("".join(held.to_pylist()).encode())
    elif pa.types.is_boolean(kind):
        add(np.packbits(held.to_numpy(zero_copy_only=False)).tobytes())
    elif pa.types.is_floating(kind):
        add(held.to_numpy(zero_copy_only=False).astype("<f8").tobytes())
    elif pa.types.is_temporal(kind):
        add(held.cast(pa.int32() if kind.bit_width == 32 else pa.int64()).to_numpy().astype("<i8").tobytes())
    elif pa.types.is_integer(kind):
        add(held.to_numpy(zero_copy_only=False).astype("<i8").tobytes())
    else:
        add(repr(held.to_pylist()).encode())
