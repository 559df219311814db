"""The preview of a plan: cost, error and certificate of every release, and the total; nothing is spent."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sfumato.accuracy.targets import scale_of
from sfumato.cli.answers import PAID, price
from sfumato.cli.console import console, print_json, table
from sfumato.errors import SfumatoError
from sfumato.ledger.protocol import spent_words
from sfumato.orders import Order, Preview, previewed
from sfumato.plans import Plan, read_plan
from sfumato.plans.joint import part_previews
from sfumato.plans.outlook import Outlook, fit, outlook, settled
from sfumato.privacy.claims import to_record
from sfumato.report.answers import cost

__all__ = ["run"]

LARGE = 0.5  # of its scale: an error that leaves nothing to tell


def run(path: Path, as_json: bool, version: str | None = None) -> None:
    """Print the preview; exit code 3 when the plan does not fit its budget."""
    plan = read_plan(path, version)
    seen = outlook(plan)
    plan = seen.plan
    shown: list[Preview] = []
    empty: dict[str, str] = {}
    for one in plan.releases:
        order = seen.orders.get(one.name) or settled(plan, one)
        shown += [previewed(order, plan.schema), *part_previews(order, one, plan, seen.asked)]
        empty |= _empty(order, shown[-1 - len([name for name, _ in one.members if name in seen.asked])])
    if as_json:
        print_json(_record(plan, shown, seen))
    else:
        _print(plan, shown, seen, version, empty)
    fit(plan, seen)


def _empty(order: Order, preview: Preview) -> dict[str, str]:
    """A remark on a release whose error is half of what there is to tell, or more, by its name."""
    try:
        scale = scale_of(order.question)
    except SfumatoError:  # shares of its error are not defined, or of a size that is not declared
        return {}
    width = preview.least_half_width
    if width is None or width < LARGE * scale.amount:
        return {}
    return {preview.name: f"says nothing at this spend: {width / scale.amount:.0%} of {scale.words}"}


def _print(plan: Plan, shown: list[Preview], seen: Outlook, version: str | None, empty: Mapping[str, str]) -> None:
    out = console()
    whole = table("release", "cost", "error to expect (95%)", "certificate", "mechanism", fold=True)
    inside = {name for one in plan.releases for name, _ in one.members}
    for preview in shown:
        whole.add_row(
            preview.name,
            price(preview.name, preview.guarantee, seen.times, seen.paid) if preview.name not in inside else PAID,
            "\n".join(
                (
                    *(error.words(probability=False) for error in preview.errors),
                    *_target(preview),
                    *_said(empty, preview),
                )
            ),
            preview.certificate.brief(),
            preview.mechanism,
        )
    out.print(f"{plan.schema.dataset}: protects against {plan.schema.words()}")
    out.print(whole)
    before, after = (spent_words(spent, plan.budget, cost) for spent in (seen.before, seen.after))
    out.print(f"spent so far {before}; after this plan {after}")
    if seen.free or seen.offer.claim is not None:
        out.print(seen.free or seen.offer.words())
    if seen.division is not None:
        out.print(seen.division.words())
    if seen.is_new:
        out.print(f"There is no ledger {plan.ledger} yet: publishing starts it, with the whole budget to spend")
    if plan.same_for_all is not None:
        out.print(plan.same_for_all)
    for notice in (plan.missing_lines, plan.doubt):
        if notice is not None:
            out.print(notice)
    asked = "" if version is None else f" --version {shlex.quote(version)}"
    release = f"  To release: sfumato publish {plan.path}{asked}" if seen.refused is None else ""
    out.print(f"Nothing was spent and no data was read.{release}")


def _said(empty: Mapping[str, str], preview: Preview) -> tuple[str, ...]:
    return (empty[preview.name],) if preview.name in empty else ()


def _target(preview: Preview) -> tuple[str, ...]:
    """What was asked for, what is measured of a whole table, and what a declaration would gain."""
    hint = tuple(words for words in (preview.measures, preview.hint) if words is not None)
    return hint if preview.target is None else (f"asked for: {preview.target.words()}", *hint)


def _record(plan: Plan, shown: list[Preview], seen: Outlook) -> dict[str, Any]:
    return {
        "dataset": plan.schema.dataset,
        "unit": plan.schema.words(),
        "releases": [{**preview.to_record(), "stored": seen.times.get(preview.name)} for preview in shown],
        "spent": to_record(seen.before),
        "after": to_record(seen.after),
        "budget": to_record(plan.budget),
        "fits": seen.refused is None,
        **({} if plan.missing_lines is None else {"missing_lines": plan.missing_lines}),
        **({} if plan.doubt is None else {"doubt": plan.doubt}),
        "new_ledger": seen.is_new,
        **({} if seen.division is None else {"division": seen.division.to_record()}),
    }
