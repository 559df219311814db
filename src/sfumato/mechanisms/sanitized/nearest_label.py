r"""A category published as near to the truth as any randomizer can, in the metric declared for its column.

The categories, "missing" among them where nothing else takes bad values, go through the channel with the least worst
mean distance (`FiniteChannel`).  What is published is one of them, likelier a near one than a far one; nothing is read
from it without bias.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from sfumato.bounds.randomizers import Losses, least_loss
from sfumato.errors import ParameterError
from sfumato.mechanisms.noise.finite_channel import FiniteChannel
from sfumato.mechanisms.sanitized.categories import distances
from sfumato.mechanisms.sanitized.part import Integers, OneColumn
from sfumato.privacy.guarantees import Approximate, Pure
from sfumato.randomness import Rng
from sfumato.spaces import Space

__all__ = ["NearestLabel", "least_label_distance", "losses"]


@dataclass(frozen=True, slots=True)
class NearestLabel(OneColumn):
    """The best channel on the categories of one column.

    Proof: docs/proofs/sanitization.md.
    """

    column: str
    space: Space
    channel: FiniteChannel

    @classmethod
    def calibrate(cls, column: str, space: Space, target: Pure | Approximate) -> NearestLabel:
        """The channel of least worst mean distance that meets the target."""
        return cls(column, space, FiniteChannel.calibrate(losses(space), target))

    @property
    def mean_error(self) -> float:
        """The worst mean distance, in the declared metric."""
        return self.channel.error() * self.diameter

    @property
    def spread(self) -> float:
        """Nothing is read from it without bias."""
        return math.inf

    def guarantee(self) -> Pure | Approximate:
        """What replacing one record costs."""
        return self.channel.guarantee()

    def release(self, records: Integers, rng: Rng) -> Integers:
        """Each category through the channel."""
        return self.channel.release(self.coerced(records[:, 0]), rng)[:, None]

    def coerced(self, values: Integers) -> Integers:
        """Missing categories stand last."""
        return np.where(values < 0, len(self.channel.losses) - 1, values)

    def decoded(self, noisy: Integers) -> dict[str, Any]:
        """Labels, null for missing."""
        return {self.column: self.space.decoded(noisy[:, 0])}

    def to_record(self) -> dict[str, Any]:
        """Public parameters."""
        return {"type": "nearest-label", "column": self.column, "channel": self.channel.to_record()}

    @classmethod
    def from_record(cls, record: dict[str, Any], space: Space) -> NearestLabel:
        """The part that `to_record` wrote."""
        return cls(record["column"], space, FiniteChannel.from_record(losses(space), record["channel"]))


def losses(space: Space) -> Losses:
    """The declared distances over the largest."""
    found = distances(space)
    if found is None:
        raise ParameterError("the space has no distances; declare them, as in Categories([...], distances=[[...]])")
    return tuple(tuple(one / space.diameter for one in row) for row in found)


def least_label_distance(space: Space, epsilon: float, delta: float) -> float:
    """The least worst mean distance of a category from a published one, over the largest distance.

    The bound is that of an epsilon rounded up: it holds for the smaller, and the program is often solved already.
    """
    return least_loss(losses(space), math.ceil(epsilon * 1e9) / 1e9, delta)
