"""Counts, histograms and means from perturbed records: unbiased, with half-widths that depend on nothing secret."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from sfumato.errors import UnsupportedQuery
from sfumato.mechanisms.sanitized.blocks import Block
from sfumato.mechanisms.sanitized.categories import Responses
from sfumato.mechanisms.sanitized.numbers import Noised
from sfumato.mechanisms.sanitized.part import Floats, Integers
from sfumato.mechanisms.sanitized.plan import AnyPart, Sanitization
from sfumato.mechanisms.sanitized.readings import condition_reading
from sfumato.mechanisms.sanitized.tails import bounded_sum, noise_sum
from sfumato.queries import Query, bind
from sfumato.queries.counts import Counts
from sfumato.queries.grouping import Cells
from sfumato.queries.predicates import Between, Both, OneOf, Predicate
from sfumato.queries.vector import per_cell
from sfumato.spaces import numeric

__all__ = ["Estimates", "estimates"]

Estimates = tuple[Floats, Floats, dict[str, list[Any]]]
"""Estimates, half-widths, and the columns of keys."""


def estimates(
    randomizer: Sanitization, records: Mapping[str, Integers], query: Query, beta: float, joint: bool = False
) -> Estimates:
    """The estimate of each cell; the half-width misses the true (coerced) answer with probability at most beta."""
    question: Any = bind(query, randomizer.schema)
    size = randomizer.schema.fixed_size or 0
    plain = not query.keys and query.condition is None and query.columns == (query.column,)
    if query.kind == "mean" and plain:
        value, half = _mean(randomizer, records, query.column or "", size, beta)
        return np.array([value]), np.array([half]), {}
    if isinstance(question, Counts):
        each = per_cell(beta, question.cells.count or 1, joint)
        condition = query.bound_condition(randomizer.schema)
        values, halves = _counts(randomizer, records, question.cells, condition, size, each)
        return values, halves, question.cells.columns()
    raise UnsupportedQuery(
        f"a sanitized table estimates counts, histograms and plain means, not {query.name!r}; compute it from the "
        "published rows (biased by the noise), or ask the session"
    )


def _mean(
    randomizer: Sanitization, records: Mapping[str, Integers], column: str, size: int, beta: float
) -> tuple[float, float]:
    part = randomizer.part(column)
    noisy = records[column]
    if isinstance(part, Responses) and numeric(part.space):
        wanted = np.asarray(part.space.lattice.values(np.arange(part.size) + part.space.lattice.low))
        read, low, high, variance = part.reading(wanted)
        return float(read(noisy).sum()) / size, bounded_sum(size, low, high, beta, variance) / size
    if isinstance(part, Noised):
        lattice = part.space.lattice
    elif isinstance(part, Block) and part.waves is None:
        lattice = part.spaces[part.columns.index(column)].lattice
    else:
        raise UnsupportedQuery(f"the mean of {column!r} cannot be read from this table; ask the session")
    step = float(lattice.step)
    return step * (float(noisy.sum()) / size + lattice.low), step * noise_sum(part.noise, size, beta) / size


def _counts(
    randomizer: Sanitization, records: Mapping[str, Integers], cells: Cells, condition: Predicate | None, size: int,
    beta: float,
) -> tuple[Floats, Floats]:  # fmt: skip
    parts: dict[str, AnyPart] = {name: part for part in randomizer.parts for name in part.columns}
    values, halves = np.full(cells.count, float(size)), np.zeros(cells.count)
    for number, place in enumerate(np.ndindex(*cells.shape)):
        wanted = _cell_condition(cells, place, randomizer.schema)
        both = wanted if condition is None else condition if wanted is None else Both(wanted, condition)
        if both is not None:
            found, low, high, variance = condition_reading(both, parts, records)
            values[number], halves[number] = found.sum(), bounded_sum(size, low, high, beta, variance)
    return values, halves


def _cell_condition(cells: Cells, place: tuple[int, ...], schema: Any) -> Predicate | None:
    """The bound condition of being in one cell."""
    wanted: Predicate | None = None
    for key, at in zip(cells.keys, place, strict=True):
        one: Predicate
        if key.starts is None:
            one = OneOf(key.column, (key.labels[at],))
        else:
            last = schema.lattice(key.column).high
            end = key.starts[at + 1] - 1 if at + 1 < len(key.starts) else last
            one = Between(key.column, key.starts[at], end)
        wanted = one if wanted is None else Both(wanted, one)
    return wanted
