"""Privacy claims as frozen values: pure, approximate, concentrated, Renyi and Gaussian.

A guarantee is what holds between neighbors at distance 1; `group(k)` is what then holds at distance
k, `implies` says whether it is enough for a target, `statement` is what follows for every event, and
`words` says it to a lawyer.  Names of assumptions travel with the claim and are united when claims compose.

What is spent (`GUARANTEES`, the closed list) says besides what a mechanism may do with it: `pure_within` and
`concentrated_within` are the greatest epsilon and rho whose claims meet it (0 if none does), `takes_normal` whether
noise of unbounded loss can, `normal_within` how much of it, `counts_rho` and `counts_mu` whether it is counted in rho
or mu rather than in epsilon; `at_rho` and `at_normal` are the claims that follow from amounts within; `pure_epsilon`
and `concentrated_rho` are the least that it implies (infinite if none).  Nobody else asks a guarantee for its class.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from sfumato.errors import ParameterError
from sfumato.numeric import round_down, round_up, shown_down, shown_up
from sfumato.privacy.conversions import (
    concentrated_for,
    concentrated_to_approximate,
    normal_mu,
    pure_for,
    pure_to_concentrated,
    renyi_to_approximate,
)
from sfumato.privacy.parts import Parts, group_size
from sfumato.privacy.statements import STATED_DELTA, EveryEvent, HardToTell

__all__ = [
    "CLAIMS",
    "GUARANTEES",
    "SYMBOLS",
    "Approximate",
    "Claim",
    "Concentrated",
    "GaussianPrivacy",
    "Guarantee",
    "Pure",
    "Renyi",
]


@dataclass(frozen=True, slots=True, repr=False)
class Pure(Parts):
    """Epsilon-DP: no output becomes more than e^epsilon times likelier through one unit.

    >>> Pure(0.5)
    Pure(epsilon=0.5)
    >>> Pure(0.5).group(3).implies(Pure(1.0))
    False
    """

    epsilon: float

    def group(self, distance: int) -> Pure:
        """What holds for `distance` units together."""
        epsilon = group_size(distance) * self.epsilon
        return Pure(epsilon if distance <= 1 else round_up(epsilon), assumptions=self.assumptions)

    def implies(self, target: Claim) -> bool:
        """Whether this claim is at least as strong as `target` (which may allow assumptions)."""
        if not self.assumptions <= target.assumptions:
            return False
        rho = pure_to_concentrated(self.epsilon)
        match target:
            case Concentrated():
                return rho <= target.rho
            case Renyi():
                return min(self.epsilon, round_up(target.order * rho)) <= target.epsilon
            case GaussianPrivacy():
                return self.epsilon <= target.pure_within()
            case _:
                return self.epsilon <= target.epsilon

    @property
    def delta(self) -> float:
        """Nothing is given up."""
        return 0.0

    @property
    def pure_epsilon(self) -> float:
        """Its own."""
        return self.epsilon

    def pure_within(self) -> float:
        """Its own epsilon."""
        return self.epsilon

    def statement(self) -> EveryEvent:
        """What holds for every event."""
        return EveryEvent(self.epsilon)

    def title(self) -> str:
        """The kind of privacy, and its numbers."""
        return f"pure differential privacy with epsilon = {shown_up(self.epsilon, 6)}"


@dataclass(frozen=True, slots=True, repr=False)
class Approximate(Parts):
    """(epsilon, delta)-DP: no event becomes likelier through one unit than e^epsilon times what it was, plus delta.

    >>> Approximate(1.0, 1e-6).group(2).delta < 4e-6
    True
    """

    epsilon: float
    delta: float

    def group(self, distance: int) -> Approximate:
        """What holds for `distance` units together: delta grows by 1 + e^eps + ... + e^((k-1) eps)."""
        k = group_size(distance)
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

    def implies(self, target: Claim) -> bool:
        """Whether this claim is at least as strong as `target` by its parameters alone."""
        if not self.assumptions <= target.assumptions:
            return False
        if isinstance(target, Approximate):
            return self.epsilon <= target.epsilon and self.delta <= target.delta
        return self.delta == 0 and Pure(self.epsilon, assumptions=self.assumptions).implies(target)

    @property
    def takes_normal(self) -> bool:
        """Where delta pays for the tail."""
        return self.delta > 0

    @property
    def pure_epsilon(self) -> float:
        """Its own, if delta is 0."""
        return math.inf if self.delta else self.epsilon

    def pure_within(self) -> float:
        """Its own epsilon: delta is left unspent."""
        return self.epsilon

    def concentrated_within(self) -> float:
        """The greatest rho whose conversion at delta is within epsilon."""
        return concentrated_for(self.epsilon, self.delta) if self.delta else 0.0

    def at_rho(self, rho: float) -> Approximate:
        """By the best order for its delta."""
        return Approximate(concentrated_to_approximate(rho, self.delta), self.delta, assumptions=self.assumptions)

    def normal_within(self) -> float:
        """By the exact profile of normal noise, which is more than `concentrated_within`."""
        if not self.delta:
            return 0.0
        from sfumato.privacy.gaussian import gaussian_amount  # scipy: only when asked

        return gaussian_amount(self.epsilon, self.delta)

    def at_normal(self, amount: float) -> Approximate:
        """At its own epsilon, by the exact profile."""
        from sfumato.privacy.gaussian import gaussian_delta  # scipy: only when asked

        delta = gaussian_delta(1.0, GaussianPrivacy.of_normal(amount).mu, self.epsilon) if amount else 0.0
        return Approximate(self.epsilon, delta, assumptions=self.assumptions)

    def statement(self) -> EveryEvent:
        """What holds for every event."""
        return EveryEvent(self.epsilon, self.delta)

    def title(self) -> str:
        """The kind of privacy, and its numbers."""
        amounts = f"epsilon = {shown_up(self.epsilon, 6)}, delta = {shown_up(self.delta, 3)}"
        return f"approximate differential privacy with {amounts}"


@dataclass(frozen=True, slots=True, repr=False)
class Concentrated(Parts):
    """Zero-concentrated DP: every Renyi divergence of order a is at most a rho.  [BunSteinke2016]

    >>> Concentrated(0.1).group(3)
    Concentrated(rho=0.9000000000000001)
    """

    rho: float

    def group(self, distance: int) -> Concentrated:
        """What holds for `distance` units together: rho grows with the square."""
        rho = group_size(distance) ** 2 * self.rho
        return Concentrated(rho if distance <= 1 else round_up(rho), assumptions=self.assumptions)

    def implies(self, target: Claim) -> bool:
        """Whether this claim is at least as strong as `target`; never a pure one unless rho is 0."""
        if not self.assumptions <= target.assumptions:
            return False
        match target:
            case Concentrated():
                return self.rho <= target.rho
            case Renyi():
                return round_up(target.order * self.rho) <= target.epsilon or self.rho == 0
            case Approximate() if target.delta > 0:
                return concentrated_to_approximate(self.rho, target.delta) <= target.epsilon
            case _:
                return self.rho == 0

    @property
    def takes_normal(self) -> bool:
        """Normal noise attains it."""
        return self.rho > 0

    @property
    def counts_rho(self) -> bool:
        """It is counted in rho."""
        return True

    @property
    def concentrated_rho(self) -> float:
        """Its own."""
        return self.rho

    def pure_within(self) -> float:
        """The greatest epsilon with epsilon tanh(epsilon / 2) at most rho."""
        return pure_for(self.rho)

    def concentrated_within(self) -> float:
        """Its own rho."""
        return self.rho

    def at_rho(self, rho: float) -> Concentrated:
        """That rho."""
        return Concentrated(rho, assumptions=self.assumptions)

    def normal_within(self) -> float:
        """Its own rho, which normal noise attains."""
        return self.rho

    def at_normal(self, amount: float) -> Concentrated:
        """That rho."""
        return self.at_rho(amount)

    def statement(self) -> EveryEvent:
        """What follows for every event at `STATED_DELTA`."""
        if self.rho == 0:
            return EveryEvent(0.0)
        return EveryEvent(concentrated_to_approximate(self.rho, STATED_DELTA), STATED_DELTA)

    def title(self) -> str:
        """The kind of privacy, and its numbers."""
        said = self.statement()
        implied = f", hence epsilon = {shown_up(said.epsilon, 4)} at delta = {said.delta:g}" if self.rho else ""
        return f"zero-concentrated differential privacy with rho = {shown_up(self.rho, 6)}{implied}"


@dataclass(frozen=True, slots=True, repr=False)
class Renyi(Parts):
    """Renyi DP: the Renyi divergence of one order above 1 is at most epsilon.  [Mironov2017]

    >>> Renyi(8.0, 0.1).group(2)
    Renyi(order=4.0, epsilon=0.3000000000000001)
    """

    order: float
    epsilon: float

    def group(self, distance: int) -> Renyi:
        """What holds for `distance` units: each doubling halves the order and triples epsilon."""
        if group_size(distance) == 0:
            return Renyi(self.order, 0.0, assumptions=self.assumptions)
        doublings = (distance - 1).bit_length()
        if doublings and self.order < 2 ** (doublings + 1):
            raise ParameterError(
                f"at distance {distance} an order of at least {2 ** (doublings + 1)} is needed, "
                f"this claim has {self.order}; state it at a higher order"
            )
        epsilon = round_up(3**doublings * self.epsilon) if doublings else self.epsilon
        return Renyi(self.order / 2**doublings, epsilon, assumptions=self.assumptions)

    def implies(self, target: Claim) -> bool:
        """Whether this claim is at least as strong as `target`; lower orders are weaker."""
        if not self.assumptions <= target.assumptions:
            return False
        if isinstance(target, Renyi):
            return target.order <= self.order and self.epsilon <= target.epsilon
        if isinstance(target, Approximate) and target.delta > 0:
            return renyi_to_approximate(self.order, self.epsilon, target.delta) <= target.epsilon
        return self.epsilon == 0

    def statement(self) -> EveryEvent:
        """What follows for every event at `STATED_DELTA`."""
        if self.epsilon == 0:
            return EveryEvent(0.0)
        return EveryEvent(renyi_to_approximate(self.order, self.epsilon, STATED_DELTA), STATED_DELTA)

    def title(self) -> str:
        """The kind of privacy, and its numbers."""
        amounts = f"order {shown_down(self.order, 6)} with divergence at most {shown_up(self.epsilon, 6)}"
        return f"Renyi differential privacy of {amounts}"


@dataclass(frozen=True, slots=True, repr=False)
class GaussianPrivacy(Parts):
    """Gaussian DP: no test tells neighbors apart better than N(0, 1) from N(mu, 1).  [DongRothSu2022]

    >>> GaussianPrivacy(0.5).group(2).implies(Concentrated(0.51))
    True
    """

    mu: float

    @classmethod
    def of_normal(cls, amount: float) -> GaussianPrivacy:
        """What normal noise with (moved / sigma)^2 / 2 = `amount` meets: mu^2 / 2 is at least the amount."""
        return cls(normal_mu(amount))

    def group(self, distance: int) -> GaussianPrivacy:
        """What holds for `distance` units together: mu grows with the distance."""
        mu = group_size(distance) * self.mu
        return GaussianPrivacy(mu if distance <= 1 else round_up(mu), assumptions=self.assumptions)

    def implies(self, target: Claim) -> bool:
        """Whether this claim is at least as strong as `target`; exact for approximate targets."""
        if not self.assumptions <= target.assumptions:
            return False
        match target:
            case GaussianPrivacy():
                return self.mu <= target.mu
            case Approximate() if target.delta > 0 and self.mu > 0:
                from sfumato.privacy.gaussian import gaussian_delta  # scipy: only when asked

                return gaussian_delta(1.0, self.mu, target.epsilon) <= target.delta
            case _:
                return Concentrated(self.concentrated_rho, assumptions=self.assumptions).implies(target)

    @property
    def takes_normal(self) -> bool:
        """Normal noise attains it."""
        return self.mu > 0

    @property
    def counts_mu(self) -> bool:
        """It is counted in mu."""
        return True

    def normal_within(self) -> float:
        """Half the square of mu, rounded down."""
        return round_down(self.mu * self.mu / 2, 8) if self.mu else 0.0

    def at_normal(self, amount: float) -> GaussianPrivacy:
        """The mu of that noise."""
        return GaussianPrivacy(self.of_normal(amount).mu, assumptions=self.assumptions)

    @property
    def concentrated_rho(self) -> float:
        """Half the square of mu, which Gaussian noise attains."""
        return round_up(self.mu * self.mu / 2, 2) if self.mu else 0.0

    def pure_within(self) -> float:
        """The greatest epsilon whose pure claim is within this one: ln(Phi(mu/2) / Phi(-mu/2))."""
        from sfumato.privacy.gaussian import gaussian_pure  # scipy: only when asked

        return gaussian_pure(self.mu)

    def statement(self) -> HardToTell:
        """What holds for every test."""
        return HardToTell(self.mu)

    def title(self) -> str:
        """The kind of privacy, and its numbers."""
        return f"Gaussian differential privacy with mu = {shown_up(self.mu, 6)}"


Guarantee = Pure | Approximate | Concentrated  # what is spent, and kept in ledgers
Claim = Guarantee | Renyi | GaussianPrivacy  # what may be stated of a mechanism
GUARANTEES: dict[str, type[Guarantee]] = {
    "pure": Pure,
    "approximate": Approximate,
    "concentrated": Concentrated,
}
SYMBOLS = {"epsilon": "ε", "delta": "δ", "rho": "\N{GREEK SMALL LETTER RHO}"}
CLAIMS: dict[str, type[Claim]] = {**GUARANTEES, "renyi": Renyi, "gaussian": GaussianPrivacy}
