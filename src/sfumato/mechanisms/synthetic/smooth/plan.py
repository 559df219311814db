r"""Synthetic points for smooth queries on tables of numeric columns: what is measured, what it costs, what it gives.

A pure target measures blocks of the box once: means under cube noise, the radius under Laplace noise, further blocks
where their predicted signal pays.  With delta, or under concentrated privacy, normal noise finds the center first, an
exponential choice the radius of a ball that holds most rows, and further normal noise measures the blocks of the rows
pulled into that ball, which is far smaller than the box; or, where that is predicted to be better, it measures the
blocks of the box at once.  Everything after that is post-processing.
Proof: docs/proofs/synthesis-smooth.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from sfumato.errors import ParameterError
from sfumato.mechanisms.noise.normals import composed
from sfumato.mechanisms.synthetic.smooth.choose import BEYOND, WIDE, height, influence, typical
from sfumato.mechanisms.synthetic.smooth.features import BLOCKS, QUANTUM, Integers, Reals, View, dimension
from sfumato.mechanisms.synthetic.smooth.fitted import Fitted, fitted
from sfumato.mechanisms.synthetic.smooth.moments import shrunk
from sfumato.mechanisms.synthetic.smooth.split import Design, box_design, normal_design, pure_design
from sfumato.privacy.adjacency import Adjacency, Replace
from sfumato.privacy.guarantees import GaussianPrivacy, Guarantee
from sfumato.randomness import Rng
from sfumato.sampling import choose

__all__ = ["SmoothSynthesis"]

GRID = 60  # radii, from 1/100 of the box's diagonal up
POINTS = 1000
LARGEST = 1000  # columns
Read = Callable[[], Iterable[Reals]]  # points of the box, part by part
BALL = 4 / 3  # predictions for a ball are pessimistic by this much about what clipping hides


@dataclass(frozen=True, slots=True)
class SmoothSynthesis:
    """A plan for `rows` rows of columns with `sizes` lattice points each; made by `plan`, which chooses the design.

    Proof: docs/proofs/synthesis-smooth.md.

    >>> from sfumato.privacy.guarantees import Pure
    >>> made = SmoothSynthesis.plan([101] * 30, rows=569, target=Pure(1.0))
    >>> made.guarantee().implies(Pure(1.0)), made.design.blocks
    (True, ('mean', 'radius'))
    """

    sizes: tuple[int, ...]
    rows: int
    target: Guarantee | GaussianPrivacy
    design: Design
    points: int = POINTS

    @classmethod
    def plan(
        cls,
        sizes: Sequence[int],
        rows: int,
        target: Guarantee | GaussianPrivacy,
        *,
        adjacency: Adjacency | None = None,
        rows_per_unit: int = 1,
        points: int = POINTS,
        blocks: tuple[str, ...] | None = None,
    ) -> SmoothSynthesis:
        """The design with the least predicted error; `rows` is public, or was released before."""
        _check(sizes, rows, target, rows_per_unit, points, blocks)
        exchanged = isinstance(adjacency or Replace(), Replace)
        made = []
        if not (target.counts_rho or target.counts_mu) and target.pure_within() > 0:
            made.append(pure_design(len(sizes), rows, target.pure_within(), rows_per_unit, exchanged, blocks))
        if target.takes_normal:
            for design in (normal_design, box_design):
                made.append(design(len(sizes), rows, target, rows_per_unit, exchanged, blocks))
        plans = [cls(tuple(sizes), rows, target, design, points) for design in made]
        return min(plans, key=lambda plan: plan.predicted(WIDE) / (BALL if plan.design.center else 1.0))

    def guarantee(self) -> Guarantee | GaussianPrivacy:
        """What `run` costs between neighboring tables."""
        return composed(*self.design.costs, self.target)

    def predicted(self, sigma: float) -> float:
        """The worst error over ten thousand mixtures of ten kernels of this width, for a typical table: public."""
        shape, n = self.design.shape, self.rows
        measured = {m.block: m.deviation / (QUANTUM * n) for m in self.design.measured}
        noise = sum((influence(block, shape, sigma) * error) ** 2 for block, error in measured.items())
        missing = sum(typical(block, shape.columns, sigma) ** 2 for block in BEYOND if block not in measured)
        hidden = self.design.hidden * (1 + 0.5 * math.sqrt(shape.columns)) / sigma**2
        return min(1.0, height(shape.columns, sigma) * math.sqrt(noise + missing + hidden**2))

    def run(self, rows: npt.NDArray[Any], rng: Rng) -> tuple[Reals, Reals]:
        """Points of the box and their weights, from lattice indices (rows, columns); -1 is missing."""
        made = self.release(self.box(rows), rng)
        return made.points, made.weights

    def box(self, rows: npt.NDArray[Any]) -> Reals:
        """Lattice indices as points of [-1, 1]^d; missing values lie in the middle, indices beyond at the ends."""
        if rows.ndim != 2 or rows.shape[1] != len(self.sizes):
            raise ParameterError(f"rows must have {len(self.sizes)} columns, got shape {rows.shape}")
        steps = np.maximum(np.array(self.sizes) - 1, 1)
        inside = np.clip(rows, 0, steps)
        return np.where((rows < 0) | (np.array(self.sizes) == 1), 0.0, 2.0 * inside / steps - 1.0)

    def indices(self, points: Reals) -> Integers:
        """The nearest lattice indices to points of the box."""
        steps = np.array(self.sizes) - 1
        return np.asarray(np.rint((np.clip(points, -1.0, 1.0) + 1.0) / 2.0 * steps), dtype=np.int64)

    def release(self, points: Reals, rng: Rng) -> Fitted:
        """Measure the secret points of the box and fit; all that is read of them is noisy."""
        return self.fitted(*self.measure(points, rng))

    def fitted(self, view: View, center_error: float, noisy: dict[str, Reals]) -> Fitted:
        """Weighted points, from what `measure` released."""
        hidden = self.design.hidden * view.reach / self.design.shape.reach
        return fitted(view, center_error, noisy, self.errors, self.points, hidden)

    @property
    def errors(self) -> dict[str, float]:
        """The standard error of one number's mean in each block."""
        return {m.block: m.deviation / (QUANTUM * self.rows) for m in self.design.measured}

    def measure(self, points: Reals, rng: Rng) -> tuple[View, float, dict[str, Reals]]:
        """As `measured`, of points held at once."""
        return self.measured(lambda: (points,), rng)

    def measured(self, read: Read, rng: Rng) -> tuple[View, float, dict[str, Reals]]:
        """What is released: the view with the standard error of its center, and the noisy mean of every block.

        `read` passes over the secret points, part by part, once or (for a ball) three times.
        """

        def inside() -> Iterator[Reals]:
            for points in read():
                if points.ndim != 2 or points.shape[1] != len(self.sizes):
                    raise ParameterError(f"points must have {len(self.sizes)} columns, got shape {points.shape}")
                yield np.clip(np.nan_to_num(points, nan=0.0), -1.0, 1.0)

        view, center_error = self._view(inside, rng)
        sums, start = _totals(view, inside(), self.design.blocks), 0
        noisy = {}
        for m in self.design.measured:
            noisy[m.block] = m.release(sums[start : start + m.size], rng) / (QUANTUM * self.rows)
            start += m.size
        return view, center_error, noisy

    def _view(self, inside: Read, rng: Rng) -> tuple[View, float]:
        """Where the blocks are measured from, and the standard error of its center."""
        box, d = View.of_box(len(self.sizes)), len(self.sizes)
        if self.design.center is None:
            return box, 0.0
        m = self.design.center
        error = m.deviation / (QUANTUM * self.rows)
        center = shrunk(m.release(_totals(box, inside(), ("mean",)), rng) / (QUANTUM * self.rows), error)
        around = View(center, 1.0, 0.0, 1.0, ball=True)
        grid = 2 * math.sqrt(d) * np.geomspace(0.01, 1.0, GRID)
        counts = np.zeros(GRID, dtype=np.int64)
        for points in inside():
            counts += np.searchsorted(np.sort(around.distances(points)), grid, side="right")
        goal = round(self.design.inside * self.rows)
        reach = self.design.stretch * float(
            grid[choose(np.abs(counts - goal).astype(np.int64), self.design.radius_rate, rng)]
        )
        length = float(np.linalg.norm(center))
        return View(center, reach, length**2 + 0.6 * reach**2, length * reach + 0.5 * reach**2, ball=True), error

    def to_record(self) -> dict[str, Any]:
        """Public parameters of the method."""
        return {
            "method": "smooth", "columns": len(self.sizes), "rows": self.rows, "blocks": list(self.design.blocks),
            "measurements": [m.to_record() for m in self.design.measurements], "points": self.points,
        }  # fmt: skip


