"""The least and the greatest answers, for each kind of question whose extremes over all places inside cells are known.

A span has the two ends for each number of the answer, over all placements of the made rows or of these alone.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from sfumato.errors import UnsupportedQuery
from sfumato.queries.extent import OUTSIDE, edges_of
from sfumato.queries.goals import KINDS, UNIT, Batch
from sfumato.queries.grouping import Key, bind_cells
from sfumato.queries.linear.workload import bind_workload, workload_of
from sfumato.queries.predicates import condition_from
from sfumato.queries.query import Query
from sfumato.queries.smooth_mean import bind_smooth
from sfumato.release.extremes import Entries, Span, gather_entries
from sfumato.release.placements import Placed
from sfumato.spaces.schema import Schema

__all__ = ["SCALED", "SPANS", "Asked", "Inside", "keys_of"]

MOST_NUMBERS = 20_000_000  # of a workload's answers times placements

Whole = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]
Reals = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Asked:
    """A question about made rows, with what its answers are by: `keys` and `labels` of each number."""

    query: Query
    rules_schema: Schema
    keys: tuple[Key, ...]
    held: Mapping[str, Sequence[Any]]  # the key columns of the answer

    @property
    def details(self) -> dict[str, Any]:
        """The parts of the question itself, as plain values."""
        return self.query.details.to_record()

    @classmethod
    def of(cls, query: Query, schema: Schema, held: Mapping[str, Sequence[Any]]) -> Asked:
        """The question, with those of its keys that are discovered as the categories that were found."""
        return cls(query, schema, keys_of(query, schema), held)


def keys_of(query: Query, schema: Schema) -> tuple[Key, ...]:
    """The keys of a question, those to be discovered as the categories that were found."""
    records = query.to_record().get("by", ())
    return tuple(
        Key(column, schema.space(column).labels or ()) if "discovered" in record else bind_cells([one], schema).keys[0]
        for one, column, record in zip(query.keys, query.key_columns, records, strict=True)
    )


@dataclass(frozen=True)
class Inside:
    """The placements of made rows, as a question needs them."""

    asked: Asked
    placed: tuple[Placed, ...]

    @property
    def schema(self) -> Schema:
        """The schema of the made rows, over texts and cells that were found."""
        return self.asked.rules_schema

    @cached_property
    def _conditions(self) -> list[Flags]:
        condition = self.asked.query.bound_condition(self.schema)
        return [part.holds(condition) for part in self.placed]

    @cached_property
    def _codes(self) -> list[Whole]:
        """The cell of each placement by all keys, -1 where it has none or the condition does not hold."""
        return [
            np.where(held, _code(part, self.asked.keys, self.schema), -1)
            for part, held in zip(self.placed, self._conditions, strict=True)
        ]

    def each(self, make: Callable[[Placed], npt.NDArray[Any]]) -> list[npt.NDArray[Any]]:
        """What `make` tells of each part."""
        return [make(part) for part in self.placed]

    def values(self, name: str | None) -> list[Reals]:
        """The numbers of a column; ones without a name."""
        if name is None:
            return [np.ones(part.ways * len(part.rows)) for part in self.placed]
        return [part.values(name) for part in self.placed]

    @property
    def groups(self) -> int:
        """How many cells the keys have."""
        return int(np.prod([len(key.labels) for key in self.asked.keys], dtype=np.int64))

    def entries(self, present: Sequence[Flags], made_alone: bool) -> Entries:
        """The placements in cells, of those that are `present`."""
        codes = {id(part): np.where(there, code, -1) for part, code, there in
                 zip(self.placed, self._codes, present, strict=True)}  # fmt: skip
        return gather_entries(self.placed, self.groups, lambda part: codes[id(part)], made_alone)


def _code(placed: Placed, keys: Sequence[Key], schema: Schema) -> Whole:
    """The cell of each placement, in row-major order of the keys; -1 where one has none."""
    code = np.zeros(placed.ways * len(placed.rows), dtype=np.int64)
    there = np.ones(len(code), dtype=bool)
    for key in keys:
        held = placed.column(key.column)
        place = held
        if key.starts is not None:
            place = np.searchsorted(np.array(key.starts), held + schema.lattice(key.column).low, side="right") - 1
        there &= (held >= 0) & (place >= 0) & (place < len(key.labels))
        code = code * len(key.labels) + place
    return np.where(there, code, -1)


def _rows_of(inside: Inside, span: Span, keys: Sequence[Key] | None = None) -> Span:
    """The span of each group, in the order of the answer's rows."""
    keys = inside.asked.keys if keys is None else keys
    if not keys:
        return span
    held, code = inside.asked.held, np.zeros(0, dtype=np.int64)
    for place, key in enumerate(keys):
        labels = {label: at for at, label in enumerate(key.labels)}
        shown = held.get(key.column)
        if shown is None or any(label not in labels for label in shown):
            raise UnsupportedQuery("the answer has other groups")
        own = np.array([labels[label] for label in shown], dtype=np.int64)
        code = own if not place else code * len(key.labels) + own
    return span[0][code], span[1][code]


