"""How good a synthetic table is: what was measured of its errors, and what that predicts for every column and pair."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from statistics import NormalDist
from typing import Any

import numpy as np
import numpy.typing as npt

from sfumato.answers.frames import Framed
from sfumato.answers.statements import ErrorStatement, level_of
from sfumato.cards import Card, Shown, listed
from sfumato.mechanisms.synthetic.marginals.judging import CLASSES, COARSE, MOST_PAIRS, UNITS, coarse
from sfumato.mechanisms.synthetic.marginals.prediction import FEW, Errors, errors, like_a_sample, like_counts
from sfumato.queries.encoding import Column
from sfumato.queries.goals import UNIT as GOAL

__all__ = [
    "HEADINGS", "NAMED", "PredictedErrors", "advice", "predicted", "stated", "three_of", "wasted", "worst",
]  # fmt: skip

Names = tuple[str, ...]
Levels = npt.NDArray[np.int64]
SHOWN = 12  # tables on a card
NAMES = 5  # of columns and pairs in a sentence
TINY = 1e-9
DRAWN = 0.1  # of a random sample's error is left by the fit, and by drawing whole rows from many small parts
GOOD, POOR = 0.05, 0.15  # total variations that are small, and large
CELLS, ENOUGH, UNUSED = 64, 200, 10  # cells of a column, its rows, and the part of the cells: none is advised below
TELLING = 0.3  # the total variation up to which rows tell where a column's values lie
COUNTED = 4.0  # standard deviations that a number of rows must have: else it is noise, and so is what is a share of it
UNTOLD = 0.1  # of the rows in one cell of several values: where these lie is not known
HEADINGS = ("of", "kind", "at most", "sample")
NAMED = {"columns": "column", "measured": "measured pair", "others": "pair that was not measured"}


@dataclass(frozen=True, slots=True, eq=False)
class PredictedErrors(Shown, Framed):
    """For every column and pair, in at most 32 public groups of levels a column, a total variation (half the sum of all
    differences of shares) that it is predicted to stay within with probability `level`.

    It is the error between those groups.  Inside a group values are spread as the cells of a column were counted, and
    evenly inside a cell: nothing is measured there.  `groups` says how many groups of values a column was compared in,
    `inside` which share of the rows lies in one cell of several values, at most: a condition that cuts that cell may be
    off by as much besides, which `ask` counts.

    Predicted, not proven: errors of tables of one class are taken to be alike.  `samples` says the same another way:
    the rows are about as good for that table as a random sample of so many real rows would be.
    """

    level: float
    columns: dict[str, float]
    pairs: dict[tuple[str, str], float]
    samples: dict[Names, float]
    middles: dict[Names, float]  # errors that are as likely to be larger as smaller
    measured: frozenset[tuple[str, str]]
    triples: frozenset[Names] = frozenset()  # three columns at a time that were measured
    groups: Mapping[str, int] = field(default_factory=dict)
    inside: Mapping[str, float] = field(default_factory=dict)

    def within(self, names: Names) -> float:
        """The predicted bound of a column or a pair."""
        return self.columns[names[0]] if len(names) == 1 else self.pairs[names[0], names[1]]

    def kind(self, names: Names) -> str:
        """The class of a column or a pair."""
        return "columns" if len(names) == 1 else "measured" if names in self.measured else "others"

    def table(self, level: float = 0.95, *, joint: bool = False) -> Any:
        """An Arrow table: columns (one or two), kind, most, sample, groups, inside; worst last, of its own level."""
        import pyarrow as pa

        order = sorted(self.samples, key=self.within)
        return pa.table(
            {
                "columns": [list(names) for names in order],
                "kind": [self.kind(names) for names in order],
                "most": [self.within(names) for names in order],
                "sample": [self.samples[names] for names in order],
                "groups": [math.prod(self.groups.get(name, COARSE) for name in names) for names in order],
                "inside": [max(self.inside.get(name, 0.0) for name in names) for names in order],
            }
        )

    def card(self) -> Card:
        """The best and the worst tables."""
        order = sorted(self.samples, key=self.within)
        half = SHOWN // 2
        shown = order if len(order) <= SHOWN else [*order[:half], *order[-half:]]
        rows = [
            (" x ".join(names), NAMED[self.kind(names)], f"{self.within(names):.4f}", f"{self.samples[names]:,.0f}")
            for names in shown
        ]
        facts = {
            "read as": f"shares in {COARSE} groups, off by at most so much in total variation, at {self.level:.0%}; "
            "about as good as a random sample of so many rows",
            "inside groups": "nothing is measured: values are spread as their cells were counted, and evenly in a cell"
            + (f"; {told}" if (told := untold(self)) else ""),
            "rests on": "noisy measurements of these errors, and on errors of a class being alike: not proven",
        }
        if len(shown) < len(order):
            facts["all of them"] = "to_pandas(), or in the shell: sfumato show TABLE --errors"
        return Card("predicted errors", facts, HEADINGS, rows, (False, False, True, True), len(order) - len(shown))


def untold(found: PredictedErrors) -> str:
    """Which columns have many rows in one cell of several values, in words; nothing where none has."""
    most = {name: share for name, share in found.inside.items() if share > UNTOLD}
    if not most:
        return ""
    named = [f"{name} (up to {share:.0%} of the rows)" for name, share in sorted(most.items(), key=lambda one: -one[1])]
    return (
        f"many rows share one cell in {listed(named, NAMES)}: a condition that cuts it may be off by all of these; "
        "declare the step that values have, or narrower bounds"
    )


def advice(found: PredictedErrors) -> dict[str, str]:
    """What the rows are good and bad at, and what not to ask of them, in words."""
    order = sorted(found.samples, key=found.within)
    known = [names for names in order if max(found.inside.get(name, 0.0) for name in names) <= UNTOLD]
    good = [names for names in known if found.within(names) <= GOOD]
    poor = [names for names in reversed(order) if found.within(names) > POOR]
    unknown = "relations of three columns or more, and single rows: neither was measured"
    if found.triples:
        unknown = "relations of other three columns, of four or more, and single rows: none was measured"
    if good:
        told = {
            "good for": f"shares of {_some(good)}: predicted within {GOOD:.0%} in total variation, between "
            f"at most {COARSE} groups a column"
        }
    else:
        told = {"good for": f"no column or pair is predicted to be within {GOOD:.0%} in total variation; spend more"}
    if poor:
        told["bad at"] = f"shares of {_some(poor)}: predicted to be off by up to {found.within(poor[0]):.0%}"
    cells = {"inside cells": words} if (words := untold(found)) else {}
    return {**told, **cells, "not for": unknown}


def wasted(
    columns: Sequence[Column], rows: Mapping[str, Levels], found: PredictedErrors | None = None
) -> dict[str, str]:
    """Which numbers lie in under a tenth of the cells of their declared bounds, by the released rows, in words.

    Where predicted errors are given, only of columns that these rows tell enough of: noise alone lies anywhere.
    """
    told, uncut = [], []
    for column in columns:
        present = rows[column.name] >= 0
        most = TELLING * present.mean()  # of the rows that have a value
        if found is not None and found.columns.get(column.name, 1.0) > most:
            continue
        held, lattice = np.sort(rows[column.name][present]), column.space.lattice
        if lattice is None or column.bar_edges is not None or column.valued < CELLS or len(held) < ENOUGH:
            continue  # cells about cuts are where the values lie already
        ends = held[[len(held) // ENOUGH, -1 - len(held) // ENOUGH]]  # all but a few on either side
        first, last = column.levels(ends).tolist()
        if (last - first + 1) * UNUSED < column.valued:
            low, high = (column.space.label(lattice.low + end) for end in ends.tolist())
            told.append(f"{column.name} ({low} to {high})")
            if column.points > column.valued and column.whole is None:  # others are refused by cuts=
                uncut.append(column.name)
    if not told:
        return {}
    named = "them" if len(uncut) == len(told) else listed(uncut, NAMES)
    cuts = f", or name {named} in cuts=" if uncut else ""
    return {
        "bounds": f"nearly all rows lie in under a tenth of the cells of the declared bounds of "
        f"{listed(told, NAMES)}: declare narrower ones{cuts}, and a table made anew tells more of them"
    }


def _some(tables: Sequence[Names]) -> str:
    shown = ", ".join(" x ".join(names) for names in tables[:NAMES])
    return shown if len(tables) <= NAMES else f"{shown} and {len(tables) - NAMES} more columns and pairs"


def predicted(
    columns: Sequence[Column],
    levels: Mapping[str, Levels],
    method: Mapping[str, Any],
    level: float,
    cells: int | None = None,
) -> PredictedErrors:
    """The predictions for made rows, given as levels, from what was judged of them.

    `cells`: how many groups of levels stand for cells where the levels themselves were not counted.
    Where the number of rows itself is mostly noise, nothing is known of shares, and anything may be.
    """
    total, judged = float(method["total"]), method["judged"]
    groups = {column.name: coarse(levels[column.name], column) for column in columns}
    names = [column.name for column in columns]
    measured = {
        pair for part in method["measured"] for pair in combinations(sorted(part["columns"], key=names.index), 2)
    }
    found: dict[Names, float] = {}
    samples: dict[Names, float] = {}
    middles: dict[Names, float] = {}
    noise = dict(zip(names, method.get("column_noise", ()), strict=False)) if "tables" in judged else {}
    sizes = {column.name: np.bincount(coarse(np.arange(column.size), column)) for column in columns if noise}
    for kind, tables in _tables(names, measured, judged).items():
        lengths = [like_a_sample(_shares(groups, table), total) for table in tables]
        for own, some in _sorts(kind, tables, sizes).items():
            if total < COUNTED * float(method.get("total_error", 0.0)):
                found |= dict.fromkeys(some, 1.0)
                middles |= dict.fromkeys(some, 1.0)
                continue
            seen = distributions(own, some, groups, total, judged, noise, sizes)
            found |= dict(zip(some, seen.at(level).tolist(), strict=True))
            middles |= dict(zip(some, seen.middle().tolist(), strict=True))
        ratios = [middles[table] / max(length, TINY) for table, length in zip(tables, lengths, strict=True)]
        samples |= {table: total / max(ratio, TINY) ** 2 for table, ratio in zip(tables, ratios, strict=True)}
    return PredictedErrors(
        level,
        {name: found[name,] for name in names if (name,) in found},  # in the table's order: pairs are named so, too
        {(names[0], names[1]): most for names, most in found.items() if len(names) == 2},
        samples,
        middles,
        frozenset(measured),
        frozenset(three_of(method)),
        {column.name: min(COARSE, column.valued) for column in columns},
        {column.name: _inside(levels[column.name], column, cells) for column in columns},
    )


def _inside(levels: Levels, column: Column, cells: int | None) -> float:
    """The largest share of rows in one cell of several values, of as many cells where not all levels were counted."""
    if column.edges is None or not len(levels):
        return 0.0
    widths = column.widths()
    owner = np.arange(column.valued) if cells is None else coarse(np.arange(column.valued), column)
    held = np.bincount(owner, np.bincount(levels, minlength=column.size)[: column.valued])
    several = np.bincount(owner, widths) > 1
    return float(held[several].max(initial=0.0) / len(levels))


def three_of(method: Mapping[str, Any]) -> list[Names]:
    """Three columns at a time that were measured, each once."""
    return sorted({tuple(part["columns"]) for part in method.get("measured", ()) if len(part["columns"]) == 3})


def _tables(names: Sequence[str], measured: set[tuple[str, str]], judged: Mapping[str, Any]) -> dict[str, list[Names]]:
    """What is predicted, by class: what was judged, or all columns and as many pairs as might have been."""
    if "tables" in judged:
        every = [tuple(table) for table in judged["tables"]]
    else:
        pairs = sorted(combinations(names, 2), key=lambda pair: pair not in measured)
        every = [*((name,) for name in names), *pairs[:MOST_PAIRS]]
    sorted_out: dict[str, list[Names]] = {kind: [] for kind in CLASSES}
    for table in every:
        kind = "columns" if len(table) == 1 else "measured" if table in measured else "others"
        sorted_out[kind].append(table)
    return {kind: tables for kind, tables in sorted_out.items() if tables}


def _sorts(kind: str, tables: Sequence[Names], sizes: Mapping[str, Levels]) -> dict[str, list[Names]]:
    """Tables of a class by what is likely of them: columns whose counts' noise is known by their number of groups."""
    if kind != "columns" or not sizes:
        return {kind: list(tables)}
    few = {table for table in tables if np.count_nonzero(sizes[table[0]][:COARSE]) <= FEW}
    sorts = {"few": [table for table in tables if table in few], "many": [one for one in tables if one not in few]}
    return {sort: some for sort, some in sorts.items() if some}


