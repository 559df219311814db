"""Which protocol: the least exact total variance, within a limit on the bytes of a report.

The total variance of frequency estimates is known exactly before anything is collected, and for most protocols it is
the same for all data (`LocalProtocol.risk`).  Among protocols within `TIE` of the least, the shortest report wins.
Subset selection attains the least total variance of any protocol as n grows [YeBarg2018], so that without a limit the
pick is within 3 % of it.  For means of numbers the measure is the worst variance.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from sfumato.errors import ParameterError, UnsupportedQuery
from sfumato.local.protocols import (
    Duchi,
    GeneralizedResponse,
    HadamardResponse,
    Hybrid,
    LocalHashing,
    LocalLaplace,
    LocalProtocol,
    OptimizedUnary,
    OptimizedWindow,
    Piecewise,
    SubsetSelection,
    SymmetricUnary,
)
from sfumato.local.protocols.drawing import check_count, check_target
from sfumato.privacy.guarantees import Approximate, Pure

__all__ = ["Choice", "choose", "choose_mean", "rank", "rank_means"]

CANDIDATES = (
    GeneralizedResponse, SubsetSelection, OptimizedUnary, SymmetricUnary, LocalHashing, HadamardResponse,
)  # fmt: skip
MEANS = (OptimizedWindow, Hybrid, Piecewise, Duchi, LocalLaplace)
HIDING = 1.6  # times the least variance, a quarter more error, that hiding better after a shuffle is worth
TIE = 0.01  # relative difference of total variance that a shorter report is worth


@dataclass(frozen=True, slots=True)
class Choice:
    """A protocol, its total variance for n people, and what a report costs to send."""

    protocol: LocalProtocol
    total_variance: float
    report_bytes: int

    def __str__(self) -> str:
        spread = (self.total_variance / self.protocol.cells) ** 0.5
        return f"{self.protocol.name}: typical error {spread:.3g} a category, {self.report_bytes} bytes a report"


def rank(k: int, target: Pure | Approximate, n: int) -> list[Choice]:
    """Every protocol that fits k categories, least total variance first."""
    check_count("n", n, 1, 1 << 62)
    check_target(target)
    found = []
    for kind in CANDIDATES:
        try:
            protocol: LocalProtocol = kind.calibrate(k, target)
        except ParameterError:
            continue  # k is beyond what it can do
        found.append(Choice(protocol, protocol.risk(n), protocol.report_bytes))
    if not found:
        raise UnsupportedQuery(f"no protocol takes k = {k} categories at {target!r}")
    return sorted(found, key=lambda choice: choice.total_variance)


def rank_means(low: float, high: float, target: Pure | Approximate, n: int) -> list[Choice]:
    """Every protocol for the mean of numbers in [low, high], least worst variance first."""
    check_count("n", n, 1, 1 << 62)
    protocols = [kind.calibrate(low, high, target) for kind in MEANS]
    found = [Choice(protocol, protocol.risk(n), protocol.report_bytes) for protocol in protocols]
    return sorted(found, key=lambda choice: choice.total_variance)


def choose(
    k: int, target: Pure | Approximate, n: int, most_bytes: int | None = None, shuffled: float | None = None
) -> Choice:
    """The protocol of least total variance whose reports have at most `most_bytes` bytes.

    With `shuffled`, the delta of what is promised after a shuffle, it is the one that hides its owners best there among
    those whose error is at most a quarter above the least.

    >>> choose(1024, Pure(1.0), 10**6).protocol.name, choose(3, Pure(1.0), 10**6).protocol.name
    ('olh', 'grr')
    >>> [choose(200, Pure(4.0), 20_000, shuffled=delta).protocol.name for delta in (None, 1e-6)]
    ['subset', 'grr']
    """
    ranked = rank(k, target, n)
    if shuffled is None:
        return _pick(ranked, most_bytes)
    from sfumato.local.collection.central import central  # scipy: only when asked

    least = _pick(ranked, most_bytes).total_variance
    fitting = (choice for choice in ranked if most_bytes is None or choice.report_bytes <= most_bytes)
    close = [choice for choice in fitting if choice.total_variance <= HIDING * least]
    return min(close, key=lambda choice: central(choice.protocol, n, shuffled).epsilon)


def choose_mean(low: float, high: float, target: Pure | Approximate, n: int, most_bytes: int | None = None) -> Choice:
    """The protocol of least worst variance for the mean of numbers in [low, high].

    >>> choose_mean(0, 100, Pure(2.0), 10**6).protocol.name
    'window'
    """
    return _pick(rank_means(low, high, target, n), most_bytes)


def _pick(ranked: Iterable[Choice], most_bytes: int | None) -> Choice:
    """The shortest report among those within TIE of the least variance that the limit allows."""
    every = list(ranked)
    allowed = [choice for choice in every if most_bytes is None or choice.report_bytes <= most_bytes]
    if not allowed:
        least = min(choice.report_bytes for choice in every)
        raise UnsupportedQuery(f"most_bytes = {most_bytes} is too small; the shortest report has {least} bytes")
    close = [choice for choice in allowed if choice.total_variance <= (1 + TIE) * allowed[0].total_variance]
    return min(close, key=lambda choice: (choice.report_bytes, choice.total_variance))
