"""Looking at a ledger: show, verify, export."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from sfumato.cli.console import console, print_json, say, table, write_text
from sfumato.cli.failures import LedgerDoesNotVerify
from sfumato.errors import LedgerError
from sfumato.ledger import Entry, Ledger
from sfumato.ledger.names import resting
from sfumato.ledger.protocol import spent_words
from sfumato.privacy.guarantees import guarantee_from, to_record
from sfumato.records import readable
from sfumato.release.verification import verify as check
from sfumato.report.answers import cost, left

__all__ = ["export", "show", "verify"]


def show(path: Path, as_json: bool) -> None:
    """Terms, entries, totals."""
    ledger = _existing(path)
    terms, entries = ledger.terms, ledger.entries()
    if as_json:
        print_json({
            "dataset": terms.dataset, "adjacency": terms.adjacency.name, "unit": terms.unit.words(),
            "budget": to_record(terms.budget), "spent": to_record(ledger.spent()),
            "remaining": to_record(ledger.remaining()), "head": ledger.head,
            "entries": [{**entry.record(), "hash": entry.hash} for entry in entries],
        })  # fmt: skip
        return
    out = console()
    out.print(f"{terms.dataset}: protects against {terms.adjacency.words()} {terms.unit.words()}")
    out.print(_table(entries))
    out.print(f"spent {spent_words(ledger.spent(), terms.budget, cost)}; left {left(ledger.remaining())}")
    caveat = resting(ledger.spent(), entries).caveat()
    if caveat:
        out.print(caveat)
    say(f"head  {ledger.head}")


def verify(path: Path, heads: list[str], as_json: bool) -> None:
    """Check everything; a finding is an error with its own exit code."""
    if not path.exists():
        raise LedgerError(f"there is no ledger {path}; check the path")
    try:
        found = check(Ledger.existing(path), heads)
    except LedgerError as error:
        raise LedgerDoesNotVerify(f"the ledger does NOT hold: {error}") from None
    if as_json:
        spent = None if found.spent is None else to_record(found.spent)
        print_json({
            "holds": found.holds, "entries": found.entries, "head": found.head, "spent": spent,
            "problems": list(found.problems), "disputes": list(found.disputes),
            "true": None if found.true is None else to_record(found.true), "heads_checked": len(heads),
        })  # fmt: skip
    if not found.holds:
        raise LedgerDoesNotVerify(found.words())
    if not as_json:
        say(found.words())
        if not heads:
            say("no printed head was given: with --head HEX a ledger that was rolled back is noticed too")


def export(path: Path, out: Path | None, as_json: bool) -> None:
    """All entries as JSON."""
    entries = _existing(path).export()
    if out is None:
        print_json(entries)
        return
    write_text(out, readable(entries))
    if as_json:
        print_json({"file": str(out), "entries": len(entries)})
    else:
        say(f"wrote {len(entries)} entries to {out}")


def _existing(path: Path) -> Ledger:
    if not path.exists():
        raise LedgerError(f"there is no ledger {path}; check the path")
    return Ledger.existing(path)


def _table(entries: tuple[Entry, ...]) -> Any:
    whole = table("#", "time", "entry", "name", "amount", right=(0,), fold=True)
    for entry in entries:
        amount = "" if entry.guarantee is None else cost(guarantee_from(entry.guarantee))
        amount = f"budget {amount}" if entry.kind == "open" else amount
        if entry.kind == "charge" and "batch" in entry.description:
            amount = f"paid by {entry.description['batch']}"
        whole.add_row(str(entry.sequence), entry.time.replace("+00:00", "Z"), entry.kind, entry.name, amount)
    return whole
