"""What a message belongs to: a collection with all its terms, and a round, as sixteen bytes for any language.

A declaration is hashed in one form: JSON in UTF-8 with sorted keys and no blanks, in which every number is a text.
So a program hashes the texts of the file as they stand, and none has to write a number the way another one does.  A
message carries the first sixteen bytes of the SHA-256 of that digest (32 bytes) followed by the name of the round
(UTF-8): a report of another collection, another version of this one or another round is told from those of this one.
See docs/formats/collection.md.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass

from sfumato.errors import SchemaError
from sfumato.records import canonical, sha256

__all__ = ["BOUND", "SEALED", "UNBOUND", "Address", "address", "check_digest", "declared_digest", "texts"]

UNBOUND, BOUND, SEALED = 1, 2, 3  # versions of the wire format: the protocol alone, its collection and round, sealed
BYTES = 16


@dataclass(frozen=True, slots=True)
class Address:
    """The version of the wire format and the sixteen bytes that stand in a message's header."""

    version: int
    binding: bytes


def texts(value: object) -> object:
    """The same value with every number as a text.

    >>> texts({"k": 5, "bounds": [0.0, 1.5], "type": "grr"})
    {'k': '5', 'bounds': ['0.0', '1.5'], 'type': 'grr'}
    """
    if isinstance(value, dict):
        return {name: texts(part) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return [texts(part) for part in value]
    return repr(value) if isinstance(value, int | float) and not isinstance(value, bool) else value


def declared_digest(record: dict[str, object]) -> str:
    """The digest of a declaration, in hexadecimal; its part `digest`, if there is one, is left out."""
    return sha256(canonical(texts({name: part for name, part in record.items() if name != "digest"})))


def check_digest(noun: str, record: Mapping[str, object], own: str) -> None:
    """Refuse a declaration that names another digest than that of its other parts."""
    if record.get("digest", own) != own:
        raise SchemaError(
            f"the {noun}'s digest is not that of its other parts: it was changed after it was saved; "
            "give changed terms another version, and leave out the digest to declare them anew"
        )


def address(digest: str, round: str, version: int = BOUND) -> Address:
    """What messages of a round of a collection carry."""
    return Address(version, hashlib.sha256(bytes.fromhex(digest) + round.encode()).digest()[:BYTES])
