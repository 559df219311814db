"""Fresh runs decide: an event fixed in advance, counted on both inputs, under a spent error rate."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sfumato.auditing import clock
from sfumato.auditing.events import Event, Suspicion
from sfumato.auditing.limits import Counts, clopper_pearson, epsilon_limit, wealth
from sfumato.auditing.running import Runner

__all__ = ["FIRST", "Draw", "Errors", "Look", "Outcome", "confirm", "least_epsilon", "reproduce", "runs_needed"]

Draw = Callable[[Any, int], Sequence[Any]]
Look = Callable[[Any, int, Event], np.ndarray]  # which of so many fresh runs on the data are in the event

FIRST = 64  # fresh runs on each input in the first chunk
LINGER = 0.3  # seconds of further runs after a refutation, for a sharper limit


class Errors:
    """The error rate of one audit: attempt i may err with probability alpha / (i (i + 1))."""

    def __init__(self, alpha: float) -> None:
        self.alpha = alpha
        self.attempts = 0

    def next(self) -> float:
        """The share of the next attempt; all shares together are at most alpha."""
        self.attempts += 1
        return self.alpha / (self.attempts * (self.attempts + 1))

    def peek(self) -> float:
        """What the next attempt would get."""
        return self.alpha / ((self.attempts + 1) * (self.attempts + 2))


@dataclass(frozen=True)
class Outcome:
    """Counts of fresh runs and the epsilon they show at the claim's delta."""

    counts: Counts
    epsilon: float
    refuted: bool


def runs_needed(suspicion: Suspicion, alpha: float) -> float:
    """Runs on each input after which the gambler should have shown the violation."""
    epsilon, delta = suspicion.claim
    p, q = suspicion.cautious
    if p - math.exp(epsilon) * q - delta <= 0:
        return math.inf
    many = 1_000_000
    counts = Counts(round(p * q * many), round(p * (1 - q) * many), round((1 - p) * q * many), many)
    rate = wealth(counts, (p, q), epsilon, delta) / many
    return math.log(2 / alpha) / rate if rate > 0 else math.inf


def confirm(
    look_at: Look,
    pair: tuple[Any, Any],
    suspicion: Suspicion,
    alpha: float,
    *,
    deadline: float,
    most: float = math.inf,
    linger: float = LINGER,
    size: int = FIRST,
) -> Outcome:
    """Count the event on fresh runs until the claim is refuted or time, runs or hope run out.

    The first chunk has `size` runs on each input.  After a refutation runs go on for `linger` seconds.
    """
    counts, chunks, looks, limit = Counts(), 0, 0, 0.0
    needed = runs_needed(suspicion, alpha)
    epsilon, delta = suspicion.claim
    first, second = pair[::-1] if suspicion.flipped else pair
    bar, refuted, start, end = math.log(2 / alpha), False, clock.now(), deadline
    while counts.trials < most and (clock.now() < end or not counts.trials):
        begun = clock.now()
        hits = look_at(first, size, suspicion.event)
        counts = counts.plus(hits, look_at(second, size, suspicion.event))
        bet = wealth(counts, suspicion.guess, epsilon, delta)
        chunks += 1
        look = chunks & (chunks - 1) == 0  # the chunks whose number is a power of two
        looks += look
        shown = epsilon_limit(counts, suspicion.guess, suspicion.claim, alpha, looks if look else None)
        limit = max(limit, shown)
        if limit > epsilon and not refuted:  # go on a little, for a sharper limit
            refuted, most = True, max(4 * counts.trials, 2000) if linger <= LINGER else math.inf
            end = min(deadline, clock.now() + linger)
            if clock.now() - begun > 0.3 * linger:
                break
        late = clock.now() > (start + deadline) / 2
        if counts.trials > 1000 and not refuted and (bet < -bar or (late and bet < 0)):
            break
        size = _next_size(size, needed - counts.trials, clock.now() - begun, deadline)  # blind to the outputs
    return Outcome(counts, limit, refuted)


def _next_size(size: int, missing: float, spent: float, deadline: float) -> int:
    """Grow by half, or to what is expected to suffice, as far as time allows."""
    wanted = max(1.5 * size, min(missing, 4096.0))
    affordable = 0.6 * (deadline - clock.now()) * size / max(spent, 1e-9)
    return int(max(min(16.0, size), min(wanted, affordable, 16384.0)))


def least_epsilon(rates: tuple[float, float], trials: int, claim: tuple[float, float], alpha: float) -> float:
    """The least epsilon that nine of ten such attempts would have shown.

    The event keeps the rate it had on the second input; its rate on the first rises until the
    expected gap exceeds the claim by the critical distance and 1.3 standard errors.
    """
    epsilon, delta = claim
    if not trials:
        return math.inf
    factor, q = math.exp(epsilon), max(rates[1], 1 / trials)
    critical = math.sqrt(2 * math.log(2 / alpha)) + 1.3
    floor = factor * q + delta
    for p in np.linspace(min(floor, 1.0), 1.0, 400):
        spread = math.sqrt(p * (1 - p) + factor**2 * q * (1 - q))
        if p - floor > critical * spread / math.sqrt(trials):
            return math.log((p - delta) / q)
    return math.inf


def reproduce(
    target: Callable[..., Any],
    first: object,
    second: object,
    event: Event,
    *,
    epsilon: float,
    delta: float,
    trials: int,
    alpha: float = 1e-6,
    seed: int = 1,
    generator: Callable[..., Any] = np.random.default_rng,
) -> str:
    """Run the target afresh on both inputs and say what the event shows."""
    runner = Runner(target, generator, seed)
    counts = Counts().plus(event.hits(runner.draw(first, trials)), event.hits(runner.draw(second, trials)))
    p, q = counts.rates
    low = clopper_pearson(counts.both + counts.first, trials, alpha / 2)[0]
    high = clopper_pearson(counts.both + counts.second, trials, alpha / 2)[1]
    shown = math.log((low - delta) / high) if low > delta else 0.0
    return (
        f"event: {event.words}\nrates {p:.4g} against {q:.4g} in {trials} runs each: "
        f"epsilon >= {shown:.4g} at delta = {delta:.3g}, claimed {epsilon:.4g}"
    )
