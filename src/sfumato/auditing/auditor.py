"""The door of the auditor: attack a claim about any callable, and hand back what was found."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from sfumato.auditing.confirming import Draw, Errors
from sfumato.auditing.findings import Attempt, Evidence, Finding
from sfumato.auditing.isolation import isolated, survey
from sfumato.auditing.ladders import ladder_pairs
from sfumato.auditing.limits import points
from sfumato.auditing.neighbors import Pair, explicit, pairs_for, relation_of
from sfumato.auditing.probing import examples_for
from sfumato.auditing.repeats import beside_public, fork_repeats, forked, shares_noise
from sfumato.auditing.reporting import script_for
from sfumato.auditing.running import Raised, Runner, name_of
from sfumato.auditing.searching import Hunt, hunt
from sfumato.auditing.timing import timing
from sfumato.errors import ParameterError
from sfumato.privacy.adjacency import AddRemove, Adjacency, Row, Unit
from sfumato.privacy.guarantees import Approximate, Concentrated, Guarantee, Pure

__all__ = ["audit"]


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
    start = time.perf_counter()
    deadline = start + seconds
    runner = Runner(target, generator, seed)
    if pairs is not None:
        found = explicit(pairs)
    else:
        examples = examples_for(runner, inputs, relation_of(adjacency))
        found = pairs_for(examples, relation_of(adjacency), unit, records, bounds)
        if relation_of(adjacency) == AddRemove.name:
            climbed = dict.fromkeys(map(repr, [pair.record for pair in found[:40]]))
            tried = [pair.record for pair in found[:40] if climbed.pop(repr(pair.record), 1) is None]
            found += ladder_pairs(runner, examples[0], tried[:8], start + 0.1 * seconds)
    if not found:
        raise ParameterError("no neighboring inputs could be made; give inputs= or pairs=")
    attack = _Attack(runner, claim, found, Errors(alpha), deadline, forks)
    evidence = attack.carry_out()
    spent = time.perf_counter() - start
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
        self.bits = "real-arithmetic" not in claim.assumptions
        self.points = points(claim)
        self.tried: list[Attempt] = []
        self.notes: list[str] = []
        self.clock: str | None = None

    def carry_out(self) -> Evidence | None:
        """Every attack until one has evidence."""
        start = time.perf_counter()
        evidence = self._exits()
        if evidence is not None or not self.pairs:
            return evidence
        self.runner.watch(self.pairs[0].first)
        total = self.deadline - start
        for attack in (self._beside, self._forks, self._clock):
            evidence = attack(time.perf_counter() + 0.08 * total)
            if evidence is not None:
                return evidence
        return self._events(self.runner.draw, self.pairs, "event search", self.deadline)

    def _exits(self) -> Evidence | None:
        """Hard exits and endless loops; inputs that cause them leave the other attacks."""
        inputs = [data for pair in self.pairs for data in (pair.first, pair.second)]
        deaths = survey(self.runner, inputs, self.deadline).deaths
        self.tried.append(Attempt("exits", f"one run on each of {len(inputs)} inputs", len(inputs), math.inf))
        if not deaths:
            return None
        deadly = {k // 2 for k in deaths}
        uneven = [self.pairs[k] for k in sorted(deadly) if (2 * k in deaths) != (2 * k + 1 in deaths)]
        safe = next((d for k, d in enumerate(inputs) if k not in deaths), None)
        self.pairs = [pair for k, pair in enumerate(self.pairs) if k not in deadly]
        self.notes.append("some inputs end the process; the other attacks leave them out")
        if not uneven:
            return None

        def draw(data: Any, count: int) -> list[Any]:
            return isolated(self.runner, data, safe, count)

        return self._events(draw, uneven[:2], "exits", self.deadline)

    def _beside(self, deadline: float) -> Evidence | None:
        """The same noise in two calls."""
        usable = [pair for pair in self.pairs[:60] if not isinstance(self.runner.one(pair.first), Raised)]
        if not usable or self.runner.batch is not None:
            return None
        if not shares_noise(self.runner, usable[0].second):
            self.tried.append(Attempt("repeated calls", "64 pairs of calls", 128, math.inf))
            return None
        draw = beside_public(self.runner, usable[0].second)
        return self._events(draw, usable[:3], "repeated calls", deadline)

    def _forks(self, deadline: float) -> Evidence | None:
        if self.runner.wants_rng or self.runner.batch is not None:
            return None
        pair = self.pairs[0]
        if not fork_repeats(self.runner, pair.first):
            return None
        self.notes.append("a forked child repeats the noise of its parent; forks=True counts that")
        if not self.forks:
            return None
        return self._events(forked(self.runner, pair.second), self.pairs[:2], "fork", self.deadline)

    def _clock(self, deadline: float) -> Evidence | None:
        if self.runner.batch is not None:
            return None
        inputs = [data for pair in self.pairs[:40] for data in (pair.first, pair.second)]
        length = len(inputs[0]) if hasattr(inputs[0], "__len__") else 0
        alike = [d for d in inputs if hasattr(d, "__len__") and len(d) == length] or inputs
        alike = [data for data in alike[:12] if not isinstance(self.runner.one(data), Raised)]
        if len(alike) > 1:
            self.clock = timing(self.runner, alike[0], alike[-1], deadline - time.perf_counter())
        return None

    def _events(self, draw: Draw, pairs: list[Pair], attack: str, deadline: float) -> Evidence | None:
        found = hunt(draw, pairs, self.points, self.errors, bits=self.bits, deadline=deadline)
        tried = f"{found.pairs} pairs of neighbors, {self.errors.attempts} attempts in all"
        self.tried.append(Attempt(attack, tried, found.runs, found.power))
        return self._evidence(found, attack) if found.outcome is not None else None

    def _evidence(self, found: Hunt, attack: str) -> Evidence:
        assert found.pair is not None
        assert found.suspicion is not None
        assert found.outcome is not None
        suspicion, outcome, pair = found.suspicion, found.outcome, found.pair
        data = (pair.second, pair.first) if suspicion.flipped else (pair.first, pair.second)
        event = suspicion.event
        script = script_for(self.runner.target, *data, event, suspicion.claim, 4 * outcome.counts.trials)
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
