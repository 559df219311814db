"""The second wall: what a value stands for where the engine cannot compute it, so that no value makes a question fail.

The meaning of a column that is read or derived, and of a condition, is a total function of its row: the value of its
expression, or what a missing value comes to where evaluating the expression for that row raises.  The quick path
evaluates the expression alone.  If the engine raises, the same statement is computed again within `careful`, where
each expression stands in DuckDB's TRY; both paths are one function wherever the quick one has a value at all
(docs/proofs/total_reading.md).
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import lru_cache
from typing import TYPE_CHECKING

import ibis
import ibis.expr.datatypes as dt

if TYPE_CHECKING:
    import ibis.expr.types as ir
    from ibis.backends import BaseBackend

__all__ = ["attempt", "can_attempt", "careful"]

ENGINES = ("duckdb",)  # that have TRY
_is_careful: ContextVar[bool] = ContextVar("_is_careful", default=False)


@contextmanager
def careful() -> Iterator[None]:
    """Have expressions that are made meanwhile stand in TRY."""
    token = _is_careful.set(True)
    try:
        yield
    finally:
        _is_careful.reset(token)


def can_attempt(backend: BaseBackend) -> bool:
    """Whether the engine has an expression that is null where its argument raises."""
    return backend.name in ENGINES


def attempt(column: ir.Column, instead: int | str | None = None) -> ir.Column:
    """Return the column within `careful`, with `instead` for the rows where evaluating it raises; else as it is."""
    if not _is_careful.get() or not can_attempt(column.get_backend()):
        return column
    kind = column.type()
    if instead is None:
        return _call("try", kind, kind)(column)
    listed = dt.Array(kind)  # a null that the expression has is not one that stands for a failure
    make, pick = _call("list_value", kind, listed), _pick(kind)
    tried = _call("try", listed, listed)(make(column))
    return pick(ibis.coalesce(tried, make(ibis.literal(instead, kind))), ibis.literal(1, "int64"))


@lru_cache(maxsize=256)
def _call(name: str, given: dt.DataType, found: dt.DataType):  # type: ignore[no-untyped-def]
    """DuckDB's own function of values of one type: to Ibis a class of its own, so that it is made once."""
    return ibis.udf.scalar.builtin(lambda held: held, name=name, signature=((given,), found))


@lru_cache(maxsize=256)
def _pick(kind: dt.DataType):  # type: ignore[no-untyped-def]
    return ibis.udf.scalar.builtin(
        lambda held, place: held, name="list_extract", signature=((dt.Array(kind), dt.int64), kind)
    )
