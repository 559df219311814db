"""A perturbed copy of the table, record by record."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa

from sfumato import arguments
from sfumato.engines import Table
from sfumato.planner import check_target
from sfumato.privacy.guarantees import Guarantee, to_record
from sfumato.randomness import Rng
from sfumato.release import Provenance
from sfumato.sanitization import Sanitization, SanitizedTable, Together, sanitization
from sfumato.schema import Schema

__all__ = ["Sanitizing"]


@dataclass(frozen=True, slots=True)
class Sanitizing:
    """The recipe of a sanitized table: as many rows as the schema declares, in random order."""

    randomizer: Sanitization
    spend: Guarantee

    @classmethod
    def of(cls, schema: Schema, columns: Sequence[str | Together] | None, spend: Guarantee) -> Sanitizing:
        """The randomizer with the least spread that meets `spend`."""
        check_target(spend)
        chosen = columns if columns is None or isinstance(columns, str) else arguments.several("columns", columns)
        return cls(sanitization(schema, chosen, spend), spend)

    @property
    def schema(self) -> Schema:
        """What it was calibrated for."""
        return self.randomizer.schema

    @property
    def columns(self) -> tuple[str, ...]:
        """The declared columns that it reads."""
        return tuple(self.randomizer.columns)

    @property
    def title(self) -> str:
        """The name unless another is given."""
        return "sanitized " + ", ".join(self.randomizer.columns)

    def specification(self) -> dict[str, Any]:
        """What is asked."""
        subjects = [part.to_record() for part in self.randomizer.parts]
        columns = [[part.get("column") or part["columns"], part.get("basis")] for part in subjects]
        return {"format": SanitizedTable.FORMAT, "columns": columns, "spend": to_record(self.spend)}

    def guarantee(self) -> Guarantee:
        """What the table costs."""
        return self.randomizer.guarantee()

    def described(self) -> dict[str, Any]:
        """The randomizer, in the ledger."""
        return {"sanitized": list(self.randomizer.columns), "mechanisms": [self.randomizer.to_record()]}

    def publish(self, name: str, table: Table, rng: Rng, provenance: Provenance) -> SanitizedTable:
        """Every record perturbed by itself, then all of them shuffled."""
        randomizer = self.randomizer
        size = randomizer.schema.fixed_size or 0
        held = _exactly(size, table, randomizer.columns)
        order = _order(size, rng)
        columns: dict[str, Any] = {}
        for part in randomizer.parts:
            records = np.stack([held[column] for column in part.columns], axis=1)
            columns |= part.decoded(part.release(records, rng)[order])
        record = randomizer.to_record()
        stamped = replace(provenance, parts=(record,))
        rows = pa.table({column: columns[column] for column in randomizer.columns})
        return SanitizedTable(
            name, rows, randomizer.schema, self.guarantee(), randomizer.certificate(), stamped, self.spend, record
        )


def _order(size: int, rng: Rng) -> Any:
    """A uniform permutation: words drawn again until they are distinct."""
    while True:
        order = np.argsort(words := rng.words(size))
        if (words[order[1:]] != words[order[:-1]]).all():
            return order


def _exactly(size: int, table: Table, columns: tuple[str, ...]) -> dict[str, Any]:
    """The coerced records: as many as declared, whatever the table holds; the rest is missing."""
    held = {column: np.full(size, -1, dtype=np.int64) for column in columns}
    filled = 0
    for batch in table.rows(columns):
        taken = min(size - filled, len(batch[columns[0]]))
        for column in columns:
            held[column][filled : filled + taken] = batch[column][:taken]
        filled += taken
    return held
