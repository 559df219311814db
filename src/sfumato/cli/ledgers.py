"""The commands that look at a ledger, and their help."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

__all__ = ["Json", "ledgers"]

ledgers = typer.Typer(no_args_is_help=True, help="Look at a ledger: what was spent, and whether it was tampered with.")

Json = Annotated[bool, typer.Option("--json", help="Print JSON for programs.")]
LedgerFile = Annotated[Path, typer.Argument(metavar="LEDGER", help="A ledger file.", show_default=False)]


@ledgers.command("show", epilog="Example: sfumato ledger show people.ledger")
def ledger_show(ledger: LedgerFile, json: Json = False) -> None:
    """Show terms, charges, what is spent and what is left."""
    from sfumato.cli.ledger import show

    show(ledger, json)


@ledgers.command("verify", epilog="Example: sfumato ledger verify people.ledger --head 670aad25...")
def ledger_verify(
    ledger: LedgerFile,
    head: Annotated[list[str] | None, typer.Option(help="A head that a release printed; repeat for more.")] = None,
    json: Json = False,
) -> None:
    """Check the whole chain, the totals and the stored releases; exit code 4 when something is wrong."""
    from sfumato.cli.ledger import verify

    verify(ledger, head or [], json)


@ledgers.command("export", epilog="Example: sfumato ledger export people.ledger --out people.ledger.json")
def ledger_export(
    ledger: LedgerFile,
    out: Annotated[Path | None, typer.Option(help="Where to write; otherwise it is printed.")] = None,
    json: Json = False,
) -> None:
    """Write every entry as JSON, oldest first."""
    from sfumato.cli.ledger import export

    export(ledger, out, json)
