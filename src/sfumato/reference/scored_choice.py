r"""Choosing one of finitely many candidates by scores: the exponential mechanism and permute-and-flip on plain numbers.

Definition.  Scores q(x, r) are rounded down to whole multiples of `step`; r is chosen with probability proportional to
exp(c q(x, r)), or by permute-and-flip at the rate c [McSherryTalwar2007; McKennaSheldon2020].

Guarantee.   If one unit changes each score by at most s, it changes the rounded ones by at most ceil(s / step) whole
steps, up or down: amounts within `spread` = 2 ceil(s / step) of one another, or half of that where scores move in one
direction only.  Pure epsilon = c spread.  Proof: docs/proofs/scored_choice.md.

Accuracy.    P(q < best - t) <= |R| exp(-c t), and rounding costs at most one step.

Assumes.     Nothing beyond random bits: rounded scores are whole numbers and the choice is exact.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from sfumato import arguments
from sfumato.answers.certificate import NoBoundKnown
from sfumato.errors import ParameterError
from sfumato.mechanisms.selection.selection import checked_rate, pure_cost, pure_rate
from sfumato.privacy.guarantees import Pure
from sfumato.randomness import Rng
from sfumato.reference.calibrated import Calibrated
from sfumato.sampling import choose
from sfumato.sampling import permute_and_flip as flip

__all__ = ["ScoredChoice", "exponential", "permute_and_flip"]

Scores = npt.ArrayLike | Mapping[Any, float]  # in the order of the candidates, or by their names

FINE = 1000  # steps in the sensitivity, unless another step is asked for
LARGEST = 2**40  # steps: scores beyond count as this far from zero
LAWS: dict[str, Callable[[npt.NDArray[np.int64], float, Rng], int]] = {"exponential": choose, "permute-and-flip": flip}
NO_BOUND = NoBoundKnown("none is proven here for selection")


@dataclass(frozen=True, slots=True)
class ScoredChoice:
    """A choice among `candidates` by whole scores in units of `step`, at a rate, by one of the two laws.

    Proof: docs/proofs/scored_choice.md.

    >>> ScoredChoice(3, 1.0, 2, 0.25, "exponential").guarantee()
    Pure(epsilon=0.5)
    """

    candidates: int
    step: float
    spread: int
    rate: float
    law: str

    def __post_init__(self) -> None:
        checked_rate(self.rate)
        arguments.choice("law", self.law, LAWS)

    def guarantee(self, distance: int = 1) -> Pure:
        """What one choice costs between inputs `distance` units apart."""
        return Pure(pure_cost(self.rate, distance * self.spread, 1))

    def error(self, beta: float = 0.05) -> float:
        """How far below the best score the chosen one's can be, but for probability `beta`."""
        if not 0 < beta < 1:
            raise ParameterError(f"beta must lie strictly between 0 and 1, got {beta!r}")
        return self.step * (1 + math.log(self.candidates / beta) / self.rate)

    def release(self, answer: npt.ArrayLike, rng: Rng) -> int:
        """The position of the choice.  `answer`: the exact, secret scores; what is no number counts as zero."""
        scores = np.asarray(answer, dtype=np.float64)
        if scores.shape != (self.candidates,):
            raise ParameterError(f"scores must be {self.candidates} numbers, one a candidate, got {scores.shape}")
        unit = Fraction(self.step)
        whole = [math.floor(Fraction(score) / unit) for score in np.nan_to_num(scores, nan=0.0).tolist()]
        steps = np.clip(np.array(whole, dtype=object), -LARGEST, LARGEST).astype(np.int64)
        return int(LAWS[self.law](steps.max() - steps, self.rate, rng))


def exponential(
    candidates: Sequence[object], sensitivity: float, epsilon: float, *, monotone: bool = False,
    step: float | None = None,
) -> Calibrated[Scores, object]:  # fmt: skip
    """The exponential mechanism over public candidates; `release` takes one score for each, in order or by name.

    Proof: docs/proofs/scored_choice.md.

    `sensitivity` is by how much one unit may change a score; `monotone` says that it never raises one and lowers
    another.  Scores are rounded down to multiples of `step`, a thousandth of the sensitivity unless given.

    >>> from sfumato.randomness import seeded
    >>> exponential(["a", "b"], sensitivity=1, epsilon=2.0).release([0, 40], seeded(1)).value
    'b'
    """
    return _scored("exponential", candidates, sensitivity, epsilon, monotone, step)


def permute_and_flip(
    candidates: Sequence[object], sensitivity: float, epsilon: float, *, monotone: bool = False,
    step: float | None = None,
) -> Calibrated[Scores, object]:  # fmt: skip
    """Permute-and-flip, as `exponential`: never worse in expectation, up to twice as good.

    Proof: docs/proofs/scored_choice.md.
    """
    return _scored("permute-and-flip", candidates, sensitivity, epsilon, monotone, step)


def _scored(
    law: str, candidates: Sequence[object], sensitivity: float, epsilon: float, monotone: bool, step: float | None
) -> Calibrated[Scores, object]:
    labels = arguments.several("candidates", candidates)
    if not labels:
        raise ParameterError("candidates must not be empty")
    moved, budget = arguments.number("sensitivity", sensitivity), arguments.number("epsilon", epsilon)
    fine = moved / FINE if step is None else arguments.number("step", step)
    if min(moved, budget, fine) <= 0:
        raise ParameterError(f"sensitivity, epsilon and step must be positive, got {moved}, {budget} and {fine}")
    spread = (1 if monotone else 2) * math.ceil(Fraction(moved) / Fraction(fine))
    mechanism = ScoredChoice(len(labels), fine, spread, pure_rate(budget, spread, 1), law)

    def draw(scores: Scores, rng: Rng) -> object:
        return labels[mechanism.release(_in_order(scores, labels), rng)]

    return Calibrated(f"{law} mechanism", mechanism, draw, lambda: NO_BOUND)


def _in_order(scores: Scores, labels: Sequence[object]) -> npt.ArrayLike:
    """The scores, one for each candidate; by their names if they are given so."""
    if not isinstance(scores, Mapping):
        return scores
    if len(scores) != len(labels) or any(label not in scores for label in labels):
        raise ParameterError("scores by name must have every candidate once, and nothing else")
    return [scores[label] for label in labels]
