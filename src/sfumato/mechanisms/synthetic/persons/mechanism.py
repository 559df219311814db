r"""Synthetic tables of persons with several rows, which belong together.

Definition.  Marginals of rows that weigh 1 / r each, r the number of their person's rows, are measured and fitted as
those of a table of persons are (`marginals/`), with r as one more column.  Then how often two rows of a person agree in
each column, and the number of rows.  Persons are drawn from the model, with their number of rows; what is declared to
be theirs is the same in all of these, and the rest is drawn for each row so that rows agree as often as was measured.

Guarantee.   The target itself: parts are fixed fractions of it.  One person moves a weighed count by at most 1, a sum
of shares of agreeing rows by 1, and the number of rows by k.  Proof: docs/proofs/synthesis-persons.md.

Accuracy.    It depends on the table, and is measured at the end, of rows that count once each.

Assumes.     Nothing beyond random bits: counts, noise and choices are whole numbers, drawn exactly.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from sfumato.errors import UnsupportedQuery
from sfumato.mechanisms.mechanism import Answering
from sfumato.mechanisms.synthetic.marginals.budget import for_tables, foreseen
from sfumato.mechanisms.synthetic.marginals.generation import shuffling
from sfumato.mechanisms.synthetic.marginals.judging import judged
from sfumato.mechanisms.synthetic.marginals.mechanism import MarginalSynthesis
from sfumato.mechanisms.synthetic.marginals.noise import Noise, Reach, noisy
from sfumato.mechanisms.synthetic.marginals.rounds import Fitted, Synthesis, modelled
from sfumato.mechanisms.synthetic.persons.generation import Drawing, several
from sfumato.mechanisms.synthetic.persons.repeats import agreements, noisy_agreements
from sfumato.mechanisms.synthetic.persons.weighing import number_of_rows, parts_of_a_person, weighed
from sfumato.privacy.claims import guarantee_from, to_record
from sfumato.privacy.guarantees import Guarantee
from sfumato.progress import tell
from sfumato.queries.encoding import Column
from sfumato.queries.synthetic import SyntheticRows
from sfumato.queries.view import SecretView
from sfumato.randomness import Rng

__all__ = ["PersonSynthesis"]

COUNTING, REPEATING = Fraction(1, 80), Fraction(1, 40)  # of the budget: the number of rows, and how often they agree
MOST_OF_A_PERSON = 100_000  # rows, so that a billion persons weigh less than 2^53 parts together


@dataclass(frozen=True, slots=True)
class PersonSynthesis(Answering):
    """A synthesizer of persons calibrated to a target: everything but `release` is public.

    Proof: docs/proofs/synthesis-persons.md.
    """

    query: SyntheticRows
    target: Guarantee

    @classmethod
    def calibrate(cls, query: SyntheticRows, target: Guarantee) -> PersonSynthesis:
        """The synthesizer that meets `target`."""
        if query.person is None:
            raise UnsupportedQuery("rows belong to persons where person= is given; an empty list will do")
        if query.schema.unit.rows > MOST_OF_A_PERSON:
            raise UnsupportedQuery(
                f"at most {MOST_OF_A_PERSON:,} rows of a person are kept together, and {query.schema.unit.rows:,} "
                "count; declare fewer (unit=Person(column, rows)), or leave person= out"
            )
        MarginalSynthesis.calibrate(query, target)
        return cls(query, target)

    @property
    def columns(self) -> tuple[Column, ...]:
        """The levels of the columns."""
        return self.query.levels

    @property
    def by_rows(self) -> MarginalSynthesis:
        """Rows alone for the same target: its claim, amount and noise of what counts rows are those of this one."""
        return MarginalSynthesis(self.query, self.target)

    @property
    def most(self) -> int:
        """How many rows of one person count."""
        return self.query.schema.unit.rows

    @property
    def noise(self) -> Noise:
        """The noise of counts in which every person weighs the same."""
        rows, parts = self.by_rows.noise, parts_of_a_person(self.most)
        return type(rows)(Reach(parts, rows.reach.both, units=parts))

    @property
    def free(self) -> tuple[Column, ...]:
        """The columns that differ between the rows of a person."""
        return tuple(column for column in self.columns if not self._personal(column))

    def _personal(self, column: Column) -> bool:
        return (column.whole or column.name) in (self.query.person or ())

    @property
    def for_repeats(self) -> Fraction:
        """What is spent on how often rows agree; nothing where a person has one row, or all columns are persons'."""
        return self.by_rows.for_rows * (REPEATING if self.most > 1 and self.free else 0)

    @property
    def for_number(self) -> Fraction:
        """What is spent on the number of rows."""
        return self.by_rows.for_rows * COUNTING

    @property
    def for_model(self) -> Fraction:
        """What is spent on counts of persons."""
        return self.by_rows.for_rows - self.for_repeats - self.for_number

    def guarantee(self, distance: int = 1) -> Guarantee:
        """What one release costs between tables `distance` units apart: the target, spent in full or not."""
        return self.by_rows.guarantee(distance)

    def error(self, beta: float = 0.05) -> float:
        """No bound is known."""
        return math.inf

    def release(self, answer: SecretView, rng: Rng) -> Synthesis:
        """The synthetic rows.  `answer` is a secret view, which is passed over five or six times."""
        rows, number = self.by_rows, number_of_rows(self.most)
        read = weighed(answer, parts_of_a_person(self.most), number)
        fitted = modelled(read, (*self.columns, number), self.noise, self.for_model, None, rng, self.query.triples)
        repeats = self._repeats(answer, fitted, rng)
        law = rows.noise.law(rows.noise.scales(self.for_number, [1])[0])
        exact = sum(len(batch[self.columns[0].name]) for batch in answer.batches())
        total = max(1.0, float(noisy(np.array([exact]), law, rng)[0]))
        tell("generating rows", 0.85)
        drawing = Drawing(fitted, (*map(self._personal, self.columns), True), self.most)
        persons, made = drawing.drawn(rows.made(total), repeats, shuffling(rng))
        del made[number.name]
        pairs = tuple(part for part in fitted.measured if number.name not in part["columns"])
        tell("judging rows", 0.95)
        rest = rows.amount - rows.for_rows
        found = judged(answer.batches, self.columns, made, total, pairs, rows.noise, rest, rng)
        off = math.sqrt(law.variance)
        return Synthesis(made, total, pairs, found, total_error=off, persons=persons, repeats=repeats)

    def _repeats(self, answer: SecretView, fitted: Fitted, rng: Rng) -> dict[str, float]:
        """How often two rows of a person agree in each column that differs, with noise."""
        if not self.for_repeats:
            return {}
        tell("comparing rows of persons", 0.8)
        places = [fitted.columns.index(column) for column in self.free]
        exact, _ = agreements(answer.persons(), self.free, [fitted.finest[place] for place in places])
        found = noisy_agreements(exact, self.noise, self.for_repeats, rng)
        persons = max(1.0, fitted.total / self.noise.reach.units * several(fitted))
        shares = np.clip(found / persons, 0.0, 1.0).tolist()
        return {column.name: share for column, share in zip(self.free, shares, strict=True)}

    def to_record(self) -> dict[str, object]:
        """Public parameters."""
        return {
            "type": "person-synthesis",
            "columns": list(self.query.columns),
            "levels": [column.size for column in self.columns],
            "person": list(self.query.person or ()),
            "rows": self.query.rows,
            "target": to_record(self.target),
        }

    @classmethod
    def from_record(cls, query: SyntheticRows, record: Mapping[str, Any]) -> PersonSynthesis:
        """The synthesizer of a question that `to_record` described."""
        return cls(query, guarantee_from(record["target"]))

    def predicted(self, size: int) -> tuple[float, int]:
        """For a table of `size` persons: a column's mean noise in total variation, and how many pairs at most."""
        columns, tables = (*self.columns, number_of_rows(self.most)), for_tables(self.for_model, None)
        return foreseen(self.noise, tables, columns, size)
