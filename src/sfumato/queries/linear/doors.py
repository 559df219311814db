"""How a user asks for many linear answers at once."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

from sfumato import arguments
from sfumato.errors import ParameterError
from sfumato.queries.grouping import Grouping
from sfumato.queries.linear.families import Conditions, Product, part_of, weighted
from sfumato.queries.query import Query

__all__ = ["marginals", "predicates", "prefix", "ranges", "weighted", "workload"]


def workload(by: Grouping | Sequence[Grouping], *parts: Any) -> Query:
    """Many linear answers over the cells of `by`: names for each key, matrices, or conditions.

    A part is a name or a list of names (`each`, `total`, `prefix`, `ranges`, one for each key), a matrix with a
    column for each cell, a list of conditions, or `weighted(part, weight)`.

    >>> workload(["age", "sex"], ["prefix", "each"]).name
    'workload over age, sex'
    """
    keys = (by,) if isinstance(by, str) or not isinstance(by, Sequence) else tuple(by)
    if not keys:
        raise ParameterError("by is empty; name the columns whose cells the workload is about")
    if not parts:
        raise ParameterError('a workload needs at least one part, such as ["prefix"] or a matrix')
    return Query("workload", keys=keys, workload=tuple(part_of(part) for part in parts))


def prefix(*keys: Grouping) -> Query:
    """Every count "at most this": all thresholds of a column, or of the product of several."""
    return workload(keys, Product(("prefix",) * len(keys)))


def ranges(*keys: Grouping) -> Query:
    """Every count "between these two": all ranges of a column, or all boxes of several."""
    return workload(keys, Product(("ranges",) * len(keys)))


def marginals(keys: Sequence[Grouping], k: int) -> Query:
    """All tables of `k` of these columns.

    >>> len(marginals(["a", "b", "c"], k=2).workload)
    3
    """
    keys = arguments.several("keys", keys)
    arguments.whole("k", k, 0, len(keys))
    chosen = itertools.combinations(range(len(keys)), k)
    parts = (Product(tuple("each" if i in kept else "total" for i in range(len(keys)))) for kept in chosen)
    return workload(tuple(keys), *parts)


def predicates(conditions: Sequence[str], by: Grouping | Sequence[Grouping]) -> Query:
    """One count for each condition on the columns of `by`."""
    return workload(by, Conditions(arguments.several("conditions", conditions)))
