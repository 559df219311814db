r"""What a shuffle buys: what anybody learns who sees n reports in random order, without their senders.

By the blanket of the protocol itself where it is known, and by that of the worst protocol of the same guarantee,
whichever says less (`accounting.blankets`, `accounting.shuffling`), and never more than one report costs without a
shuffle, so that there is a figure for every protocol of pure local privacy.  It assumes that the others report
honestly, and a relay that shuffles and keeps silent.  Proof: docs/proofs/accounting-shuffling.md.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import lru_cache

from sfumato.accounting.blankets import Blanket, Kind
from sfumato.accounting.shuffling import LARGEST, shuffled
from sfumato.errors import UnsupportedQuery
from sfumato.local.collection.journal import THIN, TWICE
from sfumato.local.protocols import GeneralizedResponse, LocalHashing, SubsetSelection
from sfumato.local.protocols.protocol import LocalProtocol
from sfumato.local.protocols.unary import Unary
from sfumato.local.questions.mapped import Mapped
from sfumato.privacy.guarantees import Approximate
from sfumato.privacy.parameters import probability, whole

__all__ = ["central", "together"]


def together(batch: int | None, reports: int, refused: Mapping[str, int]) -> int:
    """How many reports of a round are certain to have been shuffled with any one: those of the smallest batch.

    A round whose batches leave one by one hides a report among those of its own batch alone, not among all.
    """
    if refused.get(THIN):
        raise UnsupportedQuery(
            f"{refused[THIN]:,} batches had fewer good reports than were declared to leave together; what one report "
            "cost holds all the same"
        )
    if refused.get(TWICE):
        raise UnsupportedQuery(
            f"{refused[TWICE]:,} reports came to two pieces, so that they can be seen in two batches; what one report "
            "cost holds all the same"
        )
    return reports if batch is None else min(batch, reports)


@lru_cache(maxsize=64)
def central(protocol: LocalProtocol, reports: int, delta: float) -> Approximate:
    """What `reports` shuffled reports cost one of their owners at `delta`.

    >>> from sfumato.local.protocols import GeneralizedResponse
    >>> from sfumato.privacy.guarantees import Pure
    >>> central(GeneralizedResponse.calibrate(4, Pure(1.0)), 20_000, 1e-6).epsilon < 0.03
    True
    """
    claim = protocol.guarantee()
    if claim.delta:
        raise UnsupportedQuery(f"shuffling is proven for pure local privacy; {protocol.name!r} has a delta of its own")
    whole("reports", reports)
    probability("delta", delta)
    best = Approximate(claim.epsilon, delta, assumptions=frozenset({"honest-reports"}))
    if claim.epsilon <= LARGEST:
        blanket = _blanket(protocol)
        found = [best, shuffled(claim.epsilon, reports, delta)]
        best = min(found if blanket is None else [*found, shuffled(blanket, reports, delta)], key=_loss)
    return Approximate(best.epsilon, delta, assumptions=best.assumptions | claim.assumptions)


def _loss(claim: Approximate) -> float:
    return claim.epsilon


def _blanket(protocol: LocalProtocol) -> Blanket | None:
    """The blanket of the two least alike values; of a mapped value it is at most that of the inner categories."""
    match protocol:
        case Mapped():
            return _blanket(protocol.inner)
        case GeneralizedResponse():
            lie = (1 - protocol.truthful) / protocol.k
            return _response(float(protocol.truthful + lie), float(lie), protocol.k)
        case Unary():
            return Blanket.unary(float(protocol.own), float(protocol.other))
        case SubsetSelection():
            inside = float(protocol.inclusion / protocol.size * protocol.k)  # over the uniform law of subsets
            outside = float((1 - protocol.inclusion) / (protocol.k - protocol.size) * protocol.k)
            return Blanket.subset(protocol.k, protocol.size, math.log(inside / outside))
        case LocalHashing():
            return _hashed(protocol)
    return None


def _response(own: float, lie: float, k: int) -> Blanket:
    """Randomized response with these probabilities."""
    rest = (k - 2) * lie
    kinds: list[Kind] = [(own, lie, lie), (lie, own, lie)]
    return Blanket(tuple(kinds + ([(rest, rest, rest)] if k > 2 else [])))


def _hashed(protocol: LocalHashing) -> Blanket:
    """Two values share a hash with probability 1/g, and then their reports are alike; else it is response among g."""
    g, lie = protocol.g, float((1 - protocol.truthful) / protocol.g)
    own, apart = float(protocol.truthful) + lie, 1 - 1 / g
    kinds: list[Kind] = [(apart * own, apart * lie, apart * lie), (apart * lie, apart * own, apart * lie)]
    if g > 2:
        rest = apart * (g - 2) * lie
        kinds.append((rest, rest, rest))
    kinds += [(own / g, own / g, lie / g), ((g - 1) * lie / g, (g - 1) * lie / g, (g - 1) * lie / g)]
    return Blanket(tuple(kinds))
