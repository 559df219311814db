r"""How far made rows are from the table: measured, as the last step of a run, and paid for like every look at the data.

Columns and pairs are compared in at most `COARSE` public groups of levels.  The misfit of a table of counts is its l1
distance from what the made rows, scaled to the released number of rows, would have there: twice the rows times the
total variation.  Both sides are whole numbers of 1/`UNITS` of a row, so one unit moves a misfit by at most `UNITS`
times its l1 reach, with no rounding to pay for; and so it moves the whole mean of several misfits.  With normal noise
every table is judged by itself: their mean is then known as well as if it alone had been asked for.  With Laplace noise
it is not, and only the means of three classes are measured.  Proof: docs/proofs/synthesis-marginals.md.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from sfumato.mechanisms.synthetic.marginals.counting import Read, pair_counts
from sfumato.mechanisms.synthetic.marginals.generation import shuffling
from sfumato.mechanisms.synthetic.marginals.noise import Noise, Reach, noisy
from sfumato.mechanisms.synthetic.marginals.tree import Pair
from sfumato.queries.encoding import Column
from sfumato.randomness import Rng

__all__ = ["CLASSES", "COARSE", "JUDGING", "MOST_PAIRS", "UNITS", "coarse", "judged"]

JUDGING = Fraction(1, 40)  # of the budget; the counts before it get noisier by an eightieth
COARSE = 32  # groups of levels that columns and pairs are compared in, and one for missing values
UNITS = 64  # to one row
MOST_PAIRS = 1000  # that are judged; of more, some drawn at random
MOST_TOTAL = 2.0**40  # rows
CLASSES = ("columns", "measured", "others")  # single columns, pairs that were measured, and pairs that were not

Whole = npt.NDArray[np.int64]


def coarse(levels: Whole, column: Column) -> Whole:
    """At most COARSE public groups of neighboring levels; missing values apart, in the last."""
    groups = levels * min(COARSE, column.valued) // column.valued
    return np.where(levels >= column.valued, COARSE, groups)


@dataclass(frozen=True, slots=True)
class _Tables:
    """What is judged, by class: a column stands as a pair with itself, whose counts lie on the diagonal."""

    classes: tuple[tuple[Pair, ...], ...]

    @classmethod
    def of(cls, columns: int, measured: set[Pair], chance: np.random.Generator) -> _Tables:
        """Every column, and every pair, or as many as there is room for."""
        pairs = [(one, other) for one in range(columns) for other in range(one + 1, columns)]
        known = sorted(measured)[:MOST_PAIRS]
        others = [pair for pair in pairs if pair not in measured]
        room = MOST_PAIRS - len(known)
        if len(others) > room:
            others = [others[place] for place in sorted(chance.choice(len(others), room, replace=False))]
        return cls((tuple((column, column) for column in range(columns)), tuple(known), tuple(others)))

    @property
    def all(self) -> list[Pair]:
        """One after another."""
        return [table for members in self.classes for table in members]


def judged(
    read: Read,
    columns: Sequence[Column],
    made: Mapping[str, Whole],
    total: float,
    measured: Sequence[Mapping[str, Any]],
    noise: Noise,
    amount: Fraction,
    rng: Rng,
) -> dict[str, object]:
    """The noisy misfits of made rows, in rows, and the scale of their noise, as plain values."""
    names = [column.name for column in columns]
    tables = _Tables.of(len(columns), _pairs(names, measured), shuffling(rng))
    owners = [coarse(np.arange(column.size), column) for column in columns]
    counts, own = (pair_counts(source, columns, owners, tables.all) for source in (read, lambda: iter([made])))
    share = UNITS * min(max(total, 1.0), MOST_TOTAL) / max(1, len(made[names[0]]))
    misfits = {
        table: int(np.abs(UNITS * held - np.rint(share * own[table]).astype(np.int64)).sum())
        for table, held in counts.items()
    }
    asked = [(table,) for table in tables.all] if noise.apart else [some for some in tables.classes if some]
    means = np.array([sum(misfits[table] for table in some) // len(some) for some in asked], dtype=np.int64)
    moved = type(noise)(Reach(UNITS * noise.reach.l1, both=False))
    scale = max(moved.scales(amount, [1] * len(asked)))
    found = noisy(means, moved.law(scale), rng) / UNITS
    said: dict[str, object] = {"scale": scale / UNITS, "misfits": found.tolist()}
    if noise.apart:
        return {**said, "tables": [[names[place] for place in sorted(set(table))] for table in tables.all]}
    return {**said, "classes": [kind for kind, some in zip(CLASSES, tables.classes, strict=True) if some]}


def _pairs(names: Sequence[str], measured: Sequence[Mapping[str, Any]]) -> set[Pair]:
    """The pairs within what was measured."""
    found: set[Pair] = set()
    for part in measured:
        places = sorted(names.index(name) for name in part["columns"])
        found |= {(one, other) for one in places for other in places if one < other}
    return found
