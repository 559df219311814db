"""Rows that noise may have hidden: as many as the predicted error, anywhere within public bounds.

No sample of the made rows tells of what is not among them, such as the far end of a column that noise outweighs.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

from sfumato.queries.encoding import encoded
from sfumato.release.prediction import PredictedErrors
from sfumato.spaces.schema import Schema

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["anywhere", "total_variation"]


def total_variation(names: tuple[str, ...], found: PredictedErrors) -> float:
    """How far the shares of these columns are predicted to be off, at most; of three or more, by their worst pair."""
    if len(names) < 2:
        return max((found.within((name,)) for name in names), default=0.0)
    known = [pair for pair in found.pairs if set(pair) in [set(two) for two in combinations(names, 2)]]
    return max((found.within(pair) for pair in known or found.pairs), default=1.0)


def anywhere(names: Sequence[str], schema: Schema, count: int, chance: np.random.Generator) -> pa.Table | None:
    """Rows with any value of each column's public domain; none where columns are sets or arrays."""
    import pyarrow as pa

    columns = encoded(schema, tuple(names))
    if not count or any(column.whole is not None for column in columns):
        return None
    return pa.table({column.name: column.decoded(chance.integers(column.points, size=count)) for column in columns})
