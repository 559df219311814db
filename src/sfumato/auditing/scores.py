"""Scores that tell two inputs apart: a column, a sum of log-ratios over bins, a linear function.

Each maps a feature matrix to one number per output; an event is a score at or above a threshold.
`Bayes` over one column is a likelihood-ratio set of atoms and bins; over all columns it is the
optimal test for independent noise.  `Linear` is Fisher's discriminant, sharpened by a few steps of
logistic regression; a direction in which noise cancels stands out in it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import expit

from sfumato.auditing.features import ABSENT

__all__ = ["Bayes", "ColumnScore", "LinearScore", "Score", "bayes", "linear", "together"]


@dataclass(frozen=True)
class ColumnScore:
    """One feature, or its negative."""

    place: int
    sign: int

    def __call__(self, table: np.ndarray) -> np.ndarray:
        column = table[:, self.place]
        return np.where((column == ABSENT) | np.isnan(column), -np.inf, self.sign * column)


@dataclass(frozen=True)
class Bayes:
    """The sum over columns of the log-ratio of the bin (or atom) into which the value falls."""

    places: tuple[int, ...]
    atoms: tuple[tuple[float, ...], ...]
    edges: tuple[tuple[float, ...], ...]
    ratios: tuple[tuple[float, ...], ...]

    def __call__(self, table: np.ndarray) -> np.ndarray:
        total = np.zeros(len(table))
        for place, atoms, edges, ratios in zip(self.places, self.atoms, self.edges, self.ratios, strict=True):
            cells = _cells(table[:, place], np.array(atoms), np.array(edges))
            total += np.array(ratios)[cells]
        return total


@dataclass(frozen=True)
class LinearScore:
    """A weighted sum of standardized columns."""

    places: tuple[int, ...]
    center: tuple[float, ...]
    weights: tuple[float, ...]

    def __call__(self, table: np.ndarray) -> np.ndarray:
        part = _tame(table[:, self.places], np.array(self.center))
        return np.asarray(part @ np.array(self.weights))


Score = ColumnScore | Bayes | LinearScore


def _cells(column: np.ndarray, atoms: np.ndarray, edges: np.ndarray) -> np.ndarray:
    """The cell of each value: bins first, then atoms, then one for NaN."""
    cells = np.searchsorted(edges, column, side="right")
    if len(atoms):
        near = np.minimum(np.searchsorted(atoms, column), len(atoms) - 1)
        cells = np.where(atoms[near] == column, len(edges) + 1 + near, cells)
    return np.where(np.isnan(column), len(edges) + 1 + len(atoms), cells)


def bayes(first: np.ndarray, second: np.ndarray, places: tuple[int, ...]) -> Bayes:
    """Log-ratios of `first` against `second`, column by column."""
    atoms, edges, ratios = [], [], []
    for place in places:
        a, b = first[:, place], second[:, place]
        pooled = np.concatenate([a, b])
        pooled = pooled[~np.isnan(pooled)]
        values, times = np.unique(pooled, return_counts=True)
        common = times >= max(3, 0.004 * len(pooled))
        kept = values[common][np.argsort(-times[common])[:128]]
        atom = np.sort(kept)
        rest = np.sort(pooled[~np.isin(pooled, atom)])
        bins = int(min(48, max(2, len(rest) / 40)))
        edge = np.unique(rest[(np.arange(1, bins) * len(rest)) // bins]) if len(rest) > bins else rest[:0]
        cells = len(edge) + len(atom) + 2
        hits = np.bincount(_cells(a, atom, edge), minlength=cells)
        misses = np.bincount(_cells(b, atom, edge), minlength=cells)
        ratio = np.log((hits + 0.5) / len(a)) - np.log((misses + 0.5) / len(b))
        atoms.append(tuple(atom.tolist()))
        edges.append(tuple(edge.tolist()))
        ratios.append(tuple(ratio.tolist()))
    return Bayes(places, tuple(atoms), tuple(edges), tuple(ratios))


def together(scores: Sequence[Bayes]) -> Bayes:
    """The sum of binned scores."""
    return Bayes(
        tuple(place for score in scores for place in score.places),
        tuple(atoms for score in scores for atoms in score.atoms),
        tuple(edges for score in scores for edges in score.edges),
        tuple(ratios for score in scores for ratios in score.ratios),
    )


def _tame(part: np.ndarray, center: np.ndarray) -> np.ndarray:
    """Finite columns around their center: what is absent or not a number sits at the center."""
    shifted = np.where((part == ABSENT) | np.isnan(part), 0.0, np.clip(part, -1e150, 1e150) - center)
    return np.asarray(shifted)


def linear(first: np.ndarray, second: np.ndarray, places: tuple[int, ...]) -> LinearScore | None:
    """Fisher's discriminant with three Newton steps of logistic regression; None if degenerate."""
    center = np.median(np.vstack([first[:, places], second[:, places]]), axis=0)
    center = np.where(np.isfinite(center) & (center != ABSENT), np.clip(center, -1e150, 1e150), 0.0)
    a, b = _tame(first[:, places], center), _tame(second[:, places], center)
    pooled = np.vstack([a, b])
    scale = np.quantile(np.abs(pooled), 0.9, axis=0)
    scale = np.where(scale > 0, scale, np.maximum(np.abs(pooled).max(axis=0), 1e-300))
    a, b = np.clip(a / scale, -20, 20), np.clip(b / scale, -20, 20)
    spread = (np.cov(a, rowvar=False) + np.cov(b, rowvar=False)).reshape(len(places), -1) / 2
    ridge = 1e-12 * (np.trace(spread) / len(places)) + 1e-18
    try:
        weights = np.linalg.solve(spread + ridge * np.eye(len(places)), a.mean(0) - b.mean(0))
    except np.linalg.LinAlgError:
        return None
    if not np.all(np.isfinite(weights)) or not np.any(weights):
        return None
    refined = _logistic(np.vstack([a, b]), len(a), weights) if np.linalg.cond(spread) < 1e6 else weights
    return LinearScore(places, tuple(center.tolist()), tuple((refined / scale).tolist()))


def _logistic(rows: np.ndarray, ones: int, weights: np.ndarray) -> np.ndarray:
    rows = np.column_stack([rows, np.ones(len(rows))])
    labels = np.arange(len(rows)) < ones
    middle = (rows[:ones, :-1].mean(0) + rows[ones:, :-1].mean(0)) / 2
    beta = np.append(weights, -weights @ middle)
    for _ in range(3):
        chance = expit(np.clip(rows @ beta, -30, 30))
        slope = rows.T @ (labels - chance) - 1e-3 * beta
        bend = (rows * (chance * (1 - chance))[:, None]).T @ rows + 1e-3 * np.eye(len(beta))
        beta = beta + np.linalg.solve(bend, slope)
    return beta[:-1] if np.all(np.isfinite(beta)) else weights
