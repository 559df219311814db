"""Bounded numbers with the absolute difference as metric."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from decimal import Decimal
from numbers import Real
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import numpy.typing as npt

from sfumato.errors import ParameterError
from sfumato.spaces import codes
from sfumato.spaces.forms import Label, Numbers
from sfumato.spaces.lattice import Lattice
from sfumato.spaces.numerals import number_in
from sfumato.spaces.space import Space

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["Integers", "Interval", "number"]


class OnLattice(Space):
    """What columns of numbers have in common: all that follows from the lattice."""

    __slots__ = ()

    lattice: Lattice
    missing: float | None

    @property
    def settled(self) -> bool:
        """Whether a public value stands for missing ones."""
        return self.missing is not None

    @property
    def reach(self) -> tuple[float, float]:
        """Between which numbers a published value of the column's own type can lie, however far noise takes it."""
        return -math.inf, math.inf

    def label(self, index: int) -> Label:
        """The number at a point of the lattice."""
        value = self.lattice.value(index)
        return int(value) if value == int(value) else f"{value:g}"

    def places(self, values: pa.ChunkedArray) -> npt.NDArray[np.int64]:
        """The nearest points of the lattice, counted from the lower bound; not clipped."""
        import pyarrow as pa

        numbers = self.numbers(values).cast(pa.float64(), safe=False).to_numpy()
        gaps = np.isnan(numbers)
        steps = np.rint(np.where(gaps, 0.0, numbers) * self.lattice.step.denominator / self.lattice.step.numerator)
        return np.where(gaps, -1, steps.astype(np.int64) - self.lattice.low)

    def numbers(self, values: pa.ChunkedArray) -> pa.ChunkedArray:
        """Values of the column's own type as numbers of its units."""
        return values

    def indices(self) -> tuple[int, int, int, int]:
        """The lowest point of the lattice, the highest, one in the middle, another."""
        low, high = self.lattice.low, self.lattice.high
        return low, high, (low + high) // 2, low + (high - low) // 4

    def written(self, value: object) -> str | None:
        """The digits of a number."""
        found = number(value)
        return None if found is None else repr(found)


@dataclass(frozen=True, slots=True)
class Interval(OnLattice):
    """Numbers from `low` to `high`, known to the nearest multiple of `step`.

    Coercion: out of range and infinite values clip; null, NaN and what is not a number are missing.
    So are codes in `na`, such as 99: they are compared before anything is clipped or rounded.
    Missing values are left out (also of counts), or stand for the public value `missing`.

    >>> age = Interval(0, 120, step=1)
    >>> age.coerce(37.4), age.coerce(float("inf")), age.coerce(float("nan"))
    (37.0, 120.0, None)
    >>> age.diameter
    120.0
    """

    low: float
    high: float
    step: float | None = field(default=None, compare=False)  # the lattice is compared
    missing: float | None = field(default=None, kw_only=True)
    na: tuple[codes.Code, ...] = field(default=(), kw_only=True)
    lattice: Lattice = field(init=False, repr=False)

    kind: ClassVar[str] = "interval"
    needed: ClassVar[tuple[str, ...]] = ("low", "high")
    hint: ClassVar[tuple[str, str] | None] = ("numbers", "low = 0, high = 200000, step = 10")

    def __post_init__(self) -> None:
        object.__setattr__(self, "lattice", Lattice.between(self.low, self.high, self.step))
        object.__setattr__(self, "na", codes.checked(self.na))
        _check_missing(self.missing, self.low, self.high)

    @property
    def diameter(self) -> float:
        """The largest distance."""
        return self.lattice.value(self.lattice.width)

    def distance(self, one: float, other: float) -> float:
        """The absolute difference."""
        return abs(one - other)

    def coerce(self, value: object) -> float | None:
        """The point of the lattice that stands for `value`, or None if it is missing."""
        found = number(value)
        if found is None or found in codes.numbers_of(self.na):
            return None if self.missing is None else self.lattice.value(self.lattice.index(self.missing))
        return self.lattice.value(self.lattice.index(found))

    def to_record(self) -> dict[str, Any]:
        """Plain values, for plans and releases."""
        return {
            "type": "interval",
            "low": self.low,
            "high": self.high,
            "step": float(self.lattice.step),
            "missing": self.missing,
            **codes.in_record(self.na),
        }

    @property
    def form(self) -> Numbers:
        """Numbers, and texts of numbers."""
        missing = None if self.missing is None else self.lattice.index(self.missing)
        return Numbers(self.lattice, missing, codes.numbers_of(self.na))

    def decoded(self, places: npt.NDArray[np.int64], null: npt.NDArray[np.bool_] | None = None) -> pa.Array:
        """Numbers, as floats."""
        import pyarrow as pa

        return pa.array(self.lattice.values(places + self.lattice.low), mask=null)

    def examples(self) -> tuple[float, float, float, float]:
        """Points of the lattice."""
        low, high, middle, other = (self.lattice.value(index) for index in self.indices())
        return low, high, middle, other

    def arrow(self) -> pa.DataType:
        """Floats."""
        import pyarrow as pa

        return pa.float64()

    @classmethod
    def drafted(cls, stored: str, blank: str) -> list[str] | None:
        """Numbers that need not be whole."""
        if not stored.startswith(("float", "decimal")):
            return None
        step = f'step = "{blank}"            # the precision to keep, such as 0.01 or 100; it divides both bounds'
        places = _places(stored)
        if places is not None:
            step = f"step = {10.0**-places:g}                  # as fine as the column's type; a coarser one may do"
        return ['type = "interval"', f'low = "{blank}"', f'high = "{blank}"', step]