def distributions(
    kind: str,
    tables: Sequence[Names],
    groups: Mapping[str, Levels],
    total: float,
    judged: Mapping[str, Any],
    noise: Mapping[str, float],
    sizes: Mapping[str, Levels],
) -> Errors:
    """The errors to expect of some tables of one class."""
    noisy: Sequence[float] | float
    if "tables" in judged:
        held = {tuple(table): misfit for table, misfit in zip(judged["tables"], judged["misfits"], strict=True)}
        noisy = [held[table] / (2 * total) for table in tables]
    else:
        noisy = dict(zip(judged["classes"], judged["misfits"], strict=True))[kind] / (2 * total)
    scale, shares = judged["scale"] / (2 * total), [_shares(groups, table) for table in tables]
    if kind not in ("few", "many"):
        return errors(kind, [like_a_sample(own, total) for own in shares], noisy, scale)
    lengths = [
        math.hypot(like_counts(own, sizes[name][: len(own)], noise[name], total), DRAWN * like_a_sample(own, total))
        for own, (name,) in zip(shares, tables, strict=True)
    ]
    cells = [int(np.count_nonzero(own)) if kind == "few" else COARSE for own in shares]
    return errors(kind, lengths, noisy, scale, cells)


def _shares(groups: Mapping[str, Levels], table: Names) -> npt.NDArray[np.float64]:
    cells = groups[table[0]] if len(table) == 1 else groups[table[0]] * (COARSE + 1) + groups[table[1]]
    return np.bincount(cells) / max(1, len(cells))


