"""Where a plan's ledger is: a file, or a server whose address an environment variable holds."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from sfumato.addresses import held_in
from sfumato.errors import LedgerError
from sfumato.ledger import Ledger, LedgerLike
from sfumato.ledger.contents import must_have_room
from sfumato.storage import free_bytes

__all__ = ["LedgerPlace"]


@dataclass(frozen=True, slots=True)
class LedgerPlace:
    """A ledger by the path of its file, or by its name on the server that `connection` leads to."""

    dataset: str
    file: Path | None = None
    connection: str | None = None  # the environment variable that holds a server's address

    def __str__(self) -> str:
        return str(self.file) if self.file is not None else f"{self.dataset!r} on the server of {self.connection}"

    @property
    def address(self) -> str | Path:
        """What a session opens: the path, or the server's address, which may hold a password."""
        return self.file if self.connection is None else held_in(self.connection)  # type: ignore[return-value]

    def existing(self) -> LedgerLike | None:
        """The ledger, to look at; none where there is none yet."""
        if self.file is not None:
            return Ledger.existing(self.file) if self.file.exists() else None
        from sfumato.ledger.postgres import PostgresLedger
        from sfumato.ledger.server import Server

        address = str(self.address)
        return PostgresLedger.existing(address, self.dataset) if Server(address).holds(self.dataset) else None

    def must_be_possible(self) -> None:
        """Refuse a file that cannot be made."""
        if self.file is not None and not self.file.parent.is_dir():
            raise LedgerError(f"ledger {self} cannot be created: its directory does not exist; create it first")

    def must_have_room(self) -> None:
        """Refuse, before anything is charged, a disk on which a release could be paid for and not be stored."""
        if self.file is not None and self.file.parent.is_dir():
            must_have_room(str(self.file), free_bytes(self.file.parent))

    def to_record(self, folder: Path) -> dict[str, str]:
        """As a plan in that folder says it."""
        if self.file is None:
            return {"connection": str(self.connection)}
        return {"path": os.path.relpath(self.file, folder)}
