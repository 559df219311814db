"""The latest values by their keys, for several threads."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable
from typing import Generic, TypeVar

__all__ = ["Kept"]

T = TypeVar("T")


class Kept(Generic[T]):
    """The latest values by their keys, for several threads."""

    def __init__(self, most: int) -> None:
        self._most, self._held, self._lock = most, OrderedDict[str, T](), threading.Lock()

    def get(self, key: str, make: Callable[[], T]) -> T:
        """The value of a key, made where it is not there; two threads may both make it."""
        with self._lock:
            if key in self._held:
                self._held.move_to_end(key)
                return self._held[key]
        made = make()
        with self._lock:
            self._held[key] = made
            while len(self._held) > self._most:
                self._held.popitem(last=False)
        return made
