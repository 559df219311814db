"""Small tables of many numbers: points that answer smooth queries, where single columns would drown in noise.

Definition.  `SmoothSynthesis` measures a few moments of all columns together and fits weighted points to them; rows are
drawn from the points in proportion to their weights.

Guarantee.   The composed cost of its measurements and, where a ball is chosen, of that choice.  Fitting and drawing are
post-processing.  Proof: docs/proofs/synthesis-smooth.md.

Accuracy.    `error` predicts the worst error over many smooth queries for a typical table: it is no bound.

Assumes.     Nothing beyond random bits: sums and noise are whole numbers and the samplers exact.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from sfumato.errors import UnsupportedQuery
from sfumato.mechanisms.mechanism import Answering
from sfumato.mechanisms.noise.normals import composed
from sfumato.mechanisms.synthetic.keeping import ruled
from sfumato.mechanisms.synthetic.marginals.generation import shuffling, systematic
from sfumato.mechanisms.synthetic.marginals.rounds import Synthesis
from sfumato.mechanisms.synthetic.smooth import SmoothSynthesis
from sfumato.privacy.claims import guarantee_from, to_record
from sfumato.privacy.guarantees import Guarantee
from sfumato.progress import tell
from sfumato.queries.encoding import Column
from sfumato.queries.synthetic import SyntheticRows
from sfumato.queries.view import SecretView
from sfumato.randomness import Rng

__all__ = ["NumericSynthesis"]

WIDTH = 3.0  # of the kernels whose error is predicted, in units where every column has length 2
FEWEST = 3  # columns


@dataclass(frozen=True, slots=True)
class NumericSynthesis(Answering):
    """The smooth synthesizer of columns of numbers; their number of rows is public.

    Proof: docs/proofs/synthesis-smooth.md.
    """

    query: SyntheticRows
    target: Guarantee
    smooth: SmoothSynthesis

    @classmethod
    def calibrate(cls, query: SyntheticRows, target: Guarantee) -> NumericSynthesis:
        """The design with the least predicted error that meets `target`."""
        query.must_be_found()
        size = query.schema.fixed_size
        if size is None or len(query.levels) < FEWEST or not all(column.ordered for column in query.levels):
            raise UnsupportedQuery(
                f"good_for='smooth' needs at least {FEWEST} columns, all of them numbers, in a table whose number of "
                "rows is public; name the columns of numbers (columns=[...]), or leave out good_for"
            )
        smooth = SmoothSynthesis.plan(
            [column.points for column in query.levels], size, target,
            adjacency=query.schema.adjacency, rows_per_unit=query.schema.unit.rows,
        )  # fmt: skip
        return cls(query, target, smooth)

    @property
    def columns(self) -> tuple[Column, ...]:
        """The levels of the columns."""
        return self.query.levels

    def guarantee(self, distance: int = 1) -> Guarantee:
        """What one release costs between tables `distance` units apart."""
        return composed(*self.smooth.design.costs, self.target).group(distance)

    def predicted(self, width: float = WIDTH) -> float:
        """The worst error to expect over ten thousand mixtures of ten Gaussian kernels of this width."""
        return self.smooth.predicted(width)

    def error(self, beta: float = 0.05) -> float:
        """The worst error to expect at width WIDTH."""
        return self.predicted()

    def release(self, answer: SecretView, rng: Rng) -> Synthesis:
        """Synthetic rows as indices above the lower bound.  `answer` is a secret view, which is passed over once."""
        tell("reading rows", 0.0)
        names = [column.name for column in self.columns]
        parts = [np.zeros((0, len(names)), dtype=np.int64)]
        parts += [
            np.stack([np.asarray(batch[name], dtype=np.int64) for name in names], axis=1) for batch in answer.batches()
        ]
        tell("measuring moments and fitting points", 0.2)
        points, weights = self.smooth.run(np.concatenate(parts), rng)
        made = self.query.rows or self.smooth.rows
        chosen = systematic(weights[np.newaxis], np.zeros(made, dtype=np.int64), shuffling(rng))
        indices = self.smooth.indices(points)[chosen]
        return ruled(self.query, Synthesis({name: indices[:, place] for place, name in enumerate(names)}), rng)

    def to_record(self) -> dict[str, object]:
        """Public parameters."""
        held = {key: value for key, value in self.smooth.to_record().items() if key not in ("columns", "rows")}
        return {
            **held, "type": "smooth-synthesis", "columns": list(self.query.columns), "rows": self.query.rows,
            "target": to_record(self.target),
        }  # fmt: skip

    @classmethod
    def from_record(cls, query: SyntheticRows, record: Mapping[str, Any]) -> NumericSynthesis:
        """The synthesizer of a question that `to_record` described."""
        return cls.calibrate(query, guarantee_from(record["target"]))
