"""The exact, secret counts that synthesis measures: two passes over the rows, which are never kept."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from sfumato.synthesis.encoding import Column
from sfumato.synthesis.marginals.levels import Groups
from sfumato.synthesis.marginals.tree import Pair

__all__ = ["Read", "pair_counts", "single_counts"]

Whole = npt.NDArray[np.int64]
Read = Callable[[], Iterable[Mapping[str, Any]]]  # batches of rows: for each column an array of indices, -1 missing


def single_counts(read: Read, columns: Sequence[Column]) -> list[Whole]:
    """How many rows each level of each column has."""
    counts = [np.zeros(column.size, dtype=np.int64) for column in columns]
    for batch in read():
        for held, column in zip(counts, columns, strict=True):
            held += np.bincount(column.levels(np.asarray(batch[column.name])), minlength=column.size)
    return counts


def pair_counts(read: Read, columns: Sequence[Column], owners: Sequence[Groups]) -> dict[Pair, Whole]:
    """How many rows each pair of groups of each pair of columns has."""
    sizes = [int(owner.max()) + 1 for owner in owners]
    pairs = [(one, other) for one in range(len(columns)) for other in range(one + 1, len(columns))]
    counts = {(one, other): np.zeros(sizes[one] * sizes[other], dtype=np.int64) for one, other in pairs}
    for batch in read():
        groups = [
            owner[column.levels(np.asarray(batch[column.name]))].astype(np.int32)
            for column, owner in zip(columns, owners, strict=True)
        ]
        for one, other in pairs:
            cells = groups[one] * np.int32(sizes[other]) + groups[other]
            counts[one, other] += np.bincount(cells, minlength=sizes[one] * sizes[other])
    return {pair: held.reshape(sizes[pair[0]], sizes[pair[1]]) for pair, held in counts.items()}
