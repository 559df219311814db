"""Records as text: one canonical JSON for what is hashed, compared and stored, one readable JSON for people.

Equal values give equal bytes: sorted keys, no blanks, floats in the shortest form that reads back as the same double.
NaN and infinity are refused, since JSON has neither and other readers would refuse the file.
"""

from __future__ import annotations

import functools
import hashlib
import json
from collections.abc import Callable

__all__ = ["canonical", "canonical_ascii", "digest", "indented", "readable", "sha256"]


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
    return indented(value, 1, ensure_ascii=False, allow_nan=False) + "\n"


def indented(value: object, step: int, *, ensure_ascii: bool = True, allow_nan: bool = True) -> str:
    """As `json.dumps` with `step` blanks for each level; what holds plain values alone is written by its compiled half.

    >>> indented({"a": [1, 0.5], "b": []}, 1)
    '{\\n "a": [\\n  1,\\n  0.5\\n ],\\n "b": []\\n}'
    """
    encode = json.JSONEncoder(ensure_ascii=ensure_ascii, allow_nan=allow_nan).encode

    @functools.cache
    def flat(inner: str) -> Callable[[object], str]:
        separators = ("," + inner, ": ")
        return json.JSONEncoder(ensure_ascii=ensure_ascii, allow_nan=allow_nan, separators=separators).encode

    def part(held: object, margin: str) -> str:
        if not (isinstance(held, dict | list | tuple) and held):
            return encode(held)
        inner = margin + " " * step
        parts = held.values() if isinstance(held, dict) else held
        if not any(issubclass(kind, dict | list | tuple) for kind in set(map(type, parts))):
            plain = flat(inner)(held)
            return plain[0] + inner + plain[1:-1] + margin + plain[-1]
        if isinstance(held, dict):
            rows = (encode({name: None})[1:-5] + part(one, inner) for name, one in held.items())
            return "{" + inner + ("," + inner).join(rows) + margin + "}"
        return "[" + inner + ("," + inner).join(part(one, inner) for one in held) + margin + "]"

    return part(value, "\n")
