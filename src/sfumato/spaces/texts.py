"""Texts that are not known in advance: keys to be discovered, with the discrete metric."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sfumato.errors import ParameterError

__all__ = ["Texts"]


@dataclass(frozen=True, slots=True)
class Texts:
    """Texts of at most `longest` characters; longer ones are cut, nulls are missing.

    >>> Texts(3).coerce("Ljubljana"), Texts(3).coerce(None)
    ('Lju', None)
    """

    longest: int = 64

    def __post_init__(self) -> None:
        if not (isinstance(self.longest, int) and 1 <= self.longest <= 1000):
            raise ParameterError(f"longest must be a whole number from 1 to 1000, got {self.longest!r}")

    @property
    def diameter(self) -> float:
        """The largest distance."""
        return 1.0

    def distance(self, one: str, other: str) -> float:
        """0 for equal texts, else 1."""
        return float(one != other)

    def coerce(self, value: Any) -> str | None:
        """The text that stands for `value`, or None if it is missing."""
        return value[: self.longest] if isinstance(value, str) else None

    def to_record(self) -> dict[str, Any]:
        """Plain values, for plans and releases."""
        return {"type": "texts", "longest": self.longest}
