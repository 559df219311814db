r"""Answers that are public already: released as they are, for nothing.

Definition.  If no unit can move the answer, release it.

Guarantee.   Sensitivity 0: all neighbors give the same output, so the cost is zero.
Proof: docs/proofs/public.md.

Accuracy.    Exact.

Assumes.     That the declared size is what replacement adjacency says it is: public.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sfumato.errors import UnsupportedQuery
from sfumato.mechanisms.noise.additive import Additive, Answerable, Lattice, checked
from sfumato.privacy.guarantees import Guarantee, Pure
from sfumato.randomness import Rng

__all__ = ["Public"]


@dataclass(frozen=True, slots=True)
class _Nothing:
    """The law of no noise."""

    variance: float = 0.0
    mean_absolute: float = 0.0

    def quantile(self, beta: float) -> int:
        """Zero."""
        return 0

    def sample(self, shape: int | tuple[int, ...], rng: Rng) -> Lattice:
        """Zeros."""
        return np.zeros(shape, dtype=np.int64)


@dataclass(frozen=True, slots=True)
class Public(Additive):
    """The exact answer to a query that does not depend on any unit.

    Proof: docs/proofs/public.md.
    """

    query: Answerable

    def __post_init__(self) -> None:
        if self.query.sensitivity("l1") != 0:
            raise UnsupportedQuery(f"query {self.query.name!r} depends on the data; it needs noise")

    @classmethod
    def calibrate(cls, query: Answerable, target: Guarantee) -> Public:
        """The mechanism itself: every target is met."""
        return cls(query)

    @property
    def noise(self) -> _Nothing:
        """The law of no noise."""
        return _Nothing()

    def guarantee(self, distance: int = 1) -> Pure:
        """Nothing, at any distance."""
        return Pure(0.0)

    def error(self, beta: float = 0.05) -> float:
        """Zero."""
        return 0.0

    def release(self, answer: Lattice, rng: Rng) -> Lattice:
        """The answer."""
        return checked(answer, self.query).copy()

    def to_record(self) -> dict[str, object]:
        """Public parameters."""
        return {"type": "public"}
