"""The preview of a plan: cost, error and certificate of every release, and the total; nothing is spent."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from sfumato.cli.answers import certified, price
from sfumato.cli.console import console, print_json, table
from sfumato.cli.opening import Outlook, fit, outlook
from sfumato.orders import Preview, previewed
from sfumato.plans import Plan, read_plan
from sfumato.privacy.guarantees import to_record
from sfumato.report.answers import cost

__all__ = ["run"]


def run(path: Path, as_json: bool) -> None:
    """Print the preview; exit code 3 when the plan does not fit its budget."""
    plan = read_plan(path)
    seen = outlook(plan)
    shown = [previewed(settled, plan.schema) for settled in seen.orders]
    if as_json:
        print_json(_record(plan, shown, seen))
    else:
        _print(plan, shown, seen)
    fit(plan, seen)


def _print(plan: Plan, shown: list[Preview], seen: Outlook) -> None:
    out = console()
    whole = table("release", "cost", "error to expect (95%)", "certificate", "mechanism", fold=True)
    for preview in shown:
        whole.add_row(
            preview.name,
            price(preview.name, preview.guarantee, seen.stored),
            "\n".join(error.words(probability=False) for error in preview.errors),
            certified(preview.certificate),
            preview.mechanism,
        )
    out.print(f"{plan.schema.dataset}: protects against {plan.schema.words()}")
    out.print(whole)
    out.print(f"spent so far {cost(seen.before)}; after this plan {cost(seen.after)}; budget {cost(plan.budget)}")
    if seen.is_new:
        out.print(f"There is no ledger {plan.ledger} yet: publishing starts it, with the whole budget to spend")
    out.print("Nothing was spent and no data was read.  To release: sfumato publish " + str(plan.path))


def _record(plan: Plan, shown: list[Preview], seen: Outlook) -> dict[str, Any]:
    return {
        "dataset": plan.schema.dataset,
        "unit": plan.schema.words(),
        "releases": [
            {
                "name": preview.name,
                "stored": seen.stored.get(preview.name),
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
        "new_ledger": seen.is_new,
    }
