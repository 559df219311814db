r"""The worst pair above two laws on the line, normal or Laplace, of any centers and scales, also of two families.

Definition.  The line is cut at the centers, at the places where the ratio of the densities turns, and into narrow
cells.  On a cell the log-ratio runs between its values at the ends; its masses under P and Q go to those two losses
with the shares that keep both masses.
Result.      That spreads e^-loss and keeps its mean, so the pair is above (P, Q) at every epsilon, also in
compositions.  Of P, what lies beyond the reach of both laws counts as revealed.  Proof: docs/proofs/accounting-loss.md.
"""

from __future__ import annotations

import math

import numpy as np

from sfumato.accounting.divergences.continuous import Density
from sfumato.accounting.laws import Array, FiniteLaw
from sfumato.privacy.parameters import whole

__all__ = ["density_law"]

CELLS = 1 << 14
WIDEST = 500.0  # larger losses count as revealed: Q has next to nothing there
FAINT = 1e-250  # masses below it have no digits to spare
OVER = 1e-12  # over the rounding of the log-ratio at an edge


def density_law(p: Density, q: Density, cells: int = CELLS) -> FiniteLaw:
    """A pair above (p, q): its delta is never smaller, and larger by some ten-thousandths of itself.

    >>> from sfumato.accounting.divergences.continuous import LaplaceDensity, NormalDensity
    >>> law = density_law(NormalDensity(0.0, 1.0), LaplaceDensity(0.0, 1.0))
    >>> round(float(np.maximum(law.p - law.q, 0).sum()) + law.infinity, 4)  # of their total variation
    0.1175
    """
    whole("cells", cells, 16)
    edges = _edges(p, q, cells)
    first, second = (law.masses(edges) for law in (p, q))
    logs = p.log_densities(edges) - q.log_densities(edges)
    loose = OVER * (1 + np.maximum(np.abs(logs[:-1]), np.abs(logs[1:])))
    low, high = np.minimum(logs[:-1], logs[1:]) - loose, np.maximum(logs[:-1], logs[1:]) + loose
    # of P, what goes to the higher loss: (p - e^low q) / (1 - e^(low - high)), rounded up
    right = (first - np.exp(np.clip(low, -700.0, 700.0)) * second + OVER * first) / -np.expm1(low - high)
    right = np.clip(right, 0.0, first)
    losses, masses = np.concatenate([low, high]), np.concatenate([first - right, right])
    losses = np.where(masses < FAINT, np.maximum(losses, 0.0), losses)  # too small for a ratio to e^-loss of it
    kept = np.flatnonzero((masses > 0) & (losses < WIDEST))
    revealed = math.fsum(masses[losses >= WIDEST])
    kept = kept[np.argsort(losses[kept], kind="stable")]
    losses, masses = losses[kept], masses[kept]
    others = np.exp(np.log(masses) - losses)
    beyond = p.masses(np.array([-np.inf, edges[0], edges[-1], np.inf]))[[0, 2]].sum()
    missing = max(0.0, 1 - float(others.sum()))
    return FiniteLaw(
        np.concatenate([[-np.inf], losses]),
        np.concatenate([[0.0], masses]),
        np.concatenate([[missing], others]),
        float(beyond) + revealed,
    )


def _edges(p: Density, q: Density, cells: int) -> Array:
    """Points that resolve both laws, where a ratio turns among them."""
    ranges = [(law.center - law.reach, law.center + law.reach) for law in (p, q)]
    inner = [np.linspace(low, high, cells // 2) for low, high in ranges]
    found = [*p.turns(q), *q.turns(p), p.center, q.center]
    return np.unique(np.concatenate([*inner, np.array([x for x in found if math.isfinite(x)])]))
