r"""The Laplace mechanism on a lattice: independent two-sided geometric noise on a vector of integers.

Definition.  For answers f(x) in Z^d and a scale b > 0, release f(x) + (Z_1, ..., Z_d), the Z_i
independent with P(Z = z) proportional to exp(-|z| / b).

Guarantee.   If one unit moves f by at most s in l1, then k units cost what `noise/gauges.py` says: epsilon = k s / b
[GhoshRoughgardenSundararajan2012].  With `epsilon` given, the claim is instead
(epsilon, delta) with delta the exact profile of the lattice law, so that the scale may be smaller
[Holohan et al. 2015; document 001, 4.9, whose printed scale is sufficient but not the least].
Proof: docs/proofs/laplace.md.

Accuracy.    P(|Z_i| > t) is the law's exact tail; `error` is its quantile, joint over d coordinates.

Assumes.     Nothing beyond random bits: the sampler is exact.
"""

from __future__ import annotations

from dataclasses import dataclass

from sfumato.accounting.laws import Law
from sfumato.mechanisms.noise.additive import Additive, Answerable, Lattice, noised
from sfumato.mechanisms.noise.gauges import LAPLACE
from sfumato.mechanisms.noise.law import pure_epsilon, smallest_scale
from sfumato.privacy.guarantees import Approximate, Guarantee, Pure
from sfumato.privacy.laplace import printed_laplace_scale
from sfumato.randomness import Rng
from sfumato.sampling import DiscreteLaplace

__all__ = ["Laplace"]


@dataclass(frozen=True, slots=True)
class Laplace(Additive):
    """Laplace noise of a given scale, in lattice units.

    Proof: docs/proofs/laplace.md.

    >>> from sfumato.mechanisms.noise.additive import Vector
    >>> count = Vector("count", dimension=1, l1=1, l2=1, linf=1)
    >>> Laplace.calibrate(count, Pure(0.5)).guarantee(distance=2)
    Pure(epsilon=1.0)
    """

    query: Answerable
    scale: float
    epsilon: float | None = None

    def __post_init__(self) -> None:
        DiscreteLaplace(self.scale)
        if self.epsilon is not None:
            Pure(self.epsilon)

    @classmethod
    def calibrate(cls, query: Answerable, target: Guarantee) -> Laplace:
        """The least noisy Laplace mechanism that meets `target`."""
        if isinstance(target, Approximate) and target.delta > 0:
            return cls(query, *LAPLACE.calibrate_profile(query.sensitivity("l1"), target))
        epsilon = pure_epsilon(target, "Laplace noise")
        return cls(query, *LAPLACE.calibrate(query.sensitivity("l1"), Pure(epsilon)))

    @classmethod
    def printed(cls, query: Answerable, target: Approximate) -> Laplace:
        """Document 001's own scale, s / (epsilon - ln(1 - delta)): sufficient, more than the least."""
        scale = printed_laplace_scale(query.sensitivity("l1"), target.epsilon, target.delta)
        return cls(query, smallest_scale(scale), target.epsilon)

    @property
    def noise(self) -> DiscreteLaplace:
        """The law of each coordinate's noise."""
        return DiscreteLaplace(self.scale)

    def guarantee(self, distance: int = 1) -> Pure | Approximate:
        """What one release costs between tables `distance` units apart."""
        return LAPLACE.claim(self.query.sensitivity("l1"), self.scale, self.epsilon, distance)

    def loss(self, distance: int = 1) -> Law | None:
        """A pair of laws on the line that dominates one release."""
        return LAPLACE.loss(self.query.sensitivity("l1"), self.scale, distance)

    def error(self, beta: float = 0.05) -> float:
        """The largest coordinate error in lattice units, exceeded with probability at most `beta`."""
        return float(LAPLACE.on(self.scale, self.query.dimension).quantile(beta))

    def release(self, answer: Lattice, rng: Rng) -> Lattice:
        """Add the noise.  `answer` is the exact, secret value of the query."""
        return noised(answer, self.query, self.noise, rng)

    def to_record(self) -> dict[str, object]:
        """Public parameters."""
        return {"type": "laplace", "scale": self.scale, "epsilon": self.epsilon}
