r"""PrivUnit: the mean of vectors in the Euclidean unit ball, by a unit vector from the right cap.

Definition.  A vector x of length at most one becomes the unit vector u = +-x/|x|, with mean x.  Draw v uniformly from
the cap {<v, u> >= gamma} with probability P, else from the rest of the sphere; report v, each coordinate rounded at
random, without bias, to one of 65,536 steps.

Guarantee.   epsilon = ln( P (1 - q) / ((1 - P) q) ), q the measure of the cap  [BhowmickEtAl2018].
Proof: docs/proofs/local-numbers.md.

Accuracy.    v/m is unbiased, m = E<v, u>; the total variance is 1/m^2 - |x|^2, of order d/min(epsilon, epsilon^2).

Assumes.     real-arithmetic: v is drawn in floating point.  The cap's measure is bounded on both sides, and the claim
takes the worse one.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from sfumato.errors import ParameterError, UnsupportedQuery
from sfumato.local.protocols.caps import Cap, cap, choose_cap
from sfumato.local.protocols.coercion import vectors
from sfumato.local.protocols.drawing import check_coin, check_count, check_target, coins, grains, loss, meet
from sfumato.local.protocols.floating import normals, units
from sfumato.local.protocols.linear import check_reports
from sfumato.local.protocols.owned import Names, vector
from sfumato.local.protocols.protocol import Bits, Floats, LocalProtocol, Matrix, Reports, Tally
from sfumato.privacy.guarantees import Approximate, Pure

__all__ = ["PrivUnit"]

LEVELS = 65_535  # steps of a reported coordinate from -1 to 1
BLOCK = 1 << 20  # coordinates at a time
LEAST = 1e-290  # measures of caps below this lose digits to underflow


@dataclass(frozen=True, slots=True)
class PrivUnit(LocalProtocol):
    """Vectors of length at most one; longer ones are shortened, what is no finite vector counts as zero.

    Proof: docs/proofs/local-numbers.md.

    >>> unit = PrivUnit.calibrate(16, Pure(4.0, assumptions=frozenset(["real-arithmetic"])))
    >>> unit.guarantee().epsilon <= 4.0, unit.report_bytes, round(unit.risk(1), 1)
    (True, 32, 7.3)
    """

    name: ClassVar[str] = "privunit"
    goal: ClassVar[str] = "means"

    dimension: int
    gamma: float
    toward: Fraction

    def __post_init__(self) -> None:
        check_count("dimension", self.dimension, 3, 1 << 14)
        check_coin("toward", self.toward)
        if not 0 <= self.gamma < 1:
            raise ParameterError(f"gamma must lie in [0, 1), got {self.gamma!r}")
        if not self._cap.low > LEAST:
            raise ParameterError(f"gamma = {self.gamma!r} leaves a cap too small to measure; take a smaller one")
        if not self.toward > Fraction(self._cap.high):
            raise ParameterError("toward must exceed the measure of the cap")

    @classmethod
    def calibrate(cls, dimension: int, target: Pure | Approximate) -> PrivUnit:
        """The cap of least variance, and the greatest P that meets `target`, which must allow real-arithmetic."""
        check_count("dimension", dimension, 3, 1 << 14)
        check_target(target)
        if "real-arithmetic" not in target.assumptions:
            raise UnsupportedQuery("privunit draws floating-point vectors; allow the assumption 'real-arithmetic'")
        gamma = choose_cap(dimension, math.exp(min(target.epsilon, 30.0)))
        q = Fraction(cap(dimension, gamma).low)
        return meet(lambda ratio: cls(dimension, gamma, grains(ratio * q / (1 - q + ratio * q))), target)

    @property
    def _cap(self) -> Cap:
        return cap(self.dimension, self.gamma)

    @property
    def _length(self) -> float:
        """m = E<v, u>."""
        p, q = float(self.toward), self._cap.middle
        return self._cap.first * (p / q - (1 - p) / (1 - q))

    def guarantee(self) -> Pure:
        """What one report costs, with the least measure that the cap can have."""
        q = Fraction(self._cap.low)
        ratio = self.toward * (1 - q) / ((1 - self.toward) * q)
        return Pure(loss(ratio), assumptions=frozenset(["real-arithmetic"]))

    def owned(self, value: object, names: Names) -> list[float]:
        """A vector of this dimension."""
        return vector(value, self.dimension)

    def coerce(self, values: npt.ArrayLike) -> npt.NDArray[np.int64]:
        """The vectors that count, in steps of the report."""
        return np.rint(self._ball(values) * LEVELS).astype(np.int64)

    def _ball(self, values: npt.ArrayLike) -> Floats:
        rows = vectors(values, self.dimension)
        rows = np.where(np.isfinite(rows).all(axis=1, keepdims=True), rows, 0.0)
        largest = np.maximum(np.abs(rows).max(axis=1, keepdims=True), 1.0)
        rows = rows / largest  # no overflow in the squares
        length = np.sqrt((rows**2).sum(axis=1, keepdims=True))
        return np.asarray(rows / np.maximum(length, 1 / largest))

    def randomize(self, values: npt.ArrayLike, bits: Bits) -> Reports:
        """Unit vectors in steps, shifted to be positive."""
        rows = self._ball(values)
        out = np.empty(rows.shape, dtype=self.dtype)
        step = max(1, BLOCK // self.dimension)
        for start in range(0, len(rows), step):
            u = _directions(rows[start : start + step], bits)
            v = self._caps(u, bits)
            exact = np.clip((v + 1) / 2, 0.0, 1.0) * LEVELS
            up = units(exact.size, bits).reshape(exact.shape) < exact - np.floor(exact)
            out[start : start + step] = np.floor(exact) + up
        return out

    def _caps(self, u: Floats, bits: Bits) -> Floats:
        """A vector from the cap around each u, or from the rest of the sphere."""
        inside = coins(self.toward, len(u), bits)
        height = np.empty(len(u))
        height[inside] = self._cap.heights(int(np.count_nonzero(inside)), bits)
        across = np.empty_like(u)
        waiting = np.arange(len(u))
        while waiting.size:
            g, around = normals(waiting.size * self.dimension, bits).reshape(-1, self.dimension), u[waiting]
            along = (g * around).sum(axis=1)
            rest = g - along[:, None] * around
            side = np.sqrt((rest**2).sum(axis=1))
            t = along / np.hypot(along, side)
            fits = inside[waiting] | (t < self.gamma)
            done = waiting[fits]
            across[done] = rest[fits] / side[fits, None]
            height[done] = np.where(inside[done], height[done], t[fits])
            waiting = waiting[~fits]
        return height[:, None] * u + np.sqrt(np.maximum(0.0, 1 - height**2))[:, None] * across

    @property
    def dtype(self) -> np.dtype[Any]:
        """Steps from 0 to 65,535."""
        return np.dtype("<u2")

    @property
    def columns(self) -> int:
        """A number for each coordinate."""
        return self.dimension

    def valid(self, reports: Reports) -> npt.NDArray[np.bool_]:
        """Vectors whose length is one, up to their rounding."""
        v = 2 * np.asarray(reports, dtype=np.float64) / LEVELS - 1
        slack = 2 * math.sqrt(self.dimension) * 2 / LEVELS
        return np.asarray(np.abs(np.sqrt((v**2).sum(axis=1)) - 1) <= slack)

    @property
    def cells(self) -> int:
        """A sum for each coordinate."""
        return self.dimension

    def tally(self, reports: Reports) -> Tally:
        """The sums of the coordinates, in half steps around zero."""
        return np.asarray(2 * reports.sum(axis=0, dtype=np.int64) - LEVELS * len(reports))

    def estimate(self, tally: Tally, n: int) -> Floats:
        """Unbiased means of all coordinates."""
        check_reports(n)
        return np.asarray(tally, dtype=np.float64) / (LEVELS * n * self._length)

    def variance(self, n: int, truth: npt.ArrayLike | None = None) -> Floats:
        """Of each mean, but for the rounding of the report; `truth` holds vectors, each for an equal share."""
        check_reports(n)
        p, q, d = float(self.toward), self._cap.middle, self.dimension
        along = p * self._cap.second / q + (1 - p) * (1 / d - self._cap.second) / (1 - q)
        across = (1 - along) / (d - 1)
        if truth is None:
            return np.full(d, max(along, across) / (n * self._length**2))
        x = self._ball(truth)
        length = np.maximum(np.sqrt((x**2).sum(axis=1, keepdims=True)), 1e-300)
        u2 = np.where(length > 1e-300, (x / length) ** 2, np.eye(d)[0])
        square = (along * u2 + across * (1 - u2)) / self._length**2
        return np.asarray((square - x**2).mean(axis=0) / n)

    def risk(self, n: int) -> float:
        """The sum of the variances, at its worst for x = 0."""
        check_reports(n)
        return 1 / (n * self._length**2)

    def outputs(self) -> Reports:
        """Refused: a sphere is not a list."""
        raise UnsupportedQuery("privunit reports points of a sphere; its channel is not a finite matrix")

    def channel(self) -> Matrix:
        """Refused: a sphere is not a list."""
        raise UnsupportedQuery("privunit reports points of a sphere; its channel is not a finite matrix")

    def words(self) -> str:
        """What leaves the device."""
        return (
            f"a random unit vector of {self.dimension} coordinates, within the cap of the sphere around the true "
            f"direction with probability {float(self.toward):.4g}, elsewhere otherwise"
        )


def _directions(rows: Floats, bits: Bits) -> Floats:
    """u = +-x/|x| with mean x; the zero vector takes the first axis."""
    largest = np.abs(rows).max(axis=1, keepdims=True)
    axis = np.zeros(rows.shape[1])
    axis[0] = 1.0
    shape = np.where(largest > 0, rows / np.where(largest > 0, largest, 1.0), axis)  # squares neither vanish nor round
    size = np.sqrt((shape**2).sum(axis=1, keepdims=True))
    forward = units(len(rows), bits)[:, None] < (1 + size * largest) / 2
    return np.asarray(np.where(forward, shape, -shape) / size)
