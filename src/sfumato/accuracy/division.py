"""A budget divided over releases: the worst error, relative to each one's scale and weight, is as small as it can be.

Each release has an error curve: its stated error, over its scale and times its weight, as a function of the first
number of its spend.  Curves fall, so the least worst error t is where the spends that each needs for t just fit the
budget: a convex problem in one number, solved by halving.  Curves are sampled at spends a factor apart, and between
them taken for powers of the spend.  A release that an equal spend would bring to an error of 1 % of its scale keeps
that, however large the errors of others: one that hardly falls takes what the others can spare, and no more.
Everything is public, and the same parts give the same division.
"""

from __future__ import annotations

import bisect
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Protocol

from sfumato.accuracy.least import error_at, grid, place_of
from sfumato.accuracy.targets import depends_on_rows, scale_of
from sfumato.cards import Printed
from sfumato.errors import BudgetExceeded, SfumatoError
from sfumato.ledger.names import lost_words
from sfumato.ledger.protocol import in_words
from sfumato.ledger.rules import added
from sfumato.ledger.terms import Terms
from sfumato.numeric import exact, floor_float
from sfumato.planner import chosen, options
from sfumato.privacy.claims import to_record
from sfumato.privacy.filters import Amounts, filter_for
from sfumato.privacy.guarantees import GUARANTEES, Guarantee
from sfumato.queries import Question

__all__ = ["Claimant", "Curve", "Division", "Purse", "curve_of", "divide", "divided"]

POINTS = 7
APART = 4.0  # between the spends at which a curve is sampled
HALVINGS = 60
LEAST = 2e-3  # of a budget: what rounding leaves of it is not divided again
LEVEL = 0.95
SUPPOSED = (
    "; for this, an error that depends on how many rows a condition selects or a group holds is taken for that of all "
    "rows, shared equally by the groups: with fewer rows it is larger"
)
GOOD = 0.01  # of its scale: an error that is not given up for those of others


@dataclass(frozen=True, slots=True)
class Claimant:
    """A release that shares in a budget: its question, and how much its error counts beside those of others."""

    name: str
    question: Question
    weight: float = 1.0
    mechanism: str | None = None

    def relative(self, spend: Guarantee, allow: frozenset[str]) -> float:
        """The weighted error over its scale."""
        instead = "give it a spend"
        try:
            error = error_at(self.question, spend, LEVEL, self.mechanism, allow, suppose=True)
            instead = "give it a spend, or within"
            return self.weight * error / scale_of(self.question).amount
        except SfumatoError as error:
            raise type(error)(f"release {self.name!r} cannot share in a divided budget; {instead}: {error}") from None

    def supposes(self, spend: Guarantee, allow: frozenset[str]) -> bool:
        """Whether that error is one of all rows, shared equally, where another number of them may count."""
        tried = options(self.question, spend, allow) if self.mechanism is None else chosen(
            self.question, spend, self.mechanism, allow
        )  # fmt: skip
        return depends_on_rows(self.question, tried[0].mechanism, LEVEL)


class Sharing(Protocol):
    """Whatever shares in a budget, one release or several that are measured together."""

    @property
    def name(self) -> str:
        """Its name."""

    @property
    def question(self) -> Question:
        """What is asked."""

    def relative(self, spend: Guarantee, allow: frozenset[str]) -> float:
        """The largest error over its scale, weights included."""

    def supposes(self, spend: Guarantee, allow: frozenset[str]) -> bool:
        """Whether that error supposes that all rows count, shared equally by the groups."""


