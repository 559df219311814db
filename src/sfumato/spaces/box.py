"""Arrays with bounded entries: vectors, images, short films."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from sfumato import arguments
from sfumato.errors import ParameterError
from sfumato.spaces import codes
from sfumato.spaces.lattice import Lattice

__all__ = ["Box"]

NORMS = ("l1", "l2", "linf")


@dataclass(frozen=True, slots=True)
class Box:
    """Arrays of a public `shape` with entries from `low` to `high` on a lattice, under an l_p metric.

    Coercion: entries clip; NaN entries, and codes in `na`, take the middle of the range; an array of another shape, or
    what is not an array of numbers, is missing.

    >>> gray = Box(0, 255, shape=(2, 2), step=1, norm="linf")
    >>> gray.coerce([[0, 300], [float("nan"), -5]]).tolist(), gray.diameter
    ([[0.0, 255.0], [127.0, 0.0]], 255.0)
    """

    low: float
    high: float
    shape: tuple[int, ...]
    step: float | None = field(default=None, compare=False)  # the lattice is compared
    norm: str = "l2"
    na: tuple[codes.Code, ...] = field(default=(), kw_only=True)
    lattice: Lattice = field(init=False, repr=False)

    def __post_init__(self) -> None:
        shape = (self.shape,) if isinstance(self.shape, int) else arguments.several("shape", self.shape)
        if not shape or any(not isinstance(side, int) or side < 1 for side in shape):
            raise ParameterError(f"shape must hold whole numbers of at least 1, got {self.shape!r}")
        if self.norm not in NORMS:
            raise ParameterError(f"norm must be one of {', '.join(NORMS)}, got {self.norm!r}")
        object.__setattr__(self, "shape", shape)
        object.__setattr__(self, "na", codes.checked(self.na))
        object.__setattr__(self, "lattice", Lattice.between(self.low, self.high, self.step))

    @property
    def dimension(self) -> int:
        """The number of entries."""
        return math.prod(self.shape)

    @property
    def diameter(self) -> float:
        """The largest distance."""
        side = self.lattice.value(self.lattice.width)
        return side * {"l1": float(self.dimension), "l2": math.sqrt(self.dimension), "linf": 1.0}[self.norm]

    def distance(self, one: npt.ArrayLike, other: npt.ArrayLike) -> float:
        """The norm of the difference."""
        gap = np.abs(np.asarray(one, dtype=float) - np.asarray(other, dtype=float))
        return float({"l1": gap.sum(), "l2": math.sqrt(float((gap**2).sum())), "linf": gap.max()}[self.norm])

    def coerce(self, value: Any) -> npt.NDArray[np.float64] | None:
        """The array on the lattice that stands for `value`, or None if it is missing."""
        try:
            array = np.array(value, dtype=float)
        except (TypeError, ValueError, OverflowError):
            return None
        if array.shape != self.shape:
            return None
        array[np.isin(array, codes.numbers_of(self.na))] = math.nan
        middle = (self.lattice.low + self.lattice.high) // 2
        indices = [middle if math.isnan(entry) else self.lattice.index(entry) for entry in array.flat]
        return self.lattice.values(indices).reshape(self.shape)

    def to_record(self) -> dict[str, Any]:
        """Plain values, for plans and releases."""
        return {
            "type": "box",
            "low": self.low,
            "high": self.high,
            "shape": list(self.shape),
            "step": float(self.lattice.step),
            "norm": self.norm,
            **codes.in_record(self.na),
        }
