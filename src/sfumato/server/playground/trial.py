"""One trial of the playground: the truth beside a private answer, and what one person's presence changes.

Everything is about invented people and is drawn in a laboratory: from a seed, against a ledger in memory that is gone
with the trial.  No real ledger, no file and no secret is touched, and every answer says that it is not private.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from sfumato.answers.answer import Answer, failure_of
from sfumato.answers.statements import ErrorStatement
from sfumato.engines import Table, read
from sfumato.errors import ParameterError
from sfumato.orders import Order
from sfumato.privacy.adjacency import Person
from sfumato.privacy.guarantees import Pure
from sfumato.randomness import Rng, seeded
from sfumato.reference.laboratory import lab
from sfumato.samples import tidy_people
from sfumato.server.playground.questions import QUESTIONS
from sfumato.session import Session
from sfumato.spaces import Interval
from sfumato.spaces.schema import Schema

__all__ = ["MOST_ROWS", "Trial", "Wish"]

MOST_ROWS = 20_000
DRAWS = 200
INTERVALS = 100  # of the answers that are drawn: intervals of means take a while
BINS = 25
STEP = 10
LEVEL = 0.95
BUDGET = 1000.0  # a laboratory's, of which each trial has its own
EPSILONS = tuple(round(10 ** (place / 6), 4) for place in range(-12, 7))  # 0.01 to 10
Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Wish:
    """What the sliders say; whatever is out of their range is refused."""

    question: str
    epsilon: float
    low: float
    high: float
    rows: int
    seed: int

    def __post_init__(self) -> None:
        if self.question not in QUESTIONS:
            raise ParameterError(f"question must be one of {', '.join(QUESTIONS)}, got {self.question!r:.60}")
        if not 0.01 <= self.epsilon <= 10:
            raise ParameterError(f"epsilon must be from 0.01 to 10, got {self.epsilon}")
        if not (0 <= self.low < self.high <= 1_000_000 and self.low % STEP == self.high % STEP == 0):
            raise ParameterError(
                f"bounds must be multiples of {STEP} with 0 <= low < high <= 1,000,000, got {self.low} and {self.high}"
            )
        if not 50 <= self.rows <= MOST_ROWS:
            raise ParameterError(f"rows must be from 50 to {MOST_ROWS:,}, got {self.rows}")
        if not 0 <= self.seed < 2**32:
            raise ParameterError(f"seed must be a whole number from 0 to 2^32 - 1, got {self.seed}")


@dataclass(frozen=True, slots=True)
class Trial:
    """A wish carried out."""

    wish: Wish

    def record(self) -> dict[str, Any]:
        """All that the page shows."""
        wish, posed = self.wish, QUESTIONS[self.wish.question]
        people = _people(wish.rows)
        session = lab(_table(people, wish), budget=Pure(BUDGET), seed=wish.seed)
        settled = session.order(posed.query, wish.epsilon)
        release = session.fulfill(settled)
        columns = release.answer.table(LEVEL)
        return {
            "laboratory": release.provenance.laboratory,
            "question": posed.words,
            "labels": posed.labels(columns),
            "private": {name: columns[name] for name in ("estimate", "low", "high")},
            "truth": posed.truth(people, None),
            "kept": posed.truth(people, (wish.low, wish.high)),
            "outside": _outside(people, wish),
            "guarantee": release.provenance.claimed(release.guarantee),
            "certificate": release.certificate.words(),
            "mechanism": settled.ranking[0].name,
            "level": LEVEL,
            "odds": math.exp(wish.epsilon),
            "guess": 1 / (1 + math.exp(-wish.epsilon)),
            "errors": self._errors(session),
        }

    def _errors(self, session: Session) -> list[dict[str, float]]:
        """The predicted error for every epsilon of the slider, where one is stated in the answer's units."""
        found = []
        for epsilon in EPSILONS:
            settled = session.order(QUESTIONS[self.wish.question].query, epsilon)
            stated = settled.question.accuracy(settled.mechanism, failure_of(LEVEL))
            if isinstance(stated, ErrorStatement) and stated.kind == "answer" and math.isfinite(stated.most):
                found.append({"epsilon": epsilon, "error": stated.most})
        return found

    def presence(self) -> dict[str, Any]:
        """Answers that could have been given, with the person who changes the answer most and without."""
        posed, bounds = QUESTIONS[self.wish.question], (self.wish.low, self.wish.high)
        if posed.grouped:
            raise ParameterError(f"question {self.wish.question!r} has several answers; draw those of one with one")
        people = _people(self.wish.rows)
        settled = lab(_table(people, self.wish), budget=Pure(BUDGET), seed=0).order(posed.query, self.wish.epsilon)
        place = posed.person(people)
        others = pa.concat_tables([people.slice(0, place), people.slice(place + 1)])
        kept, rng = posed.truth(people, bounds)[0], seeded(self.wish.seed)
        here, gone = (self._drawn(settled, table, rng) for table in (people, others))
        intervals = [answer.interval(LEVEL) for answer in here[:INTERVALS]]
        return {
            "who": posed.who(people, place),
            "with": kept,
            "without": posed.truth(others, bounds)[0],
            "bins": _bins([np.array([one.value for one in drawn], dtype=float) for drawn in (here, gone)]),
            "draws": DRAWS,
            "intervals": INTERVALS,
            "covered": sum(low <= kept <= high for low, high in intervals),
        }

    def _drawn(self, settled: Order, people: pa.Table, rng: Rng) -> list[Answer]:
        """Many answers about these people."""
        mechanism, question = settled.mechanism, settled.question
        secret = mechanism.take(_table(people, self.wish).under(question.schema))
        return [question.read(mechanism.release(secret, rng), mechanism) for _ in range(DRAWS)]


@lru_cache(maxsize=8)
def _people(rows: int) -> pa.Table:
    """So many invented people, one row each."""
    table = _everyone()
    return table.slice(0, rows)


@lru_cache(maxsize=1)
def _everyone() -> pa.Table:
    table = tidy_people(MOST_ROWS)
    _, first = np.unique(table["person_id"].to_numpy(), return_index=True)
    return table.take(pa.array(np.sort(first))).select(["person_id", "age", "salary"])


def _table(people: pa.Table, wish: Wish) -> Table:
    """The people behind the schema that the sliders declare."""
    schema = Schema(
        {"age": Interval(0, 120, step=1), "salary": Interval(wish.low, wish.high, step=STEP)},
        unit=Person("person_id", rows=1),
        size=wish.rows,
        dataset="playground",
    )
    return read(people, schema=schema)


def _outside(people: pa.Table, wish: Wish) -> float:
    """The share of salaries that the bounds clip."""
    salary = people["salary"]
    beyond = pc.or_(pc.less(salary, wish.low), pc.greater(salary, wish.high))
    return float(pc.mean(beyond).as_py())


def _bins(drawn: Sequence[Floats]) -> list[dict[str, float]]:
    """Both sets of answers over common bins, those far out counted at the ends."""
    low, high = np.quantile(np.concatenate(drawn), [0.005, 0.995])
    edges = np.linspace(low, high if high > low else low + 1, BINS + 1)
    counts = [np.histogram(np.clip(one, edges[0], edges[-1]), edges)[0] for one in drawn]
    return [
        {"from": float(start), "to": float(end), "with": int(here), "without": int(gone)}
        for start, end, here, gone in zip(edges[:-1], edges[1:], *counts, strict=True)
    ]
