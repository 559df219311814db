"""Where a plan's tables are: a file, a folder, an object store, or a table of Spark or of a PostgreSQL server.

A plan is public, so it holds no password: the address of a server that asks for one is kept in an environment variable,
which the plan names.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from pathlib import Path, PureWindowsPath

from sfumato import arguments
from sfumato.addresses import SERVERS, holds_secret
from sfumato.errors import SchemaError

__all__ = [
    "KEPT",
    "Place",
    "listed",
    "must_be_connection",
    "must_be_files",
    "must_be_paths",
    "must_be_place",
    "must_be_variable",
    "must_stay",
    "placed",
]

KEPT = 'connection = "NAME", where the environment variable NAME holds the address of the server'
VERSION = "{version}"
PARTS = ("engine", "connection", "path", "table")


@dataclass(frozen=True, slots=True)
class Place:
    """A table: by the path of its file or the address of its store, by its name within an engine, or both."""

    path: Path | str | None = None
    table: str | None = None
    engine: str | None = None  # "spark", "postgres", or DuckDB within this process
    connection: str | None = None  # the environment variable that holds a server's address
    others: tuple[Path, ...] = ()  # further files of the same table

    @property
    def files(self) -> tuple[Path, ...]:
        """All that is read of this machine."""
        return (self.path, *self.others) if isinstance(self.path, Path) else ()

    @property
    def is_text(self) -> bool:
        """Whether it is text files, whose lines may not decode or fit, as its path's ending says."""
        written = "" if self.path is None else str(self.path).lower()
        return bool({".csv", ".tsv"} & set(PureWindowsPath(written).suffixes))

    @property
    def file(self) -> Path | None:
        """What of this machine is read, where it is a path."""
        return self.path if isinstance(self.path, Path) else None

    @property
    def name_within(self) -> str | None:
        """The table within a file."""
        return self.table if self.engine is None else None

    @property
    def words(self) -> str:
        """Where it is, in a few words."""
        several = f" and {len(self.others)} more" if self.others else ""
        named = " in ".join(str(one) for one in (self.table if self.engine else None, self.path) if one is not None)
        named += several
        return named if self.engine is None else f"{named} on {self.engine}"

    def to_record(self, folder: Path, parts: tuple[str, ...] = PARTS) -> dict[str, str | list[str]]:
        """As a plan in that folder says it."""
        listed = [Path(os.path.relpath(one, folder)).as_posix() for one in self.files]
        path = self.path if isinstance(self.path, str) else listed if self.others else listed[0] if listed else None
        said = {"engine": self.engine, "connection": self.connection, "path": path, "table": self.table}
        return {name: value for name in parts if (value := said[name]) is not None}


def placed(
    folder: Path, path: str | None, table: str | None, engine: str | None, connection: str | None, version: str | None
) -> Place:
    """The place that a plan in a folder says; `{version}` in a path or name is the table's version."""
    if any(VERSION in written for written in (path, table) if written is not None) and version is None:
        raise SchemaError("the path holds {version}; say which with version = ... in [table], or with --version")
    if version is not None and path is not None and VERSION in path:
        must_stay("version", version, "so that it cannot stand for {version} in a path; call it otherwise")
    named = None if table is None else table.replace(VERSION, version or "")
    if path is None:
        return Place(None, named, engine, connection)
    written = path.replace(VERSION, version or "")
    whole = written if "://" in written else arguments.path("path", folder / written)
    return Place(whole, named, engine, connection)


def must_stay(noun: str, name: str, way: str) -> None:
    """Refuse a name that becomes a path and would lead out of its folder, or stand for several files."""
    parts = name.split("/")
    if {"\\", "*"} & set(name) or any(part in ("", ".", "..") or PureWindowsPath(part).drive for part in parts):
        raise SchemaError(f"{noun} {name!r:.200} would lead out of its folder, or name several files, {way}")


def listed(folder: Path, paths: tuple[str, ...], version: str | None) -> Place:
    """The place that several paths of files say, each as `placed` reads it."""
    first, *others = (placed(folder, path, None, None, None, version) for path in paths)
    return replace(first, others=tuple(file for one in others for file in one.files))


def must_be_paths(paths: object) -> object:
    """One path, or several that are files; each a text."""
    several = [paths] if isinstance(paths, str) else paths
    if not isinstance(several, list | tuple) or not several or not all(isinstance(one, str) and one for one in several):
        raise ValueError('is a text, such as "people.parquet", or a list of texts that name files of the same columns')
    return tuple(several)


def must_be_files(paths: tuple[str, ...], engine: str | None, table: str | None) -> None:
    """Refuse a list of what is no file, or of files that another engine would read."""
    if engine is not None or table is not None:
        raise ValueError("is a list of files, which stands alone: leave out engine and table, or name a folder")
    if any("://" in path for path in paths):
        raise ValueError("is a list of files of this machine; of an object store name the folder that holds them")


def must_be_connection(connection: str, engine: str | None) -> None:
    """Refuse what names no environment variable, such as an address itself."""
    if engine != "postgres":
        raise ValueError('stands beside engine = "postgres"; Spark finds its cluster by its own configuration')
    must_be_variable(connection)


def must_be_variable(connection: str) -> None:
    """Refuse what cannot be the name of an environment variable."""
    if not (connection.isascii() and connection.replace("_", "").isalnum() and not connection[0].isdigit()):
        raise ValueError(f"is the name of an environment variable, never an address or a password: {KEPT}")


def must_be_place(path: str | None, engine: str | None, table: str | None, connection: str | None) -> None:
    """Refuse places that name nothing, or two things, or a password."""
    if path is not None and "://" in path and holds_secret(path):  # which is not repeated
        way = f"write {KEPT}" if path.startswith(SERVERS) else "put the credentials into the environment"
        raise ValueError(f"holds a password or key, and a plan is public: take it out, and {way}")
    if engine is None and path is None:
        raise ValueError('is missing; add path = "FILE", relative to the plan, or engine = ... with table = ...')
    if engine is None and str(path).startswith(SERVERS):
        raise ValueError(f'is the address of a server: write engine = "postgres", table = "NAME" and {KEPT}')
    if engine == "spark" and (path is None) == (table is None):
        raise ValueError('says which Parquet files Spark reads, and table = "NAME" one of its catalogue: give one')
    if engine == "postgres" and table is None:
        raise ValueError('is not enough to find a table: write table = "NAME" (--table NAME) as well')
    if engine == "postgres" and (path is None) == (connection is None):
        raise ValueError(f'is not how a server is named: write table = "NAME" and {KEPT}')
    if engine == "postgres" and path is not None and not path.startswith(SERVERS):
        raise ValueError(f"must be an address such as postgresql://reader@host/database; or write {KEPT}")
