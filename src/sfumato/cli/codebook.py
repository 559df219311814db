"""A codebook: what is public about columns, a line each in a CSV file, for `sfumato draft --codebook`.

Its headings are `column` and parts of plans (`type`, `low`, `high`, ...); an empty cell says nothing.  Where none is
named, the type follows from the parts: values are categories, bounds that are dates dates, whole ones whole numbers.
Members of a list stand between bars: `F | M`.
"""

from __future__ import annotations

import csv
import datetime
import io
import re
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from sfumato.errors import SchemaError
from sfumato.spaces import SPACES

__all__ = ["Entry", "doubtful", "read_codebook", "spelled", "template"]

PARTS = ("type", "low", "high", "step", "values", "items", "unit", "longest", "cap", "missing", "other", "na")
LISTS = ("values", "items", "na")
PLANNED = {"items": "of"}  # the parts that have another name in plans
BETWEEN = "|"  # the members of a list
ELSEWHERE = re.compile("[;,/]")  # what others write between them
NUMBER = re.compile(r"[+-]?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?")
WHOLE = re.compile(r"[+-]?(0|[1-9][0-9]*)")

Entry = Mapping[str, str]


def read_codebook(path: Path) -> dict[str, Entry]:
    """What the codebook says of each column, as texts."""
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            lines = list(csv.reader(file))
    except (OSError, UnicodeDecodeError, csv.Error):
        raise SchemaError(f"--codebook: {path} cannot be read; it must be a readable CSV file in UTF-8") from None
    headings = [text.strip() for text in lines[0]] if lines else []
    unknown = [text for text in headings if text not in ("column", *PARTS)]
    if "column" not in headings or unknown or len(set(headings)) < len(headings):
        found = f"; {unknown[0]!r:.60} is none of them" if unknown else ""
        raise SchemaError(
            f"--codebook: the first line of {path} must name column and some of {', '.join(PARTS)}{found}"
        )
    entries: dict[str, Entry] = {}
    for number, line in enumerate(lines[1:], start=2):
        if not any(text.strip() for text in line):
            continue
        if len(line) != len(headings):
            raise SchemaError(f"--codebook: line {number} of {path} has {len(line)} cells for {len(headings)} headings")
        entry = {name: text.strip() for name, text in zip(headings, line, strict=True) if text.strip()}
        name = entry.pop("column", "")
        if not name or name in entries:
            raise SchemaError(f"--codebook: line {number} of {path} names no column, or one that was named before")
        entries[name] = entry
    return entries


def doubtful(entries: Mapping[str, Entry]) -> str | None:
    """A word on lists of one member that look like several, written with another sign between them; None if none do."""
    found = [
        f"{part} of {name!r}"
        for name, entry in entries.items()
        for part in LISTS
        if BETWEEN not in entry.get(part, BETWEEN) and ELSEWHERE.search(entry[part])
    ]
    if not found:
        return None
    more = f" and {len(found) - 3} more" if len(found) > 3 else ""
    return (
        f"--codebook: {', '.join(found[:3])}{more} became a single member of a list; if several are meant, write "
        f"{BETWEEN} between them: F {BETWEEN} M"
    )


def template(columns: Iterable[str]) -> str:
    """An empty codebook for columns, as CSV."""
    text = io.StringIO()
    lines = csv.writer(text, lineterminator="\n")
    lines.writerow(["column", *PARTS])
    lines.writerows([name, *("" for _ in PARTS)] for name in columns)
    return text.getvalue()


def spelled(entry: Entry, blank: str, quoted: Callable[[str], str]) -> list[str] | None:
    """The lines of a plan for a column; what its type needs and the codebook does not say stays blank.

    None where no type is said, and none follows.
    """
    kind = entry.get("type") or _kind(entry)
    if kind is None:
        return None
    if kind not in SPACES:
        raise SchemaError(f"--codebook: there is no type {kind!r:.60}; the types are {', '.join(SPACES)}")
    said = {PLANNED.get(part, part): _value(part, text, quoted) for part, text in entry.items() if part != "type"}
    left = [f'{part} = "{blank}"' for part in SPACES[kind].needed if part not in said]
    return [f'type = "{kind}"', *(f"{part} = {text}" for part, text in said.items()), *left]


def _kind(entry: Entry) -> str | None:
    """The type that the parts tell."""
    if "values" in entry:
        return "categories"
    if "items" in entry:
        return "subsets"
    if "unit" in entry:
        return "duration"
    ends = [entry[part] for part in ("low", "high") if part in entry]
    if not ends:
        return "texts" if "longest" in entry else None
    if all(map(_is_date, ends)):
        return "dates"
    return "integers" if "step" not in entry and all(map(WHOLE.fullmatch, ends)) else "interval"


def _is_date(text: str) -> bool:
    try:
        datetime.date.fromisoformat(text)
    except ValueError:
        return False
    return not WHOLE.fullmatch(text)


def _value(part: str, text: str, quoted: Callable[[str], str]) -> str:
    """A value as TOML."""
    if part not in LISTS:
        return text if NUMBER.fullmatch(text) else quoted(text)
    members = [member.strip() for member in text.split(BETWEEN)]
    if part == "values" and {member.lower() for member in members} <= {"true", "false"}:
        return f"[{', '.join(member.lower() for member in members)}]"
    plain = all(WHOLE.fullmatch(member) for member in members)
    return f"[{', '.join(member if plain else quoted(member) for member in members)}]"
