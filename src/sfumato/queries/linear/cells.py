"""Conditions as rows over cells: a condition must hold on all of a cell or on none of it."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from sfumato.errors import SchemaError, UnsupportedQuery
from sfumato.queries.conditions import Between, OneOf, Test
from sfumato.queries.grouping import Cells, Key
from sfumato.queries.linear.factors import Rows
from sfumato.queries.parsing import condition
from sfumato.queries.predicates import Predicate
from sfumato.spaces.schema import Schema

__all__ = ["rows_of"]

Flags = npt.NDArray[np.bool_]
MOST_ENTRIES = 20_000_000


def rows_of(conditions: tuple[str, ...], cells: Cells, schema: Schema) -> Rows:
    """One row of zeros and ones for each condition."""
    if len(conditions) * cells.count > MOST_ENTRIES:
        raise UnsupportedQuery(f"{len(conditions)} conditions on {cells.count} cells are too many; use coarser keys")
    bound = [condition(text).bind(schema) for text in conditions]
    flags = [_holds(one, cells, schema, text).reshape(-1) for one, text in zip(bound, conditions, strict=True)]
    if not any(row.any() for row in flags):
        raise SchemaError("none of the conditions holds on any cell; the answers would be 0 without any data")
    return Rows(tuple(tuple(row.astype(int).tolist()) for row in flags))


def _holds(one: Predicate, cells: Cells, schema: Schema, text: str) -> Flags:
    return np.asarray(one.holds(lambda test: _flags(test, cells, schema, text)))


def _flags(one: Test, cells: Cells, schema: Schema, text: str) -> Flags:
    for axis, key in enumerate(cells.keys):
        if key.column == one.column:
            flags = _along(one, key, schema, text)
            spread = [1] * len(cells.shape)
            spread[axis] = len(flags)
            return np.broadcast_to(flags.reshape(spread), cells.shape)
    raise SchemaError(f"the condition {text!r} speaks of a column that is not among the workload's keys; add it to by")


def _along(one: Test, key: Key, schema: Schema, text: str) -> Flags:
    if isinstance(one, OneOf) and key.starts is None:
        return np.array([label in one.labels for label in key.labels])
    if isinstance(one, Between) and key.starts is not None:
        top = schema.lattice(key.column).high
        first = np.array(key.starts)
        last = np.append(first[1:] - 1, top)
        inside = (first >= one.low) & (last <= one.high)
        outside = (last < one.low) | (first > one.high)
        if not (inside | outside).all():
            raise SchemaError(f"the condition {text!r} cuts a bin of {key.column!r}; cut the bins where it changes")
        return np.asarray(inside)
    raise UnsupportedQuery(f"the condition {text!r} cannot be decided on cells of {key.column!r}")
