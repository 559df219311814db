r"""The model nearest to noisy marginals: maximum entropy with a penalty for what noise would explain, by its dual.

Minimize over the distributions p on the tree  total KL(p, uniform) + sum of |total A_k p - y_k|^2 / (2 r_k v_k), where
y_k are measured counts, v_k the variances of their noise and r_k the shrinkage.  The dual has one number z for each
measured cell: p is proportional to exp(sum of A_k' z_k), and

    total log Z(z) - sum <z_k, y_k> + sum r_k v_k |z_k|^2 / 2

is smooth and convex, its gradient the model's counts less the measured ones plus r_k v_k z_k.  So a cell departs from
what the other measurements imply as far as its noise allows: with r small all the way, with larger r by less.
Everything here works on numbers that are already public.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from sfumato.mechanisms.synthetic.marginals.model import Model, Reals
from sfumato.mechanisms.synthetic.marginals.tree import Bag, JunctionTree

__all__ = ["Measurement", "fitted", "merging"]

Groups = npt.NDArray[np.int64]

MEMORY = 16  # steps that curvature is learned from
GAIN, MOST_GAIN = 1e-6, 0.05  # nats a row, and of all rows at most: a step that gains less is the last
LEAST_PENALTY, LEAST_COUNT = 1e-9, 1e-3  # of a cell, where a dual starts


@dataclass(frozen=True, slots=True, eq=False)
class Measurement:
    """Noisy counts of one column or pair, its levels merged into groups; `variance` is the noise of each cell."""

    columns: Bag
    groups: tuple[Groups, ...]
    counts: Reals
    variance: Reals | float
    shrinkage: float = 1e-2
    merges: tuple[Reals, ...] = field(init=False, repr=False)  # the matrices that sum the levels of each group
    penalty: Reals = field(init=False, repr=False)  # what a cell's potential costs, cell by cell

    def __post_init__(self) -> None:
        penalty = np.asarray(self.shrinkage * np.asarray(self.variance))
        object.__setattr__(self, "merges", tuple(map(merging, self.groups)))
        object.__setattr__(self, "penalty", np.broadcast_to(penalty, self.counts.shape))

    def residual(self, counts: Reals) -> Reals:
        """What the model's counts of these columns exceed the noisy ones by, group by group."""
        if len(self.merges) == 1:
            return np.asarray(self.merges[0] @ counts - self.counts)
        left, right = self.merges
        return np.asarray(left @ counts @ right.T - self.counts)

    def back(self, table: Reals) -> Reals:
        """The same number for each level of a group."""
        for axis, groups in enumerate(self.groups):
            table = np.asarray(table.take(groups, axis=axis))
        return table


def merging(groups: Groups) -> Reals:
    """The 0-1 matrix that sums the levels of each group."""
    matrix = np.zeros((int(groups.max()) + 1, len(groups)))
    matrix[groups, np.arange(len(groups))] = 1.0
    return matrix


def fitted(
    tree: JunctionTree,
    measurements: Sequence[Measurement],
    total: float,
    start: Sequence[Reals],
    steps: int,
) -> tuple[Model, tuple[Reals, ...]]:
    """The model after at most `steps` steps from the duals `start`, and its own; new duals start where they fit."""
    from scipy.optimize import minimize

    ends = np.cumsum([measurement.counts.size for measurement in measurements])[:-1]
    # steps are taken in units where every cell's curvature, its count and its penalty, is about one
    units = np.concatenate([np.sqrt(np.maximum(m.counts, 1.0) + m.penalty).ravel() for m in measurements])

    def split(point: Reals) -> tuple[Reals, ...]:
        parts = np.split(point / units, ends)
        return tuple(part.reshape(m.counts.shape) for part, m in zip(parts, measurements, strict=True))

    def dual(point: Reals) -> tuple[float, Reals]:
        parts = split(point)
        model = Model.calibrated(tree, _potentials(measurements, parts))
        value, slopes = total * model.log_sum, []
        expected: dict[Bag, Reals] = {}
        for measurement, part in zip(measurements, parts, strict=True):
            if measurement.columns not in expected:
                expected[measurement.columns] = total * model.marginal(measurement.columns)
            pull = measurement.penalty * part
            value += float((part * (0.5 * pull - measurement.counts)).sum())
            slopes.append((measurement.residual(expected[measurement.columns]) + pull).ravel())
        return value, np.concatenate(slopes) / units

    first = np.concatenate([part.ravel() for part in _begun(tree, measurements, total, start)]) * units
    least = min(MOST_GAIN, GAIN * total) / max(1.0, abs(dual(first)[0]))  # relative, as it is compared
    options = {"maxiter": steps, "maxcor": MEMORY, "ftol": least, "gtol": 1e-3}
    found = split(np.asarray(minimize(dual, first, jac=True, method="L-BFGS-B", options=options).x))
    return Model.calibrated(tree, _potentials(measurements, found)), found


def _begun(
    tree: JunctionTree, measurements: Sequence[Measurement], total: float, start: Sequence[Reals]
) -> list[Reals]:
    """The duals to start from: a new one by itself solves the equation of each of its cells, count e^z + penalty z = y.

    Without that, cells that are empty take hundreds of steps: their duals are large and their counts say little of it.
    """
    from scipy.special import wrightomega

    held = list(start)
    new = measurements[len(held) :]
    if new:
        model = Model.calibrated(tree, _potentials(measurements[: len(held)], held))
        for measurement in new:
            count = measurement.counts + measurement.residual(total * model.marginal(measurement.columns))
            penalty = np.maximum(measurement.penalty, LEAST_PENALTY)
            height = measurement.counts / penalty
            held.append(height - wrightomega(height + np.log(np.maximum(count, LEAST_COUNT) / penalty)))
    return held


def _potentials(measurements: Sequence[Measurement], parts: Sequence[Reals]) -> dict[Bag, Reals]:
    """The duals of all measurements of the same columns, together, on the tree's levels."""
    found: dict[Bag, Reals] = {}
    for measurement, part in zip(measurements, parts, strict=True):
        table = measurement.back(part)
        held = found.get(measurement.columns)
        found[measurement.columns] = table if held is None else held + table
    return found
