"""Sanitizing against asking, side by side: the error of the same question, from public quantities alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sfumato.errors import ParameterError
from sfumato.mechanisms.sanitized.estimation import estimates
from sfumato.mechanisms.sanitized.plan import Sanitization
from sfumato.planner import best
from sfumato.privacy.guarantees import Guarantee
from sfumato.queries import Query, bind

__all__ = ["Asked", "against_asking"]


@dataclass(frozen=True, slots=True)
class Asked:
    """The half-widths of one question: read from the sanitized table, asked alone, and asked with a share."""

    query: str
    sanitized: float
    asked_alone: float
    asked_with_share: float


def against_asking(
    randomizer: Sanitization, queries: Sequence[Query], spend: Guarantee, level: float = 0.95
) -> list[Asked]:
    """What each question costs in error: one sanitized table for all, or `spend` for it alone or shared by all."""
    if not queries:
        raise ParameterError("queries is empty; name at least one question to compare")
    nothing = {name: np.zeros(0, dtype=np.int64) for name in randomizer.columns}
    found = []
    for query in queries:
        _, halves, _ = estimates(randomizer, nothing, query, 1 - level)
        alone, shared = (_asked(randomizer, query, part, 1 - level) for part in (spend, spend.share(len(queries))))
        found.append(Asked(query.name, float(halves.max()), alone, shared))
    return found


def _asked(randomizer: Sanitization, query: Query, spend: Guarantee, beta: float) -> float:
    question: Any = bind(query, randomizer.schema)
    mechanism: Any = best(question, spend)
    half = question.preview(mechanism.noise, beta)
    return float("nan") if half is None else float(half)
