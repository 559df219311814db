"""Privacy claims as frozen values: pure, approximate and concentrated.

A guarantee is what holds between neighbors at distance 1; `group(k)` is what then holds at distance
k, `implies` says whether it is enough for a target, and `words` says it to a lawyer.
Names of assumptions travel with the claim and are united when claims compose.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field

from sfumato.errors import ParameterError
from sfumato.numeric import round_up
from sfumato.privacy.assumptions import ASSUMPTIONS, assumed

__all__ = ["GUARANTEES", "Approximate", "Concentrated", "Guarantee", "Pure", "guarantee_from", "to_record"]


@dataclass(frozen=True, slots=True, repr=False)
class Pure:
    """Epsilon-DP: no output becomes more than e^epsilon times likelier through one unit.

    >>> Pure(0.5)
    Pure(epsilon=0.5)
    >>> Pure(0.5).group(3).implies(Pure(1.0))
    False
    """

    epsilon: float
    assumptions: frozenset[str] = field(default=frozenset(), kw_only=True)

    def __post_init__(self) -> None:
        _check_amount("epsilon", self.epsilon)
        object.__setattr__(self, "assumptions", assumed(self.assumptions))

    def __repr__(self) -> str:
        return _show(self, epsilon=self.epsilon)

    def group(self, distance: int) -> Pure:
        """What holds for `distance` units together."""
        epsilon = _group_size(distance) * self.epsilon
        return Pure(epsilon if distance <= 1 else round_up(epsilon), assumptions=self.assumptions)

    def implies(self, target: Guarantee) -> bool:
        """Whether this claim is at least as strong as `target` (which may allow assumptions)."""
        if not self.assumptions <= target.assumptions:
            return False
        if isinstance(target, Concentrated):
            return round_up(self.epsilon * self.epsilon / 2) <= target.rho or self.epsilon == 0
        return self.epsilon <= target.epsilon

    def words(self) -> str:
        """The claim in one sentence."""
        return (
            f"pure differential privacy with epsilon = {self.epsilon:.6g}: whatever is published, its "
            f"probability changes by a factor of at most {math.exp(min(self.epsilon, 700)):.4g} "
            f"through {{unit}}{_caveat(self)}"
        )


@dataclass(frozen=True, slots=True, repr=False)
class Approximate:
    """(epsilon, delta)-DP: as pure, except for events of probability delta.

    >>> Approximate(1.0, 1e-6).group(2).delta < 4e-6
    True
    """

    epsilon: float
    delta: float
    assumptions: frozenset[str] = field(default=frozenset(), kw_only=True)

    def __post_init__(self) -> None:
        _check_amount("epsilon", self.epsilon)
        if not (isinstance(self.delta, int | float) and 0 <= self.delta < 1):
            raise ParameterError(f"delta must lie in [0, 1), got {self.delta!r}")
        object.__setattr__(self, "assumptions", assumed(self.assumptions))

    def __repr__(self) -> str:
        return _show(self, epsilon=self.epsilon, delta=self.delta)

    def group(self, distance: int) -> Approximate:
        """What holds for `distance` units together: delta grows by 1 + e^eps + ... + e^((k-1) eps)."""
        k = _group_size(distance)
        if k <= 1:
            return Approximate(k * self.epsilon, k * self.delta, assumptions=self.assumptions)
        if k * self.epsilon > 700:
            delta = 1.0
        else:
            growth = math.expm1(k * self.epsilon) / math.expm1(self.epsilon) if self.epsilon else k
            delta = round_up(growth * self.delta, 8)
        if delta >= 1:
            raise ParameterError(f"at distance {k} delta would reach 1: no guarantee is left")
        return Approximate(round_up(k * self.epsilon), delta, assumptions=self.assumptions)

    def implies(self, target: Guarantee) -> bool:
        """Whether this claim is at least as strong as `target` by its parameters alone."""
        if not self.assumptions <= target.assumptions:
            return False
        if isinstance(target, Approximate):
            return self.epsilon <= target.epsilon and self.delta <= target.delta
        return self.delta == 0 and Pure(self.epsilon, assumptions=self.assumptions).implies(target)

    def words(self) -> str:
        """The claim in one sentence."""
        return (
            f"approximate differential privacy with epsilon = {self.epsilon:.6g}, delta = {self.delta:.3g}: "
            f"apart from events of probability {self.delta:.3g}, the probability of whatever is published "
            f"changes by a factor of at most {math.exp(min(self.epsilon, 700)):.4g} through {{unit}}{_caveat(self)}"
        )


@dataclass(frozen=True, slots=True, repr=False)
class Concentrated:
    """Zero-concentrated DP: every Renyi divergence of order a is at most a rho.  [BunSteinke2016]

    >>> Concentrated(0.1).group(3)
    Concentrated(rho=0.9000000000000001)
    """

    rho: float
    assumptions: frozenset[str] = field(default=frozenset(), kw_only=True)

    def __post_init__(self) -> None:
        _check_amount("rho", self.rho)
        object.__setattr__(self, "assumptions", assumed(self.assumptions))

    def __repr__(self) -> str:
        return _show(self, rho=self.rho)

    def group(self, distance: int) -> Concentrated:
        """What holds for `distance` units together: rho grows with the square."""
        rho = _group_size(distance) ** 2 * self.rho
        return Concentrated(rho if distance <= 1 else round_up(rho), assumptions=self.assumptions)

    def implies(self, target: Guarantee) -> bool:
        """Whether this claim is at least as strong as `target`; only a concentrated one can be implied."""
        if not self.assumptions <= target.assumptions:
            return False
        return self.rho <= target.rho if isinstance(target, Concentrated) else self.rho == 0

    def words(self) -> str:
        """The claim in one sentence."""
        return (
            f"zero-concentrated differential privacy with rho = {self.rho:.6g}: what anyone learns "
            f"through {{unit}} is at most what Gaussian noise of variance {1 / (2 * self.rho) if self.rho else math.inf:.4g} "
            f"on a single yes-or-no answer would show{_caveat(self)}"
        )


Guarantee = Pure | Approximate | Concentrated
GUARANTEES: dict[str, type[Pure] | type[Approximate] | type[Concentrated]] = {
    "pure": Pure,
    "approximate": Approximate,
    "concentrated": Concentrated,
}


def to_record(claim: Guarantee) -> dict[str, object]:
    """The whole claim as plain values, for ledgers and releases.

    >>> to_record(Pure(0.5))
    {'type': 'pure', 'epsilon': 0.5, 'assumptions': []}
    """
    name = next(name for name, kind in GUARANTEES.items() if type(claim) is kind)
    amounts = {part: getattr(claim, part) for part in ("epsilon", "delta", "rho") if hasattr(claim, part)}
    return {"type": name, **amounts, "assumptions": sorted(claim.assumptions)}


def guarantee_from(record: dict[str, object]) -> Guarantee:
    """The claim that `to_record` wrote; unknown types and parts are refused."""
    fields = dict(record)
    name = fields.pop("type", None)
    if name not in GUARANTEES:
        raise ParameterError(f"unknown guarantee {name!r}; known are {', '.join(GUARANTEES)}")
    try:
        return GUARANTEES[str(name)](**fields)  # type: ignore[arg-type]
    except TypeError:
        raise ParameterError(f"a {name} guarantee cannot have the parts {sorted(fields)}") from None


def _check_amount(name: str, amount: float) -> None:
    numeric = isinstance(amount, int | float) and not isinstance(amount, bool)
    if not (numeric and math.isfinite(amount) and amount >= 0):
        raise ParameterError(f"{name} must be a finite number of at least 0, got {amount!r}")


def _group_size(distance: int) -> int:
    if not (isinstance(distance, int) and distance >= 0):
        raise ParameterError(f"distance must be a whole number of at least 0, got {distance!r}")
    return distance


def _show(claim: object, **amounts: float) -> str:
    parts: Iterable[str] = (f"{name}={amount!r}" for name, amount in amounts.items())
    assumptions = sorted(getattr(claim, "assumptions", ()))
    tail = f", assumptions={assumptions}" if assumptions else ""
    return f"{type(claim).__name__}({', '.join(parts)}{tail})"


def _caveat(claim: Guarantee) -> str:
    reasons = [ASSUMPTIONS[name] for name in sorted(claim.assumptions)]
    return f" (assuming that {' and that '.join(reasons)})" if reasons else ""
