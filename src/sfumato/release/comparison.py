"""How near a synthetic table is to the real one.  For the steward only: it is computed from the data, without noise."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from sfumato import arguments
from sfumato.cards import Printed
from sfumato.engines import Table
from sfumato.mechanisms.synthetic.marginals.judging import COARSE, coarse
from sfumato.queries.encoding import Column
from sfumato.queries.question import Source
from sfumato.release.synthetic import SyntheticTable

__all__ = ["WARNING", "Comparison", "coarse_shares", "compare"]

WARNING = "NOT RELEASABLE: computed from the real data without noise"
QUERIES = 200  # Gaussian bumps whose averages are compared
SEED = 20_100  # of their centers and widths: fixed, so that two comparisons ask the same

Reals = npt.NDArray[np.float64]
Levels = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class Comparison(Printed):
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
            f"  columns      {np.mean(list(self.columns.values())):.4f} mean total variation in at most {COARSE} "
            "groups of levels; largest: " + ", ".join(f"{name} {self.columns[name]:.4f}" for name in worst),
        ]
        if self.pairs:
            far = sorted(self.pairs, key=lambda pair: -self.pairs[pair])[:3]
            lines.append(
                f"  pairs        {np.mean(list(self.pairs.values())):.4f} mean total variation in the same; largest: "
                + ", ".join(f"{a} x {b} {self.pairs[a, b]:.4f}" for a, b in far)
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


def compare(real: Source, synthetic: SyntheticTable) -> Comparison:
    """Compare the sensitive table (from `sfumato.read`) with a synthetic one, column by column and pair by pair."""
    arguments.instance("real", real, Table, "a table from sfumato.read(...)")
    question = synthetic.question
    columns = question.levels
    held, made = _gathered(question.answer(real).batches(), columns), question.indices(synthetic.rows)
    groups = [[coarse(column.levels(side[column.name]), column) for side in (held, made)] for column in columns]
    names = [column.name for column in columns]
    pairs = {
        (names[a], names[b]): _variation(
            _joint(groups[a][0], groups[b][0]), _joint(groups[a][1], groups[b][1]), (COARSE + 1) ** 2
        )
        for a in range(len(columns))
        for b in range(a + 1, len(columns))
    }
    numbers = [column for column in columns if column.ordered]
    return Comparison(
        columns={name: _variation(sides[0], sides[1], COARSE + 1) for name, sides in zip(names, groups, strict=True)},
        pairs=pairs,
        correlations=_correlations(numbers, held, made),
        smooth=_smooth(numbers, held, made),
        shares={
            name: (_shares(sides[0], COARSE + 1), _shares(sides[1], COARSE + 1))
            for name, sides in zip(names, groups, strict=True)
        },
    )


def coarse_shares(synthetic: SyntheticTable) -> dict[str, Reals]:
    """The shares of coarse public groups of every column of a synthetic table; the last is missing values."""
    columns, indices = synthetic.question.levels, synthetic.question.indices(synthetic.rows)
    levels = {column.name: column.levels(indices[column.name]) for column in columns}
    return {column.name: _shares(coarse(levels[column.name], column), COARSE + 1) for column in columns}


def _gathered(batches: Iterable[Mapping[str, Any]], columns: tuple[Column, ...]) -> dict[str, Any]:
    parts: dict[str, list[Any]] = {column.name: [np.zeros(0, dtype=np.int64)] for column in columns}
    for batch in batches:
        for name, kept in parts.items():
            kept.append(np.asarray(batch[name], dtype=np.int64))
    return {name: np.concatenate(kept) for name, kept in parts.items()}


def _joint(one: Levels, other: Levels) -> Levels:
    return one * (COARSE + 1) + other


def _shares(cells: Levels, size: int) -> Reals:
    counts = np.bincount(cells, minlength=size).astype(np.float64)
    return counts / max(1, len(cells))


def _variation(one: Levels, other: Levels, size: int) -> float:
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


def _correlation(one: Levels, other: Levels) -> float:
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
