"""A synthetic table as grid points with weights: what the trigonometric mechanism publishes, and bounds on queries."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from sfumato.queries.features import axes_of
from sfumato.queries.query import Query
from sfumato.queries.smooth import evaluate
from sfumato.randomness import Rng
from sfumato.release.tables import TableRelease
from sfumato.schema import Schema
from sfumato.statements import ErrorStatement, level_of
from sfumato.synthesis.chebyshev import Chebyshev, degrees_below
from sfumato.synthesis.distribution import GridDistribution, query_bound
from sfumato.synthesis.trigonometric import Trigonometric

__all__ = ["WEIGHT", "WeightedTable", "described", "mechanism_from"]

WEIGHT = "sfumato_weight"  # the column of weights, which add up to 1


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class WeightedTable(TableRelease):
    """Points of some numeric columns with weights; averages are weighted ones.  What is computed from it is free."""

    FORMAT: ClassVar[str] = "sfumato-weighted/1"

    @property
    def mechanism(self) -> Trigonometric:
        """The mechanism, rebuilt from its public parameters."""
        return mechanism_from(self.schema, self.method)

    @property
    def distribution(self) -> GridDistribution:
        """The points by their cells."""
        mechanism = self.mechanism
        places = []
        for name, axis in zip(mechanism.columns, mechanism.features.axes, strict=True):
            lattice: Any = self.schema.space(name).lattice  # type: ignore[attr-defined]
            values = self.rows.column(name).to_pylist()
            places.append([(lattice.index(value) - lattice.low) // axis.step for value in values])
        weights = np.array(self.rows.column(WEIGHT))
        cells = np.array(places, dtype=np.int64).T.reshape(-1, len(places))
        return GridDistribution(self.schema, mechanism.columns, mechanism.features.axes, cells, weights)

    def evaluate(self, query: Query) -> float:
        """The mean of a smooth query under the distribution."""
        return evaluate(query, self.distribution.values(), self.schema, np.array(self.rows.column(WEIGHT)))

    def bound(self, query: Query, beta: float = 0.05) -> float:
        """How far `evaluate` can be from the mean over the table, but for `beta`; for all smooth queries at once."""
        return query_bound(self.mechanism, self.method["output"], self.distribution, query, beta)

    def draw(self, rows: int, rng: Rng) -> Any:
        """Independent rows of the distribution, as an Arrow table."""
        import pyarrow as pa

        return pa.table(self.distribution.draw(rows, rng))

    def accuracy(self) -> str:
        """The error of the features that smooth queries are answered from, in words."""
        return self.errors(0.05).words()

    def errors(self, beta: float) -> ErrorStatement:
        """The same as a value."""
        mechanism = self.mechanism
        return feature_error(mechanism, mechanism.means(self.method["output"])[1], beta)


def feature_error(mechanism: Trigonometric, rows: float, beta: float) -> ErrorStatement:
    """How far all feature means lie from those of the table, whose number of rows was released as `rows`.

    With z the error of a sum, v that of a private number of rows and m the mean, |m| <= 1, the error of m is
    (z - v m) / rows: at most twice that of a sum.
    """
    reach = mechanism.error(beta) * (2 if mechanism.counted else 1) / rows
    return ErrorStatement(
        "features", reach, level_of(beta), given=(f"{mechanism.features.count} features",),
        besides=("made for smooth queries: bound(query) states the error of one",),
    )  # fmt: skip


def described(mechanism: Trigonometric) -> dict[str, Any]:
    """The mechanism's public parameters, as plain values."""
    return {
        "type": "trigonometric",
        "columns": list(mechanism.columns),
        "order": max(max(degree) for degree in mechanism.features.degrees) + 1,
        "cells": [axis.cells for axis in mechanism.features.axes],
        "steps": [axis.step for axis in mechanism.features.axes],
        "body": mechanism.body,
        "scale": mechanism.scale,
        "epsilon": mechanism.epsilon,
    }


def mechanism_from(schema: Schema, record: dict[str, Any]) -> Trigonometric:
    """The mechanism that `described` wrote."""
    columns = tuple(record["columns"])
    axes = tuple(axes_of((name,), schema, cells)[0] for name, cells in zip(columns, record["cells"], strict=True))
    features = Chebyshev(axes, degrees_below(len(columns), record["order"]))
    return Trigonometric(schema, columns, features, record["body"], record["scale"], record["epsilon"])
