"""How far an error is from the best that any private mechanism could reach, or that nobody knows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sfumato.errors import ParameterError

__all__ = ["Certificate", "NoBoundKnown", "certificate_from", "certified"]


@dataclass(frozen=True, slots=True)
class Certificate:
    """`achieved` error against the `bound` below which no mechanism of the named class can stay.

    >>> Certificate(achieved=2.0, bound=1.6, measure="mean absolute error", bound_name="b", among="m").words()
    'within a factor 1.25 of the best possible mean absolute error (b; among m)'
    """

    achieved: float
    bound: float
    measure: str
    bound_name: str
    among: str

    def __post_init__(self) -> None:
        if not 0 < self.bound < float("inf"):
            raise ParameterError(f"a bound must be positive and finite, got {self.bound}")

    @property
    def factor(self) -> float:
        """How many times the bound the error is; at least 1 for a correct bound."""
        return self.achieved / self.bound

    def words(self) -> str:
        """The certificate for a reader; the factor is rounded up."""
        shown = -(-round(self.factor * 1e6) // 10_000) / 100
        return (
            f"within a factor {shown:.2f} of the best possible {self.measure} ({self.bound_name}; among {self.among})"
        )

    def to_record(self) -> dict[str, Any]:
        """Plain values."""
        return {
            "achieved": self.achieved, "bound": self.bound, "factor": self.factor, "measure": self.measure,
            "bound_name": self.bound_name, "among": self.among,
        }  # fmt: skip


@dataclass(frozen=True, slots=True)
class NoBoundKnown:
    """No lower bound is known, and why."""

    reason: str

    def words(self) -> str:
        """The statement for a reader."""
        return f"no bound known: {self.reason}"

    def to_record(self) -> dict[str, Any]:
        """Plain values."""
        return {"no_bound_known": self.reason}


def certified(achieved: float, bound: float, measure: str, bound_name: str, among: str) -> Certificate | NoBoundKnown:
    """The certificate, unless the bound has vanished.

    >>> certified(2.0, 0.0, "mean absolute error", "b", "m").words()
    'no bound known: at this much privacy loss the least error is too small to state'
    """
    if not 0 < bound < float("inf"):
        return NoBoundKnown("at this much privacy loss the least error is too small to state")
    return Certificate(achieved, bound, measure, bound_name, among)


def certificate_from(record: dict[str, Any]) -> Certificate | NoBoundKnown:
    """What `to_record` wrote."""
    if "no_bound_known" in record:
        return NoBoundKnown(record["no_bound_known"])
    return Certificate(**{name: record[name] for name in Certificate.__dataclass_fields__})
