"""Orthonormal waves on an interval, under dx / (high - low): the axes that curves are written on."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from sfumato.errors import ParameterError

__all__ = ["Axis", "Cosine", "Floats", "Fourier", "axis_from"]

Floats = npt.NDArray[np.float64]
ROOT = math.sqrt(2)


@dataclass(frozen=True, slots=True)
class Fourier:
    """1 and, for each wave k, sqrt(2) cos and sqrt(2) sin of 2 pi k (x - low) / (high - low): the circle.

    >>> Fourier(0.0, 4.0, (1,)).values(np.array([0.0, 1.0])).round(3).tolist()
    [[1.0, 1.414, 0.0], [1.0, 0.0, 1.414]]
    """

    low: float
    high: float
    waves: tuple[int, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "waves", _checked(self.low, self.high, self.waves))

    @property
    def size(self) -> int:
        """The number of functions."""
        return 1 + 2 * len(self.waves)

    @property
    def frequencies(self) -> Floats:
        """The wave number of each function."""
        return np.concatenate([[0.0], np.repeat(np.array(self.waves, dtype=np.float64), 2)])

    @property
    def turns(self) -> int:
        """The degree as a trigonometric polynomial over one period."""
        return max(self.waves, default=0)

    @property
    def span(self) -> float:
        """The share of a period that the interval fills."""
        return 1.0

    def values(self, points: npt.ArrayLike) -> Floats:
        """A row for each point."""
        angles = _angles(points, self.low, 2 * math.pi / (self.high - self.low), self.waves)
        out = np.empty((len(angles), self.size))
        out[:, 0] = 1.0
        np.cos(angles, out=out[:, 1::2])
        np.sin(angles, out=out[:, 2::2])
        out[:, 1:] *= ROOT
        return out

    def squares(self, steps: int) -> Floats:
        """The mean square of each function over steps + 1 equally spaced points, the ends among them.

        Over the circle each has 1 wherever fewer than steps / 2 waves go round; one end is then counted twice.
        """
        each = np.tile([(steps + 2) / (steps + 1), steps / (steps + 1)], len(self.waves))
        return np.concatenate([[1.0], each])

    def integrals(self, points: npt.ArrayLike) -> Floats:
        """A row for each point x: the integrals from `low` to x."""
        x = np.asarray(points, dtype=np.float64).reshape(-1)
        rate = 2 * math.pi / (self.high - self.low)
        angles = _angles(x, self.low, rate, self.waves)
        each = ROOT / (rate * np.array(self.waves, dtype=np.float64))
        return _interleaved(x - self.low, np.sin(angles) * each, (1 - np.cos(angles)) * each)

    def to_record(self) -> dict[str, Any]:
        """Plain values."""
        return {"axis": "fourier", "low": self.low, "high": self.high, "waves": list(self.waves)}


@dataclass(frozen=True, slots=True)
class Cosine:
    """1 and, for each wave k, sqrt(2) cos of pi k (x - low) / (high - low): no jump where the ends differ."""

    low: float
    high: float
    waves: tuple[int, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "waves", _checked(self.low, self.high, self.waves))

    @property
    def size(self) -> int:
        """The number of functions."""
        return 1 + len(self.waves)

    @property
    def frequencies(self) -> Floats:
        """The wave number of each function, in turns of the interval."""
        return np.concatenate([[0.0], np.array(self.waves, dtype=np.float64) / 2])

    @property
    def turns(self) -> int:
        """The degree as a trigonometric polynomial over one period, which is twice the interval."""
        return max(self.waves, default=0)

    @property
    def span(self) -> float:
        """The share of a period that the interval fills."""
        return 0.5

    def values(self, points: npt.ArrayLike) -> Floats:
        """A row for each point."""
        angles = _angles(points, self.low, math.pi / (self.high - self.low), self.waves)
        return np.concatenate([np.ones((len(angles), 1)), ROOT * np.cos(angles)], axis=1)

    def squares(self, steps: int) -> Floats:
        """The mean square of each function over steps + 1 equally spaced points, the ends among them.

        Between two ends a wave of fewer than `steps` half turns has 1, an end counting half; here both count whole.
        """
        return np.concatenate([[1.0], np.full(len(self.waves), (steps + 2) / (steps + 1))])

    def integrals(self, points: npt.ArrayLike) -> Floats:
        """A row for each point x: the integrals from `low` to x."""
        x = np.asarray(points, dtype=np.float64).reshape(-1)
        rate = math.pi / (self.high - self.low)
        angles = _angles(x, self.low, rate, self.waves)
        return np.concatenate([(x - self.low)[:, None], ROOT * np.sin(angles) / (rate * np.array(self.waves))], axis=1)

    def to_record(self) -> dict[str, Any]:
        """Plain values."""
        return {"axis": "cosine", "low": self.low, "high": self.high, "waves": list(self.waves)}


Axis = Fourier | Cosine
AXES: dict[str, type[Fourier] | type[Cosine]] = {"fourier": Fourier, "cosine": Cosine}


def axis_from(record: dict[str, Any]) -> Axis:
    """The axis that `to_record` wrote."""
    return AXES[record["axis"]](record["low"], record["high"], tuple(record["waves"]))


def _checked(low: float, high: float, waves: Iterable[int]) -> tuple[int, ...]:
    if not (math.isfinite(low) and math.isfinite(high) and low < high):
        raise ParameterError(f"an axis needs finite ends with low < high, got {low!r} and {high!r}")
    chosen = tuple(int(wave) for wave in waves)
    if any(wave < 1 for wave in chosen) or sorted(set(chosen)) != list(chosen):
        raise ParameterError("waves must be whole numbers of at least 1, increasing and distinct")
    return chosen


def _angles(points: npt.ArrayLike, low: float, rate: float, waves: tuple[int, ...]) -> Floats:
    x = np.asarray(points, dtype=np.float64).reshape(-1)
    return np.asarray(((x - low) * rate)[:, None] * np.array(waves, dtype=np.float64))


def _interleaved(first: Floats, even: Floats, odd: Floats) -> Floats:
    out = np.empty((len(first), 1 + 2 * even.shape[1]))
    out[:, 0], out[:, 1::2], out[:, 2::2] = first, even, odd
    return out
