r"""Sets of items: each owner pads the set to a public size, draws one entry, and reports it.

Definition.  Of k items an owner holds a set.  A set of fewer than `size` items is filled up with "nothing" to `size`
entries; of a larger one `size` items are kept at random.  One entry is drawn uniformly and reported through a
frequency protocol with k + 1 categories, the last of them "nothing".

Guarantee.   The inner protocol's, for the whole set: whatever the sets, a report is one entry's.

Accuracy.    `size` times the inner frequency is unbiased for the share of owners whose kept items hold it; the
variance is size^2 times the inner one (for owners who are independent draws).  Sets larger than `size` lose items, so
frequencies are then too low: choose `size` where few sets are larger.  [QinEtAl2016, WangLiJha2018]
Proof: docs/proofs/local-questions.md.

Assumes.     Nothing beyond the inner protocol.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from sfumato.errors import ParameterError
from sfumato.local.protocols.drawing import uniform
from sfumato.local.protocols.linear import shares
from sfumato.local.protocols.owned import Names, listed
from sfumato.local.protocols.protocol import Bits, Floats, LocalProtocol, Matrix, Tally, whole_from
from sfumato.local.questions.limits import binomial
from sfumato.local.questions.mapped import Mapped
from sfumato.local.questions.moments import supports
from sfumato.local.questions.oracles import oracle, protocols_from
from sfumato.privacy.guarantees import Approximate, Pure

__all__ = ["Sets"]

MOST_SIZE = 1 << 12


@dataclass(frozen=True, slots=True)
class Sets(Mapped):
    """The share of owners that hold each of k items, of which one holds at most `size`; larger sets lose items.

    Declared as the average, `size` makes shares too low, and intervals do not cover them (`caution`).  A client refuses
    items that are none, or counts them as `other`; in a column given to `randomize` they are dropped.

    >>> apps = Sets.calibrate(50, Pure(2.0), size=4)
    >>> apps.response.cells, apps.guarantee().implies(Pure(2.0))
    (51, True)
    """

    name: ClassVar[str] = "sets"
    goal: ClassVar[str] = "frequencies"
    drawn: ClassVar[bool] = True

    k: int
    size: int
    response: LocalProtocol

    def __post_init__(self) -> None:
        if isinstance(self.size, bool) or not isinstance(self.size, int) or not 1 <= self.size <= MOST_SIZE:
            raise ParameterError(f"size must be a whole number from 1 to {MOST_SIZE}, got {self.size!r}")
        if supports(self.response).k != self.k + 1:
            raise ParameterError(f"response must have {self.k + 1} categories: the items, and nothing")

    @classmethod
    def calibrate(cls, k: int, target: Pure | Approximate, size: int) -> Sets:
        """The protocol of least variance for k items and nothing."""
        if isinstance(k, bool) or not isinstance(k, int) or k < 1:
            raise ParameterError(f"k must be a positive number of items, got {k!r}")
        return cls(k, size, oracle(k + 1, target))

    @property
    def inner(self) -> LocalProtocol:
        """The protocol of k + 1 categories."""
        return self.response

    def owned(self, value: object, names: Names) -> list[int]:
        """A list or set of items, each a label or a position."""
        return [names.position(item, self.k) for item in listed(value, "a list or set of items")]

    def coerce(self, values: object) -> npt.NDArray[np.int64]:
        """The distinct known items of each set in order, filled up with k to one length; what is no set is empty."""
        held = [self._items(value) for value in _listed(values)]
        width = max([self.size, *(len(items) for items in held)])
        return np.array([items + [self.k] * (width - len(items)) for items in held], dtype=np.int64).reshape(-1, width)

    def positions(self, values: npt.ArrayLike, bits: Bits) -> npt.NDArray[np.int64]:
        """One entry of each padded set.  A uniform entry of `size` kept at random is a uniform entry of them all."""
        held = [self._items(value) for value in _listed(values)]
        lengths = np.array([len(items) for items in held], dtype=np.int64)
        entries = np.maximum(lengths, self.size)
        drawn = np.zeros(len(held), dtype=np.int64)
        for count in np.unique(entries):
            rows = np.flatnonzero(entries == count)
            drawn[rows] = uniform(int(count), rows.size, bits)
        chosen = [
            items[place] if place < len(items) else self.k for items, place in zip(held, drawn.tolist(), strict=True)
        ]
        return np.array(chosen, dtype=np.int64)

    def _items(self, value: object) -> list[int]:
        """The distinct known items of a set, in order; anything that is no set is empty."""
        if isinstance(value, str | bytes) or not isinstance(value, Iterable):
            return []
        known = {int(item) for item in value if isinstance(item, int | np.integer) and 0 <= item < self.k}
        return sorted(known)

    def estimate(self, tally: Tally, n: int) -> Floats:
        """The share of owners who hold each item."""
        return self.size * self.response.estimate(tally, n)[: self.k]

    def variance(self, n: int, truth: npt.ArrayLike | None = None) -> Floats:
        """Of each share, for independent owners; `truth` are the shares."""
        held = supports(self.response)
        p, q, gap = float(held.own), float(held.other), held.gap
        if truth is None:
            rate = np.full(self.k, min(max(0.5, q), (p - q) / self.size + q))  # nearest to one half in reach
        else:
            rate = q + gap * shares(truth, self.k) / self.size
        return np.asarray(self.size**2 * rate * (1 - rate) / (gap**2 * n))

    def limits(self, tally: Tally, n: int, beta: float) -> tuple[Floats, Floats]:
        """Proven limits for each share (`limits`)."""
        held = supports(self.response)
        low, high = binomial(np.asarray(tally)[: self.k], n, beta)
        scale = self.size / held.gap
        return np.clip((low - float(held.other)) * scale, 0, 1), np.clip((high - float(held.other)) * scale, 0, 1)

    def channel(self) -> Matrix:
        """A row for each single item and one for the empty set: every set's law is a mixture of inner rows."""
        inner = self.response.channel()
        empty = inner[-1]
        mixed = [[(a + (self.size - 1) * b) / self.size for a, b in zip(row, empty, strict=True)] for row in inner[:-1]]
        return [*mixed, empty]

    def words(self) -> str:
        """What leaves the device."""
        drawn = f"one of the items or nothing, drawn from the set filled up or cut at random to {self.size}"
        return f"{drawn}; then {self.response.words()}"

    def caution(self) -> str:
        """Who holds more than `size` items is heard for some of them only, and no report tells."""
        return (
            f"holds if nobody has more items than {self.size}: larger sets lose items, shares come out low and "
            "intervals do not cover them"
        )

    @classmethod
    def from_record(cls, record: dict[str, Any]) -> Sets:
        """The question that `to_record` wrote."""
        (response,) = protocols_from([record["response"]])
        return cls(whole_from("k", record["k"]), whole_from("size", record["size"]), response)


def _listed(values: object) -> list[Any]:
    if not isinstance(values, list | tuple | np.ndarray):
        raise ParameterError("values must be a list with one set of items for each owner")
    return list(values)
