r"""What no mechanism can beat that discovers keys: from how many holders a key is found with a stated probability.

A key that nobody holds is never shown, and one unit more raises the chance of being shown by no more than
`bounds.climb` says: P_0 = 0, P_k <= min(e^eps P_{k-1} + delta, 1 - e^-eps (1 - P_{k-1} - delta), 1).  It holds for
every unit and relation, since a holder more is one unit changed.  Proof: docs/proofs/bounds-keys.md.
"""

from __future__ import annotations

from typing import Protocol

from sfumato.answers.certificate import Certificate, NoBoundKnown, certified
from sfumato.bounds.climb import least_steps
from sfumato.bounds.reachability import obstacle, public_units
from sfumato.privacy.guarantees import Guarantee
from sfumato.queries.keys import STAND_INS, Keys

__all__ = ["certify_keys"]

BETA = 0.05


class Discovering(Protocol):
    """A mechanism that shows keys, and says from how many holders on."""

    def error(self, beta: float = 0.05) -> float: ...


def certify_keys(question: Keys, mechanism: Discovering, claim: Guarantee) -> Certificate | NoBoundKnown:
    """By the number of holders from which a key is found with probability 95 %."""
    found, size = obstacle(question.counts(STAND_INS)), public_units(question.schema)
    if found is not None:
        return NoBoundKnown(found)
    steps = least_steps(claim, 0.0, 1 - BETA)
    if steps is None or (size is not None and steps > size):
        return NoBoundKnown("no key would be found in a table of this size")
    return certified(
        mechanism.error(BETA), float(steps), "number of holders from which a key is found with probability 0.95",
        "climbing from a key that nobody holds",
        "mechanisms with epsilon and delta that show no key that nobody holds",
    )  # fmt: skip
