"""Plan documents: what to publish, from which table, at what cost; TOML or JSON, documented in docs/formats/plan.md.

Reading a plan finds every mistake that is public, names the place, and touches no data.
"""

from __future__ import annotations

import json
import os
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, StrictInt, ValidationError

from sfumato.errors import ParameterError, SchemaError, SfumatoError
from sfumato.privacy.filters import filter_for
from sfumato.privacy.guarantees import Approximate, Concentrated, Guarantee, Pure
from sfumato.queries import Query, bind
from sfumato.schema import Schema
from sfumato.spaces import space_from

__all__ = ["BLANK", "FORMAT", "Plan", "PlannedRelease", "read_plan", "write_plan"]

FORMAT = "sfumato-plan/1"
BLANK = "FILL IN"
SHOWN = 6  # mistakes on one screen


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


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


def _number(value: object) -> object:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError(f"must be a number, got {value!r:.60}")
    return value


Number = Annotated[float, BeforeValidator(_number)]
Text = Annotated[str, Field(min_length=1)]


class _Person(_Part):
    column: Text
    rows: StrictInt


class _Table(_Part):
    path: Text
    unit: Literal["row"] | _Person
    table: Text | None = None
    dataset: Text | None = None
    adjacency: Text = "add-remove"
    size: StrictInt | None = None


class _Amount(_Part):
    epsilon: Number | None = None
    delta: Number | None = None
    rho: Number | None = None

    def guarantee(self) -> Guarantee:
        """The amount as a guarantee; a positive one."""
        if (self.epsilon is None) == (self.rho is None) or (self.rho is not None and self.delta is not None):
            raise ParameterError("give { epsilon = ... }, { epsilon = ..., delta = ... } or { rho = ... }")
        amount = self.rho if self.epsilon is None else self.epsilon
        if amount is not None and not amount > 0:
            raise ParameterError(
                f"{'rho' if self.epsilon is None else 'epsilon'} must be above 0, got {amount!r}; "
                "it says how much privacy may be spent, often between 0.01 and 2"
            )
        if self.rho is not None:
            return Concentrated(self.rho)
        assert self.epsilon is not None
        return Pure(self.epsilon) if self.delta is None else Approximate(self.epsilon, self.delta)


class _Ledger(_Part):
    path: Text


class _Release(_Part):
    query: Text
    spend: _Amount
    name: Text | None = None
    column: Text | None = None
    by: Any = None
    where: Text | None = None
    probabilities: list[Number] | None = None
    k: StrictInt | None = None
    workload: list[Any] | None = None

    def question(self) -> Query:
        """The query that is described."""
        parts = self.model_dump(exclude_none=True, exclude={"name", "spend"})
        return Query.from_record(parts)


class _Document(_Part):
    format: Literal["sfumato-plan/1"]
    table: _Table
    columns: dict[str, dict[str, Any]]
    budget: _Amount
    release: list[_Release] = Field(min_length=1)
    ledger: _Ledger | None = None


def read_plan(path: str | Path) -> Plan:
    """The plan in a TOML or JSON file, checked as far as public quantities go."""
    place = Path(path)
    record = _parsed(place)
    blanks = list(_blanks(record, ()))
    if blanks:
        raise SchemaError(_screen(place, blanks, f"still says {BLANK!r}; {_ADVICE}"))
    try:
        document = _Document.model_validate(record)
    except ValidationError as error:
        mistakes = [_mistake(dict(detail), record) for detail in error.errors(include_url=False)]
        raise SchemaError(_screen(place, mistakes)) from None
    return _checked(place, document)


