r"""The elliptic Gaussian mechanism: normal noise shaped like the best ellipsoid around the sensitivity body.

Definition.  For counts x in Z^n and a matrix A of whole numbers release A x + (round(G_1), ..., round(G_m)), the G_i
independent N(0, sigma^2); answers are W A^+ times that.  With A = T F the noise of the answers is, up to
rounding, N(0, sigma^2 (T^T T)^{-1}): any ellipsoid.

Guarantee.   If one unit moves A x by at most s in l2, k units cost rho = (k s)^2 / (2 sigma^2) concentrated
[BunSteinke2016], or, with `epsilon` given, (epsilon, delta) with the exact Gaussian profile at k s [BalleWang2018].
Proof: docs/proofs/elliptic_gaussian.md.

Accuracy.    Row w has variance (sigma^2 + 1/12) ||w A^+||^2, to within exp(-2 pi^2 sigma^2).  With the best ellipsoid
no rho-concentrated mechanism has less than sqrt(2 rho / (e^{2 rho} - 1)) of its root mean square on integer tables.

Assumes.     Nothing beyond random bits: the rounded law is drawn exactly, reading answers is post-processing.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from sfumato.accounting.laws import Law
from sfumato.mechanisms.noise.measuring import Measured
from sfumato.mechanisms.noise.normals import NORMAL
from sfumato.privacy.guarantees import Approximate, Concentrated, Guarantee
from sfumato.queries.linear.choosing import best_measurement
from sfumato.queries.linear.measurements import Measurement
from sfumato.queries.linear.reading import normal_margins
from sfumato.queries.linear.workload import Workload
from sfumato.sampling import RoundedNormal

__all__ = ["EllipticGaussian"]


@dataclass(frozen=True, slots=True)
class EllipticGaussian(Measured):
    """Rounded normal noise of standard deviation `sigma` on a measurement; concentrated unless `epsilon` is given.

    Proof: docs/proofs/elliptic_gaussian.md.
    """

    query: Workload
    sigma: float
    measurement: Measurement
    epsilon: float | None = None

    def __post_init__(self) -> None:
        RoundedNormal(self.sigma)
        self.read_measurement()

    @classmethod
    def calibrate(cls, query: Workload, target: Guarantee, measurement: Measurement | None = None) -> EllipticGaussian:
        """The least noisy mechanism that meets `target`, with the best measurement if none is given."""
        chosen = best_measurement(query, "l2") if measurement is None else measurement
        sigma, epsilon = NORMAL.calibrate(_moved(query, chosen), target)
        return cls(query, sigma, chosen, epsilon)

    @property
    def noise(self) -> RoundedNormal:
        """The law of each measurement's noise."""
        return RoundedNormal(self.sigma)

    def guarantee(self, distance: int = 1) -> Concentrated | Approximate:
        """What one release costs between tables `distance` units apart."""
        return NORMAL.claim(_moved(self.query, self.measurement), self.sigma, self.epsilon, distance)

    def loss(self, distance: int = 1) -> Law | None:
        """A pair of laws on the line that dominates one release."""
        return NORMAL.loss(_moved(self.query, self.measurement), self.sigma, distance)

    def margins(self, beta: float) -> npt.NDArray[np.float64]:
        """For each row a distance that its error exceeds with probability at most `beta`."""
        return normal_margins(self.query, self.measurement, self.sigma, beta)

    def to_record(self) -> dict[str, Any]:
        """Public parameters."""
        return {
            "type": "elliptic-gaussian", "sigma": self.sigma, "measurement": self.measurement.to_record(),
            "epsilon": self.epsilon,
        }  # fmt: skip


def _moved(query: Workload, measurement: Measurement) -> float:
    """How far one unit moves the measurement in l2, rounded up."""
    return query.moves.sensitivity("l2", *measurement.norms("l2"))
