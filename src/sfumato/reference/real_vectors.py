r"""Noise bodies on vectors of real numbers: document 000's own setting, x in R^n with the l1 distance.

Definition.  For a matrix F (d, n) and x in R^n release F x + Z.  Z has density proportional to exp(-epsilon ||z||_B), B
a symmetric convex body around the columns of F: gamma times a uniform point of B (K-norm for the hull K of the signed
columns, Laplace for a cross-polytope, the l-infinity mechanism for the cube).  Or Z is the sum of NIM's levels, each
K-norm noise of a projected query [HardtTalwar2010].

Guarantee.   Pure epsilon s t for vectors x, y with ||x - y||_1 <= t, t any positive number, s the largest gauge of a
column, rounded up; for levels the largest cost of a column, times t.  Proof: docs/proofs/real_vectors.md.

Accuracy.    E ||Z||^p = Gamma(d + 1 + p) / (epsilon^p Gamma(d + 1)) E ||u||^p, u uniform on B: a formula for some
bodies and norms (reference/moments.py), else an upper limit: mean + 4 standard errors of draws from a fixed seed.

Assumes.     `real-arithmetic`, since x and Z are floating-point numbers; `mixing` if Z is drawn by a walk.

Differs.     No factor 2, as in the document's proof, and a Laplace scale that does not forget d, as its code does.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, Protocol

import numpy as np
import numpy.typing as npt

from sfumato.errors import ParameterError
from sfumato.mechanisms.geometry.nim import NIM
from sfumato.numeric import ceil_float
from sfumato.privacy.guarantees import Pure
from sfumato.randomness import Rng
from sfumato.reference.moments import body_moment, simulated_moment
from sfumato.sampling.bodies import Body, Hull, knorm, sampler
from sfumato.sampling.bodies.body import body_noise
from sfumato.sampling.bodies.lattice import SURE, TAIL, accuracy_draws

__all__ = ["RealBody", "RealLevels", "RealNoise", "real_answer"]

Reals = npt.NDArray[np.float64]


class RealNoise(Protocol):
    """Continuous noise on the answers to a linear query of a real vector.

    `setting` says that the loss is at most epsilon times every l1 distance, whole or not.
    """

    setting: ClassVar[str]

    def guarantee(self, distance: float = 1.0) -> Pure:
        """What one release costs between vectors at an l1 distance."""

    def error(self, beta: float = 0.05) -> float:
        """The largest coordinate error, exceeded with probability at most `beta`."""

    def moment(self, power: float = 1.0, norm: str | float = "l2") -> float:
        """E ||Z||^power, or an upper limit of it."""

    def release(self, answer: Reals, rng: Rng) -> Reals:
        """The answer plus noise."""


@dataclass(frozen=True, slots=True, eq=False)
class RealBody:
    """Noise with density exp(-epsilon ||z||_body) on matrix @ x.

    Proof: docs/proofs/real_vectors.md.

    >>> RealBody(np.eye(2), Hull(np.eye(2)), 0.5).guarantee(distance=16)
    Pure(epsilon=8.0, assumptions=['real-arithmetic'])
    """

    setting: ClassVar[str] = "metric"
    matrix: Reals
    body: Body
    epsilon: float

    def __post_init__(self) -> None:
        if self.body.dimension != len(self.matrix):
            raise ParameterError(f"body has dimension {self.body.dimension}, the matrix {len(self.matrix)} rows")
        if not math.isfinite(self.reach):
            raise ParameterError("body does not span the columns of the matrix; take one that contains them")

    @property
    def reach(self) -> float:
        """The largest gauge of a column, rounded up."""
        return float(self.body.gauge_bound(self.matrix.T).max())

    @property
    def assumptions(self) -> frozenset[str]:
        """What the claim takes for granted."""
        walks = isinstance(self.body, Hull) and sampler(self.body) == "walk"
        return frozenset({"real-arithmetic", "mixing"} if walks else {"real-arithmetic"})

    def guarantee(self, distance: float = 1.0) -> Pure:
        """What one release costs between vectors whose l1 distance is at most `distance`."""
        cost = _distance(distance) * Fraction(self.epsilon) * Fraction(self.reach)
        return Pure(ceil_float(cost), assumptions=self.assumptions)

    def error(self, beta: float = 0.05) -> float:
        """The largest coordinate error, exceeded with probability at most `beta`."""
        return _largest(self._draws(), beta)

    def moment(self, power: float = 1.0, norm: str | float = "l2") -> float:
        """E ||Z||^power: a formula where there is one, else an upper limit: a simulated mean + 4 standard errors."""
        return body_moment(self.body, self.epsilon, power, norm)

    def release(self, answer: Reals, rng: Rng) -> Reals:
        """Add the noise; a walk starts anew.  `answer` is matrix @ x, exact and secret."""
        if isinstance(self.body, Hull):
            return np.asarray(answer + knorm(self.body, self.epsilon, 1, rng)[0][0])
        return np.asarray(answer + body_noise(self.body, self.epsilon, 1, rng)[0])

    def _draws(self) -> Reals:
        return accuracy_draws(self.body) / self.epsilon  # type: ignore[arg-type]


@dataclass(frozen=True, slots=True, eq=False)
class RealLevels:
    """The levels of a NIM on real vectors; `step` is what one of its lattice units stands for.

    Proof: docs/proofs/real_vectors.md.
    """

    setting: ClassVar[str] = "metric"
    levels: NIM
    step: float = 1.0

    def guarantee(self, distance: float = 1.0) -> Pure:
        """What one release costs between vectors whose l1 distance is at most `distance`."""
        unit = self.levels.guarantee()
        return Pure(ceil_float(_distance(distance) * Fraction(unit.epsilon)), assumptions=unit.assumptions)

    def error(self, beta: float = 0.05) -> float:
        """The largest coordinate error, exceeded with probability at most `beta`."""
        return _largest(self._draws(), beta)

    def moment(self, power: float = 1.0, norm: str | float = "l2") -> float:
        """An upper limit of E ||Z||^power: a simulated mean + 4 standard errors."""
        return simulated_moment(self._draws(), power, norm)

    def release(self, answer: Reals, rng: Rng) -> Reals:
        """Add the noise of every level; walks start anew.  `answer` is matrix @ x, exact and secret."""
        noise = np.zeros(len(answer))
        for level, body in zip(self.levels.levels, self.levels.bodies, strict=True):
            noise += level.up @ knorm(body, level.epsilon, 1, rng)[0][0]
        return np.asarray(answer + self.step * noise)

    def _draws(self) -> Reals:
        return self.step * self.levels.draws()


def real_answer(matrix: Reals, x: npt.ArrayLike) -> Reals:
    """matrix @ x, exact and secret; entries of x that are not finite count as zero."""
    values = np.nan_to_num(np.asarray(x, dtype=np.float64), nan=0.0, posinf=0.0, neginf=0.0)
    if values.shape != (matrix.shape[1],):
        raise ParameterError(f"x must have {matrix.shape[1]} entries, one a column of the matrix, got {values.shape}")
    return np.asarray(matrix @ values)


def _largest(draws: Reals, beta: float) -> float:
    """A margin of all coordinates at once, by a union bound.

    A simulated quantile, chosen so high that it is too low with probability SURE only; beyond TAIL the coordinates'
    log-concavity extends it.
    """
    from scipy.stats import binom

    if not 0 < beta < 1:
        raise ParameterError(f"beta must lie strictly between 0 and 1, got {beta!r}")
    each, count = beta / draws.shape[1], len(draws)
    near = max(each, TAIL, -math.log(SURE) / count)
    rank = min(int(binom.isf(SURE, count, 1 - near)) + 1, count)
    known = np.sort(np.abs(draws), axis=0)[rank - 1].max()
    return float(known * max(1.0, math.log(each) / math.log(near)))


def _distance(distance: float) -> Fraction:
    if not (math.isfinite(distance) and distance >= 0):
        raise ParameterError(f"distance must be finite and at least 0, got {distance!r}")
    return Fraction(distance)
