"""Arrays with bounded entries: vectors, images, short films."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import numpy.typing as npt

from sfumato import arguments
from sfumato.errors import ParameterError
from sfumato.spaces import codes
from sfumato.spaces.forms import Entries
from sfumato.spaces.interval import Interval
from sfumato.spaces.lattice import Lattice, entries_of
from sfumato.spaces.space import Space

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["Box"]

NORMS = ("l1", "l2", "linf")


@dataclass(frozen=True, slots=True)
class Box(Space):
    """Arrays of a public `shape` with entries from `low` to `high` on a lattice, under an l_p metric.

    Coercion: entries clip; NaN entries, and codes in `na`, take the middle of the range; an array of another shape, or
    what is not an array of numbers, is missing.  One list of all entries, row after row, is read as well, and a text
    with them between commas or semicolons.  `x[0]` is the first entry of a column `x`, `x[0][2]` one of two axes.

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
    entries: Lattice = field(init=False, repr=False)

    kind: ClassVar[str] = "box"
    needed: ClassVar[tuple[str, ...]] = ("low", "high", "shape")

    def __post_init__(self) -> None:
        shape = (self.shape,) if isinstance(self.shape, int) else arguments.several("shape", self.shape)
        if not shape or any(not isinstance(side, int) or side < 1 for side in shape):
            raise ParameterError(f"shape must hold whole numbers of at least 1, got {self.shape!r}")
        if not isinstance(self.norm, str) or self.norm not in NORMS:
            raise ParameterError(f"norm must be one of {', '.join(NORMS)}, got {self.norm!r:.60}")
        object.__setattr__(self, "shape", shape)
        object.__setattr__(self, "na", codes.checked(self.na))
        object.__setattr__(self, "entries", Lattice.between(self.low, self.high, self.step))

    @property
    def dimension(self) -> int:
        """The number of entries."""
        return math.prod(self.shape)

    @property
    def diameter(self) -> float:
        """The largest distance."""
        side = self.entries.value(self.entries.width)
        return side * {"l1": float(self.dimension), "l2": math.sqrt(self.dimension), "linf": 1.0}[self.norm]

    def distance(self, one: npt.ArrayLike, other: npt.ArrayLike) -> float:
        """The norm of the difference."""
        gap = np.abs(np.asarray(one, dtype=float) - np.asarray(other, dtype=float))
        return float({"l1": gap.sum(), "l2": math.sqrt(float((gap**2).sum())), "linf": gap.max()}[self.norm])

    def coerce(self, value: object) -> npt.NDArray[np.float64] | None:
        """The array on the lattice that stands for `value`, or None if it is missing."""
        if isinstance(value, str):
            value = self.form.numbers_in(value)
        try:
            array = np.array(value, dtype=float)
        except (TypeError, ValueError, OverflowError):
            return None
        if array.shape not in (self.shape, (self.dimension,)):
            return None
        array[np.isin(array, codes.numbers_of(self.na))] = math.nan
        middle = (self.entries.low + self.entries.high) // 2
        indices = [middle if math.isnan(entry) else self.entries.index(entry) for entry in array.flat]
        return self.entries.values(indices).reshape(self.shape)

    @property
    def form(self) -> Entries:
        """Lists of numbers, or of lists of them."""
        return Entries(self.shape, self.entries, codes.numbers_of(self.na))

    @property
    def size(self) -> int:
        """The number of entries."""
        return self.dimension

    def entry(self, place: int) -> Interval | None:
        """Numbers between the bounds."""
        return Interval(self.low, self.high, float(self.entries.step)) if 0 <= place < self.size else None

    def place(self, indices: tuple[int, ...]) -> int | None:
        """The place of an entry, row after row."""
        inside = len(indices) == len(self.shape) and all(i < side for i, side in zip(indices, self.shape, strict=True))
        return int(np.ravel_multi_index(indices, self.shape)) if inside else None

    def named_entry(self, place: int) -> str:
        """An index for each axis."""
        return "".join(f"[{index}]" for index in np.unravel_index(place, self.shape))

    def to_record(self) -> dict[str, Any]:
        """Plain values, for plans and releases."""
        return {
            "type": "box",
            "low": self.low,
            "high": self.high,
            "shape": list(self.shape),
            "step": float(self.entries.step),
            "norm": self.norm,
            **codes.in_record(self.na),
        }

    @classmethod
    def drafted(cls, stored: str, blank: str) -> list[str] | None:
        """Lists of numbers, of a fixed length where the type says it, and lists of such lists."""
        if stored.startswith(("array<array<float", "array<array<int", "array<array<decimal")):
            return ['type = "box"', f'shape = ["{blank}", "{blank}"]', f'low = "{blank}"', f'high = "{blank}"']
        if not stored.startswith(("array<float", "array<decimal")):
            return None
        _, _, length = stored.removesuffix(">").rpartition(", ")
        shape = f"[{length}]" if length.isdigit() else f'["{blank}"]'
        kind = 'type = "box"               # or type = "curves" with points = [...], if they are points of one curve'
        return [kind, f"shape = {shape}", f'low = "{blank}"', f'high = "{blank}"']

    def examples(self) -> tuple[Any, Any, Any, Any]:
        """Arrays at the lower bound, at the upper, between them in turn, and rising."""
        low, high, turns, rising = (
            np.reshape(e, self.shape).tolist() for e in entries_of(self.entries, self.dimension)
        )
        return low, high, turns, rising

    def arrow(self) -> pa.DataType:
        """Lists of lists of numbers."""
        import pyarrow as pa

        kind = pa.float64()
        for _ in self.shape:
            kind = pa.list_(kind)
        return kind
