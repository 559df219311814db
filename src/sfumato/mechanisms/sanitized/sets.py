r"""A set of public items, each item's presence flipped at random.

Two sets differ in at most `diameter` = min(2 cap, items) places, so flipping each bit by randomized response with
epsilon / diameter costs epsilon in all, and delta likewise.  A missing set is the empty one.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa

from sfumato.mechanisms.noise.randomized_response import RandomizedResponse
from sfumato.mechanisms.sanitized.part import Integers, OneColumn, Reading, telling
from sfumato.numeric import ceil_float, floor_float
from sfumato.privacy.guarantees import Approximate, Pure
from sfumato.randomness import Rng
from sfumato.sampling import bernoulli
from sfumato.spaces import Categories, Label, Space

__all__ = ["Flipped"]

BIT = Categories((0, 1))


@dataclass(frozen=True, slots=True)
class Flipped(OneColumn):
    """Randomized response on each item of a set; sets are whole numbers with one bit an item.

    Proof: docs/proofs/sanitization.md.
    """

    column: str
    space: Space
    response: RandomizedResponse

    @classmethod
    def calibrate(cls, column: str, space: Space, target: Pure | Approximate) -> Flipped:
        """An equal share of the target for each place where two sets can differ."""
        places = int(space.diameter)
        if target.delta > 0:
            share: Pure | Approximate = Approximate(_share(target.epsilon, places), _share(target.delta, places))
        else:
            share = Pure(_share(target.epsilon, places))
        return cls(column, space, telling(RandomizedResponse.calibrate(BIT, share), column))

    @property
    def items(self) -> tuple[Label, ...]:
        """The public items."""
        return self.space.items or ()

    @property
    def mean_error(self) -> float:
        """The mean symmetric difference of the published set from the true one: all items may flip."""
        return float(self.response.p) * len(self.items)

    @property
    def spread(self) -> float:
        """Of the presence of one item."""
        return self.reading(self.items[0])[3]

    def guarantee(self) -> Pure | Approximate:
        """What replacing one record costs: as many responses as two sets have differences."""
        one, places = self.response.guarantee(), int(self.diameter)
        epsilon = ceil_float(Fraction(one.epsilon) * places)
        return Approximate(epsilon, ceil_float(Fraction(one.delta) * places)) if one.delta else Pure(epsilon)

    def release(self, records: Integers, rng: Rng) -> Integers:
        """Each record's bits, flipped independently."""
        held = self.coerced(records[:, 0])
        places = np.arange(len(self.items))
        flips = np.asarray(bernoulli(self.response.p, (len(held), len(places)), rng)).astype(np.int64)
        return np.asarray((held ^ (flips << places).sum(axis=1))[:, None])

    def coerced(self, values: Integers) -> Integers:
        """A missing set is empty."""
        return np.maximum(values, 0)

    def decoded(self, noisy: Integers) -> dict[str, Any]:
        """Lists of items, in the order they are declared."""
        bits = (noisy[:, [0]] >> np.arange(len(self.items))) & 1
        rows, places = np.nonzero(bits)
        offsets = np.searchsorted(rows, np.arange(len(noisy) + 1))
        items = pa.array(self.items).take(pa.array(places))
        kind = pa.list_(pa.field("element", items.type))  # as Parquet names it, so that stored bytes read back the same
        return {self.column: pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), items, type=kind)}

    def reading(self, item: object) -> Reading:
        """The unbiased reading of "the set holds this item"."""
        p, place = float(self.response.p), self.items.index(item)
        low, high = -p / (1 - 2 * p), (1 - p) / (1 - 2 * p)
        variance = p * (1 - p) / (1 - 2 * p) ** 2
        return lambda values: np.where((values >> place) & 1, high, low), low, high, variance

    def to_record(self) -> dict[str, Any]:
        """Public parameters."""
        return {
            "type": "flipped", "column": self.column, "p": str(self.response.p), "delta": self.response.delta,
        }  # fmt: skip

    @classmethod
    def from_record(cls, record: dict[str, Any], space: Space) -> Flipped:
        """The part that `to_record` wrote."""
        return cls(record["column"], space, RandomizedResponse(BIT, Fraction(record["p"]), record["delta"]))


def _share(amount: float, places: int) -> float:
    """A share of which `places` do not exceed the amount."""
    return floor_float(Fraction(amount) / places)
