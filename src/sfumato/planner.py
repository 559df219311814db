"""The least predicted error among the mechanisms that meet a target; all from public quantities."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from sfumato.elimination import rank
from sfumato.errors import ParameterError, UnsupportedQuery
from sfumato.mechanisms import (
    NIM,
    DiscreteGaussian,
    EllipticGaussian,
    Exponential,
    Gaussian,
    KeyDiscovery,
    Laplace,
    Mechanism,
    NoiseBody,
    PermuteAndFlip,
    Public,
    RecursiveQuantiles,
    Staircase,
    Strategy,
    ThresholdDatabase,
)
from sfumato.mechanisms.functions import function_mechanisms
from sfumato.mechanisms.subspace_iteration import component_mechanisms
from sfumato.privacy.conversions import pure_for
from sfumato.privacy.guarantees import Approximate, Concentrated, Guarantee, Pure
from sfumato.queries.binding import Question
from sfumato.queries.components import Moments
from sfumato.queries.functions.question import FunctionQuestion
from sfumato.queries.keys import Keys
from sfumato.queries.linear.choosing import error_of, measurements
from sfumato.queries.linear.shapes import shapes
from sfumato.queries.linear.workload import Workload
from sfumato.queries.popular import Popular
from sfumato.queries.quantiles import Quantiles
from sfumato.queries.thresholds import ThresholdGrid
from sfumato.queries.vector import VectorQuestion
from sfumato.sampling.bodies import sampler

__all__ = ["Option", "best", "options"]

MOST_COLUMNS = 5000  # of workloads for which bodies are tried
MOST_ROWS = 1000
REAL_GAIN = 1.03  # how much smaller an error must be for delta to be spent on it
LARGEST_BODY = 48  # dimensions of bodies other than the cube


@dataclass(frozen=True, slots=True)
class Option:
    """A calibrated mechanism and its predicted error: lower is better, comparable within one question."""

    mechanism: Mechanism
    predicted: float
    label: str = ""

    @property
    def name(self) -> str:
        """The mechanism's stored name, or a closer one."""
        return self.label or str(self.mechanism.to_record()["type"])


def best(question: Question, target: Guarantee, allow: frozenset[str] = frozenset()) -> Mechanism:
    """The mechanism with the least predicted error."""
    return options(question, target, allow)[0].mechanism


def options(question: Question, target: Guarantee, allow: frozenset[str] = frozenset()) -> list[Option]:
    """Every mechanism that can meet the target, best first; those that assume something only if it is allowed."""
    _check(target)
    if isinstance(question, ThresholdGrid):
        return [_by_error(ThresholdDatabase.calibrate(question, target))]
    if isinstance(question, Moments):
        return sorted((Option(*found) for found in component_mechanisms(question, target)), key=_preference)
    if isinstance(question, FunctionQuestion):
        return sorted((Option(*found) for found in function_mechanisms(question, target)), key=_preference)
    if isinstance(question, Workload):
        return sorted(_linear(question, target, allow), key=_preference)
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
    return sorted(_additive(question, target), key=_sharpness)


def _sharpness(option: Option) -> float:
    """The predicted error; rounded for Gaussians, so that of near equals the rounded normal, which stands first
    and has the sharper error bars, wins.
    """
    gaussian = isinstance(option.mechanism, Gaussian | DiscreteGaussian)
    predicted = float(f"{option.predicted:.3g}") if gaussian else option.predicted
    return predicted * _price_of_delta(option)


def _price_of_delta(option: Option) -> float:
    """Delta is spent, and a pure claim with its certificate lost, only for a real gain."""
    claim = option.mechanism.guarantee()
    return REAL_GAIN if isinstance(claim, Approximate) and claim.delta > 0 else 1.0


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


def _linear(question: Workload, target: Guarantee, allow: frozenset[str]) -> list[Option]:
    """Noise on the answers, on measurements of the histogram, and in the shape of bodies."""
    if question.sensitivity("l1") == 0:
        return [Option(Public(question), 0.0)]
    pure = Pure(pure_for(target.rho) if isinstance(target, Concentrated) else target.epsilon)
    found = [_per_row(Laplace.calibrate(question, pure), "laplace on the answers")]
    found += [
        _per_row(Strategy.calibrate(question, pure, one), f"strategy: {name}")
        for name, one in measurements(question, "l1")
        if math.isfinite(error_of(question, one, "l1"))
    ]
    found += _bodies(question, pure, allow)
    if isinstance(target, Concentrated) or (isinstance(target, Approximate) and target.delta > 0):
        found.append(_per_row(Gaussian.calibrate(question, target), "gaussian on the answers"))
        found += [
            _per_row(EllipticGaussian.calibrate(question, target, one), f"elliptic gaussian: {name}")
            for name, one in measurements(question, "l2")
            if math.isfinite(error_of(question, one, "l2"))
        ]
    return found


def _bodies(question: Workload, target: Pure, allow: frozenset[str]) -> list[Option]:
    """The cube; and where real arithmetic may be assumed, ellipsoid, parallelepiped, K-norm and NIM."""
    if not question.linear.is_small or question.linear.cells > MOST_COLUMNS or question.dimension > MOST_ROWS:
        return []
    try:
        vertices = question.vertices
    except UnsupportedQuery:
        return []
    bodies = shapes(question)
    found = [_per_row(NoiseBody.calibrate(question, target, bodies["cube"]()), "cube")]
    if "real-arithmetic" not in allow or question.dimension > LARGEST_BODY or rank(vertices) < question.dimension:
        return found
    named = {"ellipsoid": bodies["ellipsoid"](), "parallelepiped": bodies["image"]()}
    hull = bodies["hull"]()
    if sampler(hull) == "columns":
        return found  # K-norm is then exactly Laplace noise on the histogram
    if sampler(hull) != "walk" or "mixing" in allow:
        named["k-norm"] = hull
        if question.dimension > 1:
            found.append(_per_row(NIM.calibrate(question, target), "nim"))
    return found + [_per_row(NoiseBody.calibrate(question, target, shape), name) for name, shape in named.items()]


def _preference(option: Option) -> float:
    """The predicted error; one percent more for each assumption, so that exact noise wins where it is as good."""
    return option.predicted * (1 + 0.01 * len(option.mechanism.guarantee().assumptions)) * _price_of_delta(option)


def _per_row(mechanism: Any, label: str) -> Option:
    """The root mean square error of a weighted row."""
    own = getattr(mechanism, "root_mean_square", None)
    return Option(mechanism, mechanism.noise.variance**0.5 if own is None else own, label)


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
