r"""Local hashing: randomized response on a random hash of the category.

Definition.  Write categories as vectors over the field of g elements, x in F^m with g^m >= k.  Draw a in F^m and b in F
uniformly, hash to h(x) = <a, x> + b, and report (a, b, y) with y = h(x) with probability c, else uniform in F.

Guarantee.   epsilon = ln( 1 + c g / (1 - c) ), pure.                                         [WangBlockiLiJha2017]
Proof: docs/proofs/local-categories.md.

Accuracy.    The family is exactly pairwise independent [CarterWegman1979]: for x /= v the pair (h(x), h(v)) is uniform,
so that a report supports another category (h(v) = y) with probability exactly 1/g, its own with p = c + (1 - c)/g.
(count/n - 1/g)/(p - 1/g) is unbiased.  Best near g = e^epsilon + 1.

Assumes.     Nothing beyond random bits: c is a multiple of 2^-62.

Supports are counted from the histogram of (a, y - b): the sum over a of N[a, <a, x>] is taken digit by digit of x, as a
fast transform is, so that counting costs O(n + g^2 k) and not O(n k).
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from sfumato.errors import ParameterError
from sfumato.local.protocols.coercion import positions
from sfumato.local.protocols.drawing import check_coin, check_count, coins, grains, loss, meet, uniform
from sfumato.local.protocols.fields import ORDERS, Field, field
from sfumato.local.protocols.layouts import unsigned
from sfumato.local.protocols.linear import frequencies, frequency_risk, frequency_variance
from sfumato.local.protocols.owned import Names
from sfumato.local.protocols.protocol import Bits, Floats, LocalProtocol, Matrix, Reports, Tally
from sfumato.privacy.guarantees import Approximate, Pure

__all__ = ["LocalHashing"]

MOST = 1 << 20  # categories
CLASSES = 1 << 25  # cells of the histogram of (a, y - b) at most
FEW = 1 << 21  # pairs of a report and a category below which supports are counted one by one


@dataclass(frozen=True, slots=True)
class LocalHashing(LocalProtocol):
    """A hash function and a noisy hash; values outside [0, k) count as the last category.

    Proof: docs/proofs/local-categories.md.

    >>> olh = LocalHashing.calibrate(1024, Pure(1.0))
    >>> olh.g, olh.digits, olh.report_bytes, olh.guarantee().implies(Pure(1.0))
    (4, 5, 2, True)
    """

    name: ClassVar[str] = "olh"
    goal: ClassVar[str] = "frequencies"

    k: int
    g: int
    truthful: Fraction

    def __post_init__(self) -> None:
        check_count("k", self.k, 2, MOST)
        check_coin("truthful", self.truthful)
        if self.g not in ORDERS:
            raise ParameterError(f"g must be a prime power from 2 to 256, got {self.g!r}")
        if self.g ** (self.digits + 1) > CLASSES:
            raise ParameterError(f"g = {self.g} needs too large a histogram for k = {self.k}; take a smaller g")

    @classmethod
    def calibrate(cls, k: int, target: Pure | Approximate) -> LocalHashing:
        """The number of hashes, a prime power, of least total variance."""
        check_count("k", k, 2, MOST)
        sizes = [g for g in ORDERS if g ** (_digits(k, g) + 1) <= CLASSES]
        found = [meet(partial(cls._of_ratio, k, g), target) for g in sizes]
        return min(found, key=lambda protocol: protocol.risk(1))

    @classmethod
    def _of_ratio(cls, k: int, g: int, ratio: Fraction) -> LocalHashing:
        return cls(k, g, grains((ratio - 1) / (g - 1 + ratio)))

    @property
    def digits(self) -> int:
        """m: the length of a category written in base g."""
        return _digits(self.k, self.g)

    @property
    def _own(self) -> Fraction:
        """p: the probability that a report supports its own category."""
        return self.truthful + (1 - self.truthful) / self.g

    def guarantee(self) -> Pure:
        """What one report costs: the hash function says nothing, the hash is randomized response."""
        return Pure(loss(1 + self.truthful * self.g / (1 - self.truthful)))

    def owned(self, value: object, names: Names) -> int:
        """A label, or a position."""
        return names.position(value, self.k)

    def coerce(self, values: npt.ArrayLike) -> npt.NDArray[np.int64]:
        """Positions; everything outside [0, k) counts as the last category."""
        return positions(values, self.k)

    def randomize(self, values: npt.ArrayLike, bits: Bits) -> Reports:
        """The numbers (a g + b) g + y."""
        truth, g = self.coerce(values), self.g
        a, b = uniform(g**self.digits, truth.size, bits), uniform(g, truth.size, bits)
        hashed = np.where(
            coins(self.truthful, truth.size, bits),
            field(g).plus[_inner(field(g), a, truth, self.digits), b],
            uniform(g, truth.size, bits),
        )
        return ((a * g + b) * g + hashed).astype(self.dtype)

    @property
    def dtype(self) -> np.dtype[Any]:
        """One number."""
        return unsigned(self.g ** (self.digits + 2))

    def valid(self, reports: Reports) -> npt.NDArray[np.bool_]:
        """Numbers below g^(m + 2)."""
        return np.asarray(reports < self.g ** (self.digits + 2))

    @property
    def cells(self) -> int:
        """A number of supports for each category."""
        return self.k

    def tally(self, reports: Reports) -> Tally:
        """How many reports support each category."""
        wide, g, table = np.asarray(reports, dtype=np.int64), self.g, field(self.g)
        a, target = wide // (g * g), table.minus[wide % g, wide // g % g]
        if wide.size * self.k <= FEW:
            every = np.arange(self.k)
            hits = _inner(table, a[:, None], every, self.digits) == target[:, None]
            return np.asarray(hits.sum(axis=0, dtype=np.int64))
        histogram = np.bincount(a * g + target, minlength=g ** (self.digits + 1)).astype(np.int64)
        return _supports(table, histogram, self.k, self.digits)

    def estimate(self, tally: Tally, n: int) -> Floats:
        """Unbiased frequencies."""
        return frequencies(tally, n, self._own, Fraction(1, self.g))

    def variance(self, n: int, truth: npt.ArrayLike | None = None) -> Floats:
        """Of each frequency."""
        return frequency_variance(self.k, n, self._own, Fraction(1, self.g), truth)

    def risk(self, n: int) -> float:
        """The total variance, which the data do not change."""
        return frequency_risk(self.k, n, self._own, Fraction(1, self.g))

    def outputs(self) -> Reports:
        """All numbers, in order."""
        return np.arange(self.g ** (self.digits + 2)).astype(self.dtype)

    def channel(self) -> Matrix:
        """p or q for the noisy hash, over the number of hash functions."""
        size = self.g ** (self.digits + 2)
        self.check_entries(self.k * size)
        z, functions = np.arange(size), self.g ** (self.digits + 1)
        a, target = z // self.g**2, field(self.g).minus[z % self.g, z // self.g % self.g]
        hit, miss = self._own / functions, (1 - self.truthful) / self.g / functions
        hashes = _inner(field(self.g), a[:, None], np.arange(self.k), self.digits) == target[:, None]
        return [[hit if h else miss for h in column] for column in hashes.T.tolist()]

    def words(self) -> str:
        """What leaves the device."""
        return (
            f"a random hash function onto {self.g} values, and the hash of the true category with probability "
            f"{float(self._own):.4g}, each other hash with probability {float((1 - self.truthful) / self.g):.4g}"
        )


def _digits(k: int, g: int) -> int:
    digits = 1
    while g**digits < k:
        digits += 1
    return digits


def _inner(table: Field, a: npt.NDArray[np.int64], x: npt.NDArray[np.int64], digits: int) -> npt.NDArray[np.int64]:
    """<a, x> over the field, both given as numbers in base g."""
    g = table.order
    total = table.times[a % g, x % g]
    for i in range(1, digits):
        total = table.plus[total, table.times[a // g**i % g, x // g**i % g]]
    return total


def _supports(table: Field, counts: Tally, k: int, digits: int) -> Tally:
    """For each x the sum over a of counts[a, <a, x>], one digit of x after the other, the highest first."""
    g = table.order
    every = np.arange(g)
    done = counts.reshape(1, g**digits, g)  # axes: digits of x already chosen; digits of a still to sum; what is left
    for left in range(digits, 1, -1):
        used = min(g, -(-k // g ** (left - 1))) if left == digits else g
        parts = done.reshape(len(done), g, g ** (left - 1), g)
        fresh = np.zeros((len(done), used, g ** (left - 1), g), dtype=np.int64)
        for x in range(used):
            for a in every:
                fresh[:, x] += parts[:, a][:, :, table.plus[table.times[a, x]]]
        done = fresh.reshape(-1, g ** (left - 1), g)
    return np.asarray(done[:, every[:, None], table.times].sum(axis=1).reshape(-1)[:k])
