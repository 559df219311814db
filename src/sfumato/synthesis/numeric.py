"""Small tables of many numbers: points that answer smooth queries, where single columns would drown in noise.

A thin adapter: `SmoothSynthesis` measures a few moments of all columns together and fits weighted points to them; rows
are drawn from the points in proportion to their weights.  Proof: docs/proofs/synthesis-smooth.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from sfumato.errors import ParameterError
from sfumato.privacy.guarantees import Guarantee
from sfumato.randomness import Rng
from sfumato.schema import Schema
from sfumato.synthesis.encoding import Column
from sfumato.synthesis.marginals.counting import Read
from sfumato.synthesis.marginals.generation import shuffling, systematic
from sfumato.synthesis.marginals.mechanism import MarginalSynthesis, Progress
from sfumato.synthesis.smooth import SmoothSynthesis

__all__ = ["NumericSynthesis", "numeric_instead"]

WIDTH = 3.0  # of the kernels whose error is predicted, in units where every column has length 2
FEWEST = 3  # columns


@dataclass(frozen=True, slots=True)
class NumericSynthesis:
    """The smooth synthesizer of a schema's columns; its number of rows is public."""

    schema: Schema
    columns: tuple[Column, ...]
    target: Guarantee
    smooth: SmoothSynthesis
    rows: int | None = None

    @property
    def error(self) -> float:
        """The worst error to expect over ten thousand mixtures of ten Gaussian kernels of width WIDTH."""
        return self.smooth.predicted(WIDTH)

    def guarantee(self) -> Guarantee:
        """What one run costs."""
        return self.smooth.guarantee()

    def run(self, read: Read, rng: Rng, progress: Progress) -> dict[str, Any]:
        """Indices above the lower bound, column by column."""
        progress("reading rows", 0.0)
        names = [column.name for column in self.columns]
        parts = [np.zeros((0, len(names)), dtype=np.int64)]
        parts += [np.stack([np.asarray(batch[name], dtype=np.int64) for name in names], axis=1) for batch in read()]
        progress("measuring moments and fitting points", 0.2)
        points, weights = self.smooth.run(np.concatenate(parts), rng)
        made = self.rows or self.smooth.rows
        chosen = systematic(weights[np.newaxis], np.zeros(made, dtype=np.int64), shuffling(rng))
        indices = self.smooth.indices(points)[chosen]
        return {name: indices[:, place] for place, name in enumerate(names)}

    def to_record(self) -> dict[str, object]:
        """Public parameters."""
        held = {key: value for key, value in self.smooth.to_record().items() if key not in ("columns", "rows")}
        return {**held, "type": "smooth-synthesis", "columns": [c.name for c in self.columns], "rows": self.rows}


def numeric_instead(plan: MarginalSynthesis) -> NumericSynthesis | None:
    """The smooth synthesizer where it is the better choice by public quantities, else None.

    That is: at least three columns, all of them numbers; a public number of rows, too small for marginal synthesis to
    measure any pair; and a smaller predicted error than the noise it would put on a column.
    """
    size = plan.schema.fixed_size
    if size is None or len(plan.columns) < FEWEST or not all(column.ordered for column in plan.columns):
        return None
    noise, pairs = plan.predicted(size)
    if pairs:
        return None
    try:
        smooth = SmoothSynthesis.plan(
            [column.points for column in plan.columns], size, plan.target,
            adjacency=plan.schema.adjacency, rows_per_unit=plan.schema.unit.rows,
        )  # fmt: skip
    except ParameterError:  # noise beyond what the samplers reach
        return None
    made = NumericSynthesis(plan.schema, plan.columns, plan.target, smooth, plan.rows)
    return made if made.error < noise and not made.guarantee().assumptions else None
