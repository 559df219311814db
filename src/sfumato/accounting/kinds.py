"""Names of kinds, as people write them: underscores and hyphens are one."""

from __future__ import annotations

from collections.abc import Collection

from sfumato.errors import ParameterError

__all__ = ["spelled"]


def spelled(name: str, kind: object, known: Collection[str]) -> str:
    """The kind in its one spelling, or a refusal that lists what there is.

    >>> spelled("kind", "total_variation", ["total-variation"])
    'total-variation'
    """
    found = kind.replace("_", "-") if isinstance(kind, str) else ""
    if found not in known:
        raise ParameterError(f"{name} must be one of {', '.join(known)}, got {kind!r}")
    return found
