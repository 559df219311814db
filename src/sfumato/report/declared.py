"""What was declared of a table, in words for the report's readers: bounds, labels, and what becomes of other values."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sfumato.spaces.schema import Schema

__all__ = ["HEADINGS", "declared"]

HEADINGS = ("Column", "Kind", "Declared in public", "Other values", "Missing or unreadable")
MOST = 12  # labels that are listed
OWN = ("type", "low", "high", "step", "values", "of", "other", "missing", "na", "from", "cap", "longest", "separator")
BOUNDED = ("interval", "integers", "dates", "duration", "box", "time-of-day")
PARTED = {
    "box": "a missing entry takes the middle of its range",
    "curves": "missing points lie on straight lines between the others",
    "record": "by the rule of its parts",
}
LEFT_OUT = "left out where the column is used"


def declared(schema: Schema) -> list[tuple[str, ...]]:
    """A row for each declared and derived column."""
    columns = [(name, space.to_record(), name in schema.people) for name, space in schema.columns.items()]
    columns += [(name, derived.to_record(), False) for name, derived in schema.derived.items()]
    return [
        (name + (" (of the person)" if own else ""), str(one["type"]), _said(one), _others(one), _missing(one))
        for name, one, own in columns
    ]


def _said(record: Mapping[str, Any]) -> str:
    """Bounds, labels, and what else the declaration says."""
    labels = record.get("values", record.get("of"))
    parts = [f"computed as {record['from']}"] if "from" in record else []
    if "low" in record:
        parts.append(f"{record['low']} to {record['high']}")
    if record.get("step") is not None:
        step = record["step"]
        parts.append(f"in steps of {step:g}" if isinstance(step, int | float) else f"in steps of {step}")
    if isinstance(labels, list):
        more = f" and {len(labels) - MOST:,} more" if len(labels) > MOST else ""
        parts.append(", ".join(map(str, labels[:MOST])) + more)
    if "cap" in record:
        parts.append(f"at most {record['cap']} of them count")
    if "longest" in record:
        parts.append(f"at most {record['longest']} characters")
    parts += [f"{name} {value}" for name, value in record.items() if name not in OWN and value is not None]
    return "; ".join(parts)


def _others(record: Mapping[str, Any]) -> str:
    """What becomes of values beyond the declaration."""
    if record["type"] in BOUNDED and "low" in record:
        return "moved to the nearer bound"
    if record["type"] == "texts" and record.get("other") is not None:
        return f"cut; made as {record['other']} where they are not found"
    if record.get("other") is not None:
        return f"counted as {record['other']}"
    told = {"categories": LEFT_OUT, "subsets": "an unknown item is dropped", "texts": "cut"}
    return told.get(str(record["type"]), "by the rule of its parts")


def _missing(record: Mapping[str, Any]) -> str:
    """What stands for missing values, and which codes mean them."""
    if "from" in record:
        return "follows from what it is computed from"
    if str(record["type"]) in PARTED:
        return PARTED[str(record["type"])]
    codes = record.get("na")
    meant = f" (codes of it: {', '.join(map(str, codes))})" if isinstance(codes, list) and codes else ""
    return (LEFT_OUT if record.get("missing") is None else f"counted as {record['missing']}") + meant
