"""Wait for conditions, never for a time: a busy machine takes as long as it takes.

Only this module reads the clock or sleeps; `check_repository.py` refuses both elsewhere in the tests.
"""

from __future__ import annotations

import asyncio
import signal
import threading
import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")
LIMIT = 120.0  # seconds after which a test fails instead of waiting on
PAUSE = 0.01


def wait_until(condition: Callable[[], T], limit: float = LIMIT) -> T:
    """Return what the condition gives as soon as it is true; fail after the limit."""
    end = time.monotonic() + limit
    while not (found := condition()):
        assert time.monotonic() < end, f"not true after {limit:g} seconds"
        time.sleep(PAUSE)
    return found


async def wait_in_loop(condition: Callable[[], object], limit: float = LIMIT) -> None:
    """Let a loop of events go on until the condition is true; fail after the limit."""
    end = time.monotonic() + limit
    while not condition():
        assert time.monotonic() < end, f"not true after {limit:g} seconds"
        await asyncio.sleep(PAUSE)


def wait_for_kill() -> None:
    """Stand still, in a process that another one ends."""
    while True:
        signal.pause()


def let_pass(seconds: float) -> None:
    """Let time pass where any moment will do: to kill at random, or to give a fault the time to show.

    No test may fail because that was too short or too long.
    """
    time.sleep(seconds)


def measure_seconds(work: Callable[[], object]) -> float:
    """Return the seconds that work takes: to choose a moment to kill at, never to be asserted."""
    begun = time.perf_counter()
    work()
    return time.perf_counter() - begun


def read_clock() -> float:
    """Return the seconds of a clock that runs while other processes work, never to be asserted."""
    return time.perf_counter()


class HandClock:
    """A clock that a test sets: `time` reads it, and who sleeps by it wakes when it has come so far.

    Whoever moves it first sees to it that those who are to be woken sleep, since they read it before they do.
    """

    def __init__(self, now: float) -> None:
        self.now = now
        self.sleepers = 0  # threads that wait for it
        self._moved = threading.Condition()

    def time(self) -> float:
        """Return the time that was set."""
        return self.now

    perf_counter = monotonic = time

    def advance(self, seconds: float) -> None:
        """Move the hand, and wake whoever sleeps."""
        with self._moved:
            self.now += seconds
            self._moved.notify_all()

    def wait(self, seconds: float) -> None:
        """Sleep in a thread."""
        with self._moved:
            end = self.now + seconds
            self.sleepers += 1
            assert self._moved.wait_for(lambda: self.now >= end, LIMIT), "nobody moved the clock"
            self.sleepers -= 1

    async def sleep(self, seconds: float) -> None:
        """Sleep in a loop of events."""
        end = self.now + seconds
        while self.now < end:
            await asyncio.sleep(PAUSE)
