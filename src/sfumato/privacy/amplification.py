r"""Privacy bought by uncertainty: which units were sampled, or which report is whose.

Poisson sampling with rate r turns a pair (P, Q) into ((1 - r) Q + r P, Q) and its reverse, for
adding or removing one unit [ZhuDongWang2022, Theorem 11]; sampling a share r without replacement
does the same to the profile under replacement, in both directions [BalleBartheGaboardi2018].
Shuffling n reports of epsilon_0-local randomizers hides one among the clones that the others
send [FeldmanMcMillanTalwar2021, Theorem 3.1].  Proof: docs/proofs/privacy-amplification.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import betainc, gammaln

from sfumato.errors import ParameterError
from sfumato.numeric import round_up
from sfumato.privacy.gaussian import least
from sfumato.privacy.guarantees import Approximate
from sfumato.privacy.laws import Array, Law
from sfumato.privacy.parameters import nonnegative, positive, probability, whole

__all__ = ["Poisson", "WithoutReplacement", "shuffled_delta", "shuffled_epsilon", "subsampled"]

BETA_ERROR = 1e-9  # relative error granted to the incomplete beta function
LEAST = math.ulp(0.0)


def subsampled(claim: Approximate, rate: float) -> Approximate:
    """The claim after sampling: (ln(1 + rate (e^epsilon - 1)), rate delta).

    For Poisson sampling with claims about adding or removing, or for sampling without replacement
    with claims about replacing.

    >>> round(subsampled(Approximate(1.0, 1e-6), 0.1).epsilon, 6)
    0.158565
    """
    _check_rate(rate)
    epsilon = math.log1p(rate * math.expm1(claim.epsilon))
    return Approximate(round_up(epsilon, 8), round_up(rate * claim.delta), assumptions=claim.assumptions)


@dataclass(frozen=True, slots=True)
class Poisson:
    """The pair of a sampled release; `added` exchanges the two (adding instead of removing)."""

    law: Law
    rate: float
    added: bool = False

    def __post_init__(self) -> None:
        _check_rate(self.rate)

    @property
    def infinity(self) -> float:
        """A revealed output is revealed when sampled; the reverse pair reveals nothing."""
        return 0.0 if self.added else self.rate * self.law.infinity

    @property
    def symmetric(self) -> bool:
        """Adding and removing differ."""
        return False

    @property
    def atoms(self) -> tuple[float, ...]:
        """The atoms of the law, moved."""
        moved = [float(loss) for loss in self._mixed(np.array(self.law.atoms, dtype=np.float64))]
        return tuple(-loss for loss in moved) if self.added else tuple(moved)

    def reversed(self) -> Poisson:
        """The pair for the other direction."""
        return Poisson(self.law, self.rate, not self.added)

    def span(self, tail: float) -> tuple[float, float]:
        """The span of both laws of the pair, moved."""
        (a, b), (c, d) = self.law.span(tail), self.law.reversed().span(tail)
        hidden = self.law.reversed().infinity > 0
        low, high = self._mixed(np.array([-math.inf if hidden else min(a, -d), max(b, -c)]))
        return (-float(high), -float(low)) if self.added else (float(low), float(high))

    def cells(self, edges: Array) -> tuple[Array, Array]:
        """The law's masses on the edges moved back."""
        if self.added:
            p, q = self._removed(-edges[::-1])
            return q[::-1], p[::-1]
        return self._removed(edges)

    def _removed(self, edges: Array) -> tuple[Array, Array]:
        with np.errstate(divide="ignore", over="ignore"):
            base = np.log1p(np.maximum(np.expm1(edges) / self.rate, -1.0))
        p, q = self.law.cells(np.where(np.isfinite(base) | (base < 0), base, edges))
        return (1 - self.rate) * q + self.rate * p, q

    def _mixed(self, losses: Array) -> Array:
        with np.errstate(over="ignore"):
            mixed = np.log1p(self.rate * np.expm1(losses))
        return np.asarray(np.where(np.isfinite(mixed), mixed, losses + math.log(self.rate)))


