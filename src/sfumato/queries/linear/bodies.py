"""How far one unit moves a workload's answer: the hull of the columns, of their differences, or of both.

A row adds the column of its cell, or nothing.  Added or removed, a unit of at most m rows moves the answer by a
point of m conv(+-f_i); replaced, by a difference of two points of m conv(0, f_i), unless every row has a cell and
the unit is a row: then the differences f_i - f_j are all.  Proof: docs/proofs/workloads.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from sfumato.errors import UnsupportedQuery
from sfumato.numeric import round_up
from sfumato.privacy.adjacency import Person, Replace
from sfumato.queries.linear.factors import Floats, Whole
from sfumato.spaces.schema import Schema

__all__ = ["Moves", "moves_of"]

EXACT = 2.0**53
MOST_LISTED = 4_000_000  # entries of differences of columns that are looked at one by one: half a second


@dataclass(frozen=True, slots=True)
class Moves:
    """Which points a unit can move a linear answer by: `alone` the columns, `apart` their differences; times rows."""

    alone: bool
    apart: bool
    rows: int = 1

    def sensitivity(self, norm: str, alone: float, apart: float) -> float:
        """The largest norm from those of the columns and of their differences."""
        largest = max(alone if self.alone else 0.0, apart if self.apart else 0.0)
        moved = self.rows * largest
        return moved if float(largest).is_integer() and moved < EXACT else round_up(moved, 2)

    def vertices(self, columns: Whole) -> Whole:
        """One of each pair of opposite vertices, as distinct non-zero columns (some may lie inside the hull)."""
        parts = [columns] if self.alone else []
        if self.apart:
            count = columns.shape[1]
            if count * (count - 1) // 2 * max(1, columns.shape[0]) > MOST_LISTED:
                raise UnsupportedQuery(f"{count} columns have too many differences to list; use a strategy instead")
            first, second = np.triu_indices(count, 1)
            parts.append(columns[:, first] - columns[:, second])
        listed = self.rows * np.concatenate(parts, axis=1)
        listed = listed[:, (listed != 0).any(axis=0)]
        if listed.shape[1] == 0:
            return listed
        lead = np.take_along_axis(listed, (listed != 0).argmax(axis=0)[None], axis=0)
        return np.unique(listed * np.sign(lead), axis=1)


def moves_of(schema: Schema, columns: tuple[str, ...], filtered: bool) -> Moves:
    """The moves of a histogram over `columns` of a schema."""
    if not isinstance(schema.adjacency, Replace):
        return Moves(alone=True, apart=False, rows=schema.unit.rows)
    everywhere = not filtered and all(schema.space(column).settled for column in columns)
    fixed = everywhere and not isinstance(schema.unit, Person)
    return Moves(alone=not fixed, apart=True, rows=schema.unit.rows)


def largest_column(powers: Floats, norm: str) -> float:
    """The largest norm of a column from its sums of powers (of order 1 for l1, 2 for l2), rounded up."""
    largest = float(powers.max(initial=0.0))
    if largest >= EXACT:
        largest = largest * (1 + 1e-9)
    if norm == "l1":
        return largest
    root = math.isqrt(math.ceil(largest))
    return float(root) if root * root == largest else round_up(math.sqrt(largest), 2)


def largest_difference(columns: Whole, norm: str) -> float:
    """The largest norm of a difference of two columns of a written-out matrix."""
    if norm == "linf":
        return float((columns.max(axis=1) - columns.min(axis=1)).max(initial=0))
    largest = 0.0
    exactly = columns if np.abs(columns).max(initial=0) < 2**62 else columns.astype(object)
    for i in range(columns.shape[1] - 1):
        gap = np.abs(exactly[:, i + 1 :] - exactly[:, i : i + 1]).astype(np.float64)  # whole until here
        sums = gap.sum(axis=0) if norm == "l1" else (gap**2).sum(axis=0)
        largest = max(largest, float(sums.max()))
    return largest_column(np.array([largest]), norm)
