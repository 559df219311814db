r"""Noise on a vector of whole numbers, one theorem a law: what it costs, how little of it is enough, how it is drawn.

A law of scale b has a norm.  Whoever adds its noise says only how far one unit moves the vector in that norm, `moved`;
the law says the rest:

- `calibrate(moved, target)`: the least scale that meets the target, rounded up, and the epsilon at which its claim is
  stated if that has a delta;
- `claim(moved, scale, epsilon, distance)`: the guarantee between tables `distance` units apart;
- `loss(moved, scale, distance)`: a pair of laws on the line that dominates it, for batches, where one is proven;
- `on(scale, dimension)`: the vector's noise itself, with its variance and joint quantile.

At distance 0, and where no unit moves the vector, a claim is of its own kind and empty: Pure(0), Concentrated(0),
Approximate(0, 0); so it is everywhere what the claim at distance 1 gives for a group of none.

Proof: docs/proofs/law.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Protocol

import numpy as np
import numpy.typing as npt

from sfumato.accounting.laws import Law as LossLaw
from sfumato.errors import ParameterError, UnsupportedQuery
from sfumato.numeric import ceil_float
from sfumato.privacy.guarantees import Approximate, Claim, Concentrated, Guarantee, Pure
from sfumato.randomness import Rng

__all__ = [
    "Drawn", "Moved", "NoiseLaw", "Root", "approximate", "both_amounts", "far", "pure_epsilon", "reach",
    "root_up", "smallest_scale", "squared", "stated_delta",
]  # fmt: skip

SMALLEST = 1e-3  # of the scales that the samplers support, in lattice units

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Root:
    """The square root of a whole number: a distance in l2 of which only the square is exact."""

    square: int


Moved = float | Fraction | Root


class Drawn(Protocol):
    """The noise of a whole vector."""

    @property
    def variance(self) -> float:
        """Of one coordinate; the mean over them where they differ."""

    def quantile(self, beta: float) -> int:
        """A whole t that no coordinate exceeds in size, but for `beta`."""

    def sample(self, count: int, rng: Rng) -> Integers:
        """So many independent vectors, one a row."""


class NoiseLaw(Protocol):
    """A law of noise that carries its theorem; a value, compared and hashed as such."""

    def __hash__(self) -> int: ...

    @property
    def name(self) -> str:
        """As it is stored; a name never changes its meaning."""

    @property
    def norm(self) -> str:
        """In which `moved` is measured."""

    @property
    def pure(self) -> bool:
        """Whether its claim has no delta, so that costs add as epsilons; else squared ratios add."""

    def meets(self, target: Guarantee) -> bool:
        """Whether enough noise of this law meets such a target."""

    def calibrate(self, moved: Moved, target: Guarantee) -> tuple[float, float | None]:
        """The least scale, and the epsilon of a claim with delta."""

    def claim(
        self, moved: Moved, scale: float, epsilon: float | None = None, distance: int = 1
    ) -> Pure | Approximate | Concentrated:
        """What one release costs between tables `distance` units apart."""

    def loss(self, moved: Moved, scale: float, distance: int = 1) -> LossLaw | None:
        """A pair of laws that dominates one release; None where no better one is known than the claim's own."""

    def deviation(self, dimension: int) -> float:
        """The standard deviation of one coordinate at scale one, for wide noise."""

    def rough(self, shape: tuple[int, ...], dimension: int, generator: np.random.Generator) -> Floats:
        """Draws at scale one in floating point, for predictions; `dimension` coordinates share a radius."""

    def on(self, scale: float, dimension: int) -> Drawn:
        """The noise of a vector; refused where it cannot be drawn."""


def far(moved: Moved, distance: int = 1) -> float:
    """How far `distance` units move the vector, rounded up only if it is not exact.

    >>> far(1.5, 2), far(Root(2)) >= math.sqrt(2)
    (3.0, True)
    """
    return ceil_float(reach(moved, distance))


def reach(moved: Moved, distance: int = 1) -> Fraction:
    """The same exactly, but for roots, which are rounded up."""
    if isinstance(moved, Root):
        return Fraction(root_up(distance**2 * moved.square))
    return distance * Fraction(moved)


def squared(moved: Moved) -> Fraction:
    """The square of a distance, exactly."""
    return Fraction(moved.square) if isinstance(moved, Root) else Fraction(moved) ** 2


def root_up(square: int) -> float:
    """The square root of a whole number, rounded up.

    >>> root_up(9), root_up(2) >= math.sqrt(2)
    (3.0, True)
    """
    root = math.isqrt(square)
    if root * root == square:
        return ceil_float(Fraction(root))
    return ceil_float(Fraction(math.isqrt(square << 128) + 1, 1 << 64))


def smallest_scale(scale: float) -> float:
    """The scale, or the least that the samplers support."""
    return max(scale, SMALLEST)


def approximate(epsilon: float, delta: float, distance: int) -> Approximate:
    """The claim at a distance; refused where delta has reached 1 and nothing is claimed."""
    if delta >= 1:
        raise ParameterError(f"at distance {distance} delta would reach 1: no guarantee is left")
    return Approximate(epsilon, delta)


def stated_delta(target: Claim, otherwise: float) -> float:
    """The target's delta, or another number where its kind has none."""
    return target.delta if isinstance(target, Approximate) else otherwise


def pure_epsilon(target: Guarantee, what: str, concentrated: bool = False) -> float:
    """The epsilon of a pure claim that meets the target; of a concentrated one only where that is asked for."""
    epsilon = target.pure_within()
    if epsilon <= 0 or (target.counts_rho and not concentrated):
        kinds = "epsilon > 0 or rho > 0" if concentrated else "pure targets with epsilon > 0"
        raise UnsupportedQuery(f"{what} {'needs' if concentrated else 'meets'} {kinds}, not {target!r}")
    return epsilon


def both_amounts(target: Guarantee, what: str) -> tuple[float, float]:
    """Epsilon and delta of a target that has both."""
    if not (isinstance(target, Approximate) and target.epsilon > 0 and target.delta > 0):
        raise UnsupportedQuery(f"{what} needs a delta: spend Approximate(epsilon, delta), not {target!r}")
    return target.epsilon, target.delta
