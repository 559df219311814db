r"""Small-database release: the exponential mechanism over all databases of m rows of a universe.

Definition.  The net mechanism with every multiset of m points as a candidate, C(u + m - 1, m) of them.  Up to
MOST_CANDIDATES they are enumerated and the choice is exact.  Beyond, a Metropolis walk of a public number of steps
moves one row at a time; its coins are exact, its stationary law is the mechanism's.

Guarantee.   As for the net.  With a walk, under the assumption `mixing`: if the walk's law is within tau of the
stationary one in total variation, (epsilon, (1 + e^epsilon) tau).  Proof: docs/proofs/synthesis-net.md.

Accuracy.    m = ceil(ln(2 k) / (2 alpha^2)) rows hold a database within alpha of k counting queries, by Hoeffding's
inequality [BlumLigettRoth2008; Huang2014, 1.19 corrected]; the choice adds ln(|R| / beta) / (c m n).

Assumes.     Nothing beyond random bits where databases are enumerated; `mixing` for a walk.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations_with_replacement, islice
from typing import Any

import numpy as np
import numpy.typing as npt

from sfumato.errors import ParameterError
from sfumato.mechanisms.mechanism import Answering
from sfumato.mechanisms.selection.selection import checked_rate, cost, rate_for
from sfumato.mechanisms.synthetic.net import BLOCK, Counting, Whole, counted, heights, penalties
from sfumato.privacy.guarantees import Concentrated, Guarantee, Pure
from sfumato.randomness import Rng
from sfumato.sampling import bernoulli, bernoulli_exp, choose, uniform_integers

__all__ = ["SmallDatabase"]

MOST_CANDIDATES = 10**6
STEPS = 20_000


@dataclass(frozen=True, slots=True)
class SmallDatabase(Answering):
    """A database of `rows` rows chosen at a rate; `steps` > 0 makes it a walk.

    Proof: docs/proofs/synthesis-net.md.
    """

    query: Counting
    rows: int
    rate: float
    steps: int = 0
    concentrated: bool = False

    def __post_init__(self) -> None:
        checked_rate(self.rate)
        if not (isinstance(self.rows, int) and self.rows >= 1):
            raise ParameterError(f"rows must be a whole number of at least 1, got {self.rows!r}")
        if not (isinstance(self.steps, int) and self.steps >= 0):
            raise ParameterError(f"steps must be a whole number, 0 for an exact choice, got {self.steps!r}")
        if self.steps == 0 and self.candidates > MOST_CANDIDATES:
            raise ParameterError(
                f"{self.candidates:.3g} databases of {self.rows} rows are too many to enumerate (at most "
                f"{MOST_CANDIDATES:,}); ask for fewer rows, or give steps= for a walk, which assumes mixing"
            )

    @classmethod
    def calibrate(cls, query: Counting, target: Guarantee) -> SmallDatabase:
        """The sharpest choice that meets `target`; a walk only where enumeration is not feasible, or if asked for."""
        rows, steps = query.rows, query.steps
        rate, concentrated = rate_for(target, query.spread(rows), 1)
        many = _databases_of(query, rows) > MOST_CANDIDATES
        return cls(query, rows, rate, (STEPS if many else 0) if steps is None else steps, concentrated)

    @property
    def candidates(self) -> int:
        """How many databases there are."""
        return _databases_of(self.query, self.rows)

    @property
    def points(self) -> int:
        """The size of the universe."""
        return int(self.query.matrix.shape[1])

    @property
    def best(self) -> float:
        """How far the best database of this size is from any table, at most, in the largest of all queries' means."""
        matrix = self.query.matrix
        hoeffding = math.sqrt(math.log(2 * len(matrix)) / (2 * self.rows)) * (1 + 1e-9)
        return int(matrix.max()) * min(1.0, hoeffding)

    def guarantee(self, distance: int = 1) -> Pure | Concentrated:
        """What one release costs between tables `distance` units apart."""
        claim = cost(self.rate, distance * self.query.spread(self.rows), 1, self.concentrated)
        return claim.assuming("mixing") if self.steps else claim

    def error(self, beta: float = 0.05) -> float:
        """How much worse than the best database the chosen one can be, in rows, but for `beta`."""
        return (math.log(self.candidates) - math.log(beta)) / (self.rate * self.rows)

    def release(self, answer: object, rng: Rng) -> Whole:
        """A small database, as a histogram.  `answer` is the exact, secret histogram of the table."""
        histogram = counted(self.query, answer)
        chosen = self._walked(histogram, rng) if self.steps else self._enumerated(histogram, rng)
        return np.bincount(chosen, minlength=self.points)

    def to_record(self) -> dict[str, object]:
        """Public parameters."""
        return {
            "type": "small-database", "rows": self.rows, "rate": self.rate, "steps": self.steps,
            "concentrated": self.concentrated,
        }  # fmt: skip

    def _enumerated(self, histogram: npt.NDArray[Any], rng: Rng) -> Whole:
        found = [
            penalties(self.query, histogram, self.query.matrix.T[block].sum(axis=1), self.rows)
            for block in _databases(self.points, self.rows)
        ]
        place = choose(np.concatenate(found), self.rate, rng)
        block, inside = divmod(place, BLOCK)
        return np.asarray(next(islice(_databases(self.points, self.rows), block, None))[inside])

    def _walked(self, histogram: npt.NDArray[Any], rng: Rng) -> Whole:
        """The points of the database where the walk ends; it starts at one drawn at random."""
        universe, columns, rate = self.points, self.query.matrix.T, Fraction(self.rate)
        points = np.asarray(uniform_integers(universe, self.rows, rng), dtype=np.int64)
        counts: dict[int, int] = {int(p): int(c) for p, c in zip(*np.unique(points, return_counts=True), strict=True)}
        answers = columns[points].sum(axis=0)
        height_of = heights(self.query, histogram, self.rows)
        height = int(height_of(answers[None])[0])
        for _ in range(self.steps):
            held = sorted(counts)
            leaves = held[uniform_integers(len(held), None, rng)]
            enters = int(uniform_integers(universe, None, rng))
            moved = answers - columns[leaves] + columns[enters]
            other = int(height_of(moved[None])[0])
            after = len(held) - (counts[leaves] == 1 and enters != leaves) + (enters not in counts)
            likely = after <= len(held) or bernoulli(Fraction(len(held), after), None, rng)
            if likely and bernoulli_exp(rate * max(0, other - height), None, rng):
                counts[leaves] -= 1
                if not counts[leaves]:
                    del counts[leaves]
                counts[enters] = counts.get(enters, 0) + 1
                answers, height = moved, other
        return np.repeat(list(counts), list(counts.values()))


def _databases_of(query: Counting, rows: int) -> int:
    return math.comb(query.matrix.shape[1] + rows - 1, rows)


def _databases(universe: int, rows: int) -> Iterator[Whole]:
    """All multisets of `rows` points, in blocks (databases, rows)."""
    every = combinations_with_replacement(range(universe), rows)
    while block := list(islice(every, BLOCK)):
        yield np.array(block, dtype=np.int64)
