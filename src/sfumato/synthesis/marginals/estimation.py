r"""The model nearest to noisy marginals: mirror descent on the weighted squared error.

Minimize L(mu) = sum of |A mu - y|^2 / (2 variance) over the marginals mu of distributions on the tree.  Mirror descent
with the entropy moves the potentials against the gradient; each step is kept only if it lowers L enough.  Everything
here works on numbers that are already public.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sfumato.synthesis.marginals.model import Model, Reals
from sfumato.synthesis.marginals.tree import Bag, JunctionTree

__all__ = ["Measurement", "fitted", "merging"]

Groups = npt.NDArray[np.int64]

WINDOW = 10  # steps that must lower the loss together by more than SETTLED of it
SETTLED = 1e-4


@dataclass(frozen=True, slots=True, eq=False)
class Measurement:
    """Noisy counts of one column or pair, its levels merged into groups; `variance` is the noise of each cell."""

    columns: Bag
    groups: tuple[Groups, ...]
    counts: Reals
    variance: Reals | float

    def residual(self, counts: Reals) -> Reals:
        """What the model's counts of these columns exceed the noisy ones by, group by group."""
        if len(self.groups) == 1:
            return np.asarray(merging(self.groups[0]) @ counts - self.counts)
        left, right = (merging(groups) for groups in self.groups)
        return np.asarray(left @ counts @ right.T - self.counts)

    def back(self, residual: Reals) -> Reals:
        """The same number for each level of a group."""
        for axis, groups in enumerate(self.groups):
            residual = np.asarray(residual.take(groups, axis=axis))
        return residual


def merging(groups: Groups) -> Reals:
    """The 0-1 matrix that sums the levels of each group."""
    matrix = np.zeros((int(groups.max()) + 1, len(groups)))
    matrix[groups, np.arange(len(groups))] = 1.0
    return matrix


def fitted(
    tree: JunctionTree,
    measurements: Sequence[Measurement],
    total: float,
    start: dict[Bag, Reals],
    steps: int,
) -> tuple[Model, dict[Bag, Reals]]:
    """The model after `steps` steps from the potentials `start`, with its own potentials."""
    potentials = _expanded(tree, measurements, start)
    model = Model.calibrated(tree, potentials)
    loss, gradient = _loss(model, measurements, total)
    rate = 1.0 / max(1e-300, *(float(np.abs(slope).max()) for slope in gradient.values()))
    recent = [loss]
    for _ in range(steps):
        moved = {columns: table - rate * gradient[columns] for columns, table in potentials.items()}
        candidate = Model.calibrated(tree, moved)
        lower, slope = _loss(candidate, measurements, total)
        gain = sum(float((gradient[c] * (model.marginal(c) - candidate.marginal(c))).sum()) for c in potentials)
        if lower > loss - 0.5 * gain:
            rate /= 2
            continue
        model, potentials, loss, gradient, rate = candidate, moved, lower, slope, rate * 1.2
        recent.append(loss)
        if len(recent) > WINDOW and recent[-WINDOW] - loss <= SETTLED * loss:
            break
    return model, potentials


def _expanded(tree: JunctionTree, measurements: Sequence[Measurement], start: dict[Bag, Reals]) -> dict[Bag, Reals]:
    wanted = {measurement.columns for measurement in measurements}
    return {columns: start.get(columns, np.zeros(tuple(tree.sizes[c] for c in columns))) for columns in sorted(wanted)}


def _loss(model: Model, measurements: Sequence[Measurement], total: float) -> tuple[float, dict[Bag, Reals]]:
    """The loss as a function of probabilities, and its gradient for each measured set of columns."""
    loss = 0.0
    gradient: dict[Bag, Reals] = {}
    for measurement in measurements:
        residual = measurement.residual(total * model.marginal(measurement.columns))
        weighted = residual / measurement.variance
        loss += 0.5 * float((residual * weighted).sum())
        slope = total * measurement.back(weighted)
        held = gradient.get(measurement.columns)
        gradient[measurement.columns] = slope if held is None else held + slope
    return loss, gradient
