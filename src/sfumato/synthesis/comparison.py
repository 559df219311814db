"""How near a synthetic table is to the real one.  For the steward only: it is computed from the data, without noise."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from sfumato import arguments
from sfumato.errors import ParameterError
from sfumato.synthesis.encoding import Column, encoded
from sfumato.synthesis.table import SyntheticTable

__all__ = ["WARNING", "Comparison", "coarse_shares", "compare"]

WARNING = "NOT RELEASABLE: computed from the real data without noise"
COARSE = 32  # groups of levels that pairs are compared in
QUERIES = 200  # Gaussian bumps whose averages are compared
SEED = 20_100  # of their centers and widths: fixed, so that two comparisons ask the same

Reals = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Comparison:
    """Distances between a real and a synthetic table; prints with a warning, and has no way to be saved."""

    columns: dict[str, float]
    pairs: dict[tuple[str, str], float]
    correlations: dict[tuple[str, str], tuple[float, float]]
    smooth: tuple[float, float]  # mean and largest error of averages of Gaussian bumps
    shares: dict[str, tuple[Reals, Reals]]  # of coarse groups, real and synthetic

    def __str__(self) -> str:
        worst = sorted(self.columns, key=lambda name: -self.columns[name])[:3]
        lines = [
            WARNING,
            f"  columns      {np.mean(list(self.columns.values())):.4f} mean total variation; largest: "
            + ", ".join(f"{name} {self.columns[name]:.4f}" for name in worst),
        ]
        if self.pairs:
            far = sorted(self.pairs, key=lambda pair: -self.pairs[pair])[:3]
            lines.append(
                f"  pairs        {np.mean(list(self.pairs.values())):.4f} mean total variation in at most {COARSE} "
                "groups a column; largest: " + ", ".join(f"{a} x {b} {self.pairs[a, b]:.4f}" for a, b in far)
            )
        if self.correlations:
            gaps = [abs(real - made) for real, made in self.correlations.values()]
            lines.append(f"  correlation  {np.mean(gaps):.4f} mean error over {len(gaps)} pairs of numbers")
            mean, largest = self.smooth
            lines.append(f"  smooth       {mean:.4f} mean and {largest:.4f} largest error of {QUERIES} Gaussian bumps")
        return "\n".join(lines)

    def __repr__(self) -> str:
        return f"Comparison({WARNING})"

    def plot(self) -> Any:
        """Shares of every column side by side, under the same warning (an Altair chart)."""
        from sfumato.report.synthetic import plot_comparison

        return plot_comparison(self)


def compare(real: Any, synthetic: SyntheticTable) -> Comparison:
    """Compare the sensitive table (from `sfumato.read`) with a synthetic one, column by column and pair by pair."""
    arguments.instance("synthetic", synthetic, SyntheticTable, "a table made by session.synthesize(...)")
    if not hasattr(real, "rows"):
        raise ParameterError("real must be a table from sfumato.read(...)")
    columns = encoded(synthetic.schema, synthetic.rows.column_names)
    held = _gathered(real.rows([column.name for column in columns]), columns)
    made = {column.name: _indices(synthetic.rows[column.name], column) for column in columns}
    fine = [[column.levels(side[column.name]) for side in (held, made)] for column in columns]
    coarse = [[_coarse(levels, column) for levels in sides] for sides, column in zip(fine, columns, strict=True)]
    names = [column.name for column in columns]
    pairs = {
        (names[a], names[b]): _variation(
            _joint(coarse[a][0], coarse[b][0]), _joint(coarse[a][1], coarse[b][1]), (COARSE + 1) ** 2
        )
        for a in range(len(columns))
        for b in range(a + 1, len(columns))
    }
    numbers = [column for column in columns if column.ordered]
    return Comparison(
        columns={
            column.name: _variation(sides[0], sides[1], column.size)
            for column, sides in zip(columns, fine, strict=True)
        },
        pairs=pairs,
        correlations=_correlations(numbers, held, made),
        smooth=_smooth(numbers, held, made),
        shares={
            name: (_shares(sides[0], COARSE + 1), _shares(sides[1], COARSE + 1))
            for name, sides in zip(names, coarse, strict=True)
        },
    )


def coarse_shares(synthetic: SyntheticTable) -> dict[str, Reals]:
    """The shares of coarse public groups of every column of a synthetic table; the last is missing values."""
    columns = encoded(synthetic.schema, synthetic.rows.column_names)
    levels = {column.name: column.levels(_indices(synthetic.rows[column.name], column)) for column in columns}
    return {column.name: _shares(_coarse(levels[column.name], column), COARSE + 1) for column in columns}


def _gathered(batches: Iterable[dict[str, Any]], columns: tuple[Column, ...]) -> dict[str, Any]:
    parts: dict[str, list[Any]] = {column.name: [np.zeros(0, dtype=np.int64)] for column in columns}
    for batch in batches:
        for name, kept in parts.items():
            kept.append(np.asarray(batch[name], dtype=np.int64))
    return {name: np.concatenate(kept) for name, kept in parts.items()}


def _indices(values: Any, column: Column) -> Any:
    """Published values as indices above the lower bound; nulls as -1."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if column.edges is None:
        labels = pa.array(list(column.space.values))  # type: ignore[union-attr]
        return pc.fill_null(pc.index_in(values, value_set=labels), -1).to_numpy().astype(np.int64)
    lattice = column.space.lattice  # type: ignore[union-attr]
    held = pc.fill_null(pc.cast(values, pa.float64()), float("nan")).to_numpy()
    missing = np.isnan(held)
    steps = np.rint(np.where(missing, 0.0, held) * lattice.step.denominator / lattice.step.numerator)
    return np.where(missing, -1, steps.astype(np.int64) - lattice.low)