def write_plan(plan: Plan, path: str | Path) -> Path:
    """Write a plan as JSON; its paths become relative to the new file."""
    place = Path(path)
    schema = plan.schema.to_record()
    unit = schema["unit"] or "row"
    table = {name: schema[name] for name in ("dataset", "adjacency", "size")} | {"unit": unit, "table": plan.table_name}
    record = {
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
    if not isinstance(record, dict) or record.get("format") != FORMAT:
        raise SchemaError(f'{place} is not a plan of this version; its first line must be: format = "{FORMAT}"')
    return record


def _checked(place: Path, document: _Document) -> Plan:
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
    table, ledger = document.table, document.ledger
    return Plan(
        path=place,
        table=place.parent / table.path,
        table_name=table.table,
        schema=schema,
        budget=budget,
        ledger=place.parent / (ledger.path if ledger else f"{schema.dataset}.ledger"),
        releases=tuple(releases),
    )


def _schema(place: Path, document: _Document) -> Schema:
    table = document.table
    for name, described in document.columns.items():
        _must_have_bounds(place, name, described)
        _at(place, f"columns.{name}", lambda name=name, described=described: space_from(dict(described), name))
    record = {
        "dataset": table.dataset or Path(table.path).name.split(".")[0],
        "unit": None if table.unit == "row" else {"column": table.unit.column, "rows": table.unit.rows},
        "adjacency": table.adjacency,
        "size": table.size,
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


_ADVICE = "replace each by what you know about the table in public, never by what you read in it"


def _blanks(value: Any, path: tuple[Any, ...]) -> Iterator[str]:
    """The places that a draft left open."""
    if isinstance(value, str) and value.startswith(BLANK):
        yield _place(path, {})
    elif isinstance(value, Mapping):
        for key, inner in value.items():
            yield from _blanks(inner, (*path, key))
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from _blanks(inner, path if isinstance(inner, str) else (*path, index))


def _place(path: tuple[Any, ...], record: Mapping[str, Any]) -> str:
    """A location of the document as a person would say it."""
    parts = [part for part in path if part not in ("row", "_Person") and not str(part).startswith("literal[")]
    if len(parts) > 1 and parts[0] == "release" and isinstance(parts[1], int):
        releases = record.get("release", [])
        held = releases[parts[1]] if parts[1] < len(releases) else {}
        name = held.get("name") if isinstance(held, Mapping) else None
        first = f"release {parts[1] + 1}" + (f' ("{name}")' if isinstance(name, str) else "")
        return ", ".join([first, ".".join(map(str, parts[2:]))] if parts[2:] else [first])
    return ".".join(str(part) for part in parts)


_FIXES = {
    "table": "add a [table] part with path and unit",
    "table.unit": 'write unit = "row" if each row is protected, or unit = { column = "person_id", rows = 1 }',
    "table.path": 'add path = "FILE", relative to the plan',
    "columns": "declare each column that is used as [columns.NAME] with its type and bounds",
    "budget": "add [budget] with epsilon, epsilon and delta, or rho",
    "release": "add at least one [[release]] with query and spend",
}
_WANTED = {
    "int_type": "must be a whole number",
    "string_type": "must be a text",
    "list_type": "must be a list",
    "dict_type": "must be a table of key = value",
    "model_type": "must be a table of key = value",
    "too_short": "must not be empty",
    "string_too_short": "must not be empty",
}


def _mistake(detail: dict[str, Any], record: Mapping[str, Any]) -> str:
    """One finding of the validator, in words."""
    path, kind = tuple(detail["loc"]), detail["type"]
    place = _place(path, record)
    last = place.replace(", ", ".").split(".")[-1]
    if kind == "missing":
        fix = _FIXES.get(place, f"add {last} = ...")
        if last == "spend":
            fix = "add spend = { epsilon = ... } (or epsilon and delta, or rho)"
        return f"{place} is missing; {fix}"
    if kind == "extra_forbidden":
        known = ", ".join(_known(path))
        return f"{place} is not known here; known are {known}"
    if kind == "value_error":
        return f"{place} {detail['ctx']['error']}"
    if place in _FIXES:
        return f"{place} cannot be read; {_FIXES[place]}"
    return f"{place} {_WANTED.get(kind, 'has the wrong form')}, got {detail['input']!r:.60}"


def _known(path: tuple[Any, ...]) -> list[str]:
    models: dict[str, type[BaseModel]] = {
        "table": _Table, "budget": _Amount, "ledger": _Ledger, "release": _Release, "spend": _Amount,
        "unit": _Person,
    }  # fmt: skip
    named = [part for part in path[:-1] if part in models]
    return list((models[named[-1]] if named else _Document).model_fields)


def _screen(place: Path, mistakes: list[str], rest: str = "") -> str:
    """At most one screen of mistakes."""
    unique = list(dict.fromkeys(mistakes))
    if len(unique) == 1:
        return f"{place}: {unique[0]} {rest}".rstrip()
    head = f"{place} has {len(unique)} places that need attention{': each ' + rest if rest else ''}"
    lines = [f"  - {mistake}" for mistake in unique[:SHOWN]]
    if len(unique) > SHOWN:
        lines.append(f"  - and {len(unique) - SHOWN} more")
    return "\n".join([head, *lines])
