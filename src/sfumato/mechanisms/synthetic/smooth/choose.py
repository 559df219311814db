r"""Which blocks are worth measuring, from public quantities alone, and how the budget is split between them.

A Gaussian kernel of width sigma at c, averaged over rows, is moved by an error of the block's mean by about
`influence` times the error of one number (docs/proofs/synthesis-smooth.md, section Influence; mixtures of ten kernels,
ten thousand of them, at sigma = WIDTH).  A block beyond the first two is measured when CLEARLY times the noise it would
get moves the worst query less than the block itself does for a typical table (columns of spread SPREAD, a third of the
variance in one direction).  Shares minimize the sum of squared effects at sigma = WIDE: proportional to
(influence * noise)^(2/3) for epsilons, to influence * noise for the squared ratios of normal noise.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from sfumato.mechanisms.synthetic.smooth.features import BLOCKS, dimension

__all__ = ["BEYOND", "SPREAD", "TRIAL", "WIDE", "Shape", "chosen", "height", "influence", "shares", "typical"]

BEYOND = BLOCKS[2:]  # measured only when it pays

WIDTH = 3.0  # of the kernels a plan is made for: the middle, on a logarithmic scale, of 2 to 5
WIDE = 4.0  # of the kernels whose errors the shares balance
SPREAD = 0.25  # the standard deviation of a column of a typical table
WORST = 4.0  # standard deviations reached by the worst of ten thousand queries
MIXED = math.sqrt(2 / 11)  # E of the root of the sum of squared weights in a mixture of ten
TRIAL = 0.25  # the share at which a block is judged
CLEARLY = 3.0  # times its noise is what a block must promise
MOST = 700  # numbers in all blocks together, so that a fit takes seconds


@dataclass(frozen=True, slots=True)
class Shape:
    """What a plan knows before it starts: columns, and the reach of y and the width of s in units of the box."""

    columns: int
    reach: float
    width: float


def influence(block: str, shape: Shape, sigma: float = WIDTH) -> float:
    """How far the worst query moves, relative to its size, when all numbers of a block's mean are off by one."""
    d, square = shape.columns, sigma**2
    linear = WORST * MIXED * math.sqrt(d / 3) * shape.reach / square
    effects: dict[str, float] = {
        "mean": linear,
        "radius": shape.width / (2 * square),
        "radial": linear * shape.width / (2 * square),
        "second": WORST * MIXED * d / 3 * shape.reach**2 / (math.sqrt(2) * square**2),
        "third": WORST * MIXED * (d / 3) ** 1.5 * shape.reach**3 / (math.sqrt(6) * square**3),
    }
    return effects[block]


def typical(block: str, columns: int, sigma: float = WIDTH) -> float:
    """How far the worst query moves, relative to its size, for want of a block, on a typical table."""
    d, square = columns, sigma**2
    largest = 0.3 * d * SPREAD**2  # the variance in the leading direction
    effects: dict[str, float] = {
        "radial": WORST * MIXED / math.sqrt(3) * largest * math.sqrt(d) / (2 * square**2),
        "second": WORST * MIXED / 3 * largest / (2 * square**2),
        "third": WORST * MIXED / 3**1.5 * largest**1.5 / (6 * square**3),
    }
    return effects[block]


def chosen(shape: Shape, noise: dict[str, float], part: float = TRIAL) -> tuple[str, ...]:
    """The blocks worth their noise, given as standard errors at the full budget, when they are larger by 1 / `part`."""
    out, size = ["mean", "radius"], shape.columns + 2
    for block in BEYOND:
        size += dimension(block, shape.columns)
        if size > MOST:
            break
        if CLEARLY * influence(block, shape) * noise[block] / part < typical(block, shape.columns):
            out.append(block)
    return tuple(out)


def shares(blocks: tuple[str, ...], shape: Shape, noise: dict[str, float], power: float) -> dict[str, float]:
    """The part of the budget that each block gets."""
    effects = {block: (influence(block, shape, WIDE) * noise[block]) ** power for block in blocks}
    total = sum(effects.values())
    return {block: effect / total for block, effect in effects.items()}


def height(columns: int, sigma: float) -> float:
    """The size of a large query of this width on a typical table: squared distances about 2 d / 3."""
    return math.exp(-columns / (3 * sigma**2))
