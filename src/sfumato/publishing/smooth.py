"""The recipe of a weighted synthetic table: the trigonometric mechanism, by `session.publish(trigonometric(...))`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from sfumato import arguments
from sfumato.certificate import NoBoundKnown
from sfumato.engines import Table
from sfumato.planner import check_target
from sfumato.privacy.guarantees import Guarantee, to_record
from sfumato.randomness import Rng
from sfumato.release import Provenance
from sfumato.schema import Schema
from sfumato.synthesis.distribution import distribution
from sfumato.synthesis.trigonometric import Trigonometric
from sfumato.synthesis.weighted import WEIGHT, WeightedTable, described

__all__ = ["SmoothTable", "trigonometric"]

NO_BOUND = NoBoundKnown("the best error of synthetic tables for smooth queries is not known")


def trigonometric(
    schema: Schema, columns: Sequence[str], *, spend: Guarantee, smoothness: int = 4,
    order: int | None = None, grid: int | None = None,
) -> SmoothTable:  # fmt: skip
    """A synthetic table of up to about three numeric columns for smooth queries: grid points with weights.

    `schema` is the session's own.  `smoothness` is the order of derivatives that queries have; `order` and `grid`
    override what follows from it.
    """
    arguments.instance("schema", schema, Schema, "the session's own schema")
    check_target(spend)
    for name, value in (("order", order), ("grid", grid)):
        if value is not None:
            arguments.whole(name, value, least=2)
    columns = arguments.names("columns", columns)
    mechanism = Trigonometric.calibrate(schema, columns, spend, smoothness=smoothness, order=order, grid=grid)
    return SmoothTable(mechanism, spend)


@dataclass(frozen=True, slots=True)
class SmoothTable:
    """A calibrated trigonometric mechanism and the spend it was calibrated to."""

    mechanism: Trigonometric
    spend: Guarantee

    @property
    def schema(self) -> Schema:
        """What it was calibrated for."""
        return self.mechanism.schema

    @property
    def columns(self) -> tuple[str, ...]:
        """The declared columns that it reads."""
        return tuple(self.mechanism.columns)

    @property
    def title(self) -> str:
        """The name it is stored under unless another is given."""
        return f"smooth table of {', '.join(self.mechanism.columns)}"

    def specification(self) -> dict[str, Any]:
        """What is asked."""
        return {"format": WeightedTable.FORMAT, "spend": to_record(self.spend), **described(self.mechanism)}

    def guarantee(self) -> Guarantee:
        """What it costs."""
        return self.mechanism.guarantee()

    def described(self) -> dict[str, Any]:
        """What the ledger's entry says of it."""
        return described(self.mechanism)

    def publish(self, name: str, table: Table, rng: Rng, provenance: Provenance) -> WeightedTable:
        """Read the table once, add the noise, fit the distribution."""
        mechanism = self.mechanism
        output = mechanism.release(mechanism.answer(table), rng)
        found = distribution(mechanism, output)
        rows = pa.table({**found.values(), WEIGHT: found.weights})
        method = {**described(mechanism), "output": output.tolist()}
        return WeightedTable(
            name=name, rows=rows, schema=mechanism.schema, guarantee=self.guarantee(), certificate=NO_BOUND,
            provenance=provenance, spend=self.spend, method=method,
        )  # fmt: skip
