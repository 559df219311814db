"""From a query and a schema to a bound question; every mistake that is public is found here."""

from __future__ import annotations

from sfumato.errors import UnsupportedQuery
from sfumato.queries.counts import Counts
from sfumato.queries.grouping import Cells, Discovered, Key, bind_cells
from sfumato.queries.keys import Keys
from sfumato.queries.linear.workload import bind_workload
from sfumato.queries.mean import Mean
from sfumato.queries.popular import Popular
from sfumato.queries.quantiles import Quantiles
from sfumato.queries.query import Query
from sfumato.queries.total import Total
from sfumato.queries.variance import Variance
from sfumato.queries.vector import VectorQuestion, numeric_space
from sfumato.schema import Schema

__all__ = ["QUESTIONS", "Question", "bind", "bind_discovered"]

Question = VectorQuestion | Quantiles | Popular | Keys

QUESTIONS: dict[str, type[VectorQuestion] | type[Quantiles] | type[Popular]] = {
    "count": Counts,
    "histogram": Counts,
    "sum": Total,
    "mean": Mean,
    "variance": Variance,
    "quantiles": Quantiles,
    "top": Popular,
}

WIDEST_SQUARED = 2**30  # the square of a wider range, times a row, would not fit in 64 bits


def bind(query: Query, schema: Schema) -> Question:
    """The question that `query` asks of a table with this schema.

    >>> from sfumato.queries.query import mean
    >>> from sfumato.spaces import Interval
    >>> bind(mean("age"), Schema({"age": Interval(0, 120, step=1)})).sensitivity("l1")
    120.0
    """
    if query.column is not None:
        schema.space(query.column)
    if any(isinstance(key, Discovered) for key in query.keys):
        if len(query.keys) > 1:
            raise UnsupportedQuery("discovered(...) must be the only key of its query")
        return Keys(query, schema)
    query.bound_condition(schema)
    if query.details is not None:
        return query.details.bind(query, schema)  # type: ignore[no-any-return]
    if query.kind == "workload":
        return bind_workload(query, schema)
    cells = bind_cells(query.keys, schema)
    if query.kind in ("sum", "mean", "variance", "quantiles"):
        width = numeric_space(query, schema).lattice.width
        if query.kind == "variance" and width > WIDEST_SQUARED:
            raise UnsupportedQuery(
                f"the variance of {query.column!r} needs at most 2^30 steps in its range, got {width}; "
                "declare a larger step"
            )
    return QUESTIONS[query.kind](query, schema, cells)


def bind_discovered(question: Keys, keys: tuple[str, ...]) -> VectorQuestion | Quantiles | Popular:
    """The question over the keys that were discovered, which are public by then."""
    cells = Cells((Key(question.column, keys),))
    return QUESTIONS[question.query.kind](question.query, question.schema, cells)
