r"""Quantiles by the exponential mechanism on ranks; many of them by recursive halving.

Definition.  For one probability p, choose a lattice point with probability proportional to
exp(-c max(0, L - p n, U - (1 - p) n)), where L of the n rows lie below the point and U above it.  For several,
choose the middle one v, give the rows below v to the left half and those above to the right, of the t rows equal to
v the first floor(t/2) to the left, and continue in both halves with the probabilities rescaled; points are
chosen between the neighbors already released.

Guarantee.   One row added or removed changes all penalties of one node per level by amounts within 1
of one another, and no other node's; so pure epsilon = levels * c * spread, levels = ceil(log2(q + 1)), spread = m
rows of a unit (2 m if a unit is replaced), and concentrated rho = levels * (c spread)^2 / 8
[KaplanSchnappStemmer2022; CesarRogers2021].  Proof: docs/proofs/recursive_quantiles.md.

Accuracy.    For one quantile, the rank error exceeds t + ln(|lattice| / beta) / c - at best t = 0 - with
probability at most beta; for many, `error` adds the levels' errors.

Assumes.     Nothing beyond random bits: points are chosen exactly; far points enter by exact rejection.

Differs.     Document 004's median is p = 1/2 here, with the tie-safe score and its true sensitivities.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from sfumato.errors import ParameterError, UnsupportedQuery
from sfumato.mechanisms.ranks import Ranks
from sfumato.mechanisms.selection import Chosen, calibrated_rate
from sfumato.numeric import round_down, round_up
from sfumato.privacy.guarantees import Approximate, Concentrated, Guarantee, Pure
from sfumato.queries.quantiles import Quantiles
from sfumato.randomness import Rng
from sfumato.sampling import bernoulli_exp, choose, uniform_integers

__all__ = ["RecursiveQuantiles"]

FAR = 750.0  # points whose weight is below e^-FAR of the best enter by rejection
FINEST = 10**6  # rescaled probabilities are rounded to this denominator: accuracy only


@dataclass(frozen=True, slots=True)
class RecursiveQuantiles:
    """Quantiles of each cell; the claim is pure, or concentrated if asked for."""

    query: Quantiles
    rate: float
    concentrated: bool = False

    def __post_init__(self) -> None:
        if not (math.isfinite(self.rate) and self.rate > 0):
            raise ParameterError(f"rate must be finite and positive, got {self.rate}")

    @classmethod
    def calibrate(cls, query: Quantiles, target: Guarantee) -> RecursiveQuantiles:
        """The sharpest choice that meets `target`."""
        levels = _levels(len(query.probabilities))
        if isinstance(target, Concentrated) and target.rho > 0:
            loss = round_down(math.sqrt(8 * target.rho / levels), 2)
            return cls(query, calibrated_rate(loss, query.spread, 1), concentrated=True)
        if isinstance(target, Pure | Approximate) and target.epsilon > 0:
            return cls(query, calibrated_rate(target.epsilon, query.spread, levels))
        raise UnsupportedQuery(f"quantiles need epsilon > 0 or rho > 0, not {target!r}")

    @property
    def levels(self) -> int:
        """How many choices lie on the way to any one quantile."""
        return _levels(len(self.query.probabilities))

    def guarantee(self, distance: int = 1) -> Pure | Concentrated:
        """What one release costs between tables `distance` units apart."""
        loss = distance * self.rate * self.query.spread
        if self.concentrated:
            return Concentrated(round_up(self.levels * loss**2 / 8, 4) if loss else 0.0)
        return Pure(round_up(self.levels * loss, 2) if loss else 0.0)

    def error(self, beta: float = 0.05) -> float:
        """The rank error of every quantile, exceeded with probability at most `beta` in a cell."""
        points = self.query.lattice.width + 1
        each = math.log(points * len(self.query.probabilities) / beta) / self.rate
        return self.levels * each

    def release(self, answer: Sequence[Ranks], rng: Rng) -> Chosen:
        """The chosen lattice points, of shape (cells, quantiles).  `answer`: the exact ranks of each cell."""
        if len(answer) != self.query.cells.count:
            raise ParameterError(f"query {self.query.name!r} has {self.query.cells.count} cells, got {len(answer)}")
        return np.array([self._cell(ranks, rng) for ranks in answer], dtype=np.int64)

    def _cell(self, ranks: Ranks, rng: Rng) -> list[int]:
        lattice, wanted = self.query.lattice, self.query.probabilities
        chosen = [0] * len(wanted)
        whole = _Node(0, ranks.rows, lattice.low, lattice.high)
        nodes = [(whole, range(len(wanted)), Fraction(0), Fraction(1))]
        while nodes:
            node, part, least, most = nodes.pop()
            middle = part[len(part) // 2]
            p = (wanted[middle] - least) / (most - least)
            point = _draw(ranks, node, p.limit_denominator(FINEST), self.rate, rng)
            chosen[middle] = point
            left, right = node.halves(ranks, point)
            if part.start < middle:
                nodes.append((left, range(part.start, middle), least, wanted[middle]))
            if middle + 1 < part.stop:
                nodes.append((right, range(middle + 1, part.stop), wanted[middle], most))
        return chosen

    def to_record(self) -> dict[str, object]:
        """Public parameters."""
        return {"type": "recursive-quantiles", "rate": self.rate, "concentrated": self.concentrated}


@dataclass(frozen=True, slots=True)
class _Node:
    """The rows of ranks `start..stop` and the lattice points `low..high` to choose from."""

    start: int
    stop: int
    low: int
    high: int

    def halves(self, ranks: Ranks, point: int) -> tuple[_Node, _Node]:
        """Rows below and above the point; of those equal to it, the first half goes left."""
        at = int(np.searchsorted(ranks.values, point))
        held = at < len(ranks.values) and int(ranks.values[at]) == point
        first = min(max(int(ranks.below[at]), self.start), self.stop)
        last = min(max(int(ranks.below[at + 1]), self.start), self.stop) if held else first
        split = first + (last - first) // 2
        return _Node(self.start, split, self.low, point), _Node(split, self.stop, point, self.high)


def _levels(quantiles: int) -> int:
    return quantiles.bit_length()  # = ceil(log2(quantiles + 1))


def _draw(ranks: Ranks, node: _Node, p: Fraction, rate: float, rng: Rng) -> int:
    """One exact draw: near points by their weights, all far ones together as one candidate, then refined."""
    step = round_down(rate / p.denominator)  # penalties are counted in denominators of p
    slack = math.ceil(FAR / rate)
    near = _Window.around(ranks, node, p, slack)
    penalties, counts, floor = near.penalties, near.counts, p.denominator * slack
    if near.outside:
        penalties, counts = np.append(penalties, floor), np.append(counts, near.outside)
    while True:
        place = choose(penalties, step, rng, counts)
        offset = int(uniform_integers(int(counts[place]), None, rng))
        if place < len(near.starts):
            return int(near.starts[place]) + offset
        far = near.outside_point(node, offset)
        excess = _penalty(ranks, node, far, p) - floor
        if bool(bernoulli_exp(Fraction(step) * excess, None, rng)):
            return far


@dataclass(frozen=True, slots=True, eq=False)
class _Window:
    """The points whose penalty may be within `slack` ranks: runs of `counts` points from `starts` on."""

    starts: Chosen
    counts: Chosen
    penalties: Chosen
    first: int
    last: int
    outside: int

    @classmethod
    def around(cls, ranks: Ranks, node: _Node, p: Fraction, slack: int) -> _Window:
        """Every point that is left out has a penalty above `slack` ranks."""
        values, below, target = ranks.values, ranks.below, node.start + p * (node.stop - node.start)
        least = int(np.searchsorted(values, node.low))
        most = int(np.searchsorted(values, node.high, side="right")) - 1
        if least > most:
            return cls.assembled(node, p, node.low, node.high, values[:0], below[least : least + 1])
        i = max(least, int(np.searchsorted(below, math.ceil(target - slack))) - 1)
        j = min(most, int(np.searchsorted(below, math.floor(target + slack), side="right")) - 1)
        first = int(values[i - 1]) + 1 if i > least else node.low
        last = int(values[j + 1]) - 1 if j < most else node.high
        return cls.assembled(node, p, first, last, values[i : j + 1], below[i : j + 2])

    @classmethod
    def assembled(cls, node: _Node, p: Fraction, first: int, last: int, values: Chosen, below: Chosen) -> _Window:
        """Gaps and values in turn: gap, value, gap, ..., value, gap; empty gaps dropped."""
        edges = np.clip(below, node.start, node.stop)
        runs = 2 * len(values) + 1
        starts, counts, lower, upper = (np.empty(runs, dtype=np.int64) for _ in range(4))
        starts[0], starts[2::2], starts[1::2] = first, values + 1, values
        counts[1::2] = 1
        counts[0::2] = np.append(values, last + 1) - starts[0::2]
        lower[0::2], upper[0::2] = edges, edges
        lower[1::2], upper[1::2] = edges[:-1], edges[1:]
        penalties = _excess(lower - node.start, node.stop - upper, node.stop - node.start, p)
        kept = counts > 0
        outside = (node.high - node.low) - (last - first)
        return cls(starts[kept], counts[kept], penalties[kept], first, last, outside)

    def outside_point(self, node: _Node, offset: int) -> int:
        """The far points in order: those below the window, then those above it."""
        beneath = self.first - node.low
        return node.low + offset if offset < beneath else self.last + 1 + offset - beneath


def _excess(lower: Chosen, upper: Chosen, rows: int, p: Fraction) -> Chosen:
    """max(0, L - p n, U - (1 - p) n) in units of 1 / denominator of p."""
    share = p.numerator * rows
    excess = np.maximum(p.denominator * lower - share, p.denominator * upper - (p.denominator * rows - share))
    return np.maximum(excess, 0)


def _penalty(ranks: Ranks, node: _Node, point: int, p: Fraction) -> int:
    sides = [int(np.searchsorted(ranks.values, point, side=side)) for side in ("left", "right")]
    lower, upper = (min(max(int(ranks.below[side]), node.start), node.stop) for side in sides)
    rows = node.stop - node.start
    return int(_excess(np.array(lower - node.start), np.array(node.stop - upper), rows, p))
