"""Caps of the unit sphere: their measure between two bounds, their moments, and heights drawn from them.

The height T = <v, u> of a uniform point has density proportional to (1 - t^2)^a, a = (d - 3)/2.  On [0, 1] it falls, so
that sums over cells, taking the larger or the smaller end of each, bound every integral.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from sfumato.local.protocols.floating import units
from sfumato.local.protocols.protocol import Bits, Floats

__all__ = ["Cap", "cap", "choose_cap"]

CELLS = 1 << 19  # of the sums
ROUNDING = 1e-12  # relative error granted to a sum of positive terms, far more than it has


@dataclass(frozen=True, slots=True)
class Cap:
    """The cap of heights at least gamma: bounds of its measure, E[T; cap] and E[T^2; cap]."""

    dimension: int
    gamma: float
    low: float
    high: float
    first: float
    second: float

    @property
    def middle(self) -> float:
        """The measure, between its bounds."""
        return (self.low + self.high) / 2

    def heights(self, count: int, bits: Bits) -> Floats:
        """Heights in the cap: rejection from an exponential (or, near the equator, uniform) envelope."""
        a, gamma = (self.dimension - 3) / 2, self.gamma
        rate = 2 * a * gamma / (1 - gamma**2)
        span = 1 - gamma
        out, waiting = np.empty(count), np.arange(count)
        while waiting.size:
            u = units(waiting.size, bits)
            if rate * span > 1:
                t = gamma - np.log1p(u * np.expm1(-rate * span)) / rate
                bound = rate * (t - gamma)
            else:
                t, bound = gamma + u * span, np.zeros(waiting.size)
            with np.errstate(divide="ignore", invalid="ignore"):
                fit = a * (np.log1p(-(np.minimum(t, 1.0) ** 2)) - np.log1p(-(gamma**2))) if a else np.zeros(t.size)
            fits = np.log1p(-units(waiting.size, bits)) <= fit + bound
            out[waiting[fits]] = t[fits]
            waiting = waiting[~fits]
        return out


@lru_cache(maxsize=256)
def cap(dimension: int, gamma: float) -> Cap:
    """The cap above `gamma`, with bounds about 1e-6 apart."""
    a = (dimension - 3) / 2
    inner = np.linspace(0.0, gamma, CELLS + 1)
    outer = gamma + (1 - gamma) * np.linspace(0.0, 1.0, CELLS + 1) ** 2  # finer where the density is
    width = np.diff(outer)
    below, above = (1 - inner**2) ** a, (1 - outer**2) ** a
    wide = below[:-1].sum() * gamma / CELLS, below[1:].sum() * gamma / CELLS
    tail = above[:-1] @ width, above[1:] @ width
    low = tail[1] / (2 * (wide[0] + tail[1])) * (1 - ROUNDING)
    high = tail[0] / (2 * (wide[1] + tail[0])) * (1 + ROUNDING)
    whole = wide[0] + wide[1] + tail[0] + tail[1]  # twice the half line, by the trapezoidal rule
    first = (1 - gamma**2) ** (a + 1) / (2 * (a + 1)) / whole
    middle = outer[:-1] + width / 2
    second = ((1 - middle**2) ** a * middle**2) @ width / whole
    return Cap(dimension, gamma, float(low), float(high), float(first), float(second))


def choose_cap(dimension: int, ratio: float) -> float:
    """The gamma that makes E<v, u> greatest, for P/(1 - P) = ratio q/(1 - q)."""
    a = (dimension - 3) / 2
    t = np.linspace(0.0, 1.0, 20_001)[:-1]
    density = (1 - t**2) ** a
    cumulative = np.concatenate([[0.0], np.cumsum((density[1:] + density[:-1]) / 2)])
    q = (cumulative[-1] - cumulative) / (2 * cumulative[-1])
    q = np.maximum(q, 1e-300)
    p = ratio * q / (1 - q + ratio * q)
    length = density * (1 - t**2) * (p / q - (1 - p) / (1 - q))
    length[q < 1e-9] = 0.0
    return float(t[int(np.argmax(length))])
