r"""The strategy mechanism: Laplace noise on a measurement of the histogram, answers by least squares.

Definition.  For counts x in Z^n and a matrix A of whole numbers release A x + (Z_1, ..., Z_m), the Z_i independent
with P(Z = z) proportional to exp(-|z| / b).  Answers to a workload W whose rows the rows of A span are
W A^+ (A x + Z), computed from the release alone [LiMiklauHayMcGregorRastogi2015].  The histogram, the answers
themselves, trees, wavelets and tables are choices of A; so is any factorization K inside A' B_1.

Guarantee.   If one unit moves A x by at most s in l1, k units cost epsilon = k s / b; or, with `epsilon` given,
(epsilon, delta) by the exact profile of the worst whole move.  Reading the answers is
post-processing, in floating point or otherwise.  Proof: docs/proofs/strategy.md.

Accuracy.    Unbiased; row w has variance v ||w A^+||^2 exactly, v that of one Z_i, and margins a few percent above the
quantiles of its law.

Assumes.     Nothing beyond random bits: counts, A and noise are whole numbers and the sampler is exact.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from sfumato.accounting.laws import Law
from sfumato.mechanisms.noise.gauges import LAPLACE
from sfumato.mechanisms.noise.law import pure_epsilon
from sfumato.mechanisms.noise.measuring import Measured
from sfumato.privacy.guarantees import Approximate, Guarantee, Pure
from sfumato.queries.linear.choosing import best_measurement
from sfumato.queries.linear.measurements import Measurement
from sfumato.queries.linear.reading import laplace_margins
from sfumato.queries.linear.workload import Workload
from sfumato.sampling import DiscreteLaplace

__all__ = ["Strategy"]


@dataclass(frozen=True, slots=True)
class Strategy(Measured):
    """Laplace noise of a given scale on a measurement of the histogram; the claim is pure unless `epsilon` is given.

    Proof: docs/proofs/strategy.md.
    """

    query: Workload
    scale: float
    measurement: Measurement
    epsilon: float | None = None

    def __post_init__(self) -> None:
        DiscreteLaplace(self.scale)
        if self.epsilon is not None:
            Pure(self.epsilon)
        self.read_measurement()

    @classmethod
    def calibrate(cls, query: Workload, target: Guarantee, measurement: Measurement | None = None) -> Strategy:
        """The least noisy strategy mechanism that meets `target`, with the best measurement if none is given."""
        chosen = best_measurement(query, "l1") if measurement is None else measurement
        moved = _moved(query, chosen)
        if isinstance(target, Approximate) and target.delta > 0:
            scale, epsilon = LAPLACE.calibrate_profile(moved, target)
            return cls(query, scale, chosen, epsilon)
        pure = Pure(pure_epsilon(target, "a strategy"))
        return cls(query, LAPLACE.calibrate(moved, pure)[0], chosen)

    @property
    def noise(self) -> DiscreteLaplace:
        """The law of each measurement's noise."""
        return DiscreteLaplace(self.scale)

    def guarantee(self, distance: int = 1) -> Pure | Approximate:
        """What one release costs between tables `distance` units apart."""
        return LAPLACE.claim(_moved(self.query, self.measurement), self.scale, self.epsilon, distance)

    def loss(self, distance: int = 1) -> Law | None:
        """A pair of laws on the line that dominates one release."""
        return LAPLACE.loss(_moved(self.query, self.measurement), self.scale, distance)

    def margins(self, beta: float) -> npt.NDArray[np.float64]:
        """For each row a distance that its error exceeds with probability at most `beta`."""
        return laplace_margins(self.query, self.measurement, self.scale, self.noise.variance, beta)

    def to_record(self) -> dict[str, Any]:
        """Public parameters."""
        stated = {} if self.epsilon is None else {"epsilon": self.epsilon}
        return {"type": "strategy", "scale": self.scale, "measurement": self.measurement.to_record(), **stated}


def _moved(query: Workload, measurement: Measurement) -> float:
    """How far one unit moves the measurement in l1."""
    return query.moves.sensitivity("l1", *measurement.norms("l1"))
