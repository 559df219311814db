"""What selecting mechanisms share: the shape of a question whose answer is one of finitely many."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from sfumato.errors import ParameterError
from sfumato.numeric import round_down

__all__ = ["Chosen", "Counts", "Selectable", "calibrated_rate", "checked_scores", "peeled"]

Counts = npt.NDArray[np.int64]
Chosen = npt.NDArray[np.int64]


class Selectable(Protocol):
    """A question that ranks candidates by scores; one unit changes all scores within `spread` of one another."""

    @property
    def name(self) -> str: ...

    @property
    def spread(self) -> int: ...


def calibrated_rate(loss: float, spread: int, rounds: int) -> float:
    """The greatest rate with rounds * rate * spread <= loss."""
    return round_down(loss / (rounds * spread), 2)


def peeled(scores: Counts, k: int, pick: Callable[[Counts], int]) -> list[int]:
    """The positions that `pick` chooses from the penalties, one after another, without repetition."""
    left = np.arange(len(scores))
    chosen: list[int] = []
    for _ in range(k):
        remaining = scores[left]
        place = pick(remaining.max() - remaining)
        chosen.append(int(left[place]))
        left = np.delete(left, place)
    return chosen


def checked_scores(scores: Any, candidates: int, name: str) -> Counts:
    """The scores, if there is one for each candidate; their values are never looked at."""
    array = np.asarray(scores, dtype=np.int64)
    if array.ndim != 2 or array.shape[1] != candidates:
        raise ParameterError(f"query {name!r} ranks {candidates} candidates, got scores of shape {array.shape}")
    return array
