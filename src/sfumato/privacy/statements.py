"""What is said of a guarantee, as values: the sentence is rendered from the statement, and nothing reads it back.

Each statement is a proposition about two neighboring tables that can be computed from the laws of a mechanism's output,
so that tests check what is said and not how.  Numbers are rounded outward before they are shown: a reader who takes
the printed number gets a weaker claim than the true one, never a stronger one.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from sfumato.numeric import round_up, shown_up

__all__ = ["STATED_DELTA", "EveryEvent", "HardToTell", "Statement", "doubt_budget"]

STATED_DELTA = 1e-6  # at which claims of divergences are restated for single events
LARGEST = 700.0  # epsilons beyond this are shown as exponents: their exponentials overflow
WEAK = 10.0  # an epsilon beyond which a budget promises next to nothing
ANYTHING = "the probability of anything that can be concluded from it"


@dataclass(frozen=True, slots=True)
class EveryEvent:
    """For every event E: P(E) <= e^epsilon P'(E) + delta, P and P' the laws of what is published on neighbors.

    >>> EveryEvent(0.5, 1e-6).factor
    '1.649'
    """

    epsilon: float
    delta: float = 0.0

    @property
    def factor(self) -> str:
        """e^epsilon, rounded up."""
        if self.epsilon > LARGEST:
            return f"e^{shown_up(self.epsilon, 4)}"
        return shown_up(round_up(math.exp(self.epsilon), 4) if self.epsilon else 1.0, 4)

    def words(self, unit: str) -> str:
        """The statement for a reader; `unit` says what distinguishes the neighbors."""
        plus = f", plus {shown_up(self.delta, 3)}," if self.delta else ""
        return f"{ANYTHING} grows to at most {self.factor} times what it was{plus} through {unit}"


@dataclass(frozen=True, slots=True)
class HardToTell:
    """Telling the neighbors apart is at least as hard as telling N(0, 1) from N(mu, 1)."""

    mu: float

    def words(self, unit: str) -> str:
        """The statement for a reader."""
        return (
            f"telling apart what {unit} changes is at least as hard as telling two normal laws "
            f"{shown_up(self.mu, 4)} standard deviations apart from one another"
        )


Statement = EveryEvent | HardToTell


def doubt_budget(epsilon: float, delta: float, size: int | None, chance: float | None = None) -> str | None:
    """Tell what a budget hardly protects from, in one line; None where it is not absurd.

    `chance` is the delta at which the epsilon holds; left out, the budget's own.  A delta of one over the number of
    units admits a mechanism that publishes the data of one of them, drawn at random.

    >>> doubt_budget(1.0, 1e-9, 60_000) is None
    True
    """
    told = []
    chance = delta if chance is None else chance
    if epsilon > WEAK and not chance:
        told.append(
            f"epsilon {epsilon:g} hardly protects anybody ({ANYTHING} may grow to {EveryEvent(epsilon).factor} times "
            "what it was): most budgets are below epsilon 10"
        )
    elif epsilon > WEAK:
        told.append(
            f"this budget hardly protects anybody: it is epsilon {shown_up(epsilon, 4)} at delta {chance:g}, and most "
            "are below epsilon 10"
        )
    if delta and size is not None and delta >= 1 / size:
        told.append(
            f"delta {delta:g} is not below one over the declared size {size:,}: it would admit publishing all that is "
            "known of somebody drawn at random; choose one far below that"
        )
    return "; ".join(told) or None
