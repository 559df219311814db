"""The token by which a relay shows a collector that it may send batches: one file on each side, their owners' alone."""

from __future__ import annotations

import os
import secrets
import stat
from contextlib import suppress
from pathlib import Path

from sfumato.errors import ParameterError

__all__ = ["token_of"]

LEAST = 32  # characters; one that is made here has 43, of 256 random bits


def token_of(path: Path, *, made: bool = False) -> str:
    """The token in a file that nobody else may read; with `made`, a new one if there is no file."""
    if made:
        with (
            suppress(FileExistsError),
            open(path, "x", opener=lambda name, flags: os.open(name, flags, 0o600)) as file,
        ):
            file.write(secrets.token_urlsafe(32) + "\n")
            file.flush()
            os.fsync(file.fileno())
    try:
        with open(path, encoding="ascii") as file:
            rights, held = os.fstat(file.fileno()).st_mode, file.read(1 << 10).strip()
    except (OSError, ValueError):
        raise ParameterError(f"there is no token in {path}; the collector makes it, beside its declaration") from None
    if os.name != "nt" and stat.S_IMODE(rights) & 0o077:
        raise ParameterError(f"token {path} may be read by others than its owner; take their rights away (chmod 600)")
    if len(held) < LEAST or not held.isprintable() or " " in held:
        raise ParameterError(f"{path} holds no token; give the file that the collector made")
    return held
