"""A metric on finitely many values, declared as the table of their distances."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sfumato import arguments
from sfumato.errors import ParameterError

__all__ = ["Distances", "checked_distances"]

Distances = tuple[tuple[float, ...], ...]

ROUNDING = 1e-9  # of a distance, by which a sum of two may fall short of it


def checked_distances(given: object, values: Sequence[object]) -> Distances:
    """The table, if it is that of a metric on these values.

    >>> checked_distances([[0, 1], [1, 0]], ["a", "b"])
    ((0.0, 1.0), (1.0, 0.0))
    """
    rows = [arguments.several("each row of distances", row) for row in arguments.several("distances", given)]
    if len(values) < 2 or len(rows) != len(values) or any(len(row) != len(values) for row in rows):
        raise ParameterError(
            f"distances must have a row for each of at least two values, and in it a distance from each: {len(values)} "
            f"rows of {len(values)} numbers, in the order {', '.join(map(repr, values)):.200}"
        )
    table = np.array([[arguments.number("each of distances", one) for one in row] for row in rows])
    apart = table + np.eye(len(values))
    if np.diagonal(table).any() or (apart <= 0).any() or (table != table.T).any():
        raise ParameterError(
            "distances must be 0 from a value to itself, above 0 between any two, and the same both ways"
        )
    for middle, value in enumerate(values):
        around = table[:, [middle]] + table[[middle], :]
        if (table > around * (1 + ROUNDING)).any():
            raise ParameterError(
                f"distances must be a metric: two values are further apart than going by {value!r:.60}; shorten that "
                "distance, or lengthen those to it"
            )
    return tuple(map(tuple, table.tolist()))
