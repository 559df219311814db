r"""The loss laws of integer noise, and the worst law of a claim, for `batch`.

Integer noise has its own loss law: continuous noise of the same scale does not dominate it (with
sensitivity 1, discrete Laplace noise is randomized response, the worst pure mechanism).
Outcomes beyond 15 sigma are counted as revealed.  Proof: docs/proofs/accounting-loss.md.
"""

from __future__ import annotations

import math

import numpy as np

from sfumato.accounting.laws import FiniteLaw, GaussianLaw, Law, approximate_law
from sfumato.errors import ParameterError
from sfumato.privacy.guarantees import Approximate, Claim, GaussianPrivacy, Pure
from sfumato.privacy.parameters import positive, whole

__all__ = ["discrete_gaussian_law", "discrete_laplace_law", "law_of"]

LARGEST = 1 << 22  # outcomes of a law that are tabulated
REACH = 15.0  # standard deviations; less than 1e-49 lies beyond


def discrete_laplace_law(scale: float, sensitivity: int) -> FiniteLaw:
    """Weights exp(-|z| / scale) on the integers against themselves moved by `sensitivity`.

    >>> law = discrete_laplace_law(2.0, 1)
    >>> [round(float(loss), 6) for loss in law.losses]
    [-0.5, 0.5]
    """
    positive("scale", scale)
    _tabulated(whole("sensitivity", sensitivity))
    inner = np.arange(1, sensitivity, dtype=np.float64)
    ratio = math.exp(-1 / scale)
    ends = 1 / (1 + ratio), math.exp(-sensitivity / scale) / (1 + ratio)
    step = -math.expm1(-1 / scale) / (1 + ratio)
    p = np.concatenate([ends[:1], step * np.exp(-inner / scale), ends[1:]])
    losses = (sensitivity - 2 * np.arange(sensitivity + 1, dtype=np.float64)) / scale
    return FiniteLaw(losses[::-1], p[::-1], p, 0.0, True, 1 / scale)


def discrete_gaussian_law(sigma: float, sensitivity: int) -> FiniteLaw:
    """Weights exp(-z^2 / (2 sigma^2)) on the integers against themselves moved by `sensitivity`."""
    positive("sigma", sigma)
    whole("sensitivity", sensitivity)
    reach = math.ceil(REACH * sigma) + 1
    _tabulated(2 * reach + sensitivity)
    z = np.arange(-reach, reach + sensitivity + 1, dtype=np.float64)
    weights = np.exp(-((z / sigma) ** 2) / 2)
    weights /= math.fsum(np.exp(-((np.arange(-reach, reach + 1) / sigma) ** 2) / 2))
    moved = weights[::-1]
    unit = sensitivity / (2 * sigma * sigma)
    losses = unit * (sensitivity - 2 * z)
    tail = math.exp(-REACH * REACH / 2)
    return FiniteLaw(losses[::-1], weights[::-1], moved[::-1], tail, True, unit)


def law_of(claim: Claim) -> Law:
    """The worst pair with a pure, approximate or Gaussian claim; others have no single worst pair.

    >>> law_of(GaussianPrivacy(0.5))
    GaussianLaw(mu=0.5)
    """
    match claim:
        case Pure():
            return approximate_law(claim.epsilon, 0.0)
        case Approximate():
            return approximate_law(claim.epsilon, claim.delta)
        case GaussianPrivacy() if claim.mu > 0:
            return GaussianLaw(claim.mu)
        case _:
            raise ParameterError(f"{claim!r} has no worst pair; give the law of the mechanism, or convert the claim")


def _tabulated(outcomes: int) -> None:
    if outcomes > LARGEST:
        raise ParameterError(
            f"the law would have {outcomes} outcomes, more than {LARGEST}; use a coarser lattice, "
            "or account for the release by its concentrated claim"
        )
