r"""Ball noise on the coefficients of a function, each in units of its own: curves without delta, through few waves.

Definition.  A question answers with whole coefficients a_k of a function on a public finite basis, where one step of
a_k is worth u_k.  Release a + round(Z), Z with density proportional to exp(-||z||_2 / b).  With u_k^2 proportional to
c_k this has the least integrated squared error among ball noises stretched along the axes whose charge is counted by
|coefficient of a row| <= c_k.

Guarantee.   If one unit moves a by at most s in l2, k units cost epsilon = k s / b (`noise/gauges.py`).  Reading the
function, anywhere and for ever, is post-processing.  Proof: docs/proofs/spectral_ball.md.

Accuracy.    `error` bounds the noise over the whole curve of sums at once: the simulated quantile of its own supremum.
The variance grows with the number of waves, that of Laplace noise with the sum of their sizes: few waves of like size
favor the ball, and so does replacement, whose l2 moves are shorter.

Assumes.     Nothing beyond random bits: the sampler is exact and the coefficients are whole.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sfumato.answers.curves import supremum
from sfumato.mechanisms.mechanism import Answering
from sfumato.mechanisms.noise.additive import Lattice, checked
from sfumato.mechanisms.noise.gauges import BALL, gauge_claim
from sfumato.mechanisms.noise.law import pure_epsilon
from sfumato.privacy.guarantees import Guarantee, Pure
from sfumato.queries.functions.question import FunctionQuestion
from sfumato.randomness import Rng
from sfumato.sampling.balls import BallVectors

__all__ = ["SpectralBall"]


@dataclass(frozen=True, slots=True)
class SpectralBall(Answering):
    """Ball noise of a given scale on the coefficients of a curve; `coarser` steps of waves are left out.

    Proof: docs/proofs/spectral_ball.md.
    """

    query: FunctionQuestion
    scale: float
    coarser: int = 0

    def __post_init__(self) -> None:
        object.__setattr__(self, "query", self.query.shaped("l2", self.coarser))
        _ = self.noise

    @classmethod
    def calibrate(cls, query: FunctionQuestion, target: Guarantee, coarser: int = 0) -> SpectralBall:
        """The least noisy mechanism with these waves that meets `target`."""
        pure = Pure(pure_epsilon(target, "ball noise on a curve"))
        scale, _ = BALL.calibrate(query.shaped("l2", coarser).sensitivity("l2"), pure)
        return cls(query, scale, coarser)

    @property
    def noise(self) -> BallVectors:
        """The law of all coefficients' noise, in their units."""
        return BALL.on(self.scale, self.query.dimension)

    def guarantee(self, distance: int = 1) -> Pure:
        """What one release costs between tables `distance` units apart."""
        return gauge_claim(self.query.sensitivity("l2"), self.scale, distance)

    def error(self, beta: float = 0.05) -> float:
        """The noise of the curve of sums over its whole domain, exceeded with probability at most `beta`."""
        return supremum(self.query.reading, self.query.worth, self.noise, beta)

    def release(self, answer: Lattice, rng: Rng) -> Lattice:
        """Add the noise.  `answer` is the exact, secret vector of the question in l2 units."""
        return np.asarray(checked(answer, self.query) + self.noise.sample(1, rng)[0])

    def to_record(self) -> dict[str, object]:
        """Public parameters."""
        return {"type": "spectral-ball", "scale": self.scale, "coarser": self.coarser}
