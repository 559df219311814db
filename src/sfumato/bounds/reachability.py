"""What rows a schema allows: the bounds need every cell, and every value, to be possible.

A condition that no row meets, a cell beyond the column's range, or a cell that restricts the very column that is
summed would make a better mechanism possible, and a certificate wrong.
"""

from __future__ import annotations

import itertools
import math
from collections import ChainMap
from collections.abc import Iterator
from dataclasses import replace
from functools import lru_cache
from typing import Any, Protocol

import numpy as np

from sfumato.privacy.adjacency import Replace
from sfumato.queries.aggregation import Aggregation, Frequencies, asked_columns
from sfumato.queries.conditions import Between, Contains, Starts, Test
from sfumato.queries.formulas import blank_value, coerced_value, evaluated, formula
from sfumato.queries.grouping import Cells
from sfumato.queries.predicates import Predicate
from sfumato.queries.query import Query
from sfumato.spaces import Space, numeric
from sfumato.spaces.derived import Derived
from sfumato.spaces.schema import Schema

__all__ = [
    "dependence",
    "emptiness",
    "most_rows",
    "obstacle",
    "public_units",
    "restriction",
    "takes_every_row",
    "undecided",
]

MOST_ROWS = 100_000  # kinds of rows that are tried
MOST_VALUES = 20_000  # of a column whose derived ones are tried; the days of fifty years
COMPUTED = "computed"
EVERY = "every row, or none, meets the condition"

Kind = tuple[Any, bool]


class Asked(Protocol):
    """A query bound to a schema over public cells."""

    @property
    def query(self) -> Query: ...

    @property
    def schema(self) -> Schema: ...

    @property
    def cells(self) -> Cells: ...

    @property
    def statistic(self) -> Aggregation | Frequencies: ...


def obstacle(question: Asked) -> str | None:
    """Why some cell cannot take every value, or None if each can."""
    schema, query, asked = question.schema, question.query, question.statistic
    keys = asked.cells.keys
    if asked_columns(asked) & {key.column for key in keys} or set(query.measured) & set(query.key_columns):
        return "the cells restrict the column that is summed"
    found = emptiness(asked.cells, schema) or restriction(query, schema)
    if found is None and query.column is None and query.condition is not None and schema.fixed_size is not None:
        return EVERY if _outcomes(query.condition.bind(schema), schema) == {True} else None
    return found


def emptiness(cells: Cells, schema: Schema) -> str | None:
    """Why some cell can hold no row, or None if each can."""
    return None if all(_reachable(key, schema) for key in cells.keys) else "no row can fall into some of the cells"


def dependence(query: Query, schema: Schema) -> str | None:
    """Why rows cannot have every combination of values in the columns asked about, the condition's apart, or None."""
    asked = replace(query, condition=None).columns
    computed = [name for name in asked if schema.sources(name) != (name,)]
    if not computed:
        return None
    sources = [source for name in asked for source in schema.sources(name)]
    if len(set(sources)) < len(sources) or not all(_onto(name, schema) for name in computed):
        return "derived columns cannot take every value in every row"
    return None


def restriction(query: Query, schema: Schema) -> str | None:
    """Why rows that meet the condition cannot have every value in the columns asked about, or None if they can."""
    bound = query.bound_condition(schema)
    if bound is None:
        return None
    taken = {source for name in replace(query, condition=None).columns for source in schema.sources(name)}
    if any(source in taken for test in bound.tests() for source in schema.sources(test.column)):
        return "the condition restricts the cells or the column that is summed"
    outcomes = _outcomes(bound, schema)
    if outcomes is None:
        return "the condition is too long to see which rows can meet it"
    return EVERY if True not in outcomes else None


def undecided(asked: Predicate, schema: Schema) -> str | None:
    """Why a bound condition does not split rows into two kinds, or None if some meet it and some do not."""
    outcomes = _outcomes(asked, schema)
    if outcomes is None:
        return "the condition is too long to see which rows can meet it"
    return None if outcomes == {True, False} else EVERY


def takes_every_row(question: Asked) -> bool:
    """Whether each row counts in some cell: nothing can be missing, and the condition, if any, always holds."""
    schema, query = question.schema, question.query
    columns = [*(key.column for key in question.cells.keys), *query.measured]
    if not all(schema.space(column).settled for column in columns):
        return False
    return query.condition is None or _outcomes(query.condition.bind(schema), schema) == {True}


def public_units(schema: Schema) -> int | None:
    """How many units every table has, where they are replaced and their number is declared."""
    return schema.size if isinstance(schema.adjacency, Replace) else None


def most_rows(schema: Schema) -> float:
    """The largest number of rows of a table."""
    units = public_units(schema)
    return math.inf if units is None else units * schema.unit.rows


