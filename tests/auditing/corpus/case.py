"""A planted bug and its twin, with the claim that both make; and noise that leaves no bits behind."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from sfumato.auditing import Finding, audit
from sfumato.privacy.guarantees import Guarantee

GRID = 2.0**16  # noisy answers are rounded to whole multiples of 1 / GRID


@dataclass(frozen=True)
class Case:
    """`row` is the row of the list of known bugs (0: not in that list)."""

    name: str
    row: int
    faulty: Any
    correct: Any
    claim: Guarantee | float
    options: Mapping[str, Any] = field(default_factory=dict)
    by: Callable[..., Finding] = audit
    heavy: bool = False


def snap(value: float) -> float:
    """A multiple of 1 / GRID: what floating point did below that is gone."""
    return round(value * GRID) / GRID


def laplace(answer: float, scale: float, rng: Any) -> float:
    """The answer with Laplace noise, on the grid."""
    return snap(answer + rng.laplace(0.0, scale))


def clip(value: float, low: float, high: float) -> float:
    """Into the interval; what is not a number goes to its lower end."""
    return low if value != value else min(max(value, low), high)
