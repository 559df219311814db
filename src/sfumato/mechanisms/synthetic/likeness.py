r"""How far rows that have the measured moments and nothing else should stand for rows of the table's marginals.

If the table were as those rows, marginals of them under the same noise would lie as far from them as noise takes them:
so they are measured of those rows as well.  Where the real marginals lie hardly farther away, what they say of the
table's shape beyond its moments is noise, and the points stand for all of it.  Where they lie r times as far, squared
distances are noise and what the points miss, 1 and r^2 - 1: a mixture of both has the least squared error, as far as
one speaks for all, where 1 / r^2 of its rows are points.  All rows here are public.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from itertools import combinations

import numpy as np
import numpy.typing as npt

from sfumato.mechanisms.synthetic.marginals.counting import pair_counts
from sfumato.mechanisms.synthetic.marginals.judging import COARSE, coarse
from sfumato.mechanisms.synthetic.marginals.tree import Pair
from sfumato.queries.encoding import Column

__all__ = ["distances", "standing"]

COARSER = 4  # groups of a column in one of a pair
MOST = 300  # pairs that are compared
HARDLY = 1.25  # times, of columns and of pairs multiplied, at which points are all: chosen on generated tables
TOO_FEW = 0.2  # of the rows: fewer points gain less than a tenth, and blur what rows have of their own
LEAST = 1e-6

Rows = Mapping[str, npt.NDArray[np.int64]]


def standing(alone: Rows, drawn: Rows, again: Rows, columns: Sequence[Column]) -> float:
    """The share of `alone` beside `drawn`, rows of the table's marginals, where `again` are rows of its own."""
    far, near = distances(alone, drawn, columns), distances(alone, again, columns)
    share = (near[0] * near[1] + LEAST**2) / (far[0] * far[1] + LEAST**2)
    return 1.0 if HARDLY * share >= 1 else share if share >= TOO_FEW else 0.0


def distances(one: Rows, other: Rows, columns: Sequence[Column]) -> tuple[float, float]:
    """The mean total variation of all columns, and of pairs of them in fewer groups."""
    fine = [coarse(np.arange(column.size), column) for column in columns]
    pairs = list(combinations(range(len(columns)), 2))
    singles = [(place, place) for place in range(len(columns))]
    some = pairs[:: 1 + len(pairs) // MOST]
    return (
        _variation(one, other, columns, fine, singles),
        _variation(one, other, columns, [groups * (COARSE // COARSER) // COARSE for groups in fine], some),
    )


def _variation(
    one: Rows,
    other: Rows,
    columns: Sequence[Column],
    owners: Sequence[npt.NDArray[np.int64]],
    tables: Sequence[Pair],
) -> float:
    """The mean over the tables."""
    shares = []
    for rows in (one, other):
        counts = pair_counts(partial(_once, rows), columns, owners, tables)
        shares.append({table: held / max(1, int(held.sum())) for table, held in counts.items()})
    return float(np.mean([0.5 * np.abs(shares[0][table] - shares[1][table]).sum() for table in tables]))


def _once(rows: Rows) -> tuple[Rows]:
    """All rows, in one batch."""
    return (rows,)
