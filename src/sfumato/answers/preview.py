"""What a release would cost, be good at and need, in numbers: from public quantities alone."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType

from sfumato.answers.certificate import Verdict
from sfumato.answers.smooth_errors import SmoothErrors
from sfumato.answers.statements import Accuracy, ErrorByRows, ErrorStatement, MeanError
from sfumato.answers.targets import Target
from sfumato.cards import Card, Shown
from sfumato.privacy.claims import to_record
from sfumato.privacy.guarantees import Guarantee

__all__ = ["Effort", "Number", "Preview"]

POOR = 0.25  # of the rows of a column, moved by noise: from here on a synthetic table is hardly worth its budget
WIDTHS = ("answer", "curve", "points", "shares", "features")  # kinds of errors that are half-widths
Number = int | float | bool | str | None


@dataclass(frozen=True, slots=True)
class Effort:
    """What releasing takes besides the engine's own reading of a file, and the numbers that belong to the kind."""

    seconds: float | None = None  # of one core
    megabytes: float | None = None
    numbers: Mapping[str, Number] = field(default_factory=lambda: MappingProxyType({}))


@dataclass(frozen=True, slots=True, repr=False)
class Preview(Shown):
    """What a release would cost and how accurate it would be: nothing is spent, no data is read.

    `ranking` holds each mechanism that could answer, with its predicted error, best first; `fits` says whether what is
    left of the budget takes it, None where no ledger was asked; `target` is what the spend was found for.
    """

    name: str
    guarantee: Guarantee
    mechanism: str
    errors: tuple[Accuracy | MeanError, ...]
    certificate: Verdict
    ranking: tuple[tuple[str, float], ...]
    unit: str
    effort: Effort = Effort()
    fits: bool | None = None
    notice: str | None = None
    target: Target | None = None
    hint: str | None = None  # a declaration that would make the error much smaller, or what is wrong with the condition
    refusal: str | None = None  # why the ledger takes no such release, whatever is left

    @property
    def half_width(self) -> float | None:
        """The largest half-width of an error bar at 95 %; None where no such error is stated, see `reason`."""
        last = self.errors[-1]
        return last.most if isinstance(last, ErrorStatement) and last.kind in WIDTHS else None

    @property
    def half_widths(self) -> Mapping[int, float] | None:
        """Half-widths by how many rows count, the most first, where the error depends on that; None elsewhere."""
        last = self.errors[-1]
        return last.half_widths if isinstance(last, ErrorByRows) and last.supposed.kind in WIDTHS else None

    @property
    def least_half_width(self) -> float | None:
        """The half-width, or where it depends on how many rows count, that of the most rows."""
        return self.half_width if self.half_widths is None else next(iter(self.half_widths.values()))

    @property
    def reason(self) -> str | None:
        """Why no half-width is stated, and what is."""
        return self.accuracy if self.half_width is None else None

    @property
    def seconds(self) -> float | None:
        """About how long it takes on one core, for the declared or supposed size; None where that was not measured."""
        return self.effort.seconds

    @property
    def megabytes(self) -> float | None:
        """About how much memory it takes."""
        return self.effort.megabytes

    @property
    def numbers(self) -> Mapping[str, Number]:
        """The figures that only this kind has, such as the pairs that a synthetic table measures."""
        return self.effort.numbers

    @property
    def accuracy(self) -> str:
        """The errors to expect, in words."""
        return "; ".join(error.words() for error in self.errors)

    @property
    def measures(self) -> str | None:
        """What a synthetic table would measure, and how well, in words; None of other kinds."""
        return "; ".join(f"{name}: {text}" for name, text in self._measured().items()) or None

    def _measured(self) -> dict[str, str]:
        """The same by heading."""
        if "column_noise" not in self.numbers:
            return {}
        smooth = SmoothErrors.within(self.numbers)
        told = {
            "every row": _rules(self.numbers),
            "relations": _relations(self.numbers),
            "weights": _weights(self.numbers),
            "measures": _measures(self.numbers),
            "rounds": _rounds(self.numbers),
            "cells": _cells(self.numbers),
            "cuts": _cuts(self.numbers),
            "texts": _texts(self.numbers),
            "workload": _workload(self.numbers),
            "smooth": None if smooth is None else smooth.words(),
            "split": _split(self.numbers),
        }
        return {name: text for name, text in told.items() if text is not None}

    def to_record(self) -> dict[str, object]:
        """Plain values."""
        return {
            "name": self.name,
            "guarantee": to_record(self.guarantee),
            "mechanism": self.mechanism,
            "half_width": self.half_width,
            **({} if self.half_widths is None else {"half_widths": _listed(self.half_widths)}),
            **({} if self.target is None else {"target": self.target.to_record()}),
            "error_in_words": self.accuracy,
            "certificate": self.certificate.to_record(),
            "certificate_in_words": self.certificate.words(),
            "ranking": [{"mechanism": name, "predicted": error} for name, error in self.ranking],
            "seconds": self.seconds,
            "megabytes": self.megabytes,
            "fits": self.fits,
            **({} if self.hint is None else {"hint": self.hint}),
            **({} if self.refusal is None else {"refusal": self.refusal}),
            **self.numbers,
        }

    def __repr__(self) -> str:
        fits = "" if self.fits is None else ", fits" if self.fits else ", does NOT fit"
        return f"Preview({self.name!r}: {self.accuracy}, {self.guarantee!r}, {self.certificate.brief()}{fits})"

    def card(self) -> Card:
        """What it would cost, and how accurate it would be."""
        facts = {"would cost": self.guarantee.words().format(unit=self.unit)}
        facts |= self._measured()
        if self.target is not None:
            facts["target"] = self.target.words()
        facts["error"] = self.accuracy
        if self.hint:
            facts["hint"] = self.hint
        if self.seconds is not None and self.megabytes is not None:
            facts["needs"] = f"about {self.megabytes:,.0f} MB and {self.seconds:,.1f} s of one core"
        if self.refusal is not None:
            facts["refused"] = self.refusal
        elif self.fits is not None:
            facts["budget"] = f"{'fits' if self.fits else 'does NOT fit'} into what is left"
        if self.notice:
            facts["notice"] = self.notice
        facts["certificate"] = self.certificate.words()
        facts["mechanism"] = f"{self.mechanism}{_beside(self.mechanism, self.ranking)}"
        return Card(self.name, facts)


