"""What every claim is made of: named numbers, and the assumptions that it rests on."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Self

from sfumato import arguments
from sfumato.cards import Card
from sfumato.errors import ParameterError
from sfumato.privacy.assumptions import ASSUMPTIONS, assumed
from sfumato.privacy.conversions import pure_to_concentrated
from sfumato.privacy.parameters import whole
from sfumato.privacy.statements import Statement

if TYPE_CHECKING:
    from sfumato.privacy.guarantees import Approximate, Claim

__all__ = ["Parts", "group_size", "must_be_positive"]

LEAST = 1e-100  # below it noise is wider than any number


@dataclass(frozen=True, slots=True, repr=False)
class Parts(ABC):
    """The numbers of a claim, in the order in which they are written, and its assumptions."""

    assumptions: frozenset[str] = field(default=frozenset(), kw_only=True)

    def __post_init__(self) -> None:
        for name, amount in self.parts().items():
            _check(name, amount)
        object.__setattr__(self, "assumptions", assumed(self.assumptions))

    def __repr__(self) -> str:
        amounts = ", ".join(f"{name}={amount!r}" for name, amount in self.parts().items())
        tail = f", assumptions={sorted(self.assumptions)}" if self.assumptions else ""
        return f"{type(self).__name__}({amounts}{tail})"

    def _repr_html_(self) -> str:
        return str(Card(repr(self), {"meaning": self.words().format(unit="one protected unit")}).html())

    def parts(self) -> dict[str, float]:
        """The named numbers, such as epsilon and delta."""
        return {part: getattr(self, part) for part in self.names()}

    @classmethod
    def names(cls) -> tuple[str, ...]:
        """The names of the numbers; the first is the loss itself, which must be above 0 to learn anything."""
        return tuple(part.name for part in fields(cls) if part.name != "assumptions")

    @property
    def amount(self) -> float:
        """The first number: epsilon, or rho."""
        return float(getattr(self, self.names()[0]))

    @property
    def takes_normal(self) -> bool:
        """Whether normal noise, whose loss is unbounded, can meet this claim."""
        return False

    @property
    def counts_rho(self) -> bool:
        """Whether it is counted in rho rather than in epsilon."""
        return False

    @property
    def counts_mu(self) -> bool:
        """Whether it is counted in mu, which normal noise attains."""
        return False

    @property
    def pure_epsilon(self) -> float:
        """The epsilon of the pure claim that it implies, infinite if none."""
        return math.inf

    @property
    def concentrated_rho(self) -> float:
        """The rho of the concentrated claim that it implies, infinite if none."""
        return pure_to_concentrated(self.pure_epsilon) if self.pure_epsilon < math.inf else math.inf

    def pure_within(self) -> float:
        """The greatest epsilon whose pure claim meets this one, 0 if none is known."""
        return 0.0

    def concentrated_within(self) -> float:
        """The greatest rho whose concentrated claim meets this one, 0 if none does."""
        return 0.0

    def normal_within(self) -> float:
        """The greatest (moved / sigma)^2 / 2 of normal noise whose claim meets this one, 0 if none does."""
        return 0.0

    def at_normal(self, amount: float) -> Self:
        """The claim of this kind that normal noise with (moved / sigma)^2 / 2 = `amount` meets."""
        raise ParameterError(f"no claim such as {self!r} follows from normal noise of amount {amount!r}")

    def at_rho(self, rho: float) -> Self:
        """The claim of this kind, with this delta if it has one, that rho-concentrated privacy implies."""
        raise ParameterError(f"no claim such as {self!r} follows from rho = {rho!r}")

    def at(self, delta: float) -> Approximate:
        """What follows for every event at this delta: the least epsilon, rounded up.

        >>> from sfumato.privacy.guarantees import Concentrated
        >>> round(Concentrated(0.5).at(delta=1e-6).epsilon, 6)
        5.221534
        """
        return self.to("approximate", delta)  # type: ignore[return-value]

    def to(self, kind: str | type[Claim], delta: float | None = None) -> Claim:
        """The claim of another kind that follows: "pure", "concentrated", or "approximate" at a delta.

        >>> from sfumato.privacy.guarantees import Concentrated, Pure
        >>> Pure(1.0).to(Concentrated) == Pure(1.0).to("concentrated")
        True
        """
        from sfumato.privacy.converting import convert  # it knows all kinds of claims

        return convert(self, kind.__name__.lower() if isinstance(kind, type) else kind, delta)  # type: ignore[arg-type]

    def share(self, count: int) -> Self:
        """One of `count` equal parts."""
        whole("count", count)
        return self.with_parts({name: amount / count for name, amount in self.parts().items()})

    def with_parts(self, amounts: Mapping[str, float]) -> Self:
        """The same kind of claim with some of its numbers changed."""
        return replace(self, **amounts)  # type: ignore[arg-type]

    def assuming(self, *names: str) -> Self:
        """The same claim, if these assumptions hold as well."""
        return replace(self, assumptions=self.assumptions | frozenset(names))

    @abstractmethod
    def title(self) -> str:
        """The kind of privacy, and its numbers."""

    @abstractmethod
    def statement(self) -> Statement:
        """What follows for every event."""

    def words(self) -> str:
        """The claim in one sentence, with a place for the unit, and what it rests on."""
        caveat = f" ({self.caveat()})" if self.assumptions else ""
        return f"{self.title()}: {self.statement().words('{unit}')}{caveat}"

    def caveat(self) -> str:
        """What the claim takes for granted; nothing where that is nothing."""
        reasons = [ASSUMPTIONS[name] for name in sorted(self.assumptions)]
        return f"assuming that {' and that '.join(reasons)}" if reasons else ""

    def covers(self, given: Parts, room: float = 0.0) -> bool:
        """Whether this states at least what `given` does: of one kind, no number smaller but for a relative `room`."""
        if type(self) is not type(given) or not given.assumptions <= self.assumptions:
            return False
        return all(self.parts()[name] * (1 + room) >= amount for name, amount in given.parts().items())


def group_size(distance: int) -> int:
    """The distance of a group claim, checked."""
    if not (isinstance(distance, int) and distance >= 0):
        raise ParameterError(f"distance must be a whole number of at least 0, got {distance!r}")
    return distance


def must_be_positive(amounts: Mapping[str, float | None]) -> None:
    """Refuse to spend nothing: an answer that costs nothing tells nothing.  Deltas may be 0."""
    for name, amount in amounts.items():
        if name != "delta" and amount is not None and not amount > LEAST:
            raise ParameterError(
                f"{name} must be above {0 if not amount > 0 else LEAST}, got {amount!r}; "
                "it says how much privacy may be spent, often between 0.01 and 2"
            )


def _check(name: str, amount: float) -> None:
    if name == "delta":
        if not (isinstance(amount, int | float) and 0 <= amount < 1):
            raise ParameterError(f"delta must lie in [0, 1), got {amount!r}")
        return
    if not isinstance(amount, int | float) or arguments.number(name, amount) < 0:
        raise ParameterError(f"{name} must be a finite number of at least 0, got {amount!r}")
    if name == "order" and amount <= 1:
        raise ParameterError(f"order must be above 1, got {amount!r}")
