r"""Quantiles by the exponential mechanism on ranks; many of them by recursive halving.

Definition.  For one probability p choose a lattice point with weight exp(-c penalty / w), penalty =
max(0, L - p n, U - (1 - p) n), w = 2 max(p, 1 - p), where L of the n rows lie below the point and U above it.
For several, choose the middle one v, and continue with the rows below v on the left and those above on the right,
the probabilities rescaled, between the points already released.  The t rows equal to v are divided at one of PLACES
even fractions of t, chosen in the same way at the rate c / 4, and never released.

Guarantee.   One row added or removed changes the penalties of one node per level by amounts within w of one
another, and no other node's; a node's division likewise.  So pure epsilon = (levels + (levels - 1) / 4) c spread,
levels = ceil(log2(q + 1)), spread = m rows of a unit (2 m if a unit is replaced), and concentrated
rho = (levels + (levels - 1) / 16) (c spread)^2 / 8  [KaplanSchnappStemmer2022; CesarRogers2021]; with `delta` the
claim is (epsilon, delta) by that rho.
Proof: docs/proofs/recursive_quantiles.md.

Accuracy.    For one quantile, the rank error exceeds w ln(|lattice| / beta) / c with probability at most beta on any
table, and w ln(1 / beta) / c + 1 where rows are spread evenly; for many, errors higher up enter with weights that
shrink, and tails are added up (`mechanisms.rank_errors`).  Rows tied at one value add what dividing them errs by.

Assumes.     Nothing beyond random bits: points are chosen exactly; far points enter by exact rejection.

Differs.     Document 004's median is p = 1/2 here, with the tie-safe score and its true sensitivities.  The paper
supposes distinct rows; dividing ties privately keeps heavily tied columns right.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from sfumato.errors import ParameterError
from sfumato.mechanisms.mechanism import Answering
from sfumato.mechanisms.selection.rank_errors import Chain, rank_error
from sfumato.mechanisms.selection.selection import (
    Chosen,
    checked_delta,
    checked_rate,
    cost,
    rate_for,
    relaxed_cost,
    relaxed_rate,
)
from sfumato.numeric import floor_float
from sfumato.privacy.guarantees import Approximate, Concentrated, Guarantee, Pure
from sfumato.queries.quantiles import Quantiles
from sfumato.queries.ranks import Seen
from sfumato.randomness import Rng
from sfumato.sampling import bernoulli_exp, choose, uniform_integers

__all__ = ["FINEST", "RecursiveQuantiles", "quantile_expected", "quantile_of"]

FAR = 750.0  # points whose weight is below e^-FAR of the best enter by rejection
FINEST = 10**6  # rescaled probabilities are rounded to this denominator: accuracy only
PLACES = 1024  # where tied rows may be divided
SHARE = Fraction(1, 4)  # of a choice's rate, spent on dividing ties


@dataclass(frozen=True, slots=True)
class RecursiveQuantiles(Answering):
    """Quantiles of each cell; the claim is pure, or concentrated if asked for, stated at `delta` if given.

    Proof: docs/proofs/recursive_quantiles.md.

    `rate` is what a row costs a choice.
    """

    query: Quantiles
    rate: float
    concentrated: bool = False
    delta: float | None = None

    def __post_init__(self) -> None:
        checked_rate(self.rate)
        checked_delta(self.delta, self.concentrated)

    @classmethod
    def calibrate(cls, query: Quantiles, target: Guarantee) -> RecursiveQuantiles:
        """The sharpest choice that meets `target`."""
        count = len(query.probabilities)
        return cls(query, *rate_for(target, query.spread, _rounds(count, SHARE), _rounds(count, SHARE**2)))

    @classmethod
    def through_rho(cls, query: Quantiles, target: Guarantee) -> RecursiveQuantiles:
        """The sharpest choice whose concentrated claim meets a target with delta."""
        rounds = _rounds(len(query.probabilities), SHARE**2)
        return cls(query, relaxed_rate(target, query.spread, rounds), True, target.parts()["delta"])

    @property
    def levels(self) -> int:
        """How many choices lie on the way to any one quantile."""
        return len(self.query.probabilities).bit_length()  # = ceil(log2(q + 1))

    def guarantee(self, distance: int = 1) -> Pure | Concentrated | Approximate:
        """What one release costs between tables `distance` units apart."""
        spread, count = distance * self.query.spread, len(self.query.probabilities)
        rounds = _rounds(count, SHARE**2 if self.concentrated else SHARE)
        if self.delta is not None:
            return relaxed_cost(self.rate, spread, rounds, self.delta)
        return cost(self.rate, spread, rounds, self.concentrated)

    def error(self, beta: float = 0.05) -> float:
        """The rank error of every quantile on any table without ties, exceeded with probability at most `beta`."""
        return rank_error(self._chains(math.log(self.query.lattice.width + 1), 0.0), beta)

    def spread_error(self, beta: float = 0.05) -> float:
        """The same where values are distinct and spread evenly, many lattice points apart."""
        return rank_error(self._chains(0.0, 1.0), beta)

    def tied_error(self, beta: float = 0.05) -> float:
        """The same on any table whatever; at each level one row in 2 PLACES of those tied there comes on top."""
        return rank_error(self._chains(math.log(self.query.lattice.width + 1), 0.0, divided=True), beta)

    @property
    def share_of_ties(self) -> str:
        """What part of the rows that share one value comes on top of `tied_error`."""
        return f"{self.levels - 1}/{2 * PLACES}"

    def _chains(self, log_points: float, slack: float, *, divided: bool = False) -> list[Chain]:
        """What the error of each quantile is made of: its own choice, and those that made the ends of its node."""
        exact = Chain(0.0, {})
        found, nodes = [], [(_tree(self.query.probabilities), exact, exact)]
        while nodes:
            branch, start, stop = nodes.pop()
            scale = branch.width / self.rate * (1 + 1e-12)
            own = start.mixed(stop, float(branch.p)).plus(branch.middle, scale, scale * log_points + slack)
            found.append(own)
            coarse = scale / float(SHARE)
            split = own.plus(~branch.middle, coarse, coarse * math.log(PLACES) + 1) if divided else own.plus(None, 0, 1)
            nodes += [(child, *((start, split) if side == 0 else (split, stop))) for side, child in branch.children]
        return found

    def release(self, answer: Sequence[Seen], rng: Rng) -> Chosen:
        """The chosen lattice points, of shape (cells, quantiles).  `answer`: the exact ranks of each cell."""
        cells, wanted = self.query.cells.count, self.query.probabilities
        if len(answer) != cells:
            raise ParameterError(f"query {self.query.name!r} has {cells} cells, got {len(answer)}")
        tree = _tree(wanted)
        chosen = np.zeros((cells, len(wanted)), dtype=np.int64)
        self.expect(answer)
        for cell, ranks in enumerate(answer):
            nodes = [(tree, _Node(0, ranks.rows, self.query.lattice.low, self.query.lattice.high))]
            while nodes:
                branch, node = nodes.pop()
                point = _draw(ranks, node, branch, self.rate, rng)
                chosen[cell, branch.middle] = point
                if branch.children:
                    halves = node.halves(point, _division(ranks, node, point, branch, self.rate, rng))
                    nodes += [(child, halves[side]) for side, child in branch.children]
        return chosen

    def expect(self, answer: Sequence[Seen]) -> None:
        """Tell what will be looked at, but for draws far out: near each quantile, wherever its node's ends come to lie.

        They end where points were drawn, within the slack, and ties divided, within a place of all rows.
        """
        for branch in _tree(self.query.probabilities).all():
            for ranks in answer:
                _expect(ranks, self.query.probabilities[branch.middle], branch, self.rate, self.levels - 1)

    def to_record(self) -> dict[str, object]:
        """Public parameters."""
        stated = {} if self.delta is None else {"delta": self.delta}
        return {"type": "recursive-quantiles", "rate": self.rate, "concentrated": self.concentrated, **stated}


def quantile_expected(ranks: Seen, p: Fraction, rate: float) -> None:
    """Tell that `quantile_of` will look at these ranks."""
    _expect(ranks, p, _Branch(0, p, ()), rate, 0)


def _expect(ranks: Seen, p: Fraction, branch: _Branch, rate: float, divisions: int) -> None:
    rows = ranks.rows
    margin = 2 * branch.slack(rate, rows + 1) + divisions * (rows // PLACES + 1) + 2
    ranks.expect(math.floor(p * rows) - margin, math.ceil(p * rows) + margin)


def quantile_of(ranks: Seen, p: Fraction, points: tuple[int, int], rate: float, rng: Rng) -> int:
    """One choice by itself: the p-quantile of all rows, among the points from the first to the last."""
    return _draw(ranks, _Node(0, ranks.rows, *points), _Branch(0, p, ()), rate, rng)


def _rounds(quantiles: int, share: Fraction) -> Fraction:
    """Choices on the way to a quantile, and divisions of ties between them, each at its share."""
    levels = quantiles.bit_length()
    return levels + (levels - 1) * share


@dataclass(frozen=True, slots=True)
class _Branch:
    """One choice of the plan: which quantile, its probability among the node's rows, and what follows."""

    middle: int
    p: Fraction
    children: tuple[tuple[int, _Branch], ...]  # 0: the left half, 1: the right half

    @property
    def width(self) -> float:
        """w: how far apart one row can move the penalties."""
        return 2 * float(max(self.p, 1 - self.p))

    def step(self, rate: float) -> float:
        """rate / w for penalties counted in denominators of p, rounded down."""
        return floor_float(Fraction(rate) / (2 * max(self.p.numerator, self.p.denominator - self.p.numerator)))

    def slack(self, rate: float, most: int) -> int:
        """How many ranks of penalty make a weight of e^-FAR, rounded up; at most so many."""
        each = self.step(rate) * self.p.denominator
        return most if each * most <= FAR else math.ceil(FAR / each)

    def all(self) -> Iterator[_Branch]:
        """This choice and all that follow."""
        yield self
        for _, child in self.children:
            yield from child.all()


