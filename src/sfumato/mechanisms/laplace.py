r"""The Laplace mechanism on a lattice: independent two-sided geometric noise on a vector of integers.

Definition.  For answers f(x) in Z^d and a scale b > 0, release f(x) + (Z_1, ..., Z_d), the Z_i
independent with P(Z = z) proportional to exp(-|z| / b).

Guarantee.   If one unit moves f by at most s in l1, then k units cost epsilon = k s / b
[GhoshRoughgardenSundararajan2012].  In one dimension, with `epsilon` given, the claim is instead
(epsilon, delta) with delta the exact profile of the lattice law, so that the scale may be smaller
[Holohan et al. 2015; document 001, 4.9, whose printed scale is sufficient but not the least].
Proof: docs/proofs/laplace.md.

Accuracy.    P(|Z_i| > t) is the law's exact tail; `error` is its quantile, joint over d coordinates.

Assumes.     Nothing beyond random bits: the sampler is exact.
"""

from __future__ import annotations

from dataclasses import dataclass

from sfumato.errors import ParameterError, UnsupportedQuery
from sfumato.mechanisms.additive import (
    Answerable,
    Lattice,
    approximate,
    joint_quantile,
    noised,
    ratio_up,
    smallest_scale,
    times_up,
)
from sfumato.numeric import round_up
from sfumato.privacy.guarantees import Approximate, Guarantee, Pure
from sfumato.privacy.laplace import discrete_laplace_delta, discrete_laplace_scale, printed_laplace_scale
from sfumato.randomness import Rng
from sfumato.sampling import DiscreteLaplace

__all__ = ["Laplace"]


@dataclass(frozen=True, slots=True)
class Laplace:
    """Laplace noise of a given scale, in lattice units.

    >>> from sfumato.mechanisms.additive import Vector
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
        if self.epsilon is not None and self.query.dimension != 1:
            raise ParameterError("a Laplace claim with delta is exact in one dimension only; use Gaussian")

    @classmethod
    def calibrate(cls, query: Answerable, target: Guarantee) -> Laplace:
        """The least noisy Laplace mechanism that meets `target`."""
        sensitivity = query.sensitivity("l1")
        if isinstance(target, Approximate) and target.delta > 0:
            if query.dimension != 1:
                raise UnsupportedQuery("Laplace with delta needs a single number; use Gaussian for vectors")
            scale = discrete_laplace_scale(int(sensitivity), target.epsilon, target.delta)
            return cls(query, smallest_scale(scale), target.epsilon)
        if not isinstance(target, Pure | Approximate) or target.epsilon <= 0:
            raise UnsupportedQuery(f"Laplace meets pure or approximate targets with epsilon > 0, not {target!r}")
        scale = smallest_scale(sensitivity / target.epsilon)
        while not cls(query, scale).guarantee().implies(target):
            scale = round_up(scale)
        return cls(query, scale)

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
        moved = times_up(distance, self.query.sensitivity("l1"))
        if self.epsilon is not None and moved:
            return approximate(self.epsilon, discrete_laplace_delta(self.scale, int(moved), self.epsilon), distance)
        return Pure(ratio_up(moved, self.scale))

    def error(self, beta: float = 0.05) -> float:
        """The largest coordinate error in lattice units, exceeded with probability at most `beta`."""
        return float(joint_quantile(self.noise, self.query.dimension, beta))

    def release(self, answer: Lattice, rng: Rng) -> Lattice:
        """Add the noise.  `answer` is the exact, secret value of the query."""
        return noised(answer, self.query, self.noise, rng)

    def to_record(self) -> dict[str, object]:
        """Public parameters."""
        return {"type": "laplace", "scale": self.scale, "epsilon": self.epsilon}
