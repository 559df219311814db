"""What to measure so that a workload can be answered: matrices of whole numbers with a least-squares inverse.

Each applies to the counts exactly, knows its column norms, inverts a noisy measurement by least squares, and knows
the variance of every row of a workload, for measurement noise of variance one.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sfumato.errors import SchemaError
from sfumato.queries.linear.measurements.dense import Dense
from sfumato.queries.linear.measurements.hierarchy import Hierarchy
from sfumato.queries.linear.measurements.interactions import Interactions
from sfumato.queries.linear.measurements.kronecker import Kronecker
from sfumato.queries.linear.measurements.tables import Tables
from sfumato.queries.linear.measurements.toeplitz import Toeplitz

__all__ = [
    "MEASUREMENTS", "Dense", "Hierarchy", "Interactions", "Kronecker", "Measurement", "Tables", "Toeplitz",
    "measurement_from",
]  # fmt: skip

Measurement = Dense | Hierarchy | Interactions | Kronecker | Tables | Toeplitz
MEASUREMENTS: dict[str, Any] = {
    "dense": Dense, "hierarchy": Hierarchy, "interactions": Interactions, "tables": Tables, "toeplitz": Toeplitz,
}  # fmt: skip


def measurement_from(record: Mapping[str, Any]) -> Measurement:
    """The measurement that `to_record` wrote."""
    fields = dict(record)
    kind = fields.pop("kind", None)
    if kind == "kronecker":
        parts = tuple(measurement_from(part) for part in fields["axes"])
        return Kronecker(parts)  # type: ignore[arg-type]
    if kind not in MEASUREMENTS:
        raise SchemaError(f"unknown measurement {kind!r}; known are {', '.join(MEASUREMENTS)}, kronecker")
    return MEASUREMENTS[kind].from_record(fields)  # type: ignore[no-any-return]
