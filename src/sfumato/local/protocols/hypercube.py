r"""Duchi's hypercube: the mean of vectors in a box, by a vertex on the right side more often than on the wrong one.

Definition.  Round each coordinate to an end of its interval at random, without bias: v in {-1, 1}^d.  Draw z in
{-1, 1}^d uniformly, negate it if <z, v> < 0, and negate it once more with probability 1 - P.  Report z.

Guarantee.   epsilon = ln( P/(1 - P) ), pure, for a whole vector replaced  [DuchiJordanWainwright2018].
Proof: docs/proofs/local-numbers.md.

Accuracy.    On [-1, 1]^d, z/B is unbiased with B = (2 P - 1) C(d - 1, floor((d - 1)/2))/2^(d - 1), near
(2 P - 1) sqrt(2/(pi d)); the variance of a coordinate is 1/B^2 - x^2.

Assumes.     Nothing beyond random bits.
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
from sfumato.local.protocols.bitmaps import clean, column_sums, row_bytes
from sfumato.local.protocols.coercion import vectors
from sfumato.local.protocols.drawing import check_coin, check_count, coins, grains, loss, meet, uniform
from sfumato.local.protocols.linear import check_reports
from sfumato.local.protocols.numbers import STEPS, Places, check_interval, places
from sfumato.local.protocols.owned import Names, vector
from sfumato.local.protocols.protocol import Bits, Floats, LocalProtocol, Matrix, Reports, Tally
from sfumato.privacy.guarantees import Approximate, Pure

__all__ = ["Hypercube"]

BLOCK = 1 << 22  # coordinates at a time


@dataclass(frozen=True, slots=True)
class Hypercube(LocalProtocol):
    """Vectors in [low, high]^dimension; a bad coordinate counts as the middle, what is no vector as all middles.

    Proof: docs/proofs/local-numbers.md.

    >>> cube = Hypercube.calibrate(10, -1, 1, Pure(1.0))
    >>> cube.guarantee().implies(Pure(1.0)), cube.report_bytes, round(cube.risk(1) / 10, 1)
    (True, 2, 77.3)
    """

    name: ClassVar[str] = "hypercube"
    goal: ClassVar[str] = "means"

    dimension: int
    low: float
    high: float
    steps: int
    toward: Fraction

    def __post_init__(self) -> None:
        check_count("dimension", self.dimension, 1, 1 << 16)
        check_interval(self.low, self.high)
        check_count("steps", self.steps, 1, 1 << 20)
        check_coin("toward", self.toward)
        if not self.toward > Fraction(1, 2):
            raise ParameterError("toward must exceed 1/2, so that the right side is the likelier one")

    @classmethod
    def calibrate(
        cls, dimension: int, low: float, high: float, target: Pure | Approximate, steps: int = STEPS
    ) -> Hypercube:
        """The greatest P that meets `target`."""
        return meet(lambda ratio: cls(dimension, float(low), float(high), steps, grains(ratio / (1 + ratio))), target)

    def _length(self) -> float:
        """B: the mean of z is B v."""
        d = self.dimension
        return float((2 * self.toward - 1) * Fraction(math.comb(d - 1, (d - 1) // 2), 2 ** (d - 1)))

    def guarantee(self) -> Pure:
        """What one report costs: the right half of the cube against the wrong one."""
        return Pure(loss(self.toward / (1 - self.toward)))

    def owned(self, value: object, names: Names) -> list[float]:
        """A vector of this dimension."""
        return vector(value, self.dimension)

    def coerce(self, values: npt.ArrayLike) -> Places:
        """Places on the lattice, a row a person."""
        return places(vectors(values, self.dimension), self.low, self.high, self.steps)

    def randomize(self, values: npt.ArrayLike, bits: Bits) -> Reports:
        """Bitmaps of the signs, a one for +."""
        place = self.coerce(values)
        out = np.empty((len(place), self.columns), dtype=np.uint8)
        step = max(1, BLOCK // self.dimension)
        for start in range(0, len(place), step):
            chunk = place[start : start + step]
            vertex = uniform(self.steps, chunk.size, bits).reshape(chunk.shape) < chunk
            z = uniform(2, chunk.size, bits).reshape(chunk.shape) == 1
            wrong = 2 * np.count_nonzero(z == vertex, axis=1) < self.dimension
            turned = wrong ^ ~coins(self.toward, len(chunk), bits)
            out[start : start + step] = np.packbits(z ^ turned[:, None], axis=1, bitorder="little")
        return out

    @property
    def dtype(self) -> np.dtype[Any]:
        """Bytes of eight signs, the first lowest."""
        return np.dtype(np.uint8)

    @property
    def columns(self) -> int:
        """Bytes in a report."""
        return row_bytes(self.dimension)

    def valid(self, reports: Reports) -> npt.NDArray[np.bool_]:
        """No bits beyond the last coordinate."""
        return clean(reports, self.dimension)

    @property
    def cells(self) -> int:
        """A count for each coordinate."""
        return self.dimension

    def tally(self, reports: Reports) -> Tally:
        """How many reports are positive in each coordinate."""
        return column_sums(reports, self.dimension)

    def estimate(self, tally: Tally, n: int) -> Floats:
        """Unbiased means of all coordinates."""
        check_reports(n)
        mean = (2 * np.asarray(tally, dtype=np.float64) / n - 1) / self._length()
        return self.low + (mean + 1) / 2 * (self.high - self.low)

    def variance(self, n: int, truth: npt.ArrayLike | None = None) -> Floats:
        """Of each mean; `truth` holds vectors, each standing for an equal share of the people."""
        check_reports(n)
        squares: Floats = np.zeros(self.dimension)
        if truth is not None:
            squares = ((2 * self.coerce(truth) / self.steps - 1) ** 2).mean(axis=0)
        elif self.steps % 2:
            squares = np.full(self.dimension, 1 / self.steps**2)
        return (1 / self._length() ** 2 - squares) * ((self.high - self.low) / 2) ** 2 / n

    def risk(self, n: int) -> float:
        """The sum of the variances, at its worst in the middle."""
        return float(self.variance(n).sum())

    def outputs(self) -> Reports:
        """All vertices, in the order of the numbers they spell."""
        self.check_entries(1 << min(2 * self.dimension, 30))
        return np.arange(1 << self.dimension, dtype="<u8").view(np.uint8).reshape(-1, 8)[:, : self.columns]

    def channel(self) -> Matrix:
        """A row for each vertex v: every other value mixes them."""
        self.check_entries(1 << min(2 * self.dimension, 30))
        weight = {1: 2 * self.toward, 0: Fraction(1), -1: 2 * (1 - self.toward)}
        signs = [tuple(reversed(z)) for z in itertools.product((-1, 1), repeat=self.dimension)]
        return [
            [weight[int(np.sign(sum(a * b for a, b in zip(z, v, strict=True))))] / 2**self.dimension for z in signs]
            for v in signs
        ]

    def words(self) -> str:
        """What leaves the device."""
        return (
            f"{self.dimension} random signs, which point the way of the vector (clipped to "
            f"[{self.low:g}, {self.high:g}]) with probability {float(self.toward):.4g} and the other way otherwise"
        )
