"""What a process gives back at its end, and a fork of it leaves alone: the connections behind it are shared."""

from __future__ import annotations

import os
from collections.abc import Callable
from weakref import finalize

__all__ = ["when_gone"]


def when_gone(held: object, action: Callable[..., object], *given: object) -> None:
    """Do something when an object is gone, in this process alone."""
    finalize(held, _done, os.getpid(), action, given)


def _done(process: int, action: Callable[..., object], given: tuple[object, ...]) -> None:
    if process == os.getpid():
        action(*given)
