"""Runs in a child process: hard exits, signals and endless loops are outputs too."""

from __future__ import annotations

import math
import os
import pickle
import select
import signal
import time
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from sfumato.auditing.running import Died, Runner, name_of

__all__ = ["PATIENCE", "Isolated", "survey"]

PATIENCE, SHORT = 2.0, 0.2  # seconds after which a run counts as endless, at first and when repeated
SURE = 2  # inputs that are tried however little time there is: the first pair's


class Isolated:
    """A target whose every run happens in a child; a run that ends the process gives `Died`."""

    def __init__(self, target: Callable[..., Any], safe: object, seed: int = 0) -> None:
        self.name, self._safe = name_of(target), safe
        self._runner = Runner(target, np.random.default_rng, seed)

    def __call__(self, data: object) -> Any:
        return self.batch(data, 1, None)[0]

    def batch(self, data: object, count: int, _: object) -> list[Any]:
        """Many runs, with a new child only after a death."""
        return isolated(self._runner, data, self._safe, count)


def survey(runner: Runner, inputs: Sequence[Any], deadline: float) -> tuple[dict[int, str], int]:
    """How inputs, by position, end a child that runs each once, and how many were tried: two at least.

    A dead child is replaced by the next.
    """
    deaths: dict[int, str] = {}
    position = 0
    while position < len(inputs) and len(deaths) < 40 and (position < SURE or time.perf_counter() < deadline):
        part, stop = (inputs[position:SURE], math.inf) if position < SURE else (inputs[position:], deadline)
        outputs, how = _child(runner, part, stop=stop)
        position += len(outputs)
        if how is not None and len(outputs) < len(part):
            deaths[position] = how
            position += 1
    return deaths, position


def isolated(runner: Runner, data: object, safe: object, count: int) -> list[Any]:
    """`count` outputs, each run safe in a child; a run that ends the process gives `Died`.

    A child inherits the parent's generators.  So that children do not repeat each other, the
    generators within reach are seeded anew and the rest are moved on by runs on `safe` data.
    """
    outputs: list[Any] = []
    while len(outputs) < count:
        runner.children += 1
        burn = [safe] * (runner.children % 97)
        found, how = _child(runner, [data] * (count - len(outputs)), burn, patience=SHORT)
        outputs += found
        if how is not None and len(outputs) < count:
            outputs.append(Died(how))
    runner.runs += count
    return outputs


def _child(
    runner: Runner,
    inputs: Sequence[Any],
    burn: Sequence[Any] = (),
    stop: float = math.inf,
    patience: float = PATIENCE,
) -> tuple[list[Any], str | None]:
    """Outputs up to the first death, and how the child died (None if it did not, or time was up)."""
    reader, writer = os.pipe()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        pid = os.fork()
    if pid == 0:
        os.close(reader)
        _serve(runner, inputs, burn, writer)
    os.close(writer)
    outputs, hangs = _collect(reader, pid, len(inputs), stop, patience)
    os.close(reader)
    status = os.waitpid(pid, 0)[1]
    if hangs:
        return outputs, "hangs"
    if len(outputs) == len(inputs) or time.perf_counter() > stop:
        return outputs, None
    if os.WIFSIGNALED(status):
        return outputs, f"signal {signal.Signals(os.WTERMSIG(status)).name}"
    return outputs, f"exit code {os.WEXITSTATUS(status)}"


def _serve(runner: Runner, inputs: Sequence[Any], burn: Sequence[Any], writer: int) -> None:
    """The child's side: outputs as length-prefixed pickles; never returns."""
    try:
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, 1)
        os.dup2(null, 2)
        runner.reseed()
        for data in burn:
            runner.one(data)
        for data in inputs:
            output = runner.one(data)
            try:
                message = pickle.dumps(output)
            except Exception:
                message = pickle.dumps(repr(output))
            os.write(writer, len(message).to_bytes(8, "big") + message)
    finally:
        os._exit(86)


def _collect(reader: int, pid: int, count: int, stop: float, patience: float) -> tuple[list[Any], bool]:
    buffer = b""
    outputs: list[Any] = []
    while len(outputs) < count:
        if time.perf_counter() > stop:
            os.kill(pid, signal.SIGKILL)
            return outputs, False
        if not select.select([reader], [], [], patience)[0]:
            os.kill(pid, signal.SIGKILL)
            return outputs, True
        piece = os.read(reader, 1 << 20)
        if not piece:
            return outputs, False
        buffer += piece
        while len(buffer) >= 8 and len(buffer) >= 8 + int.from_bytes(buffer[:8], "big"):
            size = int.from_bytes(buffer[:8], "big")
            outputs.append(pickle.loads(buffer[8 : 8 + size]))
            buffer = buffer[8 + size :]
    return outputs, False
