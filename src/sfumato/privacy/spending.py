"""Which spends are tried where a target is given instead of one: those of one kind, perhaps up to a ceiling."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from numbers import Real

from sfumato import arguments
from sfumato.errors import ParameterError
from sfumato.privacy.claims import guarantee_of
from sfumato.privacy.guarantees import Guarantee, Pure
from sfumato.privacy.parts import must_be_positive

__all__ = ["Spend", "Spending", "amount_in", "guarantee_like", "kind_in", "spending_of"]

Spend = Guarantee | type[Guarantee] | None  # a kind, or nothing, only beside a target
SHARE_OF_DELTA = 10  # a release takes one part in so many of the budget's delta, unless it is said


@dataclass(frozen=True, slots=True)
class Spending:
    """The spends among which one is sought: of one kind, with one delta if it has one, up to a ceiling."""

    kind: Guarantee  # whose first number is changed
    ceiling: float | None = None

    def at(self, amount: float) -> Guarantee:
        """The spend with this first number."""
        return self.kind.with_parts({self.kind.names()[0]: amount})


def guarantee_like(name: str, value: object) -> object:
    """A spend or budget as people write it: a number is the epsilon of pure privacy, a mapping is read as in plans.

    >>> guarantee_like("spend", 0.1), guarantee_like("spend", {"epsilon": 1.0, "delta": 1e-6})
    (Pure(epsilon=0.1), Approximate(epsilon=1.0, delta=1e-06))
    """
    if isinstance(value, Real) and not isinstance(value, bool):
        amount = arguments.number(name, value)
        must_be_positive({name: amount})
        return Pure(amount)
    if isinstance(value, Mapping):
        amounts = {str(part): arguments.number(f"{part!s:.40} of {name}", amount) for part, amount in value.items()}
        must_be_positive(amounts)
        return guarantee_of(amounts)
    return value


def spending_of(spend: object, budget: Guarantee) -> Spending:
    """What `spend` leaves open beside a target: nothing (the budget's kind), a kind, or a ceiling."""
    if spend is None:
        return Spending(_with_delta(budget, budget))
    kind, ceiling = kind_in(spend), amount_in(spend)
    if kind is not None:
        if kind.names() == budget.names():
            return Spending(_with_delta(budget, budget))
        if "delta" in kind.names():
            raise ParameterError(
                "spend=Approximate needs a delta, and the budget has none to take a share of; give a ceiling such as "
                "spend=Approximate(1.0, 1e-6)"
            )
        return Spending(kind(1.0))  # type: ignore[call-arg]
    if ceiling is not None:
        if ceiling.amount <= 0:
            raise ParameterError(f"spend, a ceiling beside within=, must be above 0, got {ceiling!r}")
        return Spending(ceiling, ceiling.amount)
    raise ParameterError(
        "beside within=, spend is a kind such as sf.Concentrated, a ceiling such as sf.Pure(0.5), or left out, "
        f"got {type(spend).__name__}"
    )


def _with_delta(kind: Guarantee, budget: Guarantee) -> Guarantee:
    delta = budget.parts().get("delta")
    return kind if delta is None else kind.with_parts({"delta": delta / SHARE_OF_DELTA})


def amount_in(spend: object) -> Guarantee | None:
    """The amount, if it is one."""
    return spend if isinstance(spend, Guarantee) else None


def kind_in(spend: object) -> type[Guarantee] | None:
    """The kind, if it is one.

    >>> from sfumato.privacy.guarantees import Pure
    >>> kind_in(Pure), kind_in(Pure(1.0)), kind_in(None)
    (<class 'sfumato.privacy.guarantees.Pure'>, None, None)
    """
    return spend if isinstance(spend, type) and issubclass(spend, Guarantee) else None
