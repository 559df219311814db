r"""Subset selection: a set of `size` categories that holds the true one more often than chance.

Definition.  With probability P the set is the true category and size - 1 others, uniformly; else it is `size` others,
uniformly.

Guarantee.   epsilon = ln( P (k - size) / ((1 - P) size) ), pure.                                  [YeBarg2018]
Proof: docs/proofs/local-categories.md.

Accuracy.    A set holds another category with probability q = (size - P)/(k - 1); (count/n - q)/(P - q) is unbiased.
At the best size, near k/(e^epsilon + 1), no protocol has a smaller worst total variance as n grows [YeBarg2018].

Assumes.     Nothing beyond random bits: P is a multiple of 2^-62, sets are exactly uniform.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from sfumato.errors import ParameterError
from sfumato.local.protocols.bitmaps import Bitmap, clean, column_sums, random_bits, row_bytes, set_bits, unpack
from sfumato.local.protocols.coercion import positions
from sfumato.local.protocols.drawing import check_coin, check_count, coins, grains, loss, meet, uniform
from sfumato.local.protocols.layouts import counts, unsigned
from sfumato.local.protocols.linear import frequencies, frequency_risk, frequency_variance
from sfumato.local.protocols.owned import Names
from sfumato.local.protocols.protocol import Bits, Floats, LocalProtocol, Matrix, Places, Reports, Tally
from sfumato.privacy.guarantees import Approximate, Pure

__all__ = ["SubsetSelection"]

MOST = 1 << 16  # categories
BLOCK = 1 << 22  # bytes of bitmaps at a time


@dataclass(frozen=True, slots=True)
class SubsetSelection(LocalProtocol):
    """A set of `size` of k categories, the true one in it with probability `inclusion`.

    Proof: docs/proofs/local-categories.md.

    >>> sets = SubsetSelection.calibrate(1024, Pure(1.0))
    >>> sets.size, sets.guarantee().implies(Pure(1.0)), sets.report_bytes
    (275, True, 128)
    """

    name: ClassVar[str] = "subset"
    goal: ClassVar[str] = "frequencies"

    k: int
    size: int
    inclusion: Fraction

    def __post_init__(self) -> None:
        check_count("k", self.k, 2, MOST)
        check_count("size", self.size, 1, self.k - 1)
        check_coin("inclusion", self.inclusion)
        if not self.inclusion * self.k > self.size:
            raise ParameterError("inclusion must exceed size/k, the share of a random set")

    @classmethod
    def calibrate(cls, k: int, target: Pure | Approximate) -> SubsetSelection:
        """The size of least total variance, and the greatest inclusion that meets `target`."""
        check_count("k", k, 2, MOST)

        def build(ratio: Fraction) -> SubsetSelection:
            size = _best_size(k, float(ratio))
            return cls(k, size, grains(size * ratio / (size * ratio + k - size)))

        return meet(build, target)

    @property
    def _other(self) -> Fraction:
        """q: the probability that the set holds another given category."""
        return (self.size - self.inclusion) / (self.k - 1)

    @property
    def listed(self) -> bool:
        """Whether a report lists its members in order; otherwise it is a bitmap, which is then no longer."""
        return self.size * unsigned(self.k).itemsize < row_bytes(self.k)

    def guarantee(self) -> Pure:
        """What one report costs: a set with the one category and without the other."""
        return Pure(loss(self.inclusion * (self.k - self.size) / ((1 - self.inclusion) * self.size)))

    def owned(self, value: object, names: Names) -> int:
        """A label, or a position."""
        return names.position(value, self.k)

    def coerce(self, values: npt.ArrayLike) -> npt.NDArray[np.int64]:
        """Positions; everything outside [0, k) counts as the last category."""
        return positions(values, self.k)

    def randomize(self, values: npt.ArrayLike, bits: Bits) -> Reports:
        """The sets; values outside [0, k) count as the last category."""
        truth = self.coerce(values)
        out = np.empty((truth.size, self.columns), dtype=self.dtype)
        step = max(1, BLOCK // row_bytes(self.k))
        for start in range(0, truth.size, step):
            chunk = truth[start : start + step]
            included = coins(self.inclusion, chunk.size, bits)
            if self.listed and self.size**2 <= self.k:
                out[start : start + step] = _lists(self.k, included, chunk, self.size, bits)
                continue
            rows = _others(self.k, self.size, self.size - included, chunk, bits)
            set_bits(rows, chunk, included)
            out[start : start + step] = self._form(rows)
        return out

    def _form(self, rows: Bitmap) -> Reports:
        if not self.listed:
            return rows
        members = np.flatnonzero(unpack(rows, self.k).view(np.bool_)) % self.k
        return members.reshape(-1, self.size).astype(self.dtype)

    @property
    def dtype(self) -> np.dtype[Any]:
        """Positions of members in order, or bytes of a bitmap."""
        return unsigned(self.k) if self.listed else np.dtype(np.uint8)

    @property
    def columns(self) -> int:
        """Members, or bytes of a bitmap."""
        return self.size if self.listed else row_bytes(self.k)

    def valid(self, reports: Reports) -> npt.NDArray[np.bool_]:
        """Sets of the right size."""
        if self.listed:
            rising = np.all(reports[:, 1:] > reports[:, :-1], axis=1)
            return np.asarray(rising & (reports[:, -1] < self.k))
        right: npt.NDArray[np.bool_] = np.bitwise_count(reports).sum(axis=1, dtype=np.int64) == self.size
        return clean(reports, self.k) & right

    @property
    def cells(self) -> int:
        """A count for each category."""
        return self.k

    def tally(self, reports: Reports) -> Tally:
        """How many sets hold each category."""
        if self.listed:
            return counts(reports.reshape(-1), self.k)
        return column_sums(reports, self.k)

    def estimate(self, tally: Tally, n: int) -> Floats:
        """Unbiased frequencies; they sum to one."""
        return frequencies(tally, n, self.inclusion, self._other)

    def variance(self, n: int, truth: npt.ArrayLike | None = None) -> Floats:
        """Of each frequency."""
        return frequency_variance(self.k, n, self.inclusion, self._other, truth)

    def risk(self, n: int) -> float:
        """The total variance, which the data do not change."""
        return frequency_risk(self.k, n, self.inclusion, self._other)

    def outputs(self) -> Reports:
        """All sets, in lexicographic order of their members."""
        self.check_entries(self.k * math.comb(self.k, self.size))
        sets = np.array(list(itertools.combinations(range(self.k), self.size)))
        table = np.zeros((len(sets), self.k), dtype=np.uint8)
        table[np.arange(len(sets))[:, None], sets] = 1
        return self._form(np.packbits(table, axis=1, bitorder="little"))

    def channel(self) -> Matrix:
        """Two probabilities: with the true category, and without."""
        self.check_entries(self.k * math.comb(self.k, self.size))
        having = self.inclusion / math.comb(self.k - 1, self.size - 1)
        lacking = (1 - self.inclusion) / math.comb(self.k - 1, self.size)
        sets = list(itertools.combinations(range(self.k), self.size))
        return [[having if i in members else lacking for members in sets] for i in range(self.k)]

    def words(self) -> str:
        """What leaves the device."""
        return (
            f"a set of {self.size} of {self.k} categories, which holds the true one with probability "
            f"{float(self.inclusion):.4g} and any other one with probability {float(self._other):.4g}"
        )


def _best_size(k: int, ratio: float) -> int:
    """The size of least total variance, (k - 1) q (1 - q) + P (1 - P) over (P - q)^2."""
    size = np.arange(1, max(2, k // 2 + 1), dtype=np.float64)
    p = size * ratio / (size * ratio + k - size)
    q = (size - p) / (k - 1)
    return int(np.argmin(((k - 1) * q * (1 - q) + p * (1 - p)) / (p - q) ** 2)) + 1


def _lists(k: int, included: npt.NDArray[np.bool_], own: npt.NDArray[np.int64], size: int, bits: Bits) -> Places:
    """In each row a uniform set of `size` others, of which the first drawn gives way to `own` where it is included.

    Draws with a repetition are drawn again: what is left is uniform on lists without one.
    """
    rows = np.empty((own.size, size), dtype=np.int64)
    waiting = np.arange(own.size)
    while waiting.size:
        drawn = uniform(k - 1, waiting.size * size, bits).reshape(-1, size)
        rows[waiting] = drawn
        drawn.sort(axis=1)
        waiting = waiting[np.any(drawn[:, 1:] == drawn[:, :-1], axis=1)]
    rows += rows >= own[:, None]  # the others are all but own
    rows[included, 0] = own[included]
    rows.sort(axis=1)
    return rows


def _others(k: int, size: int, wanted: Places, own: Places, bits: Bits) -> Bitmap:
    """In each row a uniform set of `wanted` categories other than `own`; the bit of `own` is left in any state.

    A set of independent coins is uniform given its size, and stays so when members are added or removed uniformly.
    """
    rows = random_bits(Fraction(32 * size // k, 32), own.size, k, bits)
    set_bits(rows, own, np.zeros(own.size, dtype=bool))
    lacking = wanted - np.bitwise_count(rows).sum(axis=1, dtype=np.int64)
    set_bits(rows, own, lacking > 0)  # so that own is neither added nor removed
    flat, start = rows.reshape(-1), np.arange(own.size) * rows.shape[1]
    for toggled, missing in ((0, lacking), (1, -lacking)):
        index = np.flatnonzero(missing > 0)
        _toggle(flat, start[index], missing[index], k, toggled, bits)
    return rows


def _toggle(flat: Bitmap, start: Places, missing: Places, k: int, state: int, bits: Bits) -> None:
    """In the row at each `start`, turn over `missing` bits that are in `state`, each drawn uniformly."""
    while start.size:
        place = uniform(k, start.size, bits)
        shift = (place & 7).astype(np.uint8)
        index = start + (place >> 3)
        found = flat[index]
        fits = (found >> shift & np.uint8(1)) == state
        flat[index] = found ^ (fits.view(np.uint8) << shift)
        missing = missing - fits
        going = missing > 0
        start, missing = start[going], missing[going]
