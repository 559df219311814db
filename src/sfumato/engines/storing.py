"""Rows that an engine stores for us beside the data, under a name that nobody else knows, until nobody needs them.

DuckDB: a table in a database in memory of its own, attached to the instance, so that every cursor sees it; what does
not fit in memory spills as everything else does, to a private folder of our own (not encrypted), unless forbidden.
Spark: a cached data frame, in the memory and on the disks of the executors as its shuffles are; a lost part is computed
again, each person within one part.  PostgreSQL: a temporary table in a session of its own, which the server drops.
"""

from __future__ import annotations

import contextlib
import secrets
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sfumato.engines.backends import configured, deposited, quiet, selected
from sfumato.engines.processes import when_gone
from sfumato.engines.spark import planned

if TYPE_CHECKING:
    import ibis.expr.types as ir

__all__ = ["Stored", "stored"]


@dataclass(frozen=True, slots=True, weakref_slot=True, eq=False)
class Stored:
    """The rows, while this lives; `usable` says whether they are still there."""

    rows: ir.Table
    usable: Callable[[], bool] = lambda: True


def stored(expression: ir.Table) -> Stored:
    """The rows of an expression, computed once."""
    return STORED[expression.get_backend().name](expression, f"sfumato_{secrets.token_hex(8)}")


def _in_duckdb(expression: ir.Table, name: str) -> Stored:
    backend, kinds = expression.get_backend(), dict(expression.schema().items())
    deposited(expression, name)
    held = Stored(selected(backend, f"SELECT * FROM {name}.main.held", kinds))
    when_gone(held, _detached, backend, name)
    return held


def _detached(backend: object, name: str) -> None:
    with contextlib.suppress(Exception), contextlib.closing(backend.con.cursor()) as cursor:  # type: ignore[attr-defined]
        cursor.execute(f"DETACH {name}")


def _on_spark(expression: ir.Table, name: str) -> Stored:
    from pyspark import StorageLevel

    backend = configured(expression.get_backend())
    with quiet():
        frame = planned(expression, backend).persist(StorageLevel.MEMORY_AND_DISK)
        frame.createTempView(name)
        held = Stored(selected(backend, f"SELECT * FROM {name}", dict(expression.schema().items())))
    when_gone(held, _forgotten, backend, frame, name)
    return held


def _forgotten(backend: object, frame: object, name: str) -> None:
    with contextlib.suppress(Exception), quiet():
        backend._session.catalog.dropTempView(name)  # type: ignore[attr-defined]
        frame.unpersist()  # type: ignore[attr-defined]


def _in_postgres(expression: ir.Table, name: str) -> Stored:
    from sfumato.engines.postgres.homes import Home
    from sfumato.engines.postgres.sessions import connected

    backend = expression.get_backend()
    home = Home(connected(backend), expression, name)
    held = Stored(selected(backend, home.query, dict(expression.schema().items())), home.usable)
    when_gone(held, home.close)
    return held


STORED: dict[str, Callable[[ir.Table, str], Stored]] = {
    "duckdb": _in_duckdb, "pyspark": _on_spark, "postgres": _in_postgres,
}  # fmt: skip
