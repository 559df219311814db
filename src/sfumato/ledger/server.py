"""A PostgreSQL server that holds ledgers: its tables, its connections, and what its failures mean."""

from __future__ import annotations

import importlib.util
import os
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from select import POLLERR, POLLHUP, POLLIN, poll
from typing import TYPE_CHECKING, Any

from sfumato.errors import LedgerError, SfumatoError
from sfumato.ledger.entries import Entry
from sfumato.ledger.pool import ConnectionPool, Unreachable

if TYPE_CHECKING:
    from psycopg import Connection

__all__ = ["CONNECTED", "ENABLED", "PATIENCE", "TRIGGERS", "Server", "append", "driver"]

SURE = 2.0  # seconds that a connection is taken to live on; who stands between forgets silent ones without a word
REACH = {  # how soon a server that does not answer is given up, unless its address says otherwise
    "connect_timeout": 5,
    "keepalives_idle": 10,
    "keepalives_interval": 5,
    "keepalives_count": 3,
    "tcp_user_timeout": 30_000,
}
PATIENCE = 30  # seconds that one statement may wait for another writer
SETTINGS = (
    "SET search_path = pg_catalog",
    f"SET lock_timeout = '{PATIENCE}s'",
    f"SET statement_timeout = '{2 * PATIENCE}s'",
    f"SET idle_in_transaction_session_timeout = '{PATIENCE}s'",  # a frozen writer does not hold up the others for good
    "SET default_transaction_isolation = 'read committed'",  # each statement sees what was committed before it
    "SET standard_conforming_strings = on",
)
# One writer of a ledger at a time, whose commit waits for the disk of the server, and for more where its owner asks so.
EXCLUSIVE = """SELECT pg_advisory_xact_lock(hashtextextended(%s, 0)),
  set_config('synchronous_commit', CASE WHEN current_setting('synchronous_commit') IN ('off', 'local')
  THEN 'on' ELSE current_setting('synchronous_commit') END, true)"""
