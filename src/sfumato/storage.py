"""Files that survive crashes: names that outlive a power cut, contents that are put in place whole, SQLite that is
durable when it says so.

SQLite files use journal mode TRUNCATE with synchronous=FULL: when COMMIT returns, what was written is in the main file
and the journal is void, both synced.  (DELETE would need synchronous=EXTRA, since removing the journal is not synced
and a power cut could roll back; WAL keeps recent commits in a second file, and losing that file would undo them.)
Each operation opens its own connection, so threads and forked processes never share one.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import secrets
import shutil
import sqlite3
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from sfumato.errors import ParameterError, SfumatoError

__all__ = [
    "PRIVATE",
    "PUBLISHED",
    "DatabaseKind",
    "clear_drafts",
    "free_bytes",
    "in_a_folder",
    "sync_directory",
    "sync_names",
    "turn",
    "whole",
    "writing",
]

PRIVATE, PUBLISHED = 0o600, 0o666  # rights of a new file: its owner's alone, or what the umask leaves
BUSY_SECONDS = 120.0  # a commit takes milliseconds; eight busy writers stay far below this
DRAFT = re.compile(r"\.(?:.+\.)?[0-9a-f]{16}\.new(?:\.[a-z]+)?")
ABANDONED = 600.0  # seconds after which a draft belongs to nobody: writing one takes far less


def sync_directory(directory: Path) -> None:
    """Make names created in a directory survive a power cut."""
    if os.name == "nt":  # directories cannot be opened there; NTFS journals its names itself
        return
    handle = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def sync_names(path: Path) -> None:
    """Make a file's name survive a power cut, and the names of the directories above it, which may be as new."""
    sync_directory(path.parent)
    for directory in path.absolute().parent.parents:
        with contextlib.suppress(OSError):  # not ours to open, hence not made just now
            sync_directory(directory)


def in_a_folder(path: str | Path) -> Path:
    """The path of a file to write, whose folder there is; refused where there is none."""
    target = Path(path)
    if not target.parent.is_dir():
        raise ParameterError(f"{target} cannot be written: there is no folder {target.parent}; make it first")
    return target


def free_bytes(directory: Path) -> int:
    """How much may still be written beside the files of a directory."""
    return shutil.disk_usage(directory).free


@contextlib.contextmanager
def whole(path: Path, rights: int = PRIVATE) -> Iterator[Path]:
    """A draft for what `path` shall hold, put in its place whole and durably when the block ends; gone if it raises.

    The draft is an empty file with these rights and the suffix of `path`, in the same directory.
    """
    suffix = path.suffix if re.fullmatch(r"\.[a-z]{1,8}", path.suffix) else ""
    with _draft(path, rights, suffix) as draft:
        yield draft
        _sync_file(draft)
        first = not path.exists()
        os.replace(draft, path)
        if first:
            sync_names(path)
        else:
            sync_directory(path.parent)


@contextlib.contextmanager
def turn(path: Path, name: str) -> Iterator[None]:
    """Wait until nobody else on this machine is at `name` of a file: so that one finds what the other has made.

    A courtesy, on which nothing rests: where no such lock can be had, nobody waits.  A process that dies gives way.
    """
    digest = hashlib.sha256(f"{path.absolute()}\0{name}".encode()).hexdigest()[:32]
    place = Path(tempfile.gettempdir()) / f".sfumato-{digest}.turn"
    handle = _taken(place)
    _clear_turns(place.parent)
    try:
        yield
    finally:
        if handle is not None:
            with contextlib.suppress(OSError):
                place.unlink()
            os.close(handle)


def _taken(place: Path) -> int | None:
    """The lock of a file that is there as long as somebody holds it; None where there is none to be had."""
    try:
        import fcntl

        while True:
            handle = os.open(place, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, PRIVATE)
            try:
                if os.fstat(handle).st_uid != os.geteuid():
                    raise PermissionError("somebody else's")
                fcntl.flock(handle, fcntl.LOCK_EX)
                if place.exists() and os.fstat(handle).st_ino == place.stat().st_ino:
                    return handle  # and not the file that the one before has just removed
            except BaseException:
                os.close(handle)
                raise
            os.close(handle)
    except (ImportError, OSError):
        return None


def _clear_turns(directory: Path) -> None:
    """Remove locks of ours that nobody holds, as killed processes leave them; who waits for one makes it anew."""
    with contextlib.suppress(ImportError, OSError):
        import fcntl

        for place in directory.glob(".sfumato-*.turn"):
            with contextlib.suppress(OSError):
                handle = os.open(place, os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC)
                try:
                    fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    if os.fstat(handle).st_uid == os.geteuid() and os.fstat(handle).st_ino == place.stat().st_ino:
                        place.unlink()
                finally:
                    os.close(handle)


@contextlib.contextmanager
def writing(path: Path, rest: str = "") -> Iterator[None]:
    """Turn a failure to write what was asked for into a refusal that names the place."""
    try:
        yield
    except OSError as error:
        reason = error.strerror or "the system refused"
        advice = "choose a place that can be written, or make room"
        raise ParameterError(f"--out: {path} cannot be written ({reason}); {advice}{rest}") from None


def clear_drafts(directory: Path) -> None:
    """Remove drafts that a killed process left behind; those of the last minutes may still be in use."""
    with contextlib.suppress(OSError):
        for name in os.listdir(directory):
            if DRAFT.fullmatch(name):
                with contextlib.suppress(OSError):
                    if time.time() - (directory / name).stat().st_mtime > ABANDONED:
                        (directory / name).unlink()


