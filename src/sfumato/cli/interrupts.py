"""Interrupts wait for what is already charged: a release that is cut off is paid for and lost."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import FrameType

from sfumato.cli.console import complain

__all__ = ["Stop", "patient"]


@dataclass(slots=True)
class Stop:
    """Whether an interrupt has come."""

    asked: bool = False


@contextmanager
def patient(under_way: Callable[[], bool] = lambda: True) -> Iterator[Stop]:
    """An interrupt waits for the release under way, whose charge would be lost; a second one does not."""
    stop = Stop()

    def remember(number: int, frame: FrameType | None) -> None:
        stop.asked = True
        finishing = "finishing the release under way, whose charge would be lost otherwise, then stopping"
        complain(f"\n{finishing if under_way() else 'stopping before the next step; no release is under way'}")
        signal.signal(signal.SIGINT, before)

    before = signal.signal(signal.SIGINT, remember)
    try:
        yield stop
    finally:
        signal.signal(signal.SIGINT, before)
