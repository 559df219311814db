"""What is wrong with a plan, where, and how to mend it: in words, on one screen."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from sfumato.plans.document import (
    Amount,
    AnalystSection,
    BudgetSection,
    Document,
    LedgerSection,
    PersonSection,
    ReleaseSection,
    ServiceSection,
    TableSection,
)

__all__ = ["ADVICE", "BLANK", "blanks", "mistake", "screen", "unpaid"]

BLANK = "FILL IN"
SHOWN = 6  # mistakes on one screen

ADVICE = "replace each by what you know about the table in public, never by what you read in it"


def blanks(value: object, path: tuple[Any, ...]) -> Iterator[str]:
    """The places that a draft left open."""
    if isinstance(value, str) and value.startswith(BLANK):
        yield _place(path, {})
    elif isinstance(value, Mapping):
        for key, inner in value.items():
            yield from blanks(inner, (*path, key))
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from blanks(inner, path if isinstance(inner, str) else (*path, index))


def _place(path: tuple[Any, ...], record: Mapping[str, Any]) -> str:
    """A location of the document as a person would say it."""
    parts = [part for part in path if part not in ("row", "PersonSection") and not str(part).startswith("literal[")]
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
    "columns": "declare each column that is used as [columns.NAME] with its type and bounds",
    "budget": "add [budget] with epsilon, epsilon and delta, or rho",
    "release": "add at least one [[release]] with query and spend",
}
_WANTED = {
    "int_type": "must be a whole number",
    "bool_type": "must be true or false",
    "string_type": "must be a text",
    "list_type": "must be a list",
    "dict_type": "must be a table of key = value",
    "model_type": "must be a table of key = value",
    "too_short": "must not be empty",
    "string_too_short": "must not be empty",
}


def mistake(detail: dict[str, Any], record: Mapping[str, Any], whole: type[BaseModel] = Document) -> str:
    """One finding of the validator about a whole plan, or about a part that was sent by itself, in words."""
    path, kind = tuple(detail["loc"]), detail["type"]
    place = _place(path, record)
    last = place.replace(", ", ".").split(".")[-1]
    if kind == "missing":
        fix = _FIXES.get(place, f"add {last} = ...")
        return f"{place} is missing; {fix}"
    if kind == "extra_forbidden":
        known = ", ".join(_known(path, whole))
        return f"{place} is not known here; known are {known}"
    if kind == "value_error":
        return f"{place} {detail['ctx']['error']}".lstrip()
    if place in _FIXES:
        return f"{place} cannot be read; {_FIXES[place]}"
    if last == "spend" and isinstance(detail["input"], int | float):
        return f"{place} says no kind of privacy; write spend = {{ epsilon = {detail['input']} }}"
    wanted = _WANTED.get(kind, "has the wrong form")
    if kind == "literal_error":
        wanted = f"must be {detail['ctx']['expected']}"
    return f"{place} {wanted}, got {detail['input']!r:.60}"


def unpaid(record: Mapping[str, Any]) -> list[str]:
    """The releases that say neither what they cost nor what error they may have, where they do not share a budget."""
    budget, releases = record.get("budget"), record.get("release")
    if (isinstance(budget, Mapping) and "split" in budget) or not isinstance(releases, list):
        return []
    fix = 'add spend = { epsilon = ... } (or epsilon and delta, or rho), or within = ..., or split = "auto" to [budget]'
    return [
        f"{_place(('release', place, 'spend'), record)} is missing; {fix}"
        for place, release in enumerate(releases)
        if isinstance(release, Mapping) and not release.keys() & {"spend", "within"}
    ]


def _known(path: tuple[Any, ...], whole: type[BaseModel]) -> list[str]:
    models: dict[str, type[BaseModel]] = {
        "table": TableSection, "budget": BudgetSection, "ledger": LedgerSection, "release": ReleaseSection,
        "spend": Amount, "unit": PersonSection, "total": Amount, "service": ServiceSection, "analysts": AnalystSection,
    }  # fmt: skip
    named = [part for part in path[:-1] if part in models]
    fields = (models[named[-1]] if named else whole).model_fields
    return [name for name in fields if name != "details"]  # gathered from the rest, not written


def screen(place: Path, mistakes: list[str], rest: str = "") -> str:
    """At most one screen of mistakes."""
    unique = list(dict.fromkeys(mistakes))
    if len(unique) == 1:
        return f"{place}: {unique[0]} {rest}".rstrip()
    head = f"{place} has {len(unique)} places that need attention{': each ' + rest if rest else ''}"
    lines = [f"  - {mistake}" for mistake in unique[:SHOWN]]
    if len(unique) > SHOWN:
        lines.append(f"  - and {len(unique) - SHOWN} more")
    return "\n".join([head, *lines])
