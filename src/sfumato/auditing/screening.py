"""A first look at many pairs: cheap statistics of all columns at once, to rank pairs for the real search."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from sfumato.auditing.features import ABSENT, FeatureMap, learn

__all__ = ["Screen"]

POOL = 500  # outputs from which the common feature map is learned
COLUMNS = 96
CAUTION = 1.5


class Screen:
    """Feature matrices of all inputs under one map, and the merit of any pair of them."""

    @np.errstate(all="ignore")
    def __init__(self, samples: Mapping[int, Sequence[Any]], bits: bool, seconds: float) -> None:
        each = max(2, POOL // max(len(samples), 1))
        pooled = [outputs[:each] for outputs in samples.values()]
        start = time.perf_counter()
        full = learn(pooled, None, bits)
        cost = (time.perf_counter() - start) / (2 * sum(map(len, pooled)))
        self.rows = int(min(4000.0, max(12.0, seconds / cost / max(len(samples), 1))))
        keep = full.derived[: max(0, COLUMNS - len(full.names))]
        self.features = FeatureMap(full.names[:COLUMNS], full.shape, keep, None)
        if full.shape is not None and len(full.names) > COLUMNS:
            self.features = full
        self.tables = {key: self._table(outputs) for key, outputs in samples.items()}

    def _table(self, outputs: Sequence[Any]) -> np.ndarray:
        table = self.features.matrix(outputs[: self.rows])[:, : 2 * COLUMNS]
        table = np.where(table == ABSENT, -1e305, table)
        return np.asarray(np.nan_to_num(table, nan=1e305, posinf=1e304, neginf=-1e304))

    @np.errstate(all="ignore")
    def merit(self, one: int, two: int, points: tuple[tuple[float, float], ...]) -> float:
        """The most that one threshold, one atom or the sum of all columns shows, in either direction."""
        a, b = self.tables[one], self.tables[two]
        n = min(len(a), len(b))
        a, b = a[:n], b[:n]
        rates = [_tails(a, b), _tails(-a, -b), _atoms(a, b), _joint(a, b)]
        best = -math.inf
        for p, q in rates:
            for x, y in ((p, q), (q, p)):
                best = max(best, max(_merit(x, y, n, *point) for point in points))
        return best


def _tails(a: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Rates above a few pooled quantiles of every column."""
    pooled = np.sort(np.concatenate([a, b]), axis=0)
    ranks = np.unique((len(pooled) * np.array([0.1, 0.25, 0.4, 0.5, 0.6, 0.75, 0.9, 0.97])).astype(int))
    cuts = pooled[ranks]
    return (a[None] >= cuts[:, None]).mean(axis=1), (b[None] >= cuts[:, None]).mean(axis=1)


def _atoms(a: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Rates of the median values as atoms."""
    values = np.stack([np.sort(a, axis=0)[len(a) // 2], np.sort(b, axis=0)[len(b) // 2], a[0]])
    return (a[None] == values[:, None]).mean(axis=1), (b[None] == values[:, None]).mean(axis=1)


def _joint(a: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Rates above the middle of the diagonal discriminant, fitted on half of the runs."""
    if a.shape[1] == 1:
        return np.zeros(1), np.zeros(1)
    half = len(a) // 2
    low, high = np.quantile(np.concatenate([a[:half], b[:half]]), (0.02, 0.98), axis=0)
    x, y = np.clip(a, low, high), np.clip(b, low, high)
    with np.errstate(all="ignore"):
        spread = (np.var(x[:half], axis=0) + np.var(y[:half], axis=0)) / 2
        weights = (x[:half].mean(0) - y[:half].mean(0)) / np.where(spread > 0, spread, np.inf)
        weights = np.nan_to_num(weights, nan=0.0, posinf=0.0, neginf=0.0)
        s, t = x[half:] @ weights, y[half:] @ weights
    cuts = np.quantile(np.concatenate([s, t]), (0.25, 0.5, 0.75))
    return (s >= cuts[:, None]).mean(axis=1), (t >= cuts[:, None]).mean(axis=1)


def _merit(p: np.ndarray, q: np.ndarray, n: int, epsilon: float, delta: float) -> float:
    """As in the search: standard deviations of one pair of runs above 0, missing epsilon below."""
    low = np.maximum(p - CAUTION * (np.sqrt(p * (1 - p) / n) + 0.5 / n), 0.0)
    high = np.minimum(q + CAUTION * (np.sqrt(q * (1 - q) / n) + 0.5 / n), 1.0)
    factor = math.exp(epsilon)
    gap = low - factor * high - delta
    spread = np.sqrt(low * (1 - low) + factor**2 * high * (1 - high)) + 1e-9
    short = np.where(low > delta, np.log(np.maximum(low - delta, 1e-12) / high) - epsilon, -50.0)
    return float(np.max(np.where(gap > 0, gap / spread, np.clip(short, -50.0, 0.0) - 1e-9)))
