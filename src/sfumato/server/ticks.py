"""When answers leave: on multiples of a tick, so that how long a secret answer took is not told.

A stored answer, a new one and a failure after the charge leave alike.  What takes longer than a tick tells by how many;
long work is seen to end only on a ladder of times after its start, each a quarter longer than the last.
"""

from __future__ import annotations

import asyncio
import math
import time
from datetime import UTC, datetime
from fractions import Fraction

__all__ = ["count_ticks", "ladder", "round_to_tick", "seen_to_end", "ticked"]

GROWTH = 1.25


async def ticked(tick: float) -> None:
    """Wait for the next multiple of the tick on the clock."""
    until = _next(time.time(), tick)
    while (now := time.time()) < until:  # a sleep may end a moment early
        await asyncio.sleep(until - now)


def count_ticks(tick: float) -> int:
    """Return how many ticks the clock has counted: a view of the ledger belongs to one such number."""
    return math.floor(time.time() / tick)


def round_to_tick(moment: str, tick: float) -> str:
    """Return the time of the tick that follows a moment, which was written down in whole seconds.

    A second may lie in two ticks where these are no whole seconds.  Then the next multiple of the tick that is a whole
    second stands for both.

    >>> [round_to_tick(f"2026-01-01T00:00:{second}+00:00", 12.0)[14:19] for second in ("00", "11", "12")]
    ['00:12', '00:12', '00:24']
    >>> [round_to_tick(f"2026-01-01T00:00:{second}+00:00", 1.5)[14:19] for second in ("00", "02", "03")]
    ['00:03', '00:03', '00:06']
    """
    seconds = Fraction(str(tick)).numerator  # of the least multiple of the tick that is a whole number of them
    stamp = math.floor(datetime.fromisoformat(moment).timestamp())
    return datetime.fromtimestamp((stamp // seconds + 1) * seconds, UTC).isoformat(timespec="seconds")


def _next(moment: float, tick: float) -> float:
    return math.floor(moment / tick + 1) * tick


def ladder(elapsed: float, tick: float) -> float:
    """The time after its start at which work that took so long is seen to end.

    >>> [ladder(elapsed, 1.0) for elapsed in (0.2, 1.0, 3.5, 9.1)]
    [1.0, 1.0, 4.0, 12.0]
    """
    step = tick
    while step < elapsed:
        step = math.ceil(step * GROWTH / tick) * tick
    return step


def seen_to_end(begun: float, ended: float, tick: float) -> float:
    """When work is seen to end: on the first tick of the clock after its step of the ladder.

    >>> seen_to_end(100.5, 103.0, 1.0)
    104.0
    """
    return _next(begun + ladder(ended - begun, tick), tick)
