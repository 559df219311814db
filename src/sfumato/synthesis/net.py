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
from typing import Any

import numpy as np
import numpy.typing as npt

from sfumato.errors import ParameterError, UnsupportedQuery
from sfumato.mechanisms.selection import (
    checked_rate,
    concentrated_cost,
    concentrated_rate,
    pure_cost,
    pure_rate,
)
from sfumato.privacy.guarantees import Approximate, Concentrated, Guarantee, Pure
from sfumato.randomness import Rng
from sfumato.sampling import choose

__all__ = ["Counting", "Net", "cost", "heights", "penalties", "rate_for"]

BLOCK = 1 << 14  # candidates at a time

Whole = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class Counting:
    """Counting queries on a universe: `matrix` has one row a query, one column a point, entries 0 or 1.

    More generally whole numbers from 0 to a bound.  `unit_rows` is how many rows one unit may have.
    """

    name: str
    matrix: Whole
    unit_rows: int = 1

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

    def __eq__(self, other: object) -> bool:
        same = isinstance(other, Counting) and (self.name, self.unit_rows) == (other.name, other.unit_rows)
        return same and np.array_equal(self.matrix, other.matrix)  # type: ignore[attr-defined]

    def __hash__(self) -> int:
        return hash((self.name, self.unit_rows, self.matrix.tobytes()))

    @property
    def universe(self) -> int:
        """The number of points."""
        return int(self.matrix.shape[1])

    def spread(self, rows: int) -> int:
        """How far apart the changes of penalties of databases of this size can lie when one unit changes."""
        return 2 * rows * int(self.matrix.max()) * self.unit_rows

    def checked(self, histogram: Any) -> npt.NDArray[Any]:
        """The histogram, if it has one entry for each point; its values are never looked at."""
        array = np.asarray(histogram, dtype=object)
        if array.shape != (self.universe,):
            raise ParameterError(f"{self.name!r} has {self.universe} points, got a histogram of shape {array.shape}")
        return array

    def means(self, histogram: npt.ArrayLike) -> npt.NDArray[np.float64]:
        """Each query's mean over the rows of a histogram, or of weights."""
        weights = np.asarray(histogram, dtype=np.float64)
        return np.asarray(self.matrix @ weights / max(float(weights.sum()), 1e-300))


@dataclass(frozen=True, slots=True, eq=False)
class Net:
    """A choice among `candidates`, histograms of equally many rows (candidates, points), at a rate.

    >>> below = Counting("thresholds", np.tril(np.ones((3, 3), dtype=int)))
    >>> Net.calibrate(below, Pure(1.0), np.eye(3, dtype=int)).guarantee()
    Pure(epsilon=1.0)
    """

    query: Counting
    candidates: Whole
    rate: float
    concentrated: bool = False

    def __post_init__(self) -> None:
        checked_rate(self.rate)
        _rows(self.query, self.candidates)

    @classmethod
    def calibrate(cls, query: Counting, target: Guarantee, candidates: Whole) -> Net:
        """The sharpest choice that meets `target`."""
        rate, concentrated = rate_for(query.spread(_rows(query, candidates)), target)
        return cls(query, candidates, rate, concentrated)

    @property
    def rows(self) -> int:
        """The size of every candidate."""
        return _rows(self.query, self.candidates)

    def guarantee(self, distance: int = 1) -> Pure | Concentrated:
        """What one release costs between tables `distance` units apart."""
        return cost(self.rate, distance * self.query.spread(self.rows), self.concentrated)

    def error(self, beta: float = 0.05) -> float:
        """How much worse than the best candidate the chosen one can be, in rows, but for `beta`."""
        return (math.log(len(self.candidates)) - math.log(beta)) / (self.rate * self.rows)

    def release(self, answer: Any, rng: Rng) -> Whole:
        """A candidate.  `answer` is the exact, secret histogram of the table."""
        histogram = self.query.checked(answer)
        blocks = [self.candidates[start : start + BLOCK] for start in range(0, len(self.candidates), BLOCK)]
        answers = (block @ self.query.matrix.T for block in blocks)
        found = np.concatenate([penalties(self.query, histogram, each, self.rows) for each in answers])
        return np.array(self.candidates[choose(found, self.rate, rng)])


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


def rate_for(spread: int, target: Guarantee) -> tuple[float, bool]:
    """The greatest rate that meets a target, and whether the claim is concentrated."""
    if isinstance(target, Concentrated) and target.rho > 0:
        return concentrated_rate(target.rho, spread, 1), True
    if isinstance(target, Pure | Approximate) and target.epsilon > 0:
        return pure_rate(target.epsilon, spread, 1), False
    raise UnsupportedQuery(f"the exponential mechanism needs epsilon > 0 or rho > 0, not {target!r}")


def cost(rate: float, spread: int, concentrated: bool) -> Pure | Concentrated:
    """What a choice at this rate costs."""
    return Concentrated(concentrated_cost(rate, spread, 1)) if concentrated else Pure(pure_cost(rate, spread, 1))


def _rows(query: Counting, candidates: Any) -> int:
    """The common size of the candidates, checked."""
    array = np.asarray(candidates)
    if array.ndim != 2 or array.shape[1] != query.universe or len(array) == 0 or array.dtype.kind not in "iu":
        raise ParameterError(f"candidates must be histograms of whole numbers over {query.universe} points")
    sizes = array.sum(axis=1)
    if array.min() < 0 or sizes[0] < 1 or (sizes != sizes[0]).any():
        raise ParameterError("candidates must have equally many rows, at least one, and none negative")
    return int(sizes[0])