def _tree(wanted: Sequence[Fraction], first: int = 0, ends: tuple[Fraction, Fraction] | None = None) -> _Branch:
    """The middle probability first, rescaled to its node; then both halves."""
    least, most = ends or (Fraction(0), Fraction(1))
    half = len(wanted) // 2
    middle, parts = wanted[half], (wanted[:half], wanted[half + 1 :])
    starts, spans = (first, first + half + 1), ((least, middle), (middle, most))
    children = tuple((side, _tree(parts[side], starts[side], spans[side])) for side in (0, 1) if parts[side])
    return _Branch(first + half, ((middle - least) / (most - least)).limit_denominator(FINEST), children)


@dataclass(frozen=True, slots=True)
class _Node:
    """The rows of ranks `start..stop` and the lattice points `low..high` to choose from."""

    start: int
    stop: int
    low: int
    high: int

    def within(self, rank: int) -> int:
        """The rank, kept inside the node."""
        return min(max(int(rank), self.start), self.stop)

    def halves(self, point: int, split: int) -> tuple[_Node, _Node]:
        """Rows and points up to the split, and from it on."""
        return _Node(self.start, split, self.low, point), _Node(split, self.stop, point, self.high)


def _division(ranks: Seen, node: _Node, point: int, branch: _Branch, rate: float, rng: Rng) -> int:
    """Where the rows are divided: below those tied at the point, above, or at an even fraction of them."""
    below, upto = (node.within(rank) for rank in ranks.around(point))
    tied = upto - below
    if tied < 2:
        return below  # every fraction of one row rounds down to none
    p, rows = branch.p, node.stop - node.start
    edges = below - node.start + np.arange(PLACES + 1) * tied // PLACES
    penalties = _excess(edges[:-1], rows - edges[1:], rows, p)
    place = choose(penalties, branch.step(float(SHARE) * rate), rng)
    return below + (2 * place + 1) * tied // (2 * PLACES)


def _draw(ranks: Seen, node: _Node, branch: _Branch, rate: float, rng: Rng) -> int:
    """One exact draw: near points by their weights, all far ones together as one candidate, then refined."""
    p, step = branch.p, branch.step(rate)
    most = node.stop - node.start + 1  # no penalty is as large
    slack = branch.slack(rate, most)
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
    def around(cls, ranks: Seen, node: _Node, p: Fraction, slack: int) -> _Window:
        """Every point that is left out has a penalty above `slack` ranks."""
        target = node.start + p * (node.stop - node.start)
        seen = ranks.near(math.ceil(target - slack) - 1, math.floor(target + slack))
        values, below = seen.values, seen.below
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


def _penalty(ranks: Seen, node: _Node, point: int, p: Fraction) -> int:
    below, upto = (node.within(rank) for rank in ranks.around(point))
    rows = node.stop - node.start
    return int(_excess(np.array(below - node.start), np.array(node.stop - upto), rows, p))