@dataclass(frozen=True, slots=True)
class Integers(OnLattice):
    """Whole numbers from `low` to `high`; coerced as an `Interval` of step 1.

    >>> Integers(0, 5).coerce("4"), Integers(0, 5).coerce(99)
    (4, 5)
    """

    low: int
    high: int
    missing: int | None = field(default=None, kw_only=True)
    na: tuple[codes.Code, ...] = field(default=(), kw_only=True)
    lattice: Lattice = field(init=False, repr=False, compare=False)

    kind: ClassVar[str] = "integers"
    needed: ClassVar[tuple[str, ...]] = ("low", "high")
    hint: ClassVar[tuple[str, str] | None] = ("whole ones", "low = 0, high = 120")

    def __post_init__(self) -> None:
        for name in ("low", "high"):
            bound = getattr(self, name)
            if not isinstance(bound, int) or isinstance(bound, bool):
                raise ParameterError(f"{name} must be a whole number, got {bound!r}; for others use Interval")
        object.__setattr__(self, "lattice", Lattice.between(self.low, self.high, 1))
        object.__setattr__(self, "na", codes.checked(self.na))
        _check_missing(self.missing, self.low, self.high)
        if self.missing is not None and self.missing != int(self.missing):
            raise ParameterError(f"missing must be a whole number, got {self.missing!r}")

    @property
    def diameter(self) -> float:
        """The largest distance."""
        return float(self.high - self.low)

    def distance(self, one: int, other: int) -> float:
        """The absolute difference."""
        return float(abs(one - other))

    def coerce(self, value: object) -> int | None:
        """The whole number that stands for `value`, or None if it is missing."""
        found = number(value)
        if found is None or found in codes.numbers_of(self.na):
            return self.missing
        return self.lattice.index(found)

    def to_record(self) -> dict[str, Any]:
        """Plain values, for plans and releases."""
        record = {"type": "integers", "low": self.low, "high": self.high, "missing": self.missing}
        return record | codes.in_record(self.na)

    @property
    def form(self) -> Numbers:
        """Numbers, and texts of numbers."""
        return Numbers(self.lattice, self.missing, codes.numbers_of(self.na))

    def decoded(self, places: npt.NDArray[np.int64], null: npt.NDArray[np.bool_] | None = None) -> pa.Array:
        """Whole numbers."""
        import pyarrow as pa

        return pa.array(places + self.lattice.low, mask=null)

    def examples(self) -> tuple[Any, Any, Any, Any]:
        """Points of the lattice."""
        return self.indices()

    def arrow(self) -> pa.DataType:
        """Whole numbers."""
        import pyarrow as pa

        return pa.int64()

    @classmethod
    def drafted(cls, stored: str, blank: str) -> list[str] | None:
        """Whole numbers."""
        if not stored.startswith(("int", "uint")) or stored.startswith("interval"):
            return None
        return ['type = "integers"', f'low = "{blank}"', f'high = "{blank}"']


def _places(stored: str) -> int | None:
    """How many decimal places a type holds: two for decimal(10, 2), which floats do not say; at most twelve."""
    _, comma, scale = stored.partition(", ")
    places = scale.removesuffix(")")
    return int(places) if stored.startswith("decimal") and comma and places.isdigit() and int(places) <= 12 else None


def number(value: object) -> float | None:
    """The number that a value is, or that a text stands for; None for NaN and all else."""
    if isinstance(value, str):
        return number_in(value)
    if not isinstance(value, Real | Decimal) or isinstance(value, bool | np.bool_ | np.timedelta64):
        return None
    try:
        found = float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf  # type: ignore[operator]
    except (TypeError, ValueError):  # a signaling NaN
        return None
    return None if math.isnan(found) else found


def _check_missing(missing: Any, low: float, high: float) -> None:
    if missing is None:
        return
    if number(missing) is None or isinstance(missing, str):
        raise ParameterError(f"missing must be a number between low={low} and high={high}, got {missing!r}")
    if not low <= missing <= high:
        raise ParameterError(f"missing={missing} must lie between low={low} and high={high}")
