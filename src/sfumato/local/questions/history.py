"""What all reports of one owner cost together, over many rounds of the same question.

An owner who answers every round afresh pays for every round.  One who keeps a randomization for each value, `most` of
them, pays for those, between histories that change in the same pattern (`longitudinal`).
Proof: docs/proofs/local-questions.md.
"""

from __future__ import annotations

import math

from sfumato.local.client.keeping import keeping_costs
from sfumato.local.protocols.protocol import LocalProtocol
from sfumato.privacy.guarantees import Approximate, Pure

__all__ = ["composed", "history"]


def history(protocol: LocalProtocol, rounds: int, most: int | None) -> Pure | Approximate:
    """What all reports of an owner cost together: of every round, or of `most` kept randomizations."""
    if most is None:
        return composed(protocol.guarantee(), rounds)
    return composed(keeping_costs(protocol), most)


def composed(one: Pure | Approximate, times: int) -> Pure | Approximate:
    """Basic composition of equal claims."""
    if not one.delta:
        return one.group(times)
    epsilon = Pure(one.epsilon).group(times).epsilon
    return Approximate(epsilon, min(math.nextafter(one.delta * times, 1.0), 1 - 1e-16), assumptions=one.assumptions)
