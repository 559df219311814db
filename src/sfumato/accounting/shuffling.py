r"""What a shuffler buys: the central guarantee of n honest reports whose senders are forgotten.

Every epsilon_0-private randomizer, p = e^epsilon_0: the worst is two counts.  Of n - 1 others each adds one
to the first or to the second with probability 1/(1 + p) each, the person in question adds one to the first with
probability p/(1 + p), else to the second (or the other way round) [FeldmanMcMillanTalwar2023].  A known randomizer
hides better behind its own blanket (`blankets`).  About replacing one report; rounded up.  What one report costs
without a shuffle is a bound as well, and the only one beyond `LARGEST`.
Proof: docs/proofs/accounting-shuffling.md.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from sfumato.accounting.blankets import Blanket
from sfumato.accounting.channels import Channel
from sfumato.deferred import function
from sfumato.numeric import round_down, round_up
from sfumato.privacy.guarantees import Approximate
from sfumato.privacy.parameters import nonnegative, positive, probability, whole

__all__ = ["shuffled", "shuffled_delta", "shuffled_epsilon"]

betainc = function("scipy.special", "betainc")
gammaln = function("scipy.special", "gammaln")

Reals = npt.NDArray[np.float64]

SPECIAL_ERROR = 1e-9  # relative, granted to the incomplete beta function
LARGEST = 30.0  # local epsilon: beyond it a shuffler buys nothing
MOST_CROWD = 10**10  # reports that are counted on: more hide no worse
CUT = 1e-20  # mass of the counts left out, added to delta
PRECISION = 1e-5  # relative excess of an epsilon found by search


def shuffled_delta(local: float | Blanket, reports: int, epsilon: float) -> float:
    """Delta at `epsilon` of `reports` shuffled reports, each `local`-private (or with a known blanket), rounded up.

    >>> shuffled_delta(1.0, 10_000, 0.1) < 1e-9 < 1e-3 < shuffled_delta(1.0, 300, 0.1)
    True
    """
    crowd = min(whole("reports", reports, 1), MOST_CROWD)
    nonnegative("epsilon", epsilon)
    if isinstance(local, Blanket):
        return local.delta(crowd, min(epsilon, 600.0))
    if epsilon >= positive("local", local):
        return 0.0
    alone = round_up(-math.expm1(epsilon - local) / (1 + math.exp(-local)), 4)
    if local > LARGEST:
        return alone
    return min(alone, _private(round_up(math.exp(local), 2), crowd - 1, math.exp(epsilon)))


def shuffled_epsilon(local: float | Blanket, reports: int, delta: float) -> float:
    """An epsilon at `delta` of `reports` shuffled reports, within 1e-5 of the least certified.

    >>> round(shuffled_epsilon(1.0, 10_000, 1e-6), 3)
    0.043
    """
    probability("delta", delta)
    low, high = 0.0, round_up(math.log(local.ratio), 8) if isinstance(local, Blanket) else round_up(local)
    below, above = _gap(shuffled_delta(local, reports, low), delta), -1.0
    if below <= 0:
        return 0.0
    share = 1.0
    while high - low > PRECISION * high:
        part = min(max(below / (below - above) * share, 0.02), 0.98)  # where a line through the ends meets delta
        middle = low + (high - low) * part
        gap = _gap(shuffled_delta(local, reports, middle), delta)
        share = 1.0 if (gap > 0) != (part < 0.5) else 0.5 if gap > 0 else 1.5
        low, high, below, above = (middle, high, gap, above) if gap > 0 else (low, middle, below, gap)
    return high


def _gap(found: float, delta: float) -> float:
    return math.log(max(found, 1e-300) / delta)


def shuffled(local: float | Blanket | Channel, reports: int, delta: float) -> Approximate:
    """The central guarantee of `reports` honest, shuffled reports at `delta`.

    >>> shuffled(1.0, 1000, 1e-6).assumptions
    frozenset({'honest-reports'})
    """
    kinds = Blanket.of(local) if isinstance(local, Channel) else (local,)
    epsilon = max((shuffled_epsilon(kind, reports, delta) for kind in kinds), default=0.0)
    return Approximate(epsilon, delta, assumptions=frozenset({"honest-reports"}))


def _private(ratio: float, others: int, factor: float) -> float:
    """The two counts of the worst randomizer whose ratios are at most `ratio`."""
    own = ratio / (1 + ratio)
    counts, weights = _binomial(others, round_down(2 / (1 + ratio), 2))
    # of s = c + 1 votes, P exceeds factor Q where the first count is above s (factor p - 1) / ((p - 1)(1 + factor))
    start = np.floor((counts + 1) * (factor * ratio - 1) / ((ratio - 1) * (1 + factor))) + 1
    more, fewer = _upper(counts, start - 1), _upper(counts, start)
    first, second = own * more + (1 - own) * fewer, own * fewer + (1 - own) * more
    gains = np.maximum(first * (1 + SPECIAL_ERROR) - factor * second * (1 - SPECIAL_ERROR), 0.0)
    return min(1.0, float(np.sum(weights * gains)) * (1 + SPECIAL_ERROR) + CUT)


def _binomial(trials: int, share: float) -> tuple[Reals, Reals]:
    """The binomial law but for its tails, whose mass is below CUT."""
    if share == 0 or share == 1:
        return np.array([float(trials) * share]), np.ones(1)
    mean, deviation = trials * share, math.sqrt(trials * share * (1 - share))
    low = max(0, math.floor(mean - 10 * deviation - 40))
    high = min(trials, math.ceil(mean + 10 * deviation + 40))
    counts = np.arange(low, high + 1, dtype=np.float64)
    logs = gammaln(trials + 1) - gammaln(counts + 1) - gammaln(trials - counts + 1)
    weights = np.exp(logs + counts * math.log(share) + (trials - counts) * math.log1p(-share))
    loose = 1 + 2.0**-48 * (float(gammaln(trials + 1)) + trials)  # logarithms of this size were subtracted
    return counts, weights / min(1.0, float(weights.sum())) * loose


def _upper(trials: Reals, least_count: Reals) -> Reals:
    """P(Binomial(trials, 1/2) >= least_count)."""
    inside = (least_count > 0) & (least_count <= trials)
    a = np.where(inside, least_count, 1.0)
    b = np.where(inside, trials - least_count + 1, 1.0)
    return np.where(inside, betainc(a, b, 0.5), np.where(least_count <= 0, 1.0, 0.0))
