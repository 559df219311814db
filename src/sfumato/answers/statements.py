"""What is said of an error, as values: the sentence is rendered from the statement, and nothing reads it back.

An `ErrorStatement` is a proposition: with the stated probability the error of its kind stays within `most`, in the case
that `given` names, besides what `besides` names.  Tests check the proposition by simulation, kind by kind.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

from sfumato.errors import ParameterError
from sfumato.numeric import shown_up

__all__ = [
    "CONDITION", "GROUPS", "KINDS", "MEANS", "Accuracy", "ErrorByRows", "ErrorStatement", "MeanError", "NotStated",
    "level_of", "state_by_rows",
]  # fmt: skip

# What may be said of an error; {width} is the half-width or its range over the cells, {least} and {most} its ends.
KINDS = {
    "answer": "± {width}",
    "curve": "± {width} everywhere at once",
    "points": "± {width} at all points shown at once",
    "rank": "rank within ± {least} rows where distinct values lie evenly and ± {most} on any table",
    "ranks": "all ranks within ± {least} rows where distinct values lie evenly and ± {most} wherever they lie",
    "tied": "with ties within ± {most} rows",
    "choice": "each choice at most {most} rows less popular than the best one left",
    "score": "the score of the chosen one at most {most} below the largest",
    "left": "no item left out is more than {most} rows more popular than a chosen one",
    "keys": "keys held by {most} units or more are found",
    "shares": "all shares within ± {width}",
    "columns": "columns off by at most {most} in total variation, in at most 32 groups of values, on average",
    "measured": "measured pairs by {most}",
    "others": "other pairs by {most}",
    "workload": "queries of the workload by {most} of the rows, on average, all numbers of a query added up",
    "worst": "the worst of them by {most} of the rows",
    "features": "feature means within ± {width}, all at once",
    "spectrum": "noise of spectral norm at most {most} in second moments of columns scaled to [-1, 1]",
}
# Mean errors, which no probability goes with: of a record that is published by itself.
MEANS = {
    "wrong": "{subject} wrong with probability {amount}",
    "items": "{subject} off by {amount} items",
    "point": "{subject} {amount} at each point",
    "distance": "{subject} {amount}",
}
ALIKE = 1.001  # half-widths within this factor are shown as one
CONDITION, GROUPS = "the condition selects", "each group holds"  # what decides how many rows count
SHARES = (1, 10, 100)  # an error that depends on a number of rows is shown for these fractions of the declared one


@dataclass(frozen=True, slots=True)
class ErrorStatement:
    """With `probability` the error stays within `most` (from `least` in the best cell), where `given` holds.

    `rows` is the number of rows that the error is stated for; None where it is the same for every number of rows.

    >>> ErrorStatement("answer", 3.0, 0.95).words()
    '± 3 with probability 0.95'
    >>> ErrorStatement("answer", 3.14159, 0.95, least=2.0, each=True, given=("values spread evenly",), rows=500).words()
    '± 2 to 3.142, each with probability 0.95 (for values spread evenly, 500 rows)'
    """

    kind: str
    most: float
    probability: float
    least: float | None = None
    each: bool = False  # of several, each holds by itself with that probability
    given: tuple[str, ...] = ()  # the case in which it holds
    besides: tuple[str | ErrorStatement | ErrorByRows, ...] = ()  # what comes on top, or holds as well
    rows: int | None = None

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise ParameterError(f"unknown kind of error {self.kind!r}; known are {', '.join(KINDS)}")
        if not (0 < self.probability < 1 and self.most >= 0):
            raise ParameterError("an error is not negative, and its probability lies strictly between 0 and 1")

    def words(self, *, probability: bool = True) -> str:
        """The statement for a reader; without its probability where a heading says that."""
        text = self.amount() + (self._chance() if probability else "")
        given = self.given if self.rows is None else (*self.given, _rows(self.rows))
        if given:
            text += f" (for {', '.join(given)})"
        return "; ".join((text, *self._more()))

    def amount(self) -> str:
        """The size of the error alone."""
        width = most = shown_up(self.most, 4)
        if self.least is not None and self.most > ALIKE * self.least:
            width = f"{shown_up(self.least, 4)} to {most}"
        least = most if self.least is None else shown_up(self.least, 4)
        return KINDS[self.kind].format(width=width, least=least, most=most)

    def _chance(self) -> str:
        return f"{', each' if self.each else ''} with probability {self.probability:g}"

    def _more(self) -> list[str]:
        return [part if isinstance(part, str) else part.words(probability=False) for part in self.besides]

    def __str__(self) -> str:
        return self.words()


@dataclass(frozen=True, slots=True)
class ErrorByRows:
    """An error that depends on how many rows count, which nobody knows before: stated for some numbers of rows.

    >>> at = (ErrorStatement("answer", 1.0, 0.95, rows=500), ErrorStatement("answer", 9.876543, 0.95, rows=50))
    >>> ErrorByRows("the condition selects", at).words()
    'depends on how many rows the condition selects: ± 1 for 500 rows, ± 9.877 for 50 rows, with probability 0.95'
    """

    selected: str  # what decides how many rows count, such as "the condition selects"
    at: tuple[ErrorStatement, ...]  # from the most rows to the fewest

    @property
    def reason(self) -> str:
        """Why no single number is stated, in words."""
        return f"depends on how many rows {self.selected}"

    @property
    def supposed(self) -> ErrorStatement:
        """The error where all declared rows count, in groups of equal size: for planning, not a promise."""
        return self.at[0]

    @property
    def half_widths(self) -> dict[int, float]:
        """The error for each number of rows that is shown."""
        return {one.rows: one.most for one in self.at if one.rows is not None}

    def words(self, *, probability: bool = True) -> str:
        """The errors for a reader, the most rows first."""
        first = self.supposed
        listed = ", ".join(f"{one.amount()} for {_rows(one.rows or 0)}" for one in self.at)
        text = f"{self.reason}: {listed}"
        text += f",{first._chance().removeprefix(',')}" if probability else ""
        text += f" (for {', '.join(first.given)})" if first.given else ""
        return "; ".join((text, *first._more()))

    def __str__(self) -> str:
        return self.words()


@dataclass(frozen=True, slots=True)
class NotStated:
    """No error is stated, and why."""

    reason: str

    def words(self, *, probability: bool = True) -> str:
        """The reason."""
        return self.reason

    def __str__(self) -> str:
        return self.words()


@dataclass(frozen=True, slots=True)
class MeanError:
    """The mean distance of a published record from the true one is at most `amount`, whatever the true one is.

    >>> MeanError("wrong", "state", 0.12345).words()
    'state wrong with probability 0.1235'
    """

    kind: str
    subject: str
    amount: float

    def __post_init__(self) -> None:
        if self.kind not in MEANS:
            raise ParameterError(f"unknown kind of mean error {self.kind!r}; known are {', '.join(MEANS)}")

    def words(self, *, probability: bool = True) -> str:
        """The statement for a reader."""
        return MEANS[self.kind].format(subject=self.subject, amount=shown_up(self.amount, 4))


Accuracy = ErrorStatement | ErrorByRows | NotStated


def state_by_rows(
    most: int, selected: str | None, state: Callable[[int], ErrorStatement]
) -> ErrorStatement | ErrorByRows:
    """Return the error of `most` rows where all of them count, else those of some smaller numbers as well.

    `selected` says what leaves rows out; None where nothing does.  `state` gives the error for a number of rows.
    """
    numbers = dict.fromkeys(max(1, most // share) for share in (SHARES if selected else (1,)))
    found = tuple(replace(state(rows), rows=rows) for rows in numbers)
    return found[0] if selected is None else ErrorByRows(selected, found)


def _rows(count: int) -> str:
    return f"{count:,} row{'' if count == 1 else 's'}"


def level_of(beta: float) -> float:
    """1 - beta as a person would write it.

    >>> level_of(0.05)
    0.95
    """
    return round(1 - beta, 12) if beta > 1e-11 else math.nextafter(1.0, 0.0)
