"""The least mean square of one number that a unit moves by 1, under each guarantee, on unbounded tables and on chains.

`least_variance` is the least over all tables 0, 1, 2, ..., `least_on_chain` over the tables 0..K, `least_of_answers`
that of other numbers than the counts 0..K.  Answers are real.  Each is the value of a feasible dual, rounded down, so
that no mechanism with the guarantee stays below it on its worst table; 0 says that nothing is known.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from sfumato.arguments import instance
from sfumato.bounds.arguments import whole
from sfumato.bounds.line.chains import Chain, Loss, chain_of_answers, chain_of_counts
from sfumato.privacy.guarantees import Guarantee

__all__ = ["Chain", "least_of_answers", "least_on_chain", "least_variance", "words"]

LEAST_LOSS = 1e-9  # smaller losses are counted as this one, which only lowers a bound


def least_variance(claim: Guarantee) -> float:
    """The least worst mean square of a count that a unit moves by 1, on tables of unbounded size.

    Proof: docs/proofs/bounds-truncation.md, docs/proofs/bounds-divergence.md.

    >>> from sfumato.privacy.guarantees import Approximate, Concentrated, Pure
    >>> [round(least_variance(claim), 2) for claim in (Pure(1.0), Concentrated(0.1), Approximate(0.05, 0.01))]
    [1.84, 5.0, 151.38]
    """
    return _variance(_loss(claim))


def least_on_chain(claim: Guarantee, steps: int) -> Chain:
    """The least worst mean square of a count on the tables 0..`steps`, and the prior that guarantees it.

    Proof: docs/proofs/bounds-posterior.md.

    >>> from sfumato.privacy.guarantees import Pure
    >>> round(least_on_chain(Pure(1.0), 20).mean_square / least_variance(Pure(1.0)), 3)
    0.896
    """
    return _counts(_loss(claim), whole("steps", steps))


def least_of_answers(claim: Guarantee, answers: Sequence[float]) -> float:
    """The least worst mean square of a number with these answers on the tables 0..K, consecutive ones neighbors.

    Proof: docs/proofs/bounds-posterior.md.
    """
    return _answers(_loss(claim), np.asarray(answers, dtype=float).tobytes())


def words(claim: Guarantee) -> str:
    """Who is bounded, for `among`."""
    loss = _loss(claim)
    if loss.rho is not None:
        return "concentrated mechanisms"
    return "mechanisms with epsilon and delta" if loss.delta else "pure mechanisms"


def _loss(claim: Guarantee) -> Loss:
    """The numbers of a claim."""
    instance("claim", claim, Guarantee, "a guarantee, such as Pure(1.0) or Concentrated(0.1)")
    parts = claim.parts()
    if "rho" in parts:
        return Loss(0.0, 0.0, max(parts["rho"], LEAST_LOSS**2))
    return Loss(max(parts["epsilon"], LEAST_LOSS), parts.get("delta", 0.0))


@lru_cache(maxsize=1024)
def _variance(loss: Loss) -> float:
    return loss.variance()


@lru_cache(maxsize=1024)
def _counts(loss: Loss, steps: int) -> Chain:
    return chain_of_counts(loss, steps)


@lru_cache(maxsize=1024)
def _answers(loss: Loss, answers: bytes) -> float:
    return chain_of_answers(loss, np.frombuffer(answers)).mean_square
