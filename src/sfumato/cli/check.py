"""What a plan's schema makes of its table, for the steward: exact, secret, and not to be released."""

from __future__ import annotations

import functools
import operator
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING

from sfumato.cli.console import console, print_json, table
from sfumato.plans import Plan, read_plan
from sfumato.plans.outlook import opened_table
from sfumato.privacy.adjacency import Person
from sfumato.queries.binding import limited

if TYPE_CHECKING:
    from sfumato.engines.text import Unread

__all__ = ["run"]

QUOTED = "every line is a row, so where texts hold line breaks within quotes, say quoted_lines = true under [table]"


def _limits(plan: Plan) -> dict[Person, list[str]]:
    """The releases that count another number of a person's rows than the table says, by that number."""
    found: dict[Person, list[str]] = {}
    for one in plan.releases:
        unit = limited(one.query, plan.schema).unit
        if isinstance(unit, Person) and unit.groups is None and unit != plan.schema.unit:
            found.setdefault(unit, []).append(repr(one.name))
    return found


def _lines(plan: Plan) -> Unread | None:
    """What of the plan's text files, that of people included, is missing for how lines are written."""
    from sfumato.engines.located import located
    from sfumato.engines.sources import unread

    places = [one for one in (plan.table, plan.people) if one is not None and one.engine is None]
    found = [unread(located(one), plan.schema.quoted_lines) for one in places]
    told = [one for one in found if one is not None]
    return None if not told else functools.reduce(operator.add, told)


def _told(lines: Unread, quoted_lines: bool) -> str:
    """The lines that no row can be read from, why that may be, and what to do."""
    why = []
    if lines.quotes:
        way = "a quote that is never closed joins what follows it" if quoted_lines else QUOTED
        why.append(f"{lines.quotes:,} have a quote that is not closed: {way}")
    if lines.encoding:
        why.append(f"{lines.encoding:,} are not UTF-8: save the file as UTF-8")
    if lines.empty:
        why.append(f"{lines.empty:,} are empty, and rows nevertheless: remove such lines from the file")
    if not why:
        why.append("they have more or fewer fields than the first line, or stray quotes")
    return f"{lines.rows:,} rows are missing as a whole, since their lines cannot be read; of these {'; '.join(why)}"


def run(path: Path, as_json: bool, version: str | None = None) -> None:
    """Print the counts; nothing is charged, and no ledger is opened."""
    from sfumato.engines import check
    from sfumato.engines.checking import COUNTS, SECRET

    plan = read_plan(path, version)
    found, lines = check(opened_table(plan)), _lines(plan)
    if as_json:
        written = {} if lines is None else {"lines": asdict(lines)}
        print_json({"notice": SECRET, **found.to_record(), **written})
        return
    out = console()
    whole = table("column", "space", *COUNTS, "used", right=range(2, 9), fold=True)
    for column in found.columns:
        whole.add_row(*found.cells(column))
    out.print(SECRET)
    if plan.same_for_all is not None:
        out.print(plan.same_for_all)
    out.print(found.words())
    if lines is not None and lines.rows:
        out.print(_told(lines, plan.schema.quoted_lines))
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
