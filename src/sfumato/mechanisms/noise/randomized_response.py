r"""Randomized response on categories, with delta.

Definition.  Of m + 1 categories keep the true one with probability 1 - p m, else answer each other one with
probability p, for every record by itself.

Guarantee.   One record replaced costs (epsilon, delta) if and only if (1 - delta)/(m + e^epsilon) <= p <=
(e^epsilon + delta)/(1 + m e^epsilon)  [HolohanEtAl2015; document 001, 4.10, with its right half made explicit].
Proof: docs/proofs/randomized_response.md.

Accuracy.    A record is wrong with probability p m; among answers inside the space no mechanism does better
(5.5, attained here).

Assumes.     Nothing beyond random bits: p is a rational, its coin exact.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from sfumato.errors import ParameterError, UnsupportedQuery
from sfumato.numeric import ceil_float, round_up
from sfumato.privacy.guarantees import Approximate, Guarantee, Pure
from sfumato.randomness import Rng
from sfumato.sampling import bernoulli, uniform_integers
from sfumato.spaces import Categories

__all__ = ["RandomizedResponse"]

LARGEST = 600.0  # epsilon; beyond it a lie would be rarer than a double can say


@dataclass(frozen=True, slots=True)
class RandomizedResponse:
    """Each record answers truly with probability 1 - p m; the claim is stated at `delta`.

    Proof: docs/proofs/randomized_response.md.

    >>> states = Categories([f"state {i}" for i in range(48)])
    >>> rr = RandomizedResponse.calibrate(states, Approximate(2.0, 0.5))
    >>> round(rr.keep, 2), rr.guarantee().implies(Approximate(2.0, 0.5))
    (0.57, True)
    """

    space: Categories
    p: Fraction
    delta: float = 0.0

    def __post_init__(self) -> None:
        Approximate(0.0, self.delta)
        if not 0 < self.p <= Fraction(1, len(self.space.values)):
            raise ParameterError(
                f"p must lie in (0, 1/{len(self.space.values)}], so that the truth is the likeliest answer"
            )

    @classmethod
    def calibrate(cls, space: Categories, target: Guarantee) -> RandomizedResponse:
        """The most truthful response that meets `target`."""
        if not isinstance(target, Pure | Approximate):
            raise UnsupportedQuery(f"randomized response meets pure or approximate targets, not {target!r}")
        delta = target.delta if isinstance(target, Approximate) else 0.0
        others = len(space.values) - 1
        if others < 1:
            raise ParameterError("randomized response needs at least two categories")
        p, largest = (1 - delta) / (others + math.exp(min(target.epsilon, LARGEST))), Fraction(1, others + 1)
        while p < largest and not cls(space, Fraction(p), delta).guarantee().implies(target):
            p = p * (1 + 2.0**-46)
        return cls(space, min(Fraction(p), largest), delta)

    @property
    def others(self) -> int:
        """m: how many categories a record does not hold."""
        return len(self.space.values) - 1

    @property
    def keep(self) -> float:
        """The probability of the true answer."""
        return float(1 - self.p * self.others)

    def guarantee(self, distance: int = 1) -> Approximate | Pure:
        """What replacing `distance` records costs: keep <= e^epsilon p + delta, solved for epsilon."""
        keep = 1 - self.p * self.others
        excess = ceil_float((keep - Fraction(self.delta)) / self.p)
        epsilon = round_up(math.log(excess), 4) if excess > 1 else 0.0
        return Approximate(epsilon, self.delta).group(distance) if self.delta else Pure(epsilon).group(distance)

    def error(self, beta: float = 0.05) -> float:
        """The probability that a record is wrong: its mean error in the discrete metric."""
        return float(self.p * self.others)

    def release(self, answer: npt.NDArray[np.int64], rng: Rng) -> npt.NDArray[np.int64]:
        """The responses.  `answer`: the exact, secret positions of the records' categories."""
        size = len(answer)
        lies = np.asarray(bernoulli(self.p * self.others, size, rng))
        shift = 1 + np.asarray(uniform_integers(self.others, size, rng))
        return np.asarray(np.where(lies, (answer + shift) % (self.others + 1), answer), dtype=np.int64)

    def to_record(self) -> dict[str, object]:
        """Public parameters."""
        return {"type": "randomized-response", "p": str(self.p), "delta": self.delta}

    @classmethod
    def from_record(cls, space: Categories, record: Mapping[str, Any]) -> RandomizedResponse:
        """The mechanism that `to_record` describes."""
        return cls(space, Fraction(record["p"]), record["delta"])
