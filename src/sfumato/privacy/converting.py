"""From a claim of one kind to the claim of another that follows from it, as values; numbers: `conversions`."""

from __future__ import annotations

import math

from sfumato.arguments import choice
from sfumato.errors import ParameterError
from sfumato.privacy.guarantees import Approximate, Claim, Concentrated, Pure
from sfumato.privacy.parameters import probability

__all__ = ["convert"]

MOST = 700.0  # the largest epsilon that is looked at: beyond, nothing is promised


def convert(claim: Claim, to: str, delta: float | None = None) -> Claim:
    """The claim of another kind that follows: "approximate" at a delta, "concentrated", or "pure" where it does.

    >>> round(convert(Concentrated(0.1), "approximate", delta=1e-6).epsilon, 6)
    2.141939
    >>> round(convert(Pure(1.0), "concentrated").rho, 6)
    0.462117
    """
    choice("to", to, ("pure", "approximate", "concentrated"))
    if to == "approximate":
        return _approximate(claim, 0.0 if delta is None else probability("delta", delta, zero=True))
    if delta is not None:
        raise ParameterError(f"a {to} claim has no delta; leave it out, or ask for an approximate one")
    amount = claim.pure_epsilon if to == "pure" else claim.concentrated_rho
    if math.isinf(amount):
        raise ParameterError(f"{claim!r} implies no {to} claim; ask for an approximate one at a delta")
    kind = Pure if to == "pure" else Concentrated
    return kind(amount, assumptions=claim.assumptions)


def _approximate(claim: Claim, delta: float) -> Approximate:
    """The least epsilon whose claim is implied, by bisection on `implies`."""
    from sfumato.privacy.gaussian import least  # numpy: only when asked

    def enough(epsilon: float) -> bool:
        return claim.implies(Approximate(epsilon, delta, assumptions=claim.assumptions))

    if not enough(MOST):
        raise ParameterError(f"{claim!r} implies no approximate claim at delta = {delta!r}; raise delta")
    return Approximate(0.0 if enough(0.0) else least(enough, 1.0), delta, assumptions=claim.assumptions)
