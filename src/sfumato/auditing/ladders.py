"""Ladders: copies of one record until something gives way, as when a sum wraps or a size is special.

The answer on n copies should move steadily.  Where it turns back between n and 2n copies, bisection finds
two tables, one row apart, between which it turns.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from sfumato.auditing import clock
from sfumato.auditing.findings import abridged
from sfumato.auditing.neighbors import Pair
from sfumato.auditing.running import Runner
from sfumato.auditing.shapes import shape_of
from sfumato.auditing.walking import walk

__all__ = ["ladder_pairs"]

TOP = 4096  # copies at most


def ladder_pairs(runner: Runner, example: object, records: Sequence[Any], deadline: float) -> list[Pair]:
    """Neighboring tables of equal rows at which the answer turns."""
    shape, _ = shape_of(example)
    found = []
    for record in records:
        answers: dict[int, float | None] = {}

        def answer(size: int, record: object = record, seen: dict[int, float | None] = answers) -> float | None:
            if size not in seen:
                seen[size] = _middle(runner, shape.build([record] * size))
            return seen[size]

        size = 4
        while size < TOP and clock.now() < deadline:
            low, high = answer(size), answer(2 * size)
            start = answer(size // 2)
            if low is None or high is None or start is None:
                break
            if (low - start) * (high - low) < 0 and abs(high - low) > 2 * abs(low - start):
                found.append(_turn(shape.build, record, answer, size))
                break
            size *= 2
    return found


def _turn(build: Callable[[list[Any]], Any], record: object, answer: Callable[[int], Any], size: int) -> Pair:
    low, high = size, 2 * size
    base, end = answer(low), answer(high)
    while high - low > 1:
        middle = (low + high) // 2
        value = answer(middle)
        low, high = (low, middle) if value is None or abs(value - end) < abs(value - base) else (middle, high)
    words = f"{low} equal rows with one more: {abridged(record, 80)}"
    return Pair(build([record] * high), build([record] * low), words, record)


def _middle(runner: Runner, data: object) -> float | None:
    """The median of three runs of the first number in the output."""
    values = [next((v for _, v in walk(runner.one(data)) if np.isfinite(v)), None) for _ in range(3)]
    return None if None in values else float(np.median(np.array(values, dtype=float)))