def _listed(half_widths: Mapping[int, float]) -> list[dict[str, float]]:
    return [{"rows": rows, "half_width": most} for rows, most in half_widths.items()]


def _beside(chosen: str, ranking: Sequence[tuple[str, float]]) -> str:
    """The predicted errors of the other mechanisms, over that of the chosen one."""
    own, others = dict(ranking).get(chosen, 0.0), [one for one in ranking if one[0] != chosen]
    if not (others and 0 < own < math.inf):
        return ""
    return f" (predicted error 1; {', '.join(f'{name} {error / own:.3g}' for name, error in others)})"


def _measures(numbers: Mapping[str, Number]) -> str:
    """What a synthetic table measures of columns, and how well."""
    supposed = "" if numbers["declared"] else " (supposed: declare size= in the schema)"
    if "persons" in numbers:
        supposed = f" (the declared {numbers['persons']:,} persons with {numbers['rows_of_a_person']:,} each, the most)"
    rows = f"for {numbers['size']:,} rows{supposed}: "
    beside = _persons(numbers)
    if "keys" in numbers:
        beside += f"; at most {numbers['keys']:,} rows are made: keys have numbers for no more"
    if numbers["smooth"]:
        return f"{rows}moments of all columns together, and too few rows for the shares of single values{beside}"
    noise = numbers["column_noise"]
    assert isinstance(noise, float)
    most = "" if numbers["pairs"] else "at most "  # what pairs do not take is spent on the columns, too
    moved = (
        "noise outweighs the counts of a column"
        if noise >= 1
        else f"noise moves the counts of a column by {most}{noise:.3f} in total variation on average"
    )
    worth = "; a table this noisy is hardly worth its budget: ask for the few numbers you need instead, or spend more"
    poor = worth if noise >= POOR else ""
    return f"{rows}{moved}, before smoothing{poor}{beside}"


def _relations(numbers: Mapping[str, Number]) -> str | None:
    """Which pairs of columns a synthetic table may measure; None of one column, or where moments alone are."""
    if numbers["smooth"] or not numbers["among"]:
        return None
    told = "none: the budget pays for no pair, and columns would be independent of one another"
    if numbers["pairs"]:
        told = (
            f"up to {numbers['pairs']:,} of {numbers['among']:,} pairs of columns; fewer where they turn out to be "
            "hardly related"
        )
        if "triples" in numbers:
            told += f", and of three columns up to {numbers['triples']}, where rows fill their cells"
    more = numbers.get("pairs_with_delta")
    return told if more is None else f"{told}; with a delta of 1e-6 up to {more:,} of {numbers['among']:,}"


