"""Which protocol for categories: the least exact total variance, within a limit on the bytes of a report.

The total variance of frequency estimates is known exactly before anything is collected, and for most protocols it is
the same for all data (`LocalProtocol.risk`).  Among protocols within `TIE` of the least, the shortest report wins.
Subset selection attains the least total variance of any protocol as n grows [YeBarg2018], so that without a limit the
pick is within 3 % of it.
"""

from __future__ import annotations

from dataclasses import dataclass

from sfumato.errors import ParameterError, UnsupportedQuery
from sfumato.local.protocols import (
    GeneralizedResponse,
    HadamardResponse,
    LocalHashing,
    LocalProtocol,
    OptimizedUnary,
    SubsetSelection,
    SymmetricUnary,
)
from sfumato.local.protocols.drawing import check_count
from sfumato.privacy.guarantees import Approximate, Pure

__all__ = ["Choice", "choose", "rank"]

CANDIDATES = (
    GeneralizedResponse, SubsetSelection, OptimizedUnary, SymmetricUnary, LocalHashing, HadamardResponse,
)  # fmt: skip
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


def choose(k: int, target: Pure | Approximate, n: int, most_bytes: int | None = None) -> Choice:
    """The protocol of least total variance whose reports have at most `most_bytes` bytes.

    >>> choose(1024, Pure(1.0), 10**6).protocol.name, choose(3, Pure(1.0), 10**6).protocol.name
    ('olh', 'grr')
    """
    ranked = rank(k, target, n)
    allowed = [choice for choice in ranked if most_bytes is None or choice.report_bytes <= most_bytes]
    if not allowed:
        least = min(choice.report_bytes for choice in ranked)
        raise UnsupportedQuery(f"most_bytes = {most_bytes} is too small for k = {k}; the shortest report has {least}")
    close = [choice for choice in allowed if choice.total_variance <= (1 + TIE) * allowed[0].total_variance]
    return min(close, key=lambda choice: (choice.report_bytes, choice.total_variance))
