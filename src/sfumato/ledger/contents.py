"""Where the bytes of releases live: in the ledger, or, when large, beside it, named by hash."""

from __future__ import annotations

import contextlib
import hashlib
import os
from pathlib import Path

from sfumato.disk import draft_beside, private_file, sync_directory
from sfumato.errors import LedgerError

__all__ = ["INSIDE_BYTES", "beside", "fingerprint", "read_beside", "write_beside"]

INSIDE_BYTES = 16 * 2**20  # larger contents would make the ledger file slow to copy and check


def fingerprint(content: bytes) -> str:
    """The SHA-256 of a content, in hexadecimal."""
    return hashlib.sha256(content).hexdigest()


def beside(ledger: Path, content_hash: str) -> Path:
    """The file of a large content."""
    return ledger.with_name(f"{content_hash}.release")


def write_beside(ledger: Path, content: bytes) -> None:
    """Write, sync, put in place, sync the directory: the name never stands for half a content."""
    final = beside(ledger, fingerprint(content))
    draft = draft_beside(final)
    try:
        private_file(draft)
        with draft.open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(draft, final)
        sync_directory(final.parent)
    except OSError:
        raise LedgerError(
            f"the release could not be stored beside ledger {ledger}: its directory is full or "
            "cannot be written; the charge stays spent, make room and release again"
        ) from None
    finally:
        with contextlib.suppress(OSError):
            draft.unlink(missing_ok=True)


def read_beside(ledger: Path, content_hash: str) -> bytes | None:
    """A large content, or nothing if its file cannot be read; the caller checks the hash."""
    try:
        return beside(ledger, content_hash).read_bytes()
    except OSError:
        return None