def _coarse(levels: Any, column: Column) -> Any:
    """At most COARSE public groups of neighboring levels; missing values apart."""
    groups = levels * min(COARSE, column.valued) // column.valued
    return np.where(levels >= column.valued, COARSE, groups)


def _joint(one: Any, other: Any) -> Any:
    return one * (COARSE + 1) + other


def _shares(cells: Any, size: int) -> Reals:
    counts = np.bincount(cells, minlength=size).astype(np.float64)
    return counts / max(1, len(cells))


def _variation(one: Any, other: Any, size: int) -> float:
    return float(0.5 * np.abs(_shares(one, size) - _shares(other, size)).sum())


def _correlations(
    numbers: list[Column], held: dict[str, Any], made: dict[str, Any]
) -> dict[tuple[str, str], tuple[float, float]]:
    """Of each pair of numbers, real and synthetic, over the rows that have both."""
    found = {}
    for place, one in enumerate(numbers):
        for other in numbers[place + 1 :]:
            names = one.name, other.name
            found[names] = (_correlation(*(held[n] for n in names)), _correlation(*(made[n] for n in names)))
    return found


def _correlation(one: Any, other: Any) -> float:
    both = (one >= 0) & (other >= 0)
    if both.sum() < 2 or np.ptp(one[both]) == 0 or np.ptp(other[both]) == 0:
        return 0.0
    return float(np.corrcoef(one[both], other[both])[0, 1])


def _smooth(numbers: list[Column], held: dict[str, Any], made: dict[str, Any]) -> tuple[float, float]:
    """Averages of bumps exp(-|x - c|^2 / (2 w^2)) of two or three numbers, scaled to [0, 1]; missing is the middle."""
    if not numbers:
        return 0.0, 0.0
    chance = np.random.default_rng(SEED)
    sides = [
        np.stack([np.where(side[c.name] < 0, 0.5, side[c.name] / max(1, c.points - 1)) for c in numbers], axis=1)
        for side in (held, made)
    ]
    errors = []
    for _ in range(QUERIES):
        chosen = chance.choice(len(numbers), min(len(numbers), int(chance.integers(2, 4))), replace=False)
        center, width = chance.random(len(chosen)), chance.uniform(0.1, 0.5)
        means = [
            np.exp(-((side[:, chosen] - center) ** 2).sum(axis=1) / (2 * width**2)).mean() if len(side) else 0.0
            for side in sides
        ]
        errors.append(abs(float(means[0]) - float(means[1])))
    return float(np.mean(errors)), float(np.max(errors))
