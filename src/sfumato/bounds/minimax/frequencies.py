"""Errors that no sequentially interactive epsilon-private protocol beats for every population: frequencies."""

from __future__ import annotations

import math

import numpy as np

from sfumato.bounds.arguments import rounded_down, whole
from sfumato.bounds.minimax.information import pair_information, subset_information
from sfumato.bounds.minimax.means import mean_error
from sfumato.bounds.minimax.trees import van_trees

__all__ = ["asymptotic_frequency_error", "frequency_error", "frequency_l1_error", "worst_frequency_error"]


BLOCKS = (3, 4, 5, 6, 8, 12, 16, 32, 64, 256)  # sizes of blocks that are tried


def frequency_error(n: int, epsilon: float, k: int) -> float:
    """The sum over k categories of the mean square errors of the frequencies.

    The best of several families (directions within blocks of categories, small blocks allowing larger steps), over
    all numbers of categories up to k: a problem with fewer categories is no harder.

    >>> round(frequency_error(10**8, 1.0, 16) / asymptotic_frequency_error(10**8, 1.0, 16), 2)
    0.99
    """
    best = 0.0
    for size in _sizes(k):
        information = subset_information(size, epsilon)
        best = max(best, van_trees(size // 2, pair_information(size, epsilon), n, math.sqrt(2) / size))
        for block in {*BLOCKS, size}:
            if block <= size:
                directions = size // block * (block - 1)
                widest = 1 / (size * math.sqrt((block - 1) * (1 - 1 / block)))
                best = max(best, van_trees(directions, information, n, widest))
    return best


def asymptotic_frequency_error(n: int, epsilon: float, k: int) -> float:
    """The least sum of mean square errors as n grows, attained by subset selection: no bound at a given n.

    [YeBarg2018]
    """
    return (k - 1) ** 2 / (whole("n", n) * subset_information(k, epsilon))


def worst_frequency_error(n: int, epsilon: float) -> float:
    """The mean square error of the worst category's frequency: one category against the rest is a mean on [0, 1]."""
    return mean_error(n, epsilon, 0.0, 1.0)


def frequency_l1_error(n: int, epsilon: float, k: int) -> float:
    """The mean sum of the absolute errors, by Assouad over pairs of categories."""
    whole("n", n)
    best = 0.0
    for size in _sizes(k):
        pairs, information = size // 2, pair_information(size, epsilon)
        h = math.sqrt(2) / size * np.geomspace(1e-5, 1.0, 400)
        mass = 1 - h * math.sqrt(pairs * information)
        with np.errstate(divide="ignore", invalid="ignore"):
            told = np.where(mass > 0, np.sqrt(2 * n * h * h * information / (pairs * mass)), 1.0)
        best = max(best, float((h / math.sqrt(2) * pairs * np.maximum(1 - told, 0.0)).max()))
    return rounded_down(best)


def _sizes(k: int) -> list[int]:
    """Numbers of categories to try: all small ones, then in steps of a tenth."""
    whole("k", k)
    steps = {min(k, max(2, round(2 * 1.1**i))) for i in range(400) if 2 * 1.1**i < 1.1 * k + 2}
    return sorted(steps | {k}) if k >= 2 else []
