"""Times of day: what a clock shows, between two public times of one day."""

from __future__ import annotations

import datetime
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import numpy.typing as npt

from sfumato import arguments
from sfumato.errors import ParameterError
from sfumato.spaces import codes
from sfumato.spaces.dates import keep_text, must_exist
from sfumato.spaces.forms import Label, Numbers, Spelling
from sfumato.spaces.interval import Integers, OnLattice
from sfumato.spaces.lattice import Lattice
from sfumato.spaces.scalars import moment

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["TimeOfDay"]

Seconds = Any  # a number, or a column of them
DAY = 86_400  # seconds
MICRO = datetime.timedelta(microseconds=1)
DATE = r"[0-9]{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12][0-9]|3[01])[T ]"
CLOCK = rf"[ \t]*(?:{DATE})?([01]?[0-9]|2[0-3]):([0-5][0-9])(?::([0-5][0-9])(?:[.][0-9]{{1,9}})?)?Z?[ \t]*"


@dataclass(frozen=True, slots=True, repr=False)
class TimeOfDay(OnLattice):
    """Times of day from `low` to `high`, each by the whole `step` (of so many seconds; a minute) that it lies in.

    The distance is that within one day, in seconds: 23:59 and 00:01 are nearly a day apart, not two minutes; where
    nights matter, ask about `hour(t)`.  Bounds are texts such as "06:30", times, or seconds since midnight; `high` is
    the last step of the day unless it is said.  Coercion: times of day, and timestamps by theirs (in UTC where they
    have a zone), are read, and texts such as `13:45`, `13:45:10` and `2026-01-31 13:45`; earlier and later ones clip;
    all else is missing, and so are the times in `na`.  Answers are times.  `of` names the stored column that is read,
    where that is another: of one column of timestamps a schema can declare the day (`Dates`) and the time of day.

    >>> seen = TimeOfDay("06:00", step=900)
    >>> seen.coerce("13:50"), seen.coerce("2026-01-31T05:59:59"), seen.coerce("noon")
    (datetime.time(13, 45), datetime.time(6, 0), None)
    """

    low: float = 0
    high: float | None = None
    step: float = field(default=60, compare=False)  # the lattice is compared
    missing: float | None = field(default=None, kw_only=True)
    na: tuple[codes.Code, ...] = field(default=(), kw_only=True)
    of: str | None = field(default=None, kw_only=True)
    lattice: Lattice = field(init=False)

    kind: ClassVar[str] = "time-of-day"
    decodes: ClassVar[bool] = True
    magnitudes: ClassVar[bool] = False
    hint: ClassVar[tuple[str, str] | None] = ("times of day", 'low = "06:00", step = 900')

    def __post_init__(self) -> None:
        arguments.whole("step", self.step, most=DAY // 2)
        if DAY % self.step:
            raise ParameterError(f"step must be a number of seconds that divides a day, such as 60, got {self.step}")
        if self.high is None:
            object.__setattr__(self, "high", DAY - self.step)
        for name in ("low", "high", "missing"):
            if name != "missing" or self.missing is not None:
                object.__setattr__(self, name, self.number(getattr(self, name)))
        if self.low >= self.high:  # type: ignore[operator]
            low, high = _text(self.low), _text(self.high)  # type: ignore[arg-type]
            raise ParameterError(f"low must be before high, both within one day, got {low} and {high}")
        if self.of is not None:
            arguments.text("of", self.of)
        named = codes.checked([_named(code) for code in arguments.several("na", self.na)])
        object.__setattr__(self, "na", named)
        object.__setattr__(self, "lattice", Lattice.between(self.low, self.high, self.step))  # type: ignore[arg-type]
        if self.missing is not None and not self.lattice.low_value <= self.missing <= self.lattice.high_value:
            raise ParameterError("missing must lie between low and high")

    def __repr__(self) -> str:
        shown = [repr(_text(self.lattice.low_value)), repr(_text(self.lattice.high_value)), f"step={self.step:g}"]
        shown += [] if self.missing is None else [f"missing={_text(self.missing)!r}"]
        shown += [f"na={list(self.na)!r}"] if self.na else []
        shown += [] if self.of is None else [f"of={self.of!r}"]
        return f"TimeOfDay({', '.join(shown)})"

    @property
    def stored(self) -> str | None:
        """The column that is read, where it has another name."""
        return self.of

    @property
    def diameter(self) -> float:
        """The largest distance, in seconds."""
        return self.lattice.value(self.lattice.width)

    def distance(self, one: datetime.time, other: datetime.time) -> float:
        """The seconds between two times of one day."""
        return abs(_seconds(one) - _seconds(other))

    def number(self, constant: object) -> float:
        """The seconds since midnight of a public time, by the step that it lies in; refused if it is none."""
        found = _read(constant) if isinstance(constant, bool) or not isinstance(constant, int | float) else constant
        if found is None or not 0 <= found < DAY:
            raise ParameterError(
                "a time of day is a text such as '13:45', or a number of seconds since midnight, below those of a day, "
                f"not {constant!r:.60}"
            )
        must_exist("the day of a time", constant)
        return float(self._floored(found))

    def coerce(self, value: object) -> datetime.time | None:
        """The time that stands for `value`, or None if it is missing."""
        seconds = _read(value)
        found = None if seconds is None else float(self._floored(seconds))
        if found is None or found in self._codes:
            return None if self.missing is None else self.shown(self.missing)
        return self.shown(self.lattice.value(self.lattice.index(found)))

    @classmethod
    def drafted(cls, stored: str, blank: str) -> list[str] | None:
        """Times, of the whole day by minutes: that much their type tells."""
        if not stored.startswith("time") or stored.startswith("timestamp"):
            return None
        return ['type = "time-of-day"        # of the whole day, by minutes; else low = "06:00", high, step = 900']

    def to_record(self) -> dict[str, Any]:
        """Plain values, for plans and releases."""
        return {
            "type": "time-of-day",
            "low": _text(self.lattice.low_value),
            "high": _text(self.lattice.high_value),
            "step": int(self.step),
            "missing": None if self.missing is None else _text(self.missing),
            **codes.in_record(self.na),
            **({} if self.of is None else {"of": self.of}),
        }

    @property
    def form(self) -> Numbers:
        """Times of day, timestamps, and texts of them; numbers are none of them."""
        missing = None if self.missing is None else self.lattice.index(self.missing)
        texts = (Spelling(CLOCK, lambda h, m, s: self._floored(h * 3600 + m * 60 + s)),)
        return Numbers(self.lattice, missing, self._codes, False, texts, second=1, clock=self._floored)

    def part(self, function: str) -> Integers | None:
        """The hour."""
        if function != "hour":
            return None
        low, high = (int(end // 3600) for end in (self.lattice.low_value, self.lattice.high_value))
        missing = None if self.missing is None else int(self.missing // 3600)
        return Integers(min(low, 22), max(high, min(low, 22) + 1), missing=missing)

    def shown(self, number: float) -> datetime.time:
        """The time, rounded down to microseconds; no later than the end of the day."""
        micros = int(min(max(number, 0.0), float(DAY)) * 10**6)
        return (datetime.datetime.min + min(micros, DAY * 10**6 - 1) * MICRO).time()

    def label(self, index: int) -> Label:
        """The time, as text."""
        return _text(self.lattice.value(index))

    def written(self, value: object) -> str | None:
        """The time of a time or timestamp."""
        seconds = _read(value)
        return None if seconds is None else self.shown(min(seconds, DAY - 1)).isoformat("seconds")

    @property
    def reach(self) -> tuple[float, float]:
        """One day."""
        return 0, DAY - 1

    def numbers(self, values: pa.ChunkedArray) -> pa.ChunkedArray:
        """Seconds since midnight."""
        import pyarrow as pa
        import pyarrow.compute as pc

        micros = values.cast(pa.time64("us")).cast(pa.int64()).cast(pa.float64(), safe=False)
        return pc.divide(micros, 1e6)

    def decoded(self, places: npt.NDArray[np.int64], null: npt.NDArray[np.bool_] | None = None) -> pa.Array:
        """Times."""
        import pyarrow as pa

        seconds = np.clip(self.lattice.values(places + self.lattice.low), 0, DAY - 1)
        return pa.array((seconds * 10**6).astype(np.int64), pa.int64(), mask=null).cast(pa.time64("us"))

    def examples(self) -> tuple[Any, Any, Any, Any]:
        """Points of the lattice."""
        low, high, middle, other = (self.shown(self.lattice.value(index)) for index in self.indices())
        return low, high, middle, other

    def arrow(self) -> pa.DataType:
        """Times."""
        import pyarrow as pa

        return pa.time64("us")

    @property
    def _codes(self) -> tuple[float, ...]:
        return tuple(self.number(code) for code in self.na)

    def _floored(self, seconds: Seconds) -> Seconds:
        """The beginning of the step that a number, or a column of them, lies in."""
        return seconds // int(self.step) * int(self.step)


def _read(value: object) -> float | None:
    """The seconds since midnight of a time, a timestamp or a text; None of all else."""
    value = moment(value) if isinstance(value, np.datetime64 | np.timedelta64) else value
    if isinstance(value, datetime.datetime) and value == value:  # pandas' NaT equals nothing
        offset = value.utcoffset() or datetime.timedelta(0)
        return (_seconds(value.time()) - offset.total_seconds()) % DAY
    if isinstance(value, datetime.time):
        return _seconds(value)
    if isinstance(value, datetime.timedelta) and value == value:
        return max(value.total_seconds(), 0.0)
    found = re.fullmatch(CLOCK, value) if isinstance(value, str) else None
    if found is None:
        return None
    hours, minutes, seconds = (int(part or 0) for part in found.groups())
    return float(hours * 3600 + minutes * 60 + seconds)


def _seconds(time: datetime.time) -> float:
    return time.hour * 3600 + time.minute * 60 + time.second + time.microsecond / 10**6


def _named(code: object) -> Any:
    return code.isoformat() if isinstance(code, datetime.time) else keep_text(code) if isinstance(code, str) else code


def _text(seconds: float) -> str:
    """A time as people write it: without seconds where there are none.

    >>> _text(49500.0), _text(1.0)
    ('13:45', '00:00:01')
    """
    whole = str((datetime.datetime.min + datetime.timedelta(seconds=seconds)).time())
    return whole.removesuffix(":00") if len(whole) > 5 else whole