@dataclass(frozen=True, slots=True)
class Purse:
    """What may be spent: the ledger's budget after its charges so far, and within it `total` less what is `fixed`."""

    terms: Terms
    spent: Amounts
    first: Amounts | None = None
    total: Guarantee | None = None
    fixed: tuple[Guarantee, ...] = ()  # releases that will be charged besides
    paid: tuple[Guarantee, ...] = ()  # releases of the same plan that were charged before, which count in its total
    lost: tuple[str, ...] = ()  # of those fixed, what was charged before and never stored

    def admits(self, spends: Sequence[Guarantee]) -> bool:
        """Whether these fit, whatever order they are charged in."""
        rules = self.terms.filter
        costs = [rules.amounts(one) for one in (*self.fixed, *spends)]
        together = self.spent
        for cost in costs:
            together = added(together, cost)
        first = self.first or next((cost for cost in costs if any(cost)), None)
        return rules.admits(together, first) and (self.total is None or self._within(self.total, spends))

    def spent_up(self, names: Sequence[str], least: Sequence[Guarantee]) -> BudgetExceeded:
        """What to say where these find nothing to share, not even the least."""
        over = ", ".join(map(repr, names[:4]))
        if self.total is not None and replace(self, total=None).admits(least):
            return BudgetExceeded(
                f"the total {in_words(self.total)} is reached by the other releases, so that nothing of it is left to "
                f"divide over {over}; the budget has room: raise total{lost_words(self.lost)}"
            )
        return BudgetExceeded(
            f"nothing is left of the budget to divide over {over}; lower the spends of others, or leave these out"
            f"{lost_words(self.lost)}"
        )

    def _within(self, total: Guarantee, spends: Sequence[Guarantee]) -> bool:
        own = filter_for(total)
        costs = [own.amounts(one) for one in (*self.paid, *self.fixed, *spends)]
        return own.admits(tuple(map(sum, zip(*costs, strict=True))), next((c for c in costs if any(c)), None))

    def delta(self) -> float:
        """Half of the delta that is left to further charges; 0 where there is none."""
        own = sum((exact(one.parts().get("delta", 0.0)) for one in (*self.fixed, *self.paid)), Fraction(0))
        left = exact(self.terms.filter.spare(self.spent, self.first))
        if self.total is not None:
            left = min(left, exact(self.total.parts().get("delta", 0.0)) * 9 / 10)
        return floor_float(max(Fraction(0), left - own) / 2)


@dataclass(frozen=True, slots=True)
class Curve:
    """Errors at increasing amounts, between and below them powers of the amount."""

    amounts: tuple[float, ...]
    errors: tuple[float, ...]  # falling

    def needed(self, error: float) -> float:
        """The amount at which the error is this one; infinite where no amount reaches it."""
        if error < self.errors[-1]:
            return math.inf
        place = bisect.bisect_left([-found for found in self.errors], -error)
        left = min(max(place - 1, 0), len(self.errors) - 2)
        low, high = self.errors[left + 1], self.errors[left]
        if not (0 < low < high < math.inf):
            return self.amounts[min(place, len(self.amounts) - 1)]
        slope = math.log(self.amounts[left + 1] / self.amounts[left]) / math.log(high / low)
        return self.amounts[left] * math.exp(slope * math.log(high / error))

    def at(self, amount: float) -> float:
        """The error at an amount."""
        place = bisect.bisect_left(self.amounts, amount)
        left = min(max(place - 1, 0), len(self.amounts) - 2)
        low, high = self.errors[left + 1], self.errors[left]
        if not (0 < low < high < math.inf):
            return self.errors[min(place, len(self.errors) - 1)]
        slope = math.log(high / low) / math.log(self.amounts[left + 1] / self.amounts[left])
        return high * math.exp(slope * math.log(self.amounts[left] / amount))


@dataclass(frozen=True, slots=True)
class Division(Printed):
    """What each release may spend; `worst` is the largest weighted error over its scale, `even` that of equal ones."""

    spends: Mapping[str, Guarantee]
    worst: float
    even: float
    apart: float | None = None  # the worst error where no releases were measured together, if some are
    supposed: bool = False  # whether some error depends on how many rows are selected

    def __str__(self) -> str:
        return "\n".join(self.lines())

    def words(self) -> str:
        """What dividing gains, for a reader."""
        return (
            f"the budget is divided so that no error is above {self.worst:.3g} of its scale; "
            f"equal spends would reach {self.even:.3g}"
            + ("" if self.apart is None else f", and measuring each release by itself {self.apart:.3g}")
            + (SUPPOSED if self.supposed else "")
            + self._largest()
        )

    def _largest(self) -> str:
        """Who takes nearly all, if somebody does: an error that hardly falls leaves little to the others."""
        amounts = {name: spend.amount for name, spend in self.spends.items()}
        name, most = max(amounts.items(), key=lambda one: one[1])
        share = most / math.fsum(amounts.values())
        if len(amounts) == 1 or not share > 0.75:
            return ""
        return f"; {name!r} takes {share:.0%} of it: a smaller weight, or a spend of its own, leaves more to the others"

    def lines(self) -> list[str]:
        """The same with the spend of each release, one a line."""
        return [self.words(), *(f"  {name}: {in_words(spend)}" for name, spend in self.spends.items())]

    def to_record(self) -> dict[str, object]:
        """Plain values."""
        return {
            "worst": self.worst,
            "even": self.even,
            **({} if self.apart is None else {"apart": self.apart}),
            **({"supposed": True} if self.supposed else {}),
            "spends": {name: to_record(spend) for name, spend in self.spends.items()},
        }


