r"""The covariance of functional data: second moments of whole coefficients, their means, and the count, in one vector.

With coefficients a in a ball of R steps a row adds trunc(a_i a_j / R), i <= j, and a: two vectors of norm at most R.
Proof: docs/proofs/functions-means.md.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np

from sfumato.answers.curves import Covariance, Curve, Expansion, Floats, Surface
from sfumato.privacy.adjacency import Replace
from sfumato.queries.functions.means import CurvesDetails, CurvesQuestion, OfCurves, curves_of
from sfumato.queries.functions.question import Whole
from sfumato.queries.query import Query
from sfumato.spaces.schema import Schema

__all__ = ["CovarianceCurve", "CovarianceDetails", "covariance"]

BITS = 15  # of the radius in steps; products have twice as many before they are divided
DEFAULT_WAVES = 5


@dataclass(frozen=True, slots=True)
class CovarianceDetails(OfCurves):
    """The covariance of curves."""

    kind: ClassVar[str] = "covariance"
    words: ClassVar[str] = "covariance"

    @classmethod
    def from_record(cls, fields: Mapping[str, Any]) -> Self:
        """The details that `to_record`, or a plan, describes; fewer waves than for a mean, unless they are given."""
        return cls(CurvesDetails.from_record(cls.kind, {"waves": DEFAULT_WAVES, **fields}))

    def question(self, query: Query, schema: Schema) -> CovarianceCurve:
        """Second moments."""
        return CovarianceCurve(query, schema)


class CovarianceCurve(CurvesQuestion):
    """Second moments about the center; `curve` shows them, `less_means` takes the means off."""

    bits = BITS

    @property
    def kind(self) -> str:
        """What `curve` shows."""
        return "second moment"

    @property
    def labels(self) -> tuple[str, ...]:
        """Two points of a curve."""
        return ("point", "other point")

    @cached_property
    def reading(self) -> Surface:
        """Symmetric surfaces on the waves."""
        return Surface(self.curves.axis)

    @property
    def hidden(self) -> int:
        """The means."""
        return self.curves.axis.size

    @cached_property
    def worth(self) -> Floats:
        """A step of a product."""
        return np.full(self.reading.size, self.projection.unit**2 * self.projection.radius)

    def sensitivity(self, norm: str) -> float:
        """Products and means of one row; or of two, where products of vectors in the ball are sqrt(2) radii apart."""
        radius, weight = float(self.projection.radius), float(self.count_weight)
        pairs, means = self.reading.size, self.hidden
        if norm == "l2":
            alone = math.hypot(radius, radius, weight)
            apart = math.hypot(math.sqrt(2) * radius + 2 * math.sqrt(pairs), 2 * radius)
        elif norm == "l1":
            alone = (math.sqrt(pairs) + math.sqrt(means)) * radius + weight
            apart = 2 * alone
        else:
            alone, apart = radius, 2 * radius
        one = max(alone, apart) if isinstance(self.schema.adjacency, Replace) else alone
        return self.schema.unit.rows * one * (1 + 1e-12)

    def vector(self, batches: Iterable[Mapping[str, Whole]]) -> Whole:
        """The exact, secret sums over batches of coerced rows."""
        first, second = np.triu_indices(self.hidden)
        products, means = np.zeros(self.reading.size, dtype=np.int64), np.zeros(self.hidden, dtype=np.int64)
        count = 0
        for batch in batches:
            rows = self.projection.rows(batch)
            product = rows[:, first] * rows[:, second]
            products += (np.sign(product) * (np.abs(product) // self.projection.radius)).sum(axis=0)
            means, count = means + rows.sum(axis=0), count + len(rows)
        tail = [self.count_weight * count] if self.count_weight else []
        return np.concatenate([products, means, np.array(tail, dtype=np.int64)])

    def less_means(self, output: Whole, curve: Curve) -> Covariance:
        """The covariance with its bands: second moments less the products of the means."""
        numbers = np.asarray(output, dtype=np.float64)
        units = np.full(self.hidden, self.projection.unit)
        sums = numbers[self.reading.size : self.reading.size + self.hidden] * units
        reading = Expansion((self.curves.axis,), None, self.projection.center)
        return Covariance(curve, Curve(self.name, "mean curve", reading, sums, units, curve.noise, curve.divisor))


def covariance(
    columns: str | Sequence[str],
    *,
    radius: float,
    center: float = 0.0,
    points: Sequence[float] | None = None,
    waves: int | Sequence[int] = DEFAULT_WAVES,
    period: float | None = None,
) -> Query:
    """The covariance of curves whose points are columns.

    >>> covariance(["h0", "h1", "h2", "h3"], radius=2.0, waves=1, period=4).name
    'covariance of h0 to h3'
    """
    return Query(CovarianceDetails(curves_of(columns, radius, center, points, waves, period)))
