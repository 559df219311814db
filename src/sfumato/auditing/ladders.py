"""Ladders: copies of one record until something gives way, as when a sum wraps or a size is special.

The answer on n copies should move steadily.  Where it turns back between n and 2n copies, bisection finds
two tables, one row apart, between which it turns.  Each ladder is climbed in a child, since a run may end its process.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from sfumato.auditing import clock
from sfumato.auditing.findings import abridged
from sfumato.auditing.neighbors import Pair
from sfumato.auditing.repeats import in_child
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
        if clock.now() >= deadline:
            break
        climbed = in_child(functools.partial(_climb, runner, shape.build, record, deadline))
        if climbed is not None:
            size, runner.runs, runner.spent = climbed
            if size:
                words = f"{size} equal rows with one more: {abridged(record, 80)}"
                found.append(Pair(shape.build([record] * (size + 1)), shape.build([record] * size), words, record))
    return found


def _climb(
    runner: Runner, build: Callable[[list[Any]], Any], record: object, deadline: float
) -> tuple[int, int, float]:
    """The size at which the answer turns, 0 if none is seen, and what the runner has run and spent since it began."""

    @functools.cache
    def answer(size: int) -> float | None:
        return _middle(runner, build([record] * size))

    size, turn = 4, 0
    while size < TOP and clock.now() < deadline and not turn:
        low, high, start = answer(size), answer(2 * size), answer(size // 2)
        if low is None or high is None or start is None:
            break
        if (low - start) * (high - low) < 0 and abs(high - low) > 2 * abs(low - start):
            turn = _turn(answer, size)
        size *= 2
    return turn, runner.runs, runner.spent


def _turn(answer: Callable[[int], Any], size: int) -> int:
    """The size between `size` and its double at which the answer turns."""
    low, high = size, 2 * size
    base, end = answer(low), answer(high)
    while high - low > 1:
        middle = (low + high) // 2
        value = answer(middle)
        low, high = (low, middle) if value is None or abs(value - end) < abs(value - base) else (middle, high)
    return low


def _middle(runner: Runner, data: object) -> float | None:
    """The median of three runs of the first number in the output."""
    values = [next((v for _, v in walk(runner.one(data)) if np.isfinite(v)), None) for _ in range(3)]
    return None if None in values else float(np.median(np.array(values, dtype=float)))
