"""Copies of a ledger file, and what an older one has forgotten.

A copy is taken while others spend: SQLite's own backup sees the file as it was at one moment.  It holds everything that
was charged and released until then, and its head says until when.  An older copy that is put in the ledger's place has
forgotten what was spent since; that budget is gone all the same, so it is written off before anybody asks again.
"""

from __future__ import annotations

import contextlib
import sqlite3
from pathlib import Path

from sfumato.errors import LedgerError, ParameterError
from sfumato.ledger import contents
from sfumato.ledger.database import LEDGER
from sfumato.ledger.protocol import Charge, LedgerLike, Verification
from sfumato.ledger.sqlite import Ledger
from sfumato.privacy.guarantees import Guarantee
from sfumato.records import digest
from sfumato.storage import in_a_folder, whole

__all__ = ["copied", "written_off"]


def copied(source: Path, target: Path) -> Verification:
    """Copy a ledger, with the large releases beside it, whole and verified; a file that is there is not replaced."""
    in_a_folder(target)
    if target.exists():
        raise ParameterError(f"{target} exists; a copy is never written over another: give it a name of its own")
    try:
        with whole(target) as draft:
            with LEDGER.reading(source) as held, contextlib.closing(sqlite3.connect(draft)) as copy:
                held.commit()  # the backup is a transaction of its own
                held.backup(copy)
            ledger, kept = Ledger.existing(draft), Ledger.existing(source)
            for entry in ledger.entries():
                if entry.kind == "release" and entry.description.get("place") == "beside":
                    _beside(kept, target, str(entry.description.get("content")))
            found = ledger.verify([kept.entries()[len(ledger.entries()) - 1].hash])
            if not found.holds:
                raise LedgerError(f"the copy does not hold: {'; '.join(found.problems)}; nothing was kept")
    except OSError as error:
        raise LedgerError(
            f"ledger {source} cannot be copied to {target} ({error.strerror}); nothing was kept"
        ) from None
    return found


def _beside(ledger: Ledger, target: Path, content: str) -> None:
    """A large release, which has the name of its content; it is there before the copy that names it."""
    held = contents.read_beside(ledger.path, content)
    if held is None:
        raise LedgerError(f"the release {content[:12]} beside ledger {ledger.place} is missing; nothing was kept")
    contents.write_beside(target, held)


def written_off(ledger: LedgerLike, claim: Guarantee) -> Charge:
    """Charge what was spent and is not in this copy, for nothing that it could show."""
    said = {"written off": "what was spent after this copy was made", "after": ledger.head}
    return ledger.charge(f"written off after {ledger.head[:12]}", digest(said), claim, said)
