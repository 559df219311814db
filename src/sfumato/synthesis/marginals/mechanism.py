r"""Synthetic tables from noisy marginals, chosen where the model is worst.

Definition.  Half of the budget measures every column by itself.  Smoothed, those counts say how many rows there are,
which levels to merge, and how many pairs the rest can afford.  Then, in rounds: a model of maximum entropy is fitted to
everything measured so far, the exponential mechanism chooses pairs (and how finely to measure them) that it fits worst,
and they are measured.  Rows are drawn from the last model.  The scheme is that of [McKennaEtAl2022] with levels merged
adaptively, several pairs a round, resolutions chosen with the pairs, and noise split by size.

Guarantee.   The target itself: parts are fixed fractions of it, each is met exactly or undercut, and everything between
and after the measurements is post-processing.  Proof: docs/proofs/synthesis-marginals.md.

Accuracy.    None is stated: it depends on the table.  Known beforehand is the noise of each count (`predicted`).

Assumes.     Nothing beyond random bits: counts, noise and choices are whole numbers, drawn exactly.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from sfumato.errors import ParameterError, UnsupportedQuery
from sfumato.privacy.conversions import concentrated_for, concentrated_to_approximate
from sfumato.privacy.guarantees import Approximate, Concentrated, Guarantee, Pure
from sfumato.randomness import Rng
from sfumato.schema import Schema
from sfumato.synthesis.encoding import Column, encoded
from sfumato.synthesis.marginals.counting import Read
from sfumato.synthesis.marginals.noise import ConcentratedNoise, Noise, PureNoise, Reach
from sfumato.synthesis.marginals.rounds import Synthesis, synthesized

__all__ = ["MarginalSynthesis", "Progress"]

Progress = Callable[[str, float], None]  # what is being done, and the part of the work that is behind
MOST_ROWS = 10_000_000
MOST_VALUES = 100_000_000  # of all rows and columns together: 800 MB while they are made


@dataclass(frozen=True, slots=True)
class MarginalSynthesis:
    """A calibrated synthesizer: everything but `run` is public.

    >>> from sfumato.spaces import Categories, Integers
    >>> people = Schema({"age": Integers(0, 99), "sex": Categories(["f", "m"])}, size=1000)
    >>> MarginalSynthesis.calibrate(people, None, Concentrated(0.1)).guarantee()
    Concentrated(rho=0.1)
    """

    schema: Schema
    columns: tuple[Column, ...]
    target: Guarantee
    rows: int | None = None

    @classmethod
    def calibrate(
        cls, schema: Schema, names: list[str] | tuple[str, ...] | None, target: Guarantee, rows: int | None = None
    ) -> MarginalSynthesis:
        """The synthesizer of these columns (all by default) that meets `target`."""
        if rows is not None and not (isinstance(rows, int) and not isinstance(rows, bool) and 1 <= rows <= MOST_ROWS):
            raise ParameterError(f"rows must be a whole number from 1 to {MOST_ROWS:,}, got {rows!r}")
        plan = cls(schema, encoded(schema, names), target, rows)
        if (rows or 1) > plan.most_rows:
            raise ParameterError(
                f"rows={rows:,} of {len(plan.columns)} columns are too many to hold; ask for at most {plan.most_rows:,}"
            )
        if plan.amount <= 0:
            raise UnsupportedQuery(f"a synthetic table needs epsilon > 0 or rho > 0, not {target!r}")
        return plan

    @property
    def noise(self) -> Noise:
        """The kind of noise: Laplace for a pure target, else Gaussian."""
        reach = Reach.of(self.schema)
        return PureNoise(reach) if self._pure else ConcentratedNoise(reach)

    @property
    def amount(self) -> Fraction:
        """What may be spent, in the noise's own currency."""
        if isinstance(self.target, Concentrated):
            return Fraction(self.target.rho)
        if self._pure:
            return Fraction(self.target.epsilon)
        assert isinstance(self.target, Approximate)
        return Fraction(concentrated_for(self.target.epsilon, self.target.delta))

    @property
    def most_rows(self) -> int:
        """How many rows can be made at once."""
        return min(MOST_ROWS, MOST_VALUES // len(self.columns))

    @property
    def _pure(self) -> bool:
        return isinstance(self.target, Pure) or (isinstance(self.target, Approximate) and self.target.delta == 0)

    def guarantee(self) -> Guarantee:
        """What one run costs: `amount`, spent in full or not."""
        if isinstance(self.target, Approximate) and not self._pure:
            epsilon = concentrated_to_approximate(float(self.amount), self.target.delta)
            return Approximate(epsilon, self.target.delta)
        return self.target

    def run(self, read: Read, rng: Rng, progress: Progress | None = None) -> Synthesis:
        """The synthetic rows.  `read` passes twice over the secret rows."""
        size, show = self.schema.fixed_size, progress or (lambda words, part: None)
        return synthesized(read, self.columns, self.noise, self.amount, size, self._made, rng, show)

    def _made(self, total: float) -> int:
        """How many rows to make of a table that has about `total`."""
        return min(self.rows or self.schema.fixed_size or max(1, round(total)), self.most_rows)

    def to_record(self) -> dict[str, object]:
        """Public parameters."""
        return {
            "type": "marginal-synthesis",
            "columns": [column.name for column in self.columns],
            "levels": [column.size for column in self.columns],
            "noise": "discrete-laplace" if self._pure else "discrete-gaussian",
            "rows": self.rows,
        }

    def predicted(self, size: int) -> tuple[float, int]:
        """For a table of `size` rows: the mean noise of a column, in total variation, and how many pairs fit."""
        from sfumato.synthesis.marginals.rounds import affordable, first_scales, for_tables

        tables = for_tables(self.noise, self.amount, self.schema.fixed_size)
        pairs = affordable(self.noise, tables, float(size), len(self.columns))
        scales = first_scales(self.noise, tables, self.columns, pairs)
        parts = [
            min(1.0, 0.5 * self.noise.law(scale).mean_absolute * column.size / size)
            for scale, column in zip(scales, self.columns, strict=True)
        ]
        return float(np.mean(parts)), pairs
