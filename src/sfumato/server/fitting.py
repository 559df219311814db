"""Why something does not fit: which budget is too small, what is left of it, and what error that buys."""

from __future__ import annotations

from collections.abc import Sequence

from sfumato.accuracy.meeting import bought
from sfumato.ledger import rules
from sfumato.ledger.protocol import in_words
from sfumato.ledger.rules import History
from sfumato.orders import Order
from sfumato.privacy.guarantees import Guarantee

__all__ = ["too_much"]

Held = tuple[str, Guarantee, History]  # whose budget it is, how much, and what was charged to it


def too_much(orders: Sequence[Order], held: Sequence[Held], allow: frozenset[str]) -> str | None:
    """Why these orders do not fit, by the budget with the least left; none where all budgets take them."""
    claims = [one.claim for one in orders]
    short = [
        (rules.remaining(budget, history), whose, budget)
        for whose, budget, history in held
        if not rules.fits(*history, *claims)
    ]
    if not short:
        return None
    left, whose, budget = min(short, key=lambda one: one[0].amount)
    reach = bought(orders[0], left, allow) if len(orders) == 1 else ""
    return (
        f"{' and '.join(map(in_words, claims))} was asked for, and of {whose}, {in_words(budget)}, "
        f"{in_words(left)} is left; nothing was charged{reach}"
    )
