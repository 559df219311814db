"""Reports that lie in a table: a column of them is counted or streamed into a collector, by any engine."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from sfumato.engines.backends import isolated, streamed
from sfumato.engines.canary import trusted
from sfumato.engines.columns import absent
from sfumato.errors import EngineError, SchemaError
from sfumato.local.collection.collector import Collector, Receipt
from sfumato.local.protocols.protocol import LocalProtocol, Reports

if TYPE_CHECKING:
    import ibis.expr.types as ir

__all__ = ["add_column"]

ROWS = 1 << 18  # rows of a streamed column at a time
SMALL = 2  # bytes of a report that is counted where the table lives

Found = TypeVar("Found")
Counted = tuple[Reports, npt.NDArray[np.int64], int]  # reports, how often each, and rows that are no reports


def add_column(collector: Collector, table: ir.Table, column: str, name: str, round: str | None = None) -> Receipt:
    """Take in a column of reports of an Ibis table (DuckDB, Spark), all of it or nothing, once under this `name`,
    in a round of the collection.

    Reports are whole numbers where a report is one number, otherwise bytes as on the wire.  Small reports are counted
    where the table lives; others are streamed.  Nulls and whatever no owner can have sent are refused and counted.
    """
    if column not in table.columns:
        raise absent(column, table.columns)
    protocol, kind = collector.collection.protocol, table[column].type()
    if not (kind.is_binary() or ((kind.is_numeric() or kind.is_string()) and not protocol.columns)):
        wanted = f"bytes, {protocol.report_bytes} a report" if protocol.columns else "whole numbers or bytes"
        raise SchemaError(f"column {column!r} holds {kind}; reports of {protocol.name} are {wanted}")
    trusted(table.get_backend())
    rows = isolated(table.select(report=table[column]), [])
    return collector.add_counts(name, _pieces(protocol, rows, kind.is_binary()), round)


def _pieces(protocol: LocalProtocol, rows: ir.Table, binary: bool) -> Iterator[Counted]:
    small = protocol.report_bytes <= SMALL
    if small:
        rows = rows.group_by("report").aggregate(times=rows.count())
    stream = streamed(rows, ROWS)
    while (batch := _guarded(lambda: next(stream, None))) is not None:
        held = batch.column(0)
        times = np.asarray(batch.column(1)).astype(np.int64) if small else np.ones(len(held), dtype=np.int64)
        if binary:
            yield _from_bytes(protocol, held.to_pylist(), times)
        elif pa.types.is_string(held.type) or pa.types.is_large_string(held.type):  # a CSV file is text
            yield _from_numbers(protocol, np.array([_number(text) for text in held.to_pylist()]), times)
        else:
            yield _from_numbers(protocol, held.to_numpy(zero_copy_only=False), times)


def _from_bytes(protocol: LocalProtocol, held: list[bytes | None], times: npt.NDArray[np.int64]) -> Counted:
    width = protocol.report_bytes
    good = np.array([value is not None and len(value) == width for value in held], dtype=np.bool_)
    joined = b"".join(value for value in held if value is not None and len(value) == width)
    return protocol.decode(joined), times[good], int(times[~good].sum())


def _from_numbers(protocol: LocalProtocol, held: npt.NDArray[Any], times: npt.NDArray[np.int64]) -> Counted:
    if held.dtype == object:
        held = np.array([np.nan if value is None else float(value) for value in held])
    with np.errstate(invalid="ignore"):
        good = (held >= 0) & (held <= int(np.iinfo(protocol.dtype).max))
        if held.dtype.kind == "f":
            good &= held == np.floor(held)
    return held[good].astype(protocol.dtype), times[good], int(times[~good].sum())


def _number(text: str | None) -> float:
    """A text of a few decimal digits as a number; anything else is none."""
    return float(text) if text is not None and text.isascii() and text.isdigit() and len(text) < 16 else np.nan


def _guarded(call: Callable[[], Found]) -> Found:
    """What the engine returns; its own errors are withheld, since they may hold values."""
    with contextlib.suppress(Exception):
        return call()
    raise EngineError("the engine could not read the reports (its message is withheld, since it may hold data)")
