"""Tables of PostgreSQL servers.  Errors name neither the address, which may hold a password, nor a value."""

from __future__ import annotations

import contextlib
import importlib.util
import os
from weakref import WeakValueDictionary

import ibis
from ibis.backends import BaseBackend

from sfumato.engines.processes import when_gone
from sfumato.errors import SchemaError

__all__ = ["on_server"]

_open: WeakValueDictionary[tuple[str, int], BaseBackend] = WeakValueDictionary()  # by address and process


def on_server(address: str, table: str | None) -> ibis.Table:
    """A table of a PostgreSQL server; errors name neither the address, which may hold a password, nor a value."""
    if table is None:
        raise SchemaError("which table of the PostgreSQL server? name it with table=, such as table='people'")
    *place, name = table.split(".")
    if len(place) > 1:
        raise SchemaError(f"{table!r} names more than a schema and a table; name it as table or schema.table")
    if importlib.util.find_spec("psycopg") is None:
        raise SchemaError("PostgreSQL needs the extra `postgres`: pip install 'sfumato[postgres]'")
    backend = _connected(address)
    if backend is None:
        raise SchemaError("the PostgreSQL server does not let us in; check the address, the database and the role")
    try:
        return backend.table(name, database=place[0] if place else None)
    except Exception:
        with contextlib.suppress(Exception):  # where the connection is lost
            backend.con.rollback()
    raise SchemaError(
        f"there is no table {table!r} that this role may read; name it as table or schema.table, without quotes"
    )


def _connected(address: str) -> BaseBackend | None:
    """One connection for all tables of a server, so that one question can read several; None where it is refused."""
    held = _open.get((address, os.getpid()))
    if held is not None and not held.con.closed:
        return held
    try:
        backend = ibis.connect(address)
    except Exception:
        return None
    when_gone(backend, backend.con.close)
    _open[address, os.getpid()] = backend
    return backend
