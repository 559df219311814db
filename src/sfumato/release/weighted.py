"""A synthetic table as grid points with weights: what the trigonometric mechanism publishes, and bounds on queries."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from sfumato.answers.statements import Accuracy
from sfumato.mechanisms.noise.gauges import CUBE
from sfumato.mechanisms.noise.normals import NORMAL
from sfumato.mechanisms.synthetic.distribution import WEIGHT, GridDistribution
from sfumato.mechanisms.synthetic.query_bounds import query_bound
from sfumato.mechanisms.synthetic.trigonometric import Trigonometric
from sfumato.privacy.guarantees import Guarantee
from sfumato.queries.query import Query
from sfumato.queries.smooth import evaluate
from sfumato.queries.trigonometric import SmoothRows, SmoothTable
from sfumato.randomness import Rng
from sfumato.release.identity import Identity
from sfumato.release.tables import TableRelease

__all__ = ["WeightedTable"]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class WeightedTable(TableRelease):
    """Points of some numeric columns with weights; averages are weighted ones.  What is computed from it is free."""

    FORMAT: ClassVar[str] = "sfumato-weighted/1"

    @classmethod
    def identity(cls, question: SmoothRows, spend: Guarantee, chosen: Mapping[str, object]) -> Identity:
        """Versions before 0.4.0 named such a table by its mechanism, which they chose among fewer laws of noise."""
        today = cls.specified(question, {**question.specification(), **chosen}, spend)
        before = Trigonometric.calibrate(question, spend, (NORMAL, CUBE)).to_record()
        return Identity(today, (cls.specified(question, before, spend), cls.formerly(question, before, spend)))

    @property
    def question(self) -> SmoothRows:
        """What was asked, bound to the schema again."""
        details = SmoothTable(tuple(self.method["columns"]), order=self.method["order"])
        return details.bind(Query(details), self.schema)

    @property
    def mechanism(self) -> Trigonometric:
        """The mechanism, rebuilt from its public parameters."""
        return Trigonometric.from_record(self.question, self.method)

    @property
    def distribution(self) -> GridDistribution:
        """The points by their cells."""
        mechanism = self.mechanism
        places = []
        for name, axis in zip(mechanism.columns, mechanism.features.axes, strict=True):
            lattice = self.schema.lattice(name)
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

    def error(self, level: float = 0.95) -> Accuracy:
        """The error of the features that smooth queries are answered from."""
        return self.mechanism.accuracy(1 - level, self.method["output"])
