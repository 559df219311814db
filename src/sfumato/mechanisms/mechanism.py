"""The contract of a mechanism: calibrated from public quantities, it states its claim and error, and releases once.

Every mechanism of the closed list `mechanisms.MECHANISMS` keeps it, whatever it releases: noisy numbers, chosen items,
a curve, discovered keys, a whole table.  The laws are run on each of them by tests/contracts/test_mechanisms.py.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol, Self, runtime_checkable

from sfumato.accounting.laws import Law
from sfumato.privacy.guarantees import Guarantee
from sfumato.queries.question import Source
from sfumato.randomness import Rng

__all__ = ["Answering", "KnowsLoss", "Mechanism", "loss_of"]


class Mechanism(Protocol):
    """A frozen value that turns the exact answer of one question into something public.

    `query` is the question in the form in which this mechanism answers it: the question itself, or one shaped for its
    noise.  Equal parameters make an equal mechanism.  No class needs to be inherited from.
    """

    @property
    def query(self) -> Any:
        """What it answers."""

    @classmethod
    def calibrate(cls, query: Any, target: Guarantee) -> Self:
        """The best mechanism of this kind for a question that meets the target; `UnsupportedQuery` if none does."""

    def guarantee(self, distance: int = 1) -> Guarantee:
        """What one release costs between tables `distance` units apart; nothing at distance 0."""

    def loss(self, distance: int = 1) -> Law | None:
        """A pair of laws that dominates one release, for batches; None where only the claim's worst pair is known."""

    def error(self, beta: float = 0.05) -> float:
        """A bound on the error, in the units that the module states, exceeded with probability at most `beta`."""

    def take(self, table: Source) -> object:
        """What `release` takes of a table, exact and secret: mostly `self.query.answer(table)`.

        A mechanism that measures something below the answer (a histogram) takes that; an adaptive one takes a secret
        view, and asks it for what its own outputs so far make it want.
        """

    def release(self, answer: Any, rng: Rng) -> Any:
        """The public output.  `answer` is what `take` took, and is left as it was."""

    def to_record(self) -> dict[str, object]:
        """Public parameters as plain values, under `type` the stored name."""

    @classmethod
    def from_record(cls, query: Any, record: Mapping[str, Any]) -> Self:
        """The mechanism of a question that `to_record` described; whatever does not fit is refused."""


class Answering:
    """What most mechanisms share: they take the answer of their question, and their record holds their fields."""

    __slots__ = ()

    query: Any

    def loss(self, distance: int = 1) -> Law | None:
        """No better pair is known than the worst that the claim allows."""
        return None

    def take(self, table: Source) -> Any:
        """The exact, secret answer of the question."""
        return self.query.answer(table)

    @classmethod
    def from_record(cls, query: Any, record: Mapping[str, Any]) -> Self:
        """The mechanism with the recorded fields."""
        return cls(query, **{name: value for name, value in record.items() if name != "type"})  # type: ignore[call-arg]


@runtime_checkable
class KnowsLoss(Protocol):
    """A mechanism that knows more of its privacy loss than its claim says."""

    def loss(self, distance: int = 1) -> Law | None:
        """A law of losses that covers one release between any two such tables, both ways; none if unknown."""


def loss_of(mechanism: object) -> Law | None:
    """The law of losses that a mechanism knows; none where the worst pair of its claim stands for it."""
    return mechanism.loss() if isinstance(mechanism, KnowsLoss) else None
