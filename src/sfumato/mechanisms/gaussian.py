r"""The Gaussian mechanism on a lattice: normal noise, drawn exactly and rounded.

Definition.  For f(x) in Z^d release f(x) + (round(G_1), ..., round(G_d)), the G_i independent
N(0, sigma^2).  Rounding commutes with adding a whole number, so this is the continuous Gaussian
mechanism followed by a function of its output.

Guarantee.   If one unit moves f by at most s in l2, k units cost rho = (k s)^2 / (2 sigma^2) concentrated
[BunSteinke2016], or, with `epsilon` given, (epsilon, delta) with the exact Gaussian profile at k s,
for every epsilon [BalleWang2018].  Proof: docs/proofs/gaussian.md.

Accuracy.    The rounded law's own tail; `error` is its quantile, joint over d coordinates.

Assumes.     Nothing beyond random bits: the rounded law is drawn exactly.

Differs.     The classical scale sqrt(2 ln(1.25/delta)) s / epsilon holds for epsilon <= 1 only and is larger.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Self

from sfumato.errors import UnsupportedQuery
from sfumato.mechanisms.additive import (
    Answerable,
    Lattice,
    approximate,
    joint_quantile,
    noised,
    smallest_scale,
    times_up,
)
from sfumato.numeric import ceil_float, round_up
from sfumato.privacy.gaussian import gaussian_delta, gaussian_sigma
from sfumato.privacy.guarantees import Approximate, Concentrated, Guarantee, Pure
from sfumato.randomness import Rng
from sfumato.sampling import RoundedNormal

__all__ = ["Gaussian", "concentrated_sigma", "gaussian_rho"]


@dataclass(frozen=True, slots=True)
class Gaussian:
    """Rounded normal noise of standard deviation `sigma`; the claim is concentrated unless `epsilon` is given.

    >>> from sfumato.mechanisms.additive import Vector
    >>> pair = Vector("pair", dimension=2, l1=2, l2=1.5, linf=1)
    >>> Gaussian(pair, sigma=3.0).guarantee()
    Concentrated(rho=0.125)
    """

    query: Answerable
    sigma: float
    epsilon: float | None = None

    def __post_init__(self) -> None:
        RoundedNormal(self.sigma)
        if self.epsilon is not None:
            Pure(self.epsilon)

    @classmethod
    def calibrate(cls, query: Any, target: Guarantee) -> Self:
        """The least noisy Gaussian mechanism that meets `target`."""
        sensitivity = query.sensitivity("l2")
        if isinstance(target, Concentrated) and target.rho > 0:
            return cls(query, smallest_scale(concentrated_sigma(sensitivity, target.rho)))
        if isinstance(target, Approximate) and target.delta > 0:
            sigma = gaussian_sigma(sensitivity, target.epsilon, target.delta)
            return cls(query, smallest_scale(sigma), target.epsilon)
        raise UnsupportedQuery(f"Gaussian noise needs rho > 0 or delta > 0; it cannot meet {target!r}")

    @property
    def noise(self) -> RoundedNormal:
        """The law of each coordinate's noise."""
        return RoundedNormal(self.sigma)

    def guarantee(self, distance: int = 1) -> Concentrated | Approximate:
        """What one release costs between tables `distance` units apart."""
        moved = times_up(distance, self.query.sensitivity("l2"))
        if self.epsilon is not None and moved:
            return approximate(self.epsilon, gaussian_delta(self.sigma, moved, self.epsilon), distance)
        return Concentrated(gaussian_rho(moved, self.sigma))

    def error(self, beta: float = 0.05) -> float:
        """The largest coordinate error in lattice units, exceeded with probability at most `beta`."""
        return float(joint_quantile(self.noise, self.query.dimension, beta))

    def release(self, answer: Lattice, rng: Rng) -> Lattice:
        """Add the noise.  `answer` is the exact, secret value of the query."""
        return noised(answer, self.query, self.noise, rng)

    def to_record(self) -> dict[str, object]:
        """Public parameters."""
        return {"type": "gaussian", "sigma": self.sigma, "epsilon": self.epsilon}


def gaussian_rho(moved: float, sigma: float) -> float:
    """(moved / sigma)^2 / 2, rounded up unless exact.

    >>> gaussian_rho(1.5, 3.0)
    0.125
    """
    return ceil_float((Fraction(moved) / Fraction(sigma)) ** 2 / 2)


def concentrated_sigma(sensitivity: float, rho: float) -> float:
    """The least sigma with (sensitivity / sigma)^2 / 2 <= rho, rounded up."""
    sigma = sensitivity / math.sqrt(2 * rho)
    while gaussian_rho(sensitivity, sigma) > rho:
        sigma = round_up(sigma)
    return sigma
