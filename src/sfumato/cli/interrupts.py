"""Interrupts wait for what is already charged: a release that is cut off is paid for and lost."""

from __future__ import annotations

import signal
from collections.abc import Iterator
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
def patient() -> Iterator[Stop]:
    """An interrupt waits for the release under way, which is already charged; a second one does not."""
    stop = Stop()

    def remember(number: int, frame: FrameType | None) -> None:
        stop.asked = True
        complain("\nfinishing the release under way, which is already charged, then stopping")
        signal.signal(signal.SIGINT, before)

    before = signal.signal(signal.SIGINT, remember)
    try:
        yield stop
    finally:
        signal.signal(signal.SIGINT, before)
