"""Which protocol: the least exact total variance, within a limit on the bytes of a report.

The total variance of frequency estimates is known exactly before anything is collected, and for most protocols it is
the same for all data (`LocalProtocol.risk`).  Among protocols within `TIE` of the least, the shortest report wins.
Subset selection attains the least total variance of any protocol as n grows [YeBarg2018], so that without a limit the
pick is within 3 % of it.  For means of numbers, and for shares of yes to many questions at once, the measure is the
worst variance.  `clients` restricts the pick to what a client in another language knows (`KNOWN`).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np

from sfumato.cards import counted
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
from sfumato.local.questions import QUESTIONS
from sfumato.local.questions.marginals import Marginals
from sfumato.local.questions.sets import Sets
from sfumato.privacy.guarantees import Approximate, Pure

__all__ = ["KNOWN", "Choice", "choose", "choose_mean", "choose_yes_no", "known_by", "rank", "rank_means"]

CANDIDATES = (
    GeneralizedResponse, SubsetSelection, OptimizedUnary, SymmetricUnary, LocalHashing, HadamardResponse,
)  # fmt: skip
MEANS = (OptimizedWindow, Hybrid, Piecewise, Duchi, LocalLaplace)
KNOWN = {"python": tuple(QUESTIONS), "javascript": ("grr", "oue", "olh", "duchi")}
HIDING = 1.6  # times the least variance, a quarter more error, that hiding better after a shuffle is worth
TIE = 0.01  # relative difference of total variance that a shorter report is worth


@dataclass(frozen=True, slots=True)
class Choice:
    """A protocol, its total variance for n people over all it estimates, and what a report costs to send.

    The typical error is the root of the mean variance of an estimate, over the protocol's coins alone: about two of
    three estimates lie nearer than that to what holds among those who report.  `instead` says what it costs that
    `clients` restrict the pick.
    """

    protocol: LocalProtocol
    total_variance: float
    report_bytes: int
    estimates: int = 1
    instead: str = ""

    @property
    def typical_error(self) -> float:
        """The root of the mean variance of an estimate."""
        return float((self.total_variance / self.estimates) ** 0.5)

    def __str__(self) -> str:
        of = "a mean" if "mean" in self.protocol.goal else "a share"
        told = f"{self.protocol.name}: typical error {self.typical_error:.3g} of {of}"
        return f"{told}, {counted(self.report_bytes, 'byte')} a report{self.instead}"


def rank(k: int, target: Pure | Approximate, n: int) -> list[Choice]:
    """Every protocol that fits k categories, least total variance first."""
    _check_number(k, "how many categories there are, such as choose(len(labels), ...)")
    check_count("n", n, 1, 1 << 62)
    check_target(target)
    found = []
    for kind in CANDIDATES:
        try:
            protocol: LocalProtocol = kind.calibrate(k, target)
        except ParameterError:
            continue  # k is beyond what it can do
        found.append(Choice(protocol, protocol.risk(n), protocol.report_bytes, k))
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
    k: int,
    target: Pure | Approximate,
    n: int,
    most_bytes: int | None = None,
    shuffled: float | None = None,
    clients: str = "python",
) -> Choice:
    """The protocol of least total variance whose reports have at most `most_bytes` bytes.

    With `shuffled`, the delta of what is promised after a shuffle, it is the one that hides its owners best there among
    those whose error is at most a quarter above the least.  One label a person: for many questions of yes or no there
    is `choose_yes_no`.

    >>> choose(1024, Pure(1.0), 10**6).protocol.name, choose(3, Pure(1.0), 10**6).protocol.name
    ('olh', 'grr')
    >>> [choose(200, Pure(4.0), 20_000, shuffled=delta).protocol.name for delta in (None, 1e-6)]
    ['subset', 'grr']
    """
    every = rank(k, target, n)
    ranked = _known(every, clients)
    if shuffled is None:
        return _told(_pick(ranked, most_bytes), every, clients)
    from sfumato.local.collection.central import central  # scipy: only when asked

    least = _pick(ranked, most_bytes).total_variance
    fitting = (choice for choice in ranked if most_bytes is None or choice.report_bytes <= most_bytes)
    close = [choice for choice in fitting if choice.total_variance <= HIDING * least]
    found = min(close, key=lambda choice: central(choice.protocol, n, shuffled).epsilon)
    return _told(found, every, clients)


def choose_mean(
    low: float,
    high: float,
    target: Pure | Approximate,
    n: int,
    most_bytes: int | None = None,
    clients: str = "python",
) -> Choice:
    """The protocol of least worst variance for the mean of numbers in [low, high].

    >>> choose_mean(0, 100, Pure(2.0), 10**6).protocol.name
    'window'
    """
    every = rank_means(low, high, target, n)
    return _told(_pick(_known(every, clients), most_bytes), every, clients)


def choose_yes_no(
    k: int, target: Pure | Approximate, n: int, size: int | None = None, clients: str = "python"
) -> Choice:
    """The question of least worst variance for the shares of yes to k questions, all asked of everybody.

    Each owner is asked one of them, drawn at random (`Marginals`), or, where nobody says yes to more than `size` and
    that is better, reports one of the items held (`Sets`).  Sampled coordinates are the former, and the cube of all
    signs is a quarter worse.

    >>> [choose_yes_no(40, Pure(1.0), 20_000, size).protocol.name for size in (None, 3, 20)]
    ['marginals', 'sets', 'marginals']
    """
    _check_number(k, "how many questions there are, such as choose_yes_no(len(questions), ...)")
    check_count("k", k, 1, 1 << 16)
    check_count("n", n, 1, 1 << 62)
    each = Marginals.calibrate([2] * k, target, order=1)
    found = [Choice(each, k * float(np.max(each.variance(n))), each.report_bytes, k)]
    if size is not None:
        check_count("size", size, 1, 1 << 12)
        held = Sets.calibrate(k, target, min(size, k))
        found.append(Choice(held, k * float(np.max(held.variance(n))), held.report_bytes, k))
    return min(_known(found, clients), key=lambda choice: choice.total_variance)


def known_by(protocol: LocalProtocol) -> list[str]:
    """The clients that can answer a collection of this protocol; none of another than Python know kept values.

    >>> known_by(GeneralizedResponse.calibrate(3, Pure(1.0)))
    ['python', 'javascript']
    """
    return [client for client, names in KNOWN.items() if client == "python" or protocol.name in names]


def _known(ranked: list[Choice], clients: str) -> list[Choice]:
    """Those that the clients know."""
    if clients not in KNOWN:
        raise ParameterError(f"clients must be one of {', '.join(KNOWN)}, got {clients!r}")
    found = [choice for choice in ranked if clients in known_by(choice.protocol)]
    if not found:
        names = ", ".join(dict.fromkeys(choice.protocol.name for choice in ranked))
        raise UnsupportedQuery(
            f"{clients} clients know {', '.join(KNOWN[clients])}, and this needs one of {names}; ask one label or one "
            "number a person, or take clients in Python"
        )
    return found


def _told(choice: Choice, ranked: list[Choice], clients: str) -> Choice:
    """The choice, with what the restriction to these clients costs."""
    if clients == "python":
        return choice
    ratio = (choice.total_variance / ranked[0].total_variance) ** 0.5
    best = f"; {ratio:.2f} times the error of {ranked[0].protocol.name!r}, which {clients} clients do not know"
    return replace(choice, instead=best if ratio > 1.005 else f"; {clients} clients lose nothing by it")


def _check_number(k: object, what: str) -> None:
    if isinstance(k, bool) or not isinstance(k, int | np.integer):
        raise ParameterError(f"k must be a number: {what}; got {type(k).__name__}")


def _pick(ranked: Iterable[Choice], most_bytes: int | None) -> Choice:
    """The shortest report among those within TIE of the least variance that the limit allows."""
    every = list(ranked)
    allowed = [choice for choice in every if most_bytes is None or choice.report_bytes <= most_bytes]
    if not allowed:
        least = min(choice.report_bytes for choice in every)
        raise UnsupportedQuery(f"most_bytes = {most_bytes} is too small; the shortest report has {least} bytes")
    close = [choice for choice in allowed if choice.total_variance <= (1 + TIE) * allowed[0].total_variance]
    return min(close, key=lambda choice: (choice.report_bytes, choice.total_variance))
