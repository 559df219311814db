"""How far an error is from the best that any private mechanism could reach, or that nobody knows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sfumato.cards import Printed
from sfumato.errors import BoundBroken, ParameterError
from sfumato.numeric import shown_down

__all__ = ["Certificate", "Floor", "NoBoundKnown", "Verdict", "certificate_from", "certified"]

ROUNDING = 1e-6  # of errors and bounds, which are both computed in floating point
FAINT = 1e-120  # an error whose square is no reliable double


@dataclass(frozen=True, slots=True)
class Certificate(Printed):
    """`achieved` error against the `bound` below which no mechanism of the named class can stay.

    A certificate is about the worst case, `worst` says of what: a table, a record, a population.  An error below the
    bound means that the claim or the bound is false, or that the mechanism is of another class, and is refused: see
    `BoundBroken`.

    >>> Certificate(achieved=2.0, bound=1.6, measure="mean absolute error", bound_name="b", among="m").words()
    'within a factor 1.25 of the best possible mean absolute error on the worst table (b; among m)'
    """

    achieved: float
    bound: float
    measure: str
    bound_name: str
    among: str
    worst: str = "table"

    def __str__(self) -> str:
        return self.words()

    def __post_init__(self) -> None:
        _must_bound(self.bound)
        if self.achieved < self.bound * (1 - ROUNDING):
            raise BoundBroken(
                f"an error of {self.achieved:.6g} is claimed where no mechanism of the class ({self.among}) can stay "
                f"below {self.bound:.6g} ({self.bound_name}): the privacy claim, the stated error or the bound is "
                "false, or the mechanism is not of this bound's class; audit the mechanism"
            )

    @property
    def factor(self) -> float:
        """How many times the bound the error is; at least 1, but for rounding."""
        return self.achieved / self.bound

    @property
    def shown(self) -> str:
        """The factor in two decimals, rounded up."""
        return f"{-(-round(self.factor * 1e6) // 10_000) / 100:.2f}"

    def brief(self) -> str:
        """The certificate in a few characters."""
        return f"within {self.shown} x best"

    def short(self) -> str:
        """The certificate in a few words."""
        return f"within a factor {self.shown} of the best possible {self.measure} on the worst {self.worst}"

    def words(self) -> str:
        """The certificate for a reader; the factor is rounded up."""
        return f"{self.short()} ({self.bound_name}; among {self.among})"

    def to_record(self) -> dict[str, Any]:
        """Plain values."""
        return {
            "achieved": self.achieved, "bound": self.bound, "factor": self.factor, "measure": self.measure,
            "bound_name": self.bound_name, "among": self.among, "worst": self.worst,
        }  # fmt: skip


@dataclass(frozen=True, slots=True)
class Floor:
    """A `bound` below which no mechanism of the named class can stay, where the achieved error is not known.

    >>> print(Floor(bound=1.2345, measure="root mean square error of a cell", bound_name="b", among="m").words())
    no factor known: none of the m has a root mean square error of a cell below 1.234 on the worst table (b)
    """

    bound: float
    measure: str
    bound_name: str
    among: str
    worst: str = "table"

    def __post_init__(self) -> None:
        _must_bound(self.bound)

    def brief(self) -> str:
        """The floor in a few characters."""
        return "no factor known"

    def short(self) -> str:
        """The floor in a few words."""
        return f"no factor known; no {self.measure} below {shown_down(self.bound, 4)} on the worst {self.worst}"

    def words(self) -> str:
        """The floor for a reader; it is rounded down."""
        least = f"{self.measure} below {shown_down(self.bound, 4)} on the worst {self.worst}"
        return f"no factor known: none of the {self.among} has a {least} ({self.bound_name})"

    def to_record(self) -> dict[str, Any]:
        """Plain values."""
        return {
            "floor": self.bound, "measure": self.measure, "bound_name": self.bound_name, "among": self.among,
            "worst": self.worst,
        }  # fmt: skip


@dataclass(frozen=True, slots=True)
class NoBoundKnown(Printed):
    """No lower bound is known, and why."""

    reason: str

    def __str__(self) -> str:
        return self.words()

    def brief(self) -> str:
        """The statement in a few characters."""
        return "no bound known"

    def short(self) -> str:
        """The statement in a few words."""
        return "no bound known"

    def words(self) -> str:
        """The statement for a reader."""
        return f"no bound known: {self.reason}"

    def to_record(self) -> dict[str, Any]:
        """Plain values."""
        return {"no_bound_known": self.reason}


Verdict = Certificate | Floor | NoBoundKnown  # what is said of an error


def _must_bound(bound: float) -> None:
    if not 0 < bound < float("inf"):
        raise ParameterError(f"a bound must be positive and finite, got {bound}")


def certified(
    achieved: float, bound: float, measure: str, bound_name: str, among: str, worst: str = "table"
) -> Certificate | NoBoundKnown:
    """The certificate, unless the bound has vanished: errors below `FAINT` cannot be compared in doubles.

    >>> certified(2.0, 0.0, "mean absolute error", "b", "m").words()
    'no bound known: at this much privacy loss the least error is too small to state'
    """
    if not FAINT < bound < float("inf"):
        return NoBoundKnown("at this much privacy loss the least error is too small to state")
    return Certificate(achieved, bound, measure, bound_name, among, worst)


def certificate_from(record: dict[str, Any]) -> Verdict:
    """What `to_record` wrote; a stored bound that the error undercuts is not shown as one."""
    if "no_bound_known" in record:
        return NoBoundKnown(record["no_bound_known"])
    if "floor" in record:
        return Floor(record["floor"], record["measure"], record["bound_name"], record["among"], record["worst"])
    try:
        return Certificate(**{name: record[name] for name in Certificate.__dataclass_fields__ if name in record})
    except BoundBroken:
        return NoBoundKnown("the stored bound lies above the stored error, so that one of the two is false")