def curve_of(error: Callable[[float], float], most: float) -> Curve:
    """The curve of an error, sampled up to the greatest amount; errors that rise again are taken for level."""
    amounts = [most / APART**power for power in range(POINTS)]
    errors, least = [], math.inf
    for amount in reversed(amounts):
        least = min(least, error(amount))
        errors.append(least)
    return Curve(tuple(reversed(amounts)), tuple(errors))


def divide(
    curves: Sequence[Curve], spend: Callable[[Sequence[float]], list[Guarantee]], purse: Purse, equal: float
) -> tuple[list[float], float] | None:
    """The amounts for the least worst error, and that error; none where not even the smallest spends fit.

    What the amount `equal`, which all may spend alike, brings to a good error keeps a good one.
    """
    most = [GOOD if curve.needed(GOOD) <= equal else math.inf for curve in curves]

    def needed(error: float) -> list[float]:
        return [curve.needed(min(error, limit)) for curve, limit in zip(curves, most, strict=True)]

    def fits(error: float) -> bool:
        amounts = needed(error)
        return all(map(math.isfinite, amounts)) and purse.admits(spend(amounts))

    positive = [error for curve in curves for error in curve.errors if 0 < error < math.inf]
    low = max(curve.errors[-1] for curve in curves) or min(positive, default=1.0) / 2  # all at 0: the least that is
    high = low
    for _ in range(HALVINGS):
        if fits(high):
            break
        low, high = high, 4 * high
    else:
        return None
    for _ in range(HALVINGS):
        middle = math.sqrt(low * high)
        low, high = (low, middle) if fits(middle) else (middle, high)
    return [grid(place_of(amount)) for amount in needed(high)], high


def divided(sharing: Sequence[Sharing], purse: Purse, allow: frozenset[str] = frozenset()) -> Division:
    """What each of these releases may spend of a purse."""
    budget = purse.total or purse.terms.budget
    kinds = _kinds(sharing, budget, purse.delta(), allow)

    def spend(amounts: Sequence[float]) -> list[Guarantee]:
        return [kind.with_parts({kind.names()[0]: amount}) for kind, amount in zip(kinds, amounts, strict=True)]

    def error(one: Sharing, kind: Guarantee) -> Callable[[float], float]:
        return lambda amount: one.relative(kind.with_parts({kind.names()[0]: amount}), allow)

    curves = [curve_of(error(one, kind), budget.amount) for one, kind in zip(sharing, kinds, strict=True)]
    least = [LEAST * budget.amount / len(sharing)] * len(sharing)
    equal = _equal(lambda amount: purse.admits(spend([amount] * len(sharing))), budget.amount)
    found = divide(curves, spend, purse, equal) if purse.admits(spend(least)) else None
    if found is None:
        raise purse.spent_up([one.name for one in sharing], spend(least))
    amounts, worst = found
    even = max(curve.at(equal) for curve in curves)
    spends = spend(amounts)
    supposed = any(one.supposes(kept, allow) for one, kept in zip(sharing, spends, strict=True))
    return Division(dict(zip([one.name for one in sharing], spends, strict=True)), worst, even, supposed=supposed)


def _kinds(claimants: Sequence[Sharing], budget: Guarantee, delta: float, allow: frozenset[str]) -> list[Guarantee]:
    """Of which kind each spend is: the budget's; where that has a delta, a share of it for those that gain by one."""
    if "delta" not in budget.names():
        return [budget] * len(claimants)
    pure = GUARANTEES["pure"](budget.amount)  # type: ignore[call-arg]
    if not delta:
        return [pure] * len(claimants)
    even = budget.amount / len(claimants)
    tried = budget.with_parts({"epsilon": even, "delta": delta / len(claimants)})
    takers = [one.name for one in claimants if _takes_delta(one.question, tried, allow)]
    if not takers:
        return [pure] * len(claimants)
    share = floor_float(exact(f"{delta / len(takers):.2e}") * 99 / 100)
    return [budget.with_parts({"delta": share}) if one.name in takers else pure for one in claimants]


def _takes_delta(question: Question, tried: Guarantee, allow: frozenset[str]) -> bool:
    return options(question, tried, allow)[0].mechanism.guarantee().parts().get("delta", 0.0) > 0


def _equal(fits: Callable[[float], bool], most: float) -> float:
    """The greatest amount that all may spend alike."""
    low, high = 0.0, most
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    return low
