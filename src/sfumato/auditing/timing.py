"""Timing: does the time of a run tell the input, or the noise in it?

A sampler that loops until a coin falls takes time in proportion to its draw; who sees the time and the
output knows the answer under the noise [JinEtAl2022].  Clocks are noisy and shared, so this evidence is
reported apart and stays outside the error rate of an audit.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from scipy.stats import rankdata, spearmanr

from sfumato.auditing.running import Runner

__all__ = ["ENOUGH", "timing"]

CORRELATION = 0.25  # rank correlation above which time is said to tell the size of the noise
ENOUGH = 300  # runs on each input below which nothing is said
ADVANTAGE = 0.4  # how far P(slower) may be from 1/2 before time is said to tell the input


def timing(runner: Runner, first: object, second: object, seconds: float) -> str | None:
    """Words for a dependence of time on the noise or the input; None if none is seen."""
    times: tuple[list[float], list[float]] = ([], [])
    outputs: list[Any] = []
    stop = time.perf_counter() + seconds
    while time.perf_counter() < stop and len(outputs) < 3000:
        sides = ((0, first), (1, second))
        for side, data in sides if len(outputs) % 2 else sides[::-1]:  # neither is always the first
            start = time.perf_counter_ns()
            output = runner.quick(data)
            times[side].append(time.perf_counter_ns() - start)
            if side == 0:
                outputs.append(output)
    if len(outputs) < ENOUGH:
        return None
    return _of_noise(times[0], outputs) or _of_input(*times)


def _of_noise(times: list[float], outputs: list[Any]) -> str | None:
    if not all(isinstance(output, int | float | np.number) for output in outputs):
        return None
    values = np.array(outputs, dtype=float)
    size = np.abs(values - np.median(values))
    if not np.all(np.isfinite(size)) or np.ptp(size) == 0:
        return None
    halves = [spearmanr(times[k::2], size[k::2]).statistic for k in (0, 1)]
    if min(halves) > CORRELATION:
        return f"the time of a run rises with the size of its noise (rank correlation {min(halves):.2f})"
    return None


def _of_input(one: list[float], two: list[float]) -> str | None:
    found = []
    for k in (0, 1):
        a, b = one[k::2], two[k::2]
        ranks = rankdata([*a, *b])[: len(a)].sum()
        found.append((ranks - len(a) * (len(a) + 1) / 2) / (len(a) * len(b)))
    low, high = min(found), max(found)
    if low > 0.5 + ADVANTAGE or high < 0.5 - ADVANTAGE:
        return f"one input is slower than its neighbor in {max(high, 1 - low):.0%} of pairs of runs"
    return None
