"""Records: named parts, each with its own space, under the sum or the maximum of their distances."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Self

from sfumato import arguments
from sfumato.errors import ParameterError
from sfumato.spaces.space import Space

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["Record"]


@dataclass(frozen=True, slots=True)
class Record(Space):
    """A product of spaces.  A record is coerced part by part; what is not a mapping is missing, and each part of it.

    Questions are about its parts, which are named after it: `patient.age`.  A table holds records as structures, or
    each part as a column of that name, as text files do.

    >>> from sfumato.spaces import Categories, Interval
    >>> patient = Record({"age": Interval(0, 120, step=1), "ill": Categories(["yes", "no"])})
    >>> patient.coerce({"age": 200, "ill": "?"}), patient.diameter
    ({'age': 120.0, 'ill': None}, 121.0)
    """

    parts: Mapping[str, Space]
    combine: str = "sum"

    kind: ClassVar[str] = "record"
    needed: ClassVar[tuple[str, ...]] = ("parts",)

    def __post_init__(self) -> None:
        if isinstance(self.parts, Mapping) and not self.parts:
            raise ParameterError("parts is empty; a record needs at least one named space")
        if not isinstance(self.combine, str) or self.combine not in ("sum", "max"):
            raise ParameterError(f"combine must be 'sum' or 'max', got {self.combine!r}")
        parts = arguments.mapping("parts", self.parts)
        for name, space in parts.items():
            if not (isinstance(name, str) and isinstance(space, Space)) or isinstance(space, type):
                raise ParameterError("parts must map names to spaces, such as {'height': Interval(0, 250)}")
        object.__setattr__(self, "parts", parts)

    @property
    def diameter(self) -> float:
        """The largest distance."""
        return self._combined([space.diameter for space in self.parts.values()])

    def distance(self, one: Mapping[str, Any], other: Mapping[str, Any]) -> float:
        """The parts' distances combined; a part that is missing on one side only is at its diameter."""
        return self._combined([_gap(space, one[name], other[name]) for name, space in self.parts.items()])

    def coerce(self, value: object) -> dict[str, Any] | None:
        """The record that stands for `value`, or None if it is missing."""
        if not isinstance(value, Mapping):
            return None
        return {name: space.coerce(value.get(name)) for name, space in self.parts.items()}

    @property
    def fields(self) -> Mapping[str, Space]:
        """The parts."""
        return self.parts

    def to_record(self) -> dict[str, Any]:
        """Plain values, for plans and releases."""
        parts = {name: space.to_record() for name, space in self.parts.items()}
        return {"type": "record", "parts": parts, "combine": self.combine}

    @classmethod
    def declared(cls, fields: dict[str, Any], column: str) -> Self:
        """The record of a plan, part by part."""
        from sfumato.spaces import space_from

        parts = {
            part: space_from(arguments.mapping(f"parts.{part}", inner), f"{column}.{part}")
            for part, inner in arguments.mapping("parts", fields["parts"]).items()
        }
        return cls(**{**fields, "parts": parts})

    def examples(self) -> tuple[Any, Any, Any, Any]:
        """The parts' own, together."""
        listed = {name: space.examples() for name, space in self.parts.items()}
        low, high, middle, other = ({name: four[kind] for name, four in listed.items()} for kind in range(4))
        return low, high, middle, other

    @classmethod
    def drafted(cls, stored: str, blank: str) -> list[str] | None:
        """Structures, whose fields are named in the type."""
        if not stored.startswith("struct<"):
            return None
        each = '# in its place a line for each field: parts.NAME = { type = "integers", low = 0, high = 9 }'
        return ['type = "record"', f'parts = "{blank}"            {each}']

    def arrow(self) -> pa.DataType:
        """Structures."""
        import pyarrow as pa

        return pa.struct([(name, space.arrow()) for name, space in self.parts.items()])

    def _combined(self, distances: list[float]) -> float:
        return sum(distances) if self.combine == "sum" else max(distances)


def _gap(space: Space, one: object, other: object) -> float:
    if one is None or other is None:
        return 0.0 if one is other else float(space.diameter)
    return float(space.distance(one, other))
