"""Records: named parts, each with its own space, under the sum or the maximum of their distances."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sfumato import arguments
from sfumato.errors import ParameterError

__all__ = ["Record"]


@dataclass(frozen=True, slots=True)
class Record:
    """A product of spaces.  A record is coerced part by part; what is not a mapping is missing.

    >>> from sfumato.spaces import Categories, Interval
    >>> patient = Record({"age": Interval(0, 120, step=1), "ill": Categories(["yes", "no"])})
    >>> patient.coerce({"age": 200, "ill": "?"}), patient.diameter
    ({'age': 120.0, 'ill': None}, 121.0)
    """

    parts: Mapping[str, Any]
    combine: str = "sum"

    def __post_init__(self) -> None:
        if isinstance(self.parts, Mapping) and not self.parts:
            raise ParameterError("parts is empty; a record needs at least one named space")
        if not isinstance(self.combine, str) or self.combine not in ("sum", "max"):
            raise ParameterError(f"combine must be 'sum' or 'max', got {self.combine!r}")
        parts = arguments.mapping("parts", self.parts)
        for name, space in parts.items():
            if not (isinstance(name, str) and hasattr(space, "coerce")) or isinstance(space, type):
                raise ParameterError("parts must map names to spaces, such as {'height': Interval(0, 250)}")
        object.__setattr__(self, "parts", parts)

    @property
    def diameter(self) -> float:
        """The largest distance."""
        return self._combined([space.diameter for space in self.parts.values()])

    def distance(self, one: Mapping[str, Any], other: Mapping[str, Any]) -> float:
        """The parts' distances combined; a part that is missing on one side only is at its diameter."""
        return self._combined([_gap(space, one[name], other[name]) for name, space in self.parts.items()])

    def coerce(self, value: Any) -> dict[str, Any] | None:
        """The record that stands for `value`, or None if it is missing."""
        if not isinstance(value, Mapping):
            return None
        return {name: space.coerce(value.get(name)) for name, space in self.parts.items()}

    def to_record(self) -> dict[str, Any]:
        """Plain values, for plans and releases."""
        parts = {name: space.to_record() for name, space in self.parts.items()}
        return {"type": "record", "parts": parts, "combine": self.combine}

    def _combined(self, distances: list[float]) -> float:
        return sum(distances) if self.combine == "sum" else max(distances)


def _gap(space: Any, one: Any, other: Any) -> float:
    if one is None or other is None:
        return 0.0 if one is other else float(space.diameter)
    return float(space.distance(one, other))
