"""How a user asks for many linear answers at once."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

from sfumato import arguments
from sfumato.errors import ParameterError
from sfumato.queries.grouping import Grouping
from sfumato.queries.linear.crossing import crossing
from sfumato.queries.linear.families import Conditions, Product, part_of, weighted
from sfumato.queries.linear.workload import WorkloadDetails
from sfumato.queries.query import Query

__all__ = ["crosstab", "marginals", "predicates", "prefix", "ranges", "weighted", "workload"]


def workload(by: Grouping | Sequence[Grouping], *parts: object) -> Query:
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
    return Query(WorkloadDetails(tuple(part_of(part) for part in parts)), keys=keys)


def prefix(*keys: Grouping) -> Query:
    """Every count "at most this": all thresholds of a column, or of the product of several."""
    return workload(keys, Product(("prefix",) * len(keys)))


def ranges(*keys: Grouping) -> Query:
    """Every count "between these two": all ranges of a column, or all boxes of several."""
    return workload(keys, Product(("ranges",) * len(keys)))


def marginals(keys: Sequence[Grouping], k: int) -> Query:
    """All tables of `k` of these columns.

    >>> len(marginals(["a", "b", "c"], k=2).to_record()["workload"])
    3
    """
    keys = arguments.several("keys", keys)
    arguments.whole("k", k, 0, len(keys))
    chosen = itertools.combinations(range(len(keys)), k)
    parts = (Product(tuple("each" if i in kept else "total" for i in range(len(keys)))) for kept in chosen)
    return workload(tuple(keys), *parts)


def crosstab(*keys: Grouping | Sequence[Grouping]) -> Query:
    """The counts of every combination of two or more columns' values, with all margins, measured together.

    >>> crosstab("sex", "state").name
    'sex by state'
    """
    alone = keys[0] if len(keys) == 1 and isinstance(keys[0], list | tuple) else keys
    return Query(WorkloadDetails(crossing(len(alone))), keys=alone)  # type: ignore[arg-type]


def predicates(conditions: Sequence[str], by: Grouping | Sequence[Grouping]) -> Query:
    """One count for each condition on the columns of `by`."""
    return workload(by, Conditions(arguments.several("conditions", conditions)))
