"""What one person may still spend, over all rounds and questions: kept at the owner, and enforced there.

Spending is durable before anything is sent; a crash in between spends and sends nothing.  Losses add up (basic
composition), which holds also if later questions depend on earlier reports.  Amounts are whole numbers of 1e-12,
rounded up.  A file that is damaged stops everything.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

from sfumato.errors import BudgetExceeded, LedgerError, ParameterError, SfumatoError
from sfumato.local.client.files import locked, read, write
from sfumato.privacy.claims import guarantee_from, to_record
from sfumato.privacy.guarantees import Approximate, Pure

__all__ = ["UNIT", "Budget", "amounts"]

FORMAT = "sfumato-budget/1"
UNIT = 10**12  # amounts are counted in units of 1 / UNIT


class Budget:
    """A limit on the total loss of one person; with `path` it survives restarts and is shared by processes.

    >>> budget = Budget(Pure(1.0))
    >>> budget.spend(Pure(0.4), "round 1"); budget.remaining()
    Pure(epsilon=0.6)
    >>> budget.allows(Pure(0.7))
    False
    """

    __slots__ = ("_contents", "_path", "limit")

    def __init__(self, limit: Pure | Approximate, path: str | Path | None = None) -> None:
        if not isinstance(limit, Pure | Approximate):
            raise ParameterError(f"limit must be a pure or approximate guarantee, got {limit!r}")
        self.limit = limit
        self._path = None if path is None else Path(path)
        self._contents: dict[str, Any] = {"epsilon": 0, "delta": 0, "spent": []}
        self._refresh()

    def spend(self, claim: Pure | Approximate, key: str) -> None:
        """Charge `claim` for the report named `key`, durably, before it is sent; each key once."""
        epsilon, delta = amounts(claim, math.ceil)
        if self._path is None:
            self._charge(claim, epsilon, delta, key)
            return
        with locked(self._path):
            self._refresh()
            self._charge(claim, epsilon, delta, key)
            write(self._path, {"format": FORMAT, "limit": to_record(self.limit), **self._contents})

    def allows(self, claim: Pure | Approximate) -> bool:
        """Whether `claim` fits into what remains."""
        self._refresh()
        return self._fits(claim, *amounts(claim, math.ceil))

    def spent(self, key: str) -> bool:
        """Whether the report named `key` was charged already."""
        self._refresh()
        return key in self._contents["spent"]

    def remaining(self) -> Pure | Approximate:
        """What is left."""
        self._refresh()
        epsilon, delta = amounts(self.limit, math.floor)
        left = max(0, epsilon - self._contents["epsilon"]) / UNIT
        parts = {"epsilon": left, "delta": max(0, delta - self._contents["delta"]) / UNIT}
        return self.limit.with_parts({name: parts[name] for name in self.limit.names()})

    def _charge(self, claim: Pure | Approximate, epsilon: int, delta: int, key: str) -> None:
        if key in self._contents["spent"]:
            raise BudgetExceeded(f"{key!r} was answered already; each question is answered once")
        if not self._fits(claim, epsilon, delta):
            raise BudgetExceeded(f"{key!r} costs {claim!r}, {self.remaining()!r} remains of {self.limit!r}")
        self._contents = {
            "epsilon": self._contents["epsilon"] + epsilon,
            "delta": self._contents["delta"] + delta,
            "spent": [*self._contents["spent"], key],
        }

    def _fits(self, claim: Pure | Approximate, epsilon: int, delta: int) -> bool:
        most, most_delta = amounts(self.limit, math.floor)
        return (
            claim.assumptions <= self.limit.assumptions
            and self._contents["epsilon"] + epsilon <= most
            and self._contents["delta"] + delta <= most_delta
        )

    def _refresh(self) -> None:
        """Read the file again: another process may have spent."""
        if self._path is None:
            return
        found = read(self._path, FORMAT)
        if found is None:
            return
        epsilon, delta, spent = (found.get(part) for part in ("epsilon", "delta", "spent"))
        try:
            limit: object = guarantee_from(found["limit"])
        except (SfumatoError, LookupError, TypeError, ValueError, AttributeError):
            limit = None
        sound = isinstance(epsilon, int) and isinstance(delta, int) and isinstance(spent, list)
        if limit is None or not sound:
            raise LedgerError(f"{self._path.name} is damaged; restore it")
        if found["limit"] != to_record(self.limit):
            raise LedgerError(
                f"{self._path.name} keeps another budget; open it with the limit it was made with ({limit!r})"
            )
        self._contents = {"epsilon": epsilon, "delta": delta, "spent": spent}


def amounts(claim: Pure | Approximate, rounding: Callable[[Fraction], int]) -> tuple[int, int]:
    """Epsilon and delta in whole units."""
    return rounding(Fraction(repr(claim.epsilon)) * UNIT), rounding(Fraction(repr(claim.delta)) * UNIT)