def _rules(numbers: Mapping[str, Number]) -> str | None:
    """The rules that every row will keep; None where there are none."""
    return None if "rules" not in numbers else f"{numbers['rules']} (kept in what is made, never tested on the data)"


def _weights(numbers: Mapping[str, Number]) -> str | None:
    """How much relations to some columns matter; None where all matter alike."""
    if "weights" not in numbers or not numbers["among"]:
        return None
    weights = f"{numbers['weights']}, others 1"
    return f"where pairs are chosen, how badly they fit counts times the weights of their columns: {weights}"


def _split(numbers: Mapping[str, Number]) -> str | None:
    """What a pure budget of a table of numbers goes to; None of other tables."""
    if "moments" not in numbers:
        return None
    return (
        f"{numbers['moments']:.0%} of epsilon go to averages of smooth functions of all columns together; where "
        "columns, pairs and what is asked of the rows matter more, good_for='marginals' leaves all of it to them"
    )


def _rounds(numbers: Mapping[str, Number]) -> str | None:
    """Which numbers lose their smaller values to a step that nobody chose; None where none does."""
    if "rounded" not in numbers:
        return None
    return f"{numbers['rounded']}, the default step: where smaller values matter, declare a finer step=, which is free"


def _cells(numbers: Mapping[str, Number]) -> str | None:
    """How near values of numbers with wide bounds lie that are not told apart; None where none is so wide."""
    if "wide" not in numbers:
        return None
    return (
        f"values are told apart that differ by about so much: {numbers['wide']} of their size, or a hundredth of the "
        "bounds; where all lie nearer together, the bounds waste most cells: declare narrower ones, or name the column "
        "in cuts=, which finds where they lie for a tenth of the budget"
    )


def _cuts(numbers: Mapping[str, Number]) -> str | None:
    """Of which columns is found where values lie, how nearly and at what price; None where of none."""
    if "cuts" not in numbers:
        return None
    name = "rho" if "rho_of_cuts" in numbers else "epsilon"
    return (
        f"where values of {numbers['cuts']} lie is found first, for {numbers[f'{name}_of_cuts']:.3g} of {name}, by "
        f"quantiles that are off by at most {numbers['off']:,.0f} rows at 95 %; cells are fine there and coarse "
        "elsewhere, and the figures here suppose as many as the declared bounds have"
    )


def _texts(numbers: Mapping[str, Number]) -> str | None:
    """Which texts are discovered, by how many holders and at what price; None where no column holds any."""
    if "texts" not in numbers:
        return None
    return (
        f"those of {numbers['texts']} are discovered first, for {numbers['epsilon_of_texts']:.3g} of epsilon: one that "
        f"more than {numbers['holders']:,.0f} {numbers['holding']} hold is found at 95 %, and all others are made as "
        "one public word (other=); the figures here suppose 20 found texts a column"
    )


def _workload(numbers: Mapping[str, Number]) -> str | None:
    """How many queries of a workload are measured, and how well; None without one."""
    if "queries" not in numbers:
        return None
    asked, told = numbers["queries"], numbers["answered"]
    which = f"about {told:,} of its {asked:,} queries are measured, each number"
    if asked == told:
        which = "its query is measured" if asked == 1 else f"all of its {asked:,} queries are measured, each number"
    return f"{which} with noise of a standard deviation of about {numbers['answer_noise']:.2g} of the rows"


def _persons(numbers: Mapping[str, Number]) -> str:
    """What keeping the rows of a person together would change, or leaving it out."""
    if "noise_of_rows" in numbers:
        return (
            f"; without person= that noise would be {numbers['noise_of_rows']:.3f} if every person had "
            f"{numbers['limit']:,} rows, and larger the fewer they have"
        )
    if "noise_of_persons" in numbers:
        return (
            f"; this supposes {numbers['limit']:,} rows for every person, and noise is larger the fewer they have: "
            f"with person= it would be {numbers['noise_of_persons']:.3f}, whatever their number"
        )
    return ""
