"""Limits that hold with stated confidence: Clopper-Pearson, and a bet against the claim.

An event A shows a violation of (epsilon, delta) when P(A) > e^epsilon Q(A) + delta.  Two exact tests
share the error of an attempt: Clopper-Pearson limits at looks fixed in advance [ClopperPearson1934],
and the wealth of a gambler who bets on P(A) - e^epsilon Q(A) - delta, a nonnegative supermartingale
under the claim, hence above 1/alpha with probability at most alpha, at every time [Ville1939].
Proof: docs/proofs/auditing.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import betaincinv

__all__ = ["Counts", "clopper_pearson", "epsilon_limit", "wealth"]

FRACTIONS = (0.25, 0.5, 1.0)  # stakes around the Kelly stake of the training sample


@dataclass(frozen=True, slots=True)
class Counts:
    """How often the event happened in `trials` independent pairs of runs, one of each input."""

    both: int = 0
    first: int = 0
    second: int = 0
    trials: int = 0

    def plus(self, hits: np.ndarray, others: np.ndarray) -> Counts:
        """These counts with further pairs of runs."""
        both = int(np.count_nonzero(hits & others))
        return Counts(
            self.both + both,
            self.first + int(np.count_nonzero(hits)) - both,
            self.second + int(np.count_nonzero(others)) - both,
            self.trials + len(hits),
        )

    @property
    def rates(self) -> tuple[float, float]:
        """The share of runs with the event, on the first and on the second input."""
        n = max(self.trials, 1)
        return (self.both + self.first) / n, (self.both + self.second) / n


def clopper_pearson(hits: int, trials: int, alpha: float) -> tuple[float, float]:
    """Exact limits of a probability, each missed with probability at most alpha.

    >>> low, high = clopper_pearson(0, 100, 0.05)
    >>> low, round(high, 4)
    (0.0, 0.0295)
    """
    low = float(betaincinv(hits, trials - hits + 1, alpha)) if hits else 0.0
    high = float(betaincinv(hits + 1, trials - hits, 1 - alpha)) if hits < trials else 1.0
    return low * (1 - 1e-12), min(1.0, high * (1 + 1e-12))


def kelly(p: float, q: float, epsilon: float, delta: float) -> float:
    """The stake of greatest expected growth if the event has rates p and q; at most 0.9 of the largest."""
    factor, top = math.exp(epsilon), 0.9 / (math.exp(epsilon) + delta)
    gap = p - factor * q - delta
    if gap <= 0:
        return 0.01 * top
    weights = (p * q, p * (1 - q), (1 - p) * q, (1 - p) * (1 - q))
    gains = (1 - factor - delta, 1 - delta, -factor - delta, -delta)
    low, high = 0.0, top
    for _ in range(60):
        stake = (low + high) / 2
        slope = sum(w * g / (1 + stake * g) for w, g in zip(weights, gains, strict=True))
        low, high = (stake, high) if slope > 0 else (low, stake)
    return low


def wealth(counts: Counts, guess: tuple[float, float], epsilon: float, delta: float) -> float:
    """The logarithm of the gambler's wealth; `guess` are the rates seen in training.

    >>> wealth(Counts(0, 60, 0, 60), (1.0, 0.0), 1.0, 0.0) > math.log(1e6)
    True
    """
    factor = math.exp(epsilon)
    best, top = kelly(*guess, epsilon, delta), 0.95 / (factor + delta)
    none = counts.trials - counts.both - counts.first - counts.second
    tally = (counts.both, counts.first, counts.second, none)
    gains = (1 - factor - delta, 1 - delta, -factor - delta, -delta)
    logs = []
    for fraction in FRACTIONS:
        stake = min(best * fraction, top)
        logs.append(sum(k * math.log1p(stake * g) for k, g in zip(tally, gains, strict=True) if k))
    peak = max(logs)
    return peak + math.log(sum(math.exp(log - peak) for log in logs) / len(logs))


def epsilon_limit(
    counts: Counts,
    guess: tuple[float, float],
    claim: tuple[float, float],
    alpha: float,
    look: int | None,
) -> float:
    """The largest epsilon shown at the claim's delta with error alpha; 0 if nothing is shown.

    `look` counts, from 1, the Clopper-Pearson looks of this attempt, which happen at sample sizes
    fixed in advance (None between them); half of alpha is spread over them, half is the gambler's.
    The gambler climbs a ladder fixed in advance from the claim upward, to the first rung not refuted.
    """
    epsilon, delta = claim
    limit = 0.0
    if look is not None:
        share = alpha / 2 / (look * (look + 1)) / 2
        low = clopper_pearson(counts.both + counts.first, counts.trials, share)[0]
        high = clopper_pearson(counts.both + counts.second, counts.trials, share)[1]
        limit = max(0.0, math.log((low - delta) / high)) if low > delta else 0.0
    bar = math.log(2 / alpha)
    rung = epsilon
    while rung < 700 and wealth(counts, guess, rung, delta) >= bar:
        limit = max(limit, math.nextafter(rung, math.inf))
        rung += max(0.005, 0.005 * rung)
    return limit
