"""Which pair, which event: many pairs get few runs, the most suspicious get more, fresh runs decide.

Training runs are shared by all pairs that have an input in common.  In each round all pairs are screened,
the best are searched, every suspicion that fresh runs can settle soon is put to the test at once, and the
better third goes on with four times the runs.  When the last of them has shown nothing and time is left, all pairs
begin again, with fresh and more runs: what chance hid in one pass may show in the next.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from sfumato.auditing import clock
from sfumato.auditing.confirming import FIRST, LINGER, Errors, Outcome, confirm, least_epsilon, runs_needed
from sfumato.auditing.crew import Crew
from sfumato.auditing.events import Suspicion, search
from sfumato.auditing.neighbors import Pair
from sfumato.auditing.screening import Screen
from sfumato.auditing.shapes import printed

__all__ = ["Hunt", "hunt"]

FEWEST = 4  # runs on an input that are worth looking at
ROUNDS = (40, 160, 640, 2560, 10240, 40960, 163840, 655360)
SEARCHED = (6, 5, 4, 3, 2, 2, 1, 1)  # pairs that get a full search in each round
STORED = 40_000_000  # numbers kept in training samples at most
TRAINED = 0.2  # of the remaining time, what the next round of training may take
REST, LATEST = 0.03, 3  # of the time, what is not worth another pass; the round with which late passes begin
BIG = 5000  # runs beyond which screening adds nothing to the search


@dataclass
class Hunt:
    """What a search found, tried and spent."""

    pair: Pair | None = None
    suspicion: Suspicion | None = None
    outcome: Outcome | None = None
    pairs: int = 0
    runs: int = 0
    power: float = math.inf
    samples: dict[int, Any] = field(default_factory=dict)


@dataclass(eq=False)
class _Lead:
    pair: Pair
    keys: tuple[int, int]
    order: int
    merit: float = -math.inf
    suspicion: Suspicion | None = None

    @property
    def inputs(self) -> tuple[Any, Any]:
        return self.pair.first, self.pair.second


class _Search:
    """One hunt under way."""

    def __init__(
        self,
        crew: Crew,
        pairs: Sequence[Pair],
        points: tuple[tuple[float, float], ...],
        errors: Errors,
        bits: bool,
        deadline: float,
        linger: float,
    ) -> None:
        self.crew, self.points, self.errors, self.bits = crew, points, errors, bits
        self.deadline, self.linger = deadline, linger
        self.result = Hunt()
        self.pairs = pairs
        self.leads = _leads(pairs)
        self.drawing = 0.0
        self.allowed = self.left()

    def left(self) -> float:
        return self.deadline - clock.now()

    def pace(self) -> float:
        return self.drawing / max(self.result.runs, 1)

    def run(self) -> Hunt:
        for first in range(len(ROUNDS)):
            if self._pass(min(first, LATEST)) or self.left() < REST * self.allowed:
                break
            self.leads = _leads(self.pairs)
            self.result.samples.clear()
        return self.result

    def _pass(self, first: int) -> bool:
        """All rounds from `first` on over all pairs, and what time allows for the best."""
        for step, size in list(enumerate(ROUNDS))[first:]:
            self._sample(size, 0.3 * self.left())
            self._rank(size, step)
            if self._settle(size):
                return True
            self._cut(size)
            cost = 2 * len(self.leads) * 4 * size * self.pace()
            if self.left() <= 0 or cost > TRAINED * self.left() or self._full(4 * size):
                break
        return self._finish()

    def _sample(self, size: int, allowed: float) -> None:
        """Bring the samples of all leads to `size` runs; leads that time forbids are dropped."""
        stop = clock.now() + allowed
        size = self.crew.runner.affordable(size, FEWEST, allowed / 2)
        alive = {key for lead in self.leads for key in lead.keys}
        samples = self.result.samples
        for key in [key for key in samples if key not in alive]:
            del samples[key]
        for k, lead in enumerate(self.leads):
            if k and clock.now() > stop:
                self.leads = self.leads[:k]
                break
            for key, data in zip(lead.keys, lead.inputs, strict=True):
                have = samples.get(key)
                missing = size - (0 if have is None else len(have))
                if missing > 0:
                    fresh = self._draw(data, missing)
                    samples[key] = fresh if have is None else _join(have, fresh)
        self.result.pairs = max(self.result.pairs, len(self.leads))

    def _draw(self, data: object, count: int) -> Any:
        start = clock.now()
        fresh = self.crew.runner.draw(data, count)
        self.drawing += clock.now() - start
        self.result.runs += count
        return fresh

    def _rank(self, size: int, step: int) -> None:
        """Screen all leads, search the best of them, and sort."""
        stop = clock.now() + 0.35 * self.left()
        if size < BIG and len(self.leads) > SEARCHED[step]:
            samples = {key: self.result.samples[key] for lead in self.leads for key in lead.keys}
            screen = Screen(samples, self.bits, 0.15 * self.left())
            for k, lead in enumerate(self.leads):
                lead.merit = screen.merit(*lead.keys, self.points)
                if k and clock.now() > stop:
                    break
        self.leads.sort(key=lambda lead: -lead.merit)
        stop = clock.now() + 0.35 * self.left()
        plainest = min(self.leads, key=lambda lead: lead.order)
        chosen = [lead for lead in self.leads[: SEARCHED[step]] if lead is not plainest]
        for k, lead in enumerate([*chosen[:1], plainest, *chosen[1:]]):
            if k and clock.now() > stop:
                break
            first, second = (self.result.samples[key] for key in lead.keys)
            deep = step > 0 or len(self.leads) < 8
            lead.suspicion = search(first, second, self.points, lead.pair.record, bits=self.bits, deep=deep)
            lead.merit = max(lead.suspicion.merit, lead.merit if size < BIG else -math.inf)
        self.leads.sort(key=lambda lead: -lead.merit)

    def _settle(self, size: int) -> bool:
        """Put to the test what fresh runs can settle soon."""
        hopeful = []
        for lead in self.leads:
            if lead.suspicion is not None:
                needed = runs_needed(lead.suspicion, self.errors.peek())
                if needed <= max(300.0, 1.5 * size):
                    hopeful.append((needed, lead))
        hopeful.sort(key=lambda item: item[0])
        for needed, lead in hopeful[:3]:
            allowed = max(0.4 * self.left(), 8 * needed * self.pace())
            stop = min(self.deadline, clock.now() + allowed)
            if self._try(lead, stop, 4 * needed + 64):
                return True
        return False

    def _cut(self, size: int) -> None:
        pace = max(self.pace(), 1e-9)
        affordable = int(TRAINED * self.left() / pace / (8 * size))
        kept = max(1, min(max(3, len(self.leads) // 3), affordable))
        best = self.leads[: max(1, kept - kept // 3)]
        plain = sorted((lead for lead in self.leads if lead not in best), key=lambda lead: lead.order)
        self.leads = best + plain[: kept - len(best)]  # rare events show late: simple pairs stay

    def _full(self, size: int) -> bool:
        some = next(iter(self.result.samples.values()), [0.0])
        width = np.size(some[0]) if isinstance(some[0], np.ndarray | float) else 12
        return 2 * size * width * len(self.leads) > STORED

    def _try(self, lead: _Lead, deadline: float, most: float) -> bool:
        """One attempt on fresh runs; the error it may make is spent whatever it finds."""
        assert lead.suspicion is not None
        alpha = self.errors.next()
        size = self.crew.runner.affordable(FIRST, FEWEST, (deadline - clock.now()) / 4)
        outcome = confirm(
            self.crew.look, lead.inputs, lead.suspicion, alpha,
            deadline=deadline, most=most, linger=self.linger, size=size,
        )  # fmt: skip
        trials = outcome.counts.trials
        self.result.runs += 2 * trials
        power = least_epsilon(outcome.counts.rates, trials, lead.suspicion.claim, alpha)
        self.result.power = min(self.result.power, power)
        if outcome.refuted:
            self.result.pair, self.result.suspicion = lead.pair, lead.suspicion
            self.result.outcome = outcome
        return outcome.refuted

    def _finish(self) -> bool:
        """What time is left goes to the best leads, most of it to the first."""
        chosen = [lead for lead in self.leads if lead.suspicion is not None][:2]
        for k, lead in enumerate(chosen):
            if self.left() <= 0 and (k or self.pace() * FIRST > self.allowed):
                return False  # one attempt is always made, unless it would take as long as the whole search
            if self._try(lead, self.deadline, math.inf):
                return True
        return False


def hunt(
    crew: Crew,
    pairs: Sequence[Pair],
    points: tuple[tuple[float, float], ...],
    errors: Errors,
    *,
    bits: bool,
    deadline: float,
    linger: float = LINGER,
) -> Hunt:
    """Search all pairs for an event until `deadline`; stop `linger` seconds after the first that fresh runs confirm."""
    return _Search(crew, pairs, points, errors, bits, deadline, linger).run()


def _leads(pairs: Sequence[Pair]) -> list[_Lead]:
    """Equal inputs share their training runs."""
    known: dict[str, int] = {}
    leads = []
    for order, pair in enumerate(pairs):
        keys = [known.setdefault(printed(data), len(known)) for data in (pair.first, pair.second)]
        leads.append(_Lead(pair, (keys[0], keys[1]), order))
    return leads


def _join(have: Sequence[Any], fresh: Sequence[Any]) -> Sequence[Any]:
    if isinstance(have, np.ndarray) and isinstance(fresh, np.ndarray):
        return np.concatenate([have, fresh])
    return [*have, *fresh]
