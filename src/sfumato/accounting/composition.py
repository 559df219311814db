r"""Composing claims: basic, parallel, advanced and optimal; the numerical one is `batch`.

basic:     epsilons, deltas, rhos add; Gaussian mus add in squares; adaptively chosen parts allowed.
advanced:  k (epsilon, delta) releases are (epsilon sqrt(2 k ln(1/s)) + k epsilon (e^epsilon - 1),
           k delta + s)  [DworkRothblumVadhan2010; Huang2014, 1.11].
optimal:   1 - (1 - delta)^k (1 - H(e)), H(e) the mean of (1 - e^(e - (2 J - k) epsilon))^+ over a
           binomial J with k trials and odds e^epsilon  [KairouzOhViswanath2015, Theorem 3.3].
Proof: docs/proofs/accounting-composition.md.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from sfumato.accounting.laws import Array
from sfumato.errors import ParameterError
from sfumato.numeric import round_up
from sfumato.privacy.adjacency import AddRemove, Adjacency
from sfumato.privacy.guarantees import Approximate, Claim, Concentrated, GaussianPrivacy, Pure, Renyi
from sfumato.privacy.parameters import nonnegative, probability, whole

__all__ = ["advanced", "basic", "optimal_delta", "optimal_epsilon", "parallel"]

ULP = 2.0**-53


def basic(claims: Sequence[Claim]) -> Claim:
    """What holds for all releases together, by adding up; assumptions are united.

    >>> basic([Pure(0.5), Pure(0.25)]), basic([Pure(0.5), Approximate(0.5, 1e-6)])
    (Pure(epsilon=0.75), Approximate(epsilon=1.0, delta=1e-06))
    """
    united = frozenset[str]().union(*(claim.assumptions for claim in claims))
    kinds = {type(claim) for claim in claims}
    if kinds <= {Pure}:
        return Pure(_sum(claims, "epsilon"), assumptions=united)
    if kinds <= {Pure, Approximate}:
        return Approximate(_sum(claims, "epsilon"), _sum(claims, "delta"), assumptions=united)
    if kinds == {GaussianPrivacy}:
        squares = [claim.mu**2 for claim in claims if isinstance(claim, GaussianPrivacy)]
        return GaussianPrivacy(round_up(math.sqrt(math.fsum(squares)), 4), assumptions=united)
    if kinds <= {Pure, Concentrated, GaussianPrivacy}:
        total = math.fsum(claim.concentrated_rho for claim in claims)
        return Concentrated(round_up(total, 2), assumptions=united)
    orders = {claim.order for claim in claims if isinstance(claim, Renyi)}
    if kinds == {Renyi} and len(orders) == 1:
        return Renyi(orders.pop(), _sum(claims, "epsilon"), assumptions=united)
    names = ", ".join(sorted(kind.__name__ for kind in kinds))
    raise ParameterError(
        f"claims of the kinds {names} (or of several orders) do not add up; convert them to one kind first"
    )


def parallel(claims: Sequence[Claim], adjacency: Adjacency) -> Claim:
    """What holds for releases on disjoint parts, each claim for adding or removing one unit.

    Adding or removing touches one part: the worst claim.  Replacing may touch one part twice or
    two parts once: the worst claim at distance 2.

    >>> from sfumato.privacy.adjacency import Replace
    >>> parallel([Pure(0.5), Pure(0.25)], AddRemove()), parallel([Pure(0.5)], Replace())
    (Pure(epsilon=0.5), Pure(epsilon=1.0000000000000002))
    """
    if not claims:
        return Pure(0.0)
    if len({type(claim) for claim in claims}) > 1 or isinstance(claims[0], Renyi):
        raise ParameterError("claims on disjoint parts must be of one kind, not Renyi; convert them first")
    united = frozenset[str]().union(*(claim.assumptions for claim in claims))
    worst = {name: max(claim.parts()[name] for claim in claims) for name in claims[0].names()}
    claim: Claim = type(claims[0])(**worst, assumptions=united)
    return claim if isinstance(adjacency, AddRemove) else claim.group(2)


def advanced(claim: Pure | Approximate, count: int, slack: float) -> Approximate:
    """Advanced composition of `count` equal releases, at the cost of `slack` in delta.

    >>> round(advanced(Pure(0.01), 1000, 1e-6).epsilon, 6)
    1.76276
    """
    whole("count", count)
    probability("slack", slack)
    epsilon, delta = claim.epsilon, claim.delta if isinstance(claim, Approximate) else 0.0
    total = epsilon * math.sqrt(-2 * count * math.log(slack)) + count * epsilon * math.expm1(epsilon)
    return Approximate(round_up(total, 16), round_up(count * delta + slack, 2), assumptions=claim.assumptions)


def optimal_delta(claim: Pure | Approximate, count: int, epsilon: float) -> float:
    """The least delta at `epsilon` that `count` such releases can promise, rounded up.

    >>> optimal_delta(Pure(1.0), 1, 1.0), round(optimal_delta(Pure(1.0), 2, 1.0), 9)
    (0.0, 0.337834712)
    """
    whole("count", count)
    nonnegative("epsilon", epsilon)
    return _optimal(claim, count, _losses(claim.epsilon, count), epsilon)


def optimal_epsilon(claim: Pure | Approximate, count: int, delta: float) -> float:
    """The least epsilon at `delta` that `count` such releases can promise, rounded up.

    >>> optimal_epsilon(Pure(0.1), 1, 1e-9) <= 0.1
    True
    """
    whole("count", count)
    probability("delta", delta, zero=True)
    revealed = claim.delta if isinstance(claim, Approximate) else 0.0
    allowed = -math.expm1(math.log1p(-delta) - count * math.log1p(-revealed))
    if allowed < 0:
        return math.inf
    table = _losses(claim.epsilon, count)
    if _optimal(claim, count, table, 0.0) <= delta:
        return 0.0
    low, high = 0.0, round_up(count * claim.epsilon)
    while True:
        middle = low + (high - low) / 2
        if not low < middle < high:
            return high
        enough = _optimal(claim, count, table, middle) <= delta
        low, high = (low, middle) if enough else (middle, high)


def _optimal(claim: Pure | Approximate, count: int, table: tuple[Array, Array], epsilon: float) -> float:
    if claim.epsilon == 0:
        return _with_delta(claim, count, 0.0)
    losses, masses = table
    most = math.floor(Fraction(epsilon) / Fraction(claim.epsilon))  # of 2 J - k without excess
    start = (max(most + 1, count % 2) - count % 2 + 1) // 2  # index of the first loss above epsilon
    rest, missing = masses[start:], np.maximum(losses[start:] - epsilon, 0.0)
    slack = 4 * ULP * (count * claim.epsilon + epsilon) * float(np.sum(rest))
    value = float(np.sum(rest * -np.expm1(-missing))) + slack
    return _with_delta(claim, count, min(1.0, value * (1 + 64 * ULP)))


def _losses(epsilon: float, count: int) -> tuple[Array, Array]:
    """The nonnegative losses (2 j - count) epsilon, and their binomial masses rounded up."""
    mode = min(count, math.floor((count + 1) / (1 + math.exp(-epsilon))))
    up = np.arange(mode, count)
    down = np.arange(mode, 0, -1)
    rise = np.cumprod((count - up) / (up + 1.0) * math.exp(epsilon))
    fall = np.cumprod(down / (count - down + 1.0) * math.exp(-epsilon))
    weights = np.concatenate([fall[::-1], [1.0], rise])
    weights /= math.fsum(weights)
    trials = np.arange(count + 1, dtype=np.float64)
    weights *= 1 + ULP * (4 * np.abs(trials - mode) + 16)
    kept = 2 * trials >= count
    return np.asarray((2 * trials[kept] - count) * epsilon), np.asarray(weights[kept])


def _with_delta(claim: Pure | Approximate, count: int, value: float) -> float:
    delta = claim.delta if isinstance(claim, Approximate) else 0.0
    if delta == 0:
        return value
    if value >= 1:
        return 1.0
    return min(1.0, -math.expm1(count * math.log1p(-delta) + math.log1p(-value)) * (1 + 16 * ULP))


def _sum(claims: Sequence[Claim], name: str) -> float:
    values = [float(getattr(claim, name, 0.0)) for claim in claims]
    total = math.fsum(values)
    return total if len([value for value in values if value]) <= 1 or _exact(values) else round_up(total)


def _exact(values: Sequence[float]) -> bool:
    return math.fsum([*values, -math.fsum(values)]) == 0
