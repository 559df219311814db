r"""Rows that keep public rules: those that break one are mended, and all are drawn again by weights.

Rules that share no column are imposed one part after another.  Rows that break a part have its columns drawn anew until
it holds (`queries/mending.py`); where none could be mended, rows that were invented from the declared columns stand in.
Mending moves the shares of values, so rows that keep the rules are then weighted until each column and each measured
pair has the shares that the drawn rows had, as far as the rules allow: of all weights those nearest to equal ones, by
raking [DemingStephan1940].  As many rows as there were are drawn by the weights.

Nothing but made rows and public rules is read: this is post-processing, whatever the table holds.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from typing import Any

import numpy as np
import numpy.typing as npt

from sfumato.mechanisms.synthetic.marginals.generation import shuffling, systematic
from sfumato.mechanisms.synthetic.marginals.judging import COARSE, coarse
from sfumato.mechanisms.synthetic.marginals.rounds import Synthesis
from sfumato.progress import tell
from sfumato.queries.encoding import Column
from sfumato.queries.mending import mended, possible
from sfumato.queries.rules import Rules
from sfumato.queries.synthetic import SyntheticRows
from sfumato.randomness import Rng

__all__ = ["imposed", "ruled"]

AT_ONCE = 100_000  # rows that are weighted together
SWEEPS = 12
PACE = 4.0  # a weight's most change by one table of shares
HEAVIEST = 20.0  # times the mean weight
MANY = 60  # columns; of more, only those near a rule are weighted by

Whole = npt.NDArray[np.int64]
Reals = npt.NDArray[np.float64]


def ruled(query: SyntheticRows, made: Synthesis, rng: Rng) -> Synthesis:
    """The rows with the rules of the question imposed; without rules, as they are."""
    if not query.rules:
        return made
    tell("keeping rules", 0.93)
    pairs = [part["columns"] for part in made.measured]
    return replace(made, rows=imposed(made.rows, query.levels, query.rules, pairs, shuffling(rng)))


def imposed(
    rows: Mapping[str, Whole],
    columns: Sequence[Column],
    rules: Rules,
    measured: Sequence[Sequence[str]],
    chance: np.random.Generator,
) -> dict[str, Whole]:
    """As many rows, all of which keep the rules."""
    known, count = {column.name: column for column in columns}, len(next(iter(rows.values())))
    parts = []
    for start in range(0, count, AT_ONCE):
        held = {name: some[start : start + AT_ONCE] for name, some in rows.items()}
        for part, names in rules.parts():
            held = _kept(held, known, part, names, measured, chance)
        parts.append(held)
    return {name: np.concatenate([part[name] for part in parts]) for name in rows}


def _kept(
    rows: dict[str, Whole],
    columns: Mapping[str, Column],
    rules: Rules,
    names: Sequence[str],
    measured: Sequence[Sequence[str]],
    chance: np.random.Generator,
) -> dict[str, Whole]:
    """The rows with one part of the rules imposed."""
    if rules.hold(rows).all():
        return rows
    found, kept = mended(rows, rules, names, chance)
    count = len(kept)
    if not kept.any():
        stand_in = possible(rules, [column.declared for column in columns.values() if column.name in names])
        chosen = chance.integers(len(stand_in[names[0]]), size=count)
        return {**rows, **{name: stand_in[name][chosen] for name in names}}
    pool = {name: held[kept] for name, held in found.items()}
    order = np.lexsort([pool[name] for name in names])  # like rows beside one another, which are drawn evenly
    pool = {name: held[order] for name, held in pool.items()}
    weights = _raked(pool, rows, columns, _tables(columns, names, measured))
    chosen = systematic(weights[np.newaxis], np.zeros(count, dtype=np.int64), chance)
    return {name: held[chosen] for name, held in pool.items()}


def _tables(
    columns: Mapping[str, Column], names: Sequence[str], measured: Sequence[Sequence[str]]
) -> list[tuple[str, ...]]:
    """The measured pairs that a part of the rules can move, then the columns."""
    found = sorted({pair for part in measured for pair in combinations(sorted(part), 2)})
    pairs: list[tuple[str, ...]] = [pair for pair in found if set(pair) & set(names)]
    near = {*names, *(name for pair in pairs for name in pair)}
    return [*pairs, *((name,) for name in columns if len(columns) <= MANY or name in near)]


def _raked(
    pool: Mapping[str, Whole], wanted: Mapping[str, Whole], columns: Mapping[str, Column], tables: Sequence[Any]
) -> Reals:
    """Weights of the rows with which they have the shares of the wanted ones, where they have any."""
    cells = [(_cells(pool, columns, table), _cells(wanted, columns, table)) for table in tables]
    weights = np.ones(len(next(iter(pool.values()))))
    goals = []
    for own, other in cells:
        size = int(max(own.max(), other.max())) + 1
        held = np.bincount(other, minlength=size) * (np.bincount(own, minlength=size) > 0)
        goals.append(held * (len(weights) / max(1.0, held.sum())))
    for _ in range(SWEEPS):
        for (own, _other), goal in zip(cells, goals, strict=True):
            if goal.any():
                held = np.bincount(own, weights=weights, minlength=len(goal))
                weights *= np.clip(goal / np.maximum(held, 1e-9), 1 / PACE, PACE)[own]
    return np.asarray(np.minimum(weights, HEAVIEST * weights.mean()))


def _cells(rows: Mapping[str, Whole], columns: Mapping[str, Column], table: Sequence[str]) -> Whole:
    """The cell of each row in a table: of one column its levels, of several its public groups of levels."""
    levels = [columns[name].levels(rows[name]) for name in table]
    if len(table) == 1:
        return levels[0]
    found = np.zeros(len(levels[0]), dtype=np.int64)
    for name, held in zip(table, levels, strict=True):
        found = found * (COARSE + 1) + coarse(held, columns[name])
    return found
