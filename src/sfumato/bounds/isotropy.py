r"""How round a sensitivity body is: its isotropic constant, and how far from isotropic position it lies.

With M the covariance of the uniform law on K: L_K^2 Vol(K)^{2/d} = det(M)^{1/d}, and K is c-approximately isotropic if
E <theta, a>^2 <= c^2 L_K^2 Vol(K)^{2/d} for every unit vector theta; the least c is sqrt(lambda_max(M) / det(M)^{1/d}).
L_K is bounded by a universal constant (Bourgain's slicing problem, KlartagLehec2025), so the recursive mechanism of
HardtTalwar2010 is optimal up to constants and logarithms without further hypotheses.
Proof: docs/proofs/bounds-isotropy.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sfumato.bounds.volume import Radius
from sfumato.errors import ParameterError

__all__ = ["Isotropy", "isotropy"]


@dataclass(frozen=True, slots=True)
class Isotropy:
    """`constant` is L_K, at most this if the volume is a lower bound; `position` the least c, 1 when isotropic."""

    constant: float
    position: float


def isotropy(covariance: npt.ArrayLike, radius: Radius) -> Isotropy:
    """From the covariance of the uniform law on K and its volume radius.

    >>> cube = isotropy(np.eye(3) / 3, Radius(2 / (4 * math.pi / 3) ** (1 / 3), 1.0))
    >>> round(cube.constant, 6), cube.position
    (0.288675, 1.0)
    """
    matrix = np.asarray(covariance, dtype=np.float64)
    d = len(matrix)
    sign, logs = np.linalg.slogdet(matrix)
    if sign <= 0:
        raise ParameterError("covariance must be positive definite; reduce the query to its rank first")
    mean = math.exp(float(logs) / d)
    root = radius.value * math.exp((d / 2 * math.log(math.pi) - math.lgamma(1 + d / 2)) / d)  # Vol(K)^{1/d}
    return Isotropy(math.sqrt(mean) / root, math.sqrt(float(np.linalg.eigvalsh(matrix)[-1]) / mean))
