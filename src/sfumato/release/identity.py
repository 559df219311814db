"""What makes two releases the same: a specification, its digest, and what differs between two of them.

A specification holds the dataset, its version, adjacency and unit, what is asked, what may be spent, and the spaces
of the columns that the question reads; of all declared columns where persons are protected, since these decide which
rows of a person are kept.  A size is part of it where it is exact, or where the question cannot be asked without one.
Version 0.2.0 took the whole schema: its digests are recognized, so that what it stored is still found.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from sfumato.errors import LedgerError
from sfumato.privacy.adjacency import Person
from sfumato.schema import Schema

__all__ = ["Identity", "canonical", "digest", "scope"]

SHOWN = 200  # characters of a part that a ledger's entry repeats; of longer ones it keeps the hash


class Known(Protocol):
    """What a ledger's entry tells of a name."""

    @property
    def digest(self) -> str: ...

    @property
    def description(self) -> dict[str, object]: ...


def canonical(record: Any) -> bytes:
    """One form for one value: sorted keys, no spaces, no NaN."""
    return json.dumps(record, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False).encode()


def digest(record: Any) -> str:
    """The SHA-256 of the canonical form."""
    return hashlib.sha256(canonical(record)).hexdigest()


def scope(schema: Schema, columns: Iterable[str], sized: bool = False) -> dict[str, Any]:
    """What of a schema belongs to a question about these columns; `sized` if it cannot be asked without a size."""
    read = schema.columns if isinstance(schema.unit, Person) else columns
    whole = schema.to_record()
    record: dict[str, Any] = {
        name: whole[name] for name in ("dataset", "version", "adjacency", "unit", "quoted_lines") if name in whole
    }
    if schema.fixed_size is not None or sized:
        record["size"] = schema.size
    return {**record, "columns": {name: whole["columns"][name] for name in sorted(read)}}


@dataclass(frozen=True, slots=True)
class Identity:
    """A specification, and the one by which version 0.2.0 named the same thing."""

    specification: Mapping[str, Any]
    former: Mapping[str, Any]

    @property
    def digest(self) -> str:
        """What the ledger keeps of it."""
        return digest(dict(self.specification))

    def described(self) -> dict[str, Any]:
        """The specification for a ledger's entry: short parts as they are, long ones by their hash."""
        return {"specification": {name: _brief(part) for name, part in _parts(self.specification).items()}}

    def within(self, name: str, entries: Iterable[Known]) -> str:
        """The digest under which a ledger knows this name: its own, or 0.2.0's.  Another one is refused, in words."""
        for entry in entries:
            if entry.digest not in (self.digest, digest(dict(self.former))):
                raise LedgerError(
                    f"name {name!r} is already used in this ledger for another specification{self._differing(entry)}; "
                    "give the changed release a new name"
                )
            return entry.digest
        return self.digest

    def _differing(self, entry: Known) -> str:
        kept, mine = entry.description.get("specification"), self.described()["specification"]
        if isinstance(kept, Mapping):
            names = [name for name in {**kept, **mine} if kept.get(name, ()) != mine.get(name, ())]
            if not names:
                return ""
            return ": " + "; ".join(_change(name, kept.get(name), mine.get(name)) for name in names[:4])
        asked = entry.description.get("query")
        if asked is not None and asked != self.former.get("query"):
            return ": it asked another question"
        return ": its schema or spend was another"


def _parts(specification: Mapping[str, Any]) -> dict[str, Any]:
    """The parts side by side, each column one of them."""
    parts = {name: part for name, part in specification.items() if name != "columns"}
    columns = specification.get("columns")
    if not isinstance(columns, Mapping):
        return {**parts, "columns": columns}
    return {**parts, **{f"column {name!r}": space for name, space in columns.items()}}


def _brief(part: Any) -> Any:
    text = canonical(part)
    return part if len(text) <= SHOWN else {"sha256": hashlib.sha256(text).hexdigest()}


def _change(name: str, before: Any, after: Any) -> str:
    return f"{name} was {_said(before)}, now {_said(after)}"


def _said(part: Any) -> str:
    if part is None:
        return "none"
    if isinstance(part, Mapping) and part.keys() == {"sha256"}:
        return "another"
    return canonical(part).decode()
