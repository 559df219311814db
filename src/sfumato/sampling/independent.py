"""Independent coordinates of one law: the joint quantile from that of a single one."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

from sfumato.randomness import Rng

__all__ = ["Independent", "Single", "joint_quantile"]


class Single(Protocol):
    """A law of noise on the integers."""

    def quantile(self, beta: float) -> int:
        """The least t with P(|Z| > t) <= beta."""

    @property
    def variance(self) -> float:
        """E Z^2."""

    @property
    def mean_absolute(self) -> float:
        """E |Z|."""

    def sample(self, shape: int | tuple[int, ...], rng: Rng) -> npt.NDArray[np.int64]:
        """Independent draws."""


@dataclass(frozen=True, slots=True)
class Independent:
    """Independent draws of one law on each coordinate."""

    single: Single
    dimension: int

    @property
    def variance(self) -> float:
        """That of each coordinate."""
        return self.single.variance

    def quantile(self, beta: float) -> int:
        """Joint over the coordinates."""
        return joint_quantile(self.single, self.dimension, beta)

    def sample(self, count: int, rng: Rng) -> npt.NDArray[np.int64]:
        """So many vectors, one a row."""
        return np.asarray(self.single.sample((count, self.dimension), rng))


def joint_quantile(law: Single, dimension: int, beta: float) -> int:
    """The least t such that all of `dimension` independent draws stay within t, but for `beta`."""
    return law.quantile(-math.expm1(math.log1p(-beta) / dimension))
