"""What is asked of a table, and how far neighbors can move the answer."""

from sfumato.queries.binding import Question, bind
from sfumato.queries.grouping import bins, discovered
from sfumato.queries.predicates import col
from sfumato.queries.query import (
    Query,
    count,
    histogram,
    mean,
    median,
    most_popular,
    quantiles,
    sum,
    top,
    variance,
)

__all__ = [
    "Query",
    "Question",
    "bind",
    "bins",
    "col",
    "count",
    "discovered",
    "histogram",
    "mean",
    "median",
    "most_popular",
    "quantiles",
    "sum",
    "top",
    "variance",
]