def _totals(view: View, parts: Iterable[Reals], blocks: tuple[str, ...]) -> Integers:
    """The sums of the blocks over all points, exactly."""
    total = np.zeros(sum(dimension(block, view.center.size) for block in blocks), dtype=np.int64)
    for points in parts:
        total += view.totals(points, blocks)
    return total


def _check(
    sizes: Sequence[int],
    rows: int,
    target: Guarantee | GaussianPrivacy,
    unit: int,
    points: int,
    blocks: tuple[str, ...] | None,
) -> None:
    """Refuse what no plan can be made for."""
    if not 1 <= len(sizes) <= LARGEST or min(sizes) < 1:
        raise ParameterError(f"sizes must be positive, for 1 to {LARGEST} columns; got {len(sizes)} columns")
    for name, value, least in (("rows", rows, 1), ("rows_per_unit", unit, 1), ("points", points, 2)):
        if isinstance(value, bool) or not isinstance(value, int) or value < least:
            raise ParameterError(f"{name} must be a whole number of at least {least}, got {value!r}")
    if target.amount <= 0:
        raise ParameterError(f"target must allow some privacy loss, got {target!r}; raise epsilon or rho")
    known = blocks is None or (blocks[:2] == BLOCKS[:2] and blocks == tuple(b for b in BLOCKS if b in blocks))
    if not known:
        raise ParameterError(
            f"blocks must be 'mean', 'radius' and then some of {BLOCKS[2:]} in this order, got {blocks}"
        )
