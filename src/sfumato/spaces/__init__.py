"""Metric spaces: a set with its distance, its diameter and its rule for bad values."""

from __future__ import annotations

from typing import Any, Protocol

from sfumato.errors import SchemaError
from sfumato.spaces.box import Box
from sfumato.spaces.categories import Categories, Label
from sfumato.spaces.curves import Curves
from sfumato.spaces.dates import Dates
from sfumato.spaces.interval import Integers, Interval
from sfumato.spaces.lattice import Lattice
from sfumato.spaces.record import Record
from sfumato.spaces.subsets import Subsets
from sfumato.spaces.texts import Texts

__all__ = [
    "SPACES",
    "Box",
    "Categories",
    "Curves",
    "Dates",
    "Integers",
    "Interval",
    "Label",
    "Lattice",
    "Record",
    "Space",
    "Subsets",
    "Texts",
    "space_from",
]

SPACES: dict[str, Any] = {
    "interval": Interval,
    "integers": Integers,
    "categories": Categories,
    "subsets": Subsets,
    "box": Box,
    "curves": Curves,
    "dates": Dates,
    "record": Record,
    "texts": Texts,
}


class Space(Protocol):
    """What every space knows.  `coerce` never raises, whatever the value; None means missing."""

    @property
    def diameter(self) -> float: ...

    def distance(self, one: Any, other: Any) -> float: ...

    def coerce(self, value: Any) -> Any: ...

    def to_record(self) -> dict[str, Any]: ...


def space_from(record: dict[str, Any], name: str) -> Space:
    """The space that a plan describes for the column `name`."""
    fields = {key: value for key, value in record.items() if value is not None}
    kind = fields.pop("type", None)
    if kind not in SPACES:
        raise SchemaError(f"column {name!r} has type {kind!r}; choose one of {', '.join(SPACES)}")
    if kind == "record":
        fields["parts"] = {part: space_from(inner, f"{name}.{part}") for part, inner in fields["parts"].items()}
    for key in ("values", "of", "shape", "points", "na"):
        if isinstance(fields.get(key), list):
            fields[key] = tuple(fields[key])
    try:
        space: Space = SPACES[kind](**fields)
    except TypeError:
        wanted = [field for field in SPACES[kind].__dataclass_fields__ if field != "lattice"]
        raise SchemaError(f"column {name!r} ({kind}) takes {', '.join(wanted)}; got {', '.join(fields)}") from None
    except ValueError as error:
        raise SchemaError(f"column {name!r}: {error}") from None
    return space
