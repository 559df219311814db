"""A small file that is never half written, and that one process at a time may change."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sfumato.errors import LedgerError
from sfumato.records import canonical_ascii
from sfumato.storage import whole

try:
    import fcntl
except ImportError:  # pragma: no cover (no POSIX locks)
    fcntl = None  # type: ignore[assignment]

__all__ = ["locked", "read", "write"]


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold the lock beside `path`; others wait.  A process that dies lets go."""
    if fcntl is None:  # pragma: no cover
        raise LedgerError(f"{path.name} needs POSIX file locks, which this system lacks; keep it in memory instead")
    handle = os.open(path.with_name(path.name + ".lock"), os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def read(path: Path, form: str) -> dict[str, Any] | None:
    """The contents; None if the file was never written.  A file that cannot be read is never taken for an empty one."""
    try:
        raw = path.read_bytes()
    except FileNotFoundError:
        return None
    try:
        contents = json.loads(raw)
    except (ValueError, RecursionError):
        contents = None
    if not isinstance(contents, dict) or contents.get("format") != form:
        raise LedgerError(f"{path.name} is not a file of the format {form}; restore it, nothing is sent without it")
    return contents


def write(path: Path, contents: dict[str, Any]) -> None:
    """Replace the contents, durably, all or nothing; readable by the owner only."""
    with whole(path) as draft:
        draft.write_text(canonical_ascii(contents), encoding="ascii")
