"""What makes two releases the same: a specification, its digest, and what differs between two of them.

A specification holds the dataset, its version, adjacency and unit, what is asked, what may be spent, and the spaces
of the columns that the question reads; of all declared columns where persons are protected, since these decide which
rows of a person are kept.  A size is part of it where it is exact, or where the question cannot be asked without one.
Version 0.2.0 took the whole schema: its digests are recognized, so that what it stored is still found.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from sfumato.errors import LedgerError, SfumatoError
from sfumato.ledger import Known
from sfumato.ledger.protocol import in_words
from sfumato.privacy.adjacency import Person
from sfumato.privacy.claims import guarantee_from
from sfumato.records import canonical, digest, sha256
from sfumato.spaces.schema import Schema

__all__ = ["Identity", "scope"]

UNSAID = {"good_for": "both"}  # parts of a specification, and what one means that does not name them
SHOWN = 200  # characters of a part that a ledger's entry repeats; of longer ones it keeps the hash


def scope(schema: Schema, columns: Iterable[str], sized: bool = False) -> dict[str, Any]:
    """What of a schema belongs to a question about these columns; `sized` if it cannot be asked without a size."""
    asked = tuple(columns)
    sources = {source for name in asked for source in schema.sources(name)}
    held = schema.held
    read = schema.columns if isinstance(schema.unit, Person) else {name: held[name] for name in sources}
    whole = schema.to_record()
    record: dict[str, Any] = {
        name: whole[name]
        for name in ("dataset", "version", "adjacency", "unit", "quoted_lines", "people")
        if name in whole
    }
    if schema.fixed_size is not None or sized:
        record["size"] = schema.size
    record["columns"] = {name: read[name].to_record() for name in sorted(read)}
    computed = {name: whole["derived"][name] for name in sorted(asked) if name in schema.derived}
    return {**record, "derived": computed} if computed else record


@dataclass(frozen=True, slots=True)
class Identity:
    """A specification, and those by which earlier versions named the same thing, that of 0.2.0 last."""

    specification: Mapping[str, Any]
    former: tuple[Mapping[str, Any], ...]

    @property
    def digest(self) -> str:
        """What the ledger keeps of it."""
        return digest(dict(self.specification))

    @property
    def digests(self) -> tuple[str, ...]:
        """All digests that a ledger may know it by, today's first."""
        return (self.digest, *(digest(dict(one)) for one in self.former))

    def described(self) -> dict[str, Any]:
        """The specification for a ledger's entry: short parts as they are, long ones by their hash."""
        return {"specification": {name: _brief(part) for name, part in _parts(self.specification).items()}}

    def within(self, name: str, entry: Known | None) -> str:
        """The digest under which a ledger knows this name: its own, or a former.  Another one is refused, in words."""
        if entry is None:
            return self.digest
        if entry.digest not in self.digests:
            raise LedgerError(
                f"name {name!r} is already used in this ledger for another specification{self._differing(entry)}; "
                f"{self._why(entry)}give the changed release a new name (in a plan name = ..., in Python name=, of a "
                "whole table in the shell --name)"
            )
        return entry.digest

    def _why(self, entry: Known) -> str:
        """Why a column matters that the question does not name, where persons are protected."""
        if not isinstance(self.specification.get("unit"), Mapping):
            return ""
        kept, mine = entry.description.get("specification"), self.described()["specification"]
        if not isinstance(kept, Mapping):
            return ""
        if all(kept.get(name, ()) == part for name, part in mine.items() if name.startswith("column ")):
            return ""
        return "with persons as units all declared columns decide which of their rows count; "

    def _differing(self, entry: Known) -> str:
        kept, mine = entry.description.get("specification"), self.described()["specification"]
        if isinstance(kept, Mapping):
            names = [name for name in {**kept, **mine} if kept.get(name, ()) != mine.get(name, ())]
            if not names:
                return ""
            return ": " + "; ".join(_change(name, kept.get(name), mine.get(name)) for name in names[:4])
        asked = entry.description.get("query")
        if asked is not None and asked != self.former[-1].get("query"):
            return ": it asked another question"
        return ": its schema or spend was another"


def _parts(specification: Mapping[str, Any]) -> dict[str, Any]:
    """The parts side by side, each column one of them."""
    parts = {name: part for name, part in specification.items() if name != "columns"}
    columns = specification.get("columns")
    if not isinstance(columns, Mapping):
        return {**parts, "columns": columns}
    return {**parts, **{f"column {name!r}": space for name, space in columns.items()}}


def _brief(part: object) -> Any:
    text = canonical(part)
    return part if len(text) <= SHOWN else {"sha256": sha256(text)}


def _change(name: str, before: object, after: object) -> str:
    said = _amounts if name == "spend" else _said
    if before is None and name in UNSAID:
        return f"{name} was {UNSAID[name]!r}, which names the stored release, now {said(after)}"
    return f"{name} was {said(before)}, now {said(after)}"


def _amounts(spend: object) -> str:
    try:
        return in_words(guarantee_from(spend))  # type: ignore[arg-type]
    except (SfumatoError, KeyError, TypeError, ValueError):  # by its hash, or of a later version
        return _said(spend)


def _said(part: object) -> str:
    if part is None:
        return "none"
    if isinstance(part, Mapping) and part.keys() == {"sha256"}:
        return "another"
    return canonical(part).decode()
