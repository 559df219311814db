r"""Rows of a model of counts, moved and weighted until they have the moments that were measured of the table.

First every column is moved onto the means and E|x|^2 that are believed (`columns.py`).  Then the rows are weighted, as
close to equally as the other features allow, each believed as far as its noise permits (`fit.py`), and drawn so that
means and E|x|^2 stay (`drawing.py`).  This is post-processing of public rows and public moments.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from sfumato.mechanisms.synthetic.smooth.columns import SURE, departure, moved, posterior
from sfumato.mechanisms.synthetic.smooth.drawing import balanced
from sfumato.mechanisms.synthetic.smooth.features import QUANTUM, Reals, View
from sfumato.mechanisms.synthetic.smooth.fit import WORTH, steady
from sfumato.mechanisms.synthetic.smooth.fitted import FLOOR, HELD
from sfumato.mechanisms.synthetic.smooth.plan import SmoothSynthesis

__all__ = ["joined", "looked_at"]

Whole = npt.NDArray[np.int64]

STANDING = 1 / 4  # of the rows, in effect, must carry the weight
LEAST = 0.1  # of the rows' own variance remains, whatever was measured
NARROW = 0.05  # no column is believed to be narrower than that, where its mean is
NEAR = 1e-4  # of a column's own ends: means beyond are out of their reach
# Where moments have most of the budget: the part of their standard error and of a feature's spread that is allowed for,
# and how rarely noise must make a gap before it counts, in normal deviations.  Chosen on generated tables.
CLOSER, CLOSER_FLOOR, CLOSER_SURE = 0.6, 0.02, 0.0
TINY = 1e-300


def joined(
    plan: SmoothSynthesis,
    view: View,
    center_error: float,
    noisy: dict[str, Reals],
    rows: Whole,
    known: float,
    count: int,
    chance: np.random.Generator,
    closer: bool = False,
) -> tuple[Whole, Whole]:
    """`count` rows of lattice indices (-1 is missing) made from `rows`, and the row that each was made from.

    `known` is the variance that the noise of the columns' counts gives to their means, in squares of their spreads.
    `closer` says that moments had most of the budget, so that rows come closer to them.
    """
    mean, square = _believed(plan, view, center_error, noisy, plan.box(rows), known)
    rows = _reaching(plan, rows, mean, chance)
    sources = moved(plan.box(rows), rows >= 0, mean, square)
    made = np.take_along_axis(rows, sources, axis=0)
    points = plan.box(made)
    features = view.features(points, tuple(noisy)).T / QUANTUM
    actual = np.concatenate([np.full(noisy[block].size, plan.errors[block]) for block in noisy])
    goals = np.concatenate(list(noisy.values()))
    scatter = features.std(axis=1)
    held = mean.size + 1  # means and radius: believed before, better than what was measured
    missed = [*(mean - points.mean(axis=0)) / view.reach, (square - _square(points)) / view.width]
    goals[:held] = features[:held].mean(axis=1) + missed
    part, floor, sure = (CLOSER, CLOSER_FLOOR, CLOSER_SURE) if closer else (1.0, FLOOR, SURE)
    off = departure(features[held:].mean(axis=1), scatter[held:], goals[held:], actual[held:], known, sure)
    worth = max(WORTH, 1 / off)  # rows that the rows' own shape is worth: as few as noise and the moments say
    spared = np.sqrt(WORTH / worth)  # what is held, and what rows cannot meet, is the same whatever they are worth
    believed = np.hypot(part * actual, floor * scatter * spared)
    believed[:held] = HELD * np.minimum(actual, scatter)[:held] * spared
    weights = steady(features, goals, believed, STANDING * len(made), worth)
    chosen = balanced(features[:held], weights, count, chance)
    return made[chosen], chosen


def _reaching(plan: SmoothSynthesis, rows: Whole, mean: Reals, chance: np.random.Generator) -> Whole:
    """The rows, some with values beyond their own where a column's mean is: noise hid the few that lie far out."""
    points, rows = plan.box(rows), rows.copy()
    for column in range(points.shape[1]):
        held = np.flatnonzero(rows[:, column] >= 0)
        own = points[held, column]
        if not len(held) or own.min() + NEAR < mean[column] * len(points) / len(held) < own.max() - NEAR:
            continue
        last = plan.sizes[column] - 1
        end, goal = (last, 1.0) if mean[column] > points[:, column].mean() else (0, -1.0)
        far = abs(goal - float(own.mean()))
        part = min(1.0, 4 * abs(mean[column] * len(points) / len(held) - float(own.mean())) / max(far, NEAR))
        some = chance.permutation(held)[: int(np.ceil(part * len(held)))]
        steps = (np.arange(len(some)) + 0.5) / len(some)
        rows[some, column] = np.rint(rows[some, column] + steps * (end - rows[some, column])).astype(np.int64)
    return rows


def _believed(
    plan: SmoothSynthesis, view: View, center_error: float, noisy: dict[str, Reals], points: Reals, known: float
) -> tuple[Reals, float]:
    """The column means and E|x|^2 to aim at, from the rows' own and the measured ones."""
    own, spread = points.mean(axis=0), points.std(axis=0)
    seen = view.features(points, ("radius",)).mean(axis=0) / QUANTUM
    measured, error = looked_at(plan, view, center_error, noisy, points)
    mean, left, off = posterior(own, np.maximum(spread, NARROW), measured, error, known)
    explained, rest = float(mean @ mean), float(spread @ spread)
    doubt = off * float(np.square(points).sum(axis=1).var()) + 4 * explained * left**2  # the variance of both together
    kept = doubt / (doubt + (view.width * plan.errors["radius"]) ** 2 + TINY)
    gap = _square(points) + view.width * float(noisy["radius"][0] - seen[0]) - explained - rest
    return mean, max(explained + rest + kept * gap, explained + LEAST * rest)


def looked_at(
    plan: SmoothSynthesis, view: View, center_error: float, noisy: dict[str, Reals], points: Reals
) -> tuple[Reals, float]:
    """The measured column means, and their standard error.

    What was measured was pulled into the view; so are the rows, and what differs then is how far they are off.
    """
    seen = view.features(points, ("mean",)).mean(axis=0) / QUANTUM
    measured, error = points.mean(axis=0) + view.reach * (noisy["mean"] - seen), view.reach * plan.errors["mean"]
    if view.ball:  # two looks, each as good as its noise
        kept = center_error**2 / (center_error**2 + error**2)
        measured = kept * measured + (1 - kept) * view.center
        error = error * center_error / float(np.hypot(error, center_error))
    return np.asarray(measured), error


def _square(points: Reals) -> float:
    """E|x|^2."""
    return float(np.square(points).sum(axis=1).mean())
