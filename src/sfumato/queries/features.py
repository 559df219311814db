"""Whole-number features of lattice points: products of tables, one table for each column.

A column's lattice is cut into at most MOST_CELLS equal cells, each standing at its middle in [-1, 1].  A factor is a
table of whole numbers in [-UNIT, UNIT], one for each cell; a feature is a product of factors, rounded after each
multiplication.  Everything is integer arithmetic on one row, so a row contributes the same whatever stands beside it,
and never more than `scale` in size: that is all a sensitivity needs.  How well the tables follow cos or exp decides
accuracy only.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sfumato.errors import ParameterError
from sfumato.spaces.schema import Schema

__all__ = ["MOST_CELLS", "UNIT", "Axis", "Cells", "Whole", "axes_of", "factors", "placed", "products"]

UNIT = 1 << 30  # of a factor
HALF = 1 << 29
MOST_CELLS = 4096  # of an axis

Whole = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Cells = Whole  # (rows, columns): the cell of each entry


@dataclass(frozen=True, slots=True)
class Axis:
    """A lattice of `width` steps cut into cells of `step` points.

    >>> Axis.cut(10, 5).positions().round(9).tolist()
    [-0.8, -0.2, 0.4, 0.9]
    """

    width: int
    step: int

    @classmethod
    def cut(cls, width: int, cells: int = MOST_CELLS) -> Axis:
        """Cells as many as possible, but at most `cells`."""
        if not (isinstance(cells, int) and cells >= 1):
            raise ParameterError(f"cells must be a whole number of at least 1, got {cells!r}")
        return cls(width, -(-(width + 1) // cells))

    @property
    def cells(self) -> int:
        """How many cells there are."""
        return self.width // self.step + 1

    def positions(self) -> Floats:
        """The middle of each cell, in [-1, 1]."""
        low = np.arange(self.cells, dtype=np.float64) * self.step
        high = np.minimum(low + self.step - 1, self.width)
        return np.asarray((low + high) / self.width - 1)

    def middles(self) -> Whole:
        """A lattice index at the middle of each cell."""
        low = np.arange(self.cells, dtype=np.int64) * self.step
        return np.asarray((low + np.minimum(low + self.step - 1, self.width)) // 2)

    @property
    def reach(self) -> float:
        """How far a point of the column, in [-1, 1], lies from its cell's middle at most."""
        return (self.step - 1) / self.width


def axes_of(columns: Sequence[str], schema: Schema, cells: int = MOST_CELLS) -> tuple[Axis, ...]:
    """The axes of numeric columns."""
    found = []
    for column in columns:
        found.append(Axis.cut(schema.lattice(column).width, cells))
    return tuple(found)


def placed(batch: Mapping[str, npt.ArrayLike], columns: Sequence[str], axes: Sequence[Axis]) -> Cells:
    """The cells of a batch of rows, without the rows that miss a value."""
    indices = np.stack([np.asarray(batch[column], dtype=np.int64) for column in columns], axis=1)
    steps = np.array([axis.step for axis in axes], dtype=np.int64)
    return np.asarray(indices[(indices >= 0).all(axis=1)] // steps)


def factors(values: Floats) -> Whole:
    """Real factors in [-1, 1] as whole numbers in [-UNIT, UNIT]."""
    return np.clip(np.rint(np.asarray(values) * UNIT), -UNIT, UNIT).astype(np.int64)


def products(tables: Sequence[Whole], chosen: Iterable[tuple[int, int]], cells: Cells) -> Whole:
    """For each row the product of factors `tables[column][level]` at its cells, in [-UNIT, UNIT]."""
    value = np.full(len(cells), UNIT, dtype=np.int64)
    for column, level in chosen:
        value *= tables[column][level][cells[:, column]]
        value += HALF
        value >>= 30
    return value
