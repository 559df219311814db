"""Rows 13, 18 to 20, 24: exceptions, exits, seeds, forks, time, echoes, repeated answers."""

from __future__ import annotations

import math
import os
import random
import time
import warnings
from typing import Any

import numpy as np

from corpus.case import Case, clip, laplace, snap
from sfumato.privacy.guarantees import Pure


def noisy_sum(data: list[float], rng: Any) -> float:
    """The correct twin of many: a clipped sum with noise."""
    return laplace(sum(clip(x, 0, 1) for x in data), 1.0, rng)


def raises(data: list[float], rng: Any) -> float:
    """The square root of a negative row raises."""
    return laplace(sum(clip(math.sqrt(x) if x == x else 0.0, 0, 1) for x in data), 1.0, rng)


def tells(data: list[float], rng: Any) -> float:
    """Any bad row raises the same error, but its text holds the sum."""
    if rng.random() < 0.5:
        raise ValueError(f"try again, total was {sum(clip(x, 0, 1) for x in data)}")
    return laplace(sum(clip(x, 0, 1) for x in data), 1.0, rng)


def tells_nothing(data: list[float], rng: Any) -> float:
    """The error comes as often and says nothing."""
    if rng.random() < 0.5:
        raise ValueError("try again")
    return laplace(sum(clip(x, 0, 1) for x in data), 1.0, rng)


def warns(data: list[float], rng: Any) -> float:
    """A row out of range is clipped, with a warning."""
    if any(not 0 <= x <= 1 for x in data):
        warnings.warn("values out of range were clipped", stacklevel=2)
    return laplace(sum(clip(x, 0, 1) for x in data), 1.0, rng)


def exits(data: list[float], rng: Any) -> float:
    """An infinite row ends the process, as an assertion in native code would."""
    if any(math.isinf(x) for x in data):
        os._exit(3)
    return laplace(sum(clip(x, 0, 1) for x in data), 1.0, rng)


def leaves(data: list[float], rng: Any) -> float:
    """A row that is not a number raises SystemExit."""
    if any(x != x for x in data):
        raise SystemExit(2)
    return laplace(sum(clip(x, 0, 1) for x in data), 1.0, rng)


def fixed_seed(data: list[float]) -> float:
    """A new generator with the same seed in every call."""
    return laplace(sum(clip(x, 0, 1) for x in data), 1.0, np.random.default_rng(7))


_own = np.random.default_rng(11)


def own_generator(data: list[float]) -> float:
    """A generator that goes on."""
    return laplace(sum(clip(x, 0, 1) for x in data), 1.0, _own)


def same_seed(data: list[float], rng: Any) -> tuple[float, float]:
    """Two mechanisms with one seed: their noise cancels."""
    seed = int(rng.integers(2**32))
    first = laplace(sum(clip(x, 0, 1) for x in data), 2.0, np.random.default_rng(seed))
    return first, laplace(len(data), 2.0, np.random.default_rng(seed)) + 0.0


def two_seeds(data: list[float], rng: Any) -> tuple[float, float]:
    """Two mechanisms with their own seeds."""
    one, two = (np.random.default_rng(int(s)) for s in rng.integers(2**32, size=2))
    return laplace(sum(clip(x, 0, 1) for x in data), 2.0, one), laplace(len(data), 2.0, two)


def clock_seed(data: list[float]) -> float:
    """The seed is the time in tenths of a second."""
    return laplace(sum(clip(x, 0, 1) for x in data), 1.0, np.random.default_rng(int(time.time() * 10)))


def after_fork(data: list[float]) -> float:
    """Draws from the operating system in every process."""
    return laplace(sum(clip(x, 0, 1) for x in data), 1.0, np.random.default_rng(random.SystemRandom().getrandbits(64)))


def echo(data: list[float], rng: Any) -> dict[str, Any]:
    """A query without an aggregate shows a row."""
    first = data[0] if data else None
    return {"answer": first, "count": laplace(len(data), 1.0, rng)}


def no_echo(data: list[float], rng: Any) -> dict[str, Any]:
    """A query without an aggregate is refused."""
    return {"answer": None, "count": laplace(len(data), 1.0, rng)}


def slow_geometric(data: list[float], rng: Any) -> float:
    """Coins are tossed until one falls: the time tells the draw."""
    stop, draws = 1 - math.exp(-1 / 100), []
    for _ in range(2):
        count = 0
        while rng.random() > stop:
            count += 1
        draws.append(count)
    return float(len(data) * 100 + (draws[0] - draws[1]))


def fast_geometric(data: list[float], rng: Any) -> float:
    """By inversion, in the same time for every draw."""
    return float(len(data) * 100.0 + np.floor(-100 * np.log(rng.random(2))) @ SIGNS)


def asked_twice(bits: list[int], rng: Any) -> list[int]:
    """A bit flipped with probability 1 / (1 + e), told twice with fresh noise."""
    return [sum(bits[:1]) ^ int(rng.random() < 1 / (1 + math.e)) for _ in range(2)]


def told_twice(bits: list[int], rng: Any) -> list[int]:
    """The stored answer is told again."""
    return [sum(bits[:1]) ^ int(rng.random() < 1 / (1 + math.e))] * 2


def one_branch(data: list[float], rng: Any) -> float:
    """Small tables are answered without noise, 'since there is nothing to protect'."""
    total = sum(clip(x, 0, 1) for x in data)
    return snap(total) if len(data) < 3 else laplace(total, 1.0, rng)


SIGNS = np.array([1.0, -1.0])
BITS = {"inputs": [0], "records": [0, 1], "adjacency": "replace"}
CASES = [
    Case("crash on one row", 13, raises, noisy_sum, Pure(1.0)),
    Case("error text holds data", 13, tells, tells_nothing, Pure(1.0)),
    Case("warning on one row", 13, warns, noisy_sum, Pure(1.0), heavy=True),
    Case("process ends on one row", 13, exits, noisy_sum, Pure(1.0)),
    Case("orderly exit on one row", 13, leaves, noisy_sum, Pure(1.0), heavy=True),
    Case("the same seed in every call", 18, fixed_seed, own_generator, Pure(1.0)),
    Case("one seed for two mechanisms", 18, same_seed, two_seeds, Pure(1.0), heavy=True),
    Case("seed from the clock", 18, clock_seed, own_generator, Pure(1.0)),
    Case("fork repeats the noise", 18, own_generator, after_fork, Pure(1.0), {"forks": True}),
    Case("row echoed", 20, echo, no_echo, Pure(1.0)),
    Case("answer given twice", 24, asked_twice, told_twice, Pure(1.0), BITS),
    Case("no noise on one branch", 10, one_branch, noisy_sum, Pure(1.0)),
]
TIMED = Case("time of the sampler", 19, slow_geometric, fast_geometric, Pure(1.0))
