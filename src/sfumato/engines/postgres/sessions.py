"""Sessions of our own with a PostgreSQL server, beside the connection that was handed over: they read only.

Each question has one to itself, so that threads do not meet and nothing that others set is in force.  A session holds
a few functions of its own (the role needs the right to temporary objects for them), which end with it.  Questions about
rows that were stored (`engines/storing.py`) share the session that holds them: see `postgres/homes.py`.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from threading import Lock
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary, finalize

import pyarrow as pa

from sfumato.engines.postgres.homes import home_of
from sfumato.engines.postgres.writing import FUNCTIONS, written
from sfumato.errors import SchemaError

if TYPE_CHECKING:
    import ibis.expr.types as ir
    from ibis.backends.postgres import Backend
    from psycopg import Connection

__all__ = ["connected", "executed", "opened", "session", "streamed"]

SETTINGS = (
    "SET search_path = pg_catalog, pg_temp",
    "SET TimeZone = 'UTC'",
    "SET DateStyle = 'ISO'",
    "SET extra_float_digits = 1",
    "SET standard_conforming_strings = on",
    "SET row_security = off",  # rows that a policy would hide are an error, not left out
)
LIMIT = "6h"  # of a statement, where neither the role nor the address sets one
LIMITED = f"SELECT set_config('statement_timeout', '{LIMIT}', false) WHERE current_setting('statement_timeout') = '0'"
# The server looks whether the client is there: what a killed process began ends, and its temporary rows with it.
LOOKED = "SELECT set_config('client_connection_check_interval', '5s', false)"
READ_ONLY = "SET SESSION CHARACTERISTICS AS TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY"

Idle = list[tuple[int, "Connection[Any]"]]  # with the process that they belong to
_idle: WeakKeyDictionary[Backend, Idle] = WeakKeyDictionary()
_taking = Lock()
_numbers = itertools.count()


def executed(expression: ir.Table, backend: Backend) -> pa.Table:
    """The rows of an expression."""
    kinds = expression.schema().to_pyarrow()
    with _entered(expression, backend) as con, con.cursor(binary=True) as cursor:
        cursor.execute(written(expression))
        return pa.Table.from_batches([_batch(cursor.fetchall(), kinds)])


def streamed(expression: ir.Table, backend: Backend, size: int) -> Iterator[pa.RecordBatch]:
    """Arrow batches of at most `size` rows, from a cursor on the server."""
    kinds = expression.schema().to_pyarrow()
    with _entered(expression, backend) as con, con.cursor(f"rows{next(_numbers)}") as cursor:
        cursor.execute(written(expression), binary=True)
        while held := cursor.fetchmany(size):
            yield _batch(held, kinds)


def _entered(expression: ir.Table, backend: Backend) -> AbstractContextManager[Connection[Any]]:
    """The session that holds what an expression reads, or one of its own."""
    home = home_of(expression)
    return session(backend) if home is None else home.entered()


@contextmanager
def session(backend: Backend) -> Iterator[Connection[Any]]:
    """A session in a transaction that reads only, and sees one state of the tables."""
    con = _taken(backend)
    try:
        with con.transaction():
            yield con
    except BaseException:
        con.close()
        raise
    with _taking:
        _idle[backend].append((os.getpid(), con))


def opened(backend: Backend) -> Backend:
    """The same backend, if a session can be had on it; refused, by what is missing, if not."""
    try:
        with session(backend) as con:
            (encoding,) = con.execute("SHOW server_encoding").fetchone() or ("",)
    except Exception:
        encoding = ""
    if not encoding:
        raise SchemaError(
            "no session of its own can be opened on this PostgreSQL server; the role needs the right to connect again "
            "and to hold temporary objects (GRANT TEMPORARY ON DATABASE ... TO ...)"
        )
    if encoding != "UTF8":
        raise SchemaError(f"the PostgreSQL database holds its texts in {encoding}; only UTF8 is supported")
    return backend


def _taken(backend: Backend) -> Connection[Any]:
    with _taking:
        if backend not in _idle:
            _idle[backend] = []
            finalize(backend, _closed, _idle[backend])
        own = [pair for pair in _idle[backend] if pair[0] == os.getpid()]
        while own:
            pair = own.pop()
            _idle[backend].remove(pair)
            if _answers(pair[1]):
                return pair[1]
    return connected(backend)


def _answers(con: Connection[Any]) -> bool:
    """Whether an idle session is still there: one that the server ended must not cost the next question its charge."""
    try:
        con.execute("SELECT")
    except Exception:
        con.close()
    return not con.closed


def connected(backend: Backend) -> Connection[Any]:
    """A new session, set up."""
    import psycopg

    info = backend.con.info
    con = psycopg.connect(
        **info.get_parameters(),
        password=info.password or None,
        autocommit=True,
        prepare_threshold=None,  # a prepared statement fails once a table is made anew with other types
    )
    try:
        for command in (*SETTINGS, *FUNCTIONS, LIMITED, READ_ONLY):
            con.execute(command)
        with suppress(psycopg.Error):  # servers before 14, and those of systems that cannot tell
            con.execute(LOOKED)
    except BaseException:
        con.close()
        raise
    return con


def _closed(held: Idle) -> None:
    for process, con in held:
        if process == os.getpid():
            con.close()


def _batch(rows: list[tuple[Any, ...]], kinds: pa.Schema) -> pa.RecordBatch:
    columns = list(zip(*rows, strict=True)) if rows else [()] * len(kinds)
    return pa.RecordBatch.from_arrays([pa.array(c, k) for c, k in zip(columns, kinds.types, strict=True)], schema=kinds)
