r"""Noise whose weight falls with a norm: discrete Laplace in l1, the cube in l-infinity, the ball in l2.

Definition.  On Z^d the weight exp(-||z|| / b) (Laplace, cube), or on R^d the density exp(-||z||_2 / b), rounded to
whole numbers (ball).

Guarantee.   If one unit moves the vector by at most s in the norm, k units cost epsilon = k s / b, pure: the triangle
inequality, since the total weight does not depend on the table; rounding commutes with whole moves.  For discrete
Laplace, with `epsilon` given, (epsilon, delta) by the exact profile of the worst whole move, which is along one axis
in any dimension.  Proof: docs/proofs/gauges.md.

Accuracy.    Exact tails; for the ball an upper bound of the joint tail by steps of the common radius.

Assumes.     Nothing beyond random bits: the samplers are exact.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from sfumato.accounting.laws import FiniteLaw, LaplaceLaw, pure_law
from sfumato.accounting.laws import Law as LossLaw
from sfumato.mechanisms.noise.law import Moved, approximate, far, pure_epsilon, reach, smallest_scale
from sfumato.numeric import ceil_float, round_up
from sfumato.privacy.guarantees import Approximate, Guarantee, Pure
from sfumato.privacy.laplace import discrete_laplace_delta, discrete_laplace_scale
from sfumato.sampling import CubeNoise, DiscreteLaplace
from sfumato.sampling.balls import BallVectors
from sfumato.sampling.independent import Independent

__all__ = ["BALL", "CUBE", "LAPLACE", "Ball", "Cube", "DiscreteLaplaceLaw"]

Floats = npt.NDArray[np.float64]

LISTED = 64  # lattice steps up to which the losses of discrete Laplace noise are listed one by one


@dataclass(frozen=True, slots=True)
class DiscreteLaplaceLaw:
    """Independent two-sided geometric noise."""

    name: str = "laplace"
    norm: str = "l1"
    pure: bool = True

    def meets(self, target: Guarantee) -> bool:
        """Whether there is a pure part to spend."""
        return target.pure_within() > 0

    def calibrate(self, moved: Moved, target: Guarantee) -> tuple[float, float | None]:
        """The least scale whose pure claim meets the target."""
        return gauge_scale(moved, target, "Laplace noise"), None

    def calibrate_profile(self, moved: Moved, target: Approximate) -> tuple[float, float]:
        """The least scale whose claim with delta meets the target, and its epsilon."""
        scale = discrete_laplace_scale(int(far(moved)), target.epsilon, target.delta)
        return smallest_scale(scale), target.epsilon

    def claim(self, moved: Moved, scale: float, epsilon: float | None = None, distance: int = 1) -> Pure | Approximate:
        """k s / b; with `epsilon` the exact delta of the longest whole move."""
        if epsilon is None:
            return gauge_claim(moved, scale, distance)
        steps = int(far(moved, distance))
        if not steps:
            return Approximate(0.0, 0.0)
        return approximate(epsilon, discrete_laplace_delta(scale, steps, epsilon), distance)

    def loss(self, moved: Moved, scale: float, distance: int = 1) -> LossLaw | None:
        """The pair along one axis: its losses listed, or for long moves the continuous law that dominates it."""
        steps = int(far(moved, distance))
        if not steps:
            return pure_law(0.0)
        if steps > LISTED:
            return LaplaceLaw(round_up(steps / scale + 2 * math.log(math.cosh(0.5 / scale)), 8))
        fall = 1 / scale
        places = np.arange(steps, -1, -1)
        masses = math.tanh(fall / 2) * np.exp(-fall * places)
        masses[-1], masses[0] = 1 / (1 + math.exp(-fall)), math.exp(-fall * steps) / (1 + math.exp(-fall))
        losses = np.asarray((steps - 2 * places) * fall, dtype=np.float64)
        return FiniteLaw(losses, masses, masses[::-1].copy(), 0.0, True, fall)

    def deviation(self, dimension: int) -> float:
        """Of one coordinate at scale one, for wide noise."""
        return math.sqrt(2)

    def rough(self, shape: tuple[int, ...], dimension: int, generator: np.random.Generator) -> Floats:
        """Draws at scale one in floating point, for predictions."""
        return np.asarray(generator.laplace(size=shape))

    def on(self, scale: float, dimension: int) -> Independent:
        """Independent draws."""
        return Independent(DiscreteLaplace(scale), dimension)


@dataclass(frozen=True, slots=True)
class Cube:
    """Noise spread evenly over cubes."""

    name: str = "cube"
    norm: str = "linf"
    pure: bool = True

    def meets(self, target: Guarantee) -> bool:
        """Whether there is a pure part to spend."""
        return target.pure_within() > 0

    def calibrate(self, moved: Moved, target: Guarantee) -> tuple[float, float | None]:
        """The least scale whose claim meets the target."""
        return gauge_scale(moved, target, "cube noise"), None

    def claim(self, moved: Moved, scale: float, epsilon: float | None = None, distance: int = 1) -> Pure:
        """k s / b."""
        return gauge_claim(moved, scale, distance)

    def loss(self, moved: Moved, scale: float, distance: int = 1) -> LossLaw | None:
        """None beyond the claim's own."""
        return None

    def deviation(self, dimension: int) -> float:
        """Of one coordinate at scale one, for wide noise."""
        return math.sqrt((dimension + 1) * (dimension + 2) / 3)

    def rough(self, shape: tuple[int, ...], dimension: int, generator: np.random.Generator) -> Floats:
        """Draws at scale one in floating point, for predictions."""
        return np.asarray(generator.gamma(dimension + 1) * generator.uniform(-1, 1, size=shape))

    def on(self, scale: float, dimension: int) -> CubeNoise:
        """Whole vectors."""
        return CubeNoise(scale, dimension)


