r"""Chains under rho: relative entropies exchange what tables hold, and a prior tilts the line's own exchange.

Of tables t and t + 1 with laws p and p', and for any x:  KL(p|p') >= p (1 - x) - p' e^-x  and
KL(p'|p) >= p' (1 + x) - p e^x.  With weights b and b' of the two, who holds b x + b' e^x - b passes b' (1 + x) - b e^-x
on; the price is rho times all weights.  Weights are l/2 times v_t and v_(t+1), l a multiplier of the line and v smooth.
The levels are those of the line's own x, tilted by ln(v_(t+1)/v_t), on the counts.
Proof: docs/proofs/bounds-tilting.md.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sfumato.bounds.line.divergence import MESH, Profile, newton

__all__ = ["Entropies", "tilted_levels"]

Array = npt.NDArray[np.float64]
ROUNDING = 1e-13  # of sums of a few products each, far above what they lose
LOWEST = -40.0  # x, below which more is lost than is worth passing on


@dataclass(frozen=True, slots=True)
class Entropies:
    """What a bound on relative entropies exchanges, at the weights of the tables."""

    rho: float
    weights: Array

    @property
    def price(self) -> float:
        """Rho times all weights: each pair's in one direction is its first table's, in the other its second's."""
        return float(self.rho * (self.weights[:-1].sum() + self.weights[1:].sum()))

    def exchange(self, table: int, held: Array, step: int) -> tuple[Array, float, float]:
        """See `Rule`."""
        own, others = float(self.weights[table]), float(self.weights[table + step])
        shift = np.log(others / own)
        x = np.maximum(newton(held / own + 1 + shift) - shift, LOWEST)
        grown = others * np.exp(x)
        kept = held + own * (1 - x) - grown
        kept -= ROUNDING * (abs(held) + own * (1 + abs(x)) + grown)
        return others * (1 + x) - own * np.exp(-x), min(0.0, float(kept.min())), 0.0


def tilted_levels(weights: Array, dual: Profile) -> Array:
    """For each table of the counts 0..K its least cost over all places, at l/2 times these weights, also the prior."""
    last = len(weights) - 1
    places = np.arange(last * MESH + 1)
    tilts, logs = dual.reaching(last), np.log(weights)
    levels = np.empty(last + 1)
    for table in range(last + 1):
        z = places - table * MESH
        cost = (z / MESH) ** 2
        for other, tilt in ((table + 1, tilts[last * MESH + z]), (table - 1, tilts[last * MESH - z])):
            if 0 <= other <= last:
                cost += dual.multiplier / 2 * (tilt + (logs[other] - logs[table]))
        levels[table] = weights[table] * cost.min()
    return levels
