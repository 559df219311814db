r"""Sampled coordinates: one coordinate of a vector, drawn at random, reported by a protocol for numbers.

Definition.  Draw j uniformly among d coordinates; report j and the inner protocol's report of coordinate j.

Guarantee.   The inner protocol's, for a whole vector replaced: j says nothing.   Proof: docs/proofs/local-numbers.md.

Accuracy.    d times the inner estimate where j was drawn, and 0 elsewhere (around the middle), is unbiased; with inner
variance s^2 a coordinate has variance d (s^2 + x^2) - x^2, over n.  With the best inner protocol it has at
most 2/pi of the hypercube's variance in many dimensions.

Assumes.     What the inner protocol assumes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from sfumato.errors import ParameterError
from sfumato.local.protocols.coercion import vectors
from sfumato.local.protocols.drawing import check_count, uniform
from sfumato.local.protocols.duchi import Duchi
from sfumato.local.protocols.hybrid import Hybrid
from sfumato.local.protocols.layouts import unsigned
from sfumato.local.protocols.linear import check_reports
from sfumato.local.protocols.numbers import Number
from sfumato.local.protocols.owned import Names, vector
from sfumato.local.protocols.protocol import Bits, Floats, LocalProtocol, Matrix, Places, Reports, Tally
from sfumato.local.protocols.window import OptimizedWindow
from sfumato.privacy.guarantees import Approximate, Pure

__all__ = ["SampledCoordinates"]


@dataclass(frozen=True, slots=True)
class SampledCoordinates(LocalProtocol):
    """Vectors of `dimension` numbers, one of which is reported by `inner`, a protocol for a mean.

    Proof: docs/proofs/local-numbers.md.

    >>> sampled = SampledCoordinates.calibrate(10, -1, 1, Pure(1.0))
    >>> sampled.guarantee().implies(Pure(1.0)), sampled.inner.name, round(sampled.risk(1) / 10, 1)
    (True, 'duchi', 46.8)
    """

    name: ClassVar[str] = "coordinates"
    goal: ClassVar[str] = "means"

    dimension: int
    inner: Number | Hybrid

    def __post_init__(self) -> None:
        check_count("dimension", self.dimension, 1, 1 << 16)
        if not isinstance(self.inner, Number | Hybrid):
            raise ParameterError("inner must be a protocol for the mean of numbers")

    @classmethod
    def calibrate(cls, dimension: int, low: float, high: float, target: Pure | Approximate) -> SampledCoordinates:
        """The inner protocol of least variance."""
        found = [cls(dimension, kind.calibrate(low, high, target)) for kind in (Duchi, Hybrid, OptimizedWindow)]
        return min(found, key=lambda protocol: protocol.risk(1))

    @property
    def _bounds(self) -> tuple[float, float]:
        return self.inner.low, self.inner.high

    def guarantee(self) -> Pure | Approximate:
        """What one report costs."""
        return self.inner.guarantee()

    def owned(self, value: object, names: Names) -> list[float]:
        """A vector of this dimension."""
        return vector(value, self.dimension)

    def coerce(self, values: npt.ArrayLike) -> npt.NDArray[np.int64]:
        """Places of all coordinates on the inner lattice, a row a person."""
        rows = vectors(values, self.dimension)
        return self.inner.coerce(rows.reshape(-1)).reshape(rows.shape)

    def randomize(self, values: npt.ArrayLike, bits: Bits) -> Reports:
        """The coordinate, and the inner report."""
        rows = vectors(values, self.dimension)
        chosen = uniform(self.dimension, len(rows), bits)
        inner = self.inner.randomize(rows[np.arange(len(rows)), chosen], bits)
        return self._pairs(chosen, inner)

    def _pairs(self, chosen: Places, inner: Reports) -> Reports:
        """Each in its own integers: one array for both would pass through floats."""
        out = np.empty((len(chosen), 2), dtype=self.dtype)
        out[:, 0], out[:, 1] = chosen, inner
        return out

    @property
    def dtype(self) -> np.dtype[Any]:
        """Wide enough for both."""
        return max(unsigned(self.dimension), self.inner.dtype, key=lambda kind: kind.itemsize)

    @property
    def columns(self) -> int:
        """The coordinate, and the inner report."""
        return 2

    def valid(self, reports: Reports) -> npt.NDArray[np.bool_]:
        """A coordinate there is, and a report that the inner protocol can have sent."""
        return np.asarray((reports[:, 0] < self.dimension) & self.inner.valid(reports[:, 1]))

    @property
    def cells(self) -> int:
        """For each coordinate a count and an inner tally."""
        return self.dimension * (1 + self.inner.cells)

    def tally(self, reports: Reports) -> Tally:
        """For each coordinate how often it was drawn, and the inner tally of its reports."""
        order = np.argsort(reports[:, 0], kind="stable")
        ends = np.searchsorted(reports[order, 0], np.arange(self.dimension + 1))
        out = np.zeros((self.dimension, 1 + self.inner.cells), dtype=np.int64)
        for j in range(self.dimension):
            part = reports[order[ends[j] : ends[j + 1]], 1]
            out[j, 0] = part.size
            if part.size:
                out[j, 1:] = self.inner.tally(part.astype(self.inner.dtype))
        return out.reshape(-1)

    def estimate(self, tally: Tally, n: int) -> Floats:
        """Unbiased means of all coordinates."""
        check_reports(n)
        low, high = self._bounds
        middle, found = (low + high) / 2, np.zeros(self.dimension)
        for j, (count, *inner) in enumerate(np.asarray(tally).reshape(self.dimension, -1).tolist()):
            if count:
                found[j] = count * (self.inner.estimate(np.array(inner), count)[0] - middle)
        return middle + found * self.dimension / n

    def variance(self, n: int, truth: npt.ArrayLike | None = None) -> Floats:
        """Of each mean; `truth` holds vectors, each standing for an equal share of the people."""
        check_reports(n)
        d, (low, high) = self.dimension, self._bounds
        if truth is None:  # d (s^2 + x^2) - x^2, at its greatest
            return np.full(d, d * self.inner.peak(1 / d) / n)
        rows = vectors(truth, d)
        values = np.clip(np.where(np.isnan(rows), (low + high) / 2, rows), low, high)
        inner = np.array([self.inner.variance(1, column)[0] for column in values.T])
        return np.asarray((d * inner + (d - 1) * ((values - (low + high) / 2) ** 2).mean(axis=0)) / n)

    def risk(self, n: int) -> float:
        """The sum of the variances for the worst data."""
        return float(self.variance(n).sum())

    def outputs(self) -> Reports:
        """All coordinates with all inner reports, in order."""
        inner = self.inner.outputs()
        first = np.repeat(np.arange(self.dimension), inner.size)
        return self._pairs(first, np.tile(inner, self.dimension))

    def channel(self) -> Matrix:
        """A row for each inner value, held by all coordinates: others take each coordinate's part from such rows."""
        rows = self.inner.channel()
        self.check_entries(len(rows) * len(rows[0]) * self.dimension)
        return [[p / self.dimension for _ in range(self.dimension) for p in row] for row in rows]

    def words(self) -> str:
        """What leaves the device."""
        return f"which of {self.dimension} coordinates was drawn at random, and for it {self.inner.words()}"
