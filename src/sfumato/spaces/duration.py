"""Elapsed times between two public bounds: how long something took, or the time of day."""

from __future__ import annotations

import datetime
import math
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import numpy.typing as npt

from sfumato.errors import ParameterError
from sfumato.spaces import codes
from sfumato.spaces.forms import Label, Numbers, Spelling
from sfumato.spaces.interval import Integers, OnLattice, number
from sfumato.spaces.lattice import Lattice
from sfumato.spaces.scalars import moment

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["UNITS", "Duration"]

UNITS = {"seconds": 1, "minutes": 60, "hours": 3600, "days": 86_400}  # in seconds
MICRO = datetime.timedelta(microseconds=1)
LONGEST = 2**62 // 10**6 - 1  # seconds whose microseconds fit in 64 bits, and that a timedelta holds

CLOCK = r"([0-9]{1,9}):([0-5][0-9])(?::([0-5][0-9](?:[.][0-9]{1,9})?))?"
DAYS = rf"([0-9]{{1,9}}) days?(?:,? [+]?{CLOCK})?"
ISO = r"P(?:([0-9]{1,9})D)?(?:T(?:([0-9]{1,9})H)?(?:([0-9]{1,9})M)?(?:([0-9]{1,9}(?:[.][0-9]{1,9})?)S)?)?"
BLANK = r"[ \t]*"


