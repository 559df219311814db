"""A plan as a document again: JSON, with paths relative to the new file."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from sfumato.plans.document import FORMAT
from sfumato.plans.plan import LEVEL, Plan, PlannedRelease

__all__ = ["write_plan"]


def write_plan(plan: Plan, path: str | Path) -> Path:
    """Write a plan as JSON; its paths become relative to the new file."""
    place = Path(path)
    schema = plan.schema.to_record()
    unit = schema["unit"] or "row"
    named = ("dataset", "version", "adjacency", "size", "quoted_lines")
    kept: dict[str, Any] = {name: schema[name] for name in named if name in schema}
    table: dict[str, Any] = {**kept, "unit": unit}
    if plan.keep is not None:
        table["keep"] = Path(os.path.relpath(plan.keep, place.parent)).as_posix()
    people = {} if plan.people is None else plan.people.to_record(place.parent, ("path", "table"))
    held = {name: schema["columns"][name] for name in plan.schema.people} if people else {}
    record: dict[str, Any] = {
        "format": FORMAT,
        **{name: text for name, text in (("title", plan.title), ("note", plan.note)) if text is not None},
        "table": plan.table.to_record(place.parent) | table,
        "columns": {name: space for name, space in schema["columns"].items() if name not in held}
        | schema.get("derived", {}),
        **({"people": people, "attributes": held} if people else {}),
        "budget": plan.budget.parts() | _shared(plan),
        **({"allow": sorted(plan.allow)} if plan.allow else {}),
        "ledger": plan.ledger.to_record(place.parent),
        **plan.service.to_record(place.parent),
        "release": [_release_record(release, release.name in plan.adding_up) for release in plan.releases],
    }
    place.write_text(json.dumps(record, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    return place


def _shared(plan: Plan) -> dict[str, object]:
    total = {} if plan.total is None else {"total": plan.total.parts()}
    return {"split": "auto", **total} if plan.split else {}


def _release_record(release: PlannedRelease, adding_up: bool) -> dict[str, object]:
    asked = release.query.to_record()
    share = {"column": asked["weight"], "share": release.weight} if "weight" in asked else release.weight
    said = {
        "mechanism": release.mechanism,
        "within": release.within,
        "level": None if release.level == LEVEL else release.level,
        "weight": None if release.weight == 1 else share,
        "spend": None if release.spend is None else release.spend.parts(),
        "adding_up": adding_up or None,
        "description": release.description,
    }
    given = {name: value for name, value in said.items() if value is not None}
    return {"name": release.name, **asked, **given}