# What follows from a body is computed by the server, so it cannot disagree with it.
SCHEMA = (
    "CREATE SCHEMA IF NOT EXISTS sfumato",
    """CREATE TABLE sfumato.entries (
  ledger text NOT NULL COLLATE "C",
  sequence bigint NOT NULL,
  body text NOT NULL,
  hash text NOT NULL,
  name text COLLATE "C" GENERATED ALWAYS AS (body::json ->> 'name') STORED,
  charge bigint GENERATED ALWAYS AS (CASE body::json ->> 'kind'
    WHEN 'release' THEN (body::json -> 'description' ->> 'charge')::bigint END) STORED,
  PRIMARY KEY (ledger, sequence),
  CHECK (sequence = (body::json ->> 'sequence')::bigint),
  CHECK (body::json ->> 'kind' IN ('open', 'charge', 'release', 'correction'))
)""",
    """CREATE TABLE sfumato.contents (
  ledger text NOT NULL COLLATE "C",
  sequence bigint NOT NULL,
  content bytea NOT NULL,
  PRIMARY KEY (ledger, sequence),
  FOREIGN KEY (ledger, sequence) REFERENCES sfumato.entries (ledger, sequence)
)""",
    "ALTER TABLE sfumato.contents ALTER COLUMN content SET STORAGE EXTERNAL",  # releases are compressed already
    "CREATE INDEX entries_by_name ON sfumato.entries (ledger, name, sequence)",
    "CREATE UNIQUE INDEX one_release_per_charge ON sfumato.entries (ledger, charge, name) WHERE charge IS NOT NULL",
    """CREATE FUNCTION sfumato.append_only() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog AS $$
BEGIN
  RAISE EXCEPTION 'a ledger is append-only';
END $$""",
    # An entry continues the chain, and its total is the last one and its own amounts: no writer gives budget back.
    """CREATE FUNCTION sfumato.next_entry() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog AS $$
DECLARE
  held sfumato.entries;
BEGIN
  SELECT * INTO held FROM sfumato.entries WHERE ledger = NEW.ledger ORDER BY sequence DESC LIMIT 1;
  IF NEW.sequence <> coalesce(held.sequence, -1) + 1
    OR NEW.hash <> encode(sha256(convert_to(NEW.body, 'UTF8')), 'hex')
    OR (NEW.sequence = 0) <> (NEW.body::json ->> 'kind' = 'open')
    OR (NEW.sequence > 0 AND NEW.body::json ->> 'previous' IS DISTINCT FROM held.hash)
    OR (NEW.sequence > 0 AND EXISTS (
      SELECT FROM json_array_elements_text(NEW.body::json -> 'total') WITH ORDINALITY AS total (n, place)
      FULL JOIN json_array_elements_text(NEW.body::json -> 'amounts') WITH ORDINALITY AS own (n, place) USING (place)
      FULL JOIN json_array_elements_text(held.body::json -> 'total') WITH ORDINALITY AS before (n, place) USING (place)
      WHERE (own.n::numeric >= 0 AND total.n::numeric = before.n::numeric + own.n::numeric) IS NOT TRUE))
  THEN
    RAISE EXCEPTION 'a ledger is append-only';
  END IF;
  RETURN NEW;
END $$""",
    """CREATE FUNCTION sfumato.next_content() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog AS $$
BEGIN
  IF NEW.sequence <> (SELECT max(sequence) FROM sfumato.entries WHERE ledger = NEW.ledger) THEN
    RAISE EXCEPTION 'a ledger is append-only';
  END IF;
  RETURN NEW;
END $$""",
    "CREATE TRIGGER entries_append BEFORE INSERT ON sfumato.entries FOR EACH ROW EXECUTE FUNCTION sfumato.next_entry()",
    """CREATE TRIGGER contents_append BEFORE INSERT ON sfumato.contents
FOR EACH ROW EXECUTE FUNCTION sfumato.next_content()""",
    """CREATE TRIGGER entries_change BEFORE UPDATE OR DELETE OR TRUNCATE ON sfumato.entries
FOR EACH STATEMENT EXECUTE FUNCTION sfumato.append_only()""",
    """CREATE TRIGGER contents_change BEFORE UPDATE OR DELETE OR TRUNCATE ON sfumato.contents
FOR EACH STATEMENT EXECUTE FUNCTION sfumato.append_only()""",
)
TRIGGERS = {"entries_append", "contents_append", "entries_change", "contents_change"}
ENABLED = """SELECT tgname FROM pg_trigger WHERE NOT tgisinternal AND tgenabled IN ('O', 'A')
  AND tgrelid IN ('sfumato.entries'::regclass, 'sfumato.contents'::regclass)"""
FIRST = "SELECT sequence FROM sfumato.entries WHERE ledger = %s LIMIT 1"


def append(con: Connection[Any], name: str, entry: Entry) -> None:
    """Append one entry inside the current transaction."""
    row = (name, entry.sequence, entry.body(), entry.hash)
    con.execute("INSERT INTO sfumato.entries (ledger, sequence, body, hash) VALUES (%s, %s, %s, %s)", row)


def _has_tables(con: Connection[Any]) -> bool:
    (made,) = con.execute("SELECT to_regclass('sfumato.entries') IS NOT NULL").fetchone() or (False,)
    return bool(made)


