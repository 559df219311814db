"""Days of the calendar between two public dates."""

from __future__ import annotations

import calendar
import datetime
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import numpy.typing as npt

from sfumato import arguments
from sfumato.errors import ParameterError
from sfumato.spaces import codes
from sfumato.spaces.forms import Label, Numbers, Spelling
from sfumato.spaces.interval import Integers
from sfumato.spaces.scalars import moment

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = [
    "DAY", "FIRST", "LAST", "PART_OF_DAY", "Dates", "civil", "day_in", "day_number", "keep_text", "must_exist",
    "reread_days",
]  # fmt: skip

DAY = r"[ \t]*([0-9]{4})-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])(?:[T ][\s\S]*)?"  # a text that names a day
ZONE = r"(?: ?(?:Z|UTC|[+-][0-9]{2}(?::?[0-9]{2})?))?"
TIME = rf"[T ][ \t]*(?:(?:[01]?[0-9]|2[0-3]):[0-5][0-9](?::[0-5][0-9](?:[.,][0-9]{{1,9}})?)?{ZONE})?[ \t]*"
Days = Any  # a number, or a column of them
EPOCH = datetime.date(1970, 1, 1)
FIRST, LAST = -719_162, 2_932_896  # the days 0001-01-01 and 9999-12-31, which shown and published dates stay in


