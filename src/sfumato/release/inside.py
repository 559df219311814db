"""How far an answer may move because nothing is known of where values lie inside the cells they were counted in.

A condition or the edge of a bin that lies inside a cell parts its rows, and so all of these may lie on either side; a
mean, a spread or a quantile moves as its values do.  The answer of the made rows is compared with the least and the
greatest that it can be over all places inside the cells (`placements.py`, `extremes.py`).  An interval is widened by
the difference, on each side by itself, and not at all where no cell is cut and each has one value.  Questions of other
kinds are asked of some such tables again: these are the extremes of answers that grow with the values.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import product
from typing import Any

import numpy as np
import numpy.typing as npt

from sfumato.errors import UnsupportedQuery
from sfumato.queries.predicates import condition_from
from sfumato.queries.query import Query
from sfumato.queries.synthetic import SyntheticRows
from sfumato.release.placements import Cut, find_cuts, place_rows
from sfumato.release.spans import SCALED, SPANS, Asked, Inside, keys_of
from sfumato.spaces.schema import Schema

__all__ = ["Moves", "find_moves"]

TIED = ("quantiles", "extent")  # of which made rows may have several, one of which is the answer
ALIKE = 0.05  # of the answer, or so many rows: what made rows and this arithmetic may differ by

Whole = npt.NDArray[np.int64]
Reals = npt.NDArray[np.float64]
Moves = tuple[Reals, Reals]  # by how much each number may lie below the answer, and above


def find_moves(
    query: Query,
    question: SyntheticRows,
    rows: Mapping[str, Whole],
    keys: Mapping[str, Sequence[Any]],
    estimates: Reals,
    scale: float,
    again: Callable[[Mapping[str, Whole]], Reals | None],
    groups: int | None = None,
) -> Moves | None:
    """By how much each number of an answer may be less or more, in its own unit; None where it cannot move at all.

    `keys`: the key columns of the answer.  `scale`: how many rows of the table a made row stands for.  `again`: answers
    the question about other rows.  `groups`: where levels were not counted one by one, how many groups of them were.
    """
    schema = question.rules.schema
    kind = _subject(query).kind
    cuts = find_cuts(question.levels, question.rules, query.measured, _points(query, schema), groups)
    if not cuts:
        return None
    try:
        if query.kind not in SPANS or query.limits is not None:
            raise UnsupportedQuery("this kind is asked again")
        placed = tuple(place_rows(rows, cuts, question.rules))
        inside = Inside(Asked.of(query, schema, keys), placed)
        (least, most), (first, last) = (SPANS[query.kind](inside, made_alone) for made_alone in (False, True))
        unit = scale if kind in SCALED else 1.0
        own = unit * (first + last) / 2
        if len(own) == len(estimates) and _alike(own, estimates, kind):
            if kind in TIED:
                first = last = estimates
            return _apart(unit * first, unit * least), _apart(unit * most, unit * last)
    except UnsupportedQuery:
        pass
    return _asked_again(rows, cuts, estimates, again)


def _subject(query: Query) -> Query:
    """What is asked, also where the answers of two groups are compared."""
    return Query.from_record(query.details.to_record()["of"]) if query.kind == "difference" else query


def _apart(more: Reals, less: Reals) -> Reals:
    """How far one lies above the other: anything where either is unknown."""
    return np.where(np.isnan(more) | np.isnan(less), np.inf, np.maximum(more - less, 0.0))


def _alike(own: Reals, estimates: Reals, kind: str) -> bool:
    """Whether two answers are the same, but for whole numbers of rows."""
    known = np.isfinite(own) & np.isfinite(estimates)
    room = ALIKE * float(np.max(np.abs(estimates[known]), initial=0)) + (5.0 if kind in SCALED else 0.0)
    return bool((np.abs(own - estimates)[known] <= room).all())


def _points(query: Query, schema: Schema) -> dict[str, list[int]]:
    """For each column of a condition or of keys the lattice indices at which its values are parted."""
    found: dict[str, list[int]] = {}
    asked = _subject(query).details.to_record()
    own = condition_from(asked["condition"]).bind(schema) if "condition" in asked else None
    conditions = [query.bound_condition(schema), own]
    for condition in conditions:
        for test in () if condition is None else condition.tests():
            ends = (test.box() or {}).get(test.column)
            found.setdefault(test.column, []).extend([] if ends is None else [ends[0], ends[1] + 1])
    for key in keys_of(query, schema):
        found.setdefault(key.column, []).extend(key.starts or ())
    return found


def _asked_again(
    rows: Mapping[str, Whole],
    cuts: Sequence[Cut],
    estimates: Reals,
    again: Callable[[Mapping[str, Whole]], Reals | None],
) -> Moves:
    """How far the answer moves in some tables that differ inside cells."""
    found = [estimates]
    for moved in _tables(rows, cuts):
        answer = again({**rows, **moved})
        if answer is not None and len(answer) == len(estimates):
            found.append(answer)
    return estimates - np.min(found, axis=0), np.max(found, axis=0) - estimates


def _tables(rows: Mapping[str, Whole], cuts: Sequence[Cut]) -> Iterator[dict[str, Whole]]:
    """All values at the lower ends of their cells, or the upper ends, toward the middle or away from it."""
    ends = {cut.column.name: cut.ends(rows[cut.column.name]) for cut in cuts}
    if len(cuts) <= 3:
        for sides in product((0, 1), repeat=len(cuts)):
            yield {name: ends[name][side] for name, side in zip(ends, sides, strict=True)}
    else:
        for side in (0, 1):
            yield {name: held[side] for name, held in ends.items()}
    above = {name: rows[name] > np.median(rows[name][rows[name] >= 0]) for name in ends if (rows[name] >= 0).any()}
    for toward in (0, 1):
        yield {name: np.where(above[name] == bool(toward), ends[name][0], ends[name][1]) for name in above}
