r"""The model nearest to noisy marginals: maximum entropy with a penalty for what noise would explain, by its dual.

Minimize over the distributions p on the tree  total KL(p, uniform) + sum of |total A_k p - y_k|^2 / (2 r_k v_k), where
y_k are measured counts, v_k the variances of their noise and r_k the shrinkage.  The dual has one number z for each
measured cell: p is proportional to exp(sum of A_k' z_k), and

    total log Z(z) - sum <z_k, y_k> + sum r_k v_k |z_k|^2 / 2

is smooth and convex, its gradient the model's counts less the measured ones plus r_k v_k z_k.  So a cell departs from
what the other measurements imply as far as its noise allows: with r small all the way, with larger r by less.
Neighbors that depart together do so for less (`smoothness.py`), by which the last term is of another quadratic form.
Everything here works on numbers that are already public.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from sfumato.mechanisms.synthetic.marginals.model import Model, Reals
from sfumato.mechanisms.synthetic.marginals.smoothness import Blocks, beside, pull
from sfumato.mechanisms.synthetic.marginals.sweeps import Sweeps
from sfumato.mechanisms.synthetic.marginals.tree import Bag, JunctionTree

__all__ = ["Measurement", "fitted", "merging"]

Groups = npt.NDArray[np.int64]

MEMORY = 16  # steps that curvature is learned from
GAIN, MOST_GAIN = 1e-6, 0.05  # nats a row, and of all rows at most: a step that gains less is the last
LEAST_PENALTY, LEAST_COUNT = 1e-9, 1e-3  # of a cell, where a dual starts


@dataclass(frozen=True, slots=True, eq=False)
class Measurement:
    """Noisy counts of one to three columns, their levels merged into groups; `variance` is the noise of each cell."""

    columns: Bag
    groups: tuple[Groups, ...]
    counts: Reals
    variance: Reals | float
    shrinkage: float = 1e-2
    blocks: tuple[Blocks, ...] = ()  # of cells whose potentials tend to be alike
    penalty: Reals = field(init=False, repr=False)  # what a cell's potential costs, cell by cell

    def __post_init__(self) -> None:
        penalty = np.asarray(self.shrinkage * np.asarray(self.variance))
        object.__setattr__(self, "penalty", np.broadcast_to(penalty, self.counts.shape))


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

    dual = _Dual.of(tree, measurements, total)
    first = dual.begun(start) * dual.units
    least = min(MOST_GAIN, GAIN * total) / max(1.0, abs(dual(first)[0]))  # relative, as it is compared
    options = {"maxiter": steps, "maxcor": MEMORY, "ftol": least, "gtol": 1e-3}
    found = np.asarray(minimize(dual, first, jac=True, method="L-BFGS-B", options=options).x) / dual.units
    return dual.model(found), dual.split(found)


@dataclass(frozen=True, slots=True, eq=False)
class _Dual:
    """The dual function of some measurements, of all their numbers one after another."""

    tree: JunctionTree
    measurements: Sequence[Measurement]
    total: float
    sweeps: Sweeps
    keys: tuple[Bag, ...]  # the columns that were measured, each set once
    starts: Groups  # of their tables on the tree's levels, one after another,
    parts: tuple[tuple[slice, tuple[int, ...]], ...]  # and their shapes
    cells: Groups  # the cells of those tables, measurement by measurement,
    numbers: Groups  # and the dual of each
    counts: Reals
    penalty: Reals
    blocks: tuple[Blocks, ...]
    units: Reals  # of steps, in which every cell's curvature, its count and its penalty, is about one

    @classmethod
    def of(cls, tree: JunctionTree, measurements: Sequence[Measurement], total: float) -> _Dual:
        """Everything that does not change while duals do."""
        keys = tuple(dict.fromkeys(one.columns for one in measurements))
        starts = np.cumsum([0, *(tree.volume(key) for key in keys)])
        cells, numbers, first = [], [], 0
        for one in measurements:
            place, groups = keys.index(one.columns), one.groups
            owner = groups[0]
            for size, others in zip(one.counts.shape[1:], groups[1:], strict=True):
                owner = owner[..., np.newaxis] * size + others
            numbers.append(first + owner.ravel())
            cells.append(np.arange(starts[place], starts[place + 1]))
            first += one.counts.size
        counts, penalty = (
            np.concatenate([np.asarray(table).ravel() for table in tables])
            for tables in ([one.counts for one in measurements], [one.penalty for one in measurements])
        )
        shapes = (tuple(tree.sizes[c] for c in key) for key in keys)
        parts = zip(map(slice, starts[:-1].tolist(), starts[1:].tolist()), shapes, strict=True)
        sides = starts, tuple(parts), np.concatenate(cells), np.concatenate(numbers)
        blocks = beside([(one.counts.size, one.blocks) for one in measurements])
        units = np.sqrt(np.maximum(counts, 1.0) + penalty)
        return cls(tree, measurements, total, Sweeps.of(tree, keys), keys, *sides, counts, penalty, blocks, units)

    def __call__(self, point: Reals) -> tuple[float, Reals]:
        """The value and its slope, in units."""
        duals = point / self.units
        sums, height = self.expected(duals)
        slope = pull(self.penalty, self.blocks, duals)
        value = self.total * height + float(duals @ (0.5 * slope - self.counts))
        return value, (sums - self.counts + slope) / self.units

    def expected(self, duals: Reals) -> tuple[Reals, float]:
        """The model's count for each dual, and the logarithm of its sum."""
        flat = self._added(duals)
        tops = np.maximum.reduceat(flat, self.starts[:-1])
        found = self.sweeps.swept(self._tables(np.exp(flat - np.repeat(tops, np.diff(self.starts)))))
        if found is None:
            model = self.model(duals)
            found, tops = (model.held, model.log_sum), np.zeros(1)
        held, height = found
        shares = np.concatenate([table.ravel() for table in self.sweeps.marginals(held)])
        sums = np.bincount(self.numbers, weights=shares[self.cells], minlength=len(self.counts))
        return np.asarray(self.total * sums), float(tops.sum()) + height

    def model(self, duals: Reals) -> Model:
        """The model with these duals."""
        return Model.calibrated(self.tree, dict(zip(self.keys, self._tables(self._added(duals)), strict=True)))

    def _added(self, duals: Reals) -> Reals:
        """The duals of all measurements of the same columns, together, on the tree's levels."""
        flat = np.bincount(self.cells, weights=duals[self.numbers], minlength=int(self.starts[-1]))
        return flat.astype(np.float64, copy=False)

    def _tables(self, flat: Reals) -> list[Reals]:
        return [flat[part].reshape(shape) for part, shape in self.parts]

    def split(self, duals: Reals) -> tuple[Reals, ...]:
        """The duals of each measurement."""
        parts = np.split(duals, np.cumsum([one.counts.size for one in self.measurements])[:-1])
        return tuple(part.reshape(one.counts.shape) for part, one in zip(parts, self.measurements, strict=True))

    def begun(self, start: Sequence[Reals]) -> Reals:
        """The duals to start from: a new one by itself solves the equation of its cell, count e^z + penalty z = y.

        Without that, cells that are empty take hundreds of steps: their duals are large and their counts say little of
        it.
        """
        from scipy.special import wrightomega

        held = np.concatenate([np.zeros(0), *(part.ravel() for part in start)])
        new = slice(len(held), None)
        duals = np.concatenate([held, np.zeros(len(self.counts) - len(held))])
        if len(duals) > len(held):
            counts, penalty = self.expected(duals)[0][new], np.maximum(self.penalty[new], LEAST_PENALTY)
            height = self.counts[new] / penalty
            duals[new] = height - wrightomega(height + np.log(np.maximum(counts, LEAST_COUNT) / penalty))
        return duals
