r"""Estimates over rounds: a time series, and how far a value moved from one round to another.

Limits of a difference hold jointly over both rounds: each round's limits are taken at half the error, so that
low = low(later) - high(earlier) and high = high(later) - low(earlier) are both right with the stated probability.
That needs nothing of how the rounds depend on each other.  It holds where owners answer every round afresh and where
the same devices repeat what they kept (`most`), whose noise returns.  What moved is what each round's limits are about:
the population that its owners were drawn from, or those who reported.  Proof: docs/proofs/local-questions.md.
"""

from __future__ import annotations

import contextlib
import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from sfumato.answers.frames import Framed
from sfumato.cards import Card, Shown, counted, state_side_fact
from sfumato.errors import ParameterError, UnsupportedQuery
from sfumato.local.collection.declaration import Collection
from sfumato.local.collection.estimates import Estimate, limits_in_words, short, stated
from sfumato.local.questions.limits import checked_level
from sfumato.privacy.guarantees import Approximate, Pure
from sfumato.visible import visible

__all__ = ["Difference", "Series"]

FIRST = 12  # rows that are shown


@dataclass(frozen=True, slots=True, eq=False)
class Difference(Shown, Framed):
    """How far each value moved from the earlier round to the later one."""

    earlier: Estimate
    later: Estimate

    def __post_init__(self) -> None:
        if self.earlier.collection != self.later.collection:
            raise ParameterError("a difference is between two rounds of one collection")
        if self.earlier.round == self.later.round:
            raise ParameterError(
                f"round {self.later.round} would be compared with itself; name two rounds (--against, and --round, "
                "which is the latest if not given)"
            )

    def columns(self, level: float = 0.95, *, joint: bool = False) -> dict[str, list[Any]]:
        """Labels, differences, standard errors and limits; the latter where neither round is suspicious.

        Rounds that are answered afresh have independent coins: variances add up.  What is kept returns, so that then
        the standard errors are added, which bounds that of the difference however the rounds depend.
        """
        rows = self.later.rows()
        moved = (self.later.values - self.earlier.values)[rows]
        found: dict[str, list[Any]] = {"label": self.later.row_labels(), "difference": moved.tolist()}
        if self.earlier.suspicions() or self.later.suspicions():
            return found
        half = 1 - (1 - checked_level(level)) / 2
        with contextlib.suppress(UnsupportedQuery):
            first, second = self.earlier.variances[rows], self.later.variances[rows]
            kept = self.later.collection.most is not None
            error = np.sqrt(first) + np.sqrt(second) if kept else np.sqrt(first + second)
            found["standard_error"] = error.tolist()
            (low, high), (least, most) = (one.interval(half, joint=joint) for one in (self.later, self.earlier))
            found |= {"low": (low - most)[rows].tolist(), "high": (high - least)[rows].tolist()}
        return found

    def table(self, level: float = 0.95, *, joint: bool = False) -> Any:
        """The same as an Arrow table, with the level of its limits and whether they hold for all rows at once."""
        return stated(self.columns(level, joint=joint), level, joint)

    def card(self, level: float = 0.95, *, joint: bool = False, first: int = FIRST) -> Card:
        """The first differences with their limits."""
        title = f"{self.later.collection.name}: from round {self.earlier.round} to round {self.later.round}"
        columns = self.columns(level, joint=joint)
        facts = limits_in_words(columns, level, joint, counted(len(columns["label"]), "value"))
        return _card(title, {**facts, "history": _promise(self.later)}, columns, first)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Series(Shown, Framed):
    """The rounds of a collection that have reports, in their declared order."""

    collection: Collection
    rounds: tuple[Estimate, ...]

    def __post_init__(self) -> None:
        if not self.rounds:
            raise ParameterError(f"no round of {self.collection.name!r} has reports yet; add some first")

    def __repr__(self) -> str:
        return f"Series({self.collection.name!r}, rounds={[one.round for one in self.rounds]})"

    def __getitem__(self, round: str) -> Estimate:
        for one in self.rounds:
            if one.round == round:
                return one
        raise ParameterError(f"round {round!r} has no reports; {', '.join(one.round for one in self.rounds)} have")

    def difference(self, earlier: str, later: str) -> Difference:
        """How far each value moved between two rounds."""
        return Difference(self[earlier], self[later])

    def columns(self, level: float = 0.95, *, joint: bool = False) -> dict[str, list[Any]]:
        """A row for each round and value; with `joint` the limits hold for all rounds and values together."""
        beta = 1 - checked_level(level)
        each = 1 - beta / len(self.rounds) if joint else level
        tables = [one.columns(each, joint=joint) for one in self.rounds]
        names = [name for name in tables[0] if all(name in table for table in tables)]
        rounds = [one.round for one, table in zip(self.rounds, tables, strict=True) for _ in table["label"]]
        return {"round": rounds, **{name: [part for table in tables for part in table[name]] for name in names}}

    def table(self, level: float = 0.95, *, joint: bool = False) -> Any:
        """The same as an Arrow table, with the level of its limits and whether they hold for all rows at once."""
        return stated(self.columns(level, joint=joint), level, joint)

    def history(self) -> Pure | Approximate:
        """What all reports of one owner cost, over all rounds of the collection."""
        return self.collection.history()

    def central(self, delta: float) -> Approximate:
        """The same if a relay shuffles every round, each at least as large as the worst that has reports so far."""
        return max((one.central_history(delta) for one in self.rounds), key=lambda one: one.epsilon)

    def plot(self, level: float = 0.95) -> Any:
        """A picture of the values over the rounds, with joint intervals (an Altair chart)."""
        from sfumato.report.local import plot_series

        return plot_series(self, level)

    def card(self, level: float = 0.95, *, joint: bool = False, first: int = FIRST) -> Card:
        """The first rounds with their limits, and the promise over all of them."""
        columns = self.columns(level, joint=joint)
        values, rounds = len(self.rounds[-1].rows()), len(self.rounds)
        over = f"{counted(values, 'value')} in {counted(rounds, 'round')}"
        facts = {**limits_in_words(columns, level, joint, over), "history": _promise(self.rounds[-1])}
        facts |= state_side_fact("shuffled", self._describe_shuffled)
        count = sum(one.reports for one in self.rounds)
        seen = f"{rounds} of {len(self.collection.rounds)} rounds, {counted(count, 'report')}"
        title = f"{self.collection.name}: {seen}"
        return _card(title, facts, columns, first)

    def _describe_shuffled(self) -> str:
        """The promise over all rounds after a shuffle of each."""
        claim = self.central(min(1e-6, min(one.reports for one in self.rounds) ** -1.5))
        return f"{short(claim)} over all rounds, if a relay shuffles each and the others report honestly"


def _promise(estimate: Estimate) -> str:
    return f"{short(estimate.history())} over all {len(estimate.collection.rounds)} rounds of an owner"


def _card(title: str, facts: dict[str, str], columns: dict[str, list[Any]], first: int) -> Card:
    rows = [tuple(map(_text, row)) for row in zip(*columns.values(), strict=True)]
    numeric = [name not in ("round", "label") for name in columns]
    headings = [name.replace("_", " ") for name in columns]
    return Card(title, facts, headings, rows[:first], numeric, max(0, len(rows) - first))


def _text(part: object) -> str:
    if isinstance(part, float):
        return f"{part:.4g}" if math.isfinite(part) else ""
    return visible(str(part))
