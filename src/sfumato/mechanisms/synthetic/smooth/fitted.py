"""From noisy blocks to weighted points, and what may be said of the answers they give."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sfumato.mechanisms.synthetic.smooth.candidates import candidates, even
from sfumato.mechanisms.synthetic.smooth.columns import departure
from sfumato.mechanisms.synthetic.smooth.features import QUANTUM, Reals, View
from sfumato.mechanisms.synthetic.smooth.fit import WORTH, steady
from sfumato.mechanisms.synthetic.smooth.moments import covariance, shrunk, spread

__all__ = ["FLOOR", "HELD", "Fitted", "fitted", "looked"]

OPEN = 2.0  # what is left open counts this much
HELD = 0.1  # of a standard error: how far weights may move what the candidates already meet
STANDING = 50  # points, in effect, that must carry the weight
FLOOR = 0.05  # of a feature's own spread: no finite set of candidates meets every moment
EVEN, EVEN_FLOOR = 0.02, 0.01  # of squared spreads: moments as near to an even box's, and as well known, are its


@dataclass(frozen=True, slots=True, eq=False)
class Fitted:
    """Weighted points of the box, with the features and errors they were fitted to."""

    points: Reals
    weights: Reals
    features: Reals  # one row a feature, one column a point
    errors: Reals  # of each feature's mean: noise, and what clipping may hide

    def answers(self, values: npt.ArrayLike) -> Reals:
        """The mean of each query, given its values at the points (queries, points)."""
        return np.asarray(np.asarray(values) @ self.weights)

    def deviations(self, values: npt.ArrayLike) -> Reals:
        """How far each answer may be off, once: the noise that reaches it, and what the measured features leave open.

        The first is a standard deviation.  The second, the part of a query that no combination of the features
        explains, is a measure of what cannot be known without looking, not a bound; twice the sum held for nine in ten
        answers or more in the experiment (experiments/synthesis.py, coverage).
        """
        root = np.sqrt(self.weights)
        asked = np.asarray(values, dtype=np.float64) * root
        known = self.features * root
        asked = asked - np.outer(asked @ root, root)
        known = known - np.outer(known @ root, root)
        scatter = known @ known.T
        scatter[np.diag_indices(self.errors.size)] += WORTH * self.errors**2 + 1e-15
        slopes = np.linalg.solve(scatter, known @ asked.T).T
        noise = np.sqrt(np.square(slopes * self.errors).sum(axis=1))
        left = np.sqrt(np.square(asked - slopes @ known).sum(axis=1))
        return np.asarray(noise + OPEN * left)


def fitted(
    view: View, center_error: float, noisy: dict[str, Reals], errors: dict[str, float], count: int, hidden: float = 0.0
) -> Fitted:
    """Posterior moments, candidates with these moments, weights that meet the other features; or points of an even box.

    Clipping may have moved the mean by `hidden`, in units of the box; that counts as error, not as noise.
    """
    columns = view.center.size
    goals = np.concatenate(list(noisy.values()))
    actual = np.concatenate([np.full(noisy[block].size, errors[block]) for block in noisy])
    points = even(count, columns)
    features = view.features(points, tuple(noisy)).T / QUANTUM
    spread, worth = features.std(axis=1), WORTH
    off = departure(features.mean(axis=1), spread, goals, actual, sure=0.0)
    if off + float(np.square(actual).sum() / np.square(spread).sum()) < EVEN:
        worth = 1 / off
        believed = np.hypot(actual, EVEN_FLOOR * spread * np.sqrt(WORTH / worth))
    else:
        goal, radius, shape = _moments(view, center_error, noisy, errors)
        points = candidates(view, goal, radius, shape, count)
        features = view.features(points, tuple(noisy)).T / QUANTUM
        believed = np.hypot(actual, FLOOR * features.std(axis=1))
        held = columns + 1  # mean and radius: where the candidates are, better than what was measured
        goals[:held] = features[:held].mean(axis=1)
        believed[:held] = HELD * np.minimum(actual, features.std(axis=1))[:held]
    stated = actual.copy()
    stated[:columns] = np.hypot(actual[:columns], hidden / (view.reach * np.sqrt(columns)))
    stated[columns] = np.hypot(actual[columns], 2 * float(np.linalg.norm(view.center)) * hidden / view.width)
    weights = steady(features, goals, believed, min(STANDING, len(points) / 4), worth)
    return Fitted(points, weights, features, stated)


def looked(view: View, center_error: float, goal: Reals, error: float) -> Reals:
    """The column means; in a ball two looks at them, each as good as its noise."""
    kept = center_error**2 / (center_error**2 + error**2) if view.ball else 1.0
    return np.asarray(view.center + view.reach * goal * kept)


def _moments(
    view: View, center_error: float, noisy: dict[str, Reals], errors: dict[str, float]
) -> tuple[Reals, float, Reals]:
    """Posterior means of y and s, and the covariance of x."""
    error = view.reach * errors["mean"]
    if view.ball:
        mean = np.clip(looked(view, center_error, noisy["mean"], error), -1.0, 1.0)
    else:
        mean = shrunk(noisy["mean"], error)
    square = view.level + view.width * float(noisy["radius"][0])
    mean, total = spread(mean, error, square, view.width * errors["radius"])
    goal = (mean - view.center) / view.reach
    radius = (float(mean @ mean) + total - view.level) / view.width
    if "second" not in noisy:
        return goal, radius, np.eye(mean.size) * total / mean.size
    rows, columns = np.triu_indices(mean.size)
    matrix = np.zeros((mean.size, mean.size))
    matrix[rows, columns] = noisy["second"] / np.where((rows != columns) & view.ball, np.sqrt(2), 1.0)
    matrix = view.reach**2 * (matrix + np.triu(matrix, 1).T)
    about = view.reach * goal
    return goal, radius, covariance(matrix - np.outer(about, about), view.reach**2 * errors["second"], total)
