"""A mechanism on plain arrays: calibrated from public quantities, it states its claim, error and certificate.

Every function of `sf.reference` that makes a mechanism returns one of these.  `release` draws once; the same mechanism
may draw again, and each draw costs its guarantee.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

from sfumato.answers.certificate import Certificate, NoBoundKnown
from sfumato.errors import ParameterError, UnsupportedQuery
from sfumato.numeric import shown_up
from sfumato.privacy.guarantees import Guarantee
from sfumato.randomness import Rng, SecureRng, SeededRng

__all__ = ["Calibrated", "Claiming", "Measured", "Outcome", "must_be_generator"]

Data = TypeVar("Data")
Value = TypeVar("Value")


class Claiming(Protocol):
    """What every mechanism of this package states, and its one random step."""

    def guarantee(self, distance: int = 1) -> Guarantee:
        """What one release costs between inputs `distance` apart."""

    def error(self, beta: float = 0.05) -> float:
        """A bound on the error, exceeded with probability at most `beta`."""


class Measured(Protocol):
    """What a certificate needs of a mechanism: its claim, and the moments of its error on the worst input."""

    def guarantee(self) -> Guarantee:
        """What one release costs between neighbors."""

    def moment(self, power: float = 1.0, norm: str | float = "l2") -> float:
        """E ||error||^power in a norm ("l1", "l2", "linf", or a number of at least 1), never understated."""


@dataclass(frozen=True, slots=True)
class Outcome(Generic[Value]):
    """One draw: its value, what it cost, an error exceeded with probability at most 0.05, and its certificate."""

    value: Value
    guarantee: Guarantee
    error: float
    certificate: Certificate | NoBoundKnown

    def __str__(self) -> str:
        return (
            f"{self.value!r}\n  guarantee    {self.guarantee.words().format(unit='one unit')}\n"
            f"  error        at most {shown_up(self.error, 6)}, but for a probability of 0.05\n"
            f"  certificate  {self.certificate.words()}"
        )


@dataclass(frozen=True, slots=True, eq=False)
class Calibrated(Generic[Data, Value]):
    """A mechanism on data as researchers hold them: `draw` answers once, from the secret data.

    `proven` computes the certificate, which may take a while, when it is first asked for; `moments` those of the error,
    where they do not depend on the data.
    """

    name: str
    mechanism: Claiming
    draw: Callable[[Data, Rng], Value]
    proven: Callable[[], Certificate | NoBoundKnown]
    moments: Callable[[float, str | float], float] | None = None

    def __repr__(self) -> str:
        return f"Calibrated({self.name!r}, {self.guarantee()!r})"

    def guarantee(self, distance: int = 1) -> Guarantee:
        """What one release costs between inputs `distance` apart."""
        return self.mechanism.guarantee(distance)

    def error(self, beta: float = 0.05) -> float:
        """A bound on the error, in the units that the mechanism states, exceeded with probability at most `beta`."""
        return self.mechanism.error(beta)

    def moment(self, power: float = 1.0, norm: str | float = "l2") -> float:
        """E ||error||^power in a norm: "l1", "l2", "linf" or a number of at least 1.

        Where no formula is known it is an upper limit: the mean of simulated draws + 4 standard errors.
        """
        if self.moments is None:
            raise UnsupportedQuery(f"the error of {self.name} depends on the data, so it has no moments to state")
        return self.moments(power, norm)

    @property
    def setting(self) -> str:
        """The narrower class that the mechanism belongs to, such as "metric"; empty if none."""
        return str(getattr(self.mechanism, "setting", ""))

    @property
    def certificate(self) -> Certificate | NoBoundKnown:
        """How far the error is from the best that any mechanism of a named class could reach."""
        return self.proven()

    def release(self, data: Data, rng: Rng) -> Outcome[Value]:
        """One draw.  A seeded generator repeats itself: whoever knows the seed can undo the noise."""
        must_be_generator(rng)
        return Outcome(self.draw(data, rng), self.guarantee(), self.error(), self.certificate)


def must_be_generator(rng: object) -> None:
    """Refuse what draws no bits, such as a seed by itself or a generator of numpy."""
    if not isinstance(rng, SecureRng | SeededRng):
        raise ParameterError(
            f"rng must be sf.reference.seeded(seed), which repeats itself, or sf.reference.secure(), got a "
            f"{type(rng).__name__}"
        )
