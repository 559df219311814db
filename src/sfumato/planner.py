"""The least predicted error among the mechanisms that meet a target; all from public quantities."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Protocol, runtime_checkable

from sfumato import arguments
from sfumato.errors import ParameterError, SfumatoError, UnsupportedQuery
from sfumato.mechanisms import Mechanism, steps
from sfumato.mechanisms.components.subspace_iteration import component_mechanisms
from sfumato.mechanisms.functions.candidates import function_mechanisms
from sfumato.mechanisms.functions.chosen_bandwidth import ChosenBandwidth
from sfumato.mechanisms.geometry.candidates import linear_mechanisms
from sfumato.mechanisms.noise.complement import Complement
from sfumato.mechanisms.noise.continual_counting import ContinualCounting, ways
from sfumato.mechanisms.noise.discrete_gaussian import DiscreteGaussian
from sfumato.mechanisms.noise.gaussian import Gaussian
from sfumato.mechanisms.noise.laplace import Laplace
from sfumato.mechanisms.noise.public import Public
from sfumato.mechanisms.noise.staircase import Staircase
from sfumato.mechanisms.noise.sum_zero import SumZero
from sfumato.mechanisms.noise.truncated_laplace import TruncatedLaplace
from sfumato.mechanisms.selection.candidates import popular_mechanisms, quantile_mechanisms, scored_mechanisms
from sfumato.mechanisms.selection.counted_keys import CountedKeys
from sfumato.mechanisms.selection.discovered_keys import DiscoveredKeys
from sfumato.mechanisms.selection.key_discovery import KeyDiscovery
from sfumato.mechanisms.selection.key_selection import KeySelection
from sfumato.mechanisms.selection.threshold_database import ThresholdDatabase
from sfumato.mechanisms.synthetic.candidates import (
    counting_mechanisms,
    sanitizing_mechanisms,
    smooth_mechanisms,
    synthetic_mechanisms,
)
from sfumato.privacy.conversions import pure_for
from sfumato.privacy.guarantees import Approximate, Concentrated, Guarantee, Pure
from sfumato.queries import Question
from sfumato.queries.components import Moments
from sfumato.queries.declared import DeclaredScores
from sfumato.queries.functions.chosen import ChosenDensity
from sfumato.queries.functions.question import FunctionQuestion
from sfumato.queries.keys import Keys
from sfumato.queries.linear.workload import Workload
from sfumato.queries.names import KeyNames
from sfumato.queries.popular import Popular
from sfumato.queries.quantiles import Quantiles
from sfumato.queries.running import Running
from sfumato.queries.sanitized import SanitizedRows
from sfumato.queries.scored import Scored
from sfumato.queries.small_database import CountingQueries
from sfumato.queries.synthetic import SyntheticRows
from sfumato.queries.thresholds import ThresholdGrid
from sfumato.queries.trigonometric import SmoothRows
from sfumato.queries.vector import VectorQuestion

__all__ = ["CANDIDATES", "Calibrates", "Kind", "Option", "best", "chosen", "feasible", "options"]

REAL_GAIN = 1.03  # how much smaller an error must be for delta to be spent on it
NEAR_EQUALS = ("gaussian", "discrete-gaussian")


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

    @property
    def stored(self) -> str:
        """The stored name of what releases the answer."""
        return str(steps(self.mechanism)[-1]["type"])


Maker = Callable[[], Option]


@runtime_checkable
class Calibrates(Protocol):
    """A kind of mechanism: given a question and a target, it makes a mechanism that meets it."""

    def calibrate(self, question: Any, target: Any) -> Mechanism: ...


@dataclass(frozen=True, slots=True)
class Kind:
    """What may answer questions of one kind: makers in order, and by what their options are ranked."""

    makers: Callable[[Any, Guarantee, frozenset[str]], Iterable[Maker]]
    preference: Callable[[Option], float] = field(default=lambda option: 0.0)  # in the order in which they are made


def best(question: Question, target: Guarantee, allow: frozenset[str] = frozenset()) -> Mechanism:
    """The mechanism with the least predicted error."""
    return options(question, target, allow)[0].mechanism


def options(question: Question, target: Guarantee, allow: frozenset[str] = frozenset()) -> list[Option]:
    """Every mechanism that can meet the target, best first; those that assume something only if it is allowed."""
    check_target(target)
    kind = _kind_of(question)
    return sorted(feasible(kind.makers(question, target, allow)), key=kind.preference)


def chosen(
    question: Question, target: Guarantee, mechanism: str | Calibrates, allow: frozenset[str] = frozenset()
) -> list[Option]:
    """The options of one mechanism: of the planner's own by its name, or one's own, calibrated for the question."""
    if isinstance(mechanism, str):
        found = options(question, target, allow)
        named = [option for option in found if mechanism in (option.name, option.stored)]
        if named:
            return named
        names = dict.fromkeys(name for option in found for name in (option.stored, option.name))
        raise UnsupportedQuery(
            f"mechanism {mechanism!r:.60} is none that can answer this question at this spend; choose one of "
            f"{', '.join(names)}, or none and the best is taken"
        )
    arguments.instance("mechanism", mechanism, Calibrates, "a stored name such as 'laplace', or have calibrate(...)")
    check_target(target)
    made = mechanism.calibrate(question, target)
    claim = made.guarantee()
    if not (claim.assumptions <= allow and claim.implies(replace(target, assumptions=claim.assumptions))):
        raise UnsupportedQuery(
            f"the mechanism was calibrated to {claim!r}, which does not meet {target!r} with what the session allows"
            f"{_explain_rounding(claim, target)}"
        )
    _must_answer(question, made)
    return [Option(made, made.error())]


def _must_answer(question: Question, mechanism: Mechanism) -> None:
    """Refuse, before a charge, a mechanism without what the question's answers ask of it."""
    try:
        question.accuracy(mechanism, 0.05)
        mechanism.to_record()
    except AttributeError as missing:
        lacks = "question" if missing.obj is question else "mechanism"
        raise UnsupportedQuery(
            f"the {lacks} has no {missing.name!r:.60}, which answers to {question.name!r:.60} ask for; see the guide "
            "on one's own mechanism"
        ) from None


