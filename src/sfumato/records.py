"""Records as text: one canonical JSON for what is hashed, compared and stored, one readable JSON for people.

Equal values give equal bytes: sorted keys, no blanks, floats in the shortest form that reads back as the same double.
NaN and infinity are refused, since JSON has neither and other readers would refuse the file.
"""

from __future__ import annotations

import hashlib
import json

__all__ = ["canonical", "canonical_ascii", "digest", "readable", "sha256"]


def canonical(value: object) -> bytes:
    """The canonical form in UTF-8: of releases, specifications and declarations.

    >>> canonical({"b": 0.1, "a": ["é", None]}).decode()
    '{"a":["é",null],"b":0.1}'
    """
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False).encode()


def canonical_ascii(value: object) -> str:
    r"""The canonical form with escapes: of a ledger's entries and of local protocols, whose formats are ASCII.

    SQLite keeps an entry as text and may be asked about it by any program, whatever that takes for an encoding.

    >>> canonical_ascii({"b": 0.1, "a": ["é", None]})
    '{"a":["\\u00e9",null],"b":0.1}'
    """
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False)


def digest(value: object) -> str:
    """The SHA-256 of the canonical form in UTF-8."""
    return sha256(canonical(value))


def sha256(content: bytes) -> str:
    """The SHA-256 of some bytes, in hexadecimal."""
    return hashlib.sha256(content).hexdigest()


def readable(value: object) -> str:
    """The value for files that people open: one part a line, in the order given."""
    return json.dumps(value, indent=1, ensure_ascii=False, allow_nan=False) + "\n"
