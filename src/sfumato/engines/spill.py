"""Where DuckDB puts what does not fit in memory: a folder of this process that nobody else may read.

The folder lies outside the working directory, is removed when the process ends, and is locked while it lives: the next
process of the same user removes what one that was killed has left.  What is spilled is not encrypted: DuckDB encrypts
it only with an extension that it downloads.  `SFUMATO_SPILL=never` in the environment has nothing spilled at all.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import shutil
import tempfile
from functools import cache
from pathlib import Path

try:
    import fcntl
except ImportError:  # pragma: no cover (no POSIX locks: folders of killed processes are left to the system)
    fcntl = None  # type: ignore[assignment]

from sfumato.errors import ParameterError

__all__ = ["private_folder", "spilling"]

PREFIX = "sfumato-spill-"
EVER = "sfumato-"  # how such folders began before they had a prefix of their own
LOCK = "lock"
SETTING, NEVER = "SFUMATO_SPILL", "never"


def spilling() -> str:
    """DuckDB's setting for where to spill; empty where the environment forbids it."""
    chosen = os.environ.get(SETTING, "")
    if chosen not in ("", NEVER):
        raise ParameterError(f"the environment variable {SETTING} must be {NEVER!r} or unset, got {chosen!r:.40}")
    return "" if chosen else str(private_folder())


def private_folder() -> Path:
    """The folder of this process, made at first use (mode 0700); a forked process gets its own."""
    return _folder_of(os.getpid())


@cache
def _folder_of(process: int) -> Path:
    home = Path(tempfile.gettempdir())
    _sweep(home)
    folder = Path(tempfile.mkdtemp(prefix=PREFIX, dir=home))
    while not _held(folder / LOCK):
        folder = Path(tempfile.mkdtemp(prefix=PREFIX, dir=home))
    atexit.register(_remove, folder, process)
    return folder


def _held(lock: Path) -> bool:
    """Whether this process holds a new lock, until its end: another one may have swept the folder away before that."""
    try:
        handle = os.open(lock, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
    except FileNotFoundError:
        return False
    if fcntl is None:  # pragma: no cover
        return True
    fcntl.flock(handle, fcntl.LOCK_EX)
    if lock.exists():
        return True
    os.close(handle)
    return False


def _remove(folder: Path, process: int) -> None:
    if process == os.getpid():  # a fork inherits what runs at exit, but not the folder
        _emptied(folder)


def _emptied(folder: Path) -> None:
    """The folder removed, its lock last: what is left where a process is killed midway, the next one still knows."""
    for path in folder.glob("*"):
        with contextlib.suppress(OSError):
            if path.name != LOCK:
                shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()
    shutil.rmtree(folder, ignore_errors=True)


def _sweep(home: Path) -> None:
    """Remove folders of this user that no living process holds."""
    if fcntl is None:  # pragma: no cover
        return
    for folder in home.glob(f"{PREFIX}*"):  # of a process that was killed before it made its lock, and of no other use
        with contextlib.suppress(OSError):
            folder.rmdir()  # refused where anything is in there
    for lock in home.glob(f"{EVER}*/{LOCK}"):
        with contextlib.suppress(OSError):
            if lock.is_symlink() or lock.parent.is_symlink() or lock.parent.stat().st_uid != os.getuid():
                continue
            handle = os.open(lock, os.O_RDWR)
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)  # refused while its process lives
                _emptied(lock.parent)
            finally:
                os.close(handle)
