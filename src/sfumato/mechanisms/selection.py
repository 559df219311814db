"""What selecting mechanisms share: the shape of a question whose answer is one of finitely many, and its costs.

A choice at rate c among scores whose changes lie within `spread` of one another has a loss within an interval
of length c spread: pure epsilon = c spread and concentrated rho = (c spread)^2 / 8.  Costs are computed in
rationals and rounded once, outward.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from sfumato.errors import ParameterError
from sfumato.numeric import ceil_float, floor_float, round_down
from sfumato.queries.popular import Popular

__all__ = [
    "Chosen",
    "Counts",
    "checked_rate",
    "checked_scores",
    "concentrated_cost",
    "concentrated_rate",
    "most_popular",
    "peeled",
    "popularity_error",
    "pure_cost",
    "pure_rate",
]

Counts = npt.NDArray[np.int64]
Chosen = npt.NDArray[np.int64]


def pure_cost(rate: float, spread: int, rounds: int | Fraction) -> float:
    """rounds * rate * spread, rounded up unless exact."""
    return ceil_float(Fraction(rate) * spread * rounds)


def pure_rate(epsilon: float, spread: int, rounds: int | Fraction) -> float:
    """The greatest rate whose `pure_cost` is at most epsilon.

    >>> pure_rate(1.0, 1, 4)
    0.25
    """
    return floor_float(Fraction(epsilon) / (spread * rounds))


def concentrated_cost(rate: float, spread: int, rounds: int | Fraction) -> float:
    """rounds * (rate * spread)^2 / 8, rounded up unless exact."""
    return ceil_float((Fraction(rate) * spread) ** 2 * rounds / 8)


def concentrated_rate(rho: float, spread: int, rounds: int | Fraction) -> float:
    """A rate whose `concentrated_cost` is at most rho, the greatest but for rounding."""
    rate = math.sqrt(8 * rho / rounds) / spread
    while concentrated_cost(rate, spread, rounds) > rho:
        rate = round_down(rate)
    return rate


def checked_rate(rate: float) -> None:
    """Refuse a rate that is not a finite positive number."""
    if not (isinstance(rate, int | float) and math.isfinite(rate) and rate > 0):
        raise ParameterError(f"rate must be finite and positive, got {rate!r}")


def peeled(scores: Counts, k: int, pick: Callable[[Counts], int]) -> list[int]:
    """The positions that `pick` chooses from the penalties, one after another, without repetition."""
    left = np.arange(len(scores))
    chosen: list[int] = []
    for _ in range(k):
        remaining = scores[left]
        place = pick(remaining.max() - remaining)
        chosen.append(int(left[place]))
        left = np.delete(left, place)
    return chosen


def most_popular(query: Popular, answer: Any, pick: Callable[[Counts], int]) -> Chosen:
    """The positions of the k items that `pick` chooses in each cell, of shape (cells, k)."""
    scores, k = checked_scores(answer, query.cells.count, len(query.items), query.name), query.query.k
    picks = [peeled(cell, k, pick) for cell in scores]
    return np.array(picks, dtype=np.int64).reshape(len(scores), k)


def popularity_error(query: Popular, rate: float, beta: float) -> float:
    """How much less popular than the best a choice can be, but for probability `beta` over all choices.

    Each choice has P(score < best - t) <= |items| exp(-rate t); a union bound over the choices of all cells.
    """
    choices = query.query.k * max(1, query.cells.count)
    return math.log(len(query.items) * choices / beta) / rate


def checked_scores(scores: Any, cells: int, candidates: int, name: str) -> Counts:
    """The scores, if there is one for each candidate of each cell; their values are never looked at."""
    array = np.asarray(scores, dtype=np.int64)
    if array.shape != (cells, candidates):
        raise ParameterError(
            f"query {name!r} ranks {candidates} candidates in {cells} cells, got scores of shape {array.shape}"
        )
    return array
