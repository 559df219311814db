"""What a plan's schema makes of its table, for the steward: exact, secret, and not to be released."""

from __future__ import annotations

from pathlib import Path

from sfumato.cli.console import console, print_json, table
from sfumato.plans import read_plan
from sfumato.plans.outlook import opened_table

__all__ = ["run"]


def run(path: Path, as_json: bool) -> None:
    """Print the counts; nothing is charged, and no ledger is opened."""
    from sfumato.engines import check
    from sfumato.engines.checking import COUNTS, SECRET

    plan = read_plan(path)
    found = check(opened_table(plan))
    if as_json:
        print_json({"notice": SECRET, **found.to_record()})
        return
    out = console()
    whole = table("column", "space", *COUNTS, "used", right=range(2, 9), fold=True)
    for column in found.columns:
        whole.add_row(*found.cells(column))
    out.print(SECRET)
    out.print(found.words())
    out.print(whole)
    out.print(
        "Correct what is wrong about the form; bounds and labels taken from what you see here are published with it."
    )
