r"""How far two laws on finitely many outcomes are apart, rounded up.

max divergence          sup over events of ln(P(A) / Q(A))
approximate, at delta   sup over events with P(A) >= delta of ln((P(A) - delta) / Q(A))
hockey stick, at e      sup over events of P(A) - e^e Q(A); the delta of (e, delta)-DP
and the Kullback-Leibler, Renyi, total variation, chi-square and squared Hellinger divergences.
The numerator of the approximate form has - delta, which [Huang2014, definition 4] leaves out.
If both max divergences are at most epsilon, KL <= epsilon tanh(epsilon / 2) <= epsilon (e^epsilon - 1);
randomized response attains the first.  Proof: docs/proofs/privacy-conversions.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from sfumato.accounting.channels import Channel
from sfumato.accounting.kinds import spelled
from sfumato.accounting.laws import Array
from sfumato.errors import ParameterError
from sfumato.privacy.conversions import pure_to_concentrated
from sfumato.privacy.parameters import nonnegative, positive, probability

__all__ = [
    "FINITE",
    "approximate_max_divergence",
    "checked_laws",
    "chi_square",
    "hockey_stick",
    "kullback_leibler",
    "max_divergence",
    "output_divergence",
    "pure_kullback_leibler",
    "renyi",
    "squared_hellinger",
    "total_variation",
]

ULP = 2.0**-53


def max_divergence(p: object, q: object) -> float:
    """The largest log-ratio of probabilities, infinite where only P has mass.

    >>> round(max_divergence([0.75, 0.25], [0.25, 0.75]), 6)
    1.098612
    """
    return approximate_max_divergence(p, q, 0.0)


def approximate_max_divergence(p: object, q: object, delta: float) -> float:
    """The least epsilon with P(A) <= e^epsilon Q(A) + delta for every event (at least 0).

    >>> approximate_max_divergence([0.75, 0.25], [0.25, 0.75], 0.5)
    0.0
    """
    probability("delta", delta, zero=True)
    first, second = checked_laws(p, q)
    with np.errstate(divide="ignore", invalid="ignore"):
        order = np.argsort(-(first / second))  # 0/0 last: no mass, no event
        above = np.cumsum(first[order]) - delta
        logs = np.log(np.maximum(above, 0.0)) - np.log(np.cumsum(second[order]))
    value = float(np.max(np.where(above > 0, logs, -np.inf)))
    return max(0.0, _up(value, len(first)))


def hockey_stick(p: object, q: object, epsilon: float) -> float:
    """The least delta at `epsilon`.

    >>> hockey_stick([0.5, 0.5], [0.5, 0.5], 0.0)
    0.0
    """
    nonnegative("epsilon", epsilon)
    first, second = checked_laws(p, q)
    scaled = math.exp(min(epsilon, 700.0)) * second
    excess = np.where(first > scaled, first - scaled + 4 * ULP * (first + scaled), 0.0)
    return min(1.0, _up(math.fsum(excess), 1))


def total_variation(p: object, q: object) -> float:
    """Half the sum of absolute differences: the hockey stick at 0."""
    return hockey_stick(p, q, 0.0)


def kullback_leibler(p: object, q: object) -> float:
    """The mean of ln(P / Q) under P, infinite where only P has mass.

    >>> round(kullback_leibler([0.75, 0.25], [0.25, 0.75]), 6)
    0.549306
    """
    first, second = checked_laws(p, q)
    if np.any((first > 0) & (second == 0)):
        return math.inf
    kept = first > 0
    terms = first[kept] * np.log(first[kept] / second[kept])
    return max(0.0, math.fsum(terms) + 8 * ULP * (1 + math.fsum(np.abs(terms))))


def renyi(p: object, q: object, order: float) -> float:
    """The Renyi divergence of an order above 1; infinity gives the max divergence."""
    if order == math.inf:
        return max_divergence(p, q)
    positive("order - 1", order - 1)
    first, second = checked_laws(p, q)
    if np.any((first > 0) & (second == 0)):
        return math.inf
    kept = first > 0
    logs = order * np.log(first[kept]) + (1 - order) * np.log(second[kept])
    peak = float(logs.max())
    value = (peak + math.log(math.fsum(np.exp(logs - peak)))) / (order - 1)
    wrong = 8 * ULP * (len(first) + float(np.abs(logs).max()) * 2 * order) / (order - 1)
    return max(0.0, value + wrong)


def chi_square(p: object, q: object) -> float:
    """The mean square of P / Q - 1 under Q, infinite where only P has mass."""
    first, second = checked_laws(p, q)
    if np.any((first > 0) & (second == 0)):
        return math.inf
    kept = second > 0
    return _up(math.fsum((first - second)[kept] ** 2 / second[kept]), 4)


def squared_hellinger(p: object, q: object) -> float:
    """One less the sum of sqrt(P Q): half the squared distance of the roots."""
    first, second = checked_laws(p, q)
    return min(1.0, _up(math.fsum((np.sqrt(first) - np.sqrt(second)) ** 2) / 2, 4))


def pure_kullback_leibler(epsilon: float) -> float:
    """The largest KL divergence between neighbors of an epsilon-DP mechanism: epsilon tanh(epsilon/2).

    >>> pure_kullback_leibler(1.0) <= 1.0 * math.expm1(1.0)
    True
    """
    return pure_to_concentrated(epsilon)


FINITE: dict[str, Callable[[object, object], float]] = {
    "kullback-leibler": kullback_leibler,
    "total-variation": total_variation,
    "chi-square": chi_square,
    "hellinger": squared_hellinger,
    "max": max_divergence,
}


def output_divergence(kind: str, channel: Channel, first: Sequence[float], second: Sequence[float]) -> float:
    """The divergence of a channel's outputs when its input is drawn from `first` and from `second`.

    >>> flip = Channel([[0.75, 0.25], [0.25, 0.75]])
    >>> round(output_divergence("total-variation", flip, [1.0, 0.0], [0.5, 0.5]), 12)
    0.25
    """
    return FINITE[spelled("kind", kind, FINITE)](channel.output_law(first), channel.output_law(second))


def checked_laws(p: object, q: object) -> tuple[Array, Array]:
    """Two probability vectors over the same outcomes."""
    first, second = np.asarray(p, dtype=np.float64), np.asarray(q, dtype=np.float64)
    if first.shape != second.shape or first.ndim != 1 or not first.size:
        raise ParameterError("p and q must be vectors over the same outcomes, in one order")
    for name, law in (("p", first), ("q", second)):
        if not (np.all(law >= 0) and math.isclose(float(law.sum()), 1.0, abs_tol=1e-9)):
            raise ParameterError(f"{name} must hold probabilities that add up to 1")
    return first, second


def _up(value: float, steps: int) -> float:
    """The value and a few units in the last place of slack; 0 stays 0."""
    return value + 4 * ULP * (steps + 2) * abs(value) + (ULP * steps if steps > 1 and value else 0.0)
