"""Metric spaces: a set with its distance, its diameter and its rule for bad values."""

from __future__ import annotations

import dataclasses
from typing import Any

from sfumato.errors import SchemaError
from sfumato.spaces.box import Box
from sfumato.spaces.categories import Categories, Label
from sfumato.spaces.curves import Curves
from sfumato.spaces.dates import Dates
from sfumato.spaces.duration import Duration
from sfumato.spaces.interval import Integers, Interval
from sfumato.spaces.lattice import Lattice
from sfumato.spaces.record import Record
from sfumato.spaces.space import Numeric, Space, numeric
from sfumato.spaces.subsets import Subsets
from sfumato.spaces.texts import Texts
from sfumato.spaces.time_of_day import TimeOfDay

__all__ = [
    "SPACES",
    "Box",
    "Categories",
    "Curves",
    "Dates",
    "Duration",
    "Integers",
    "Interval",
    "Label",
    "Lattice",
    "Numeric",
    "Record",
    "Space",
    "Subsets",
    "Texts",
    "TimeOfDay",
    "numeric",
    "space_from",
]

SPACES: dict[str, type[Space]] = {
    space.kind: space
    for space in (Interval, Integers, Categories, Subsets, Box, Curves, Dates, Duration, TimeOfDay, Record, Texts)
}


def space_from(record: dict[str, Any], name: str) -> Space:
    """The space that a plan describes for the column `name`."""
    fields = {key: value for key, value in record.items() if value is not None}
    kind = fields.pop("type", None)
    if not isinstance(kind, str) or kind not in SPACES:
        raise SchemaError(f"column {name!r} has type {kind!r}; choose one of {', '.join(SPACES)}")
    try:
        return SPACES[kind].declared(fields, name)
    except TypeError:
        wanted = [field.name for field in dataclasses.fields(SPACES[kind]) if field.init]  # type: ignore[arg-type]
        raise SchemaError(f"column {name!r} ({kind}) takes {', '.join(wanted)}; got {', '.join(fields)}") from None
    except ValueError as error:
        raise SchemaError(f"column {name!r}: {error}") from None
