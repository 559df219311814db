"""An error that a release must not exceed, as a value."""

from __future__ import annotations

from dataclasses import dataclass

from sfumato.numeric import shown_down

__all__ = ["Target"]


@dataclass(frozen=True, slots=True)
class Target:
    """The error stays within `amount` with probability `level`; `asked` is what the caller wrote.

    >>> Target(30.0, 0.95, "1% of the declared size 3,000", "rows").words()
    'within 1% of the declared size 3,000, which is 30 rows, with probability 0.95'
    """

    amount: float
    level: float
    asked: str
    unit: str = ""  # what the amount counts, in words

    def words(self) -> str:
        """The target for a reader."""
        same = self.asked == f"{self.amount:g}"
        unit = f" {self.unit}" if self.unit else ""
        amount = f"{self.asked}{unit}" if same else f"{self.asked}, which is {shown_down(self.amount, 4)}{unit},"
        return f"within {amount} with probability {self.level:g}"

    def to_record(self) -> dict[str, object]:
        """Plain values."""
        unit = {"unit": self.unit} if self.unit else {}
        return {"within": self.amount, "level": self.level, "asked": self.asked, **unit}
