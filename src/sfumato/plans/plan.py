"""Plan documents: what to publish, from which table, at what cost; TOML or JSON, documented in docs/formats/plan.md.

Reading a plan finds every mistake that is public, names the place, and touches no data.
"""

from __future__ import annotations

import json
import os
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from sfumato import arguments
from sfumato.errors import SchemaError, SfumatoError
from sfumato.plans.document import FORMAT, FORMER, Document
from sfumato.plans.mistakes import ADVICE, BLANK, blanks, mistake, screen
from sfumato.privacy.filters import filter_for
from sfumato.privacy.guarantees import Guarantee
from sfumato.queries import Query, bind
from sfumato.schema import Schema, named_after
from sfumato.spaces import space_from

__all__ = ["Plan", "PlannedRelease", "read_plan", "write_plan"]


@dataclass(frozen=True, slots=True)
class PlannedRelease:
    """One release of a plan: its name, the question, and what it may cost."""

    name: str
    query: Query
    spend: Guarantee


@dataclass(frozen=True, slots=True)
class Plan:
    """A checked plan.  Paths are resolved against the plan's own directory."""

    path: Path
    table: Path
    table_name: str | None
    schema: Schema
    budget: Guarantee
    ledger: Path
    releases: tuple[PlannedRelease, ...]

    def release(self, name: str) -> PlannedRelease:
        """The release of that name."""
        for release in self.releases:
            if release.name == name:
                return release
        known = ", ".join(repr(release.name) for release in self.releases)
        raise SchemaError(f"{self.path}: there is no release {name!r}; the plan has {known}")


def read_plan(path: str | Path) -> Plan:
    """The plan in a TOML or JSON file, checked as far as public quantities go."""
    place = arguments.path("path", path)
    try:
        return _read(place, _parsed(place))
    except RecursionError:
        raise SchemaError(f"the plan {place} nests its parts too deeply; compare with docs/formats/plan.md") from None


def _read(place: Path, record: dict[str, Any]) -> Plan:
    left_open = list(blanks(record, ()))
    if left_open:
        raise SchemaError(screen(place, left_open, f"still says {BLANK!r}; {ADVICE}"))
    try:
        document = Document.model_validate(record)
    except ValidationError as error:
        mistakes = [mistake(dict(detail), record) for detail in error.errors(include_url=False)]
        raise SchemaError(screen(place, mistakes)) from None
    return _checked(place, document)


def write_plan(plan: Plan, path: str | Path) -> Path:
    """Write a plan as JSON; its paths become relative to the new file."""
    place = Path(path)
    schema = plan.schema.to_record()
    unit = schema["unit"] or "row"
    named = ("dataset", "version", "adjacency", "size", "quoted_lines")
    kept: dict[str, Any] = {name: schema[name] for name in named if name in schema}
    table: dict[str, Any] = {**kept, "unit": unit, "table": plan.table_name}
    record: dict[str, Any] = {
        "format": FORMAT,
        "table": {"path": os.path.relpath(plan.table, place.parent)} | table,
        "columns": schema["columns"],
        "budget": _amount(plan.budget),
        "ledger": {"path": os.path.relpath(plan.ledger, place.parent)},
        "release": [{"name": r.name, **r.query.to_record(), "spend": _amount(r.spend)} for r in plan.releases],
    }
    place.write_text(json.dumps(record, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    return place


def _amount(claim: Guarantee) -> dict[str, float]:
    return {name: getattr(claim, name) for name in ("epsilon", "delta", "rho") if hasattr(claim, name)}


def _parsed(place: Path) -> dict[str, Any]:
    try:
        text = place.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise SchemaError(f"there is no plan {place}; write one with: sfumato draft FILE --out {place}") from None
    except (OSError, UnicodeDecodeError):
        raise SchemaError(f"the plan {place} cannot be read; it must be a readable UTF-8 text file") from None
    try:
        record = json.loads(text) if place.suffix.lower() == ".json" else tomllib.loads(text)
    except ValueError as error:
        kind = "JSON" if place.suffix.lower() == ".json" else "TOML"
        raise SchemaError(f"the plan {place} is not valid {kind}: {error}") from None
    if not isinstance(record, dict) or record.get("format") not in (FORMAT, FORMER):
        raise SchemaError(f'{place} is not a plan of this version; its first line must be: format = "{FORMAT}"')
    return record


def _checked(place: Path, document: Document) -> Plan:
    schema = _schema(place, document)
    budget = _at(place, "budget", document.budget.guarantee)
    releases: list[PlannedRelease] = []
    for number, described in enumerate(document.release, start=1):
        where = f"release {number}" + (f' ("{described.name}")' if described.name else "")
        query = _at(place, where, described.question)
        _at(place, where, lambda query=query: bind(query, schema))
        spend = _at(place, f"{where}, spend", described.spend.guarantee)
        _at(place, f"{where}, spend", lambda spend=spend: filter_for(budget).amounts(spend))
        releases.append(PlannedRelease(described.name or query.name, query, spend))
        if any(release.name == releases[-1].name for release in releases[:-1]):
            raise SchemaError(f"{place}: {where}: the name {releases[-1].name!r} occurs twice; name each release once")
    table, kept = document.table, document.ledger.path if document.ledger else f"{schema.dataset}.ledger"
    return Plan(
        path=place,
        table=_at(place, "table.path", lambda: arguments.path("path", place.parent / table.path)),
        table_name=table.table,
        schema=schema,
        budget=budget,
        ledger=_at(place, "ledger.path", lambda: arguments.path("path", place.parent / kept)),
        releases=tuple(releases),
    )


def _schema(place: Path, document: Document) -> Schema:
    table = document.table
    for name, described in document.columns.items():
        _must_have_bounds(place, name, described)
        _at(place, f"columns.{name}", lambda name=name, described=described: space_from(dict(described), name))
    record = {
        "dataset": table.dataset or _at(place, "table.dataset", lambda: named_after(Path(table.path))),
        "unit": None if table.unit == "row" else {"column": table.unit.column, "rows": table.unit.rows},
        "adjacency": table.adjacency,
        "size": table.size,
        "version": table.version,
        "quoted_lines": table.quoted_lines,
        "columns": document.columns,
    }
    schema: Schema = _at(place, "table", lambda: Schema.from_record(record))
    return schema


def _must_have_bounds(place: Path, name: str, described: Mapping[str, Any]) -> None:
    needed = {
        "interval": ("low", "high"),
        "integers": ("low", "high"),
        "categories": ("values",),
        "subsets": ("of", "cap"),
    }
    for part in needed.get(str(described.get("type")), ()):
        if part not in described:
            raise SchemaError(
                f"{place}: columns.{name}: {part} is missing; declare {part} = ... from what is public about the "
                "column: it is never read off the data"
            )


def _at(place: Path, where: str, build: Any) -> Any:
    """What `build` makes; its refusal names the place in the document."""
    try:
        return build()
    except SfumatoError as error:
        raise SchemaError(f"{place}: {where}: {error}") from None
    except (TypeError, ValueError, KeyError, AttributeError):
        raise SchemaError(
            f"{place}: {where}: a part has the wrong type; compare with the annotated example in docs/formats/plan.md"
        ) from None