def stated(method: Mapping[str, Any], beta: float, besides: str) -> ErrorStatement:
    """The mean errors of the classes, as they were measured: each holds with the probability that its noise has.

    Where the number of rows is released too, shares of the true number differ by at most its error over twice itself.
    """
    total, judged = float(method["total"]), method["judged"]
    off = float(method.get("total_error", 0.0))
    names = {pair for part in method["measured"] for pair in combinations(part["columns"], 2)}
    upper: dict[str, float] = {}
    if "tables" in judged:
        kinds = [
            "columns" if len(table) == 1 else "measured" if tuple(table) in names else "others"
            for table in judged["tables"]
        ]
        for kind in CLASSES:
            values = [misfit for misfit, own in zip(judged["misfits"], kinds, strict=True) if own == kind]
            if values:
                reach = _normal(judged["scale"] / math.sqrt(len(values)), off, beta)
                upper[kind] = max(0.0, float(np.mean(values))) + reach  # no mean is negative
    else:
        reach = 1 / UNITS + _laplace(judged["scale"], off, beta)  # whole means were rounded down
        upper = {kind: max(0, one) + reach for kind, one in zip(judged["classes"], judged["misfits"], strict=True)}
    upper = {kind: value + _rounded(kind, method.get("rows"), off) for kind, value in upper.items()}
    most = {kind: min(1.0, value / (2 * total)) for kind, value in upper.items()}
    level = level_of(beta)
    others = [ErrorStatement(kind, most[kind], level) for kind in CLASSES[1:] if kind in most]
    if "workload" in judged:
        others += _workload(judged["workload"], "tables" in judged, total, off, beta)
    return ErrorStatement("columns", most["columns"], level, each=True, besides=(*others, besides))


