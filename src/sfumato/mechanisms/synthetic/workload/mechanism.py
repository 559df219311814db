r"""A synthetic table that answers a workload: marginals first, then the questions that its rows answer worst.

Definition.  A fixed share of the budget measures questions of the workload, the rest marginals (`marginals/`).  Rows
drawn from the model of the marginals, and some that it lacks and queries ask about (`seeds.py`), are weighted until
they have the answers, and drawn again by these weights (`rounds.py`).  Columns and pairs are judged as others are, and
so is the workload: its mean and its worst misfit.

Guarantee.   The target itself: parts are fixed fractions of it, and within a part every step is paid from what is left.
Proof: docs/proofs/synthesis-workload.md.

Accuracy.    It depends on the table, and is measured at the end.  Known beforehand is the noise of a measured answer.

Assumes.     Nothing beyond random bits: weights of rows, noise and choices are whole numbers, drawn exactly.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from sfumato.errors import UnsupportedQuery
from sfumato.mechanisms.mechanism import Answering
from sfumato.mechanisms.synthetic.keeping import ruled
from sfumato.mechanisms.synthetic.marginals.generation import shuffling
from sfumato.mechanisms.synthetic.marginals.judging import judged
from sfumato.mechanisms.synthetic.marginals.mechanism import MarginalSynthesis
from sfumato.mechanisms.synthetic.marginals.noise import Noise
from sfumato.mechanisms.synthetic.marginals.rounds import Synthesis, synthesized
from sfumato.mechanisms.synthetic.smooth.drawing import balanced
from sfumato.mechanisms.synthetic.workload.judging import JUDGING, misfits
from sfumato.mechanisms.synthetic.workload.rounds import Fitting, measured, moved, planned
from sfumato.mechanisms.synthetic.workload.seeds import sown
from sfumato.privacy.claims import guarantee_from
from sfumato.privacy.guarantees import Guarantee
from sfumato.progress import tell
from sfumato.queries.goals import UNIT, Batch, Goal
from sfumato.queries.synthetic import SyntheticRows
from sfumato.queries.view import SecretView
from sfumato.randomness import Rng

__all__ = ["WorkloadSynthesis"]

SHARE = Fraction(1, 4)
LEAST = 2000  # rows of the model, so that there are some to choose from
AT_ONCE = 50_000  # rows that are weighted together
ROOM = 50_000_000  # weights of rows that questions are chosen by, at most

Whole = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class WorkloadSynthesis(Answering):
    """Marginals and answers of one table.

    Proof: docs/proofs/synthesis-workload.md.
    """

    query: SyntheticRows
    target: Guarantee
    share: Fraction = SHARE  # of the budget, for the workload

    @classmethod
    def calibrate(cls, query: SyntheticRows, target: Guarantee, share: Fraction = SHARE) -> WorkloadSynthesis:
        """The synthesizer that meets `target`."""
        if not query.goals or not 0 < share < 1:
            raise UnsupportedQuery("a table for a workload needs queries (workload=[...]) and a share between 0 and 1")
        MarginalSynthesis.calibrate(query, target)
        return cls(query, target, share)

    @property
    def whole(self) -> MarginalSynthesis:
        """Marginals for the whole target: its noise, its amount and its claim are those of all parts together."""
        return MarginalSynthesis(self.query, self.target)

    @property
    def counted(self) -> MarginalSynthesis:
        """The part that measures marginals, as it would be alone."""
        return MarginalSynthesis(self.query, self.target, 1 - self.share)

    @property
    def goals(self) -> tuple[Goal, ...]:
        """The questions of the workload."""
        return self.query.goals

    @property
    def noise(self) -> Noise:
        """That of the answers, in UNIT to a row."""
        return moved(self.whole.noise, self.goals)

    @property
    def for_marginals(self) -> Fraction:
        """What marginals get."""
        return self.whole.for_rows * (1 - self.share)

    @property
    def for_answers(self) -> Fraction:
        """What the workload gets."""
        return self.whole.for_rows * self.share

    def guarantee(self, distance: int = 1) -> Guarantee:
        """What one release costs between tables `distance` units apart: the target, spent in full or not."""
        return self.whole.guarantee(distance)

    def error(self, beta: float = 0.05) -> float:
        """No bound is known."""
        return math.inf

    def predicted(self, size: int) -> tuple[float, int]:
        """For a table of `size` rows: the noise of a measured number as a share of them, and how many questions."""
        many = planned(self.noise, self.for_answers, self.goals, float(size))
        scale = self.noise.scales(self.for_answers / many, [1])[0]
        return math.sqrt(self.noise.law(scale).variance) / (UNIT * size), many

    def release(self, answer: SecretView, rng: Rng) -> Synthesis:
        """The synthetic rows.  `answer` is a secret view, which is passed over four or five times."""
        whole, columns, size = self.whole, self.query.levels, self.query.schema.fixed_size
        drawn = synthesized(
            answer.batches, columns, whole.noise, self.for_marginals, size, lambda n: max(whole.made(n), LEAST), rng,
            self.query.triples,
        )  # fmt: skip
        drawn = ruled(self.query, drawn, rng)
        total = drawn.total or 1.0
        tell("answering the workload", 0.9)
        exact = self._sums(answer)
        pool = self._some(drawn.rows, 0, min(AT_ONCE, max(LEAST, ROOM // sum(goal.size for goal in self.goals))))
        seeds = sown(self.goals, columns, self.query.rules, pool)
        fitting = measured(self.goals, exact, pool, total, self.noise, self.for_answers, rng, seeds)
        made = self._weighted(drawn, fitting, whole.made(total), shuffling(rng))
        tell("judging rows", 0.95)
        rest = whole.amount - whole.for_rows
        tables, own = rest * (1 - JUDGING), rest * JUDGING
        found = judged(answer.batches, columns, made.rows, total, made.measured, whole.noise, tables, rng)
        answers = self._sums_of(Batch(made.rows, self.query.schema))
        found["workload"] = misfits(exact, answers, len(made.rows[columns[0].name]), total, self.noise, own, rng)
        return replace(made, judged=found, answered=_said(fitting))

    def _weighted(self, drawn: Synthesis, fitting: Fitting, count: int, chance: np.random.Generator) -> Synthesis:
        """Rows of the model, drawn again by weights that give them the answers."""
        size, parts = len(next(iter(drawn.rows.values()))), []
        if not fitting.answers and size == count:
            return drawn
        for start in range(0, size, AT_ONCE):
            some = self._some(drawn.rows, start, AT_ONCE)
            batch = fitting.seeds.beside(some)
            features = fitting.features(batch)
            weights = fitting.weights(features) if fitting.answers else fitting.equal(batch.rows)
            chosen = balanced(features, weights, min(count, some.rows), chance)
            parts.append({name: column[chosen] for name, column in batch.columns.items()})
        return replace(drawn, rows={name: np.concatenate([part[name] for part in parts]) for name in drawn.rows})

    def _some(self, rows: Mapping[str, Whole], start: int, count: int) -> Batch:
        return Batch({name: held[start : start + count] for name, held in rows.items()}, self.query.schema)

    def _sums(self, answer: SecretView) -> list[Whole]:
        """The exact numbers of all questions."""
        found = [np.zeros(goal.size, dtype=np.int64) for goal in self.goals]
        for held in answer.batches():
            for total, part in zip(found, self._sums_of(Batch(held, self.query.schema)), strict=True):
                total += part
        return found

    def _sums_of(self, batch: Batch) -> list[Whole]:
        return [goal.sums(batch) for goal in self.goals]

    def to_record(self) -> dict[str, object]:
        """Public parameters."""
        return {**self.whole.to_record(), "type": "workload-synthesis", "share": str(self.share)}

    @classmethod
    def from_record(cls, query: SyntheticRows, record: Mapping[str, Any]) -> WorkloadSynthesis:
        """The synthesizer of a question that `to_record` described."""
        return cls.calibrate(query, guarantee_from(record["target"]), Fraction(record["share"]))


def _said(fitting: Fitting) -> tuple[dict[str, Any], ...]:
    """Which questions were measured, as plain values."""
    return tuple(
        {"query": one.goal, "shares": one.shares.tolist(), "scale": one.scale / UNIT} for one in fitting.answers
    )
