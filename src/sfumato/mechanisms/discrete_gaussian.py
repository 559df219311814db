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
from sfumato.mechanisms.gaussian import concentrated_sigma, gaussian_rho
from sfumato.privacy.conversions import concentrated_delta, concentrated_for
from sfumato.privacy.gaussian import discrete_gaussian_delta, discrete_gaussian_sigma
from sfumato.privacy.guarantees import Approximate, Concentrated, Guarantee, Pure
from sfumato.randomness import Rng
from sfumato.sampling import DiscreteGaussian as DiscreteGaussianLaw

__all__ = ["DiscreteGaussian"]


@dataclass(frozen=True, slots=True)
class DiscreteGaussian:
    """Discrete Gaussian noise; the claim is concentrated unless `epsilon` is given.

    >>> from sfumato.mechanisms.additive import Vector
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
        sensitivity = query.sensitivity("l2")
        if isinstance(target, Concentrated) and target.rho > 0:
            return cls(query, smallest_scale(concentrated_sigma(sensitivity, target.rho)))
        if isinstance(target, Approximate) and target.delta > 0:
            if query.dimension == 1:
                sigma = discrete_gaussian_sigma(int(sensitivity), target.epsilon, target.delta)
            else:
                sigma = concentrated_sigma(sensitivity, concentrated_for(target.epsilon, target.delta))
            while not cls(query, smallest_scale(sigma), target.epsilon).guarantee().implies(target):
                sigma *= 1 + 1e-13  # delta is found from rho by bisection, and rounded up
            return cls(query, smallest_scale(sigma), target.epsilon)
        raise UnsupportedQuery(f"Gaussian noise needs rho > 0 or delta > 0; it cannot meet {target!r}")

    @property
    def noise(self) -> DiscreteGaussianLaw:
        """The law of each coordinate's noise."""
        return DiscreteGaussianLaw(self.sigma)

    def guarantee(self, distance: int = 1) -> Concentrated | Approximate:
        """What one release costs between tables `distance` units apart."""
        moved = times_up(distance, self.query.sensitivity("l2"))
        rho = gaussian_rho(moved, self.sigma)
        if self.epsilon is None or moved == 0:
            return Concentrated(rho)
        one = self.query.dimension == 1
        exact = discrete_gaussian_delta(self.sigma, int(moved), self.epsilon) if one else 1.0
        return approximate(self.epsilon, min(exact, concentrated_delta(rho, self.epsilon)), distance)

    def error(self, beta: float = 0.05) -> float:
        """The largest coordinate error in lattice units, exceeded with probability at most `beta`."""
        return float(joint_quantile(self.noise, self.query.dimension, beta))

    def release(self, answer: Lattice, rng: Rng) -> Lattice:
        """Add the noise.  `answer` is the exact, secret value of the query."""
        return noised(answer, self.query, self.noise, rng)

    def to_record(self) -> dict[str, object]:
        """Public parameters."""
        return {"type": "discrete-gaussian", "sigma": self.sigma, "epsilon": self.epsilon}
