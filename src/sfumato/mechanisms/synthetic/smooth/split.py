"""Designs: which measurements a plan makes, with which noise, so that their costs meet the target exactly."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

from sfumato.mechanisms.noise.gauges import LAPLACE
from sfumato.mechanisms.noise.law import NoiseLaw, stated_delta
from sfumato.mechanisms.noise.laws import pure_laws
from sfumato.mechanisms.noise.normals import NORMAL
from sfumato.mechanisms.synthetic.smooth.choose import SPREAD, TRIAL, Shape, chosen, shares
from sfumato.mechanisms.synthetic.smooth.features import BLOCKS, QUANTUM, dimension
from sfumato.mechanisms.synthetic.smooth.measurement import Measurement, moved
from sfumato.numeric import PI, round_down, round_up
from sfumato.privacy.gaussian import gaussian_sigma
from sfumato.privacy.guarantees import GaussianPrivacy, Guarantee

__all__ = ["Design", "box_design", "normal_design", "pure_design"]

RADIUS = 0.08  # of epsilon, for the choice of a radius
CENTER = 0.15  # of the squared ratios, for the center
CERTAIN = 7.0  # in the exponent: radii that hold every row are then chosen once in a thousand tables
HIDDEN = 0.045  # the root mean square, over all rows outside, of how far they are pulled along one direction
ROOM = 1 - 1e-9  # scales are first set this far inside the target, so that rounding cannot leave it


@dataclass(frozen=True, slots=True)
class Design:
    """Measurements of blocks; with a center, they are made in a ball around it."""

    shape: Shape
    measured: tuple[Measurement, ...]
    center: Measurement | None = None
    radius_rate: float = 0.0  # of the exponential choice, per row
    radius_cost: Fraction = Fraction(0)
    inside: float = 1.0  # the part of the rows that the radius should hold
    stretch: float = 1.0  # the ball's reach over that radius
    hidden: float = 0.0  # how far clipping may move the mean, in units of the box

    @property
    def blocks(self) -> tuple[str, ...]:
        """In the order of their measurements."""
        return tuple(m.block for m in self.measured)

    @property
    def measurements(self) -> tuple[Measurement, ...]:
        """All of them."""
        return self.measured if self.center is None else (self.center, *self.measured)

    @property
    def costs(self) -> tuple[Fraction, Fraction]:
        """The sum of pure costs, and that of squared ratios of normal noise."""
        pure = sum((m.epsilon for m in self.measurements), self.radius_cost)
        return pure, sum((m.ratio for m in self.measurements), Fraction(0))


def pure_design(
    columns: int,
    rows: int,
    epsilon: float,
    unit: int,
    exchanged: bool,
    blocks: tuple[str, ...] | None,
) -> Design:
    """One look at the whole box: the noise of each block from its best body, Laplace noise for the radius."""
    shape = Shape(columns, 1.0, columns / 2)
    laws = {block: _pure_law(block, columns, unit, exchanged) for block in BLOCKS}
    far = {block: moved(block, columns, laws[block].norm, unit, exchanged, ball=False) for block in BLOCKS}
    noise = {
        block: far[block] * laws[block].deviation(dimension(block, columns)) / (QUANTUM * rows * epsilon)
        for block in BLOCKS
    }
    names = chosen(shape, noise) if blocks is None else blocks
    parts = shares(names, shape, noise, power=2 / 3)
    return Design(
        shape,
        tuple(
            Measurement(
                block,
                dimension(block, columns),
                laws[block],
                round_up(far[block] / (parts[block] * epsilon * ROOM)),
                far[block],
            )
            for block in names
        ),
    )


def box_design(
    columns: int,
    rows: int,
    target: Guarantee | GaussianPrivacy,
    unit: int,
    exchanged: bool,
    blocks: tuple[str, ...] | None,
) -> Design:
    """One look at the whole box under normal noise: nothing is clipped, which pays for few columns and many rows."""
    shape = Shape(columns, 1.0, columns / 2)
    ratio = _normal_budget(target, 0.0)[1]
    far = {block: moved(block, columns, NORMAL.norm, unit, exchanged, ball=False) for block in BLOCKS}
    noise = {block: far[block] / (QUANTUM * rows * math.sqrt(ratio)) for block in BLOCKS}
    names = chosen(shape, noise, math.sqrt(TRIAL)) if blocks is None else blocks
    return Design(shape, _normal(columns, names, far, shares(names, shape, noise, power=1.0), ratio))


def _normal(
    columns: int, names: tuple[str, ...], far: dict[str, int], parts: dict[str, float], ratio: float
) -> tuple[Measurement, ...]:
    """Measurements under normal noise that share a sum of squared ratios."""
    return tuple(
        Measurement(
            block,
            dimension(block, columns),
            NORMAL,
            round_up(far[block] / math.sqrt(parts[block] * ratio)),
            far[block],
        )
        for block in names
    )


def normal_design(
    columns: int,
    rows: int,
    target: Guarantee | GaussianPrivacy,
    unit: int,
    exchanged: bool,
    blocks: tuple[str, ...] | None,
) -> Design:
    """Center, radius, then the blocks in a ball, all but the radius under normal noise."""
    cost, ratio = _normal_budget(target)
    far_center = moved("mean", columns, NORMAL.norm, unit, exchanged, ball=False)
    center = Measurement("mean", columns, NORMAL, round_up(far_center / math.sqrt(CENTER * ratio)), far_center)
    error = center.scale / (QUANTUM * rows)
    reach = min(1.5 * math.sqrt(columns * (SPREAD**2 + error**2)), 2 * math.sqrt(columns))
    shape = Shape(columns, reach, 0.5 * math.sqrt(columns) * reach + 0.5 * reach**2)
    far = {block: moved(block, columns, NORMAL.norm, unit, exchanged, ball=True) for block in BLOCKS}
    left = (1 - CENTER) * ratio
    noise = {block: far[block] / (QUANTUM * rows * math.sqrt(left)) for block in BLOCKS}
    names = chosen(shape, noise, math.sqrt(TRIAL)) if blocks is None else blocks
    parts = shares(names, shape, noise, power=1.0)
    measured = _normal(columns, names, far, parts, left)
    rate = round_down(cost / (2 * unit))
    outside = min(0.3, max(CERTAIN / rate, 2 * math.sqrt(columns)) / rows)
    pulled = HIDDEN * math.sqrt(outside)
    stretch = _stretch(pulled, math.sqrt(columns) * measured[0].scale / (QUANTUM * rows))
    hidden = pulled / stretch**1.5 * reach
    return Design(shape, measured, center, rate, 2 * unit * Fraction(rate), 1 - outside, stretch, hidden)


def _stretch(pulled: float, noise: float) -> float:
    """How far beyond the radius to reach: noise grows like g, what clipping hides falls like pulled / g^(3/2)."""
    return max(1.0, math.pow(1.5 * (pulled / noise) ** 2, 0.2))


def _normal_budget(target: Guarantee | GaussianPrivacy, part: float = RADIUS) -> tuple[float, float]:
    """Epsilon for the radius, and the sum of squared ratios for all normal noise."""
    if target.counts_mu:
        square = 2 * target.normal_within()
        cost = math.sqrt(square) * part
        return cost, (square - float(PI) * cost**2 / 2) * ROOM
    if target.counts_rho:
        rho = target.concentrated_within()
        cost = math.sqrt(2 * rho) * part
        return cost, 2 * (rho - cost * math.tanh(cost / 2)) * ROOM
    epsilon = target.pure_within()
    cost = part * epsilon
    return cost, gaussian_sigma(1.0, epsilon - cost, stated_delta(target, 0.0)) ** -2 * ROOM


def _pure_law(block: str, columns: int, unit: int, exchanged: bool) -> NoiseLaw:
    """The pure law with the least noise for a block; the radius moves least in l1."""
    if block == "radius":
        return LAPLACE
    size = dimension(block, columns)

    def noise(law: NoiseLaw) -> float:
        return law.deviation(size) * moved(block, columns, law.norm, unit, exchanged, ball=False)

    return min(pure_laws(size), key=noise)
