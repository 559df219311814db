r"""Privacy bought by uncertainty about which units were sampled.

Poisson sampling with rate r turns a pair (P, Q) into ((1 - r) Q + r P, Q) and its reverse, for
adding or removing one unit [ZhuDongWang2022, Theorem 11]; sampling a share r without replacement
does the same to the profile under replacement, in both directions [BalleBartheGaboardi2018].
Proof: docs/proofs/accounting-amplification.md.  Shuffled reports have a module of their own, `shuffling`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from sfumato.accounting.laws import Array, Law
from sfumato.errors import ParameterError
from sfumato.numeric import round_up
from sfumato.privacy.guarantees import Approximate

__all__ = ["Poisson", "WithoutReplacement", "subsampled"]

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


def _check_rate(rate: float) -> None:
    if not (isinstance(rate, int | float) and 0 < rate < 1):
        raise ParameterError(f"rate must lie in (0, 1), got {rate!r}; leave sampling out for rate 1")
