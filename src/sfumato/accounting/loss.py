r"""Loss distributions on a grid, above and below: multiples of `step` that stay one-sided in composition.

With X = e^-loss the delta of any composition is the mean of a convex function of a product of X.
So spreading X (in the mean unchanged) raises delta, and merging or raising X lowers it:
    `raised`:  a loss between two grid points goes to both, with the weights that keep 1 and e^-loss
               in the mean  [DoroshenkoEtAl2022];
    `lowered`: each interval is merged to one point, spread to the grid, and at every grid point
               as much is merged back from its neighbors as makes the curve lie below the merged one;
               where the law is too rough for that, losses are rounded down.
Both err by the order of step^2 for smooth laws.  Proof: docs/proofs/accounting-loss.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from sfumato.accounting.laws import Array, Law
from sfumato.errors import ParameterError

__all__ = ["Grid", "lowered", "raised"]

LARGEST = 1 << 22  # grid points; beyond, the step is refused rather than memory exhausted
SAFETY = 1 + 1e-9  # over the rounding of the shares merged back


@dataclass(frozen=True, slots=True, eq=False)
class Grid:
    """Masses of P at the losses step * (first + i); `infinity` at +infinity.

    `cut` is the mass moved from outside the span; `drift` bounds the mean rise of the other losses
    when raised, and the rise of each when lowered (rounding of the grid points).
    """

    step: float
    first: int
    masses: Array
    infinity: float
    cut: float
    drift: float

    @property
    def top(self) -> float:
        """The greatest finite loss on the grid."""
        return self.step * (self.first + len(self.masses) - 1)

    def cumulants(self, tilt: float) -> tuple[float, float, float]:
        """ln E e^(tilt loss) over finite losses, and the tilted mean and variance."""
        points = self.step * np.arange(self.first, self.first + len(self.masses))
        with np.errstate(divide="ignore"):
            exponents = tilt * points + np.log(self.masses)
        peak = float(exponents.max())
        weights = np.exp(exponents - peak)
        total = float(weights.sum())
        mean = float(np.sum(weights * points)) / total
        variance = float(np.sum(weights * (points - mean) ** 2)) / total
        return peak + math.log(total), mean, variance


def raised(law: Law, step: float, tail: float) -> Grid:
    """A law above the given one, on multiples of `step`; at most `tail` is moved to the ends.

    >>> from sfumato.accounting.laws import pure_law
    >>> grid = raised(pure_law(1.0), 0.5, 1e-12)
    >>> grid.first, [round(float(mass), 4) for mass in grid.masses]
    (-2, [0.2689, 0.0, 0.0, 0.0, 0.7311, 0.0])
    """
    edges, p, right, slack, outside = _cells(law, step, tail, 0.0)
    right = np.clip(right + slack * p, 0.0, p)
    masses = np.zeros(len(edges))
    masses[:-1] += p - right
    masses[1:] += right
    masses[0] += outside[0]
    cut, drift = float(outside[0] + outside[2]), step * (step / 8 + 2 * float(slack.max()))
    above = law.infinity + float(outside[2])
    return _trimmed(Grid(step, round(edges[0] / step), masses, above, cut, drift))


def lowered(law: Law, step: float, tail: float) -> Grid:
    """A law below the given one, on multiples of `step`.

    >>> from sfumato.accounting.laws import pure_law
    >>> grid = lowered(pure_law(1.0), 0.5, 1e-12)
    >>> grid.first, [round(float(mass), 4) for mass in grid.masses]
    (-2, [0.2689, 0.0, 0.0, 0.0, 0.7311])
    """
    low, high = law.span(tail)
    jitter = 2.0**-48 * (max(abs(low), abs(high)) + step)  # keeps atoms inside their interval
    edges, p, right, slack, outside = _cells(law, step, tail, jitter)
    right = np.clip(right - slack * p, 0.0, p)
    down = np.zeros(len(p), dtype=bool)  # intervals whose losses are rounded down
    down[[0, -1]] = True
    while True:
        masses = _merged(p, np.where(down, 0.0, right), float(outside[2]), step)
        negative = np.flatnonzero(masses < 0)
        if not negative.size:
            break
        for offset in (-2, -1, 0, 1):
            down[np.clip(negative + offset, 0, len(down) - 1)] = True
    cut = float(outside[0] + outside[2])
    return _trimmed(Grid(step, round(edges[0] / step), masses, law.infinity, cut, jitter))


def _merged(p: Array, right: Array, top: float, step: float) -> Array:
    """The spread masses with a share of each point's neighbors merged back into it."""
    masses = np.zeros(len(p) + 1)
    masses[:-1] += p - right
    masses[1:] += right
    masses[-1] += top
    gap = np.zeros(len(p) + 2)  # of each interval, in units of its own width in X
    np.divide(right * (p - right), p, out=gap[1:-1], where=p > 0)
    shrink = math.exp(-step)
    taken = SAFETY * np.maximum(gap[:-1] / shrink, gap[1:])
    masses += taken * (1 + shrink)
    masses[:-1] -= taken[1:] * shrink
    masses[1:] -= taken[:-1]
    return np.where((masses < 0) & (masses > -1e-300), 0.0, masses)


def _cells(law: Law, step: float, tail: float, jitter: float) -> tuple[Array, Array, Array, Array, Array]:
    """Edges, masses, the shares that go to the right ends, their rounding, and the mass outside.

    All losses are first raised by `jitter`.
    """
    low, high = law.span(tail)
    first, last = math.floor(low / step) - 1, math.floor(high / step) + 2
    if last - first > LARGEST:
        raise ParameterError(
            f"step {step!r} needs {last - first} grid points, more than {LARGEST}; ask for a larger tolerance"
        )
    edges = step * np.arange(first, last + 1, dtype=np.float64)
    p, q = law.cells(edges - jitter)
    outside, _ = law.cells(np.array([-np.inf, edges[0] - jitter, edges[-1] - jitter, np.inf]))
    # rounding of edges, masses and the difference below, as a share of the cell's mass
    slack = 64 * 2.0**-53 * (1 + np.maximum(np.abs(edges[:-1]), np.abs(edges[1:]))) / step
    with np.errstate(over="ignore", invalid="ignore"):
        right = (p - np.exp(edges[:-1] - jitter) * q) / -math.expm1(-step)
    return edges, p, np.where(np.isfinite(right), right, p), slack, outside


def _trimmed(grid: Grid) -> Grid:
    kept = np.flatnonzero(grid.masses > 0)
    if not kept.size:
        return replace(grid, masses=np.zeros(1))
    first, last = int(kept[0]), int(kept[-1])
    return replace(grid, first=grid.first + first, masses=grid.masses[first : last + 1])
