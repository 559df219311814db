"""The commands that look at a ledger, and their help."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sfumato.cli.options import Delta, Epsilon, Rho

__all__ = ["Json", "ledgers"]

ledgers = typer.Typer(no_args_is_help=True, help="Look at a ledger: what was spent, and whether it was tampered with.")

Json = Annotated[bool, typer.Option("--json", help="Print JSON for programs.")]
LedgerFile = Annotated[
    Path,
    typer.Argument(
        metavar="LEDGER", help="A ledger file, or a plan, whose ledger may be on a server.", show_default=False
    ),
]


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


@ledgers.command("backup", epilog="Example: sfumato ledger backup people.ledger safe/people-2026-11-17.ledger")
def ledger_backup(
    ledger: LedgerFile,
    copy: Annotated[Path, typer.Argument(metavar="COPY", help="Where the copy shall be.", show_default=False)],
    json: Json = False,
) -> None:
    """Copy a ledger file, or that of a plan, while others spend from it; verify the copy and print its head."""
    from sfumato.cli.ledger import backup

    backup(ledger, copy, json)


@ledgers.command("writeoff", epilog="Example: sfumato ledger writeoff people.ledger --epsilon 0.4")
def ledger_writeoff(
    ledger: LedgerFile, epsilon: Epsilon = None, delta: Delta = None, rho: Rho = None, json: Json = False
) -> None:
    """Charge what was spent after an older copy was made that now stands in the ledger's place."""
    from sfumato.cli.ledger import write_off

    write_off(ledger, epsilon, delta, rho, json)