def _explain_rounding(claim: Guarantee, target: Guarantee) -> str:
    """What to do where a claim is above the spend by rounding alone."""
    if type(claim) is type(target) and target.amount < claim.amount <= target.amount * (1 + 1e-9):
        return "; it is more by rounding alone: let calibrate take a little more noise until the claim is no more"
    return ""


def _kind_of(question: Question) -> Kind:
    """The row of the table for the question's class, or for the nearest class that it is one of."""
    for form in type(question).__mro__:
        if form in CANDIDATES:
            return CANDIDATES[form]
    raise UnsupportedQuery("the planner knows no mechanism for this question; choose one with mechanism=")


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
    predicted = float(f"{option.predicted:.3g}") if option.stored in NEAR_EQUALS else option.predicted
    return predicted * _price_of_delta(option)


def _price_of_delta(option: Option) -> float:
    """Delta is spent, and a pure claim with its certificate lost, only for a real gain."""
    claim = option.mechanism.guarantee()
    return REAL_GAIN if isinstance(claim, Approximate) and claim.delta > 0 else 1.0


def _over_keys(question: Keys, target: Guarantee, allow: frozenset[str]) -> Iterator[Maker]:
    """A count with one noise for keys and counts; and a discovery of keys, then each that could answer over them."""
    first, share = DiscoveredKeys.shares(target)
    if question.counted_alone:
        yield partial(_in_one, question, target)
    discovery = DiscoveredKeys.finding(question, first)
    for one in options(question.over(), share):
        yield partial(_in_turn, question, discovery, one)


def _names(question: KeyNames, target: Guarantee, allow: frozenset[str]) -> Iterator[Maker]:
    """All of the spend finds names: nothing is answered over them."""
    nothing = Option(Public(question.over()), 0.0)
    yield lambda: _in_turn(question, DiscoveredKeys.finding(question, target), nothing)


def _in_one(question: Keys, target: Guarantee) -> Option:
    made = CountedKeys.calibrate(question, target)
    return Option(made, math.sqrt(made.noise.variance))


def _in_turn(question: Keys, discovery: KeyDiscovery | KeySelection, one: Option) -> Option:
    made = DiscoveredKeys(question, discovery, one.mechanism)
    return Option(made, one.predicted, f"{discovery.to_record()['type']} then {one.name}")


def _popular(question: Popular, target: Guarantee, allow: frozenset[str]) -> Iterator[Maker]:
    return (_made(make) for make in popular_mechanisms(question, target))


def _scored(question: Scored, target: Guarantee, allow: frozenset[str]) -> Iterator[Maker]:
    return (_made(make) for make in scored_mechanisms(question, target))


def _declared(question: DeclaredScores, target: Guarantee, allow: frozenset[str]) -> Iterator[Maker]:
    if not question.assumptions <= allow:
        raise UnsupportedQuery(
            "the guarantee of a choice by a program's score rests on the sensitivity that you declare, which is not "
            "checked; where you vouch for it, open the session and its ledger, or write the plan, with "
            'allow=["declared-sensitivity"]'
        )
    return (_made(make) for make in scored_mechanisms(question, target))


