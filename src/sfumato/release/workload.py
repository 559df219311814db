"""What a table that was made for a workload says of the queries of that workload, when they are asked of its rows.

Stated of the workload is the worst error of its queries, in rows, all numbers of a query added up: it holds for each of
them with its probability.  A query that was measured itself also lies as near to its noisy answer as the noise is
small.  Either bounds the rows by which a group's numbers are off, and this is told in the unit of the question.  With
numbers (a, b) of a group, off by d rows together: a count is a, and off by d; a sum is a high + b low, and off by d
times the larger of these ends; a share is a / (a + b), and a mean lies so far between the ends.  With (u, v) made, and
g = u + v, a share is off by d / g, since a v - b u = (a - u) b - (b - v) a, which is d (a + b) at most.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from statistics import NormalDist
from typing import Any

import numpy as np
import numpy.typing as npt

from sfumato.answers.answer import failure_of
from sfumato.errors import UnsupportedQuery
from sfumato.queries.goals import UNIT, Batch, Goal
from sfumato.queries.grouping import bind_cells
from sfumato.queries.linear.crossing import MOST_KEYS, crossing
from sfumato.queries.linear.workload import WorkloadDetails
from sfumato.queries.query import Query
from sfumato.queries.synthetic import SyntheticRows
from sfumato.release.free_answers import FreeAnswer
from sfumato.release.prediction import worst
from sfumato.spaces.schema import Schema

__all__ = ["bounded"]

COUNTED = ("count", "histogram", "workload")  # goals that are counts of their cells
CROSSED = tuple(WorkloadDetails(crossing(keys)) for keys in range(2, MOST_KEYS + 1))
ROUNDED = 2 / UNIT  # by so much of the bounds' width the place of a value between them is off

Reals = npt.NDArray[np.float64]
Told = tuple[Reals, Reals, Reals]  # what the made numbers come to, how far a row moves that, and what was rounded


def bounded(
    answer: FreeAnswer,
    query: Query,
    question: SyntheticRows,
    rows: Mapping[str, npt.NDArray[np.int64]],
    method: Mapping[str, Any],
) -> FreeAnswer:
    """The answer; that of a query of the workload reaches no farther than what is known of the workload."""
    same = [place for place, goal in enumerate(question.goals) if _same(goal, query, question.schema)]
    if not same or "workload" not in method["judged"]:
        return answer
    goal, batch, total = question.goals[same[0]], Batch(rows, question.schema), float(method["total"])
    made: Reals = np.reshape(goal.sums(batch) * (total / (UNIT * batch.rows)), (goal.cells.count, -1))
    said, slope, rounded = TOLD[query.kind](query, question.schema, made)
    if len(answer.estimates) != len(said):
        return answer
    aside = np.abs(answer.estimates - said) + rounded  # of the answer itself, which is of whole rows
    own = [one for one in method.get("answered", ()) if one["query"] in same]
    several = query.kind == "share" and not query.keys and query.condition is None  # a and b are off by as much

    def within(level: float) -> Reals:
        beta = failure_of(level)
        apart = np.full(len(said), worst(method, beta) / (2 if several else 1))
        if own:  # which says of cells more than of their sums
            told = _measured(made, own, total, "tables" in method["judged"], beta)
            apart[: len(told)] = np.minimum(apart[: len(told)], told)
        return np.asarray(aside + slope * apart)

    return replace(answer, within=within)


def _same(goal: Goal, query: Query, schema: Schema) -> bool:
    """Whether a query is one of the workload: of the same kind, about the same column, rows and groups."""
    counts = goal.query.kind in COUNTED and query.kind in COUNTED
    if query.kind not in TOLD or not (counts or goal.query.details == query.details) or query.limits is not None:
        return False
    if query.kind == "workload" and query.details not in CROSSED:
        return False
    if set(query.columns) != set(goal.query.columns) or query.bound_condition(schema) != goal.condition:
        return False
    try:
        return bind_cells(query.keys, schema) == goal.cells
    except UnsupportedQuery:  # keys to be discovered, of which no workload has any
        return False


def _measured(made: Reals, own: list[dict[str, Any]], total: float, normal: bool, beta: float) -> Reals:
    """How many rows the numbers of each group are off by, as its least noisy measurement has them."""
    best, many = min(own, key=lambda one: float(one["scale"])), made.shape[1]
    noise = NormalDist().inv_cdf(1 - beta / (2 * many)) if normal else math.log(many / beta)
    apart = np.abs(made - total * np.reshape(best["shares"], made.shape)).sum(axis=1)
    return np.asarray(apart + many * best["scale"] * noise)


def _count(query: Query, schema: Schema, made: Reals) -> Told:
    return made[:, 0], np.ones(len(made)), np.zeros(len(made))


def _cross(query: Query, schema: Schema, made: Reals) -> Told:
    """Cells, and then their sums along some keys: rows that a cell is off by, and another, are added up in both."""
    shape = bind_cells(query.keys, schema).shape
    along = (tuple(at for at, name in enumerate(part.rows) if name != "each") for part in crossing(len(shape)))
    said = np.concatenate([np.ravel(made.reshape(shape).sum(axis=axes)) for axes in along])
    return said, np.ones(len(said)), np.zeros(len(said))


def _sum(query: Query, schema: Schema, made: Reals) -> Told:
    low, high = _ends(query, schema)
    off = (high - low) * ROUNDED
    return made @ np.array([high, low]), np.full(len(made), max(abs(low), abs(high)) + off), off * made.sum(axis=1)


def _mean(query: Query, schema: Schema, made: Reals) -> Told:
    low, high = _ends(query, schema)
    said, slope, _ = _share(query, schema, made)
    return low + (high - low) * said, (high - low) * slope, np.full(len(made), (high - low) * ROUNDED)


def _share(query: Query, schema: Schema, made: Reals) -> Told:
    size = made.sum(axis=1)
    held = np.where(size > 0, size, 1.0)
    return made[:, 0] / held, np.where(size > 0, 1 / held, math.inf), np.zeros(len(made))


def _ends(query: Query, schema: Schema) -> tuple[float, float]:
    lattice = schema.lattice(query.column or "")
    return lattice.low_value, lattice.high_value


TOLD: dict[str, Callable[[Query, Schema, Reals], Told]] = {
    "count": _count,
    "histogram": _count,
    "workload": _cross,
    "sum": _sum,
    "mean": _mean,
    "share": _share,
}
