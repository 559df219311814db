"""Noise on a coarser grid than the answer: whatever its scale, it publishes the answer modulo the grid.

In each twin the answer lies on the grid of the noise, which covers what one row moves there.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from corpus.case import Case, clip
from sfumato.privacy.guarantees import Pure

REAL = frozenset({"real-arithmetic"})


@dataclass(frozen=True)
class Whole:
    """A sum of whole numbers in [0, 1000], with noise of this scale in steps of `grid`."""

    grid: int
    scale: float
    aligned: bool

    @property
    def name(self) -> str:
        return f"whole numbers, noise in steps of {self.grid}"

    def __call__(self, data: list[int], rng: Any) -> int:
        total = sum(int(clip(x, 0, 1000)) for x in data)
        noise = round(rng.laplace(0.0, self.scale))
        return (total // self.grid + noise) * self.grid if self.aligned else total + noise * self.grid


@dataclass(frozen=True)
class Real:
    """A sum of numbers in [0, 1], with Laplace noise rounded to a decimal grid."""

    grid: float
    aligned: bool

    @property
    def name(self) -> str:
        return f"floats, noise in steps of {self.grid}"

    def __call__(self, data: list[float], rng: Any) -> float:
        total = sum(clip(x, 0.0, 1.0) for x in data)
        noise = round(rng.laplace(0.0, 1.0 + 2 * self.grid) / self.grid)
        return (round(total / self.grid) + noise) * self.grid if self.aligned else total + noise * self.grid


def _whole(grid: int, scale: float, **options: Any) -> Case:
    faulty, correct = (Whole(grid, scale, aligned) for aligned in (False, True))
    return Case(faulty.name, 0, faulty, correct, Pure(1.0), {"inputs": [3, 400, 1000], **options})


def _real(grid: float, claim: Pure) -> Case:
    return Case(f"{Real(grid, False).name}", 0, Real(grid, False), Real(grid, True), claim, {"inputs": [0.25, 0.5]})


def _pairs(rng: np.random.Generator) -> list[tuple[list[int], list[int]]]:
    """Random whole numbers, and one more: 1, or anything."""
    base = rng.integers(0, 1000, 5).tolist()
    return [([*base, 1], base), ([*base, int(rng.integers(1, 1000))], base)]


RNG = np.random.default_rng(7)
CASES = [
    _whole(8, 1e6),
    _whole(2**61, 1e4),
    _real(0.01, Pure(1.0)),
    _real(0.001, Pure(1.0, assumptions=REAL)),
    *(_whole(grid, 2000.0, pairs=_pairs(RNG)) for grid in (3, 7, 10, 1000, *RNG.integers(11, 5000, 2).tolist())),
]