@dataclass(frozen=True, slots=True)
class Duration(OnLattice):
    """Elapsed times from `low` to `high` in a `unit` (seconds, minutes, hours or days), to the nearest `step` of it.

    Bounds are numbers of the unit, texts or timedeltas.  Coercion: elapsed times of every unit, and times of day since
    midnight, are read; numbers, and texts of numbers, count units; texts may also be `02:30:00` or `2:30` (hours and
    minutes), `1 day 02:30:00`, or `P1DT2H30M` (parts left out are zero; no years and months), each with `-` before it
    or not (of `-1 day 02:30:00` the day alone is negative, as Python and pandas write it).  Shorter and longer ones
    clip; null and all else is missing, and so are numbers in `na`.  Answers are timedeltas.

    >>> trip = Duration(0, 24, "hours", step=0.25)
    >>> trip.coerce("02:20"), trip.coerce("P3D"), trip.coerce(1.5), trip.coerce("soon")
    (datetime.timedelta(seconds=8100), datetime.timedelta(days=1), datetime.timedelta(seconds=5400), None)
    """

    low: float
    high: float
    unit: str
    step: float | None = field(default=None, compare=False)  # the lattice is compared
    missing: float | None = field(default=None, kw_only=True)
    na: tuple[codes.Code, ...] = field(default=(), kw_only=True)
    lattice: Lattice = field(init=False, repr=False)

    kind: ClassVar[str] = "duration"
    decodes: ClassVar[bool] = True
    needed: ClassVar[tuple[str, ...]] = ("low", "high", "unit")
    hint: ClassVar[tuple[str, str] | None] = ("times", 'unit = "minutes", low = 0, high = 1440, step = 5')

    def __post_init__(self) -> None:
        if not isinstance(self.unit, str) or self.unit not in UNITS:
            raise ParameterError(f"unit must be one of {', '.join(UNITS)}, got {self.unit!r:.60}")
        for name in ("low", "high", "step", "missing"):
            bound = getattr(self, name)
            if isinstance(bound, str | datetime.timedelta):
                object.__setattr__(self, name, self.number(bound))
        object.__setattr__(self, "na", codes.checked(self.na))
        object.__setattr__(self, "lattice", Lattice.between(self.low, self.high, self.step))
        if max(abs(self.lattice.low_value), abs(self.lattice.high_value)) * UNITS[self.unit] > LONGEST:
            raise ParameterError(f"low and high must lie within {LONGEST // UNITS[self.unit]} {self.unit}")
        if self.missing is not None and not self.low <= self.missing <= self.high:
            raise ParameterError(f"missing={self.missing} must lie between low={self.low} and high={self.high}")

    @property
    def diameter(self) -> float:
        """The largest distance, in units."""
        return self.lattice.value(self.lattice.width)

    def distance(self, one: datetime.timedelta, other: datetime.timedelta) -> float:
        """The units between two elapsed times."""
        return abs(self._units(one) - self._units(other))

    def coerce(self, value: object) -> datetime.timedelta | None:
        """The elapsed time that stands for `value`, or None if it is missing."""
        found = self._read(value)
        if found is None or found in codes.numbers_of(self.na):
            return None if self.missing is None else self.shown(self.lattice.value(self.lattice.index(self.missing)))
        return self.shown(self.lattice.value(self.lattice.index(found)))

    def to_record(self) -> dict[str, Any]:
        """Plain values, for plans and releases."""
        return {
            "type": "duration",
            "low": self.low,
            "high": self.high,
            "unit": self.unit,
            "step": float(self.lattice.step),
            "missing": self.missing,
            **codes.in_record(self.na),
        }

    @property
    def form(self) -> Numbers:
        """Elapsed times, times of day, numbers, and texts of them."""
        missing = None if self.missing is None else self.lattice.index(self.missing)
        texts = spellings(UNITS[self.unit])
        return Numbers(self.lattice, missing, codes.numbers_of(self.na), spellings=texts, second=UNITS[self.unit])

    def part(self, function: str) -> Integers | None:
        """The whole hours, which of a time of day are its hour."""
        if function != "hour":
            return None
        low, high = (
            math.floor(end * (UNITS[self.unit] / 3600)) for end in (self.lattice.low_value, self.lattice.high_value)
        )
        high = 23 if high == 24 and low >= 0 else high  # midnight at the end of a day counts to its last hour
        missing = None if self.missing is None else min(math.floor(self.missing * (UNITS[self.unit] / 3600)), high)
        return Integers(low, max(high, low + 1), missing=missing)

    def number(self, constant: object) -> float:
        """The units of a public elapsed time; refused if it is none."""
        found = self._read(constant)
        if found is None or not math.isfinite(found):
            raise ParameterError(
                f"an elapsed time is a number of {self.unit}, a timedelta or a text such as '1 day 02:30:00', "
                f"not {constant!r:.60}"
            )
        return found

    def shown(self, number: float) -> datetime.timedelta:
        """The elapsed time, rounded to microseconds."""
        seconds = min(max(number * UNITS[self.unit], -LONGEST), LONGEST)
        return round(seconds * 10**6) * MICRO

    def label(self, index: int) -> Label:
        """The elapsed time, as text."""
        return str(self.shown(self.lattice.value(index)))

    def written(self, value: object) -> str | None:
        """The digits of its number of units."""
        found = self._read(value)
        return None if found is None else repr(found)

    def numbers(self, values: pa.ChunkedArray) -> pa.ChunkedArray:
        """Units."""
        import pyarrow as pa
        import pyarrow.compute as pc

        micros = values.cast(pa.duration("us")).cast(pa.int64()).cast(pa.float64(), safe=False)
        return pc.divide(micros, float(UNITS[self.unit] * 10**6))

    def decoded(self, places: npt.NDArray[np.int64], null: npt.NDArray[np.bool_] | None = None) -> pa.Array:
        """Elapsed times."""
        import pyarrow as pa

        seconds = self.lattice.values(places + self.lattice.low) * UNITS[self.unit]
        micros = np.rint(np.clip(seconds, -LONGEST, LONGEST) * 10**6).astype(np.int64)
        return pa.array(micros, pa.int64(), mask=null).cast(pa.duration("us"))

    def examples(self) -> tuple[Any, Any, Any, Any]:
        """Points of the lattice."""
        low, high, middle, other = (self.shown(self.lattice.value(index)) for index in self.indices())
        return low, high, middle, other

    def arrow(self) -> pa.DataType:
        """Elapsed times."""
        import pyarrow as pa

        return pa.duration("us")

    @classmethod
    def drafted(cls, stored: str, blank: str) -> list[str] | None:
        """Elapsed times."""
        if not stored.startswith("interval"):
            return None
        unit = f'unit = "{blank}"            # seconds, minutes, hours or days'
        return [
            'type = "duration"',
            unit,
            f'low = "{blank}"             # such as 0 or "02:30:00"',
            f'high = "{blank}"',
        ]

    def _units(self, elapsed: datetime.timedelta) -> float:
        return float(elapsed // MICRO) / 10**6 / UNITS[self.unit]

    def _read(self, value: object) -> float | None:
        value = moment(value) if isinstance(value, np.timedelta64) else value
        if isinstance(value, datetime.timedelta) and value == value:  # pandas' NaT equals nothing
            return self._units(value)
        if isinstance(value, datetime.time):
            clock = datetime.timedelta(hours=value.hour, minutes=value.minute, seconds=value.second)
            return self._units(clock + value.microsecond * MICRO)
        if isinstance(value, str):
            found = (spelling.number_in(value) for spelling in spellings(UNITS[self.unit]))
            return next((units for units in found if units is not None), number(value))
        return number(value)


@cache
def spellings(unit: int) -> tuple[Spelling, ...]:
    """The texts of elapsed times, in units of so many seconds.

    >>> [spelling.number_in("-1 day, 23:00:00") for spelling in spellings(3600)]
    [None, None, None, -1.0, None, None]
    """

    def clock(hours: Any, minutes: Any, seconds: Any) -> Any:
        return (hours * 3600 + minutes * 60 + seconds) / unit

    def whole(days: Any, hours: Any, minutes: Any, seconds: Any) -> Any:
        return (days * 86_400 + hours * 3600 + minutes * 60 + seconds) / unit

    return (
        Spelling(f"{BLANK}[+]?{CLOCK}{BLANK}", clock),
        Spelling(f"{BLANK}-{CLOCK}{BLANK}", lambda *parts: -clock(*parts)),
        Spelling(f"{BLANK}[+]?{DAYS}{BLANK}", whole),
        Spelling(f"{BLANK}-{DAYS}{BLANK}", lambda days, *parts: whole(-days, *parts)),
        Spelling(f"{BLANK}[+]?{ISO}{BLANK}", whole),
        Spelling(f"{BLANK}-{ISO}{BLANK}", lambda *parts: -whole(*parts)),
    )
