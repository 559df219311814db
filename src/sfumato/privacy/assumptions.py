"""What a guarantee may take for granted, a closed list; a session refuses each unless allowed by name."""

from __future__ import annotations

from collections.abc import Iterable

from sfumato.errors import ParameterError

__all__ = ["ASSUMPTIONS", "assumed"]

ASSUMPTIONS = {
    "mixing": "the random walk that drew the noise has reached its stationary law",
    "real-arithmetic": "floating-point noise behaves like the real-valued noise of the proof",
    "honest-reports": "the stated number of reports come from people who follow the protocol",
    "declared-sensitivity": "one unit moves a score by no more than the steward declared, which is not checked",
    "fixed-dates": "a row keeps its date in every version of the table that holds it, and changes no other row",
}


def assumed(names: Iterable[str]) -> frozenset[str]:
    """The given names as a set, each checked against the list."""
    if isinstance(names, str) or not isinstance(names, Iterable):
        raise ParameterError("assumptions must be a list of names, such as ['mixing']")
    chosen = frozenset(name if isinstance(name, str) else repr(name)[:60] for name in names)
    unknown = sorted(chosen - ASSUMPTIONS.keys())
    if unknown:
        raise ParameterError(f"unknown assumption {unknown[0]!r}; known are {', '.join(ASSUMPTIONS)}")
    return chosen
