"""A private range for a column of a plan: released and charged like any question, then written into a new plan."""

from __future__ import annotations

import json
import os
import re
import tomllib
from pathlib import Path

from sfumato.cli.console import print_json, say, write_text
from sfumato.cli.interrupts import patient
from sfumato.errors import SchemaError, UnsupportedQuery
from sfumato.orders import preview
from sfumato.plans import Plan, read_plan
from sfumato.plans.outlook import must_be_chargeable, opened
from sfumato.privacy.claims import guarantee_of
from sfumato.privacy.guarantees import Guarantee
from sfumato.queries import Query
from sfumato.queries.extent import extent
from sfumato.spaces import numeric
from sfumato.visible import visible

__all__ = ["declared", "run"]

Amounts = tuple[float | None, float | None, float | None]  # epsilon, delta, rho


def run(
    path: Path,
    column: str,
    amounts: Amounts,
    outside: float,
    out: Path | None,
    as_json: bool,
    version: str | None = None,
) -> None:
    """Without `out` show what it would cost; with it, release the range and write the plan that declares it."""
    plan = read_plan(path, version)
    spend = guarantee_of(dict(zip(("epsilon", "delta", "rho"), amounts, strict=True)))
    space = plan.schema.space(column)
    if not numeric(space) or space.decodes or column not in plan.schema.columns:
        raise UnsupportedQuery(f"column {column!r} is no declared column of plain numbers; its bounds stay as they are")
    query = extent(column, outside)
    if out is None:
        seen = preview(query, plan.schema, spend=spend, allow=plan.allow)
        if as_json:
            print_json(seen.to_record())
            return
        say(seen)
        say("  to release   give --out NEW-PLAN.toml; nothing was spent and no data was read")
        return
    _must_be_new(out, path)
    text = path.read_text(encoding="utf-8-sig")
    declared(text, path.suffix, column, 0, 1)  # refuses, before the charge, what cannot be written
    low, high, words = _released(plan, query, spend, as_json)
    write_text(out, declared(text, path.suffix, column, low, high))
    if as_json:
        print_json({"column": column, "low": low, "high": high, "plan": str(out)})
        return
    say(words)
    say(f"wrote {out}, where {visible(column)} has low = {low} and high = {high}: this was charged, and is public now")
    say("  next         compare the plans; questions about this column are asked anew under the new bounds")


def _released(plan: Plan, query: Query, spend: Guarantee, quiet: bool) -> tuple[float, float, str]:
    """The range, made wide enough to hold the number that stands for missing values, and what was released."""
    must_be_chargeable(plan, query, spend)
    session = opened(plan)
    if session.notice and not quiet:
        say(session.notice)
    with patient():
        release = session.release(query, spend=spend)
    ends = [float(end) for end in release.value]
    missing = plan.schema.columns[query.columns[0]].to_record().get("missing")
    held = ends if missing is None else [*ends, float(missing)]
    low, high = (int(end) if end.is_integer() else end for end in (min(held), max(held)))
    return low, high, release.words()


def _must_be_new(out: Path, path: Path) -> None:
    """Refuse a file that exists, another form, or another folder, from which the plan's paths would lead elsewhere."""
    if out.exists():
        raise SchemaError(f"--out: {out} exists already; choose another name for the new plan; nothing was charged")
    if out.suffix != path.suffix or out.resolve().parent != path.resolve().parent:
        raise SchemaError(f"--out: write the new plan beside {path}, as a {path.suffix} file; nothing was charged")
    if not os.access(out.resolve().parent, os.W_OK):
        raise SchemaError(f"--out: {out} cannot be written; nothing was charged")


def declared(text: str, suffix: str, column: str, low: float, high: float) -> str:
    """The text of a plan with other bounds for a column, and all else as it was.

    >>> declared('[columns.pay]\\nlow = 0  # least\\nhigh = 10', ".toml", "pay", 2, 5)
    '[columns.pay]\\nlow = 2  # least\\nhigh = 5'
    """
    as_json = suffix.lower() == ".json"
    document = json.loads(text) if as_json else tomllib.loads(text)
    part_of_plan = "columns" if column in document["columns"] else "attributes"
    document[part_of_plan][column] |= {"low": low, "high": high}
    if as_json:
        return json.dumps(document, indent=2, ensure_ascii=False) + "\n"
    name = rf"(?:{re.escape(column)}|\"{re.escape(column)}\")"
    spans = (rf"(?ms)^\[{part_of_plan}\.{name}\].*?(?=^\[|\Z)", rf"(?m)^{name}[ \t]*=[ \t]*\{{.*$")
    for span in spans:
        for found in re.finditer(span, text):
            part = found[0]
            for end, value in (("low", low), ("high", high)):
                part = re.sub(rf"\b{end}[ \t]*=[ \t]*[-+.\w]+", f"{end} = {value}", part, count=1)
            changed = text[: found.start()] + part + text[found.end() :]
            if tomllib.loads(changed) == document:
                return changed
    raise SchemaError(
        f"the bounds of {column!r} are not written as low = ... and high = ... of its own in the plan; "
        "write them so; nothing was charged"
    )
