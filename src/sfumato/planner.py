"""The least predicted error among the mechanisms that meet a target; all from public quantities."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

from sfumato.elimination import rank
from sfumato.errors import ParameterError, SfumatoError, UnsupportedQuery
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
from sfumato.queries.linear.choosing import measurements
from sfumato.queries.linear.shapes import shapes
from sfumato.queries.linear.workload import Workload
from sfumato.queries.popular import Popular
from sfumato.queries.quantiles import Quantiles
from sfumato.queries.thresholds import ThresholdGrid
from sfumato.queries.vector import VectorQuestion
from sfumato.sampling.bodies import sampler

__all__ = ["Option", "best", "feasible", "options"]

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


Maker = Callable[[], Option]


def best(question: Question, target: Guarantee, allow: frozenset[str] = frozenset()) -> Mechanism:
    """The mechanism with the least predicted error."""
    return options(question, target, allow)[0].mechanism


def options(question: Question, target: Guarantee, allow: frozenset[str] = frozenset()) -> list[Option]:
    """Every mechanism that can meet the target, best first; those that assume something only if it is allowed."""
    check_target(target)
    if isinstance(question, Workload):
        return sorted(feasible(_linear(question, target, allow)), key=_preference)
    if isinstance(question, Moments):
        return sorted(feasible(_made(make) for make in component_mechanisms(question, target)), key=_preference)
    if isinstance(question, FunctionQuestion):
        return sorted(feasible(_made(make) for make in function_mechanisms(question, target)), key=_preference)
    if isinstance(question, Popular):  # permuting and flipping is never worse at the same rate
        kinds = (Exponential,) if isinstance(target, Concentrated) else (PermuteAndFlip, Exponential)
        return feasible(partial(_by_error, kind, question, target) for kind in kinds)
    if isinstance(question, ThresholdGrid):
        return [_by_error(ThresholdDatabase, question, target)]
    if isinstance(question, Keys):
        return [_by_error(KeyDiscovery, question, target)]
    if isinstance(question, Quantiles):
        return [_by_error(RecursiveQuantiles, question, target)]
    return sorted(feasible(_additive(question, target)), key=_sharpness)


def feasible(candidates: Iterable[Maker]) -> list[Option]:
    """The candidates that can be made: one that is refused is left out, and ends the plan only if none remains.

    What is refused is refused in our own words (noise beyond the samplers' reach, a shape that doubles cannot draw);
    any other exception is a mistake of ours and is not caught.
    """
    found: list[Option] = []
    refusals: dict[str, SfumatoError] = {}
    for make in candidates:
        try:
            option = make()
        except (ParameterError, UnsupportedQuery) as error:
            refusals.setdefault(str(error), error)
            continue
        if math.isfinite(option.predicted):
            found.append(option)
    if found:
        return found
    if len(refusals) == 1:
        raise next(iter(refusals.values()))
    reasons = "; or: ".join(refusals) or "the noise of each would be infinite"
    raise UnsupportedQuery(f"no mechanism can answer this question at this spend: {reasons}")


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


def _additive(question: VectorQuestion, target: Guarantee) -> Iterator[Maker]:
    if question.sensitivity("l1") == 0:
        yield lambda: Option(Public(question), 0.0)
        return
    kinds: list[tuple[Any, Guarantee]] = []
    if isinstance(target, Concentrated):
        kinds += [(Gaussian, target), (DiscreteGaussian, target), (Laplace, _pure(target))]
    else:
        kinds.append((Laplace, _pure(target)))
        if question.dimension == 1:
            kinds.append((Staircase, _pure(target)))
    if isinstance(target, Approximate) and target.delta > 0:
        kinds += [(Gaussian, target), (DiscreteGaussian, target)]
        if question.dimension == 1:
            kinds.append((Laplace, target))
    for kind, spend in kinds:
        yield partial(_per_row, kind, "", question, spend)


def _linear(question: Workload, target: Guarantee, allow: frozenset[str]) -> Iterator[Maker]:
    """Noise on the answers, on measurements of the histogram, and in the shape of bodies."""
    if question.sensitivity("l1") == 0:
        yield lambda: Option(Public(question), 0.0)
        return
    pure = _pure(target)
    yield partial(_per_row, Laplace, "laplace on the answers", question, pure)
    for name, one in measurements(question, "l1"):
        yield partial(_per_row, Strategy, f"strategy: {name}", question, pure, one)
    yield from _bodies(question, pure, allow)
    if isinstance(target, Concentrated) or (isinstance(target, Approximate) and target.delta > 0):
        yield partial(_per_row, Gaussian, "gaussian on the answers", question, target)
        for name, one in measurements(question, "l2"):
            yield partial(_per_row, EllipticGaussian, f"elliptic gaussian: {name}", question, target, one)


def _bodies(question: Workload, target: Pure, allow: frozenset[str]) -> Iterator[Maker]:
    """The cube; and where real arithmetic may be assumed, ellipsoid, parallelepiped, K-norm and NIM."""
    if not question.linear.is_small or question.linear.cells > MOST_COLUMNS or question.dimension > MOST_ROWS:
        return
    try:
        vertices = question.vertices
    except UnsupportedQuery:
        return
    bodies = shapes(question)
    yield partial(_of_shape, "cube", bodies["cube"], question, target)
    if "real-arithmetic" not in allow or question.dimension > LARGEST_BODY or rank(vertices) < question.dimension:
        return
    try:
        drawn = sampler(bodies["hull"]())
    except ParameterError:  # too flat for doubles: no floating-point noise of any shape around it
        return
    if drawn == "columns":
        return  # K-norm is then exactly Laplace noise on the histogram
    yield partial(_of_shape, "ellipsoid", bodies["ellipsoid"], question, target)
    yield partial(_of_shape, "parallelepiped", bodies["image"], question, target)
    if drawn != "walk" or "mixing" in allow:
        yield partial(_of_shape, "k-norm", bodies["hull"], question, target)
        if question.dimension > 1:
            yield partial(_per_row, NIM, "nim", question, target)


def _preference(option: Option) -> float:
    """The predicted error; one percent more for each assumption, so that exact noise wins where it is as good."""
    return option.predicted * (1 + 0.01 * len(option.mechanism.guarantee().assumptions)) * _price_of_delta(option)


def _per_row(kind: Any, label: str, question: Any, target: Guarantee, *more: Any) -> Option:
    """A mechanism of this kind with the root mean square error of a weighted row."""
    mechanism = kind.calibrate(question, target, *more)
    own = getattr(mechanism, "root_mean_square", None)
    return Option(mechanism, mechanism.noise.variance**0.5 if own is None else own, label)


def _of_shape(label: str, shape: Callable[[], Any], question: Workload, target: Pure) -> Option:
    return _per_row(NoiseBody, label, question, target, shape())


def _by_error(kind: Any, question: Any, target: Guarantee) -> Option:
    mechanism = kind.calibrate(question, target)
    return Option(mechanism, mechanism.error())


def _made(make: Callable[[], Any]) -> Maker:
    return lambda: Option(*make())


def _pure(target: Guarantee) -> Pure:
    """The pure target that implies this one."""
    assert isinstance(target, Pure | Approximate | Concentrated)
    return Pure(pure_for(target.rho) if isinstance(target, Concentrated) else target.epsilon)


def check_target(target: Guarantee) -> None:
    """Refuse what cannot be spent on one release."""
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
