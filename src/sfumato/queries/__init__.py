"""What is asked of a table, and how far neighbors can move the answer."""

from sfumato.queries.binding import bind
from sfumato.queries.correlation import correlation
from sfumato.queries.counts import count, count_people, histogram
from sfumato.queries.deviation import std
from sfumato.queries.difference import difference
from sfumato.queries.grouping import bins, discovered
from sfumato.queries.items import items
from sfumato.queries.mean import mean
from sfumato.queries.popular import most_popular, top
from sfumato.queries.predicates import col
from sfumato.queries.quantiles import median, quantiles
from sfumato.queries.query import Query
from sfumato.queries.question import Question
from sfumato.queries.quotient import ratio
from sfumato.queries.share import share
from sfumato.queries.total import sum
from sfumato.queries.variance import variance

__all__ = [
    "Query",
    "Question",
    "bind",
    "bins",
    "col",
    "correlation",
    "count",
    "count_people",
    "difference",
    "discovered",
    "histogram",
    "items",
    "mean",
    "median",
    "most_popular",
    "quantiles",
    "ratio",
    "share",
    "std",
    "sum",
    "top",
    "variance",
]