@dataclass(frozen=True, slots=True, repr=False)
class Dates(Integers):
    """Dates from `low` to `high`, as whole days since 1970-01-01; distance in days.

    Coercion: dates and times take their day, that of UTC where they have a zone; texts must begin `YYYY-MM-DD` (a day
    that its month lacks counts into the next month); earlier and later days clip; all else is missing, and so are the
    days in `na`.  Bounds, codes and constants are public: a day that its month lacks is refused there.  Answers are
    dates, the days that numbers lie in.

    >>> joined = Dates("2020-01-01", "2020-12-31")
    >>> joined, joined.coerce("2020-02-30"), joined.coerce("1999-01-01"), joined.coerce("soon")
    (Dates('2020-01-01', '2020-12-31'), datetime.date(2020, 3, 1), datetime.date(2020, 1, 1), None)
    """

    kind: ClassVar[str] = "dates"
    decodes: ClassVar[bool] = True
    magnitudes: ClassVar[bool] = False
    hint: ClassVar[tuple[str, str] | None] = ("dates", 'low = "2020-01-01", high = "2026-12-31"')

    def __post_init__(self) -> None:
        for name in ("low", "high", "missing"):
            bound: Any = getattr(self, name)
            if bound is None and name == "missing":
                continue
            number = day_in(bound)
            if number is None:
                raise ParameterError(f"{name} must be a date such as '2020-01-31', got {bound!r}")
            must_exist(name, bound)
            object.__setattr__(self, name, number)
        if not isinstance(self.na, str):
            given = arguments.several("na", self.na)
            named = [day.isoformat() if isinstance(day, datetime.date) else day for day in given]
            named = [keep_text(code) if isinstance(code, str) else code for code in named]
            for code in named:
                must_exist("each of na", code)
            object.__setattr__(self, "na", tuple(named))
        Integers.__post_init__(self)

    def __repr__(self) -> str:
        shown = [repr(self.date(end).isoformat()) for end in (self.low, self.high)]
        if self.missing is not None:
            shown.append(f"missing={self.date(self.missing).isoformat()!r}")
        if self.na:
            shown.append(f"na={list(self.na)!r}")
        return f"Dates({', '.join(shown)})"

    @staticmethod
    def date(days: float) -> datetime.date:
        """The date of a number of days since 1970-01-01, rounded down; of the years 1 to 9999."""
        return EPOCH + datetime.timedelta(days=int(min(max(days // 1, FIRST), LAST)))

    def number(self, constant: object) -> int:
        """The number of a public date; refused if it is none, as the number of a year is."""
        bare = isinstance(constant, int | float)
        number = None if bare else day_in(constant)
        if number is None:
            way = "; a year is compared as year(column)" if bare else ""
            raise ParameterError(f"a date is compared with a date such as '2020-01-31', not with {constant!r:.60}{way}")
        must_exist("a date in a question", constant)
        return number

    @property
    def coded_days(self) -> tuple[int, ...]:
        """The numbers of the days that are codes for missing ones."""
        named = [day_in(code) for code in self.na if isinstance(code, str)]
        return tuple(number for number in named if number is not None)

    def coerce(self, value: object) -> datetime.date | None:  # type: ignore[override]
        """The date that stands for `value`, or None if it is missing."""
        number = None if isinstance(value, int | float) else day_in(value)
        if number is None or number in self.coded_days:
            return None if self.missing is None else self.date(self.missing)
        return self.date(min(max(number, self.lattice.low), self.lattice.high))

    def distance(self, one: Any, other: Any) -> float:
        """The days between two dates."""
        return float(abs(self.number(one) - self.number(other)))

    def to_record(self) -> dict[str, Any]:
        """Plain values, for plans and releases."""
        missing = None if self.missing is None else self.date(self.missing).isoformat()
        low, high = (self.date(end).isoformat() for end in (self.low, self.high))
        return {"type": "dates", "low": low, "high": high, "missing": missing} | codes.in_record(self.na)

    @property
    def form(self) -> Numbers:
        """Dates, times by their day, and texts that begin with a day; numbers are none of them."""
        return Numbers(
            self.lattice,
            self.missing,
            self.coded_days,
            plain=False,
            spellings=(Spelling(DAY, day_number),),
            day=day_number,
        )

    def part(self, function: str) -> Integers | None:
        """The year, quarter, month, day or weekday (1 for Monday); that of `missing` where the date is missing."""
        if function not in PART_OF_DAY:
            return None
        missing = None if self.missing is None else PART_OF_DAY[function](self.within(self.missing))
        return Integers(*self._ends(function), missing=missing)

    def _ends(self, function: str) -> tuple[int, int]:
        """The least and greatest that a part of a declared day can be, two numbers at least."""
        first, last = (self.within(end) for end in (self.low, self.high))
        least, most = {"year": (1, 9999), "quarter": (1, 4), "month": (1, 12), "day": (1, 31)}.get(function, (1, 7))
        whole = {"year": 0, "quarter": 1, "month": 1, "day": 2}.get(function)  # the larger parts that must agree
        if whole is None or civil(first)[:whole] != civil(last)[:whole]:
            return least, most
        low, high = (PART_OF_DAY[function](day) for day in (first, last))
        return (low, high) if low < high else (low, low + 1) if low < most else (low - 1, low)

    @staticmethod
    def within(days: int) -> int:
        """A number of days within the years 1 to 9999."""
        return min(max(days, FIRST), LAST)

    def shown(self, number: float) -> datetime.date:
        """The date."""
        return self.date(number)

    def label(self, index: int) -> Label:
        """The date, as text."""
        return self.date(index).isoformat()

    def written(self, value: object) -> str | None:
        """The date of a date or time."""
        found = None if isinstance(value, int | float) else day_in(value)
        return None if found is None else self.date(found).isoformat()

    @property
    def reach(self) -> tuple[float, float]:
        """The days of the calendar."""
        return FIRST, LAST

    def numbers(self, values: pa.ChunkedArray) -> pa.ChunkedArray:
        """Days since 1970-01-01."""
        import pyarrow as pa

        return values.cast(pa.date32()).cast(pa.int32())

    def decoded(self, places: npt.NDArray[np.int64], null: npt.NDArray[np.bool_] | None = None) -> pa.Array:
        """Dates."""
        import pyarrow as pa

        days = np.clip(places + self.lattice.low, FIRST, LAST).astype(np.int32)
        return pa.array(days, pa.int32(), mask=null).cast(pa.date32())

    def examples(self) -> tuple[Any, Any, Any, Any]:
        """Dates of the lattice."""
        low, high, middle, other = map(self.date, self.indices())
        return low, high, middle, other

    def arrow(self) -> pa.DataType:
        """Dates."""
        import pyarrow as pa

        return pa.date32()

    @classmethod
    def drafted(cls, stored: str, blank: str) -> list[str] | None:
        """Dates, and times by their day."""
        if not stored.startswith(("date", "timestamp")):
            return None
        return ['type = "dates"', f'low = "{blank}"             # such as "2020-01-01"', f'high = "{blank}"']


def day_number(year: Any, month: Any, day: Any) -> Any:
    """Days from 1970-01-01 to a day of the Gregorian calendar, year not negative: numbers or columns.

    A year begins in March, so that the leap day is its last: 153 days are any five months from there.

    >>> day_number(1970, 1, 1), day_number(2020, 2, 29), day_number(2020, 2, 30)
    (0, 18321, 18322)
    """
    early = (month + 9) // 12  # 1 from March on
    shifted = year + early + 399  # 400 years later, less the one that January and February give back
    place = (month + 9) % 12
    days = shifted * 365 + shifted // 4 - shifted // 100 + shifted // 400 + (153 * place + 2) // 5 + day
    return days - 865_566


def civil(days: Days) -> tuple[Any, Any, Any]:
    """The year, month and day of a number of days since 1970-01-01, of the years 1 to 9999: numbers or columns.

    >>> civil(18321), civil(-719162)
    ((2020, 2, 29), (1, 1, 1))
    """
    shifted = days + 719_468  # since 0000-03-01, so that nothing below is negative
    era = shifted // 146_097  # of 400 years
    of_era = shifted - era * 146_097
    year = (of_era - of_era // 1460 + of_era // 36_524 - of_era // 146_096) // 365
    of_year = of_era - (year * 365 + year // 4 - year // 100)
    place = (of_year * 5 + 2) // 153  # months since March
    day = of_year - (place * 153 + 2) // 5 + 1
    return year + era * 400 + place // 10, (place + 2) % 12 + 1, day


# The parts of a day, by its number since 1970-01-01 within the years 1 to 9999: numbers or columns.
PART_OF_DAY: dict[str, Callable[[Any], Any]] = {
    "year": lambda days: civil(days)[0],
    "quarter": lambda days: (civil(days)[1] + 2) // 3,
    "month": lambda days: civil(days)[1],
    "day": lambda days: civil(days)[2],
    "weekday": lambda days: (days - FIRST) % 7 + 1,
}


def day_in(value: object) -> int | None:
    """The day of a date, a time or a text; a whole number is a number of days."""
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    value = moment(value) if isinstance(value, np.datetime64) else value
    if isinstance(value, datetime.date) and value == value:  # times are dates too; pandas' NaT equals nothing
        number = int(day_number(max(value.year, 0), value.month, value.day))
        return number + _shift(value) if isinstance(value, datetime.datetime) else number
    if isinstance(value, str) and re.fullmatch(DAY, value):
        text = value.lstrip(" \t")
        return int(day_number(int(text[:4]), int(text[5:7]), int(text[8:10])))
    return None


class _RolledDay(str):
    """A public text of a stored release whose month lacks its day: it keeps the meaning that it was charged with."""

    __slots__ = ()


_REREADING: ContextVar[bool] = ContextVar("rereading", default=False)


@contextmanager
def reread_days() -> Iterator[None]:
    """Read what was stored: there a day that its month lacks counts into the next month, as it did when it was paid."""
    token = _REREADING.set(True)
    try:
        yield
    finally:
        _REREADING.reset(token)


def keep_text(text: str) -> str:
    """Return a plain text, marked where a stored release holds it as a day that its month lacks."""
    return _RolledDay(text) if isinstance(text, _RolledDay) or (_REREADING.get() and _mistake(text)) else str(text)


def must_exist(name: str, value: object) -> None:
    """Refuse a public text that begins like a date, and names no day of the calendar or no time of day."""
    wrong = None if isinstance(value, _RolledDay) or not isinstance(value, str) else _mistake(value)
    if wrong is not None:
        raise ParameterError(f"{name} must be a day of the calendar such as '2020-01-31', got {value!r:.60}: {wrong}")


def _mistake(text: str) -> str | None:
    """Why a text that begins like a date names no moment; None where it does, or is no date at all."""
    if re.fullmatch(DAY, text) is None:
        return None
    plain = text.lstrip(" \t")
    year, month, day = int(plain[:4]), int(plain[5:7]), int(plain[8:10])
    if year < 1:
        return "years begin with 0001"
    last = calendar.monthrange(year, month)[1]
    if day > last:
        return f"that month has {last} days"
    if plain[10:] and re.fullmatch(TIME, plain[10:]) is None:
        return "what follows the day is no time such as 13:45"
    return None


def _shift(time: datetime.datetime) -> int:
    """How many days UTC is ahead of the calendar where the time was taken: -1, 0 or 1."""
    clock = datetime.timedelta(hours=time.hour, minutes=time.minute, seconds=time.second, microseconds=time.microsecond)
    return (clock - (time.utcoffset() or datetime.timedelta(0))) // datetime.timedelta(days=1)
