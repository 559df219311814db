r"""Quantiles with intervals in the column's own units: beside each, two points that lie below and above it.

Definition.  `RecursiveQuantiles` for the estimates.  For each quantile p a lower end: the p-quantile, chosen by the
exponential mechanism on ranks, of the rows and of ceil(s / (1 - p)) public ones below all of them; and an upper end, of
the rows and of ceil(s / p) public ones above all of them, with s = w ln(2 q cells (|lattice| + 1) / beta) / c.

Guarantee.   Rows that are public move nothing, so an end costs what one choice costs: pure epsilon = 2 q c spread
besides that of the estimates, or concentrated rho = 2 q (c spread)^2 / 8 [McSherryTalwar2007; CesarRogers2021].
Proof: docs/proofs/bracketed_quantiles.md.

Accuracy.    On every table, with ties or without, all true quantiles lie between their ends but for probability beta =
0.05.  The estimates' rank errors are those of `RecursiveQuantiles` at half of the target.

Assumes.     Nothing beyond random bits, like `RecursiveQuantiles`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from sfumato.errors import UnsupportedQuery
from sfumato.mechanisms.mechanism import Answering
from sfumato.mechanisms.selection.recursive_quantiles import (
    FINEST,
    RecursiveQuantiles,
    quantile_expected,
    quantile_of,
)
from sfumato.mechanisms.selection.selection import Chosen, checked_rate, concentrated_rate, cost, pure_rate
from sfumato.numeric import ceil_float
from sfumato.privacy.guarantees import Concentrated, Guarantee, Pure
from sfumato.queries.quantiles import BRACKETED, Quantiles
from sfumato.queries.ranks import Padded, Seen
from sfumato.randomness import Rng

__all__ = ["BracketedQuantiles"]

BETA = 1 - BRACKETED
LARGEST = 2.0**58  # penalties are counted in denominators of p, in 64 bits: those of up to 10^12 rows fit


@dataclass(frozen=True, slots=True)
class BracketedQuantiles(Answering):
    """Estimates, and ends that are chosen at `rate`, each.

    Proof: docs/proofs/bracketed_quantiles.md.
    """

    query: Quantiles
    estimating: RecursiveQuantiles
    rate: float

    def __post_init__(self) -> None:
        checked_rate(self.rate)
        if self.estimating.delta is not None:
            raise UnsupportedQuery("quantiles with bars are claimed in epsilon or in rho")
        aims = {p for asked in self.query.probabilities for p in _outward(asked)}
        if not all(0 < p < 1 for p in aims):
            raise UnsupportedQuery(f"quantiles with bars lie between {1 / FINEST:g} and 1 - {1 / FINEST:g}")
        if any(p.denominator * self.margin(p) > LARGEST * min(p, 1 - p) for p in aims):
            raise UnsupportedQuery("the ends would lie more rows away than can be counted; spend more on quantiles")

    @classmethod
    def calibrate(cls, query: Quantiles, target: Guarantee) -> BracketedQuantiles:
        """Half of the target for the estimates, the other half for all ends together."""
        ends = 2 * len(query.probabilities)
        if target.counts_rho and target.concentrated_within() > 0:
            half: Guarantee = Concentrated(target.concentrated_within() / 2)
            rate = concentrated_rate(target.concentrated_within() / 2, query.spread, ends)
        elif target.pure_within() > 0:
            half = Pure(target.pure_within() / 2)
            rate = pure_rate(target.pure_within() / 2, query.spread, ends)
        else:
            raise UnsupportedQuery(f"a private choice needs epsilon > 0 or rho > 0, not {target!r}")
        return cls(query, RecursiveQuantiles.calibrate(query, half), rate)

    def guarantee(self, distance: int = 1) -> Pure | Concentrated:
        """What estimates and ends cost together between tables `distance` units apart."""
        rho, ends = self.estimating.concentrated, 2 * len(self.query.probabilities)
        parts = (self.estimating.guarantee(distance), cost(self.rate, distance * self.query.spread, ends, rho))
        (name,) = parts[0].parts()
        total = ceil_float(sum((Fraction(part.parts()[name]) for part in parts), Fraction(0)))
        return Concentrated(total) if rho else Pure(total)

    def error(self, beta: float = 0.05) -> float:
        """That of the estimates, by rank."""
        return self.estimating.error(beta)

    def spread_error(self, beta: float = 0.05) -> float:
        """That of the estimates, where values are distinct and spread evenly."""
        return self.estimating.spread_error(beta)

    def tied_error(self, beta: float = 0.05) -> float:
        """That of the estimates, with ties."""
        return self.estimating.tied_error(beta)

    @property
    def share_of_ties(self) -> str:
        """That of the estimates."""
        return self.estimating.share_of_ties

    def margin(self, p: Fraction) -> float:
        """s: by how many rows the ends aim beside the quantile."""
        points = self.query.lattice.width + 2
        several = 2 * len(self.query.probabilities) * max(1, self.query.cells.count)
        return 2 * float(max(p, 1 - p)) * math.log(several * points / BETA) / self.rate * (1 + 1e-12)

    def release(self, answer: Sequence[Seen], rng: Rng) -> Chosen:
        """Lattice points, shape (cells, quantiles, 3): estimate, low, high.  `answer`: the exact ranks of each cell."""
        lattice = self.query.lattice
        sides = [[self._sides(ranks, p) for p in self.query.probabilities] for ranks in answer]
        for below, above in (pair for pairs in sides for pair in pairs):
            quantile_expected(*below, self.rate)
            quantile_expected(*above, self.rate)
        estimates = self.estimating.release(answer, rng)
        found = np.empty((*estimates.shape, 3), dtype=np.int64)
        found[..., 0] = estimates
        for cell, pairs in enumerate(sides):
            for place, (below, above) in enumerate(pairs):
                low = quantile_of(*below, (lattice.low - 1, lattice.high), self.rate, rng)
                high = quantile_of(*above, (lattice.low, lattice.high + 1), self.rate, rng)
                found[cell, place, 1:] = max(low, lattice.low), min(high, lattice.high)
        return found

    def _sides(self, ranks: Seen, p: Fraction) -> tuple[tuple[Padded, Fraction], tuple[Padded, Fraction]]:
        """The rows with public ones below all of them, and above, and which quantile of these is an end."""
        lattice, (less, more) = self.query.lattice, _outward(p)
        below = Padded(ranks, lattice.low - 1, math.ceil(self.margin(less) / (1 - less)), True)
        return (below, less), (Padded(ranks, lattice.high + 1, math.ceil(self.margin(more) / more), False), more)

    def to_record(self) -> dict[str, object]:
        """Public parameters."""
        return {"type": "bracketed-quantiles", "estimating": self.estimating.to_record(), "rate": self.rate}

    @classmethod
    def from_record(cls, query: Quantiles, record: Mapping[str, Any]) -> BracketedQuantiles:
        """The mechanism with the recorded rates."""
        return cls(query, RecursiveQuantiles.from_record(query, record["estimating"]), record["rate"])


def _outward(p: Fraction) -> tuple[Fraction, Fraction]:
    """Probabilities below and above, or p itself where its denominator is small: what the ends aim at.

    >>> _outward(Fraction(33333333, 10**8))
    (Fraction(333333, 1000000), Fraction(166667, 500000))
    """
    if p.denominator <= FINEST:
        return p, p
    return Fraction(math.floor(p * FINEST), FINEST), Fraction(math.ceil(p * FINEST), FINEST)