@dataclass(frozen=True, slots=True)
class Ball:
    """Noise alike in all directions."""

    name: str = "ball"
    norm: str = "l2"
    pure: bool = True

    def meets(self, target: Guarantee) -> bool:
        """Whether there is a pure part to spend."""
        return target.pure_within() > 0

    def calibrate(self, moved: Moved, target: Guarantee) -> tuple[float, float | None]:
        """The least scale whose claim meets the target."""
        return gauge_scale(moved, target, "ball noise"), None

    def claim(self, moved: Moved, scale: float, epsilon: float | None = None, distance: int = 1) -> Pure:
        """k s / b."""
        return gauge_claim(moved, scale, distance)

    def loss(self, moved: Moved, scale: float, distance: int = 1) -> LossLaw | None:
        """None beyond the claim's own."""
        return None

    def deviation(self, dimension: int) -> float:
        """Of one coordinate at scale one, for wide noise."""
        return math.sqrt((dimension | 1) + 1)

    def rough(self, shape: tuple[int, ...], dimension: int, generator: np.random.Generator) -> Floats:
        """Draws at scale one in floating point, for predictions."""
        return np.asarray(math.sqrt(2 * generator.gamma(((dimension | 1) + 1) / 2)) * generator.normal(size=shape))

    def on(self, scale: float, dimension: int) -> BallVectors:
        """Whole vectors."""
        return BallVectors(scale, dimension)


LAPLACE, CUBE, BALL = DiscreteLaplaceLaw(), Cube(), Ball()


def gauge_claim(moved: Moved, scale: float | Fraction, distance: int) -> Pure:
    """distance * moved / scale, rounded up once."""
    return Pure(ceil_float(gauge_cost(moved, scale, distance)))


def gauge_cost(moved: Moved, scale: float | Fraction, distance: int = 1) -> Fraction:
    """The same exactly, for costs that are added up before they are rounded."""
    return reach(moved, distance) / Fraction(scale)


def gauge_scale(moved: Moved, target: Guarantee, what: str) -> float:
    """The least scale with moved / scale at most the target's epsilon, or that of the pure claim it contains."""
    epsilon = pure_epsilon(target, what, concentrated=True)
    return smallest_scale(ceil_float(reach(moved) / Fraction(epsilon)))