def _running(question: Running, target: Guarantee, allow: frozenset[str]) -> Iterator[Maker]:
    if not question.assumptions <= allow:
        raise UnsupportedQuery(
            "running counts rest on rows that keep their date in every version of the table, which is not checked; "
            'where you vouch for it, open the session and its ledger, or write the plan, with allow=["fixed-dates"]'
        )
    return (partial(_per_row, ContinualCounting, "", question, target, *one) for one in ways(question, target))


def _quantiles(question: Quantiles, target: Guarantee, allow: frozenset[str]) -> Iterator[Maker]:
    return (_made(make) for make in quantile_mechanisms(question, target))


def _thresholds(question: ThresholdGrid, target: Guarantee, allow: frozenset[str]) -> Iterator[Maker]:
    yield partial(_by_error, ThresholdDatabase.calibrate, question, target)


def _components(question: Moments, target: Guarantee, allow: frozenset[str]) -> Iterator[Maker]:
    return (_made(make) for make in component_mechanisms(question, target))


def _functions(question: FunctionQuestion, target: Guarantee, allow: frozenset[str]) -> Iterator[Maker]:
    return (_made(make) for make in function_mechanisms(question, target))


def _chosen_density(question: ChosenDensity, target: Guarantee, allow: frozenset[str]) -> Iterator[Maker]:
    yield lambda: Option(mechanism := ChosenBandwidth.calibrate(question, target), min(mechanism.noises))


def _additive(question: VectorQuestion, target: Guarantee, allow: frozenset[str]) -> Iterator[Maker]:
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
        kinds += [(Gaussian, target), (DiscreteGaussian, target), (TruncatedLaplace, target)]
        kinds.append((Laplace, target))
    if question.total_is_public:
        kinds.append((SumZero, _pure(target)))
        if question.dimension == 2 and target.takes_normal:
            kinds.append((Complement, target))
    for kind, spend in kinds:
        yield partial(_per_row, kind, "", question, spend)


def _linear(question: Workload, target: Guarantee, allow: frozenset[str]) -> Iterator[Maker]:
    return (_made(make) for make in linear_mechanisms(question, target, allow))


def _preference(option: Option) -> float:
    """The predicted error; one percent more for each assumption, so that exact noise wins where it is as good."""
    return option.predicted * (1 + 0.01 * len(option.mechanism.guarantee().assumptions)) * _price_of_delta(option)


def _per_row(kind: Any, label: str, question: Any, target: Guarantee, *more: Any) -> Option:
    """A mechanism of this kind with the root mean square error of a weighted row."""
    mechanism = kind.calibrate(question, target, *more)
    return Option(mechanism, mechanism.root_mean_square, label)


def _by_error(calibrate: Callable[..., Mechanism], *arguments: Any) -> Option:
    mechanism = calibrate(*arguments)
    return Option(mechanism, mechanism.error())


def _made(make: Callable[[], Any]) -> Maker:
    return lambda: Option(*make())


def _of(candidates: Callable[[Any, Guarantee], Iterator[Any]]) -> Callable[..., Iterator[Maker]]:
    """Makers of tables, without those that rest on what is not allowed."""
    return lambda question, target, allow: (_allowed(make, allow) for make in candidates(question, target))


def _allowed(make: Callable[[], Any], allow: frozenset[str]) -> Maker:
    """The option, refused where it rests on what is not allowed."""

    def made() -> Option:
        mechanism, predicted = make()
        missing = sorted(mechanism.guarantee().assumptions - allow)
        if missing:
            raise UnsupportedQuery(
                f"{mechanism.to_record()['type']} would rest on the assumption {missing[0]!r}, which is not allowed; "
                f'allow it by name, allow=["{missing[0]}"], or ask for less'
            )
        return Option(mechanism, predicted)

    return made


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


# What may answer each kind of question; a new kind is one row.
CANDIDATES: dict[type, Kind] = {
    VectorQuestion: Kind(_additive, _sharpness),
    Workload: Kind(_linear, _preference),
    Running: Kind(_running, _preference),
    Quantiles: Kind(_quantiles, _preference),
    Popular: Kind(_popular, _preference),
    Scored: Kind(_scored, _preference),
    DeclaredScores: Kind(_declared, _preference),
    Keys: Kind(_over_keys),
    KeyNames: Kind(_names),
    ThresholdGrid: Kind(_thresholds),
    Moments: Kind(_components, _preference),
    FunctionQuestion: Kind(_functions, _preference),
    ChosenDensity: Kind(_chosen_density, _preference),
    SyntheticRows: Kind(_of(synthetic_mechanisms), _preference),
    SanitizedRows: Kind(_of(sanitizing_mechanisms), _preference),
    SmoothRows: Kind(_of(smooth_mechanisms), _preference),
    CountingQueries: Kind(_of(counting_mechanisms), _preference),
}
