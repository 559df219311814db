r"""Normal noise in l2: rounded to whole numbers, or the discrete Gaussian law.

Definition.  Independent N(0, sigma^2), each rounded to the nearest whole number; or independent Z_i with weight
exp(-z^2 / (2 sigma^2)) on the integers.  The scale is sigma.

Guarantee.   If one unit moves the vector by at most s in l2, k units cost rho = (k s)^2 / (2 sigma^2) concentrated
[BunSteinke2016; CanonneKamathSteinke2020].  With `epsilon` given: rounded normal noise costs (epsilon, delta) by the
exact Gaussian profile at k s [BalleWang2018], rounding being a function of the sum; the discrete law its own exact
profile in one dimension, in more what follows from rho.  Proof: docs/proofs/normals.md.

Accuracy.    The laws' own tails, joint over the coordinates.

Assumes.     Nothing beyond random bits: the samplers are exact.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import overload

import numpy as np
import numpy.typing as npt

from sfumato.accounting.laws import FiniteLaw, GaussianLaw, pure_law
from sfumato.accounting.laws import Law as LossLaw
from sfumato.errors import UnsupportedQuery
from sfumato.mechanisms.noise.law import Moved, approximate, far, smallest_scale, squared
from sfumato.numeric import PI, ceil_float, floor_float, round_up
from sfumato.privacy.conversions import concentrated_delta, concentrated_for, pure_to_concentrated
from sfumato.privacy.gaussian import (
    discrete_gaussian_delta,
    discrete_gaussian_sigma,
    gaussian_delta,
    gaussian_sigma,
)
from sfumato.privacy.guarantees import Approximate, Concentrated, GaussianPrivacy, Guarantee, Pure
from sfumato.sampling import DiscreteGaussian, RoundedNormal
from sfumato.sampling.independent import Independent

__all__ = ["DISCRETE_GAUSSIAN", "DISCRETE_GAUSSIANS", "NORMAL", "DiscreteNormal", "Normal", "composed"]

Floats = npt.NDArray[np.float64]

LISTED = 512.0  # the widest discrete Gaussian whose losses are listed one by one
BEYOND, REVEALED = 38, 1e-300  # standard deviations that are listed; what lies outside is less, and counts as revealed


@dataclass(frozen=True, slots=True)
class Normal:
    """Independent normal noise, rounded."""

    name: str = "normal"
    norm: str = "l2"
    pure: bool = False

    def meets(self, target: Guarantee) -> bool:
        """Whether it has a delta."""
        return target.takes_normal

    def calibrate(self, moved: Moved, target: Guarantee) -> tuple[float, float | None]:
        """The least sigma that meets the target."""
        sigma, epsilon = normal_sigma(moved, target)
        return smallest_scale(sigma), epsilon

    def claim(
        self, moved: Moved, scale: float, epsilon: float | None = None, distance: int = 1
    ) -> Concentrated | Approximate:
        """(k s)^2 / (2 sigma^2); with `epsilon` the exact Gaussian delta."""
        return normal_claim(moved, scale, epsilon, distance)

    def loss(self, moved: Moved, scale: float, distance: int = 1) -> LossLaw | None:
        """Two normal laws, k s / sigma apart."""
        reach = far(moved, distance)
        return GaussianLaw(ceil_float(Fraction(reach) / Fraction(scale))) if reach else pure_law(0.0)

    def deviation(self, dimension: int) -> float:
        """Of one coordinate at scale one, for wide noise."""
        return 1.0

    def rough(self, shape: tuple[int, ...], dimension: int, generator: np.random.Generator) -> Floats:
        """Draws at scale one in floating point, for predictions."""
        return generator.normal(size=shape)

    def on(self, scale: float, dimension: int) -> Independent:
        """Independent draws."""
        return Independent(RoundedNormal(scale), dimension)


@dataclass(frozen=True, slots=True)
class DiscreteNormal:
    """Independent discrete Gaussian noise; `single` if the vector is one number, whose profile is known exactly."""

    single: bool = False
    name: str = "discrete-gaussian"
    norm: str = "l2"
    pure: bool = False

    def meets(self, target: Guarantee) -> bool:
        """Whether it has a delta."""
        return target.takes_normal

    def calibrate(self, moved: Moved, target: Guarantee) -> tuple[float, float | None]:
        """The least sigma that meets the target."""
        if isinstance(target, Concentrated):
            sigma, _ = normal_sigma(moved, target)
            return smallest_scale(sigma), None
        if not (isinstance(target, Approximate) and target.delta > 0):
            raise _refused(target)
        if self.single:
            sigma = discrete_gaussian_sigma(int(far(moved)), target.epsilon, target.delta)
        else:
            sigma = concentrated_sigma(moved, concentrated_for(target.epsilon, target.delta))
        while not self.claim(moved, smallest_scale(sigma), target.epsilon).implies(target):
            sigma *= 1 + 1e-13  # delta is found from rho by bisection, and rounded up
        return smallest_scale(sigma), target.epsilon

    def claim(
        self, moved: Moved, scale: float, epsilon: float | None = None, distance: int = 1
    ) -> Concentrated | Approximate:
        """(k s)^2 / (2 sigma^2); with `epsilon` the lesser of its own exact delta and the one that follows from rho."""
        rho = normal_rho(moved, scale, distance)
        reach = far(moved, distance)
        if epsilon is None:
            return Concentrated(rho)
        if not reach:
            return Approximate(0.0, 0.0)
        exact = discrete_gaussian_delta(scale, int(reach), epsilon) if self.single else 1.0
        return approximate(epsilon, min(exact, concentrated_delta(rho, epsilon)), distance)

    def loss(self, moved: Moved, scale: float, distance: int = 1) -> LossLaw | None:
        """The listed losses of the longest whole move; None in more dimensions and for wide noise."""
        steps = int(far(moved, distance))
        if not steps:
            return pure_law(0.0)
        if not self.single or scale > LISTED:
            return None
        ends = math.ceil(BEYOND * scale) + steps
        places = np.arange(ends + steps, -ends - 1, -1, dtype=np.float64)  # of P, whose center is 0; Q's is at `steps`
        weights = np.exp(-0.5 * np.square(places / scale))
        others = np.exp(-0.5 * np.square((places - steps) / scale))
        total = float(weights.sum())
        losses = steps * (steps - 2 * places) / (2 * scale**2)
        return FiniteLaw(losses, weights / total, others / total, REVEALED, True, steps / (2 * scale**2))

    def deviation(self, dimension: int) -> float:
        """Of one coordinate at scale one, for wide noise."""
        return 1.0

    def rough(self, shape: tuple[int, ...], dimension: int, generator: np.random.Generator) -> Floats:
        """Draws at scale one in floating point, for predictions."""
        return generator.normal(size=shape)

    def on(self, scale: float, dimension: int) -> Independent:
        """Independent draws."""
        return Independent(DiscreteGaussian(scale), dimension)


NORMAL, DISCRETE_GAUSSIAN = Normal(), DiscreteNormal()
DISCRETE_GAUSSIANS = {True: DiscreteNormal(single=True), False: DISCRETE_GAUSSIAN}


def normal_rho(moved: Moved, sigma: float, distance: int = 1) -> float:
    """(distance moved / sigma)^2 / 2, rounded up unless exact.

    >>> normal_rho(1.5, 3.0)
    0.125
    """
    return ceil_float(normal_cost(moved, sigma, distance))


def normal_cost(moved: Moved, sigma: float, distance: int = 1) -> Fraction:
    """The same exactly, for costs that are added up before they are rounded."""
    return distance**2 * squared(moved) / Fraction(sigma) ** 2 / 2


def concentrated_sigma(moved: Moved, rho: float) -> float:
    """The least sigma with (moved / sigma)^2 / 2 <= rho, rounded up."""
    sigma = far(moved) / math.sqrt(2 * rho)
    while sigma and normal_rho(moved, sigma) > rho:
        sigma = round_up(sigma)
    return sigma


def normal_sigma(moved: Moved, target: Guarantee) -> tuple[float, float | None]:
    """The least sigma of normal noise that meets the target, and the epsilon of its claim with delta."""
    if isinstance(target, Concentrated) and target.rho > 0:
        return concentrated_sigma(moved, target.rho), None
    if isinstance(target, Approximate) and target.delta > 0:
        return gaussian_sigma(far(moved), target.epsilon, target.delta), target.epsilon
    raise _refused(target)


def normal_claim(moved: Moved, sigma: float, epsilon: float | None, distance: int) -> Concentrated | Approximate:
    """What normal noise costs, rounded or not."""
    if epsilon is None:
        return Concentrated(normal_rho(moved, sigma, distance))
    reach = far(moved, distance)
    if not reach:
        return Approximate(0.0, 0.0)
    return approximate(epsilon, gaussian_delta(sigma, reach, epsilon), distance)


@overload
def composed(pure: Fraction, ratio: Fraction, target: Guarantee) -> Guarantee: ...
@overload
def composed(pure: Fraction, ratio: Fraction, target: Guarantee | GaussianPrivacy) -> Guarantee | GaussianPrivacy: ...
def composed(pure: Fraction, ratio: Fraction, target: Guarantee | GaussianPrivacy) -> Guarantee | GaussianPrivacy:
    """What pure steps of total epsilon `pure` and normal noise of total squared `ratio` cost, in the target's kind.

    Squared ratios (moved / sigma)^2 of normal noise add, also where a vector depends on what was released before
    [DongRothSu2022]; a pure step of e and normal noise of profile delta(.) cost (epsilon, delta(epsilon - e)), and a
    pure step of e is no easier to tell than normal noise of squared ratio pi e^2 / 2 (docs/proofs/selection.md).
    """
    if isinstance(target, GaussianPrivacy):
        return GaussianPrivacy.of_normal(ceil_float((ratio + PI * pure**2 / 2) / 2))
    if isinstance(target, Concentrated):
        return Concentrated(round_up(ceil_float(ratio / 2) + pure_to_concentrated(ceil_float(pure))))
    if not ratio:
        epsilon = ceil_float(pure)
        return Pure(epsilon) if isinstance(target, Pure) else Approximate(epsilon, 0.0)
    epsilon = max(target.epsilon, ceil_float(pure))  # pure steps beyond the target leave no smaller claim
    found = gaussian_delta(1.0, round_up(math.sqrt(ceil_float(ratio))), floor_float(Fraction(epsilon) - pure))
    return Approximate(epsilon, found)


def _refused(target: Guarantee) -> UnsupportedQuery:
    return UnsupportedQuery(f"Gaussian noise needs rho > 0 or delta > 0; it cannot meet {target!r}")
