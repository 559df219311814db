"""What selecting mechanisms share: the shape of a question whose answer is one of finitely many, and its costs.

A choice at rate c among scores whose changes lie within `spread` of one another has a loss within an interval
of length c spread: pure epsilon = c spread and concentrated rho = (c spread)^2 / 8, which at a delta is an epsilon,
smaller than the sum's where rounds are many; Gaussian mu = c spread sqrt(pi / 8), to be composed with normal noise.
Costs are computed in rationals and rounded once, outward.
Proof: docs/proofs/selection.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from sfumato.errors import ParameterError, UnsupportedQuery
from sfumato.numeric import PI, ceil_float, floor_float, round_down
from sfumato.privacy.guarantees import Approximate, Concentrated, Guarantee, Pure
from sfumato.queries.popular import Popular

__all__ = [
    "Chosen",
    "Counts",
    "checked_delta",
    "checked_rate",
    "checked_scores",
    "concentrated_cost",
    "concentrated_rate",
    "cost",
    "gaussian_cost",
    "gaussian_rate",
    "most_popular",
    "peeled",
    "popularity_error",
    "pure_cost",
    "pure_rate",
    "rate_for",
    "relaxed_cost",
    "relaxed_rate",
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


def gaussian_cost(rate: float, spread: int, rounds: int | Fraction) -> float:
    """rounds * pi / 16 * (rate * spread)^2, rounded up: half the squared mu of as many choices together.

    >>> gaussian_cost(1.0, 1, 1) > math.pi / 16
    True
    """
    return ceil_float((Fraction(rate) * spread) ** 2 * rounds * PI / 16)


def gaussian_rate(amount: float, spread: int, rounds: int | Fraction) -> float:
    """A rate whose `gaussian_cost` is at most an amount, the greatest but for rounding."""
    rate = math.sqrt(16 * amount / (float(PI) * rounds)) / spread
    while gaussian_cost(rate, spread, rounds) > amount:
        rate = round_down(rate)
    return rate


def rate_for(
    target: Guarantee, spread: int, rounds: int | Fraction, concentrated_rounds: int | Fraction | None = None
) -> tuple[float, bool]:
    """The greatest rate of a choice that meets a target, and whether it is claimed in rho; rounds may differ there."""
    if target.counts_rho and target.concentrated_within() > 0:
        many = rounds if concentrated_rounds is None else concentrated_rounds
        return concentrated_rate(target.concentrated_within(), spread, many), True
    if not target.counts_rho and target.pure_within() > 0:
        return pure_rate(target.pure_within(), spread, rounds), False
    raise UnsupportedQuery(f"a private choice needs epsilon > 0 or rho > 0, not {target!r}")


def relaxed_rate(target: Guarantee, spread: int, rounds: int | Fraction) -> float:
    """A rate whose claim in rho is within epsilon and delta, the greatest but for rounding."""
    rho, delta = target.concentrated_within(), target.parts().get("delta", 0.0)
    if target.counts_rho or not (rho > 0 and delta > 0):
        raise UnsupportedQuery(f"a choice through rho needs epsilon > 0 and delta > 0, not {target!r}")
    rate = concentrated_rate(rho, spread, rounds)
    while not relaxed_cost(rate, spread, rounds, delta).implies(target):
        rate = round_down(rate)
    return rate


def cost(rate: float, spread: int, rounds: int | Fraction, concentrated: bool) -> Pure | Concentrated:
    """What choices at this rate cost."""
    if concentrated:
        return Concentrated(concentrated_cost(rate, spread, rounds))
    return Pure(pure_cost(rate, spread, rounds))


def relaxed_cost(rate: float, spread: int, rounds: int | Fraction, delta: float) -> Approximate:
    """The epsilon at a delta of what choices at this rate cost in rho."""
    rho = concentrated_cost(rate, spread, rounds)
    return Approximate(0.0, delta).at_rho(rho) if rho else Approximate(0.0, 0.0)


def checked_delta(delta: float | None, concentrated: bool) -> None:
    """Refuse a delta that is none, or that no rho goes with."""
    if delta is not None and not (concentrated and 0 < delta < 1):
        raise ParameterError(f"delta must lie between 0 and 1 and go with a concentrated claim, got {delta!r}")


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


def most_popular(query: Popular, answer: npt.ArrayLike, pick: Callable[[Counts], int]) -> Chosen:
    """The positions of the k items that `pick` chooses in each cell, of shape (cells, k)."""
    scores, k = checked_scores(answer, query.cells.count, len(query.items), query.name), query.k
    picks = [peeled(cell, k, pick) for cell in scores]
    return np.array(picks, dtype=np.int64).reshape(len(scores), k)


def popularity_error(query: Popular, rate: float, beta: float) -> float:
    """How much less popular than the best a choice can be, but for probability `beta` over all choices.

    Each choice has P(score < best - t) <= |items| exp(-rate t); a union bound over the choices of all cells.
    """
    choices = query.k * max(1, query.cells.count)
    return math.log(len(query.items) * choices / beta) / rate


def checked_scores(scores: npt.ArrayLike, cells: int, candidates: int, name: str) -> Counts:
    """The scores, if there is one for each candidate of each cell; their values are never looked at."""
    array = np.asarray(scores, dtype=np.int64)
    if array.shape != (cells, candidates):
        raise ParameterError(
            f"query {name!r} ranks {candidates} candidates in {cells} cells, got scores of shape {array.shape}"
        )
    return array