def _reachable(key: Any, schema: Schema) -> bool:
    """Whether each bin of a number meets the column's range."""
    if key.starts is None:
        return True
    lattice = schema.lattice(key.column)
    ends = (*key.starts[1:], lattice.high + 1)
    return all(start <= lattice.high and end > lattice.low for start, end in zip(key.starts, ends, strict=True))


def _outcomes(condition: Predicate, schema: Schema) -> set[bool] | None:
    """What the condition can come to, over every kind of row; None if there are too many kinds."""
    tests = list(condition.tests())
    columns = sorted({test.column for test in tests})
    kinds = []
    for source in sorted({source for column in columns for source in schema.sources(column)}):
        read = [column for column in columns if source in schema.sources(column)]
        if read == [source]:
            kinds.append([{source: kind} for kind in _kinds(source, [t for t in tests if t.column == source], schema)])
        elif all(schema.sources(column) == (source,) for column in read):
            kinds.append(_together(source, read, schema))
        else:
            return None
    if math.prod(len(kind) for kind in kinds) not in range(1, MOST_ROWS + 1):
        return None
    return {_outcome(condition, dict(ChainMap(*parts))) for parts in itertools.product(*kinds)}


def _outcome(condition: Predicate, row: dict[str, Kind]) -> bool:
    return bool(condition.holds(lambda test: np.bool_(test.passes(*row[test.column]))))


def _kinds(column: str, tests: list[Test], schema: Schema) -> list[Kind]:
    """Values of a column that stand for all of them, None for a missing one, and whether nothing stood there."""
    space = schema.space(column)
    other, missing = getattr(space.form, "other", None), getattr(space.form, "missing", None)
    if numeric(space):
        cuts = {c for test in tests if isinstance(test, Between) for c in (test.low, test.high + 1)}
        points = [c for c in {*cuts, space.lattice.low} if space.lattice.low <= c <= space.lattice.high]
        return [*((point, False) for point in points), (missing, True)]
    if space.labels is not None:
        unknown = [] if other is not None else [(None, False)]
        return [*((label, False) for label in space.labels), *unknown, (missing, True)]
    if space.longest is not None:
        return [*((text, False) for text in _texts(tests, space.longest)), (None, True)]
    items = sorted({test.item for test in tests if isinstance(test, Contains)}, key=str)
    size = min(len(items), space.most_items)
    sets = (set(some) for k in range(size + 1) for some in itertools.combinations(items, k))
    return [(None, True), *((one, False) for one in sets)]


def _texts(tests: list[Test], longest: int) -> Iterator[str]:
    """Texts that pass every combination of tests that some text passes."""
    named = {text for test in tests if test.kind == "one of" for text in test.labels}  # type: ignore[union-attr]
    starts = {"", *(test.prefix for test in tests if isinstance(test, Starts))}
    fresh = next(
        chr(code) for code in itertools.count(97) if not any(chr(code) in str(text) for text in named | starts)
    )
    yield from (str(text) for text in named)
    yield from starts
    yield from (start + fresh for start in starts if len(start) < longest)


def _together(source: str, columns: list[str], schema: Schema) -> list[dict[str, Kind]]:
    """What columns that are read from one other can be at once; nothing where that has too many values to try."""
    tables = [_images(schema.held[source], source, schema.origin(column)) for column in columns]  # type: ignore[arg-type]
    rows = {tuple(zip(columns, kinds, strict=True)) for kinds in zip(*tables, strict=True)}
    return [dict(row) for row in rows]


def _onto(column: str, schema: Schema) -> bool:
    """Whether a column that is derived from one other takes each of its values, and can be missing if it may be."""
    space, sources = schema.space(column), schema.sources(column)
    if schema.entry(column) is not None:
        return True
    if len(sources) != 1:
        return False
    images = _images(schema.held[sources[0]], sources[0], schema.origin(column))  # type: ignore[arg-type]
    found = {value for value, _ in images}
    if not space.settled and None not in found:
        return False
    points = len(space.labels) if space.labels is not None else schema.lattice(column).width + 1
    return len(found - {None}) == points


@lru_cache(maxsize=64)
def _images(whole: Space, source: str, computed: Derived | None) -> tuple[Kind, ...]:
    """For each value that a column can hold, and for nothing, what is computed from it; none if they are too many."""
    form = whole.form
    if numeric(whole) and whole.lattice.width < MOST_VALUES:
        values: list[Any] = list(range(whole.lattice.low, whole.lattice.high + 1))
    else:
        values = list(whole.labels or ())
    if not values:
        return ()
    unknown = [(None, False)] if whole.labels is not None and getattr(form, "other", None) is None else []
    kinds = [*((value, False) for value in values), *unknown, (getattr(form, "missing", None), True)]
    if computed is None:
        return tuple(kinds)
    schema = Schema({source: whole}, derived={COMPUTED: computed})
    term = formula(schema, COMPUTED)
    told = (evaluated(term, {source: value}, schema, {source: blank}) for value, blank in kinds)
    return tuple((coerced_value(computed.space, value), blank_value(computed.space, value)) for value in told)
