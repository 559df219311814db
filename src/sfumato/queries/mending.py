"""Rows that break rules, mended: some of their columns are drawn anew until the rules hold.

First one column or so of a row is drawn anew, then more and more of them, each from values that the column has
elsewhere.  All of it works on made rows, which are public, or on rows invented from the declared columns alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from sfumato.errors import UnsupportedQuery
from sfumato.queries.encoding import Column
from sfumato.queries.rules import Rules

__all__ = ["mended", "possible"]

TRIES = 40
INVENTED = (500, 50_000)  # rows, to find some that keep the rules: few at first
SPOKEN = 50  # to one value that rules speak of, values that rows have
SEED = 16  # public: whether rules can hold is the same whoever asks

Whole = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]


def mended(
    rows: Mapping[str, Whole], rules: Rules, names: Sequence[str], chance: np.random.Generator
) -> tuple[dict[str, Whole], Flags]:
    """The rows with the named columns drawn anew where that helps, and which of them keep the rules then."""
    held, kept = {name: rows[name].copy() for name in names}, rules.hold(rows)
    values = {name: _values(rows[name], rules.constants(name)) for name in names}
    for turn in range(TRIES):
        broken = np.flatnonzero(~kept)
        if not len(broken):
            break
        anew = chance.random((len(names), len(broken))) < max(1 / len(names), turn / TRIES)
        anew[chance.integers(len(names), size=len(broken)), np.arange(len(broken))] = True
        drawn = {
            name: np.where(anew[place], chance.choice(values[name], len(broken)), held[name][broken])
            for place, name in enumerate(names)
        }
        fine = rules.hold(drawn)
        for name in names:
            held[name][broken[fine]] = drawn[name][fine]
        kept[broken[fine]] = True
    return {**rows, **held}, kept


def possible(rules: Rules, columns: Sequence[Column]) -> dict[str, Whole]:
    """Rows of these columns that keep the rules, invented from what is declared; none found, the rules are refused."""
    chance = np.random.default_rng(SEED)
    for count in INVENTED:
        rows = {column.name: _invented(column, rules, count, chance) for column in columns}
        found, kept = mended(rows, rules, list(rows), chance)
        if kept.any():
            return {name: held[kept] for name, held in found.items()}
    texts = " and ".join(repr(text) for text in rules.texts)
    raise UnsupportedQuery(
        f"no row was found that keeps {texts}: they contradict one another or what the columns can hold, or next to no "
        "row keeps them; change them, or write an equation as one column that equals a formula over the others"
    )


def _values(held: Whole, spoken: Sequence[int]) -> Whole:
    """What a column is drawn from: its values in all rows, and a few times those that rules speak of."""
    return np.concatenate(
        [held, np.repeat(np.array(spoken, dtype=np.int64), 1 + len(held) // SPOKEN // (1 + len(spoken)))]
    )


def _invented(column: Column, rules: Rules, count: int, chance: np.random.Generator) -> Whole:
    """Values all over a column; missing ones only where a rule asks for them by name."""
    if column.edges is None:
        found = chance.integers(column.valued, size=count)
    else:
        level = chance.integers(column.valued, size=count)
        inside = (chance.random(count) * column.widths()[level]).astype(np.int64)
        found = np.array(column.edges, dtype=np.int64)[level] + np.where(chance.random(count) < 0.5, inside, 0)
    if column.nullable and any(test.kind == "missing" for test in rules.tests(column.name)):
        found[chance.random(count) < 0.5] = -1
    return found
