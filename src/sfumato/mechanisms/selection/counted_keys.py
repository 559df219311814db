r"""Keys held by enough units and their counts, in one stage: one noise finds a key and is the error of its count.

Definition.  `KeyDiscovery`, of which the noisy counts are released as well as the names; a unit is one row, so that
units and rows are the same.

Guarantee.   That of the discovery, whose claim is about the counts too: epsilon and delta are spent once.
Proof: docs/proofs/counted_keys.md.

Accuracy.    `error` is that of the discovery.  Counts carry the noise, given that it carried them over the threshold:
intervals hold for each key given that it is shown.

Assumes.     What the discovery assumes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from sfumato.errors import UnsupportedQuery
from sfumato.mechanisms.mechanism import Answering
from sfumato.mechanisms.selection.key_discovery import KeyDiscovery
from sfumato.privacy.guarantees import Approximate, Guarantee
from sfumato.queries.keys import Found, Keys, KeyView, ShownCounts
from sfumato.randomness import Rng
from sfumato.sampling import DiscreteLaplace

__all__ = ["CountedKeys", "ShownNoise"]

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class ShownNoise:
    """Noise on counts that are shown from a threshold on."""

    law: DiscreteLaplace
    threshold: int

    @property
    def variance(self) -> float:
        """Of counts far above the threshold."""
        return self.law.variance

    @property
    def mean_absolute(self) -> float:
        """Of counts far above the threshold."""
        return self.law.mean_absolute

    def quantile(self, beta: float) -> int:
        """Of counts far above the threshold."""
        return self.law.quantile(beta)

    def ends(self, shown: Floats, beta: float) -> tuple[Floats, Floats]:
        """The true counts that a shown one does not refuse at level beta, given that it is shown."""
        pairs = {count: self._ends(int(count), beta) for count in np.unique(shown).tolist()}
        low, high = (np.array([pairs[count][side] for count in shown.tolist()], dtype=np.float64) for side in (0, 1))
        return low, high

    def _ends(self, shown: int, beta: float) -> tuple[int, int]:
        """By halving: the chance of at least what is shown grows with the true count, that of at most it falls."""
        far = self.law.quantile(min(beta / 4, 0.5)) + 1
        low = _first(lambda true: self._at_least(shown, true) > beta / 2, 1, max(shown, 1))
        high = _first(lambda true: self._at_most(shown, true) <= beta / 2, max(shown, 1), shown + 2 * far) - 1
        return low, max(high, low)

    def _at_least(self, shown: int, true: int) -> float:
        """P(count + Z >= shown, given that it is at least the threshold), rounded up."""
        return min(1.0, self._above(shown - true) / self._above(self.threshold - true) * (1 + 1e-9))

    def _at_most(self, shown: int, true: int) -> float:
        return 1 - self._above(shown + 1 - true) / self._above(self.threshold - true) * (1 - 1e-9)

    def _above(self, z: int) -> float:
        """P(Z >= z)."""
        q = math.exp(-1 / self.law.scale)
        return math.exp(-z / self.law.scale) / (1 + q) if z >= 1 else 1 - math.exp((z - 1) / self.law.scale) / (1 + q)


def _first(holds: Callable[[int], bool], low: int, high: int) -> int:
    """The least number from low to high that has a property which larger ones keep; high where none below has it."""
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle + 1, high)
    return low


@dataclass(frozen=True, slots=True)
class Reading:
    """The counts of these keys, and their noise: what reads a release."""

    query: ShownCounts
    noise: ShownNoise


@dataclass(frozen=True, slots=True)
class CountedKeys(Answering):
    """A discovery whose noisy counts are the answer; of one key a unit.

    Proof: docs/proofs/counted_keys.md.
    """

    query: Keys
    discovery: KeyDiscovery

    def __post_init__(self) -> None:
        if not self.query.counted_alone:
            raise UnsupportedQuery(
                "keys are counted in one stage where a count is asked for by them alone, and a unit is one row"
            )

    @classmethod
    def calibrate(cls, query: Keys, target: Guarantee) -> CountedKeys:
        """All of the target goes to the one noise."""
        return cls(query, KeyDiscovery.calibrate(query, target))

    @property
    def noise(self) -> ShownNoise:
        """The law of each count's noise, and from where on it is shown."""
        return ShownNoise(self.discovery.noise, self.discovery.threshold)

    def over(self, keys: tuple[str, ...]) -> Reading:
        """What reads the counts of these keys."""
        return Reading(self.query.counts(keys), self.noise)

    def guarantee(self, distance: int = 1) -> Approximate:
        """What the discovery costs between tables `distance` units apart."""
        return self.discovery.guarantee(distance)

    def error(self, beta: float = 0.05) -> float:
        """Keys held by at least this many units are missed with probability at most `beta` each."""
        return self.discovery.error(beta)

    def release(self, answer: KeyView, rng: Rng) -> Found:
        """The keys, sorted, with their noisy counts.  `answer` is the secret view of the table."""
        texts, counts = answer.units()
        noisy = self.discovery.release(counts, rng)
        found = sorted((text, int(count)) for text, count in zip(texts, noisy, strict=True) if count)
        keys, shown = tuple(text for text, _ in found), np.array([count for _, count in found], dtype=np.int64)
        return Found(keys, shown)

    def to_record(self) -> dict[str, object]:
        """Public parameters."""
        return {"type": "counted-keys", "scale": self.discovery.scale, "threshold": self.discovery.threshold}

    @classmethod
    def from_record(cls, query: Keys, record: Mapping[str, Any]) -> CountedKeys:
        """The mechanism with the recorded noise and threshold."""
        return cls(query, KeyDiscovery(query, record["scale"], record["threshold"]))
