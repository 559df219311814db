"""Errors that no sequentially interactive epsilon-private protocol beats for every population: frequencies."""

from __future__ import annotations

import math

import numpy as np

from sfumato.bounds.arguments import rounded_down, whole
from sfumato.bounds.minimax.conjugate import categories_error
from sfumato.bounds.minimax.information import pair_information, subset_information
from sfumato.bounds.minimax.means import mean_error
from sfumato.bounds.minimax.trees import van_trees

__all__ = ["asymptotic_frequency_error", "frequency_error", "frequency_l1_error", "worst_frequency_error"]


def frequency_error(n: int, epsilon: float, k: int) -> float:
    """The sum over k categories of the mean square errors of the frequencies; never below that of fewer categories.

    The better of two families: all laws under a Dirichlet prior (`conjugate`), and laws near the uniform one.

    >>> round(frequency_error(10**8, 1.0, 16) / asymptotic_frequency_error(10**8, 1.0, 16), 2)
    0.99
    """
    near = [
        van_trees(size - 1, subset_information(size, epsilon), n, 1 / ((size - 1) * math.sqrt(size)))
        for size in _sizes(k)
    ]
    return max([categories_error(n, epsilon, k), *near])


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
    """Numbers of categories to try: all small ones, then in steps of a tenth, whatever k."""
    whole("k", k)
    return sorted({round(2 * 1.1**i) for i in range(400) if round(2 * 1.1**i) <= k})
