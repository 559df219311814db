"""Draws with density proportional to exp(-rate * gauge) of a hull, by the most exact sampler that is affordable.

In this order: F times Laplace noise when the columns are independent; two simplices for a histogram under
replacement; the simplices of the hull in small dimension; rejection from the box where it accepts often enough; else
the bouncy-particle sampler.  All but the last are exact up to floating point.  The last is a walk: its draws come with
diagnostics, and those of one call share a few chains.  For independent releases call it anew each time.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

import numpy as np

from sfumato.errors import ParameterError
from sfumato.randomness import Rng
from sfumato.sampling.bodies import rejection, replacement, simplices
from sfumato.sampling.bodies.bouncing import bounce
from sfumato.sampling.bodies.diagnostics import Diagnostics, diagnose
from sfumato.sampling.bodies.hull import Hull
from sfumato.sampling.reals import Reals, exponentials, uniforms

__all__ = ["METHODS", "knorm", "sampler"]

CHAINS = 4
THIN = 6  # redrawings between two draws: about one autocorrelation time on sign matrices
ACCEPTS = 0.005  # least acceptance for rejection: below, a draw takes longer than a walk's burn-in
METHODS = ("columns", "replacement", "simplices", "rejection", "walk")


@lru_cache(maxsize=64)
def sampler(hull: Hull) -> str:
    """The name of the most exact affordable sampler."""
    if hull.degrees == hull.columns.shape[1]:
        return "columns"
    if replacement.applies(hull):
        return "replacement"
    if simplices.affordable(hull):
        return "simplices"
    return "rejection" if rejection.acceptance(hull) >= ACCEPTS else "walk"


def knorm(
    hull: Hull, rate: float, count: int, rng: Rng, method: str | None = None, chains: int = CHAINS
) -> tuple[Reals, Diagnostics]:
    """`count` draws, one a row, and what is known of them; `method` overrides the choice of the sampler."""
    if not (np.isfinite(rate) and rate > 0):
        raise ParameterError(f"rate must be positive and finite, got {rate!r}")
    name = sampler(hull) if method is None else method
    if name == "walk":
        draws, found = _walk(hull, count, chains, rng)
        return draws / rate, found
    exact: dict[str, Callable[[Hull, int, Rng], Reals]] = {
        "columns": _columns,
        "replacement": replacement.draw,
        "simplices": simplices.draw,
        "rejection": rejection.draw,
    }
    if name not in exact:
        raise ParameterError(f"method must be one of {', '.join(METHODS)}, got {name!r}")
    return exact[name](hull, count, rng) / rate, Diagnostics(name, exact=True)


def _columns(hull: Hull, count: int, rng: Rng) -> Reals:
    """F times independent standard Laplace variables; the columns are linearly independent."""
    columns = hull.columns
    shape = (count, columns.shape[1])
    noise = exponentials(shape, rng) * np.where(uniforms(shape, rng) < 0.5, -1.0, 1.0)
    return np.asarray(noise @ columns.T)


def _walk(hull: Hull, count: int, chains: int, rng: Rng) -> tuple[Reals, Diagnostics]:
    """Chains with starts and burn-ins of their own; draws taken from them in turn."""
    chains = min(chains, count)
    length = -(-count // chains)
    paths = [bounce(hull.frame, length, THIN, rng) for _ in range(chains)]
    points = np.stack([path.points for path in paths])
    found = diagnose(points, np.stack([path.normals for path in paths]), "walk")
    draws = np.swapaxes(points, 0, 1).reshape(-1, hull.frame.rank)[:count]
    return np.asarray(draws @ hull.frame.lift.T), found
