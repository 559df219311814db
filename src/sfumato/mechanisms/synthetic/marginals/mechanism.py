r"""Synthetic tables from noisy marginals, chosen where the model is worst.

Definition.  A share of the budget, by the number of rows, measures every column by itself.  Smoothed, those counts say
which levels to merge.  Then, in rounds: a model of maximum entropy is fitted to everything measured so far, the
exponential mechanism chooses the pair (and how finely to measure it) that it fits worst, or none, and it is measured.
Where the question asks for it (`triples`), three columns at a time are chosen and measured in the same way after that.
Rows are drawn from the last model.  The scheme is that of [McKennaEtAl2022] with levels merged adaptively, resolutions
chosen with the pairs, a choice of none that asks for less noise, and a fit that shrinks what noise would explain.

Guarantee.   The target itself: every part is taken from what is left of it, and everything between and after the
measurements is post-processing.  Proof: docs/proofs/synthesis-marginals.md.

Accuracy.    It depends on the table, and is measured at the end (`judging.py`).  Known beforehand is the noise of each
count (`predicted`).

Assumes.     Nothing beyond random bits: counts, noise and choices are whole numbers, drawn exactly.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from sfumato.errors import UnsupportedQuery
from sfumato.mechanisms.mechanism import Answering
from sfumato.mechanisms.synthetic.keeping import ruled
from sfumato.mechanisms.synthetic.marginals.budget import for_tables, foreseen
from sfumato.mechanisms.synthetic.marginals.judging import JUDGING, judged
from sfumato.mechanisms.synthetic.marginals.noise import ConcentratedNoise, Noise, NormalNoise, PureNoise, Reach
from sfumato.mechanisms.synthetic.marginals.rounds import Synthesis, synthesized
from sfumato.numeric import ceil_float
from sfumato.privacy.claims import guarantee_from, to_record
from sfumato.privacy.guarantees import Guarantee
from sfumato.progress import tell
from sfumato.queries.encoding import Column
from sfumato.queries.synthetic import SyntheticRows
from sfumato.queries.view import SecretView
from sfumato.randomness import Rng

__all__ = ["MarginalSynthesis"]

CLEAR = 10  # deviations of its noise that a number of rows must have: below, no more rows are made than were supposed


@dataclass(frozen=True, slots=True)
class MarginalSynthesis(Answering):
    """A synthesizer calibrated to a target: everything but `release` is public.

    Proof: docs/proofs/synthesis-marginals.md.

    >>> from sfumato.privacy.guarantees import Concentrated
    >>> from sfumato.queries import bind
    >>> from sfumato.queries.synthetic import synthetic
    >>> from sfumato.spaces import Categories, Integers
    >>> from sfumato.spaces.schema import Schema
    >>> people = Schema({"age": Integers(0, 99), "sex": Categories(["f", "m"])}, size=1000)
    >>> MarginalSynthesis.calibrate(bind(synthetic(), people), Concentrated(0.1)).guarantee()
    Concentrated(rho=0.1)
    """

    query: SyntheticRows
    target: Guarantee
    part: Fraction = Fraction(1)  # of the target that it may spend, where it is one of several

    @classmethod
    def calibrate(cls, query: SyntheticRows, target: Guarantee) -> MarginalSynthesis:
        """The synthesizer that meets `target`."""
        query.must_be_found()
        made = cls(query, target)
        if made.amount <= 0:
            raise UnsupportedQuery(f"a synthetic table needs epsilon > 0 or rho > 0, not {target!r}")
        return made

    @property
    def columns(self) -> tuple[Column, ...]:
        """The levels of the columns."""
        return self.query.levels

    @property
    def noise(self) -> Noise:
        """The kind of noise: Laplace for a pure target, discrete Gaussian for rho, else rounded normal."""
        reach = Reach.of(self.query.schema)
        if self._pure:
            return PureNoise(reach)
        return ConcentratedNoise(reach) if self.target.counts_rho else NormalNoise(reach)

    @property
    def amount(self) -> Fraction:
        """What may be spent, in the noise's own currency."""
        return Fraction(self.target.pure_within() if self._pure else self.target.normal_within()) * self.part

    @property
    def _pure(self) -> bool:
        return not self.target.takes_normal

    def guarantee(self, distance: int = 1) -> Guarantee:
        """What one release costs between tables `distance` units apart: `amount`, spent in full or not."""
        amount = ceil_float(self.amount)
        claim = self.target.with_parts({"epsilon": amount}) if self._pure else self.target.at_normal(amount)
        return claim.group(distance)

    def error(self, beta: float = 0.05) -> float:
        """No bound is known."""
        return math.inf

    def release(self, answer: SecretView, rng: Rng) -> Synthesis:
        """The synthetic rows.  `answer` is a secret view, which is passed over three or four times."""
        size = self.query.schema.fixed_size
        made = synthesized(
            answer.batches, self.columns, self.noise, self.for_rows, size, self.made, rng, self.query.triples
        )
        made = ruled(self.query, made, rng)
        tell("judging rows", 0.95)
        rest = self.amount - self.for_rows
        total = made.total or 1.0
        found = judged(answer.batches, self.columns, made.rows, total, made.measured, self.noise, rest, rng)
        return replace(made, judged=found)

    @property
    def for_rows(self) -> Fraction:
        """What is spent until the rows are made; the rest judges them."""
        return self.amount * (1 - JUDGING)

    def made(self, total: float) -> int:
        """How many rows to make of a table that has about `total`."""
        wanted = self.query.rows or self.query.schema.fixed_size or max(1, round(total))
        most = self.query.most_rows
        if self.query.rows is None and self.query.schema.fixed_size is None and self._rough > total / CLEAR:
            most = min(most, self.query.supposed_size)
        return min(wanted, most)

    @property
    def _rough(self) -> float:
        """The standard deviation of the number of rows, where it is not public."""
        left = self.for_rows - for_tables(self.for_rows, None)
        return math.sqrt(self.noise.law(self.noise.scales(left, [1])[0]).variance)

    def to_record(self) -> dict[str, object]:
        """Public parameters."""
        return {
            "type": "marginal-synthesis",
            "columns": list(self.query.columns),
            "levels": [column.size for column in self.columns],
            "noise": self.noise.name,
            "rows": self.query.rows,
            "target": to_record(self.target),
        }

    @classmethod
    def from_record(cls, query: SyntheticRows, record: Mapping[str, Any]) -> MarginalSynthesis:
        """The synthesizer of a question that `to_record` described."""
        return cls(query, guarantee_from(record["target"]))

    def predicted(self, size: int) -> tuple[float, int]:
        """For a table of `size` rows: a column's mean noise in total variation, and how many pairs at most."""
        tables = for_tables(self.for_rows, self.query.schema.fixed_size)
        return foreseen(self.noise, tables, self.columns, size)
