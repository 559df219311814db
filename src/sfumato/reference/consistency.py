"""Answers made consistent with one table of counts, at no cost: functions of released answers alone."""

from __future__ import annotations

import numpy.typing as npt

from sfumato.queries import Query
from sfumato.queries.linear import consistency
from sfumato.queries.linear.consistency import Consistent
from sfumato.queries.linear.matrix import Linear
from sfumato.queries.linear.workload import workload_of
from sfumato.spaces.schema import Schema

__all__ = ["least_squares", "maximum_entropy", "nonnegative"]


def least_squares(query: Query, schema: Schema, answers: npt.ArrayLike) -> Consistent:
    """The counts of least norm that fit the released answers to a workload best."""
    return consistency.least_squares(_linear(query, schema), answers)


def nonnegative(query: Query, schema: Schema, answers: npt.ArrayLike) -> Consistent:
    """The counts that are not negative and fit the released answers to a workload best."""
    return consistency.nonnegative(_linear(query, schema), answers)


def maximum_entropy(
    query: Query, schema: Schema, answers: npt.ArrayLike, *, size: float, deviation: float
) -> Consistent:
    """The flattest counts of a given size that fit the answers within their deviation: for what was not asked."""
    return consistency.maximum_entropy(_linear(query, schema), answers, size=size, deviation=deviation)


def _linear(query: Query, schema: Schema) -> Linear:
    return workload_of(query).bind(query, schema).linear
