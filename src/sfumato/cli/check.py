"""What a plan's schema makes of its table, for the steward: exact, secret, and not to be released."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from sfumato.cli.console import console, print_json, table
from sfumato.plans import Plan, read_plan
from sfumato.plans.outlook import opened_table
from sfumato.privacy.adjacency import Person
from sfumato.queries.binding import limited

__all__ = ["run"]


def _limits(plan: Plan) -> dict[Person, list[str]]:
    """The releases that count another number of a person's rows than the table says, by that number."""
    found: dict[Person, list[str]] = {}
    for one in plan.releases:
        unit = limited(one.query, plan.schema).unit
        if isinstance(unit, Person) and unit.groups is None and unit != plan.schema.unit:
            found.setdefault(unit, []).append(repr(one.name))
    return found


def run(path: Path, as_json: bool, version: str | None = None) -> None:
    """Print the counts; nothing is charged, and no ledger is opened."""
    from sfumato.engines import check
    from sfumato.engines.checking import COUNTS, SECRET

    plan = read_plan(path, version)
    found = check(opened_table(plan))
    if as_json:
        print_json({"notice": SECRET, **found.to_record()})
        return
    out = console()
    whole = table("column", "space", *COUNTS, "used", right=range(2, 9), fold=True)
    for column in found.columns:
        whole.add_row(*found.cells(column))
    out.print(SECRET)
    if plan.same_for_all is not None:
        out.print(plan.same_for_all)
    out.print(found.words())
    for rows, names in _limits(plan).items():
        cut = check(opened_table(replace(plan, schema=replace(plan.schema, unit=rows))))
        out.print(
            f"with at most {rows.rows} rows a person, as {', '.join(names)} say: {cut.people_cut:,} people have more, "
            f"and {cut.rows_cut:,} rows of theirs do not count"
        )
    out.print(whole)
    out.print(
        "Correct what is wrong about the form; bounds and labels taken from what you see here are published with it."
    )
