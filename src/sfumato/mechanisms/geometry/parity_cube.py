r"""Cube noise on the lattice of the columns: answers that a row moves by odd numbers, all of them.

Definition.  If every entry of the matrix F of whole numbers is odd, sums of its columns have numbers of one parity: all
even or all odd.  Release F x + Z, Z on the vectors of one parity with P(Z = z) proportional to exp(-||z||_inf / b).

Guarantee.   If one unit moves F x by at most s in l-infinity, k units cost epsilon = k s / b, pure: the triangle
inequality on this lattice, which holds every move.  Proof: docs/proofs/parity_cube.md.

Accuracy.    Exact tails of one number.  Sign matrices at epsilon >= 3: up to 1.4 times less than the cube on all whole
vectors, which has more of them near zero.

Assumes.     Nothing beyond random bits: the sampler is exact.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sfumato.errors import UnsupportedQuery
from sfumato.mechanisms.noise.additive import Additive, Lattice, checked
from sfumato.mechanisms.noise.gauges import gauge_claim, gauge_scale
from sfumato.mechanisms.noise.law import pure_epsilon
from sfumato.privacy.guarantees import Guarantee, Pure
from sfumato.queries.linear.workload import Workload
from sfumato.randomness import Rng
from sfumato.sampling.parity import ParityNoise

__all__ = ["ParityCube"]


@dataclass(frozen=True, slots=True)
class ParityCube(Additive):
    """Noise of a given scale on the vectors of one parity.

    Proof: docs/proofs/parity_cube.md.
    """

    query: Workload
    scale: float

    def __post_init__(self) -> None:
        if not self.query.moves_keep_parity:
            raise UnsupportedQuery(f"a lattice of one parity needs odd entries alone; {self.query.name!r} has others")
        _ = self.noise

    @classmethod
    def calibrate(cls, query: Workload, target: Guarantee) -> ParityCube:
        """The least noisy mechanism that meets `target`."""
        epsilon = pure_epsilon(target, "a parity cube")
        return cls(query, gauge_scale(query.sensitivity("linf"), Pure(epsilon), "a parity cube"))

    @property
    def noise(self) -> ParityNoise:
        """The law of the noise."""
        return ParityNoise(self.scale, self.query.dimension)

    def guarantee(self, distance: int = 1) -> Pure:
        """What one release costs between tables `distance` units apart."""
        return gauge_claim(self.query.sensitivity("linf"), self.scale, distance)

    def error(self, beta: float = 0.05) -> float:
        """The largest error of a number, exceeded with probability at most `beta`."""
        return float(self.noise.quantile(beta / self.query.dimension))

    def release(self, answer: Lattice, rng: Rng) -> Lattice:
        """Add the noise.  `answer` is the exact, secret value of the query."""
        return np.asarray(checked(answer, self.query) + self.noise.vectors(1, rng)[0])

    def to_record(self) -> dict[str, object]:
        """Public parameters."""
        return {"type": "parity-cube", "scale": self.scale}
