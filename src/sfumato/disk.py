"""The disk below: names in directories that survive a power cut, and the room that is left."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

__all__ = ["free_bytes", "sync_directory"]


def sync_directory(directory: Path) -> None:
    """Make names created in a directory survive a power cut."""
    if os.name == "nt":  # directories cannot be opened there; NTFS journals its names itself
        return
    handle = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def free_bytes(directory: Path) -> int:
    """How much may still be written beside the files of a directory."""
    return shutil.disk_usage(directory).free
