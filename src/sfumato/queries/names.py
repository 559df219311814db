"""The names alone of keys that enough units hold: a discovery, with nothing answered over what is found.

What is asked over the found keys is a question without numbers, which no unit moves (docs/proofs/discovered_keys.md).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from sfumato.answers.choices import Names
from sfumato.answers.statements import Accuracy, ErrorStatement, level_of
from sfumato.errors import UnsupportedQuery
from sfumato.queries.aggregation import Measure
from sfumato.queries.contributions import Simplex
from sfumato.queries.details import OfColumn
from sfumato.queries.grouping import Cells, Key
from sfumato.queries.keys import STAND_INS, Discovering, Found, Keys
from sfumato.queries.query import Query
from sfumato.queries.question import Source
from sfumato.queries.vector import Bounds, Noise, VectorQuestion, Whole
from sfumato.spaces.schema import Schema

__all__ = ["KeyNames", "NamesDetails", "Nothing", "keys"]


@dataclass(frozen=True, slots=True)
class NamesDetails(OfColumn):
    """The values of a text column that enough units hold."""

    kind: ClassVar[str] = "keys"

    def bind(self, query: Query, schema: Schema) -> KeyNames:
        """The question about the whole table, or the rows that meet a condition."""
        if query.keys:
            raise UnsupportedQuery(
                f"keys are those of the whole table; for a number of each group ask count().by(discovered("
                f"{self.column!r}), ...)"
            )
        return KeyNames(query, schema)


@dataclass(frozen=True, slots=True)
class KeyNames(Keys):
    """How many units hold each text, of which the names are asked and nothing else."""

    @property
    def column(self) -> str:
        """The column whose values are discovered."""
        assert self.query.column is not None
        return self.query.column

    @property
    def counted_alone(self) -> bool:
        """No counts are asked."""
        return False

    def over(self, keys: tuple[str, ...] = STAND_INS) -> Nothing:
        """Nothing is asked of what is found."""
        return Nothing(self.query, self.schema, self.cells(keys))

    def cells(self, keys: tuple[str, ...]) -> Cells:
        """The found keys."""
        return Cells((Key(self.column, keys),))

    def accuracy(self, mechanism: Discovering, beta: float) -> Accuracy:
        """Which keys are found."""
        return ErrorStatement("keys", mechanism.discovery.error(beta), level_of(beta), each=True)

    def read(self, output: Found, mechanism: Discovering) -> Names:
        """The names, in the order of texts."""
        return Names(self.column, output.keys, partial(self.accuracy, mechanism))

    def restored(self, record: Mapping[str, Any]) -> Found:
        """The names from a stored release."""
        return Found(tuple(record["keys"] or ()), np.zeros(0, dtype=np.int64))


class Nothing(VectorQuestion):
    """No number at all: what is asked over keys whose names are the answer."""

    coordinates = 0

    @property
    def body(self) -> Simplex:
        """Nothing."""
        return Simplex(0)

    @property
    def measures(self) -> tuple[Measure, ...]:
        """None."""
        return ()

    def answer(self, table: Source) -> Whole:
        """No numbers; the table is not looked at."""
        return np.zeros(0, dtype=np.int64)

    def vector(self, totals: Whole) -> Whole:
        """No numbers."""
        return np.zeros(0, dtype=np.int64)

    def estimate(self, noisy: Whole) -> npt.NDArray[np.float64]:
        """No numbers."""
        return np.zeros(0)

    def interval(self, noisy: Whole, noise: Noise, beta: float) -> Bounds:
        """None."""
        return np.zeros(0), np.zeros(0)

    def preview(self, noise: Noise, beta: float) -> float:
        """No error."""
        return 0.0

    def sensitivity(self, norm: str) -> float:
        """Nothing moves."""
        return 0.0


def keys(column: str) -> Query:
    """The values of a text column that enough units (rows, or persons) hold: names alone, at a delta.

    For names and numbers, ask a question `by(discovered(column))`.

    >>> keys("city").where("age >= 18").name
    'keys of city where age >= 18'
    """
    return Query(NamesDetails(column))
