"""The door of the auditor: attack a claim about any callable, and hand back what was found."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from sfumato.auditing import clock
from sfumato.auditing.confirming import Errors
from sfumato.auditing.findings import Attempt, Evidence, Finding
from sfumato.auditing.isolation import Isolated, survey
from sfumato.auditing.ladders import ladder_pairs
from sfumato.auditing.limits import points
from sfumato.auditing.neighbors import Pair, explicit, pairs_for, relation_of
from sfumato.auditing.probing import examples_for
from sfumato.auditing.repeats import Beside, Forked, fork_repeats, shares_noise
from sfumato.auditing.reporting import script_for
from sfumato.auditing.running import Raised, Runner, name_of
from sfumato.auditing.searching import Hunt, hunt
from sfumato.auditing.timing import timing
from sfumato.auditing.walking import walk
from sfumato.errors import ParameterError
from sfumato.privacy.adjacency import AddRemove, Adjacency, Row, Unit
from sfumato.privacy.guarantees import Approximate, Concentrated, Guarantee, Pure

__all__ = ["audit"]

HANGS = 40.0  # seconds that it takes to show an endless run with confidence
WRAPPERS: dict[str, Callable[..., Any]] = {"Beside": Beside, "Forked": Forked, "Isolated": Isolated}


def audit(
    target: Callable[..., Any],
    claim: Guarantee,
    *,
    inputs: Any = None,
    pairs: Sequence[tuple[Any, Any] | Pair] | None = None,
    records: Sequence[Any] | None = None,
    bounds: tuple[float, float] | None = None,
    unit: Unit = Row(),  # noqa: B008 (frozen)
    adjacency: Adjacency | str = AddRemove(),  # noqa: B008 (frozen)
    seconds: float = 60.0,
    alpha: float = 1e-6,
    seed: int = 0,
    generator: Callable[[int], Any] = np.random.default_rng,
    forks: bool = False,
) -> Finding:
    """Look for evidence that `target` does not keep `claim`.

    `target(data)` or `target(data, rng)` may return anything.  `inputs` is an example of its data
    (or an `Examples` of several); without it, common shapes are tried.  Neighbors are made from it,
    unless `pairs` gives them.  `records` or `bounds` restrict what a record may be; otherwise NaN,
    infinities and huge values are records too.  `forks=True` counts noise that a forked child
    repeats as evidence.  A claim that assumes `real-arithmetic` is not attacked by its bits.
    """
    _check(claim, seconds, alpha)
    start = clock.now()
    deadline = start + seconds
    runner = Runner(target, generator, seed)
    if pairs is not None:
        found = explicit(pairs)
    else:
        examples = examples_for(runner, inputs, relation_of(adjacency))
        found = pairs_for(examples, relation_of(adjacency), unit, records, bounds)
        if relation_of(adjacency) == AddRemove.name:
            tried = {repr(pair.record): pair.record for pair in found[:40] if pair.record is not None}
            found += ladder_pairs(runner, examples[0], [*tried.values()][:8], start + 0.1 * seconds)
    if not found:
        raise ParameterError("no neighboring inputs could be made; give inputs= or pairs=")
    attack = _Attack(runner, claim, found, Errors(alpha), deadline, forks)
    attack.generator, attack.seed = generator, seed
    evidence = attack.carry_out()
    spent = clock.now() - start
    return Finding(
        name_of(target),
        claim,
        evidence,
        tuple(attack.tried),
        attack.clock,
        tuple(attack.notes),
        spent,
    )


def _check(claim: Guarantee, seconds: float, alpha: float) -> None:
    if not isinstance(claim, Pure | Approximate | Concentrated):
        raise ParameterError(f"claim must be a guarantee such as Pure(1.0), got {type(claim).__name__}")
    if not seconds > 0:
        raise ParameterError(f"seconds must be positive, got {seconds!r}")
    if not 0 < alpha < 1:
        raise ParameterError(f"alpha must lie between 0 and 1, got {alpha!r}")


class _Attack:
    """One audit under way: the attacks in order, sharing time and error rate."""

    def __init__(
        self,
        runner: Runner,
        claim: Guarantee,
        pairs: list[Pair],
        errors: Errors,
        deadline: float,
        forks: bool,
    ) -> None:
        self.runner, self.claim, self.pairs, self.errors = runner, claim, pairs, errors
        self.deadline, self.forks = deadline, forks
        self.generator: Callable[[int], Any] = np.random.default_rng
        self.seed = 0
        self.bits = "real-arithmetic" not in claim.assumptions
        self.points = points(claim)
        self.tried: list[Attempt] = []
        self.notes: list[str] = []
        self.clock: str | None = None

    def carry_out(self) -> Evidence | None:
        """Every attack until one has evidence."""
        start = clock.now()
        evidence = self._exits()
        if evidence is not None or not self.pairs:
            return evidence
        self.runner.watch(self.pairs[0].first)
        total = self.deadline - start
        for attack in (self._beside, self._forks, self._clock):
            evidence = attack(clock.now() + 0.08 * total)
            if evidence is not None:
                return evidence
        return self._events(self.pairs, "event search", self.deadline)

    def _exits(self) -> Evidence | None:
        """Hard exits and endless loops; inputs that cause them leave the other attacks."""
        inputs = [data for pair in self.pairs for data in (pair.first, pair.second)]
        deaths = survey(self.runner, inputs, time.perf_counter() + 0.1 * self._left())
        self.tried.append(Attempt("exits", f"one run on each of {len(inputs)} inputs", len(inputs), math.inf))
        if not deaths:
            return None
        deadly = {k // 2 for k in deaths}
        uneven = [self.pairs[k] for k in sorted(deadly) if (2 * k in deaths) != (2 * k + 1 in deaths)]
        safe = next((d for k, d in enumerate(inputs) if k not in deaths), None)
        self.pairs = [pair for k, pair in enumerate(self.pairs) if k not in deadly]
        self.notes.append("some inputs end the process; the other attacks leave them out")
        if not uneven or ("hangs" in deaths.values() and self._left() < HANGS):
            return None

        return self._events(uneven[:1], "exits", self.deadline, ("Isolated", safe))

    def _beside(self, deadline: float) -> Evidence | None:
        """The same noise in two calls."""
        if self.runner.batch is not None:
            return None
        usable = self._apart("Beside")
        if not shares_noise(self.runner, usable[0].second):
            self.tried.append(Attempt("repeated calls", "64 pairs of calls", 128, math.inf))
            return None
        found = self._events(usable[:3], "repeated calls", deadline, ("Beside", usable[0].second))
        if found is None:
            return None
        plain = [Pair(*found.neighbors, found.relation)]  # the target alone may show as much
        return self._events(plain, "event search", clock.now() + 0.05 * self._left()) or found

    def _apart(self, wrapper: str) -> list[Pair]:
        """The first pairs, those in front whose answers lie farthest apart when both share their noise."""
        chosen = self.pairs[:12]
        gaps = []
        for pair in chosen:
            wrapped = Runner(WRAPPERS[wrapper](self.runner.target, pair.second), self.generator, self.seed)
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
        usable = self._apart("Forked")
        return self._events(usable[:1], "fork", self.deadline, ("Forked", usable[0].second))

    def _clock(self, deadline: float) -> Evidence | None:
        if self.runner.batch is not None:
            return None
        inputs = [data for pair in self.pairs[:40] for data in (pair.first, pair.second)]
        length = len(inputs[0]) if hasattr(inputs[0], "__len__") else 0
        alike = [d for d in inputs if hasattr(d, "__len__") and len(d) == length] or inputs
        alike = [data for data in alike[:12] if not isinstance(self.runner.one(data), Raised)]
        if len(alike) > 1:
            self.clock = timing(self.runner, alike[0], alike[-1], deadline - clock.now())
        return None

    def _left(self) -> float:
        return self.deadline - clock.now()

    def _events(
        self, pairs: list[Pair], attack: str, deadline: float, around: tuple[str, Any] | None = None
    ) -> Evidence | None:
        """Event search on the target, or on the target wrapped in a class with public data."""
        runner = self.runner
        if around is not None:
            wrapped = WRAPPERS[around[0]](runner.target, around[1])
            runner = Runner(wrapped, self.generator, self.seed + 1)
        found = hunt(runner.draw, pairs, self.points, self.errors, bits=self.bits, deadline=deadline)
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
        if event.of_bits:
            attack = "support and bits"
            self.notes.append("the evidence is in low bits; a claim that assumes real-arithmetic sets them aside")
        trials = (2 if around else 4) * outcome.counts.trials
        script = script_for(self.runner.target, data, event, suspicion.claim, trials, around)
        return Evidence(
            attack=attack,
            neighbors=data,
            relation=pair.relation,
            words=event.words,
            event=event,
            epsilon=outcome.epsilon,
            delta=suspicion.claim[1],
            alpha=self.errors.alpha,
            rates=outcome.counts.rates,
            trials=outcome.counts.trials,
            script=script,
        )
