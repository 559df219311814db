"""Looking at a ledger: show, verify, export."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from sfumato.cli.console import console, print_json, say, table, write_text
from sfumato.cli.failures import LedgerDoesNotVerify
from sfumato.cli.sparing import must_be_apart
from sfumato.errors import LedgerError, ParameterError
from sfumato.ledger import Entry, Ledger, LedgerLike
from sfumato.ledger.copying import copied, written_off
from sfumato.ledger.names import resting
from sfumato.ledger.opening import opened
from sfumato.ledger.protocol import spent_words
from sfumato.plans import read_plan
from sfumato.privacy.claims import guarantee_from, guarantee_of, to_record
from sfumato.records import readable
from sfumato.release.verification import verify as check
from sfumato.report.answers import cost, left

__all__ = ["backup", "export", "show", "verify", "write_off"]

PLANS = (".toml", ".json")  # endings of files that are plans


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
    _must_be_there(path)
    try:
        found = check(_existing(path), heads)
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
    place = _place(path)
    must_be_apart(out, path, place if isinstance(place, Path) else None)
    _must_be_export(out)
    write_text(out, readable(entries))
    if as_json:
        print_json({"file": str(out), "entries": len(entries)})
    else:
        say(f"wrote {len(entries)} entries to {out}")


def _must_be_export(out: Path) -> None:
    """Refuse to replace a file that is there, unless it holds the entries of a ledger."""
    try:
        held = [] if not out.exists() or not out.stat().st_size else json.loads(out.read_bytes())
        ours = all({"sequence", "hash"} <= dict(one).keys() for one in list(held))
    except (OSError, ValueError, TypeError, RecursionError):
        ours = False
    if not ours:
        raise ParameterError(
            f"--out: {out} is there already, and is no export of a ledger; choose another file, or remove it first"
        )


def backup(path: Path, copy: Path, as_json: bool) -> None:
    """A verified copy, and its head."""
    _existing(path)
    file = _place(path)
    if not isinstance(file, Path):
        raise LedgerError(f"the ledger of {path} is on a server: pg_dump --schema=sfumato copies it, psql restores it")
    found = copied(file, copy)
    if as_json:
        print_json({"file": str(copy), "entries": found.entries, "head": found.head})
    else:
        say(f"copied {found.entries} entries to {copy}, and verified them")
        say(f"head  {found.head}")


def write_off(path: Path, epsilon: float | None, delta: float | None, rho: float | None, as_json: bool) -> None:
    """Charge what an older copy has forgotten, and say what is left."""
    terms = _existing(path).terms
    claim = guarantee_of({"epsilon": epsilon, "delta": delta, "rho": rho})
    ledger, _ = opened(
        _place(path), dataset=terms.dataset, adjacency=terms.adjacency, unit=terms.unit, budget=terms.budget, allow=()
    )
    charge = written_off(ledger, claim)
    if as_json:
        print_json({"charge": charge.sequence, "remaining": to_record(ledger.remaining()), "head": ledger.head})
    else:
        say(f"written off {cost(claim)}; left {left(ledger.remaining())}")
        say(f"head  {ledger.head}")


def _existing(path: Path) -> LedgerLike:
    """The ledger of a file, or of the plan that a file is: its ledger may be on a server."""
    _must_be_there(path)
    if path.suffix.lower() not in PLANS:
        return Ledger.existing(path)
    ledger = read_plan(path).ledger.existing()
    if ledger is None:
        raise LedgerError(f"the ledger of {path} does not exist yet; publishing, or serving, starts it")
    return ledger


def _place(path: Path) -> str | Path:
    """Where the ledger is that a file, or the plan that it is, stands for."""
    return path if path.suffix.lower() not in PLANS else read_plan(path).ledger.address


def _must_be_there(path: Path) -> None:
    if not path.exists():
        raise LedgerError(f"there is no ledger {path}; check the path")


def _table(entries: tuple[Entry, ...]) -> Any:
    whole = table("#", "time", "entry", "name", "amount", right=(0,), fold=True)
    for entry in entries:
        amount = "" if entry.guarantee is None else cost(guarantee_from(entry.guarantee))
        amount = f"budget {amount}" if entry.kind == "open" else amount
        if entry.kind == "charge" and "batch" in entry.description:
            amount = f"paid by {entry.description['batch']}"
        whole.add_row(str(entry.sequence), entry.time.replace("+00:00", "Z"), entry.kind, entry.name, amount)
    return whole
