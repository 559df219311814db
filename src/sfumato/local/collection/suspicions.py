r"""What honest reports can hardly have made: exact tests of a tally, for every truth that owners may hold.

supports    A report supports each category with probability q to p, whatever its owner's value: the count of a category
            lies between Binomial(n, q) and Binomial(n, p), in the order of tails.
bits        The number of bits that are set in unary reports is Binomial(n, p) + Binomial(n (k - 1), q), whatever the
            values are; its tails by Chernoff's bound.  Reports of all ones, or of one, move it.
fixed       Reports of fixed weight (one category, a subset) support the same number in all: another one is impossible.
parts       Of a question in m parts each is answered by Binomial(n, 1/m) owners, and its reports are tested in turn.
others      How far an estimate lies beyond what can be true, against the law of its interval (`intervals`).

A p-value here bounds the probability that honest owners, whoever they are, make a tally as odd; over all tests of an
estimate it is multiplied by their number.  Liars who follow the protocol with another value cannot be told, by anybody.
Proof: docs/proofs/local-questions.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from sfumato.errors import UnsupportedQuery
from sfumato.local.collection.intervals import rates, reach_beyond
from sfumato.local.protocols import GeneralizedResponse, SubsetSelection
from sfumato.local.protocols.protocol import Floats, LocalProtocol, Tally
from sfumato.local.protocols.unary import Unary
from sfumato.local.questions.mapped import Mapped
from sfumato.local.questions.split import Split

__all__ = ["ACCUSED", "Suspicion", "suspicions_of"]

ACCUSED = 1e-6  # the most of honest collections that may be accused
IMPOSSIBLE = ("weight", "parts")  # tests that honest reports cannot fail
ERROR = 1e-9  # relative, of scipy's incomplete beta function


@dataclass(frozen=True, slots=True)
class Suspicion:
    """A test that honest reports fail with probability at most `p`, and what it found."""

    test: str
    p: float
    found: str

    def words(self) -> str:
        """The suspicion in a sentence."""
        least = "0" if self.test in IMPOSSIBLE else "below 1e-300"  # too small for a float
        chance = f"at most {self.p:.1e}" if self.p > 0 else least
        return f"{self.found}: honest reports make such a tally with probability {chance}"


def suspicions_of(protocol: LocalProtocol, tally: Tally, n: int, accused: float = ACCUSED) -> tuple[Suspicion, ...]:
    """The tests that these reports fail; all of them together accuse honest owners with probability `accused`."""
    tests = _tests(protocol, np.asarray(tally), n)
    corrected = [Suspicion(test.test, min(1.0, test.p * len(tests)), test.found) for test in tests]
    return tuple(sorted((test for test in corrected if test.p < accused), key=lambda test: test.p))


def _tests(protocol: LocalProtocol, tally: Tally, n: int) -> list[Suspicion]:
    """Every test there is, with its own p-value."""
    if isinstance(protocol, Mapped):
        return _tests(protocol.inner, tally, n)
    if isinstance(protocol, Split):
        return _of_parts(protocol, tally, n)
    bounds = rates(protocol)
    if bounds is None:
        return _beyond(protocol, tally, n)
    found = _supports(tally, n, float(bounds[0]), float(bounds[1]))
    if isinstance(protocol, Unary):
        found += _bits(int(tally.sum()), n, protocol.bits, float(protocol.own), float(protocol.other))
    if isinstance(protocol, GeneralizedResponse | SubsetSelection):
        weight = protocol.size if isinstance(protocol, SubsetSelection) else 1
        if int(tally.sum()) != weight * n:
            found.append(Suspicion("weight", 0.0, f"{int(tally.sum()):,} supports where {weight * n:,} must be"))
    return found


def _supports(tally: Tally, n: int, own: float, other: float) -> list[Suspicion]:
    most, least = int(tally.argmax()), int(tally.argmin())
    above = len(tally) * _upper(int(tally[most]), n, own)
    below = len(tally) * _upper(n - int(tally[least]), n, 1 - other)
    return [
        Suspicion("too many", min(1.0, above), f"{int(tally[most]):,} of {n:,} reports support one value"),
        Suspicion("too few", min(1.0, below), f"only {int(tally[least]):,} of {n:,} reports support some value"),
    ]


def _bits(total: int, n: int, k: int, own: float, other: float) -> list[Suspicion]:
    expected = n * (own + (k - 1) * other)
    up = _chernoff(total, n, k, own, other) if total > expected else 1.0
    down = _chernoff(n * k - total, n, k, 1 - own, 1 - other) if total < expected else 1.0
    found = f"{total:,} bits are set where {expected:,.0f} are expected"
    return [Suspicion("many bits", up, found), Suspicion("few bits", down, found)]


def _chernoff(total: int, n: int, k: int, own: float, other: float) -> float:
    """P(Binomial(n, own) + Binomial(n (k - 1), other) >= total), at most; any exponent gives a bound."""
    if total > n * k:
        return 0.0
    exponents = np.concatenate([np.geomspace(1e-9, 1, 600), np.linspace(1, 30, 400)])
    moments = n * np.log1p(own * np.expm1(exponents)) + n * (k - 1) * np.log1p(other * np.expm1(exponents))
    # as sums of positive terms: the difference loses at most 1e-15 of n k
    best = float(np.min(moments - exponents * total)) + 1e-15 * n * k * 40
    return min(1.0, math.exp(min(0.0, best)))


def _of_parts(protocol: Split, tally: Tally, n: int) -> list[Suspicion]:
    pieces, share = protocol.pieces(tally), 1 / len(protocol.parts)
    found = []
    if sum(count for count, _ in pieces) != n:
        found.append(Suspicion("parts", 0.0, "the parts of the question were not answered by as many as reported"))
    sizes = [count for count, _ in pieces]
    above, below = _upper(max(sizes), n, share), _upper(n - min(sizes), n, 1 - share)
    words = f"parts were answered by {min(sizes):,} to {max(sizes):,} owners where {n * share:,.0f} are expected"
    found += [Suspicion("part", min(1.0, len(pieces) * p), words) for p in (above, below)]
    for place, (part, (count, held)) in enumerate(zip(protocol.parts, pieces, strict=True)):
        if count:
            tests = _tests(part, held, count)
            found += [Suspicion(test.test, test.p, f"part {place}: {test.found}") for test in tests]
    return found


def _beyond(protocol: LocalProtocol, tally: Tally, n: int) -> list[Suspicion]:
    """How far the estimates lie beyond what any truth would give, the worst of them."""
    try:
        p: Floats = reach_beyond(protocol, tally, n)
    except UnsupportedQuery:
        return []
    worst = int(p.argmin())
    value = float(protocol.estimate(tally, n)[worst])
    return [Suspicion("beyond", min(1.0, len(p) * float(p[worst])), f"an estimate of {value:.4g} is beyond its bounds")]


def _upper(count: int, n: int, p: float) -> float:
    """P(Binomial(n, p) >= count), at most."""
    from scipy.special import betainc

    if count <= 0 or p >= 1:
        return 1.0
    return 0.0 if count > n else min(1.0, float(betainc(count, n - count + 1, p)) * (1 + ERROR))
