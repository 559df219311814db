r"""The exponential mechanism: choose a candidate with probability falling exponentially in its penalty.

Definition.  Given whole scores q(x, r) for candidates r and a rate c, choose r with probability
proportional to exp(c q(x, r)).  The k best are chosen one after another without repetition, each
cell by itself.

Guarantee.   If one unit changes the scores of all candidates by amounts within `spread` of one another, the
log-probability of each choice moves by at most c * spread: pure epsilon = k c spread, and concentrated
rho = k (c spread)^2 / 8, since the loss ranges over an interval of that length [CesarRogers2021; McSherryTalwar2007].
Proof: docs/proofs/exponential.md.

Accuracy.    P(q < best - t) <= |R| exp(-c t) for each choice [document 004, with the inequality restored].

Assumes.     Nothing beyond random bits: the choice is exact; what floating weights leave open is settled by enclosures.
"""

from __future__ import annotations

from dataclasses import dataclass

from sfumato.arguments import instance
from sfumato.errors import UnsupportedQuery
from sfumato.mechanisms.selection import (
    Chosen,
    Counts,
    checked_rate,
    concentrated_cost,
    concentrated_rate,
    most_popular,
    popularity_error,
    pure_cost,
    pure_rate,
)
from sfumato.privacy.guarantees import Approximate, Concentrated, Guarantee, Pure
from sfumato.queries.popular import Popular
from sfumato.randomness import Rng
from sfumato.sampling import choose

__all__ = ["Exponential"]


@dataclass(frozen=True, slots=True)
class Exponential:
    """Choose the most popular items; the claim is pure, or concentrated if asked for."""

    query: Popular
    rate: float
    concentrated: bool = False

    def __post_init__(self) -> None:
        checked_rate(self.rate)

    @classmethod
    def calibrate(cls, query: Popular, target: Guarantee) -> Exponential:
        """The sharpest choice that meets `target`."""
        instance("query", query, Popular, "a question about popular items, as bind(sf.top(...), schema) makes it")
        rounds = query.query.k
        if isinstance(target, Concentrated) and target.rho > 0:
            return cls(query, concentrated_rate(target.rho, query.spread, rounds), concentrated=True)
        if isinstance(target, Pure | Approximate) and target.epsilon > 0:
            return cls(query, pure_rate(target.epsilon, query.spread, rounds))
        raise UnsupportedQuery(f"the exponential mechanism needs epsilon > 0 or rho > 0, not {target!r}")

    def guarantee(self, distance: int = 1) -> Pure | Concentrated:
        """What one release costs between tables `distance` units apart."""
        rounds, spread = self.query.query.k, distance * self.query.spread
        if self.concentrated:
            return Concentrated(concentrated_cost(self.rate, spread, rounds))
        return Pure(pure_cost(self.rate, spread, rounds))

    def error(self, beta: float = 0.05) -> float:
        """How much less popular than the best a choice can be, but for probability `beta` over all choices."""
        return popularity_error(self.query, self.rate, beta)

    def release(self, answer: Counts, rng: Rng) -> Chosen:
        """The positions of the chosen items, of shape (cells, k).  `answer`: exact counts (cells, items)."""
        return most_popular(self.query, answer, lambda excess: choose(excess, self.rate, rng))

    def to_record(self) -> dict[str, object]:
        """Public parameters."""
        return {"type": "exponential", "rate": self.rate, "concentrated": self.concentrated}
