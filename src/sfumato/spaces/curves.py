"""Functions seen at public points: records that are curves."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import numpy.typing as npt

from sfumato.errors import ParameterError
from sfumato.spaces import codes
from sfumato.spaces.forms import Points
from sfumato.spaces.lattice import Lattice, entries_of
from sfumato.spaces.space import Space

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["Curves"]


@dataclass(frozen=True, slots=True)
class Curves(Space):
    """Curves with values from `low` to `high` on a lattice at public `points`, under the root mean square distance.

    The mean is over the points.  Coercion: values clip; missing ones (None, NaN, codes in `na`) lie on straight lines
    between the others, level beyond the ends; a curve with more than half of its values missing, or of another length,
    is missing.

    >>> day = Curves(points=(0, 6, 12, 18), low=0, high=10, step=0.5)
    >>> day.coerce([1, None, 3, 99]).tolist(), day.diameter
    ([1.0, 2.0, 3.0, 10.0], 10.0)
    """

    points: tuple[float, ...]
    low: float
    high: float
    step: float | None = field(default=None, compare=False)  # the lattice is compared
    na: tuple[codes.Code, ...] = field(default=(), kw_only=True)
    entries: Lattice = field(init=False, repr=False)

    kind: ClassVar[str] = "curves"
    needed: ClassVar[tuple[str, ...]] = ("points", "low", "high")

    def __post_init__(self) -> None:
        points = _numbers(self.points)
        if len(points) < 2 or not all(map(math.isfinite, points)):
            raise ParameterError(f"points must be at least two finite numbers, got {self.points!r:.80}")
        if any(not a < b for a, b in itertools.pairwise(points)):
            raise ParameterError("points must be increasing and distinct; sort them and name each once")
        object.__setattr__(self, "points", points)
        object.__setattr__(self, "na", codes.checked(self.na))
        object.__setattr__(self, "entries", Lattice.between(self.low, self.high, self.step))

    @property
    def diameter(self) -> float:
        """The largest distance: that of the two constant curves at the bounds."""
        return self.entries.value(self.entries.width)

    def distance(self, one: npt.ArrayLike, other: npt.ArrayLike) -> float:
        """The root mean square of the differences."""
        gap = np.asarray(one, dtype=float) - np.asarray(other, dtype=float)
        return math.sqrt(float((gap**2).mean()))

    def coerce(self, value: object) -> npt.NDArray[np.float64] | None:
        """The curve on the lattice that stands for `value`, or None if it is missing."""
        try:
            listed: Iterable[Any] = value  # type: ignore[assignment]  # what is no list is found out here
            values = np.array([math.nan if entry is None else entry for entry in listed], dtype=float)
        except (TypeError, ValueError, OverflowError):
            return None
        if values.shape != (len(self.points),):
            return None
        values[np.isin(values, codes.numbers_of(self.na))] = math.nan
        held = ~np.isnan(values)
        if 2 * held.sum() < held.size:
            return None
        inside = np.clip(values, self.entries.low_value, self.entries.high_value)
        filled = np.interp(self.points, np.array(self.points)[held], inside[held])
        return self.entries.values([self.entries.index(entry) for entry in filled.tolist()])

    def to_record(self) -> dict[str, Any]:
        """Plain values, for plans and releases."""
        return {
            "type": "curves",
            "points": list(self.points),
            "low": self.low,
            "high": self.high,
            "step": float(self.entries.step),
            **codes.in_record(self.na),
        }

    @property
    def form(self) -> Points:
        """Lists of numbers."""
        return Points(self.points, self.entries, codes.numbers_of(self.na))

    @property
    def curve(self) -> Points:
        """The points, and the values there."""
        return self.form

    def places(self, values: pa.ChunkedArray) -> npt.NDArray[np.int64]:
        """The lattice indices of published curves above the lower bound, a row each."""
        held = np.array(values.to_pylist(), dtype=np.float64).reshape(-1, len(self.points))
        return np.asarray(np.rint(held / float(self.entries.step)), dtype=np.int64) - self.entries.low

    def examples(self) -> tuple[Any, Any, Any, Any]:
        """Curves at the lower bound, at the upper, between them in turn, and rising."""
        return entries_of(self.entries, len(self.points))

    def arrow(self) -> pa.DataType:
        """Lists of numbers."""
        import pyarrow as pa

        return pa.list_(pa.float64())


def _numbers(points: Iterable[float]) -> tuple[float, ...]:
    """The points as numbers; none where they are no list of numbers."""
    try:
        return () if isinstance(points, str) else tuple(float(point) for point in points)
    except (TypeError, ValueError, OverflowError):
        return ()
