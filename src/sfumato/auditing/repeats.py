"""Repeated calls: noise that is missing, reused, copied by a fork, or the same in two mechanisms.

Beside target(x) run the target on public data z.  The second answer holds nothing about x, so the pair
of answers keeps the claim.  If both runs share their noise, the difference of the answers shows x:
event search on the pair finds that, whether the cause is a fixed seed, the clock or a cached draw.
"""

from __future__ import annotations

import os
import pickle
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from sfumato.auditing.running import Runner, name_of, takes_rng
from sfumato.auditing.walking import walk

__all__ = ["FEW_PROBES", "PROBES", "Beside", "Forked", "fork_repeats", "in_child", "shares_noise"]

PROBES, FEW_PROBES = 64, 2  # pairs of calls; of a target so slow that so many would take all the time


class Beside:
    """The target on the data, and right after it on public data."""

    def __init__(self, target: Callable[..., Any], public: object) -> None:
        self.name, self._target, self._public = name_of(target), target, public
        self._wants_rng = takes_rng(target)

    def __call__(self, data: object, rng: object) -> tuple[Any, Any]:
        more = (rng,) if self._wants_rng else ()
        return self._target(data, *more), self._target(self._public, *more)


class Forked:
    """The target on the data in a forked child, and on public data in its parent."""

    def __init__(self, target: Callable[..., Any], public: object) -> None:
        self.name, self._target, self._public = name_of(target), target, public

    def __call__(self, data: object) -> tuple[Any, Any]:
        return in_child(lambda: self._target(data)), self._target(self._public)


def shares_noise(runner: Runner, public: object, probes: int = PROBES) -> bool:
    """Whether two calls in a row look alike: the same answer, or a difference that hardly varies."""
    pairs = [(runner.one(public), runner.one(public)) for _ in range(probes)]
    if sum(repr(a) == repr(b) for a, b in pairs) > probes / 4:
        return True
    if probes < PROBES:  # too few to tell how much a difference varies
        return False
    rows = [(dict(walk(a)), dict(walk(b))) for a, b in pairs]
    for name in set.intersection(*(set(row[0]) & set(row[1]) for row in rows)):
        table = np.array([(row[0][name], row[1][name]) for row in rows])
        spread = np.var(table, axis=0).sum() if np.all(np.isfinite(table)) else 0.0
        if spread > 0 and np.var(table[:, 0] - table[:, 1]) < 0.25 * spread:
            return True
    return False


def fork_repeats(runner: Runner, data: object, times: int = 4) -> bool:
    """Whether a forked child repeats the answers that its parent is about to give, and they vary."""
    pairs = [(in_child(lambda: runner.one(data)), runner.one(data)) for _ in range(times)]
    answers = {repr(mine) for _, mine in pairs}
    return len(answers) > 1 and all(repr(theirs) == repr(mine) for theirs, mine in pairs)


def in_child(run: Callable[[], Any]) -> Any:
    """The value of `run()` in a forked child, by pickle; None if the child ends before."""
    reader, writer = os.pipe()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        pid = os.fork()
    if pid == 0:
        try:
            value = run()
            try:
                message = pickle.dumps(value)
            except Exception:
                message = pickle.dumps(repr(value))
            with os.fdopen(writer, "wb") as pipe:
                pipe.write(message)
        finally:
            os._exit(0)
    os.close(writer)
    with os.fdopen(reader, "rb") as pipe:
        message = pipe.read()
    os.waitpid(pid, 0)
    return pickle.loads(message) if message else None
