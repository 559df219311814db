r"""Keys held by enough units: noisy counts of the keys that occur, kept from a threshold on.

Definition.  For each key that occurs, count the units that hold it, add two-sided geometric noise of
scale b, and release the key with its noisy count if that is at least the threshold T >= 2.

Guarantee.   A unit holds at most m keys.  One unit added or removed costs epsilon = m / b and delta =
1 - (1 - d)^m with d = P(1 + Z >= T): the chance that a key held by this unit alone appears, the mass exactly at the
threshold included.  A unit replaced costs twice the epsilon and the same delta.
[KorolovaEtAl2009].  Proof: docs/proofs/key_discovery.md.

Accuracy.    A key held by T + t units is missed with probability P(Z < -t); counts of released keys carry the noise
(and a bias upward near the threshold, since small ones are dropped).

Assumes.     Nothing beyond random bits: the sampler is exact.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from sfumato.errors import ParameterError
from sfumato.mechanisms.mechanism import Answering
from sfumato.mechanisms.noise.gauges import LAPLACE, gauge_claim
from sfumato.mechanisms.noise.law import both_amounts
from sfumato.mechanisms.selection.selection import Counts
from sfumato.numeric import round_up
from sfumato.privacy.guarantees import Approximate, Guarantee, Pure
from sfumato.queries.keys import Keys
from sfumato.randomness import Rng
from sfumato.sampling import DiscreteLaplace

__all__ = ["KeyDiscovery"]


@dataclass(frozen=True, slots=True)
class KeyDiscovery(Answering):
    """Noise of a given scale on every key's count, and the threshold from which keys are shown.

    Proof: docs/proofs/key_discovery.md.
    """

    query: Keys
    scale: float
    threshold: int

    def __post_init__(self) -> None:
        DiscreteLaplace(self.scale)
        if not (isinstance(self.threshold, int) and self.threshold >= 2):
            raise ParameterError(f"threshold must be a whole number of at least 2, got {self.threshold!r}")

    @classmethod
    def calibrate(cls, query: Keys, target: Guarantee) -> KeyDiscovery:
        """The least noise for epsilon, then the least threshold for delta."""
        epsilon, delta = both_amounts(target, "discovering keys")
        scale, _ = LAPLACE.calibrate(_moved(query), Pure(epsilon))
        low, high = 1, 2
        while _delta(scale, high, query.per_unit) > delta:
            low, high = high, 2 * high
        while high - low > 1:
            middle = (low + high) // 2
            enough = _delta(scale, middle, query.per_unit) <= delta
            low, high = (low, middle) if enough else (middle, high)
        return cls(query, scale, high)

    @property
    def noise(self) -> DiscreteLaplace:
        """The law of each count's noise."""
        return DiscreteLaplace(self.scale)

    def guarantee(self, distance: int = 1) -> Approximate:
        """What one release costs between tables `distance` units apart."""
        epsilon = gauge_claim(_moved(self.query), self.scale, 1).epsilon
        return Approximate(epsilon, _delta(self.scale, self.threshold, self.query.per_unit)).group(distance)

    def error(self, beta: float = 0.05) -> float:
        """Keys held by more than this many units are missed with probability at most `beta` each."""
        return float(self.threshold + self.noise.quantile(min(2 * beta, 0.999)))

    def release(self, answer: Counts, rng: Rng) -> Counts:
        """The noisy counts, 0 where the key is withheld.  `answer`: exact counts of the keys that occur."""
        counts = np.asarray(answer)
        if counts.ndim != 1:
            raise ParameterError(
                f"query {self.query.name!r} has one count a key, got an answer of shape {counts.shape}"
            )
        noisy = counts + self.noise.sample(len(counts), rng)
        return np.where(noisy >= self.threshold, noisy, 0)

    def to_record(self) -> dict[str, object]:
        """Public parameters."""
        return {"type": "key-discovery", "scale": self.scale, "threshold": self.threshold}


def _moved(query: Keys) -> int:
    """How many counts of keys that both tables hold can differ by one: a unit's, or two units'."""
    return query.per_unit * (2 if query.replaced else 1)


def _delta(scale: float, threshold: int, per_unit: int) -> float:
    """1 - (1 - P(Z >= T - 1))^m, rounded up; P(Z >= t) = P(|Z| > t - 1) / 2 for t >= 1."""
    one = DiscreteLaplace(scale).tail(threshold - 2) / 2
    return min(round_up(-math.expm1(per_unit * math.log1p(-one)), 8), 1.0) if one < 1 else 1.0
