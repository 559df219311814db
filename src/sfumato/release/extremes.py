"""The least and the greatest that an answer can be when each value lies anywhere inside its cell.

The rows come in placements (`placements.py`).  Each placement of a row falls into a group, or into none, and gives it a
number and a weight.  Sums take the least or the greatest number of each row.  The greatest ratio of two sums is where
the sum of the greatest (number - ratio * weight) is zero ; a quantile is where enough rows can lie
below, by bisection.  Variances lie below the mean square about any point, and above that about the best one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sfumato.release.placements import Placed

__all__ = ["Entries", "Span", "gather_entries"]

ROUNDS = 40  # of which a few are needed
STEPS = 8  # places of a mean at which a mean square is looked at

Whole = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]
Reals = npt.NDArray[np.float64]
Span = tuple[Reals, Reals]


@dataclass(frozen=True, slots=True, eq=False)
class Entries:
    """Placements of rows in groups, sorted by group and row; `starts` is where each pair of a group and a row begins.

    `always`: whether the row lies in the group in all of its placements; `weights`: for how many rows it stands.
    """

    groups: int
    group: Whole  # of each pair
    starts: Whole
    always: Flags
    weights: Reals  # of each pair
    chosen: Whole  # places of the entries among all placements that were given
    own: Flags  # entries that are as the rows were made

    def numbers(self, given: Sequence[Reals]) -> Reals:
        """Numbers of the entries, from those of all placements, part by part."""
        return np.concatenate(given)[self.chosen] if given else np.zeros(0)

    def made(self, numbers: Reals) -> Reals:
        """The sums of the groups, as the rows were made."""
        held = np.repeat(self.weights, self._lengths)
        groups = np.repeat(self.group, self._lengths)
        return np.asarray(np.bincount(groups[self.own], (numbers * held)[self.own], self.groups), dtype=np.float64)

    def most(self, numbers: Reals) -> Reals:
        """The greatest sums of the groups."""
        if not len(self.starts):
            return np.zeros(self.groups)
        best = np.maximum.reduceat(numbers, self.starts)
        counted = np.where(self.always, best, np.maximum(best, 0.0)) * self.weights
        return np.asarray(np.bincount(self.group, counted, self.groups), dtype=np.float64)

    def expand(self, numbers: Reals) -> Reals:
        """The same numbers of groups, one for each entry."""
        return np.repeat(numbers[self.group], self._lengths)

    def sums(self, numbers: Reals) -> Span:
        """The least and the greatest sums."""
        return -self.most(-numbers), self.most(numbers)

    def ratios(self, numbers: Reals, weights: Reals) -> Span:
        """The least and the greatest ratios of two sums, of weights not below zero; NaN of groups maybe empty."""
        empty = self._maybe_empty(weights)
        low, high = -self._ratio(-numbers, weights), self._ratio(numbers, weights)
        return np.where(empty, np.nan, low), np.where(empty, np.nan, high)

    def _maybe_empty(self, weights: Reals) -> Flags:
        """Which groups have no weight in some placement: nothing is known of what these rows have on average."""
        return np.asarray(-self.most(-weights) <= 0)

    def _ratio(self, numbers: Reals, weights: Reals) -> Reals:
        """The greatest ratios: from a smaller one on, the ratio of what is best at it, until none is greater."""
        there = weights > 0
        if not there.any():
            return np.full(self.groups, np.nan)
        ratio = np.full(self.groups, float((numbers[there] / weights[there]).min()))
        places = np.arange(len(numbers))
        for _ in range(ROUNDS):
            gains = numbers - self.expand(ratio) * weights
            best = np.maximum.reduceat(gains, self.starts)
            at = np.maximum.reduceat(np.where(gains == np.repeat(best, self._lengths), places, -1), self.starts)
            counted = np.where(self.always | (best > 0), self.weights, 0.0)
            over, under = (np.bincount(self.group, part[at] * counted, self.groups) for part in (numbers, weights))
            found = np.divide(over, under, out=ratio.copy(), where=under > 0)
            if not (found > ratio).any():
                break
            ratio = np.maximum(ratio, found)
        return ratio

    @property
    def _lengths(self) -> Whole:
        """How many entries each pair has."""
        return np.diff(np.append(self.starts, len(self.chosen)))

    def quantiles(self, points: Whole, probability: float) -> tuple[Reals, Reals]:
        """The least and the greatest lattice points that can be a quantile; NaN of groups maybe empty."""
        empty = self._maybe_empty(np.ones(len(points)))
        low, high = self._quantile(points, probability), -self._quantile(-points, 1 - probability)
        return np.where(empty, np.nan, low), np.where(empty, np.nan, high)

    def _quantile(self, points: Whole, probability: float) -> Reals:
        if not len(points):
            return np.full(self.groups, np.nan)
        low = np.full(self.groups, int(points.min()) - 1)  # below which no row lies
        high = np.full(self.groups, int(points.max()))
        slack = float(self.weights.max())  # one row: ranks between two rows are told in several ways
        while (high - low > 1).any():
            middle = (low + high) // 2
            below = points <= self.expand(middle)
            reached = self.most(np.asarray(below - probability, dtype=np.float64)) >= -slack
            low, high = np.where(reached, low, middle), np.where(reached, middle, high)
        return high.astype(np.float64)

    def variances(self, numbers: Reals) -> Span:
        """No more than the greatest variances, and no less than the least."""
        ones = np.ones(len(numbers))
        least, most = self.ratios(numbers, ones)
        with np.errstate(invalid="ignore"):
            own = np.clip(self.made(numbers) / np.maximum(self.made(ones), 1e-300), least, most)
        step = (most - least) / STEPS
        tried = [own, *(least + step * turn for turn in range(STEPS + 1))]
        spans = [self.ratios((numbers - self.expand(np.nan_to_num(mean))) ** 2, ones) for mean in tried]
        lower = np.min([span[0] for span in spans], axis=0) - (step / 2) ** 2
        return np.maximum(lower, 0.0), np.min([span[1] for span in spans], axis=0)

    def covariances(self, one: Reals, other: Reals) -> Span:
        """No more than the greatest covariances, and no less than the least."""
        ones = np.ones(len(one))
        ends = [self.ratios(numbers, ones) for numbers in (one, other)]
        own = [self.made(numbers) / np.maximum(self.made(ones), 1e-300) for numbers in (one, other)]
        apart = [np.maximum(high - mean, mean - low) for (low, high), mean in zip(ends, own, strict=True)]
        centered = (one - self.expand(own[0])) * (other - self.expand(own[1]))
        low, high = self.ratios(centered, ones)
        slack = apart[0] * apart[1]
        return low - slack, high + slack

    def correlations(self, one: Reals, other: Reals) -> Span:
        """No more than the greatest correlations, and no less than the least; NaN where there may be no spread."""
        low, high = self.covariances(one, other)
        (few, many), (less, more) = self.variances(one), self.variances(other)
        with np.errstate(divide="ignore", invalid="ignore"):
            narrow, wide = np.sqrt(few * less), np.sqrt(many * more)
            least, most = np.where(low < 0, low / narrow, low / wide), np.where(high > 0, high / narrow, high / wide)
        return np.maximum(least, -1.0), np.minimum(most, 1.0)


def gather_entries(
    placed: Sequence[Placed], groups: int, places: Callable[[Placed], Whole], made_alone: bool = False
) -> Entries:
    """The placements of rows that lie in groups, whose numbers `places` tells (-1: in none).

    `made_alone`: each row only as it was made.
    """
    chosen, codes, own, weights, counts = [], [], [], [], []
    before, rows = 0, 0
    for part in placed:
        found, count = places(part), len(part.rows)
        row = np.tile(np.arange(count), part.ways)
        kept = found >= 0
        if made_alone:
            kept[count:] = False
        at = np.flatnonzero(kept)
        chosen.append(at + before)
        codes.append(found[at] * np.int64(2**40) + row[at] + rows)
        own.append(at < count)
        weights.append(np.full(len(at), part.weight))
        counts.append(np.full(len(at), 1 if made_alone else part.ways))
        before, rows = before + len(found), rows + count
    code = np.concatenate(codes) if codes else np.zeros(0, dtype=np.int64)
    order = np.argsort(code, kind="stable")
    code = code[order]
    starts = np.flatnonzero(np.diff(code, prepend=-1))
    first = order[starts]
    lengths = np.diff(np.append(starts, len(code)))
    return Entries(
        groups, code[starts] // 2**40, starts, lengths == np.concatenate(counts)[first],
        np.concatenate(weights)[first], np.concatenate(chosen)[order], np.concatenate(own)[order],
    )  # fmt: skip