class Server:
    """One database, reached by the connections of this process; errors name neither the address nor what is stored."""

    def __init__(self, address: str) -> None:
        self._address = address

    def place(self, name: str) -> str:
        """Where a ledger is, for its owner."""
        with self.connection() as con:
            return f"{name!r} in the database {con.info.dbname!r} of {con.info.host or 'a local server'}"

    def holds(self, name: str) -> bool:
        """Whether there is a ledger of that name."""
        with self.transaction() as con:
            return _has_tables(con) and con.execute(FIRST, (name,)).fetchone() is not None

    def create(self, name: str, opening: Entry) -> None:
        """A new ledger with its opening, unless one appeared meanwhile; the tables, where they are missing."""
        with self.transaction("") as con:
            for statement in () if _has_tables(con) else SCHEMA:
                con.execute(statement)
        with self.transaction(name) as con:
            if con.execute(FIRST, (name,)).fetchone() is None:
                append(con, name, opening)

    @contextmanager
    def transaction(self, writing: str | None = None) -> Iterator[Connection[Any]]:
        """A short transaction; one that writes excludes the other writers of that ledger and is durable at its end."""
        failed, isolation = None, driver().IsolationLevel
        with self.connection() as con:
            try:
                con.read_only = True if writing is None else None
                con.isolation_level = isolation.REPEATABLE_READ if writing is None else isolation.READ_COMMITTED
                with con.transaction():
                    if writing is not None:
                        con.execute(EXCLUSIVE, (f"sfumato\n{writing}",))
                    yield con
            except SfumatoError:
                raise
            except driver().Error as error:
                failed = _meaning(error, writing is not None)
        if failed is not None:  # raised out here, so that the driver's own error is not its context
            raise failed

    def rows(self, query: str, values: Sequence[object]) -> list[Any]:
        """What one query finds: a transaction by itself, without a word to the server before and after it."""
        failed = None
        with self.connection() as con:
            try:
                return list(con.execute(query, values).fetchall())
            except driver().Error as error:
                failed = _meaning(error, False)
        raise failed  # out here, so that the driver's own error is not its context

    @contextmanager
    def connection(self) -> Iterator[Connection[Any]]:
        """A connection of this process that nobody else uses meanwhile; broken ones are not used again."""
        process, con = os.getpid(), self._taken()
        try:
            yield con
        finally:
            if process == os.getpid():  # a fork leaves its parent's
                unused = con.info.transaction_status == driver().pq.TransactionStatus.IDLE
                CONNECTED.give_back(self._address, con, unused and not (con.closed or con.broken))

    def _taken(self) -> Connection[Any]:
        while True:
            con: Connection[Any]
            con, since = CONNECTED.take(self._address)
            if since is None:
                return con
            with suppress(driver().Error):
                if time.monotonic() - since > SURE or _spoken(con):
                    con.execute("SELECT 1")  # the server may have ended it
                return con
            CONNECTED.give_back(self._address, con, False)


def _connected(address: str) -> Connection[Any]:
    """A new connection, with the settings that a ledger relies on."""
    con: Connection[Any] | None = None
    with suppress(driver().Error):
        said = driver().conninfo.conninfo_to_dict(address)
        reach = {name: value for name, value in REACH.items() if name not in said}
        con = driver().connect(address, autocommit=True, application_name="sfumato ledger", **reach)
    if con is None:
        raise Unreachable("the ledger's server does not let us in; check the address, the database and the role")
    unsafe = []
    with suppress(driver().Error):
        for setting in SETTINGS:
            con.execute(setting)
        asked = ("fsync", "full_page_writes")
        unsafe = [name for name in asked if con.execute(f"SHOW {name}").fetchone() == ("off",)]
        if not unsafe:
            return con
    con.close()
    if not unsafe:
        raise Unreachable("the ledger's server ended a connection at once; try again")
    raise LedgerError(f"the ledger's server runs with {unsafe[0]} = off: a crash would lose charges, so it is refused")


CONNECTED: ConnectionPool[Any] = ConnectionPool(_connected)  # of this process, whatever the ledgers


def _spoken(con: Connection[Any]) -> bool:
    """Whether a server has said something to a connection that nobody uses: most likely that it ended it."""
    watched = poll()
    watched.register(con.fileno(), POLLIN | POLLHUP | POLLERR)
    return bool(watched.poll(0))


def driver() -> Any:
    """The package that talks to servers, if it is there."""
    if importlib.util.find_spec("psycopg") is None:
        raise LedgerError("a ledger on PostgreSQL needs the extra `postgres`: pip install 'sfumato[postgres]'")
    import psycopg

    return psycopg


def _meaning(error: Exception, writing: bool) -> LedgerError:
    """What a failure of the server means for whoever called."""
    errors = driver().errors
    if isinstance(error, errors.LockNotAvailable | errors.QueryCanceled):
        return LedgerError(f"the ledger is busy: another writer has held it for {PATIENCE} s; try again")
    if isinstance(error, errors.InsufficientPrivilege):
        return LedgerError(
            "the role may not do this with the ledger; it needs SELECT and INSERT on sfumato.entries and "
            "sfumato.contents, and to make them the right to create a schema"
        )
    if isinstance(error, errors.RaiseException | errors.IntegrityError):
        return LedgerError("the ledger refused the entry, since a ledger is append-only; run verify")
    if writing:
        return LedgerError("the ledger's server failed: count the charge as spent, see to the server, run verify")
    return LedgerError("the ledger's server failed; try again")
