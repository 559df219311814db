r"""Worst pairs of output laws (P, Q), seen through the privacy loss ln(dP/dQ).

A law answers one question: how much mass do P and Q put on each loss interval [a, b)?  That is all
that discretizing, composing and subsampling need; masses are relatively accurate to `MASS_ERROR`.
`reversed` exchanges P and Q.  A loss of +infinity (P without Q) is kept apart as `infinity`;
losses of -infinity (Q without P) count in an interval that begins at -infinity.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache
from typing import Protocol

import numpy as np

from sfumato.deferred import function
from sfumato.errors import ParameterError
from sfumato.numeric import round_up
from sfumato.privacy.parameters import nonnegative, positive, probability

__all__ = [
    "MASS_ERROR",
    "FiniteLaw",
    "GaussianLaw",
    "LaplaceLaw",
    "Law",
    "approximate_law",
    "must_be_consistent",
    "normal_masses",
    "pure_law",
]

leggauss = cache(function("numpy.polynomial.legendre", "leggauss"))
log_ndtr = function("scipy.special", "log_ndtr")
ndtr = function("scipy.special", "ndtr")
ndtri_exp = function("scipy.special", "ndtri_exp")

Array = np.ndarray[tuple[int, ...], np.dtype[np.float64]]

MASS_ERROR = 3e-13  # relative error granted to every interval mass
MANY = 8  # atoms beyond which a lattice is described by its unit
CONSISTENT, FAINT = 1e-9, 1e-12  # relative and absolute room when a law's masses are compared
LOOKED_AT = 257
NODES, NARROW = 8, 1 / 32  # below so many standard deviations, 8 Gauss nodes err by less than 1e-15 (proof file)


class Law(Protocol):
    """What accounting needs to know of a pair of output laws."""

    @property
    def infinity(self) -> float:
        """The mass of P where Q has none."""

    @property
    def symmetric(self) -> bool:
        """Whether exchanging P and Q leaves the loss law unchanged."""

    @property
    def atoms(self) -> tuple[float, ...]:
        """Losses of positive mass, which a good grid contains."""

    def reversed(self) -> Law:
        """The pair (Q, P)."""

    def span(self, tail: float) -> tuple[float, float]:
        """An interval of losses outside which P has mass at most `tail` (infinity apart)."""

    def cells(self, edges: Array) -> tuple[Array, Array]:
        """The masses of P and Q on [edges[i], edges[i + 1])."""


@dataclass(frozen=True, slots=True)
class GaussianLaw:
    """N(mu, 1) against N(0, 1): the loss is N(mu^2 / 2, mu^2) under P.

    >>> p, q = GaussianLaw(1.0).cells(np.array([-np.inf, 0.5, np.inf]))
    >>> [round(float(mass), 6) for mass in (*p, *q)]
    [0.5, 0.5, 0.841345, 0.158655]
    """

    mu: float

    def __post_init__(self) -> None:
        positive("mu", self.mu)

    @property
    def infinity(self) -> float:
        """No mass of P is without Q."""
        return 0.0

    @property
    def symmetric(self) -> bool:
        """Reflection exchanges the two."""
        return True

    @property
    def atoms(self) -> tuple[float, ...]:
        """None: the loss has a density."""
        return ()

    def reversed(self) -> GaussianLaw:
        """The same law."""
        return self

    def span(self, tail: float) -> tuple[float, float]:
        """The mean of the loss and as many standard deviations as the tail needs."""
        reach = 1.0001 * -float(ndtri_exp(math.log(tail / 2))) + 1e-3
        return self.mu * (self.mu / 2 - reach), self.mu * (self.mu / 2 + reach)

    def cells(self, edges: Array) -> tuple[Array, Array]:
        """Two normal laws, mu apart."""
        points = edges / self.mu
        return normal_masses(points - self.mu / 2), normal_masses(points + self.mu / 2)


@dataclass(frozen=True, slots=True)
class LaplaceLaw:
    """Laplace noise shifted by `epsilon` scales: atoms at both ends, a density between.

    >>> p, q = LaplaceLaw(1.0).cells(np.array([-1.0, 0.0, 1.0, 2.0]))
    >>> round(float(p[2]), 6), round(float(q[2]), 6)
    (0.5, 0.18394)
    """

    epsilon: float

    def __post_init__(self) -> None:
        positive("epsilon", self.epsilon)

    @property
    def infinity(self) -> float:
        """No mass of P is without Q."""
        return 0.0

    @property
    def symmetric(self) -> bool:
        """Reflection exchanges the two."""
        return True

    @property
    def atoms(self) -> tuple[float, ...]:
        """Both ends."""
        return (-self.epsilon, self.epsilon)

    def reversed(self) -> LaplaceLaw:
        """The same law."""
        return self

    def span(self, tail: float) -> tuple[float, float]:
        """The loss is bounded."""
        return -self.epsilon, self.epsilon

    def cells(self, edges: Array) -> tuple[Array, Array]:
        """Half the mass of P sits at epsilon, the rest grows like e^(loss / 2)."""
        top = self.epsilon
        inside = np.clip(edges, -top, top)
        widths = np.diff(inside) / 2
        p = np.exp((inside[:-1] - top) / 2) / 2 * np.expm1(widths)
        q = np.exp((-inside[:-1] - top) / 2) / 2 * -np.expm1(-widths)
        for atom, mass in ((top, 0.5), (-top, math.exp(-top) / 2)):
            here = (edges[:-1] <= atom) & (atom < edges[1:])
            p += here * mass
            q += here * (mass * math.exp(-atom))
        return p, q


@dataclass(frozen=True, slots=True, eq=False)
class FiniteLaw:
    """Two laws on finitely many outcomes, given by their probabilities.

    >>> FiniteLaw.of([0.5, 0.5], [0.25, 0.75]).infinity
    0.0
    """

    losses: Array
    p: Array
    q: Array
    infinity: float
    symmetric: bool = False
    unit: float = 0.0  # if positive, every loss is a whole multiple of it

    @classmethod
    def of(cls, p: object, q: object, symmetric: bool = False) -> FiniteLaw:
        """The law of two probability vectors over the same outcomes."""
        first, second = np.asarray(p, dtype=np.float64), np.asarray(q, dtype=np.float64)
        if first.shape != second.shape or first.ndim != 1:
            raise ParameterError("p and q must be vectors over the same outcomes, in one order")
        for name, law in (("p", first), ("q", second)):
            if not (np.all(law >= 0) and math.isclose(float(law.sum()), 1.0, abs_tol=1e-9)):
                raise ParameterError(f"{name} must hold probabilities that add up to 1")
        infinity = float(first[second == 0].sum())
        kept = second > 0
        with np.errstate(divide="ignore"):
            losses = np.log(first[kept]) - np.log(second[kept])
        order = np.argsort(losses, kind="stable")
        return cls(losses[order], first[kept][order], second[kept][order], infinity, symmetric)

    def __eq__(self, other: object) -> bool:
        """Whether both put the same masses on the same losses."""
        return isinstance(other, FiniteLaw) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def _key(self) -> tuple[object, ...]:
        parts = (self.losses, self.p, self.q)
        return (*(part.tobytes() for part in parts), self.infinity, self.symmetric, self.unit)

    @property
    def atoms(self) -> tuple[float, ...]:
        """Every finite loss; for many losses on a lattice, its unit."""
        finite = self.losses[np.isfinite(self.losses)]
        return (self.unit,) if self.unit and len(finite) > MANY else tuple(finite.tolist())

    def reversed(self) -> FiniteLaw:
        """The pair (Q, P)."""
        if self.symmetric:
            return self
        lost = np.append(self.p, self.infinity), np.append(self.q, 0.0)
        return FiniteLaw.of(lost[1], lost[0])

    def span(self, tail: float) -> tuple[float, float]:
        """The least and the greatest finite loss."""
        finite = self.losses[np.isfinite(self.losses)]
        if not finite.size:
            return 0.0, 0.0
        return float(finite[0]), float(finite[-1])

    def cells(self, edges: Array) -> tuple[Array, Array]:
        """Sums over the outcomes in each interval."""
        ends = np.searchsorted(self.losses, edges, side="left")
        sums = []
        for masses in (self.p, self.q):
            padded = np.append(masses, 0.0)
            parts = np.add.reduceat(padded, ends)[:-1] if ends.size else padded
            sums.append(np.where(ends[:-1] < ends[1:], parts, 0.0))
        return sums[0], sums[1]


def must_be_consistent(law: Law) -> None:
    """Refuse a law whose masses are not those of two laws seen through their loss.

    Over intervals that cover all losses, P (with what is revealed) and Q add up to 1, and on each interval [a, b) the
    ratio of P to Q lies between e^a and e^b.
    """
    low, high = law.span(FAINT)
    inner = np.unique(np.concatenate([np.linspace(low, high, LOOKED_AT), np.array(law.atoms[:MANY])]))
    edges = np.concatenate([[-np.inf], inner[np.isfinite(inner)], [np.inf]])
    p, q = law.cells(edges)
    totals = {"P": float(p.sum()) + law.infinity, "Q": float(q.sum())}
    for name, total in totals.items():
        if not abs(total - 1) <= CONSISTENT or not (p >= 0).all() or not (q >= 0).all():
            raise ParameterError(
                f"the masses of {name} must not be negative and add up to 1, those of {type(law).__name__} add up to "
                f"{total:.9g}; give probabilities of one outcome each, what Q lacks as `infinity`"
            )
    with np.errstate(over="ignore", invalid="ignore"):
        bottom, top = np.exp(edges[:-1]) * q, np.exp(edges[1:]) * q
    room = CONSISTENT * p + FAINT
    if (p < bottom * (1 - CONSISTENT) - room).any() or (p > np.nan_to_num(top, nan=np.inf) + room).any():
        raise ParameterError(
            f"{type(law).__name__} puts masses on an interval of losses whose ratio lies outside it: losses must be "
            "ln(dP/dQ); FiniteLaw.of(p, q) computes them"
        )


def pure_law(epsilon: float) -> FiniteLaw:
    """The worst epsilon-DP pair: randomized response.  [KairouzOhViswanath2015]"""
    return approximate_law(epsilon, 0.0)


def approximate_law(epsilon: float, delta: float) -> FiniteLaw:
    """The worst (epsilon, delta)-DP pair: reveal with delta, else randomized response."""
    nonnegative("epsilon", epsilon)
    probability("delta", delta, zero=True)
    rest, up = 1 - delta, round_up(epsilon)
    likely, unlikely = 1 / (1 + math.exp(-up)), 1 / (1 + math.exp(up))
    return FiniteLaw(
        np.array([-np.inf, -epsilon, epsilon]),
        rest * np.array([0.0, unlikely, likely]),
        np.array([delta, rest * likely, rest * unlikely]),
        delta,
        True,
    )


def normal_masses(edges: Array) -> Array:
    """Standard normal interval masses, relatively accurate for narrow cells and in both tails."""
    low, high = edges[:-1], edges[1:]
    flip = low > 0
    a, b = np.where(flip, -high, low), np.where(flip, -low, high)
    masses = np.asarray(ndtr(b) - ndtr(a))
    ends = np.isinf(a) | np.isinf(b)
    width = np.where(ends, np.inf, np.where(ends, 0.0, b) - np.where(ends, 0.0, a))
    narrow = np.flatnonzero(width <= NARROW)
    if narrow.size:
        nodes, weights = leggauss(NODES)
        half, middle = width[narrow] / 2, (a[narrow] + b[narrow]) / 2
        points = middle[:, None] + half[:, None] * nodes
        density = (np.exp(-(points**2) / 2) * weights).sum(axis=1)
        masses[narrow] = half * density / math.sqrt(2 * math.pi)
    far = np.flatnonzero((width > NARROW) & (b < -5) & (b > a))
    masses[far] = np.exp(log_ndtr(b[far])) * -np.expm1(log_ndtr(a[far]) - log_ndtr(b[far]))
    return masses
