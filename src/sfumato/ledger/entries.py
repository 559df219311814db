"""Entries of the chain: one shape, canonical JSON, SHA-256 over it.

An entry's body names the hash of the entry before it, so changing, inserting or removing an entry
changes every later hash.  The body is stored as the very text that was hashed.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

from sfumato.errors import LedgerError, ParameterError
from sfumato.records import canonical_ascii, sha256

__all__ = ["BATCH", "FORMAT", "FORMATS", "GENESIS", "KINDS", "SERIES", "Entry", "label", "now", "plain"]

FORMAT = 2  # a stored format never changes meaning: a changed one gets the next number
FORMATS = (1, 2)  # read, and written on: a ledger keeps the format it was made with
GENESIS = "0" * 64  # stands before the first entry
BATCH = "batch"  # the name of every charge that pays for several releases; they are looked up by it
SERIES = "series"  # the part of its description that says that they are outputs of one mechanism, whose claim it is
KINDS = ("open", "charge", "release", "correction")
LABEL_LENGTH = 1000
DESCRIPTION_BYTES = 1 << 20  # keeps verifying a chain cheap; large public material is content

_SHAPE: dict[str, type | tuple[type, ...]] = {
    "sequence": int,
    "kind": str,
    "time": str,
    "name": str,
    "digest": str,
    "guarantee": (dict, type(None)),
    "amounts": list,
    "total": list,
    "description": dict,
    "previous": str,
}
_OPTIONAL: dict[str, type] = {"account": str, "batch": list}  # absent unless they apply; not in format 1


@dataclass(frozen=True, slots=True)
class Entry:
    """One entry.  `amounts` is what it cost and `total` what all entries up to it cost, in units.

    `account` says on whose behalf it was charged, `batch` which releases (name and digest) the charge pays for
    together; both are absent by default.

    >>> midnight = "2025-01-01T00:00:00+00:00"
    >>> first = Entry(0, "open", midnight, "people", "", None, (0,), (0,), {}, GENESIS)
    >>> Entry.read(first.body()) == first, first.hash[:8]
    (True, 'f58e677f')
    """

    sequence: int
    kind: str
    time: str
    name: str
    digest: str
    guarantee: dict[str, object] | None
    amounts: tuple[int, ...]
    total: tuple[int, ...]
    description: dict[str, object]
    previous: str
    account: str | None = None
    batch: tuple[tuple[str, str], ...] | None = None

    def record(self) -> dict[str, object]:
        """The entry as plain values, without its hash."""
        fields: dict[str, object] = {part: getattr(self, part) for part in (*_SHAPE, *_OPTIONAL)}
        fields |= {"amounts": list(self.amounts), "total": list(self.total)}
        if self.batch is not None:
            fields["batch"] = [list(pair) for pair in self.batch]
        return {part: value for part, value in fields.items() if part in _SHAPE or value is not None}

    def body(self) -> str:
        """The text that is hashed and stored."""
        return canonical_ascii(self.record())

    @property
    def hash(self) -> str:
        """The head of a chain that ends with this entry."""
        return sha256(self.body().encode())

    @classmethod
    def read(cls, body: str) -> Entry:
        """The entry a body describes; unknown kinds, missing and surplus parts are refused."""
        try:
            record = json.loads(body) if isinstance(body, str) else None
        except (ValueError, RecursionError):
            raise LedgerError("an entry of the ledger is not JSON; run verify") from None
        if not isinstance(record, dict) or not _SHAPE.keys() <= record.keys() <= _SHAPE.keys() | _OPTIONAL.keys():
            raise LedgerError("an entry of the ledger does not have the parts of its format")
        if record["kind"] not in KINDS:
            raise LedgerError(
                f"unknown kind of entry; this version knows {', '.join(KINDS)}: "
                "read this ledger with the version of sfumato that wrote it"
            )
        for part, kind in (_SHAPE | {part: _OPTIONAL[part] for part in _OPTIONAL if part in record}).items():
            if not isinstance(record[part], kind) or isinstance(record[part], bool):
                raise LedgerError(f"part {part!r} of an entry has the wrong type; run verify")
        for part in ("amounts", "total"):
            if not all(type(amount) is int and amount >= 0 for amount in record[part]):
                raise LedgerError(f"{part} of an entry must be whole numbers; run verify")
            record[part] = tuple(record[part])
        if "batch" in record:
            record["batch"] = tuple(_pair(pair) for pair in record["batch"])
        return cls(**record)


def _pair(pair: object) -> tuple[str, str]:
    match pair:
        case [str(name), str(digest)]:
            return name, digest
    raise LedgerError("batch of an entry must hold pairs of a name and a digest; run verify")


def plain(description: Mapping[str, object]) -> dict[str, object]:
    """A description as it will be read back: JSON values under text keys."""
    advice = "give a mapping of text to numbers, text, lists and mappings, without NaN"
    try:
        text = canonical_ascii(dict(description))
        texts = _has_text_keys(description)
    except (TypeError, ValueError, RecursionError):
        raise ParameterError(f"description must be plain JSON values; {advice}") from None
    if not texts:
        raise ParameterError(f"description must have text keys; {advice}")
    if len(text) > DESCRIPTION_BYTES:
        raise ParameterError(
            f"description must take at most {DESCRIPTION_BYTES} bytes as JSON, got {len(text)}; "
            "put large public material into the stored content"
        )
    back: dict[str, object] = json.loads(text)
    return back


def _has_text_keys(value: object) -> bool:
    """JSON would quietly turn other keys into text, so that two of them could become one."""
    if isinstance(value, Mapping):
        return all(isinstance(k, str) and _has_text_keys(v) for k, v in value.items())
    return not isinstance(value, list | tuple) or all(map(_has_text_keys, value))


def label(argument: str, text: str) -> str:
    """A name or digest: printable and not empty."""
    if isinstance(text, str) and text.isprintable() and 0 < len(text) <= LABEL_LENGTH:
        return text
    raise ParameterError(f"{argument} must be printable text of 1 to {LABEL_LENGTH} characters, got {text!r:.80}")


def now() -> str:
    """The time in UTC.  Whole seconds: finer ones would tell how long a secret answer took."""
    return datetime.now(UTC).isoformat(timespec="seconds")
