r"""Columns moved onto measured means: each keeps its own values and order, and how often they come is tilted.

Rows of a model of counts have column means of their own.  Measured means g with standard error e say how far off those
are: (own - g)^2 is about e^2 + k spread^2 in every column, which gives k, and then the posterior mean of each column.
Frequencies are tilted by exp(a x + b x^2), a for each column and b for all, so that the means and E|x|^2 are met; a row
keeps its rank in every column.  All of this works on what is public.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

__all__ = ["SURE", "departure", "moved", "posterior"]

Reals = npt.NDArray[np.float64]
Whole = npt.NDArray[np.int64]

SAMPLE = 4000  # rows that tilts are found on
ROUNDS = 30
NEAR_ENDS = 0.002  # of a column's range: means nearer to its ends are out of reach
STEEPEST = 60.0  # b
CLOSE = 2e-4  # of E|x|^2
LEAST = 1e-6
SURE = 2.33  # deviations of a normal variable, which it exceeds once in a hundred times


def departure(
    own: Reals, spread: Reals, measured: Reals, error: Reals, least: float = LEAST, sure: float = SURE
) -> float:
    """k: averages over the rows err as those of a random sample of 1 / k rows would; at least what noise must hide.

    Only gaps beyond what noise makes of so many numbers once in a hundred times count, or as rarely as so many normal
    deviations: where there are few, or noise is strong, rows are believed rather than what was measured.
    """
    part = 2 / (9 * own.size)
    alone = (1 - part + sure * np.sqrt(part)) ** 3  # of chi-square over its degrees (Wilson and Hilferty)
    gaps, square = (own - measured) ** 2 - alone * error**2, np.maximum(spread, LEAST) ** 2
    off = max(float(gaps.sum() / square.sum()), least)
    for _ in range(ROUNDS):
        weights = (square / (error**2 + off * square)) ** 2
        off = max(float(weights @ (gaps / square) / weights.sum()), least)
    return off


def posterior(
    own: Reals, spread: Reals, measured: Reals, error: float, least: float = LEAST
) -> tuple[Reals, float, float]:
    """The column means to believe, their standard error and k, from those of rows and from measured ones."""
    square = np.maximum(spread, LEAST) ** 2
    off = departure(own, spread, measured, np.full(own.size, error), least)
    kept = off * square / (off * square + error**2)
    mean = np.clip(own + kept * (measured - own), -1.0, 1.0)
    return np.asarray(mean), error * float(np.sqrt(kept.mean())), off


def moved(points: Reals, present: npt.NDArray[np.bool_], mean: Reals, square: float) -> Whole:
    """For every row and column the row whose value it takes, so that the means and E|x|^2 are as wanted.

    Missing values lie at 0 and stay where they are.
    """
    rows, columns = points.shape
    held = [np.flatnonzero(present[:, column]) for column in range(columns)]
    few = [points[places[:: 1 + len(places) // SAMPLE], column] for column, places in enumerate(held)]
    parts = np.array([len(places) / rows for places in held])
    goals = mean / np.maximum(parts, LEAST)
    slopes, curve = np.zeros(columns), 0.0
    low, high = -STEEPEST, STEEPEST
    for _ in range(ROUNDS // 2):
        found = gain = 0.0
        for column in range(columns):
            slopes[column], own, more = _slope(few[column], goals[column], slopes[column], curve)
            found, gain = found + parts[column] * own, gain + parts[column] * more
        if abs(found - square) <= CLOSE * square:
            break
        low, high = (curve, high) if found < square else (low, curve)
        step = curve + (square - found) / max(gain, LEAST)
        curve = step if low < step < high else (low + high) / 2
    sources = np.tile(np.arange(rows)[:, None], (1, columns))
    for column, places in enumerate(held):
        order = places[np.argsort(points[places, column], kind="stable")]
        ends = _tilted(points[order, column], slopes[column], curve).cumsum()
        ranks = (np.arange(len(order)) + 0.5) / max(len(order), 1)
        sources[order, column] = order[np.minimum(np.searchsorted(ends, ranks), len(order) - 1)] if len(order) else 0
    return sources


def _tilted(values: Reals, slope: float, curve: float) -> Reals:
    """The share of each value, tilted."""
    exponents = slope * values + curve * values * values
    mass = np.exp(exponents - exponents.max(initial=-np.inf)) if len(values) else exponents
    return np.asarray(mass / mass.sum()) if len(values) else mass


def _slope(values: Reals, goal: float, slope: float, curve: float) -> tuple[float, float, float]:
    """The slope whose tilted mean is nearest to the goal; the mean square there, and how fast `curve` moves it."""
    if not len(values) or np.ptp(values) < LEAST:
        return 0.0, float(np.square(values).mean()) if len(values) else 0.0, 0.0
    room = NEAR_ENDS * float(np.ptp(values))
    goal = float(np.clip(goal, values.min() + room, values.max() - room))
    low, high, squares = -np.inf, np.inf, values * values
    for _ in range(ROUNDS):
        weights = _tilted(values, slope, curve)
        mean = float(weights @ values)
        spread = max(float(weights @ squares) - mean * mean, LEAST**2)
        if abs(mean - goal) < LEAST:
            break
        low, high = (slope, high) if mean < goal else (low, slope)
        step = slope + float(np.clip((goal - mean) / spread, -3 / np.sqrt(spread), 3 / np.sqrt(spread)))
        slope = step if low < step < high else (low + high) / 2
    square = float(weights @ squares)
    beside = float(weights @ (values * squares)) - mean * square
    return slope, square, max(float(weights @ (squares * squares)) - square * square - beside * beside / spread, 0.0)
