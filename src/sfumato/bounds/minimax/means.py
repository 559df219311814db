"""Mean square errors that no sequentially interactive epsilon-private protocol beats for every population: means."""

from __future__ import annotations

from sfumato.bounds.arguments import positive, rounded_down
from sfumato.bounds.minimax.information import cap_information, cube_information
from sfumato.bounds.minimax.trees import van_trees

__all__ = ["ball_mean_error", "cube_mean_error", "mean_error"]


def mean_error(n: int, epsilon: float, low: float = -1.0, high: float = 1.0) -> float:
    """Of the mean of a law on [low, high]; Duchi's protocol attains it as n grows.

    >>> round(mean_error(10**6, 1.0) * 10**6, 2)  # Duchi's: 4.68
    4.65
    """
    half = positive("high - low", high - low) / 2
    return rounded_down(half * half * van_trees(1, cube_information(1, epsilon), n, 1.0))


def cube_mean_error(n: int, epsilon: float, d: int) -> float:
    """Of the mean of a law on [-1, 1]^d, summed over coordinates."""
    return van_trees(d, cube_information(d, epsilon), n, 1 / d)


def ball_mean_error(n: int, epsilon: float, d: int) -> float:
    """Of the mean of a law on the unit ball in d dimensions, in squared l2 norm; PrivUnit attains it as n grows."""
    if d == 1:
        return mean_error(n, epsilon)
    return van_trees(d, cap_information(d, epsilon), n, d**-1.5)
