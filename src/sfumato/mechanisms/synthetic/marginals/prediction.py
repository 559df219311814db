r"""How far each column and pair of made rows is likely to be from the table, from the noisy misfits of `judging.py`.

The yardstick is a random sample: of n rows, it errs in a table with shares q by about sum sqrt(2 q / (pi n)) / 2 in
total variation.  The error of made rows is that times a ratio, and ratios within a class of tables (columns, measured
pairs, other pairs) are alike: lognormal, with a middle and a spread of the class that are read from all its noisy
misfits together.  A table's own noisy misfit then says where in its class it stands: Bayes' rule, on grids.
Of columns more is known: the noise that their levels were counted with, which then is the yardstick; columns of few
cells stand apart, since the error of a yes or no is one normal variable, as likely to be near none as large.

So predictions rest on what was measured; only where noise hides it do the few constants below speak, which were set on
tables that no figure is judged by.  They are no bounds.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt

__all__ = ["Errors", "errors", "like_a_sample", "like_counts"]

Reals = npt.NDArray[np.float64]
Whole = npt.NDArray[np.int64]

RATIOS = np.exp(np.linspace(math.log(0.03), math.log(60.0), 600))
MIDDLES = np.linspace(math.log(0.1), math.log(30.0), 48)
SPREADS = np.array([0.08, 0.15, 0.25, 0.35, 0.5, 0.7, 1.0])
LIKELY = {
    "columns": (0.0, 0.8, 0.5),
    "few": (0.0, 0.2, 0.15),
    "many": (1.0, 0.5, 0.7),
    "measured": (0.5, 0.6, 0.3),
    "others": (0.8, 0.6, 0.3),
}
"""Of each class before anything is measured: the middle of its middles (a logarithm), their spread, its own spread;
few and many are columns of at most `FEW` cells, and of more, whose yardstick is the noise of their counts."""
FEW = 8
SURE = 0.5  # how far, in logarithms, the spread of a class may be from that
CAUTION = 0.8  # of the chance to be wrong is used where tables are told apart: middles and spreads are guesses, too
LOOSE = 0.06  # of a noisy error is added to its noise: the number of rows errs, too, and no ratio is that exact


@dataclass(frozen=True, slots=True, eq=False)
class Errors:
    """For each table of a class a distribution over `RATIOS`, and the yardstick: errors are their products."""

    yardsticks: Reals
    chances: Reals  # tables x ratios
    caution: float = 1.0

    def at(self, level: float) -> Reals:
        """The total variation that each table stays within with this probability."""
        return self._quantile(1 - self.caution * (1 - level))

    def middle(self) -> Reals:
        """The total variation that each table is as likely to exceed as not."""
        return self._quantile(0.5)

    def ratios(self) -> Reals:
        """The middle ratio of each table: made rows err as a random sample of n / ratio^2 rows would."""
        return np.asarray(self.middle() / self.yardsticks)

    def _quantile(self, level: float) -> Reals:
        reached = self.chances.cumsum(axis=1)
        places = np.array([np.interp(level, row, np.arange(len(RATIOS))) for row in reached])
        ratios = np.exp(np.interp(places, np.arange(len(RATIOS)), np.log(RATIOS)))
        return np.asarray(np.minimum(1.0, self.yardsticks * ratios))


def like_a_sample(shares: Reals, rows: float) -> float:
    """The total variation to expect between a table with these shares and a random sample of so many rows.

    >>> round(like_a_sample(np.full(4, 0.25), 100.0), 4)
    0.0798
    """
    held = shares[shares > 0]
    return float(0.5 * np.minimum(np.sqrt(2 * held / (math.pi * max(rows, 1.0))), 2 * held).sum())


def like_counts(shares: Reals, levels: Whole, noise: float, rows: float) -> float:
    """The total variation to expect of groups of so many levels, each counted with noise of this standard deviation.

    That their sum is known takes a part of the noise away.

    >>> round(like_counts(np.full(4, 0.25), np.ones(4, dtype=np.int64), 5.0, 100.0), 4)
    0.0691
    """
    held = shares > 0
    off = noise * np.sqrt(2 * levels[held] / math.pi) / max(rows, 1.0)
    return float(0.5 * math.sqrt(1 - 1 / max(2, held.sum())) * np.minimum(off, 2 * shares[held]).sum())


def errors(
    kind: str,
    yardsticks: Sequence[float],
    noisy: Sequence[float] | float | None,
    scale: float,
    cells: Sequence[int] = (),
) -> Errors:
    """What the noisy total variations of a class of tables say of each.

    `noisy` holds one for each table with normal noise of standard deviation `scale`, or is their mean with Laplace
    noise of that scale, or None where nothing was measured.  `cells` are given of columns whose yardstick is the noise
    of their counts: the error of few cells scatters as the length of so short a normal vector does.
    """
    lengths = np.maximum(np.asarray(yardsticks, dtype=np.float64), 1e-12)
    middles, spreads = _grid()
    center, width, own = LIKELY[kind]
    # columns are counted better than each is judged: what their mean does not show is not there
    told = scale if kind != "columns" or isinstance(noisy, float) else scale / math.sqrt(len(lengths))
    if not cells:
        center += 0.5 * math.log1p((told / lengths.mean()) ** 2)  # noise hides errors: they may be as large
    weights = -(((middles - center) / width) ** 2 + (np.log(spreads / own) / SURE) ** 2) / 2
    sorts = [max(1, count - 1) if count <= FEW else 0 for count in cells or [FEW + 1] * len(lengths)]
    each = {sort: _before(sort) for sort in set(sorts)}
    if noisy is None or isinstance(noisy, float):
        if noisy is not None:
            means = sum(size * (each[sort] @ RATIOS) for size, sort in zip(lengths, sorts, strict=True)) / len(lengths)
            weights = weights - np.abs(noisy - means) / scale
        chances = _shares(weights)
        return Errors(lengths, np.stack([chances @ each[sort] for sort in sorts]))
    wide = np.hypot(scale, LOOSE * np.asarray(noisy))[:, None]
    apart = (np.asarray(noisy)[:, None] - lengths[:, None] * RATIOS) / wide
    fits = np.exp(-(apart**2 - (apart**2).min(axis=1, keepdims=True)) / 2)
    found = np.stack([each[sort] @ fit for sort, fit in zip(sorts, fits, strict=True)], axis=1) + 1e-300
    chosen = _shares(weights + np.log(found).sum(axis=1))  # found: hyperparameters x tables
    mixed = (chosen[:, None] / found).T
    after = fits * np.stack([row @ each[sort] for sort, row in zip(sorts, mixed, strict=True)])
    return Errors(lengths, after / after.sum(axis=1, keepdims=True), CAUTION)


def _grid() -> tuple[Reals, Reals]:
    """Every middle with every spread."""
    middles, spreads = np.meshgrid(MIDDLES, SPREADS, indexing="ij")
    return middles.ravel(), spreads.ravel()


@lru_cache
def _before(freedom: int) -> Reals:
    """For every middle and spread the chances of ratios; times the length of a normal vector of so many entries."""
    middles, spreads = _grid()
    chances = np.exp(-(((np.log(RATIOS) - middles[:, None]) / spreads[:, None]) ** 2) / 2)
    chances /= chances.sum(axis=1, keepdims=True)
    if not freedom:
        return np.asarray(chances)
    mean = math.sqrt(2) * math.exp(math.lgamma((freedom + 1) / 2) - math.lgamma(freedom / 2))
    low, high = 400, 120  # steps of the logarithm that are looked at
    length = mean * np.exp(np.arange(-low, high) * math.log(RATIOS[1] / RATIOS[0]))
    kernel = np.exp(freedom * np.log(length) - length**2 / 2)  # of the logarithm of the length
    found = np.apply_along_axis(np.convolve, 1, chances, kernel / kernel.sum())
    inside = found[:, low : low + len(RATIOS)].copy()
    inside[:, 0] += found[:, :low].sum(axis=1)
    return np.asarray(inside)


def _shares(logarithms: Reals) -> Reals:
    weights = np.exp(logarithms - logarithms.max())
    return np.asarray(weights / weights.sum())
