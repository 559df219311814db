"""From a query and a schema to a bound question; every mistake that is public is found here."""

from __future__ import annotations

from sfumato.errors import SchemaError, UnsupportedQuery
from sfumato.privacy.adjacency import Person
from sfumato.queries.details import Grouped, a_kind
from sfumato.queries.difference import Difference, DifferenceDetails
from sfumato.queries.grouping import Discovered, bind_cells
from sfumato.queries.keys import Keys
from sfumato.queries.kinds import grouped
from sfumato.queries.limits import PerPerson
from sfumato.queries.query import Query
from sfumato.queries.question import Question
from sfumato.queries.rows_per_person import RowsPerPersonDetails
from sfumato.queries.total import Total
from sfumato.queries.vector import VectorQuestion
from sfumato.spaces.schema import Schema

__all__ = ["bind", "limited"]

MOST_STEPS = 2**62  # a person's total, counted from its lower end, must fit in 64 bits


def bind(query: Query, schema: Schema) -> Question:
    """The question that `query` asks of a table with this schema.

    >>> from sfumato.queries import mean
    >>> from sfumato.spaces import Interval
    >>> bind(mean("age"), Schema({"age": Interval(0, 120, step=1)})).sensitivity("l1")
    120.0
    """
    if query.column is not None:
        schema.space(query.column)
    query.bound_condition(schema)
    schema = limited(query, schema)
    if _is_discovering(query):
        return _bind_keys(query, schema)
    question = query.details.bind(query, schema)
    if query.limits is not None:
        _must_take(query.limits, question)
    return question


def _must_take(limits: PerPerson, question: Question) -> None:
    """Refuse limits that are not those of this kind of question."""
    kind = question.query.kind
    summed = isinstance(question, VectorQuestion) and question.measures  # what the engine adds up by cell
    if limits.rows is None and not summed:
        raise UnsupportedQuery(f"{a_kind(kind)} query takes no each=, groups= or total= of per_person; give rows=")
    question = question.inner if isinstance(question, Difference) else question
    if limits.total is not None and not (isinstance(question, Total) and question.is_plain):
        raise UnsupportedQuery(
            f"total= of per_person is for sums of one column; give {a_kind(kind)} query each= or rows="
        )
    if limits.total is not None and isinstance(question, Total) and question.ends[1] - question.ends[0] >= MOST_STEPS:
        raise UnsupportedQuery(
            "the ends of a person's total lie 2^62 steps or more of the column apart; bring them nearer"
        )


def limited(query: Query, schema: Schema) -> Schema:
    """The schema as the question sees it: with its own limits on what counts of one person."""
    if isinstance(query.details, RowsPerPersonDetails):
        return query.details.within(schema)
    if query.counts_people and not isinstance(schema.unit, Person):
        raise UnsupportedQuery(
            "count_people is for tables with several rows a person, and here each row is one: count() counts them; "
            "declare unit= and rows= where people have several"
        )
    if query.limits is not None:
        vector = isinstance(query.details, Grouped) and not _is_discovering(query)
        compared = 2 if isinstance(query.details, DifferenceDetails) else 1  # groups of each cell
        return query.limits.within(schema, compared * bind_cells(query.keys, schema).count if vector else None)
    if isinstance(schema.unit, Person) and schema.unit.groups is not None:
        raise SchemaError("the unit of a schema is Person(column, rows); groups and totals belong to a question")
    return schema


def _is_discovering(query: Query) -> bool:
    return any(isinstance(key, Discovered) for key in query.keys)


def _bind_keys(query: Query, schema: Schema) -> Keys:
    """The discovery of keys, once the question over them is known to be one that can be asked."""
    if sum(isinstance(key, Discovered) for key in query.keys) > 1:
        raise UnsupportedQuery("one key of a query may be discovered(...); the others must be public")
    if len(set(query.key_columns)) != len(query.keys):
        raise SchemaError("a column appears twice in the grouping; name each once")
    if not isinstance(query.details, Grouped):
        raise UnsupportedQuery(
            f"{a_kind(query.kind)} query takes no discovered keys, since its cells must be public; "
            f"ask one of {', '.join(grouped())} by discovered(...)"
        )
    question = Keys(query, schema)
    question.over()  # refuses what cannot be asked
    return question
