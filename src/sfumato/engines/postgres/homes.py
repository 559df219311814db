"""A session that holds one temporary table, and is shared by all questions about it: no other session sees the table.

It is made in a short transaction of its own, the only one that may write, and ends with its session.  Questions that
overlap share a transaction that reads only, which ends with the last of them; if one fails, so do the others, and the
session is closed.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from threading import Lock
from typing import TYPE_CHECKING, Any
from weakref import WeakValueDictionary

import ibis.expr.operations as ops

from sfumato.engines.postgres.writing import written

if TYPE_CHECKING:
    import ibis.expr.types as ir
    from psycopg import Connection

__all__ = ["Home", "home_of"]

_homes: WeakValueDictionary[str, Home] = WeakValueDictionary()  # by the query that reads their table


class Home:
    """A session with the rows of an expression; `query` reads them."""

    def __init__(self, con: Connection[Any], expression: ir.Table, name: str) -> None:
        self.query = f"SELECT * FROM pg_temp.{name}"
        self._con, self._guests, self._counting, self._process = con, 0, Lock(), os.getpid()
        try:
            con.execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ WRITE")
            con.execute(f"CREATE TEMPORARY TABLE {name} AS {written(expression)}")
            con.execute("COMMIT")
        except BaseException:
            con.close()
            raise
        _homes[self.query] = self

    @contextlib.contextmanager
    def entered(self) -> Iterator[Connection[Any]]:
        """The session, in a transaction that reads only."""
        with self._counting:
            if not self._guests:
                self._con.execute("BEGIN")
            self._guests += 1
        try:
            yield self._con
        except GeneratorExit:  # a stream that was left; its cursor is closed
            raise
        except BaseException:
            self._con.close()
            raise
        finally:
            with self._counting:
                self._guests -= 1
                if not self._guests and not self._con.closed:
                    self._con.execute("COMMIT")

    def usable(self) -> bool:
        """Whether the session is still there, and this process's own."""
        if self._process != os.getpid():
            return False
        try:
            with self.entered() as con:
                con.execute("SELECT")
        except Exception:
            self._con.close()
        return not self._con.closed

    def close(self) -> None:
        """End the session, and the table with it; a fork leaves it to its parent."""
        if self._process == os.getpid():
            self._con.close()


def home_of(expression: ir.Table) -> Home | None:
    """The session that holds what an expression reads; none where it reads stored tables."""
    for read in expression.op().find(ops.SQLQueryResult):
        if read.query in _homes:
            return _homes[read.query]
    return None
