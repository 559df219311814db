r"""An optimal channel as a protocol: staircase columns with exact integer weights.

Definition.  Report j has weight u_j x ratio for the inputs in its subset and u_j for the others, in units of 2^-62
(products rounded down); one more report takes what is missing to 1.

Guarantee.   ln of the largest ratio in a column, the last one included, rounded up.
Proof: docs/proofs/local-optimal.md.

Accuracy.    Frequencies by the best linear unbiased estimate at the uniform prior; variances exact.

Assumes.     Nothing beyond random bits.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import numpy.typing as npt

from sfumato.errors import ParameterError
from sfumato.local.protocols.coercion import positions
from sfumato.local.protocols.drawing import GRAIN, check_count, check_target, loss, meet
from sfumato.local.protocols.layouts import unsigned
from sfumato.local.protocols.linear import check_reports, shares
from sfumato.local.protocols.owned import Names
from sfumato.local.protocols.protocol import Bits, Floats, LocalProtocol, Matrix, Reports, Tally
from sfumato.privacy.guarantees import Approximate, Pure

if TYPE_CHECKING:
    from sfumato.local.optimal import Utility

__all__ = ["Tabulated"]

MOST_INPUTS = 12  # as in `local/optimal.py`, which is loaded only to find a channel, never by a client

ONE = 1 << GRAIN
SPARE = 2.0**-30  # share of the last report: far above what rounding leaves it, far below what costs accuracy
LEAST = 1 << 24  # units of a report that is kept
SHIFT = np.uint64(64 - GRAIN)


@dataclass(frozen=True, slots=True)
class Tabulated(LocalProtocol):
    """A report for each subset (a bit mask of inputs) with its units; values outside [0, k) count as the last.

    Proof: docs/proofs/local-optimal.md.

    >>> best = Tabulated.calibrate(4, Pure(1.0))
    >>> best.guarantee().implies(Pure(1.0)), best.report_bytes
    (True, 1)
    """

    name: ClassVar[str] = "tabulated"
    goal: ClassVar[str] = "frequencies"

    k: int
    ratio: Fraction
    subsets: tuple[int, ...]
    units: tuple[int, ...]

    def __post_init__(self) -> None:
        check_count("k", self.k, 2, MOST_INPUTS)
        if not (isinstance(self.ratio, Fraction) and self.ratio > 1):
            raise ParameterError("ratio must be a fraction above 1")
        if len(self.subsets) != len(self.units) or not self.units or min(self.units) < 1:
            raise ParameterError("subsets and units must have the same length, and units be whole and positive")
        if not all(0 <= subset < 1 << self.k for subset in self.subsets):
            raise ParameterError(f"subsets must be bit masks of {self.k} inputs")
        if min(row[-1] for row in self._table()) <= 0:
            raise ParameterError("units must leave something to the last report of every input")

    @classmethod
    def calibrate(cls, k: int, target: Pure | Approximate, utility: Utility | None = None) -> Tabulated:
        """The channel of largest utility that meets `target`; without one, the best for all frequencies alike.

        A channel that is best for another purpose may not tell all inputs apart: then `estimate` refuses.
        """
        check_target(target)
        merged: dict[int, float] = {}
        for subset, low in _even(k, target.epsilon) if utility is None else _best(utility, k, target.epsilon):
            merged[subset] = merged.get(subset, 0.0) + low
        kept = {subset: int(low * (1 - SPARE) * ONE) for subset, low in merged.items() if low * ONE > LEAST}
        return meet(lambda ratio: cls(k, ratio, tuple(kept), tuple(kept.values())), target)

    def guarantee(self) -> Pure:
        """What one report costs."""
        columns = list(zip(*self._table(), strict=True))
        return Pure(loss(max(Fraction(max(column), min(column)) for column in columns)))

    def _table(self) -> list[list[int]]:
        """The exact probabilities, in units of 2^-62."""
        highs = [int(low * self.ratio) for low in self.units]
        rows = []
        for x in range(self.k):
            parts = zip(self.subsets, self.units, highs, strict=True)
            row = [high if subset >> x & 1 else low for subset, low, high in parts]
            rows.append([*row, ONE - sum(row)])
        return rows

    def owned(self, value: object, names: Names) -> int:
        """A label, or a position."""
        return names.position(value, self.k)

    def coerce(self, values: npt.ArrayLike) -> npt.NDArray[np.int64]:
        """Positions; everything outside [0, k) counts as the last category."""
        return positions(values, self.k)

    def randomize(self, values: npt.ArrayLike, bits: Bits) -> Reports:
        """The number of a report each, by where 62 random bits fall among the sums of the row."""
        truth = self.coerce(values)
        draws = (bits.bits64(truth.size) >> SHIFT).view(np.int64)
        edges = np.cumsum(np.array(self._table(), dtype=np.int64), axis=1)
        reports = np.zeros(truth.size, dtype=np.int64)
        for x in range(self.k):
            here = truth == x
            reports[here] = np.searchsorted(edges[x], draws[here], side="right")
        return reports.astype(self.dtype)

    @property
    def dtype(self) -> np.dtype[Any]:
        """One number."""
        return unsigned(len(self.units) + 1)

    def valid(self, reports: Reports) -> npt.NDArray[np.bool_]:
        """Numbers of reports there are."""
        return np.asarray(reports <= len(self.units))

    @property
    def cells(self) -> int:
        """A count for each report."""
        return len(self.units) + 1

    def tally(self, reports: Reports) -> Tally:
        """How often each report came."""
        return np.bincount(reports, minlength=self.cells).astype(np.int64)

    def estimate(self, tally: Tally, n: int) -> Floats:
        """Unbiased frequencies."""
        check_reports(n)
        return np.asarray(self._weights() @ (np.asarray(tally, dtype=np.float64) / n))

    def variance(self, n: int, truth: npt.ArrayLike | None = None) -> Floats:
        """Of each frequency."""
        check_reports(n)
        spread = self._spread()
        return np.asarray(spread.max(axis=1) if truth is None else spread @ shares(truth, self.k)) / n

    def risk(self, n: int) -> float:
        """The total variance, for the worst data."""
        check_reports(n)
        return float(self._spread().sum(axis=0).max()) / n

    def _weights(self) -> Floats:
        """Rows of an unbiased estimate of least total variance at the uniform law."""
        matrix = np.array(self._table(), dtype=np.float64) / ONE
        scaled = matrix / matrix.mean(axis=0)
        information = scaled @ matrix.T
        if np.linalg.matrix_rank(information, tol=1e-9 * float(np.trace(information))) < self.k:
            raise ParameterError("this channel does not tell all inputs apart; calibrate it for frequencies")
        return np.asarray(np.linalg.solve(information, scaled))

    def _spread(self) -> Floats:
        """The variance of estimate i from one person who holds j."""
        matrix, weights = np.array(self._table(), dtype=np.float64) / ONE, self._weights()
        return np.asarray((weights**2) @ matrix.T - (weights @ matrix.T) ** 2)

    def outputs(self) -> Reports:
        """All reports, in order."""
        return np.arange(self.cells).astype(self.dtype)

    def channel(self) -> Matrix:
        """The exact probabilities."""
        return [[Fraction(entry, ONE) for entry in row] for row in self._table()]

    def words(self) -> str:
        """What leaves the device."""
        return (
            f"one of {self.cells} marks, each standing for a group of the {self.k} categories and at most "
            f"{float(self.ratio):.4g} times likelier for those in it"
        )


def _even(k: int, epsilon: float) -> Iterator[tuple[int, float]]:
    """All subsets of the best size, equally likely."""
    from sfumato.local.optimal import best_subset_size

    check_count("k", k, 2, MOST_INPUTS)
    size, _ = best_subset_size(k, epsilon)
    chosen = list(itertools.combinations(range(k), size))
    low = 1 / (len(chosen) * (1 + math.expm1(epsilon) * size / k))
    yield from ((sum(1 << x for x in subset), low) for subset in chosen)


def _best(utility: Utility, k: int, epsilon: float) -> Iterator[tuple[int, float]]:
    """The columns of the optimal channel."""
    from sfumato.local.optimal import optimal_channel

    for column in optimal_channel(utility, k, epsilon).matrix.T:
        low = float(column.min())
        yield sum(1 << x for x in range(k) if column[x] > 1.0001 * low), low
