r"""Laplace noise on the coefficients of a function, each in units of its own: curves without delta.

Definition.  A question answers with whole coefficients a_k of a function on a public finite basis, where one step of
a_k is worth u_k.  Release a + (Z_1, ..., Z_d), the Z_k independent with P(Z = z) proportional to exp(-|z| / b).  With
u_k proportional to c_k^(1/3) this has the least integrated squared error among independent Laplace noises whose
charge is counted by |coefficient of a row| <= c_k.

Guarantee.   If one unit moves a by at most s in l1, k units cost epsilon = k s / b.  Reading the function, anywhere
and for ever, is post-processing.  Proof: docs/proofs/spectral_laplace.md.

Accuracy.    `error` bounds the noise over the whole curve of sums at once: the simulated quantile of its own supremum.

Assumes.     Nothing beyond random bits: the sampler is exact and the coefficients are whole.
"""

from __future__ import annotations

from dataclasses import dataclass

from sfumato.accounting.laws import Law
from sfumato.answers.curves import supremum
from sfumato.mechanisms.mechanism import Answering
from sfumato.mechanisms.noise.additive import Lattice, noised
from sfumato.mechanisms.noise.gauges import LAPLACE, gauge_claim
from sfumato.mechanisms.noise.law import pure_epsilon
from sfumato.privacy.guarantees import Guarantee, Pure
from sfumato.queries.functions.question import FunctionQuestion
from sfumato.randomness import Rng
from sfumato.sampling import DiscreteLaplace

__all__ = ["SpectralLaplace"]


@dataclass(frozen=True, slots=True)
class SpectralLaplace(Answering):
    """Laplace noise of a given scale on the coefficients of a curve; `coarser` steps of waves are left out.

    Proof: docs/proofs/spectral_laplace.md.
    """

    query: FunctionQuestion
    scale: float
    coarser: int = 0

    def __post_init__(self) -> None:
        DiscreteLaplace(self.scale)
        object.__setattr__(self, "query", self.query.shaped("l1", self.coarser))

    @classmethod
    def calibrate(cls, query: FunctionQuestion, target: Guarantee, coarser: int = 0) -> SpectralLaplace:
        """The least noisy mechanism with these waves that meets `target`."""
        pure = Pure(pure_epsilon(target, "Laplace noise on a curve"))
        scale, _ = LAPLACE.calibrate(query.shaped("l1", coarser).sensitivity("l1"), pure)
        return cls(query, scale, coarser)

    @property
    def noise(self) -> DiscreteLaplace:
        """The law of each coefficient's noise, in its units."""
        return DiscreteLaplace(self.scale)

    def guarantee(self, distance: int = 1) -> Pure:
        """What one release costs between tables `distance` units apart."""
        return gauge_claim(self.query.sensitivity("l1"), self.scale, distance)

    def loss(self, distance: int = 1) -> Law | None:
        """A pair of laws on the line that dominates one release."""
        return LAPLACE.loss(self.query.sensitivity("l1"), self.scale, distance)

    def error(self, beta: float = 0.05) -> float:
        """The noise of the curve of sums over its whole domain, exceeded with probability at most `beta`."""
        return supremum(self.query.reading, self.query.worth, self.noise, beta)

    def release(self, answer: Lattice, rng: Rng) -> Lattice:
        """Add the noise.  `answer` is the exact, secret vector of the question in l1 units."""
        return noised(answer, self.query, self.noise, rng)

    def to_record(self) -> dict[str, object]:
        """Public parameters."""
        return {"type": "spectral-laplace", "scale": self.scale, "coarser": self.coarser}
