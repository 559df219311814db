r"""Sample sizes and accuracies that theory promises for synthetic databases, with 1/epsilon where it belongs.

All statements are about means over n rows, one row a unit, with failure probability beta.  What the documents print
wrongly is corrected here: lemma 1.17 of [Huang2014] counts the rows of a small database (the net has |X| to that
power), 1.18 and the lecture's last formula lack epsilon, and 1.19 holds with ceil(ln(2 |Q|) / (2 alpha^2)) rows.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from sfumato.errors import ParameterError

__all__ = [
    "Exponents",
    "database_rows",
    "database_rows_by_dimension",
    "exponential_accuracy",
    "laplace_accuracy",
    "net_accuracy",
    "net_exponent",
    "net_sample_size",
    "threshold_sample_size",
    "trigonometric_exponents",
]


def exponential_accuracy(log_candidates: float, epsilon: float, sensitivity: float, beta: float) -> float:
    """How far below the best score the exponential mechanism's choice can be, but for beta (theorem 1.15).

    >>> round(exponential_accuracy(math.log(1000), epsilon=1.0, sensitivity=0.01, beta=0.05), 4)
    0.1981
    """
    return (
        2 * _positive(sensitivity=sensitivity) * (log_candidates - math.log(_chance(beta))) / _positive(epsilon=epsilon)
    )


def laplace_accuracy(queries: int, rows: int, epsilon: float, beta: float) -> float:
    """The worst of `queries` means of [0, 1]-valued queries with Laplace noise on each (proposition 1.13)."""
    return queries / (_positive(rows=rows) * _positive(epsilon=epsilon)) * math.log(queries / _chance(beta))


def database_rows(queries: int, alpha: float) -> int:
    """Rows of a small database within alpha of every table on `queries` counting queries: Hoeffding.

    >>> database_rows(100, 0.1)
    265
    """
    return math.floor(math.log(2 * _positive(queries=queries)) / (2 * _positive(alpha=alpha) ** 2)) + 1


def database_rows_by_dimension(dimension: int, alpha: float) -> int:
    """The same for a class of VC dimension v >= 1: the least m with 4 (2 e m / v)^v exp(-m alpha^2 / 8) < 1.

    By symmetrization a sample of m rows is then within alpha with positive probability, so such rows exist.
    """
    _positive(dimension=dimension, alpha=alpha)

    def short(m: int) -> bool:
        return math.log(4) + dimension * (math.log(2 * m / dimension) + 1) >= m * alpha**2 / 8

    low, high = dimension, 2 * dimension
    while short(high):
        low, high = high, 2 * high
    return _least(lambda m: not short(m), low, high)


def net_accuracy(rows: int, epsilon: float, universe: int, queries: int, beta: float = 0.05) -> float:
    """The best alpha of small-database release at n = `rows`: rounding to m rows plus the exponential mechanism.

    min over m of sqrt(ln(2 |Q|) / (2 m)) + (2 / (epsilon n)) (m ln |X| + ln(1 / beta)); of order
    (log |X| log |Q| / (epsilon n))^{1/3}.
    """
    _positive(rows=rows, epsilon=epsilon, universe=universe, queries=queries)

    def alpha(m: int) -> float:
        noise = exponential_accuracy(m * math.log(universe), epsilon, 1 / rows, beta)
        return math.sqrt(math.log(2 * queries) / (2 * m)) + noise

    rate = 2 * math.log(max(universe, 2)) / (epsilon * rows)
    middle = (math.log(2 * queries) / 8) ** (1 / 3) / rate ** (2 / 3)  # where the derivative vanishes
    return min(alpha(max(1, m)) for m in (math.floor(middle), math.ceil(middle)))


def net_sample_size(alpha: float, epsilon: float, universe: int, queries: int, beta: float = 0.05) -> int:
    """The least n with `net_accuracy` at most alpha; of order log|Q| log(|X| / beta) / (alpha^3 epsilon)."""
    _positive(alpha=alpha)
    high = 1
    while net_accuracy(high, epsilon, universe, queries, beta) > alpha:
        high *= 2
    return _least(lambda n: net_accuracy(n, epsilon, universe, queries, beta) <= alpha, high // 2, high)


def threshold_sample_size(alpha: float, epsilon: float, points: int, beta: float = 0.05) -> int:
    """Rows for all thresholds on a grid within alpha: min over m of (2 / epsilon) ln(|R| / beta) / (alpha - 1 / (2 m)).

    >>> threshold_sample_size(0.05, 1.0, 1000)
    7822
    """
    _positive(alpha=alpha, epsilon=epsilon, points=points)

    def needed(m: int) -> float:
        databases = math.lgamma(points + m) - math.lgamma(m + 1) - math.lgamma(points)
        return exponential_accuracy(databases, epsilon, 1.0, beta) / (alpha - 1 / (2 * m))

    first = math.floor(1 / (2 * alpha)) + 1
    return math.ceil(min(needed(m) for m in range(first, 20 * first)))


@dataclass(frozen=True, slots=True)
class Exponents:
    """Powers of n: accuracy n^-accuracy, running time n^time, synthetic rows n^rows (table 2.1)."""

    accuracy: float
    time: float
    rows: float


def trigonometric_exponents(columns: int, smoothness: int, approximate: bool = False) -> Exponents:
    """Theorems 2.4 and 2.5 of [Huang2014] for queries with bounded derivatives up to order `smoothness`.

    >>> trigonometric_exponents(2, 4)
    Exponents(accuracy=0.5, time=2.125, rows=1.625)
    """
    d, k = _positive(columns=columns), _positive(smoothness=smoothness)
    if approximate:
        return Exponents(
            2 * k / (3 * d + 2 * k), (3 * d * k + 5 * d) / (3 * d + 2 * k), (4 * d + 4 * k + 2) / (3 * d + 2 * k)
        )
    return Exponents(k / (2 * d + k), (3 * d * k + 5 * d) / (4 * d + 2 * k), 1 + (k + 1) / (2 * d + k))


def net_exponent(columns: int, smoothness: int) -> float:
    """The accuracy n^-x of the net mechanism on the same queries (proposition 2.6): at most 1/3."""
    d, k = _positive(columns=columns), _positive(smoothness=smoothness)
    return k / (d + 3 * k)


def _least(holds: Callable[[int], bool], low: int, high: int) -> int:
    """The least whole number in (low, high] for which a monotone property holds; it holds at `high`."""
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high


def _positive(**values: float) -> float:
    for name, value in values.items():
        if not (isinstance(value, int | float) and math.isfinite(value) and value > 0):
            raise ParameterError(f"{name} must be finite and positive, got {value!r}")
    return next(iter(values.values()))


def _chance(beta: float) -> float:
    if not 0 < beta < 1:
        raise ParameterError(f"beta must lie strictly between 0 and 1, got {beta!r}")
    return beta
