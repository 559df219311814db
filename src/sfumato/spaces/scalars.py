"""Numpy's moments and elapsed times as Python's own, as a column of their type would hold them.

A frame's column of objects may hold either, and one odd value beside them is enough to make it one: so both must mean
the same.
"""

from __future__ import annotations

import datetime
from fractions import Fraction

import numpy as np

__all__ = ["moment"]

DAY = 86_400_000_000  # microseconds
# A year and a month of elapsed time are mean ones, and bare numbers nanoseconds, as they are to numpy and pandas.
MICROS: dict[str, int | Fraction] = {
    "Y": 31_556_952_000_000, "M": 2_629_746_000_000, "W": 7 * DAY, "D": DAY, "h": 3_600_000_000, "m": 60_000_000,
    "s": 1_000_000, "ms": 1_000, "us": 1, "ns": Fraction(1, 10**3), "ps": Fraction(1, 10**6), "fs": Fraction(1, 10**9),
    "as": Fraction(1, 10**12), "generic": Fraction(1, 10**3),
}  # fmt: skip
EPOCH = datetime.datetime(1970, 1, 1)
MICRO = datetime.timedelta(microseconds=1)
FARTHEST = datetime.timedelta.max // MICRO


def moment(value: np.datetime64 | np.timedelta64) -> datetime.datetime | datetime.timedelta | None:
    """The time or elapsed time, rounded down to microseconds; a far one on the farthest day, None for none.

    >>> moment(np.datetime64("2026-01-31T13:45")), moment(np.timedelta64(90, "s")), moment(np.datetime64("NaT"))
    (datetime.datetime(2026, 1, 31, 13, 45), datetime.timedelta(seconds=90), None)
    """
    if np.isnat(value):
        return None
    unit, times = np.datetime_data(value.dtype)
    if unit in ("Y", "M") and isinstance(value, np.datetime64):
        try:
            value, unit, times = value.astype("datetime64[D]"), "D", 1
        except OverflowError:
            return None
    micros = int(int(value.astype(np.int64)) * times * MICROS[unit] // 1)
    elapsed = min(max(micros, -FARTHEST), FARTHEST) * MICRO
    if isinstance(value, np.timedelta64):
        return elapsed
    try:
        return EPOCH + elapsed
    except OverflowError:
        day = datetime.date.max if micros > 0 else datetime.date.min
        return datetime.datetime.combine(day, (EPOCH + micros % DAY * MICRO).time())
