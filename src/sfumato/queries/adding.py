r"""Counts published as tables that add up: whole numbers, none negative, whose margins are the sums of their cells.

Cells.  The noisy counts are brought to the nearest point of {x >= 0, sum x = T}, T their rounded sum or the public
total, and rounded by the largest remainders, so that they still sum to T.  That is a function of the release alone, and
costs nothing.

Intervals.  They are about the true sums, whatever is shown: noisy sum -+ t, with P(|Z_1 + ... + Z_m| > t) <= beta for
the noise of the m cells.  True sums are whole and not negative, so that ends are rounded inward to whole numbers
from 0 on, and stay valid; where the number shown lies outside, the interval is widened to hold it.
t is m times the quantile of one at beta / m, whatever the noise; for discrete Laplace and rounded normal noise, which
mechanisms add to each cell independently, the law of the sum itself.  Where the total is public, noise sums to zero: of
m cells out of n it is minus that of the others, so that m is at most n / 2.

Workloads of cells and sums, such as cross-tables and marginals, are made to agree in the same way: one table of whole
numbers is brought near to all answers, and each answer is a sum of its cells.  Intervals are the release's own.
Proof: docs/proofs/adding.md.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

from sfumato.answers.answer import NO_COUNTS, Columns
from sfumato.errors import UnsupportedQuery
from sfumato.queries.grouping import Cells, Discovered
from sfumato.queries.linear.simplex import projected
from sfumato.queries.query import Query
from sfumato.queries.vector import Noise
from sfumato.sampling import DiscreteLaplace, RoundedNormal
from sfumato.sampling.weighted_sums import SMALL, discrete_laplace, rounded_normal, sum_quantiles

__all__ = ["added_up", "added_up_rows", "added_up_together", "must_add_up", "sum_margin", "sums_of", "whole_cells"]

Whole = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Axes = tuple[int, ...]
Margins = Callable[[Axes, float], Floats | float]  # of the sums over these axes, at this chance of failing

COUNTING = ("count", "histogram", "workload")


def must_add_up(query: Query) -> None:
    """Refuse a question whose answers are no counts of rows, each in one public cell; from public things alone."""
    if query.kind not in COUNTING:
        raise UnsupportedQuery(NO_COUNTS)
    if any(isinstance(key, Discovered) for key in query.keys):
        raise UnsupportedQuery("keys that were discovered leave out rows, so that their counts do not add up")
    if query.limits is not None and query.limits.each is not None:
        raise UnsupportedQuery("people who count in several groups do not add up; count rows, or ask for each sum")
    sums_of(query)


def sums_of(query: Query) -> list[Axes]:
    """The keys that each part of a workload sums over; refused where one asks for more than cells and sums of cells."""
    asked = [part.get("rows", ["none"]) for part in query.to_record().get("workload", ())]
    if any(set(rows) - {"each", "total"} for rows in asked):
        raise UnsupportedQuery("only cells and their sums add up: a workload of each and total, such as sf.crosstab")
    return [tuple(place for place, name in enumerate(rows) if name == "total") for rows in asked]


def added_up(cells: Cells, noisy: Floats, noise: Noise, beta: float, joint: bool, public: int | None) -> Columns:
    """Every cell and every margin with its interval; a key that is summed over is None.

    `public` is the total where it is public.  With `joint` all intervals hold at once.
    """

    def margins(axes: Axes, share: float) -> float:
        within = math.prod(cells.shape[i] for i in axes)
        return sum_margin(noise, within, share) if public is None else _tied(noise, within, cells.count, share)

    return _every_sum(cells, noisy, margins, beta, joint, public)


def added_up_together(
    cells: Cells, noisy: Floats, apart: Callable[[float], Floats], beta: float, joint: bool
) -> Columns:
    """The same where the cells' errors depend on one another: `apart` gives each cell's distance at a chance.

    Of a sum of m cells all errors are within their distances at beta / m, and so is it within the sum of these.
    """

    def margins(axes: Axes, share: float) -> Floats:
        within = math.prod(cells.shape[i] for i in axes)
        return np.asarray(apart(share / within).reshape(cells.shape).sum(axis=axes)).reshape(-1)

    return _every_sum(cells, noisy, margins, beta, joint, None)


def added_up_rows(
    cells: Cells, summed: Sequence[Axes], counts: Floats, low: Floats, high: Floats, total: int
) -> Columns:
    """Sums over the given axes, in the order of the ends of their intervals, from one table of whole numbers.

    `counts` are the cells as they were estimated; the ends hold the true sums, which are whole and not negative.
    """
    shown = whole_cells(counts, total).reshape(cells.shape)
    found, start = _empty(cells), 0
    for axes in summed:
        numbers = np.asarray(shown.sum(axis=axes)).reshape(-1)
        held = slice(start, start + len(numbers))
        start = held.stop
        _append(found, cells, axes, numbers, np.ceil(low[held]), np.floor(high[held]))
    return found


def _every_sum(cells: Cells, noisy: Floats, margins: Margins, beta: float, joint: bool, public: int | None) -> Columns:
    total = max(0, round(float(noisy.sum()))) if public is None else public
    shape = cells.shape
    shown, raw = whole_cells(noisy, total).reshape(shape), noisy.reshape(shape)
    summed = [axes for size in range(len(shape) + 1) for axes in itertools.combinations(range(len(shape)), size)]
    rows = sum(math.prod(n for i, n in enumerate(shape) if i not in axes) for axes in summed)
    found = _empty(cells)
    for axes in summed:
        margin = margins(axes, beta / rows if joint else beta)
        numbers, middle = shown.sum(axis=axes).reshape(-1), raw.sum(axis=axes).reshape(-1)
        low, high = np.ceil(middle - margin), np.floor(middle + margin)
        if public is not None and math.prod(shape[i] for i in axes) == cells.count:
            low = high = numbers
        _append(found, cells, axes, numbers, low, high)
    return found


def _empty(cells: Cells) -> Columns:
    return {**{key.column: [] for key in cells.keys}, "estimate": [], "low": [], "high": []}


def _append(found: Columns, cells: Cells, axes: Axes, numbers: Whole, low: Floats, high: Floats) -> None:
    """The rows of one kind of sum; true sums are not negative, and each interval holds the number shown."""
    labels = itertools.product(*([None] if i in axes else key.labels for i, key in enumerate(cells.keys)))
    ends = zip(np.maximum(low, 0).tolist(), np.maximum(high, 0).tolist(), strict=True)
    for label, number, (least, most) in zip(labels, numbers.tolist(), ends, strict=True):
        for key, value in zip(cells.keys, label, strict=True):
            found[key.column].append(value)
        found["estimate"].append(number)
        found["low"].append(min(int(least), number))
        found["high"].append(max(int(most), number))


def whole_cells(noisy: Floats, total: int) -> Whole:
    """Whole numbers, none negative, that sum to `total`, near the noisy ones.

    >>> whole_cells(np.array([3.0, -2.0, 4.6]), 6).tolist()
    [2, 0, 4]
    """
    if total == 0:
        return np.zeros(len(noisy), dtype=np.int64)
    near = projected(noisy, float(total))
    below = np.floor(near).astype(np.int64)
    left = total - int(below.sum())
    first = np.argsort(-(near - below), kind="stable")[: max(left, 0)]
    below[first] += 1
    for _ in range(-left):  # the sum of floors passed the total by rounding
        below[int(np.argmax(below))] -= 1
    return below


def sum_margin(noise: Noise, cells: int, beta: float) -> float:
    """A distance that the noise of so many cells together exceeds with probability at most beta."""
    apart = cells * float(noise.quantile(beta / cells))
    law = None
    if isinstance(noise, DiscreteLaplace):
        law = discrete_laplace(noise.scale)
    elif isinstance(noise, RoundedNormal):
        law = rounded_normal(noise.sigma)
    if law is None or cells == 1:
        return apart
    spread = cells * noise.variance * (1 + 1e-12)  # of the sum: by Chebyshev's inequality
    near, far = (np.array([math.sqrt(spread / share)]) for share in (beta, SMALL * beta))
    found = sum_quantiles(np.ones((1, cells)), law, noise.variance, beta, near, far)
    return min(apart, float(found[0]))


def _tied(noise: Noise, within: int, count: int, beta: float) -> float:
    """The same for noise of sum zero over all `count` cells, however it depends."""
    fewer = min(within, count - within)
    return 0.0 if fewer == 0 else fewer * float(noise.quantile(beta / fewer))
