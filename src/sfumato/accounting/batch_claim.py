r"""What a batch of releases fixed in advance costs together, as one claim at one delta.

Each release brings its claim and, where its mechanism knows it, the law of its privacy loss.  Without a law the worst
pair of the claim stands for it; concentrated claims are added up first, since rho composes better than the profile
that follows from it.  What is claimed is the least of the certified numerical bound and of the plain sums.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence

from sfumato.accounting.batch import Batch
from sfumato.accounting.composition import basic
from sfumato.accounting.lattice import law_of
from sfumato.accounting.laws import Law
from sfumato.accounting.profiles import concentrated_law
from sfumato.errors import ParameterError
from sfumato.numeric import exact
from sfumato.privacy.conversions import concentrated_to_approximate
from sfumato.privacy.guarantees import Approximate, Claim, Concentrated, GaussianPrivacy, Pure
from sfumato.privacy.parameters import probability

__all__ = ["batch_claim"]

WIDEST = 500.0  # losses beyond which nothing is composed: such releases promise next to nothing, and save nothing
TAIL = 1e-4  # share of delta down to which the profile of a concentrated claim is followed


def batch_claim(members: Iterable[tuple[Claim, Law | None]], delta: float) -> Approximate:
    """The least certified epsilon at `delta` of all members together; a member is a claim and its loss law, or None.

    The law must dominate the release between any two neighbors, in both directions.

    >>> forty = batch_claim([(Pure(0.1), None)] * 40, 1e-6)
    >>> round(forty.epsilon, 4), forty.delta
    (2.7754, 1e-06)
    """
    probability("delta", delta, zero=True)
    parts = [(claim, law) for claim, law in members if not _free(claim)]
    united = frozenset[str]().union(*(claim.assumptions for claim, _ in parts))
    epsilon = min(_added([claim for claim, _ in parts], delta), _numerical(parts, delta))
    if math.isinf(epsilon):
        raise ParameterError(
            f"delta = {delta!r} is below what these {len(parts)} releases may reveal together; "
            "raise delta, or spend less delta on each"
        )
    return Approximate(epsilon, delta, assumptions=united)


def _free(claim: Claim) -> bool:
    return claim.implies(Pure(0.0, assumptions=claim.assumptions))


def _added(claims: list[Claim], delta: float) -> float:
    """The plain sum: of epsilons if the deltas fit, or of rhos where every claim has one."""
    kinds = {type(claim) for claim in claims}
    if kinds <= {Pure, Approximate}:
        if sum(exact(claim.delta) for claim in claims if isinstance(claim, Approximate)) > exact(delta):
            return math.inf
        total = basic(claims)
        return total.epsilon if isinstance(total, Pure | Approximate) else math.inf
    if kinds <= {Pure, Concentrated, GaussianPrivacy} and delta > 0:
        return concentrated_to_approximate(_rho(claims), delta)
    return math.inf


def _numerical(parts: list[tuple[Claim, Law | None]], delta: float) -> float:
    """The upper end of the composed losses."""
    if delta == 0 or any(_wide(claim, law, delta) for claim, law in parts):
        return math.inf
    concentrated = [claim for claim, law in parts if law is None and isinstance(claim, Concentrated)]
    counts: Counter[Law] = Counter(
        law_of(claim) if law is None else law for claim, law in parts if law or not isinstance(claim, Concentrated)
    )
    if concentrated:
        counts[concentrated_law(_rho(concentrated), TAIL * delta)] += 1
    return Batch(tuple(counts.items())).upper(delta)


def _wide(claim: Claim, law: Law | None, delta: float) -> bool:
    """Whether losses are too large for their exponentials to be numbers."""
    if law is not None:
        return law.span(TAIL * delta)[1] > WIDEST
    return isinstance(claim, Pure | Approximate) and claim.epsilon > WIDEST


def _rho(claims: Sequence[Claim]) -> float:
    """The summed rho of claims that each have one."""
    total = basic([*claims, Concentrated(0.0)])
    return total.rho if isinstance(total, Concentrated) else math.inf