@dataclass(frozen=True, slots=True)
class WithoutReplacement:
    """A release on a share `rate` drawn without replacement, under replacement of one unit.

    Above 0 its losses are those of Poisson sampling, below they mirror them; the rest is at 0.
    """

    law: Law
    rate: float

    def __post_init__(self) -> None:
        _check_rate(self.rate)
        if not self.law.symmetric:
            raise ParameterError("law must be symmetric: sampling without replacement is about replacing one unit")

    @property
    def infinity(self) -> float:
        """A revealed output is revealed when sampled."""
        return self.rate * self.law.infinity

    @property
    def symmetric(self) -> bool:
        """Replacing is its own reverse."""
        return True

    @property
    def atoms(self) -> tuple[float, ...]:
        """The positive atoms and their mirrors."""
        ups = tuple(atom for atom in self._removal.atoms if atom > 0)
        return (*ups, *(-atom for atom in ups))

    @property
    def _removal(self) -> Poisson:
        return Poisson(self.law, self.rate)

    def reversed(self) -> WithoutReplacement:
        """The same law."""
        return self

    def span(self, tail: float) -> tuple[float, float]:
        """Symmetric around 0."""
        high = max(self._removal.span(tail)[1], LEAST)
        return -high, high

    def cells(self, edges: Array) -> tuple[Array, Array]:
        """Positive losses, their mirrors, and what is left at 0."""
        law = self._removal
        p, q = law.cells(np.maximum(edges, LEAST))
        mirrored, taken = law.cells(np.maximum(-edges[::-1], LEAST))
        p, q = p + taken[::-1], q + mirrored[::-1]
        ups, downs = law.cells(np.array([LEAST, math.inf]))
        rest = max(0.0, 1 - float(ups[0]) - float(downs[0]) - law.infinity)
        here = (edges[:-1] <= 0) & (edges[1:] > 0)
        return p + rest * here, q + rest * here


def shuffled_delta(local: float, reports: int, epsilon: float) -> float:
    """Delta at `epsilon` of `reports` shuffled reports, each `local`-DP on its own, rounded up.

    >>> shuffled_delta(1.0, 10_000, 0.1) < 1e-6 < shuffled_delta(1.0, 1_000, 0.1)
    True
    """
    positive("local", local)
    whole("reports", reports, 2)
    nonnegative("epsilon", epsilon)
    if epsilon >= local:
        return 0.0
    clones, weights, cut = _clones(reports - 1, math.exp(-local))
    own = 1 / (1 + math.exp(-local))
    odds = (own * math.exp(epsilon) - (1 - own)) / (own - (1 - own) * math.exp(epsilon))
    # with c clones the likelier side shows a > (c + 1) odds / (1 + odds) of c + 1 reports
    start = np.floor((clones + 1) * odds / (1 + odds)) + 1
    both, fewer = _upper(clones, start), _upper(clones, start - 1)
    p, q = own * fewer + (1 - own) * both, own * both + (1 - own) * fewer
    gains = np.maximum(p - math.exp(epsilon) * q, 0.0) + BETA_ERROR * (p + math.exp(epsilon) * q)
    return min(1.0, float(np.sum(weights * gains)) * (1 + BETA_ERROR) + cut)


def shuffled_epsilon(local: float, reports: int, delta: float) -> float:
    """The least epsilon at `delta` of `reports` shuffled reports, rounded up."""
    probability("delta", delta)
    if shuffled_delta(local, reports, 0.0) <= delta:
        return 0.0
    return least(lambda epsilon: shuffled_delta(local, reports, epsilon) <= delta, local)


def _clones(others: int, share: float) -> tuple[Array, Array, float]:
    """The law of the number of clones, its tails below 1e-20 cut and counted as revealed."""
    mean, deviation = others * share, math.sqrt(others * share * (1 - share))
    low = max(0, math.floor(mean - 10 * deviation - 40))
    high = min(others, math.ceil(mean + 10 * deviation + 40))
    counts = np.arange(low, high + 1, dtype=np.float64)
    logs = (
        gammaln(others + 1)
        - gammaln(counts + 1)
        - gammaln(others - counts + 1)
        + counts * math.log(share)
        + (others - counts) * math.log1p(-share)
    )
    weights = np.exp(logs)
    return counts, weights / min(1.0, float(weights.sum())), 1e-20


def _upper(trials: Array, least_count: Array) -> Array:
    """P(Binomial(trials, 1/2) >= least_count)."""
    inside = (least_count > 0) & (least_count <= trials)
    a = np.where(inside, least_count, 1.0)
    b = np.where(inside, trials - least_count + 1, 1.0)
    return np.where(inside, betainc(a, b, 0.5), np.where(least_count <= 0, 1.0, 0.0))


def _check_rate(rate: float) -> None:
    if not (isinstance(rate, int | float) and 0 < rate < 1):
        raise ParameterError(f"rate must lie in (0, 1), got {rate!r}; leave sampling out for rate 1")