def _present(*numbers: Sequence[Reals]) -> list[Flags]:
    """Where all of these are numbers."""
    return [~np.isnan(np.stack(parts)).any(axis=0) for parts in zip(*numbers, strict=True)]


def _filled(numbers: Sequence[Reals]) -> list[Reals]:
    return [np.nan_to_num(part) for part in numbers]


def _count(inside: Inside, made_alone: bool) -> Span:
    entries = inside.entries([np.ones(len(code), dtype=bool) for code in inside._codes], made_alone)
    return _rows_of(inside, entries.sums(np.ones(len(entries.chosen))))


def _sum(inside: Inside, made_alone: bool) -> Span:
    numbers, weights = _weighted(inside)
    entries = inside.entries(_present(numbers, weights), made_alone)
    return _rows_of(inside, entries.sums(entries.numbers(_filled(numbers)) * entries.numbers(_filled(weights))))


def _mean(inside: Inside, made_alone: bool) -> Span:
    numbers, weights = _weighted(inside)
    entries = inside.entries(_present(numbers, weights), made_alone)
    weight = entries.numbers(_filled(weights))
    return _rows_of(inside, entries.ratios(entries.numbers(_filled(numbers)) * weight, weight))


def _weighted(inside: Inside) -> tuple[list[Reals], list[Reals]]:
    """The numbers that are added up, and what they weigh."""
    if inside.schema.space(inside.asked.query.column or "").size is not None:
        raise UnsupportedQuery("entries of arrays are asked again")
    return inside.values(inside.asked.query.column), inside.values(inside.asked.details.get("weight"))


def _share(inside: Inside, made_alone: bool) -> Span:
    details = inside.asked.details
    asked = condition_from(details["condition"]).bind(inside.schema)
    weights = inside.values(details.get("weight"))
    entries = inside.entries(_present(weights), made_alone)
    weight = entries.numbers(_filled(weights))
    return _rows_of(
        inside, entries.ratios(entries.numbers(inside.each(lambda part: part.holds(asked))) * weight, weight)
    )


def _ratio(inside: Inside, made_alone: bool) -> Span:
    details = inside.asked.details
    over, under = inside.values(details["numerator"]), inside.values(details["denominator"])
    if any((part[~np.isnan(part)] < 0).any() for part in under):
        raise UnsupportedQuery("ratios over negative numbers are asked again")
    entries = inside.entries(_present(over, under), made_alone)
    return _rows_of(inside, entries.ratios(entries.numbers(_filled(over)), entries.numbers(_filled(under))))


def _variance(inside: Inside, made_alone: bool) -> Span:
    numbers = inside.values(inside.asked.query.column)
    entries = inside.entries(_present(numbers), made_alone)
    return _rows_of(inside, entries.variances(entries.numbers(_filled(numbers))))


def _std(inside: Inside, made_alone: bool) -> Span:
    low, high = _variance(inside, made_alone)
    return np.sqrt(low), np.sqrt(high)


def _correlation(inside: Inside, made_alone: bool) -> Span:
    one, other = (inside.values(name) for name in inside.asked.query.measured)
    entries = inside.entries(_present(one, other), made_alone)
    return _rows_of(inside, entries.correlations(entries.numbers(_filled(one)), entries.numbers(_filled(other))))


def _quantiles(inside: Inside, made_alone: bool) -> Span:
    """One span for each group and probability, as the answer lists them."""
    details = inside.asked.details
    column, held = str(details["column"]), inside.asked.held
    lattice, points = inside.schema.lattice(column), inside.each(lambda part: part.column(column))
    entries = inside.entries([part >= 0 for part in points], made_alone)
    whole = entries.numbers(points).astype(np.int64)
    probabilities = list(dict.fromkeys(held.get("probability", details["probabilities"])))
    spans = {}
    for probability in probabilities:
        low, high = entries.quantiles(whole, probability)
        told = [np.where(np.isnan(end), np.nan, lattice.values(np.nan_to_num(end).astype(np.int64) + lattice.low))
                for end in (low, high)]  # fmt: skip
        spans[probability] = _rows_of(inside, (told[0], told[1]))
    if "probability" not in held:
        return spans[probabilities[0]]
    which = [(place, probability) for place, probability in enumerate(held["probability"])]
    if not inside.asked.keys:
        picked = [(spans[probability][0][0], spans[probability][1][0]) for _, probability in which]
    else:
        picked = [(spans[probability][0][place], spans[probability][1][place]) for place, probability in which]
    return np.array([low for low, _ in picked]), np.array([high for _, high in picked])


