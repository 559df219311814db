"""Several cores: the runs that count are made in forked children, each with a state of randomness of its own.

Only the truth of the event comes back, so outputs need not be sent.  A child's generators within reach are
seeded anew; where a child would repeat its parent's noise all the same, its runs would not be independent, and
one core is used.
"""

from __future__ import annotations

import os
import warnings

import numpy as np

from sfumato.auditing.events import Event
from sfumato.auditing.running import Runner

__all__ = ["Crew"]

WORTH = 0.03  # seconds of runs below which a fork costs more than it saves


class Crew:
    """Looks at events of a runner's outputs, on one core or on several."""

    def __init__(self, runner: Runner, cores: int) -> None:
        self.runner, self.cores = runner, cores

    def look(self, data: object, count: int, event: Event) -> np.ndarray:
        """Which of `count` fresh runs on the data are in the event."""
        if self.cores == 1 or count * self.runner.pace < WORTH:
            return event.hits(self.runner.draw(data, count))
        shares = [len(part) for part in np.array_split(np.arange(count), self.cores)]
        children = [self._send(data, share, event) for share in shares if share]
        parts = [_receive(*child) for child in children]
        self.runner.runs += count
        return np.concatenate(parts) if all(len(p) for p in parts) else event.hits(self.runner.draw(data, count))

    def _send(self, data: object, count: int, event: Event) -> tuple[int, int]:
        self.runner.children += 1
        reader, writer = os.pipe()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            pid = os.fork()
        if pid:
            os.close(writer)
            return reader, pid
        try:
            os.close(reader)
            self.runner.reseed()
            hits = event.hits(self.runner.draw(data, count))
            with os.fdopen(writer, "wb") as pipe:
                pipe.write(hits.astype(np.uint8).tobytes())
        finally:
            os._exit(0)


def _receive(reader: int, pid: int) -> np.ndarray:
    with os.fdopen(reader, "rb") as pipe:
        content = pipe.read()
    os.waitpid(pid, 0)
    return np.frombuffer(content, dtype=np.uint8).astype(bool)
