"""Days of the calendar between two public dates."""

from __future__ import annotations

import datetime
import re
from dataclasses import dataclass
from typing import Any

from sfumato import arguments
from sfumato.errors import ParameterError
from sfumato.spaces import codes
from sfumato.spaces.interval import Integers

__all__ = ["DAY", "Dates", "day_in", "day_number"]

DAY = r"[ \t]*[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])([T ][\s\S]*)?"  # a text that names a day
EPOCH = datetime.date(1970, 1, 1)


@dataclass(frozen=True, slots=True, repr=False)
class Dates(Integers):
    """Dates from `low` to `high`, as whole days since 1970-01-01; distance in days.

    Coercion: dates and times take their day, that of UTC where they have a zone; texts must begin `YYYY-MM-DD` (a day
    that its month lacks counts into the next month); earlier and later days clip; all else is missing, and so are the
    days in `na`.  Answers in numbers count days: see `date`.

    >>> joined = Dates("2020-01-01", "2020-12-31")
    >>> joined, joined.coerce("2020-02-30"), joined.coerce("1999-01-01"), joined.coerce("soon")
    (Dates('2020-01-01', '2020-12-31'), datetime.date(2020, 3, 1), datetime.date(2020, 1, 1), None)
    """

    def __post_init__(self) -> None:
        for name in ("low", "high", "missing"):
            bound: Any = getattr(self, name)
            if bound is None and name == "missing":
                continue
            number = day_in(bound)
            if number is None:
                raise ParameterError(f"{name} must be a date such as '2020-01-31', got {bound!r}")
            object.__setattr__(self, name, number)
        if not isinstance(self.na, str):
            named = [
                day.isoformat() if isinstance(day, datetime.date) else day for day in arguments.several("na", self.na)
            ]
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
        """The date of a number of days since 1970-01-01, rounded down."""
        return EPOCH + datetime.timedelta(days=int(days // 1))

    def day(self, value: Any) -> int:
        """The number of a public date; refused if it is none."""
        number = day_in(value)
        if number is None:
            raise ParameterError(f"a date is compared with a date such as '2020-01-31', not with {value!r}")
        return number

    @property
    def coded_days(self) -> tuple[int, ...]:
        """The numbers of the days that are codes for missing ones."""
        named = [day_in(code) for code in self.na if isinstance(code, str)]
        return tuple(number for number in named if number is not None)

    def coerce(self, value: Any) -> datetime.date | None:  # type: ignore[override]
        """The date that stands for `value`, or None if it is missing."""
        number = None if isinstance(value, int | float) else day_in(value)
        if number is None or number in self.coded_days:
            return None if self.missing is None else self.date(self.missing)
        return self.date(min(max(number, self.lattice.low), self.lattice.high))

    def distance(self, one: Any, other: Any) -> float:
        """The days between two dates."""
        return float(abs(self.day(one) - self.day(other)))

    def to_record(self) -> dict[str, Any]:
        """Plain values, for plans and releases."""
        missing = None if self.missing is None else self.date(self.missing).isoformat()
        low, high = (self.date(end).isoformat() for end in (self.low, self.high))
        return {"type": "dates", "low": low, "high": high, "missing": missing} | codes.in_record(self.na)


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


def day_in(value: Any) -> int | None:
    """The day of a date, a time or a text; a whole number is a number of days."""
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    if isinstance(value, datetime.date) and value == value:  # times are dates too; pandas' NaT equals nothing
        number = int(day_number(max(value.year, 0), value.month, value.day))
        return number + _shift(value) if isinstance(value, datetime.datetime) else number
    if isinstance(value, str) and re.fullmatch(DAY, value):
        text = value.lstrip(" \t")
        return int(day_number(int(text[:4]), int(text[5:7]), int(text[8:10])))
    return None


def _shift(time: datetime.datetime) -> int:
    """How many days UTC is ahead of the calendar where the time was taken: -1, 0 or 1."""
    clock = datetime.timedelta(hours=time.hour, minutes=time.minute, seconds=time.second, microseconds=time.microsecond)
    return (clock - (time.utcoffset() or datetime.timedelta(0))) // datetime.timedelta(days=1)
