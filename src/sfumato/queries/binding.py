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

__all__ = ["QUESTIONS", "STAND_INS", "Question", "bind", "bind_discovered"]

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

STAND_INS = ("", " ")  # two keys stand for the unknown number of them, wherever only public quantities count
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
    query.bound_condition(schema)
    if any(isinstance(key, Discovered) for key in query.keys):
        return _bind_keys(query, schema)
    if query.details is not None:
        return query.details.bind(query, schema)  # type: ignore[no-any-return]
    if query.kind == "workload":
        return bind_workload(query, schema)
    return _over(query, schema, bind_cells(query.keys, schema))


def bind_discovered(question: Keys, keys: tuple[str, ...]) -> VectorQuestion | Quantiles | Popular:
    """The question over the keys that were discovered, which are public by then."""
    return _over(question.query, question.schema, Cells((Key(question.column, keys),)))


def _bind_keys(query: Query, schema: Schema) -> Keys:
    """The discovery of keys, once the question over them is known to be one that can be asked."""
    if len(query.keys) > 1:
        raise UnsupportedQuery("discovered(...) must be the only key of its query")
    if query.kind not in QUESTIONS:
        raise UnsupportedQuery(
            f"a {query.kind} query takes no discovered keys, since its cells must be public; "
            f"ask one of {', '.join(QUESTIONS)} by discovered(...)"
        )
    question = Keys(query, schema)
    bind_discovered(question, STAND_INS)
    return question


def _over(query: Query, schema: Schema, cells: Cells) -> VectorQuestion | Quantiles | Popular:
    """The question over bound cells."""
    if query.kind not in QUESTIONS:
        raise UnsupportedQuery(
            f"a query of kind {query.kind!r:.60} is made by its own function, such as count() or mean()"
        )
    if query.kind in ("sum", "mean", "variance", "quantiles"):
        width = numeric_space(query, schema).lattice.width
        if query.kind == "variance" and width > WIDEST_SQUARED:
            raise UnsupportedQuery(
                f"the variance of {query.column!r} needs at most 2^30 steps in its range, got {width}; "
                "declare a larger step"
            )
    return QUESTIONS[query.kind](query, schema, cells)
