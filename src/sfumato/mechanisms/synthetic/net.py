r"""The net mechanism: one of finitely many databases, chosen by its worst counting query with exponential weights.

Definition.  A table over a universe of u points is its histogram h, n = sum h.  Candidates are histograms y of m rows.
The penalty of y is max_f |m f.h - n f.y| over the queries f, whole vectors with entries from 0 to b (b = 1 for
counting queries); y is chosen with probability proportional to exp(-c penalty) [BlumLigettRoth2008].

Guarantee.   One unit of r rows, added, removed or replaced, changes all penalties by amounts within 2 m b r of one
another: pure epsilon = 2 m b r c, concentrated rho = epsilon^2 / 8.  Proof: docs/proofs/synthesis-net.md.

Accuracy.    If some candidate is within alpha of every query's mean, the chosen one is within alpha + t of it but for
probability |R| exp(-c m n t): theorem 1.16 of [Huang2014] with its 1/epsilon.

Assumes.     Nothing beyond random bits: penalties are whole numbers and the choice is exact.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from sfumato.errors import ParameterError
from sfumato.mechanisms.mechanism import Answering
from sfumato.mechanisms.selection.selection import (
    checked_rate,
    cost,
    rate_for,
)
from sfumato.privacy.guarantees import Concentrated, Guarantee, Pure
from sfumato.randomness import Rng
from sfumato.sampling import choose

__all__ = ["Counting", "CountingMatrix", "Net", "counted", "heights", "penalties"]

BLOCK = 1 << 14  # candidates at a time

Whole = npt.NDArray[np.int64]


class Counting(Protocol):
    """Counting queries on a universe of points, and the database that is to answer them."""

    @property
    def name(self) -> str: ...

    @property
    def matrix(self) -> Whole:
        """One row a query, one column a point; whole numbers from 0 to a bound, 1 for queries that count rows."""

    @property
    def rows(self) -> int:
        """The size of the database."""

    @property
    def steps(self) -> int | None:
        """The steps of a walk, where they are asked for."""

    @property
    def candidates(self) -> Whole | None:
        """The only databases to choose among, as histograms, where they are given."""

    def spread(self, rows: int) -> int:
        """How far apart the changes of penalties of databases of this size can lie when one unit changes."""


@dataclass(frozen=True, slots=True, eq=False)
class CountingMatrix:
    """Counting queries given by their matrix alone, for those who work with the mechanism itself.

    `unit_rows` is how many rows one unit may have.
    """

    name: str
    matrix: Whole
    unit_rows: int = 1
    rows: int = 1
    steps: int | None = None
    candidates: Whole | None = None

    def __post_init__(self) -> None:
        matrix = np.asarray(self.matrix)
        if matrix.ndim != 2 or 0 in matrix.shape or matrix.dtype.kind not in "iub":
            raise ParameterError("matrix must hold whole numbers, one row a query and one column a point")
        matrix = matrix.astype(np.int64)
        if matrix.min() < 0 or not 1 <= matrix.max() <= 2**30:
            raise ParameterError("matrix must have entries from 0 to at most 2^30, not all zero")
        if not (isinstance(self.unit_rows, int) and self.unit_rows >= 1):
            raise ParameterError(f"unit_rows must be a whole number of at least 1, got {self.unit_rows!r}")
        object.__setattr__(self, "matrix", matrix)

    def spread(self, rows: int) -> int:
        """How far apart the changes of penalties of databases of this size can lie when one unit changes."""
        return 2 * rows * int(self.matrix.max()) * self.unit_rows

    def answer(self, table: object) -> Any:
        """The table is its histogram."""
        return table


def counted(query: Counting, histogram: object) -> npt.NDArray[Any]:
    """The histogram, if it has one entry for each point; its values are never looked at."""
    array, points = np.asarray(histogram, dtype=object), query.matrix.shape[1]
    if array.shape != (points,):
        raise ParameterError(f"{query.name!r} has {points} points, got a histogram of shape {array.shape}")
    return array


@dataclass(frozen=True, slots=True)
class Net(Answering):
    """A choice among the candidates of a question, histograms of equally many rows (candidates, points), at a rate.

    Proof: docs/proofs/synthesis-net.md.

    >>> below = CountingMatrix("thresholds", np.tril(np.ones((3, 3), dtype=int)), candidates=np.eye(3, dtype=int))
    >>> Net.calibrate(below, Pure(1.0)).guarantee()
    Pure(epsilon=1.0)
    """

    query: Counting
    rate: float
    concentrated: bool = False

    def __post_init__(self) -> None:
        checked_rate(self.rate)
        _rows(self.query)

    @classmethod
    def calibrate(cls, query: Counting, target: Guarantee) -> Net:
        """The sharpest choice that meets `target`."""
        return cls(query, *rate_for(target, query.spread(_rows(query)), 1))

    @property
    def candidates(self) -> Whole:
        """The databases, as histograms."""
        assert self.query.candidates is not None
        return self.query.candidates

    @property
    def rows(self) -> int:
        """The size of every candidate."""
        return _rows(self.query)

    @property
    def best(self) -> float | None:
        """How far the best candidate can be from the table: that depends on the candidates and the table."""
        return None

    def guarantee(self, distance: int = 1) -> Pure | Concentrated:
        """What one release costs between tables `distance` units apart."""
        return cost(self.rate, distance * self.query.spread(self.rows), 1, self.concentrated)

    def error(self, beta: float = 0.05) -> float:
        """How much worse than the best candidate the chosen one can be, in rows, but for `beta`."""
        return (math.log(len(self.candidates)) - math.log(beta)) / (self.rate * self.rows)

    def release(self, answer: object, rng: Rng) -> Whole:
        """A candidate.  `answer` is the exact, secret histogram of the table."""
        histogram = counted(self.query, answer)
        blocks = [self.candidates[start : start + BLOCK] for start in range(0, len(self.candidates), BLOCK)]
        answers = (block @ self.query.matrix.T for block in blocks)
        found = np.concatenate([penalties(self.query, histogram, each, self.rows) for each in answers])
        return np.array(self.candidates[choose(found, self.rate, rng)])

    def to_record(self) -> dict[str, object]:
        """Public parameters."""
        return {"type": "net", "rate": self.rate, "concentrated": self.concentrated}


def penalties(query: Counting, histogram: npt.NDArray[Any], answers: Whole, rows: int) -> Whole:
    """max_f |m f.h - n f.y| for candidates of m = `rows` rows given by their answers f.y (candidates, queries).

    Beyond 2^62, out of reach of any table that fits a machine, penalties count as 2^62.
    """
    return heights(query, histogram, rows)(answers)


def heights(query: Counting, histogram: npt.NDArray[Any], rows: int) -> Callable[[Whole], Whole]:
    """`penalties` as a function of the answers alone; the table's own answers are computed once."""
    exact, count = rows * (query.matrix.astype(object) @ histogram), int(histogram.sum())
    if max(int(exact.max()), count * rows * int(query.matrix.max())) < 2**62:
        narrow = exact.astype(np.int64)
        return lambda answers: np.asarray(np.abs(narrow - count * answers).max(axis=1))

    def wide(answers: Whole) -> Whole:
        found = np.abs(exact - count * answers.astype(object)).max(axis=1)
        return np.asarray(np.minimum(found, 2**62).astype(np.int64))

    return wide


def _rows(query: Counting) -> int:
    """The common size of the candidates, checked."""
    array, points = np.asarray(query.candidates), query.matrix.shape[1]
    if array.ndim != 2 or array.shape[1] != points or len(array) == 0 or array.dtype.kind not in "iu":
        raise ParameterError(f"candidates must be histograms of whole numbers over {points} points")
    sizes = array.sum(axis=1)
    if array.min() < 0 or sizes[0] < 1 or (sizes != sizes[0]).any():
        raise ParameterError("candidates must have equally many rows, at least one, and none negative")
    return int(sizes[0])
