"""The preview of a plan: cost, error and certificate of every release, and the total; nothing is spent."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sfumato.cli.answers import certified
from sfumato.cli.console import console, print_json
from sfumato.cli.opening import Outlook, fit, outlook, previews
from sfumato.plans import Plan, read_plan
from sfumato.privacy.guarantees import to_record
from sfumato.report.answers import cost

if TYPE_CHECKING:
    from sfumato.session import Preview

__all__ = ["run"]


def run(path: Path, as_json: bool) -> None:
    """Print the preview; exit code 3 when the plan does not fit its budget."""
    plan = read_plan(path)
    shown = previews(plan)
    seen = outlook(plan, shown)
    if as_json:
        print_json(_record(plan, shown, seen))
    else:
        _print(plan, shown, seen)
    fit(plan, seen)


def _print(plan: Plan, shown: list[Preview], seen: Outlook) -> None:
    from rich import box
    from rich.table import Table

    out = console()
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for heading in ("release", "cost", "error to expect (95%)", "certificate", "mechanism"):
        table.add_column(heading, overflow="fold")
    for preview in shown:
        free = preview.name in seen.stored
        table.add_row(
            preview.name,
            "stored: free" if free else cost(preview.guarantee),
            re.sub(r",? with probability 0.95", "", preview.accuracy).replace("; ", "\n"),
            certified(preview.certificate),
            preview.mechanism,
        )
    out.print(f"[bold]{plan.schema.dataset}[/]: protects against {plan.schema.words()}")
    out.print(table)
    out.print(f"spent so far {cost(seen.before)}; after this plan {cost(seen.after)}; budget {cost(plan.budget)}")
    out.print("Nothing was spent and no data was read.  To release: [bold]sfumato publish[/] " + str(plan.path))


def _record(plan: Plan, shown: list[Preview], seen: Outlook) -> dict[str, Any]:
    return {
        "dataset": plan.schema.dataset,
        "unit": plan.schema.words(),
        "releases": [
            {
                "name": preview.name,
                "stored": preview.name in seen.stored,
                "guarantee": to_record(preview.guarantee),
                "error_in_words": preview.accuracy,
                "certificate": preview.certificate.to_record(),
                "certificate_in_words": preview.certificate.words(),
                "mechanism": preview.mechanism,
                "ranking": [{"mechanism": name, "predicted": error} for name, error in preview.ranking],
            }
            for preview in shown
        ],
        "spent": to_record(seen.before),
        "after": to_record(seen.after),
        "budget": to_record(plan.budget),
        "fits": seen.refused is None,
    }