def _items(inside: Inside, made_alone: bool) -> Span:
    column, held = inside.asked.query.column, inside.asked.held
    found = []
    for item in dict.fromkeys(held.get(column or "", ())):
        flags = inside.each(lambda part, item=item: part.column(f"{column} has {item}") == 1)  # type: ignore[misc]
        entries = inside.entries(flags, made_alone)
        found.append((item, _rows_of(inside, entries.sums(np.ones(len(entries.chosen))))))
    spans, items = dict(found), list(held.get(column or "", ()))
    places = range(len(items)) if inside.asked.keys else [0] * len(items)
    ends = [(spans[item][0][place], spans[item][1][place]) for item, place in zip(items, places, strict=True)]
    return np.array([low for low, _ in ends]), np.array([high for _, high in ends])


def _smooth(inside: Inside, made_alone: bool) -> Span:
    query, schema = inside.asked.query, inside.schema
    told, question = KINDS[query.kind](query, schema), bind_smooth(query, schema)
    assert told is not None
    batches = [told(Batch({name: part.column(name) for name in query.measured}, schema)) for part in inside.placed]
    entries = inside.entries([present for present, _ in batches], made_alone)
    low, high = (end / question.ends[1] * question.function.range[1] for end in question.ends)
    place = entries.numbers([first / UNIT for _, first in batches])
    return _rows_of(inside, entries.ratios(low + (high - low) * place, np.ones(len(place))))


def _workload(inside: Inside, made_alone: bool) -> Span:
    query = replace(inside.asked.query, condition=None)
    question = bind_workload(query, inside.schema, workload_of(query).parts)
    linear = question.linear
    if linear.rows * linear.cells > MOST_NUMBERS:
        raise UnsupportedQuery("so many answers are asked again")
    matrix = np.vstack([(linear.dense() * question.units[:, None]).T, np.zeros(linear.rows)])  # last: in no cell
    low, high = np.zeros(linear.rows), np.zeros(linear.rows)
    for part, code in zip(inside.placed, inside._codes, strict=True):
        ways = code.reshape(part.ways, -1)[: 1 if made_alone else None]
        step = max(1, MOST_NUMBERS // (linear.rows * len(ways)))
        for start in range(0, ways.shape[1], step):
            given = matrix[ways[:, start : start + step]]
            low += part.weight * given.min(axis=0).sum(axis=0)
            high += part.weight * given.max(axis=0).sum(axis=0)
    return low, high


def _difference(inside: Inside, made_alone: bool) -> Span:
    """Of an answer in one group, less that in another."""
    details = inside.asked.details
    labels = inside.schema.space(details["across"]).labels or ()
    keys = (*inside.asked.keys, Key(details["across"], labels))
    spans = []
    for group in details["between"]:
        count = max(1, *(len(column) for column in inside.asked.held.values())) if inside.asked.held else 1
        held = {**inside.asked.held, details["across"]: [group] * count}
        asked = Query.from_record(details["of"])
        query = replace(inside.asked.query, details=asked.details)
        spans.append(SPANS[asked.kind](replace(inside, asked=Asked(query, inside.schema, keys, held)), made_alone))
    (low, high), (less, more) = spans
    return low - more, high - less


def _extent(inside: Inside, made_alone: bool) -> Span:
    """The ends of an extent are the edges of public cells in which two quantiles lie."""
    details = inside.asked.details
    column, outside = str(details["column"]), float(details.get("outside", OUTSIDE))
    space, points = inside.schema.numbers(column), inside.each(lambda part: part.column(column))
    entries = inside.entries([part >= 0 for part in points], made_alone)
    if inside.asked.keys or entries.groups != 1:
        raise UnsupportedQuery("extents of groups are asked again")
    whole, edges = entries.numbers(points).astype(np.int64), np.array(edges_of(space))
    ends = []
    for probability, side in ((outside / 2, 0), (1 - outside / 2, 1)):
        low, high = (float(end[0]) + space.lattice.low for end in entries.quantiles(whole, probability))
        cells = [
            np.searchsorted(edges, end, side="right") - 1 if not side else np.searchsorted(edges, end)
            for end in (low, high)
        ]
        ends.append([space.lattice.values(edges[np.clip(cell, 0, len(edges) - 1)]) for cell in cells])
    return np.array([end[0] for end in ends]), np.array([end[1] for end in ends])


SPANS: dict[str, Callable[[Inside, bool], Span]] = {
    "count": _count,
    "histogram": _count,
    "workload": _workload,
    "sum": _sum,
    "mean": _mean,
    "share": _share,
    "ratio": _ratio,
    "variance": _variance,
    "std": _std,
    "correlation": _correlation,
    "quantiles": _quantiles,
    "items": _items,
    "gaussian-mixture": _smooth,
    "smooth": _smooth,
    "difference": _difference,
    "extent": _extent,
}
SCALED = ("count", "histogram", "workload", "sum", "items")  # answers that grow with the rows
