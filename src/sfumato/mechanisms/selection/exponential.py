r"""The exponential mechanism: choose a candidate with probability falling exponentially in its penalty.

Definition.  Given whole scores q(x, r) for candidates r and a rate c, choose r with probability
proportional to exp(c q(x, r)).  The k best are chosen one after another without repetition, each
cell by itself.

Guarantee.   If one unit changes the scores of all candidates by amounts within `spread` of one another, the
log-probability of each choice moves by at most c * spread: pure epsilon = k c spread, and concentrated
rho = k (c spread)^2 / 8, since the loss ranges over an interval of that length [CesarRogers2021; McSherryTalwar2007];
with `delta` the claim is (epsilon, delta) by that rho.
Proof: docs/proofs/exponential.md.

Accuracy.    P(q < best - t) <= |R| exp(-c t) for each choice [document 004, with the inequality restored].

Assumes.     Nothing beyond random bits: the choice is exact; what floating weights leave open is settled by enclosures.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from sfumato.arguments import instance
from sfumato.mechanisms.mechanism import Answering
from sfumato.mechanisms.selection.selection import (
    Chosen,
    Counts,
    checked_delta,
    checked_rate,
    cost,
    most_popular,
    popularity_error,
    rate_for,
    relaxed_cost,
    relaxed_rate,
)
from sfumato.privacy.guarantees import Approximate, Concentrated, Guarantee, Pure
from sfumato.queries.popular import Popular
from sfumato.randomness import Rng
from sfumato.sampling import choose

__all__ = ["Exponential"]


@dataclass(frozen=True, slots=True)
class Exponential(Answering):
    """Choose the most popular items; the claim is pure, or concentrated if asked for, stated at `delta` if given.

    Proof: docs/proofs/exponential.md.
    """

    query: Popular
    rate: float
    concentrated: bool = False
    delta: float | None = None

    def __post_init__(self) -> None:
        checked_rate(self.rate)
        checked_delta(self.delta, self.concentrated)

    @classmethod
    def calibrate(cls, query: Popular, target: Guarantee) -> Exponential:
        """The sharpest choice that meets `target`."""
        instance("query", query, Popular, "a question about popular items, as bind(sf.top(...), schema) makes it")
        return cls(query, *rate_for(target, query.spread, query.k))

    @classmethod
    def through_rho(cls, query: Popular, target: Guarantee) -> Exponential:
        """The sharpest choice whose concentrated claim meets a target with delta."""
        return cls(query, relaxed_rate(target, query.spread, query.k), True, target.parts()["delta"])

    def guarantee(self, distance: int = 1) -> Pure | Concentrated | Approximate:
        """What one release costs between tables `distance` units apart."""
        spread, rounds = distance * self.query.spread, self.query.k
        if self.delta is not None:
            return replace(relaxed_cost(self.rate, spread, rounds, self.delta), assumptions=self.query.assumptions)
        return replace(cost(self.rate, spread, rounds, self.concentrated), assumptions=self.query.assumptions)

    def error(self, beta: float = 0.05) -> float:
        """How much less popular than the best a choice can be, but for probability `beta` over all choices."""
        return popularity_error(self.query, self.rate, beta)

    def release(self, answer: Counts, rng: Rng) -> Chosen:
        """The positions of the chosen items, of shape (cells, k).  `answer`: exact counts (cells, items)."""
        return most_popular(self.query, answer, lambda excess: choose(excess, self.rate, rng))

    def to_record(self) -> dict[str, object]:
        """Public parameters."""
        stated = {} if self.delta is None else {"delta": self.delta}
        return {"type": "exponential", "rate": self.rate, "concentrated": self.concentrated, **stated}
