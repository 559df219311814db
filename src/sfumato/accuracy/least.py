"""The least spend whose stated error meets a target: a search over one number, from public quantities alone.

Spends are tried on the grid of four significant digits, so that what is found is written as it is meant.  The search
keeps a spend that meets the target and one that does not, until they are neighbors on the grid: what is returned was
seen to meet the target, and the number below it was seen not to.  Where errors fall as spends grow, as they do for one
mechanism, that is the least spend.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from sfumato.accuracy.targets import stated, suppose_error
from sfumato.answers.targets import Target
from sfumato.errors import BudgetExceeded, ParameterError, UnsupportedQuery
from sfumato.numeric import shown_up
from sfumato.planner import Calibrates, chosen, options
from sfumato.privacy.guarantees import Guarantee
from sfumato.privacy.spending import Spending
from sfumato.queries import Question

__all__ = ["error_at", "grid", "least_spend", "place_of"]

DIGITS = 9000  # grid points in a decade: those of four significant digits
LOWEST = -12  # the decade where the grid starts
LAST = 15 * DIGITS  # 1000, beyond which nothing is protected
NEAR = 8  # grid points beside an end that are tried where the target seems to be met there


def grid(place: int) -> float:
    """The number at a place of the grid.

    >>> grid(0), grid(12 * 9000), grid(12 * 9000 + 1)
    (1e-12, 1.0, 1.001)
    """
    decade, digits = divmod(place, DIGITS)
    return float(f"{1000 + digits}e{decade + LOWEST - 3}")


def place_of(amount: float) -> int:
    """The place of the greatest number of the grid that is at most `amount`, kept on the grid."""
    if amount < grid(0):
        return 0
    decade = math.floor(math.log10(amount))
    place = min(LAST, max(0, (decade - LOWEST) * DIGITS + int(amount / 10.0**decade * 1000) - 1000 + 1))
    while place > 0 and grid(place) > amount:
        place -= 1
    return place


def error_at(
    question: Question,
    spend: Guarantee,
    level: float,
    mechanism: str | Calibrates | None = None,
    allow: frozenset[str] = frozenset(),
    *,
    suppose: bool = False,
) -> float:
    """The error that is stated for the mechanism that would answer; infinite where none can at this spend.

    `suppose`: where it depends on how many rows count, that of all declared rows in groups of equal size.
    """
    try:
        found = options(question, spend, allow) if mechanism is None else chosen(question, spend, mechanism, allow)
    except (ParameterError, UnsupportedQuery):
        return math.inf
    return (suppose_error if suppose else stated)(question, found[0].mechanism, level)


def least_spend(error: Callable[[Guarantee], float], target: Target, spending: Spending) -> Guarantee:
    """The least spend of its kind whose error meets the target; a refusal that says what was found where none does."""
    last = LAST if spending.ceiling is None else place_of(spending.ceiling)
    power = 2 if spending.kind.counts_rho else 1  # errors fall about as the inverse of epsilon, or of the root of rho
    seen: dict[int, float] = {}

    def at(place: int) -> float:
        if place not in seen:
            seen[place] = error(spending.at(grid(place)))
        return seen[place]

    high, room = min(last, place_of(1.0)), NEAR
    while at(high) > target.amount:
        if high == last:
            raise _out_of_reach(spending, target, grid(last), at(last))
        high, room = min(last, max(high, _step(high, at(high), target.amount, power)) + room), 2 * room
    low, room = max((place for place, found in seen.items() if found > target.amount), default=high), NEAR
    while low >= high and high > 0:
        low, room = max(0, min(high, _step(high, at(high), target.amount, power)) - room), 2 * room
        high = low if at(low) <= target.amount else high
    low = low if at(low) > target.amount else -1
    turn = 0
    while high - low > 1:
        turn += 1
        middle = (low + high) // 2 if turn % 3 == 0 else _between(low, high, seen, target.amount)
        low, high = (low, middle) if at(middle) <= target.amount else (middle, high)
    if high == 0 and at(0) > 0:
        raise ParameterError(
            f"an error {target.words()} asks for nothing: {spending.kind.names()[0]} {grid(0):g} leaves one of "
            f"{shown_up(at(0), 4)}; ask for a smaller one, or leave the question out"
        )
    return spending.at(grid(high))


def _step(place: int, error: float, wanted: float, power: int) -> int:
    """Where the target would be met if errors fell as a power of the spend."""
    factor = 0.1 if error == 0 else 10.0 if math.isinf(error) else (error / wanted) ** power
    return place_of(min(max(grid(place) * min(max(factor, 1e-3), 1e3), grid(0)), grid(LAST)))


def _between(low: int, high: int, seen: dict[int, float], wanted: float) -> int:
    """A place strictly between: where the errors' logarithms suggest, some places off either end, or the middle."""
    if low < 0 or not (0 < seen[high] < seen[low] < math.inf):
        return (low + high) // 2
    slope = math.log(seen[low] / seen[high]) / math.log(grid(high) / grid(low))
    guess = place_of(grid(low) * math.exp(math.log(seen[low] / wanted) / slope)) + 1
    room = max(1, min(NEAR, (high - low) // 2))
    return min(max(guess, low + room), high - room)


def _out_of_reach(spending: Spending, target: Target, amount: float, error: float) -> Exception:
    name = spending.kind.names()[0]
    found = "none is stated" if math.isinf(error) else f"it is {shown_up(error, 4)}"
    if spending.ceiling is not None:
        return BudgetExceeded(
            f"no {name} up to the ceiling {spending.ceiling:g} is enough for an error {target.words()}: there {found}; "
            "nothing was charged.  Raise the ceiling, or ask for less accuracy"
        )
    return UnsupportedQuery(
        f"no {name} up to {amount:g} is enough for an error {target.words()}: there {found}; ask for less accuracy"
    )
