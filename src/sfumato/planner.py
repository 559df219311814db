"""The least predicted error among the mechanisms that meet a target; all from public quantities."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sfumato.errors import ParameterError, UnsupportedQuery
from sfumato.mechanisms import (
    DiscreteGaussian,
    Exponential,
    Gaussian,
    KeyDiscovery,
    Laplace,
    Mechanism,
    PermuteAndFlip,
    Public,
    RecursiveQuantiles,
    Staircase,
)
from sfumato.privacy.conversions import pure_for
from sfumato.privacy.guarantees import Approximate, Concentrated, Guarantee, Pure
from sfumato.queries.binding import Question
from sfumato.queries.keys import Keys
from sfumato.queries.popular import Popular
from sfumato.queries.quantiles import Quantiles
from sfumato.queries.vector import VectorQuestion

__all__ = ["Option", "best", "options"]


@dataclass(frozen=True, slots=True)
class Option:
    """A calibrated mechanism and its predicted error: lower is better, comparable within one question."""

    mechanism: Mechanism
    predicted: float

    @property
    def name(self) -> str:
        """The mechanism's stored name."""
        return str(self.mechanism.to_record()["type"])


def best(question: Question, target: Guarantee) -> Mechanism:
    """The mechanism with the least predicted error."""
    return options(question, target)[0].mechanism


def options(question: Question, target: Guarantee) -> list[Option]:
    """Every mechanism that can meet the target, best first."""
    _check(target)
    if isinstance(question, Keys):
        return [_by_error(KeyDiscovery.calibrate(question, target))]
    if isinstance(question, Quantiles):
        return [_by_error(RecursiveQuantiles.calibrate(question, target))]
    if isinstance(question, Popular):
        if isinstance(target, Concentrated):
            return [_by_error(Exponential.calibrate(question, target))]
        flip, exponential = (
            PermuteAndFlip.calibrate(question, target),
            Exponential.calibrate(question, target),
        )
        return [_by_error(flip), _by_error(exponential)]  # the first is never worse at the same rate
    return sorted(_additive(question, target), key=lambda option: option.predicted)


def _additive(question: VectorQuestion, target: Guarantee) -> list[Option]:
    if question.sensitivity("l1") == 0:
        return [Option(Public(question), 0.0)]
    candidates: list[Any] = []
    if isinstance(target, Concentrated):
        candidates += [Gaussian.calibrate(question, target), DiscreteGaussian.calibrate(question, target)]
        candidates.append(Laplace.calibrate(question, Pure(pure_for(target.rho))))
    else:
        candidates.append(Laplace.calibrate(question, Pure(target.epsilon)))
        if question.dimension == 1:
            candidates.append(Staircase.calibrate(question, Pure(target.epsilon)))
    if isinstance(target, Approximate) and target.delta > 0:
        candidates += [Gaussian.calibrate(question, target), DiscreteGaussian.calibrate(question, target)]
        if question.dimension == 1:
            candidates.append(Laplace.calibrate(question, target))
    return [Option(mechanism, mechanism.noise.variance**0.5) for mechanism in candidates]


def _by_error(mechanism: Any) -> Option:
    return Option(mechanism, mechanism.error())


def _check(target: Guarantee) -> None:
    if not isinstance(target, Pure | Approximate | Concentrated):
        raise ParameterError(
            f"spend must be Pure(epsilon), Approximate(epsilon, delta) or Concentrated(rho), got {target!r}"
        )
    amount = target.rho if isinstance(target, Concentrated) else target.epsilon
    if amount <= 0:
        name = "rho" if isinstance(target, Concentrated) else "epsilon"
        raise ParameterError(f"spend needs {name} > 0, got {amount:g}; choose how much privacy this release may cost")
    if target.assumptions:
        raise UnsupportedQuery("a spend rests on no assumptions; allow them by name in the session")
