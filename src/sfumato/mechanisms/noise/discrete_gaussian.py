r"""The discrete Gaussian mechanism, accounted for by its own law.

Definition.  For f(x) in Z^d release f(x) + (Z_1, ..., Z_d), the Z_i independent with P(Z = z)
proportional to exp(-z^2 / (2 sigma^2)).

Guarantee.   If one unit moves f by at most s in l2, k units cost rho = (k s)^2 / (2 sigma^2)
[CanonneKamathSteinke2020, Theorem 4].  With `epsilon` given: in one dimension (epsilon, delta) with the
exact profile of this law over the worst whole shift; in more dimensions delta follows from rho.  The
continuous Gaussian's profile is not claimed: it does not cover this law.
Proof: docs/proofs/discrete_gaussian.md.

Accuracy.    The law's own tail; its variance is at most sigma^2, a little less than rounding a normal costs.

Assumes.     Nothing beyond random bits: the sampler is exact.
"""

from __future__ import annotations

from dataclasses import dataclass

from sfumato.accounting.laws import Law
from sfumato.mechanisms.noise.additive import Additive, Answerable, Lattice, noised
from sfumato.mechanisms.noise.normals import DISCRETE_GAUSSIANS, DiscreteNormal
from sfumato.privacy.guarantees import Approximate, Concentrated, Guarantee, Pure
from sfumato.randomness import Rng
from sfumato.sampling import DiscreteGaussian as DiscreteGaussianLaw

__all__ = ["DiscreteGaussian"]


@dataclass(frozen=True, slots=True)
class DiscreteGaussian(Additive):
    """Discrete Gaussian noise; the claim is concentrated unless `epsilon` is given.

    Proof: docs/proofs/discrete_gaussian.md.

    >>> from sfumato.mechanisms.noise.additive import Vector
    >>> count = Vector("count", dimension=1, l1=1, l2=1, linf=1)
    >>> DiscreteGaussian(count, sigma=2.0).guarantee(distance=2)
    Concentrated(rho=0.5)
    """

    query: Answerable
    sigma: float
    epsilon: float | None = None

    def __post_init__(self) -> None:
        DiscreteGaussianLaw(self.sigma)
        if self.epsilon is not None:
            Pure(self.epsilon)

    @classmethod
    def calibrate(cls, query: Answerable, target: Guarantee) -> DiscreteGaussian:
        """The least noisy discrete Gaussian mechanism that meets `target`."""
        return cls(query, *_law(query).calibrate(query.sensitivity("l2"), target))

    @property
    def noise(self) -> DiscreteGaussianLaw:
        """The law of each coordinate's noise."""
        return DiscreteGaussianLaw(self.sigma)

    def guarantee(self, distance: int = 1) -> Concentrated | Approximate:
        """What one release costs between tables `distance` units apart."""
        return _law(self.query).claim(self.query.sensitivity("l2"), self.sigma, self.epsilon, distance)

    def loss(self, distance: int = 1) -> Law | None:
        """A pair of laws on the line that dominates one release, where one is known."""
        return _law(self.query).loss(self.query.sensitivity("l2"), self.sigma, distance)

    def error(self, beta: float = 0.05) -> float:
        """The largest coordinate error in lattice units, exceeded with probability at most `beta`."""
        return float(_law(self.query).on(self.sigma, self.query.dimension).quantile(beta))

    def release(self, answer: Lattice, rng: Rng) -> Lattice:
        """Add the noise.  `answer` is the exact, secret value of the query."""
        return noised(answer, self.query, self.noise, rng)

    def to_record(self) -> dict[str, object]:
        """Public parameters."""
        return {"type": "discrete-gaussian", "sigma": self.sigma, "epsilon": self.epsilon}


def _law(query: Answerable) -> DiscreteNormal:
    """Of one number the profile is known exactly."""
    return DISCRETE_GAUSSIANS[query.dimension == 1]
