r"""Permute-and-flip: look at the candidates in random order and take each with a coin of its penalty.

Definition.  Given whole scores q(x, r) and a rate c, visit the candidates in uniformly random order
and stop at r with probability exp(c (q(x, r) - max q)).  The k best are chosen one after another
without repetition, each cell by itself.

Guarantee.   If one unit changes the scores of all candidates by amounts within `spread` of one another, each
choice costs c * spread, pure: it is report-noisy-max with one-sided exponential noise
[McKennaSheldon2020; DingEtAl2021].  Proof: docs/proofs/permute_and_flip.md.

Accuracy.    Never worse in expectation than the exponential mechanism at the same rate, up to twice as good;
P(q < best - t) <= |R| exp(-c t) for each choice.

Assumes.     Nothing beyond random bits: the coins are exact.
"""

from __future__ import annotations

from dataclasses import dataclass

from sfumato.arguments import instance
from sfumato.errors import UnsupportedQuery
from sfumato.mechanisms.mechanism import Answering
from sfumato.mechanisms.selection.selection import (
    Chosen,
    Counts,
    checked_rate,
    most_popular,
    popularity_error,
    pure_cost,
    pure_rate,
)
from sfumato.privacy.guarantees import Guarantee, Pure
from sfumato.queries.popular import Popular
from sfumato.randomness import Rng
from sfumato.sampling import permute_and_flip

__all__ = ["PermuteAndFlip"]


@dataclass(frozen=True, slots=True)
class PermuteAndFlip(Answering):
    """Choose the most popular items with a pure claim.

    Proof: docs/proofs/permute_and_flip.md.
    """

    query: Popular
    rate: float

    def __post_init__(self) -> None:
        checked_rate(self.rate)

    @classmethod
    def calibrate(cls, query: Popular, target: Guarantee) -> PermuteAndFlip:
        """The sharpest choice that meets `target`."""
        instance("query", query, Popular, "a question about popular items, as bind(sf.top(...), schema) makes it")
        if not target.counts_rho and target.pure_within() > 0:
            return cls(query, pure_rate(target.pure_within(), query.spread, query.k))
        raise UnsupportedQuery(f"permute-and-flip needs a pure or approximate target, not {target!r}")

    def guarantee(self, distance: int = 1) -> Pure:
        """What one release costs between tables `distance` units apart."""
        cost = pure_cost(self.rate, distance * self.query.spread, self.query.k)
        return Pure(cost, assumptions=self.query.assumptions)

    def error(self, beta: float = 0.05) -> float:
        """How much less popular than the best a choice can be, but for probability `beta` over all choices."""
        return popularity_error(self.query, self.rate, beta)

    def release(self, answer: Counts, rng: Rng) -> Chosen:
        """The positions of the chosen items, of shape (cells, k).  `answer`: exact counts (cells, items)."""
        return most_popular(self.query, answer, lambda excess: permute_and_flip(excess, self.rate, rng))

    def to_record(self) -> dict[str, object]:
        """Public parameters."""
        return {"type": "permute-and-flip", "rate": self.rate}
