r"""A number published as near to the truth as any randomizer can: the best channel by linear program.

A number is rounded to the nearest of at most 33 (17, among other columns) evenly spread values of its range, and these
go through the channel with the least worst mean distance (`FiniteChannel`); with a delta the rounded number is shown
with that probability.  What is published lies in the range, and its mean is not the true number: nothing is read
from it without bias.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from sfumato.bounds.randomizers import line_losses, spread_out
from sfumato.mechanisms.noise.finite_channel import FiniteChannel
from sfumato.mechanisms.sanitized.part import Integers, OneColumn
from sfumato.privacy.guarantees import Approximate, Pure
from sfumato.randomness import Rng
from sfumato.spaces import Numeric

__all__ = ["Nearest"]


@dataclass(frozen=True, slots=True)
class Nearest(OneColumn):
    """The best channel on evenly spread places of one number's range.

    Proof: docs/proofs/sanitization.md.
    """

    column: str
    space: Numeric
    places: tuple[int, ...]
    channel: FiniteChannel

    @classmethod
    def calibrate(cls, column: str, space: Numeric, target: Pure | Approximate, points: int) -> Nearest:
        """The channel of least worst mean distance that meets the target."""
        places = spread_out(space.lattice.width, points)
        return cls(column, space, places, FiniteChannel.calibrate(line_losses(places), target))

    @property
    def mean_error(self) -> float:
        """The worst mean distance over all numbers: it is convex between roundings, so their ends suffice."""
        ends = self._ends()
        low, high = np.array([0, *(end + 1 for end in ends)]), np.array([*ends, self.space.lattice.width])
        places = np.array(self.places)
        worst = max(float(self.channel.means(np.abs(end[:, None] - places)).max()) for end in (low, high))
        return worst * float(self.space.lattice.step)

    @property
    def spread(self) -> float:
        """Nothing is read from it without bias."""
        return math.inf

    def guarantee(self) -> Pure | Approximate:
        """What replacing one record costs."""
        return self.channel.guarantee()

    def release(self, records: Integers, rng: Rng) -> Integers:
        """Each number, rounded, through the channel."""
        rounded = np.searchsorted(np.array(self._ends(), dtype=np.int64), self.coerced(records[:, 0]), side="left")
        return np.array(self.places, dtype=np.int64)[self.channel.release(rounded, rng)][:, None]

    def coerced(self, values: Integers) -> Integers:
        """A missing number is the middle of its range, unless the schema imputes another."""
        return np.where(values < 0, self.space.lattice.width // 2, values)

    def decoded(self, noisy: Integers) -> dict[str, Any]:
        """Numbers inside the range."""
        return {self.column: self.space.decoded(noisy[:, 0])}

    def to_record(self) -> dict[str, Any]:
        """Public parameters."""
        return {
            "type": "nearest", "column": self.column, "places": [*self.places], "channel": self.channel.to_record(),
        }  # fmt: skip

    @classmethod
    def from_record(cls, record: dict[str, Any], space: Numeric) -> Nearest:
        """The part that `to_record` wrote."""
        places = tuple(record["places"])
        return cls(record["column"], space, places, FiniteChannel.from_record(line_losses(places), record["channel"]))

    def _ends(self) -> list[int]:
        """The last number that is rounded to each place but the last."""
        return [(low + high) // 2 for low, high in zip(self.places, self.places[1:], strict=False)]
