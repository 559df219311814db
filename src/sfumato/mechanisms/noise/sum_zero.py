r"""Noise that adds up to zero: histograms under replacement, where every row has a cell.

Definition.  For counts f(x) in Z^c whose total is public release f(x) + Z, Z on the whole vectors of sum zero with
P(Z = z) proportional to exp(-||z||_1 / (2 b)): the K-norm mechanism of the differences e_i - e_j [HardtTalwar2010].

Guarantee.   Replacing a row moves one count down and another up by one, so k replacements move f by at most k s in
||.||_1 / 2, s = 1, and cost epsilon = k s / b, pure: the triangle inequality, since the total weight does not depend
on the table.  Proof: docs/proofs/sum_zero.md.

Accuracy.    Exact tails of one count; of all together by the union of their tails.  The total stays exact.

Assumes.     Nothing beyond random bits: the sampler is exact.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from sfumato.errors import UnsupportedQuery
from sfumato.mechanisms.noise.additive import Additive, Answerable, Lattice, checked
from sfumato.mechanisms.noise.gauges import gauge_claim, gauge_scale
from sfumato.mechanisms.noise.law import pure_epsilon
from sfumato.privacy.guarantees import Guarantee, Pure
from sfumato.randomness import Rng
from sfumato.sampling.bodies.sum_zero import OneOfSumZero, SumZeroNoise

__all__ = ["SumZero"]


class Histogram(Answerable, Protocol):
    """Counts of cells; where `total_is_public` each row has a cell, and one unit moves one row to another."""

    @property
    def total_is_public(self) -> bool: ...


@dataclass(frozen=True, slots=True)
class SumZero(Additive):
    """Noise of a given scale on counts, of sum zero.

    Proof: docs/proofs/sum_zero.md.
    """

    query: Histogram
    scale: float

    def __post_init__(self) -> None:
        if not self.query.total_is_public:
            raise UnsupportedQuery(
                f"noise of sum zero needs counts of a public total, {self.query.name!r} has none: use replacement of "
                "rows, declare where missing and unknown values go, and leave no row out"
            )
        _ = self._vectors

    @classmethod
    def calibrate(cls, query: Histogram, target: Guarantee) -> SumZero:
        """The least noisy mechanism that meets `target`."""
        epsilon = pure_epsilon(target, "noise of sum zero")
        return cls(query, gauge_scale(query.sensitivity("l1") / 2, Pure(epsilon), "noise of sum zero"))

    @property
    def noise(self) -> OneOfSumZero:
        """The law of each count's noise."""
        return OneOfSumZero(self._vectors)

    @property
    def _vectors(self) -> SumZeroNoise:
        return SumZeroNoise(self.scale, self.query.dimension)

    def guarantee(self, distance: int = 1) -> Pure:
        """What one release costs between tables `distance` units apart."""
        return gauge_claim(self.query.sensitivity("l1") / 2, self.scale, distance)

    def error(self, beta: float = 0.05) -> float:
        """The largest error of a count, exceeded with probability at most `beta`."""
        return float(self.noise.quantile(beta / self.query.dimension))

    def release(self, answer: Lattice, rng: Rng) -> Lattice:
        """Add the noise.  `answer` is the exact, secret histogram."""
        return np.asarray(checked(answer, self.query) + self._vectors.sample(1, rng)[0])

    def to_record(self) -> dict[str, object]:
        """Public parameters."""
        return {"type": "sum-zero", "scale": self.scale}
