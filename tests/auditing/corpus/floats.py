"""Rows 1 to 4: holes, trailing bits, floating sums, integer wraps."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from corpus.case import Case, clip, laplace
from sfumato.privacy.guarantees import Pure


def holes(data: list[float], rng: Any) -> float:
    """Double-precision Laplace by inversion."""
    u = rng.random() - 0.5
    return len(data) - math.copysign(1.0, u) * math.log(1 - 2 * abs(u))


def whole(data: list[float], rng: Any) -> float:
    """Geometric noise on whole numbers."""
    p = 1 - math.exp(-1)
    return float(len(data) + rng.geometric(p) - rng.geometric(p))


def low_bits(data: list[float], rng: Any) -> float:
    """Gaussian-exact noise, but added in floating point: the low bits show the size of the sum."""
    return sum(clip(x, 0.0, 2.0**30) for x in data) + rng.laplace(0.0, 2.0**30)


def no_bits(data: list[float], rng: Any) -> float:
    """The same, rounded to a grid that does not depend on the sum."""
    return round(sum(clip(x, 0.0, 2.0**30) for x in data) + rng.laplace(0.0, 2.0**30)) * 1.0


def half_precision_sum(data: list[float], rng: Any) -> float:
    """A sum in half precision: past 2048 small terms vanish, so the order matters."""
    values = np.array([clip(x, 0.0, 1.0) for x in data], dtype=np.float16)
    total = float(np.add.accumulate(values, dtype=np.float16)[-1]) if len(values) else 0.0
    return laplace(total, 1.0, rng)


def exact_sum(data: list[float], rng: Any) -> float:
    """A sum of whole units of 2^-20."""
    units = sum(round(clip(x, 0.0, 1.0) * 2**20) for x in data)
    return laplace(units / 2**20, 1.0, rng)


def wraps(data: list[int], rng: Any) -> float:
    """A sum of values up to 1000 in 16 bits: past 32 rows it wraps."""
    values = np.array([int(clip(x, 0, 1000)) for x in data], dtype=np.int16)
    return laplace(float(values.sum(dtype=np.int16)), 1000.0, rng)


def wide(data: list[int], rng: Any) -> float:
    """The same in whole numbers without an end."""
    return laplace(float(sum(int(clip(x, 0, 1000)) for x in data)), 1000.0, rng)


def type_maximum(data: np.ndarray, rng: Any) -> float:
    """The absolute value of the least 32-bit integer is negative, so it slips below the clamp."""
    return laplace(float(np.minimum(np.abs(data), 100).sum(dtype=np.int64)), 100.0, rng)


def type_safe(data: np.ndarray, rng: Any) -> float:
    """Widened first."""
    return laplace(float(np.minimum(np.abs(data.astype(np.int64)), 100).sum()), 100.0, rng)


ROWS = [1.0] * 1024 + [0.5] * 2048
CASES = [
    Case("Laplace with holes", 1, holes, whole, Pure(1.0)),
    Case("low bits of a float sum", 2, low_bits, no_bits, Pure(1.0)),
    Case("order of a float sum", 3, half_precision_sum, exact_sum, Pure(1.0), {"inputs": ROWS}),
    Case("sum wraps at 16 bits", 4, wraps, wide, Pure(1.0), {"inputs": [3, 400]}),
    Case("least integer", 4, type_maximum, type_safe, Pure(1.0), {"inputs": np.array([3, 50], dtype=np.int32)}),
]
