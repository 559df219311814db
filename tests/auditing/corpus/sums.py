"""Rows 6 to 12, 16, 17: sensitivities, budgets, clamps, bounds, missing values, normalizers."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np

from corpus.case import Case, clip, laplace
from sfumato.privacy.guarantees import Pure


def lower_twice(data: list[float], rng: Any) -> float:
    """Sensitivity from the lower bound twice: 0 for bounds [0, 5]."""
    low, high = 0.0, 5.0
    sensitivity = max(abs(low), abs(low))
    return laplace(sum(clip(x, low, high) for x in data), sensitivity, rng)


def both_bounds(data: list[float], rng: Any) -> float:
    """Sensitivity from both bounds."""
    low, high = 0.0, 5.0
    return laplace(sum(clip(x, low, high) for x in data), max(abs(low), abs(high)), rng)


def integer_division(data: list[float], rng: Any) -> float:
    """Half the width 5 by integer division."""
    return laplace(sum(clip(x, 0, 5) - 2.5 for x in data), 5 // 2, rng)


def true_division(data: list[float], rng: Any) -> float:
    """Half the width."""
    return laplace(sum(clip(x, 0, 5) - 2.5 for x in data), 5 / 2, rng)


def twice_spent(data: list[float], rng: Any) -> tuple[float, float]:
    """Sum and count, each with all of epsilon."""
    return laplace(sum(clip(x, 0, 1) for x in data), 1.0, rng), laplace(len(data), 1.0, rng)


def once_spent(data: list[float], rng: Any) -> tuple[float, float]:
    """Sum and count, each with half."""
    return laplace(sum(clip(x, 0, 1) for x in data), 2.0, rng), laplace(len(data), 2.0, rng)


def unused_copy(data: list[float], rng: Any) -> float:
    """The clipped copy is made and forgotten."""
    _ = [clip(x, 0, 1) for x in data]
    return laplace(float(np.clip(np.nansum(np.nan_to_num(data)), -1e15, 1e15)), 1.0, rng)


def used_copy(data: list[float], rng: Any) -> float:
    """The clipped copy is summed."""
    return laplace(sum(clip(x, 0, 1) for x in data), 1.0, rng)


def clamp_then_square(data: list[float], rng: Any) -> float:
    """Clamped to [0, 3], then squared, with the noise of the clamp."""
    return laplace(sum(clip(x, 0, 3) ** 2 for x in data), 3.0, rng)


def square_then_clamp(data: list[float], rng: Any) -> float:
    """The expression is clamped."""
    return laplace(sum(clip(clip(x, -1e9, 1e9) ** 2, 0, 3) for x in data), 3.0, rng)


def missing_bound(data: list[float], rng: Any, bounds: tuple[float, float] | None = None) -> float:
    """Without bounds, no noise."""
    scale = 0.0 if bounds is None else bounds[1] - bounds[0]
    return laplace(sum(clip(x, 0, 10) for x in data), scale, rng)


def declared_bound(data: list[float], rng: Any) -> float:
    """Bounds are there."""
    return laplace(sum(clip(x, 0, 10) for x in data), 10.0, rng)


def bounds_from_data(data: list[float], rng: Any) -> float:
    """The noise follows the largest magnitude."""
    finite = [clip(x, -1e6, 1e6) for x in data]
    largest = max((abs(x) for x in finite), default=0.0)
    return laplace(sum(finite), largest, rng)


def bounds_declared(data: list[float], rng: Any) -> float:
    """The noise follows the declared bound."""
    return laplace(sum(clip(x, -1e6, 1e6) for x in data), 1e6, rng)


def categories_from_data(data: list[str], rng: Any) -> dict[str, float]:
    """One noisy count for each category that occurs."""
    return {key: laplace(count, 1.0, rng) for key, count in sorted(Counter(data).items())}


def categories_declared(data: list[str], rng: Any) -> dict[str, float]:
    """One noisy count for each declared category."""
    counts = Counter(data)
    return {key: laplace(counts[key], 1.0, rng) for key in ("a", "b", "c")}


def nan_clamp(data: list[float], rng: Any) -> float:
    """np.clip lets NaN through."""
    return laplace_array(float(np.sum(np.clip(np.array(data, dtype=float), 0, 1))), rng)


def nan_mean(data: np.ndarray, rng: Any) -> float:
    """One NaN makes the mean of a public number of rows the prior, without noise."""
    total = float(np.sum(np.minimum(np.maximum(data, 0), 1)))
    return 0.5 if np.isnan(total) else laplace(total / 10, 0.1, rng)


def nan_safe(data: np.ndarray, rng: Any) -> float:
    """NaN becomes the lower bound."""
    return laplace(float(np.sum(np.clip(np.nan_to_num(data, nan=0.0), 0, 1))) / 10, 0.1, rng)


def laplace_array(total: float, rng: Any) -> float:
    """Noise that leaves NaN as it is."""
    return total if total != total else laplace(total, 1.0, rng)


def nulls_free(data: list[float | None], rng: Any) -> dict[str, float]:
    """A noisy sum, and the number of nulls as it is."""
    values = [x for x in data if x is not None]
    return {"sum": laplace(sum(clip(x, 0, 1) for x in values), 1.0, rng), "nulls": float(len(data) - len(values))}


def nulls_paid(data: list[float | None], rng: Any) -> dict[str, float]:
    """Each with half."""
    values = [x for x in data if x is not None]
    nulls = len(data) - len(values)
    return {"sum": laplace(sum(clip(x, 0, 1) for x in values), 2.0, rng), "nulls": laplace(nulls, 2.0, rng)}


def private_size(data: list[float], rng: Any) -> float:
    """Noise shrinks with the private number of rows."""
    size = max(len(data), 1)
    return laplace(sum(clip(x, 0, 1) for x in data) / size, 1.0 / size, rng)


def public_size(data: list[float], rng: Any) -> float:
    """Noise and mean use a public number."""
    return laplace(sum(clip(x, 0, 1) for x in data) / 10, 0.1, rng)


def clip_after_mean(data: np.ndarray, rng: Any) -> np.ndarray:
    """The mean gradient is clipped, not each of them."""
    rows = np.clip(np.nan_to_num(data), -1e9, 1e9)
    mean = rows.sum(axis=0) / 8
    mean = np.clip(mean, -1.0, 1.0)
    return np.round((mean + rng.laplace(0, 2 / 8, 2)) * 2**16) / 2**16


def clip_before_mean(data: np.ndarray, rng: Any) -> np.ndarray:
    """Each gradient is clipped: l1 sensitivity 2 / 8."""
    mean = np.clip(np.nan_to_num(data), -1.0, 1.0).sum(axis=0) / 8
    return np.round((mean + rng.laplace(0, 2 / 8, 2)) * 2**16) / 2**16


NULLS = {"inputs": [0.5, None, 1.0]}
WORDS = {"inputs": ["a", "b", "a", "c"]}
ARRAY = {"inputs": np.array([0.5, 0.25, 1.0])}
GRADIENTS = {"inputs": np.array([[0.5, -0.5], [0.25, 1.0], [0.0, 0.0]])}

CASES = [
    Case("lower bound used twice", 6, lower_twice, both_bounds, Pure(1.0)),
    Case("sensitivity by integer division", 7, integer_division, true_division, Pure(1.0)),
    Case("epsilon spent twice", 8, twice_spent, once_spent, Pure(1.0)),
    Case("clipped copy not used", 9, unused_copy, used_copy, Pure(1.0)),
    Case("clamped before the expression", 9, clamp_then_square, square_then_clamp, Pure(1.0), heavy=True),
    Case("missing bound, no noise", 10, missing_bound, declared_bound, Pure(1.0)),
    Case("bounds from the data", 11, bounds_from_data, bounds_declared, Pure(1.0)),
    Case("categories from the data", 11, categories_from_data, categories_declared, Pure(1.0), WORDS),
    Case("NaN passes the clamp", 12, nan_clamp, used_copy, Pure(1.0)),
    Case("NaN turns the noise off", 12, nan_mean, nan_safe, Pure(1.0), ARRAY),
    Case("nulls counted for free", 12, nulls_free, nulls_paid, Pure(1.0), NULLS, heavy=True),
    Case("noise by the private size", 16, private_size, public_size, Pure(1.0)),
    Case("clipped after averaging", 17, clip_after_mean, clip_before_mean, Pure(1.0), GRADIENTS),
]