def _workload(found: Mapping[str, Any], normal: bool, total: float, off: float, beta: float) -> list[ErrorStatement]:
    """The mean and the worst error of a workload's queries, in shares of the rows."""
    reach = (_normal if normal else _laplace)(found["scale"], off, beta) + (1 + found["numbers"] / 2) / GOAL
    said = {
        "workload": found["mean"],
        "worst": max(found["mean"], found["worst"]),
    }  # it is no less
    return [
        ErrorStatement(kind, min(2.0, max(0.0, max(0.0, one) + reach) / total), level_of(beta))
        for kind, one in said.items()
    ]


def worst(method: Mapping[str, Any], beta: float) -> float:
    """The rows by which no query of the workload is off, all its numbers added up: as `stated` says it."""
    judged, total, off = method["judged"], float(method["total"]), float(method.get("total_error", 0.0))
    return total * _workload(judged["workload"], "tables" in judged, total, off, beta)[1].most


def _normal(deviation: float, off: float, beta: float) -> float:
    """What normal noise less the absolute value of another, of deviation `off`, falls below with probability beta."""
    return NormalDist().inv_cdf(1 - (beta / 2 if off else beta)) * math.hypot(deviation, off)


def _laplace(scale: float, off: float, beta: float) -> float:
    """The same of Laplace noise and a sum of others: tails of sums lie below the larger of the two laws' alike."""
    if not off:
        return scale * max(0.0, math.log(1 / (2 * beta)))
    deviation = math.hypot(math.sqrt(2) * scale, off)
    return max(deviation * math.log(1 / beta) / math.sqrt(2), _normal(deviation, 0.0, beta / 2))


def _rounded(kind: str, rows: int | None, off: float) -> float:
    """What whole counts of made rows differ from scaled ones by: none where as many are made as there are."""
    cells = (COARSE + 1) ** (1 if kind == "columns" else 2)
    return min(rows or 0, cells) / (2 * UNITS) + 0.5 * (off > 0)
