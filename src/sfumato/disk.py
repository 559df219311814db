"""The disk below: names in directories that survive a power cut, and the room that is left."""

from __future__ import annotations

import contextlib
import os
import re
import secrets
import shutil
import time
from pathlib import Path

__all__ = ["clear_drafts", "draft_beside", "free_bytes", "private_file", "sync_directory", "sync_names"]

DRAFT = re.compile(r"\.(?:.+\.)?[0-9a-f]{16}\.new")
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


def free_bytes(directory: Path) -> int:
    """How much may still be written beside the files of a directory."""
    return shutil.disk_usage(directory).free


def draft_beside(path: Path) -> Path:
    """A name for what will be put in place at `path` whole; its length does not grow with that of `path`."""
    return path.with_name(f".{secrets.token_hex(8)}.new")


def private_file(path: Path) -> None:
    """Create an empty file that only its owner reads and writes, whatever the umask; not over another."""
    os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))


def clear_drafts(directory: Path) -> None:
    """Remove drafts that a killed process left behind; those of the last minutes may still be in use."""
    with contextlib.suppress(OSError):
        for name in os.listdir(directory):
            if DRAFT.fullmatch(name):
                with contextlib.suppress(OSError):
                    if time.time() - (directory / name).stat().st_mtime > ABANDONED:
                        (directory / name).unlink()
