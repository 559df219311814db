"""Which pair, which event: many pairs get few runs, the most suspicious get more, fresh runs decide.

Training runs are shared by all pairs that have an input in common.  After each round the pairs are
ranked by their best event, the better part goes on with four times the runs, and every suspicion that
fresh runs can settle soon is put to the test at once.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from sfumato.auditing.confirming import Draw, Errors, Outcome, confirm, least_epsilon, runs_needed
from sfumato.auditing.events import Suspicion, search
from sfumato.auditing.neighbors import Pair

__all__ = ["Hunt", "hunt"]

ROUNDS = (40, 160, 640, 2560, 10240, 40960, 163840)
STORED = 40_000_000  # numbers kept in training samples at most


@dataclass
class Hunt:
    """What a search found, tried and spent."""

    pair: Pair | None = None
    suspicion: Suspicion | None = None
    outcome: Outcome | None = None
    alpha: float = 0.0
    pairs: int = 0
    runs: int = 0
    power: float = math.inf
    samples: dict[int, Any] = field(default_factory=dict)


@dataclass
class _Lead:
    pair: Pair
    keys: tuple[int, int]
    suspicion: Suspicion | None = None
    needed: float = math.inf
    failed: int = 0


def hunt(
    draw: Draw,
    pairs: Sequence[Pair],
    points: tuple[tuple[float, float], ...],
    errors: Errors,
    *,
    bits: bool,
    deadline: float,
) -> Hunt:
    """Search all pairs for an event until `deadline`; stop at the first that fresh runs confirm."""
    result = Hunt(pairs=len(pairs))
    leads = _leads(pairs)
    start = time.perf_counter()
    for step, size in enumerate(ROUNDS):
        _train(result, draw, leads, points, size, bits, step, deadline)
        leads = [lead for lead in leads if lead.suspicion is not None]
        leads.sort(key=lambda lead: -lead.suspicion.merit)  # type: ignore[union-attr]
        for lead in leads:
            lead.needed = runs_needed(lead.suspicion, errors.peek())  # type: ignore[arg-type]
        hopeful = sorted(
            (x for x in leads if 4 * x.needed <= _affordable(size, step)), key=lambda x: x.needed
        )
        for lead in hopeful[:3]:
            if _try(result, draw, lead, errors, min(deadline, time.perf_counter() + 5), 6 * lead.needed):
                return result
        left = deadline - time.perf_counter()
        pace = (time.perf_counter() - start) / max(result.runs, 1)
        leads = leads[: max(1, min(len(leads) // 3, int(0.25 * left / pace / (8 * size)) + 1))]
        if left <= 0 or not leads or pace * 8 * size > 0.3 * left or _full(result, size):
            break
    _finish(result, draw, leads, errors, deadline)
    return result


def _affordable(size: int, step: int) -> float:
    return max(1200.0, 6.0 * size) if step < 5 else 4.0 * size


def _full(result: Hunt, size: int) -> bool:
    some = next(iter(result.samples.values()), [0.0])
    width = getattr(some[0], "size", 8)
    return 8 * size * width > STORED


def _leads(pairs: Sequence[Pair]) -> list[_Lead]:
    """Equal inputs share their training runs, by identity of their printed form."""
    known: dict[str, int] = {}
    leads = []
    for pair in pairs:
        keys = [
            known.setdefault(f"{type(d).__name__}{_print(d)}", len(known)) for d in (pair.first, pair.second)
        ]
        leads.append(_Lead(pair, (keys[0], keys[1])))
    return leads


def _print(data: Any) -> str:
    return repr(data.tolist()) if hasattr(data, "tolist") else repr(data)


def _train(
    result: Hunt,
    draw: Draw,
    leads: list[_Lead],
    points: tuple[tuple[float, float], ...],
    size: int,
    bits: bool,
    step: int,
    deadline: float,
) -> None:
    """Bring every lead's samples to `size` runs and search for its best event."""
    alive = {key for lead in leads for key in lead.keys}
    for key in [key for key in result.samples if key not in alive]:
        del result.samples[key]
    for lead in leads:
        if time.perf_counter() > deadline and step:
            return
        for key, data in zip(lead.keys, (lead.pair.first, lead.pair.second), strict=True):
            have = result.samples.get(key)
            missing = size - (0 if have is None else len(have))
            if missing > 0:
                fresh = draw(data, missing)
                result.runs += missing
                result.samples[key] = fresh if have is None else _join(have, fresh)
        first, second = (result.samples[key] for key in lead.keys)
        lead.suspicion = search(first, second, points, lead.pair.record, bits=bits, deep=step >= 1)


def _join(have: Any, fresh: Any) -> Any:
    if hasattr(have, "dtype") and hasattr(fresh, "dtype"):
        import numpy as np

        return np.concatenate([have, fresh])
    return [*have, *fresh]


def _try(result: Hunt, draw: Draw, lead: _Lead, errors: Errors, deadline: float, most: float) -> bool:
    """One attempt on fresh runs; the error it may make is spent whatever it finds."""
    assert lead.suspicion is not None
    alpha = errors.next()
    data = (lead.pair.first, lead.pair.second)
    outcome = confirm(draw, data, lead.suspicion, alpha, deadline=deadline, most=most)
    result.runs += 2 * outcome.counts.trials
    lead.failed += 1
    power = least_epsilon(outcome.counts.rates, outcome.counts.trials, lead.suspicion.claim, alpha)
    result.power = min(result.power, power)
    if outcome.refuted:
        result.pair, result.suspicion, result.outcome = lead.pair, lead.suspicion, outcome
        result.alpha = alpha
    return outcome.refuted


def _finish(result: Hunt, draw: Draw, leads: list[_Lead], errors: Errors, deadline: float) -> None:
    """What time is left goes to the best leads, the most promising first."""
    chosen = [lead for lead in leads if lead.suspicion is not None][:3]
    for k, lead in enumerate(chosen):
        left = deadline - time.perf_counter()
        if left <= 0 and k:
            return
        share = 1.0 if k == len(chosen) - 1 else 0.6
        if _try(result, draw, lead, errors, time.perf_counter() + share * max(left, 0.0), math.inf):
            return