@dataclass(frozen=True, slots=True)
class DatabaseKind:
    """A kind of SQLite file that this program alone writes: what tells it from others, and what to do when it fails."""

    noun: str
    application: int  # in the file header; tells the kind from any other SQLite file
    formats: tuple[int, ...]
    error: type[SfumatoError]
    absent: str
    foreign: str
    damaged: str
    refused: str  # an entry that a constraint keeps out
    failed: str  # what to do after a failure that may have written
    settings: tuple[str, ...] = ()  # of each writing connection

    @contextlib.contextmanager
    def reading(self, path: Path) -> Iterator[sqlite3.Connection]:
        """A connection inside one short read transaction."""
        with self._connection(path) as connection:
            connection.execute("BEGIN")
            yield connection

    @contextlib.contextmanager
    def writing(self, path: Path) -> Iterator[sqlite3.Connection]:
        """A connection inside a transaction that excludes other writers; durable when the block ends.

        BEGIN IMMEDIATE takes the write lock before anything is read: no transaction ever upgrades a
        read lock, so two of them cannot wait for each other.  Leaving by an exception rolls back.
        """
        with self._connection(path) as connection:
            (mode,) = connection.execute("PRAGMA journal_mode = TRUNCATE").fetchone()
            if mode != "truncate":
                raise self.error(
                    f"{self.noun} {path} is in journal mode {mode!r}, which another program set and holds; "
                    "close that program and try again"
                )
            connection.execute("PRAGMA synchronous = FULL")
            connection.execute("PRAGMA fullfsync = ON")  # macOS: reach the disk, not only the drive
            for setting in self.settings:
                connection.execute(setting)
            connection.execute("BEGIN IMMEDIATE")
            yield connection
            connection.execute("COMMIT")

    def create(self, path: Path, version: int, fill: Callable[[sqlite3.Connection], None]) -> None:
        """Put a new file in place whole, unless one appeared meanwhile; only its owner reads and writes it."""
        with self._explained(path), _draft(path, PRIVATE) as draft:
            with contextlib.closing(_connect(draft, "rwc")) as connection:
                connection.execute("PRAGMA journal_mode = MEMORY")  # private until linked
                connection.execute("PRAGMA synchronous = FULL")
                connection.execute(f"PRAGMA application_id = {self.application}")
                connection.execute(f"PRAGMA user_version = {version}")
                connection.execute("BEGIN IMMEDIATE")
                fill(connection)
                connection.execute("COMMIT")
            with contextlib.suppress(FileExistsError):
                os.link(draft, path)
            sync_names(path)

    @contextlib.contextmanager
    def _connection(self, path: Path) -> Iterator[sqlite3.Connection]:
        if not path.exists():
            raise self.error(f"{self.noun} {path} does not exist; {self.absent}")
        with self._explained(path), contextlib.closing(_connect(path, "rw")) as connection:
            (application,) = connection.execute("PRAGMA application_id").fetchone()
            (version,) = connection.execute("PRAGMA user_version").fetchone()
            if application != self.application:
                raise self.error(f"{path} is not a {self.noun} {self.foreign}; give another path")
            if version not in self.formats:
                known = " and ".join(map(str, self.formats))
                raise self.error(
                    f"{self.noun} {path} has format {version}, this version reads {known}; "
                    "use the version of sfumato that wrote it"
                )
            yield connection

    @contextlib.contextmanager
    def _explained(self, path: Path) -> Iterator[None]:
        """SQLite's and the system's failures as one clear error.  A failed COMMIT may have written."""
        try:
            yield
        except (
            sqlite3.Error,
            OSError,
            UnicodeError,
            OverflowError,
        ) as failure:  # the last two: of wrecks
            raise self.error(f"{self.noun} {path} {self._reason(path, failure)}") from None

    def _reason(self, path: Path, failure: Exception) -> str:
        code = getattr(failure, "sqlite_errorcode", 0) & 0xFF  # the low byte is the primary code
        if not path.parent.is_dir():
            return "cannot be created: its directory does not exist; create the directory first"
        if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
            return (
                f"was locked by another process for {BUSY_SECONDS:.0f} seconds; nothing was written; "
                "end that process or wait, then try again"
            )
        if code in (sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_CORRUPT) or isinstance(failure, UnicodeError | OverflowError):
            return f"is damaged or not a {self.noun}; {self.damaged}"
        if code == sqlite3.SQLITE_READONLY or isinstance(failure, PermissionError):
            return "cannot be written; allow writing to the file and its directory"
        if code == sqlite3.SQLITE_CANTOPEN:
            return "cannot be opened; check that it is a file, and that you may write to its directory"
        if code == sqlite3.SQLITE_CONSTRAINT:
            return self.refused
        return f"could not be written or read (disk full, or a failing or unsuitable file system); {self.failed}"


def _connect(path: Path, mode: str) -> sqlite3.Connection:
    address = f"{path.absolute().as_uri()}?mode={mode}"
    return sqlite3.connect(address, uri=True, timeout=BUSY_SECONDS, isolation_level=None)


@contextlib.contextmanager
def _draft(path: Path, rights: int, suffix: str = "") -> Iterator[Path]:
    """An empty file beside `path`, removed in the end; the length of its name does not grow with that of `path`."""
    draft = path.with_name(f".{secrets.token_hex(8)}.new{suffix}")
    try:
        os.close(os.open(draft, os.O_CREAT | os.O_EXCL | os.O_WRONLY, rights))
        yield draft
    finally:
        with contextlib.suppress(OSError):
            draft.unlink(missing_ok=True)


def _sync_file(path: Path) -> None:
    with path.open("r+b") as file:
        os.fsync(file.fileno())
