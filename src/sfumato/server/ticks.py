"""When answers leave: on multiples of a tick, so that how long a secret answer took is not told.

A stored answer, a new one and a failure after the charge leave alike.  What takes longer than a tick tells by how many;
long work is seen to end only on a ladder of times after its start, each a quarter longer than the last.
"""

from __future__ import annotations

import asyncio
import math
import time

__all__ = ["ladder", "seen_to_end", "ticked"]

GROWTH = 1.25


async def ticked(tick: float) -> None:
    """Wait for the next multiple of the tick on the clock."""
    now = time.time()
    await asyncio.sleep(max(0.0, _next(now, tick) - now))


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
