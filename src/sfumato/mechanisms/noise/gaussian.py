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

from dataclasses import dataclass
from typing import Self

from sfumato.accounting.laws import Law
from sfumato.mechanisms.noise.additive import Additive, Answerable, Lattice, noised
from sfumato.mechanisms.noise.normals import NORMAL
from sfumato.privacy.guarantees import Approximate, Concentrated, Guarantee, Pure
from sfumato.randomness import Rng
from sfumato.sampling import RoundedNormal

__all__ = ["Gaussian"]


@dataclass(frozen=True, slots=True)
class Gaussian(Additive):
    """Rounded normal noise of standard deviation `sigma`; the claim is concentrated unless `epsilon` is given.

    Proof: docs/proofs/gaussian.md.

    >>> from sfumato.mechanisms.noise.additive import Vector
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
    def calibrate(cls, query: Answerable, target: Guarantee) -> Self:
        """The least noisy Gaussian mechanism that meets `target`."""
        return cls(query, *NORMAL.calibrate(query.sensitivity("l2"), target))

    @property
    def noise(self) -> RoundedNormal:
        """The law of each coordinate's noise."""
        return RoundedNormal(self.sigma)

    def guarantee(self, distance: int = 1) -> Concentrated | Approximate:
        """What one release costs between tables `distance` units apart."""
        return NORMAL.claim(self.query.sensitivity("l2"), self.sigma, self.epsilon, distance)

    def loss(self, distance: int = 1) -> Law | None:
        """A pair of laws on the line that dominates one release."""
        return NORMAL.loss(self.query.sensitivity("l2"), self.sigma, distance)

    def error(self, beta: float = 0.05) -> float:
        """The largest coordinate error in lattice units, exceeded with probability at most `beta`."""
        return float(NORMAL.on(self.sigma, self.query.dimension).quantile(beta))

    def release(self, answer: Lattice, rng: Rng) -> Lattice:
        """Add the noise.  `answer` is the exact, secret value of the query."""
        return noised(answer, self.query, self.noise, rng)

    def to_record(self) -> dict[str, object]:
        """Public parameters."""
        return {"type": "gaussian", "sigma": self.sigma, "epsilon": self.epsilon}
