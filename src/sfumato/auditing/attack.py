"""One audit under way: the attacks in their order, sharing time and error rate."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence, Sized
from typing import Any

import numpy as np

from sfumato.auditing import clock
from sfumato.auditing.confirming import LINGER, Errors
from sfumato.auditing.crew import Crew
from sfumato.auditing.events import Event
from sfumato.auditing.findings import Attempt, Evidence
from sfumato.auditing.isolation import PATIENCE, Isolated, survey
from sfumato.auditing.neighbors import Pair
from sfumato.auditing.repeats import FEW_PROBES, PROBES, Beside, Forked, fork_repeats, shares_noise
from sfumato.auditing.reporting import script_for
from sfumato.auditing.running import Raised, Runner, Seen
from sfumato.auditing.searching import Hunt, hunt
from sfumato.auditing.timing import ENOUGH, timing
from sfumato.auditing.walking import walk

__all__ = ["Attack"]

HANGS = 40.0  # seconds that it takes to show an endless run with confidence
FLOOR = 0.02  # of the time, what is not worth another step of sharpening
WRAPPERS: dict[str, Callable[..., Any]] = {"Beside": Beside, "Forked": Forked, "Isolated": Isolated}


class Attack:
    """Looks for evidence against `points`, pairs of epsilon and delta, of which a claim promises each."""

    def __init__(
        self,
        runner: Runner,
        points: Sequence[tuple[float, float]],
        pairs: list[Pair],
        errors: Errors,
        deadline: float,
        *,
        bits: bool,
        forks: bool,
        sharpen: bool,
        cores: int,
    ) -> None:
        self.runner, self.points, self.pairs, self.errors = runner, tuple(points), pairs, errors
        self.deadline, self.bits, self.forks, self.sharpen, self.cores = deadline, bits, forks, sharpen, cores
        self.claimed = {delta: epsilon for epsilon, delta in self.points}
        self.tried: list[Attempt] = []
        self.notes: list[str] = []
        self.clock: str | None = None
        self.audited = True
        runner.seen = Seen()  # what was tried to find out the shape of the data is no audit

    def carry_out(self) -> Evidence | None:
        """Every attack until one has evidence; then, if asked, the largest epsilon that the time allows."""
        start = clock.now()
        evidence = self._exits()
        if evidence is None and self.pairs:
            self.runner.watch(self.pairs[0].first)
            self._crew()
            total = self.deadline - start
            for attack in (self._beside, self._forks, self._clock):
                evidence = attack(clock.now() + 0.08 * total)
                if evidence is not None:
                    break
            else:
                evidence = self._events(self.pairs, "event search", self.deadline)
        if evidence is not None and self.sharpen:
            evidence = self._sharpened(evidence, FLOOR * (self.deadline - start))
        if evidence is not None and isinstance(evidence.event, Event) and evidence.event.of_bits:
            self.notes.append(
                "the evidence rests on low bits of floating-point numbers; a claim that assumes real-arithmetic "
                "(--real-arithmetic) sets them aside"
            )
        if evidence is None and self.runner.seen.blank is not None:
            self.audited = False
            self.notes.insert(0, self.runner.seen.blank)
        return evidence

    def _crew(self) -> None:
        """One core only, where a child would repeat its parent's noise."""
        if self.cores > 1 and not self.runner.wants_rng and fork_repeats(self.runner, self.pairs[0].first):
            self.cores = 1
            self.notes.append("one core was used: a forked child repeats its parent's noise")

    def _sharpened(self, evidence: Evidence, floor: float) -> Evidence:
        """The same search against what is already shown, as long as it shows more."""
        self.points = ((evidence.epsilon, evidence.delta),)
        while self.pairs and self._left() > floor and evidence.attack in ("event search", "support and bits"):
            better = self._events(self.pairs, "sharpening", self.deadline, linger=max(LINGER, 0.3 * self._left()))
            if better is None:
                break
            evidence = better
            self.points = ((evidence.epsilon, evidence.delta),)
        return evidence

    def _exits(self) -> Evidence | None:
        """Hard exits and endless loops; inputs that cause them, or that nobody has tried, leave the other attacks."""
        inputs = [data for pair in self.pairs for data in (pair.first, pair.second)]
        deaths, known = survey(self.runner, inputs, time.perf_counter() + max(PATIENCE, 0.1 * self._left()))
        self.tried.append(Attempt("exits", f"one run on each of {known} inputs", known))
        if known < len(inputs):
            self.notes.append(
                f"the time sufficed to try {known} of {len(inputs)} inputs in a process of their own; the attacks "
                "leave out the others"
            )
        deadly = {k // 2 for k in deaths}
        uneven = [self.pairs[k] for k in sorted(deadly) if (2 * k in deaths) != (2 * k + 1 in deaths)]
        safe = next((d for k, d in enumerate(inputs[:known]) if k not in deaths), None)
        self.pairs = [pair for k, pair in enumerate(self.pairs) if k not in deadly and 2 * k + 1 < known]
        if not deaths:
            return None
        self.notes.append("some inputs end the process; the other attacks leave them out")
        if not uneven or ("hangs" in deaths.values() and self._left() < HANGS):
            return None
        return self._events(uneven[:1], "exits", self.deadline, ("Isolated", safe))

    def _beside(self, deadline: float) -> Evidence | None:
        """The same noise in two calls."""
        if self.runner.batch is not None:
            return None
        usable = self._apart("Beside", deadline)
        probes = self.runner.affordable(2 * PROBES, 2 * FEW_PROBES, deadline - clock.now()) // 2
        if not shares_noise(self.runner, usable[0].second, probes):
            self.tried.append(Attempt("repeated calls", f"{probes} pairs of calls", 2 * probes))
            return None
        found = self._events(usable[:3], "repeated calls", deadline, ("Beside", usable[0].second))
        if found is None:
            return None
        plain = [Pair(*found.neighbors, found.relation)]  # the target alone may show as much
        return self._events(plain, "event search", clock.now() + 0.05 * self._left()) or found

    def _apart(self, wrapper: str, deadline: float) -> list[Pair]:
        """The first pairs, those in front whose answers lie farthest apart when both share their noise."""
        chosen = self.pairs[: self.runner.affordable(24, 2, (deadline - clock.now()) / 2) // 2]
        gaps = []
        for pair in chosen:
            wrapped = Runner(WRAPPERS[wrapper](self.runner.target, pair.second), self.runner.made_by, self.runner.seed)
            output = wrapped.one(pair.first)
            sides = output if isinstance(output, tuple) and len(output) == 2 else (0.0, 0.0)
            one, two = (next((v for _, v in walk(side)), 0.0) for side in sides)
            gaps.append(float(np.nan_to_num(abs(np.clip(one, -1e300, 1e300) - np.clip(two, -1e300, 1e300)))))
        return [chosen[k] for k in sorted(range(len(chosen)), key=lambda k: -gaps[k])]

    def _forks(self, deadline: float) -> Evidence | None:
        if self.runner.wants_rng or self.runner.batch is not None:
            return None
        if not fork_repeats(self.runner, self.pairs[0].first):
            return None
        self.notes.append("a forked child repeats the noise of its parent; forks=True counts that")
        if not self.forks:
            return None
        usable = self._apart("Forked", deadline)
        return self._events(usable[:1], "fork", self.deadline, ("Forked", usable[0].second))

    def _clock(self, deadline: float) -> Evidence | None:
        if self.runner.batch is not None:
            return None
        inputs = [data for pair in self.pairs[:40] for data in (pair.first, pair.second)]
        length = len(inputs[0]) if isinstance(inputs[0], Sized) else 0
        alike = [d for d in inputs if isinstance(d, Sized) and len(d) == length] or inputs
        if self.runner.affordable(2 * ENOUGH, 0, deadline - clock.now()) < 2 * ENOUGH:
            return None  # too slow to say anything of its clock
        alike = [data for data in alike[:12] if not isinstance(self.runner.one(data), Raised)]
        if len(alike) > 1:
            self.clock = timing(self.runner, alike[0], alike[-1], deadline - clock.now())
        return None

    def _left(self) -> float:
        return self.deadline - clock.now()

    def _events(
        self,
        pairs: list[Pair],
        attack: str,
        deadline: float,
        around: tuple[str, Any] | None = None,
        linger: float = LINGER,
    ) -> Evidence | None:
        """Event search on the target, or on the target wrapped in a class with public data."""
        crew = Crew(self.runner, self.cores)
        if around is not None:
            wrapped = WRAPPERS[around[0]](self.runner.target, around[1])
            runner = Runner(wrapped, self.runner.made_by, self.runner.seed + 1)
            runner.runs, runner.spent = 1, 2 * self.runner.pace  # as slow as two runs, until it is known
            crew = Crew(runner, 1)
        found = hunt(crew, pairs, self.points, self.errors, bits=self.bits, deadline=deadline, linger=linger)
        tried = f"{found.pairs} pairs of neighbors, {self.errors.attempts} attempts in all"
        self.tried.append(Attempt(attack, tried, found.runs, found.power))
        return self._evidence(found, attack, around) if found.outcome is not None else None

    def _evidence(self, found: Hunt, attack: str, around: tuple[str, Any] | None) -> Evidence:
        assert found.pair is not None
        assert found.suspicion is not None
        assert found.outcome is not None
        suspicion, outcome, pair = found.suspicion, found.outcome, found.pair
        data = (pair.second, pair.first) if suspicion.flipped else (pair.first, pair.second)
        event = suspicion.event
        attack = "support and bits" if event.of_bits else "event search" if attack == "sharpening" else attack
        trials = (2 if around else 4) * outcome.counts.trials
        delta = suspicion.claim[1]
        return Evidence(
            attack=attack,
            neighbors=data,
            relation=pair.relation,
            words=event.words,
            event=event,
            epsilon=outcome.epsilon,
            delta=delta,
            alpha=self.errors.alpha,
            rates=outcome.counts.rates,
            trials=outcome.counts.trials,
            script=script_for(
                self.runner.target, data, event, (self.claimed[delta], delta), trials, around, self.runner.made_by
            ),
        )
