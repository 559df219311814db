"""Mean square errors that no sequentially interactive epsilon-private protocol beats for every population: means.

Three families, the best of which is taken: independent signs of any means (`conjugate`), tilted signs and the tilted
sphere (`van_trees`).  Every bound here grows with the dimension: signs by their formula, the others because only
dimensions of one fixed list are looked at.
"""

from __future__ import annotations

import math

from sfumato.bounds.arguments import positive, rounded_down, whole
from sfumato.bounds.minimax.conjugate import signs_error
from sfumato.bounds.minimax.information import cap_information, cube_information
from sfumato.bounds.minimax.trees import van_trees

__all__ = ["ball_mean_error", "cube_mean_error", "mean_error"]

EVERY = 16  # dimensions up to which every smaller problem is looked at
STEP = 1.05  # between the dimensions beyond them
TILTED = 4  # dimensions up to which tilted signs can be the better family, when n is large and epsilon small


def mean_error(n: int, epsilon: float, low: float = -1.0, high: float = 1.0) -> float:
    """Of the mean of a law on [low, high]: 1/(1 + sqrt(n) tanh(epsilon/2))^2 of the half width's square, or more.

    Duchi's protocol attains it as n grows.

    >>> round(mean_error(10**6, 1.0) * 10**6, 2)  # Duchi's: 4.68
    4.66
    """
    half = positive("high - low", high - low) / 2
    tilted = van_trees(1, cube_information(1, epsilon), n, 1.0)
    return rounded_down(half * half * max(tilted, signs_error(n, epsilon, 1)))


def cube_mean_error(n: int, epsilon: float, d: int) -> float:
    """Of the mean of a law on [-1, 1]^d, summed over coordinates; never below that of fewer coordinates.

    >>> round(cube_mean_error(1000, 1.0, 100), 1)  # the middle of the cube, without any report: 100
    11.4
    """
    tilted = [van_trees(size, cube_information(size, epsilon), n, 1 / size) for size in range(2, min(d, TILTED) + 1)]
    return max([mean_error(n, epsilon), signs_error(n, epsilon, d), *tilted])


def ball_mean_error(n: int, epsilon: float, d: int) -> float:
    """Of the mean of a law on the unit ball in d dimensions, in squared l2 norm; PrivUnit attains it as n grows.

    The cube of side 2/sqrt(d) and a ball in fewer dimensions are parts of it.
    """
    found = [van_trees(size, cap_information(size, epsilon), n, size**-1.5) for size in _sizes(d)]
    return max([mean_error(n, epsilon), rounded_down(signs_error(n, epsilon, d) / d), *found])


def _sizes(d: int) -> list[int]:
    """Dimensions of balls: all up to EVERY, then in steps of a twentieth, whatever d."""
    steps = range(math.ceil(math.log(max(whole("d", d) / EVERY, 1), STEP)) + 1)
    beyond = {math.ceil(EVERY * STEP**i) for i in steps}
    return [size for size in sorted({*range(2, EVERY), *beyond}) if size <= d]
