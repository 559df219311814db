r"""What a marginal and a choice cost, and the exact noise they get: pure, concentrated, and Gaussian for a delta.

One unit of m rows moves the counts of a marginal by at most m in l1 and l2 under addition or removal; under replacement
m rows leave and m come: 2m in l1 and m sqrt(2) in l2.  Scores that one unit moves by at most s move within 2s of one
another.
Costs are rationals and never exceed what was allotted.  Proof: docs/proofs/synthesis-marginals.md.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from sfumato.mechanisms.noise.gauges import gauge_cost
from sfumato.mechanisms.noise.law import Root, smallest_scale
from sfumato.mechanisms.noise.normals import normal_cost
from sfumato.mechanisms.selection.selection import concentrated_rate, gaussian_rate, pure_rate
from sfumato.numeric import floor_float
from sfumato.privacy.adjacency import Replace
from sfumato.randomness import Rng
from sfumato.sampling import DiscreteGaussian, DiscreteLaplace, RoundedNormal
from sfumato.spaces.schema import Schema

__all__ = ["ConcentratedNoise", "Law", "Noise", "NormalNoise", "PureNoise", "Reach", "noisy"]


@dataclass(frozen=True, slots=True)
class Reach:
    """How far one unit moves a table of counts: `rows` rows come or leave; with `both`, as many leave as come.

    Where rows have weights, `rows` is the most that one unit's weigh together, and `units` what stands for one row.
    """

    rows: int
    both: bool
    units: int = 1

    @classmethod
    def of(cls, schema: Schema) -> Reach:
        """The reach of a schema's unit under its adjacency."""
        return cls(schema.unit.rows, isinstance(schema.adjacency, Replace))

    @property
    def l1(self) -> int:
        """The largest move in l1."""
        return self.rows * (1 + self.both)

    @property
    def l2_squared(self) -> int:
        """The square of the largest move in l2."""
        return self.rows**2 * (1 + self.both)


@dataclass(frozen=True, slots=True)
class ConcentratedNoise:
    """Discrete Gaussian noise; amounts are rho.

    >>> noise = ConcentratedNoise(Reach(1, both=False))
    >>> noise.scales(Fraction(1, 2), [10]), noise.cost([1.0])
    ((1.0,), Fraction(1, 2))
    """

    reach: Reach
    halving: ClassVar[int] = 4  # times an amount halves the noise
    tails: ClassVar[float] = 0.0  # deviations that a count of chance may lie beyond those of a normal law
    apart: ClassVar[bool] = True  # many numbers one by one: their mean is as well known as if it alone were asked for

    name: ClassVar[str] = "discrete-gaussian"

    def cost(self, scales: Sequence[float]) -> Fraction:
        """What releasing marginals with these standard deviations costs."""
        return _normal_cost(self.reach, scales)

    def scales(self, amount: Fraction, cells: Sequence[int]) -> tuple[float, ...]:
        """The split with the least total error, sum of cells times scale: rho in proportion to cells^(2/3)."""
        return _within(self, _normal_scales(self.reach, amount, cells), amount)

    def rate(self, amount: Fraction, move: int, choices: int) -> float:
        """The rate of `choices` choices among whole scores that one unit moves by at most `move`."""
        return concentrated_rate(floor_float(amount), 2 * move, choices)

    def law(self, scale: float) -> DiscreteGaussian:
        """The noise of one count."""
        return DiscreteGaussian(scale)


@dataclass(frozen=True, slots=True)
class NormalNoise:
    """Rounded normal noise, whose profile is exact for a delta; amounts are halves of squared mu.

    >>> noise = NormalNoise(Reach(1, both=False))
    >>> noise.scales(Fraction(1, 2), [10]), noise.cost([1.0])
    ((1.0,), Fraction(1, 2))
    """

    reach: Reach
    halving: ClassVar[int] = 4  # times an amount halves the noise
    tails: ClassVar[float] = 0.0
    apart: ClassVar[bool] = True
    name: ClassVar[str] = "rounded-normal"

    def cost(self, scales: Sequence[float]) -> Fraction:
        """What releasing marginals with these standard deviations costs."""
        return _normal_cost(self.reach, scales)

    def scales(self, amount: Fraction, cells: Sequence[int]) -> tuple[float, ...]:
        """The split with the least total error, as of concentrated noise."""
        return _within(self, _normal_scales(self.reach, amount, cells), amount)

    def rate(self, amount: Fraction, move: int, choices: int) -> float:
        """The rate of `choices` choices among whole scores that one unit moves by at most `move`."""
        return gaussian_rate(floor_float(amount), 2 * move, choices)

    def law(self, scale: float) -> RoundedNormal:
        """The noise of one count."""
        return RoundedNormal(scale)


@dataclass(frozen=True, slots=True)
class PureNoise:
    """Discrete Laplace noise; amounts are epsilon.

    >>> noise = PureNoise(Reach(1, both=True))
    >>> noise.scales(Fraction(1), [10]), noise.cost([4.0])
    ((2.0,), Fraction(1, 2))
    """

    reach: Reach
    halving: ClassVar[int] = 2  # times an amount halves the noise
    tails: ClassVar[float] = 4.0
    apart: ClassVar[bool] = False
    name: ClassVar[str] = "discrete-laplace"

    def cost(self, scales: Sequence[float]) -> Fraction:
        """What releasing marginals with these scales costs."""
        return sum((gauge_cost(self.reach.l1, scale) for scale in scales), Fraction(0))

    def scales(self, amount: Fraction, cells: Sequence[int]) -> tuple[float, ...]:
        """The split with the least total error, sum of cells times scale: epsilon in proportion to cells^(1/2)."""
        weights = [math.sqrt(count) for count in cells]
        total = math.fsum(weights)
        return _within(self, [self.reach.l1 * total / (float(amount) * weight) for weight in weights], amount)

    def rate(self, amount: Fraction, move: int, choices: int) -> float:
        """The rate of `choices` choices among whole scores that one unit moves by at most `move`."""
        return pure_rate(floor_float(amount), 2 * move, choices)

    def law(self, scale: float) -> DiscreteLaplace:
        """The noise of one count."""
        return DiscreteLaplace(scale)


Noise = ConcentratedNoise | NormalNoise | PureNoise
Law = DiscreteGaussian | RoundedNormal | DiscreteLaplace
Counts = npt.NDArray[np.int64]


def noisy(counts: Counts, law: Law, rng: Rng) -> Counts:
    """Whole counts with whole noise."""
    return np.asarray(counts + law.sample(counts.shape, rng))


def _normal_cost(reach: Reach, scales: Sequence[float]) -> Fraction:
    return sum((normal_cost(Root(reach.l2_squared), scale) for scale in scales), Fraction(0))


def _normal_scales(reach: Reach, amount: Fraction, cells: Sequence[int]) -> list[float]:
    """What normal noise should have for the least total error, but for rounding."""
    weights = [count ** (2 / 3) for count in cells]
    total = math.fsum(weights)
    return [math.sqrt(reach.l2_squared * total / (2 * float(amount) * weight)) for weight in weights]


def _within(noise: Noise, wanted: Sequence[float], amount: Fraction) -> tuple[float, ...]:
    """The scales, enlarged by as little as it takes to cost no more than `amount`."""
    scales = tuple(smallest_scale(scale) for scale in wanted)
    while noise.cost(scales) > amount:
        scales = tuple(scale * (1 + 2.0**-50) for scale in scales)
    return scales
