"""Where the bytes of releases live: in the ledger, or, when large, beside it, named by hash."""

from __future__ import annotations

from pathlib import Path

from sfumato.errors import LedgerError
from sfumato.records import sha256
from sfumato.storage import whole

__all__ = ["INSIDE_BYTES", "beside", "must_have_room", "read_beside", "write_beside"]

INSIDE_BYTES = 16 * 2**20  # larger contents would make the ledger file slow to copy and check
ROOM = 2 * INSIDE_BYTES  # what a release of the largest size inside the ledger takes, with its journal


def beside(ledger: Path, content_hash: str) -> Path:
    """The file of a large content."""
    return ledger.with_name(f"{content_hash}.release")


def write_beside(ledger: Path, content: bytes) -> None:
    """Write, sync, put in place, sync the directory: the name never stands for half a content."""
    try:
        with whole(beside(ledger, sha256(content))) as draft:
            draft.write_bytes(content)
    except OSError:
        raise LedgerError(
            f"the release could not be stored beside ledger {ledger}: its directory is full or "
            "cannot be written; the charge stays spent, make room and release again"
        ) from None


def read_beside(ledger: Path, content_hash: str) -> bytes | None:
    """A large content, or nothing if its file cannot be read; the caller checks the hash."""
    try:
        return beside(ledger, content_hash).read_bytes()
    except (OSError, ValueError):  # the latter where damage left no name of a file
        return None


def must_have_room(ledger: str, free: int | None) -> None:
    """Refuse, before anything is charged, where a release could be paid for and not be stored."""
    if free is not None and free < ROOM:
        raise LedgerError(
            f"the disk of ledger {ledger} has {free // 2**20} MB free, and {ROOM // 2**20} MB may be needed to store "
            "what is paid for; nothing was charged.  Make room first"
        )
