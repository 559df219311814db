"""More rows like those of a synthetic table, free: the columns of each are taken from released rows, piece by piece.

The measured pairs make a tree of bags of columns (`marginals/tree.py`).  A new row takes the columns of the first bag
from one released row, and those that each further bag adds from a released row that is like it, in public groups of
levels, in the columns that the two bags share.  So every bag has the joint shares of the released rows, up to sampling
and to relations inside groups, and what the tree holds independent is mixed anew; numbers whose moments were measured
stay together.  New rows that break a rule of the table give way to released ones, which keep it.  Rows where a
condition holds are those of many that are drawn.  Nothing but what is public is read.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations

import numpy as np
import numpy.typing as npt

from sfumato.errors import UnsupportedQuery
from sfumato.mechanisms.synthetic.marginals.judging import coarse
from sfumato.mechanisms.synthetic.marginals.tree import JunctionTree
from sfumato.queries.encoding import Column
from sfumato.queries.evaluation import Made
from sfumato.queries.formulas import Term
from sfumato.queries.synthetic import SyntheticRows

__all__ = ["more_persons", "more_rows", "rows_where"]

LOOKED = 200_000  # rows after which it is known how rare a condition is
MOST_DRAWN = 20_000_000

Whole = npt.NDArray[np.int64]


def more_rows(
    held: Mapping[str, Whole],
    columns: Sequence[Column],
    measured: Sequence[Sequence[str]],
    count: int,
    chance: np.random.Generator,
    together: Sequence[str] = (),
) -> dict[str, Whole]:
    """So many new rows, as the released ones are given: indices of each column, -1 where missing.

    Columns that belong `together` always come from one released row: the first of them stands for all in the tree.
    """
    names = [column.name for column in columns]
    groups = [coarse(column.levels(held[column.name]), column) for column in columns]
    tree = JunctionTree.of(int(some.max(initial=0)) + 1 for some in groups)
    first = [names.index(together[0] if name in together else name) for name in names]
    for part in measured:
        for one, other in combinations(sorted({first[names.index(name)] for name in part}), 2):
            tree = tree.including((one, other))
    givers: dict[int, Whole] = {}
    for place, bag in enumerate(tree.bags):
        chosen = _alike(groups, tree.separator(place), givers, count, chance)
        givers |= {column: chosen for column in bag if column not in givers}
    return {name: held[name][givers[place]] for place, name in zip(first, names, strict=True)}


def rows_where(
    held: Mapping[str, Whole],
    question: SyntheticRows,
    measured: Sequence[Sequence[str]],
    count: int,
    given: Term | None,
    chance: np.random.Generator,
    together: Sequence[str] = (),
) -> dict[str, Whole]:
    """So many new rows that keep the rules of the question, all with the condition; refused where it is too rare."""
    rules, parts, found, drawn = question.rules, [], 0, 0
    while found < count:
        some = more_rows(held, question.levels, measured, min(max(count, LOOKED // 10), LOOKED), chance, together)
        if rules:
            broken = np.flatnonzero(~rules.hold(some))
            givers = chance.integers(len(held[question.levels[0].name]), size=len(broken))
            for name in some:
                some[name][broken] = held[name][givers]
        drawn += len(some[question.levels[0].name])
        if given is not None:
            kept = Made(rules.schema, rules.completed(some)[0]).truth(given).yes
            some = {name: column[kept] for name, column in some.items()}
        parts.append(some)
        found += len(some[question.levels[0].name])
        room = found * MOST_DRAWN // drawn
        if drawn >= LOOKED and room < count:
            way = f"ask for at most {room:,} of them, or " if found else ""
            raise UnsupportedQuery(
                f"of {drawn:,} rows drawn, {found:,} are such as were asked for, too few to make {count:,}: the table "
                f"says next to nothing about them; {way}widen the condition"
            )
    return {name: np.concatenate([part[name] for part in parts])[:count] for name in held}


def more_persons(whose: Whole, count: int, chance: np.random.Generator) -> tuple[Whole, Whole]:
    """So many rows of released persons, who are drawn again with all of theirs: places of rows, and new persons.

    >>> places, persons = more_persons(np.array([0, 0, 1]), 5, np.random.default_rng(1))
    >>> places.tolist(), persons.tolist()
    ([0, 1, 2, 2, 2], [2, 2, 3, 4, 5])
    """
    _, sizes = np.unique(whose, return_counts=True)
    chosen = chance.integers(len(sizes), size=count)
    ends = sizes[chosen].cumsum()
    persons = np.searchsorted(ends, np.arange(count), side="right")
    inside = np.arange(count) - (ends - sizes[chosen])[persons]
    order = np.argsort(whose, kind="stable")
    starts = np.cumsum(sizes) - sizes
    return order[starts[chosen[persons]] + inside], int(whose.max()) + 1 + persons


def _alike(
    groups: Sequence[Whole], shared: Sequence[int], givers: Mapping[int, Whole], count: int, chance: np.random.Generator
) -> Whole:
    """For each new row a released row that has the same groups in the shared columns, any of them alike."""
    held = len(groups[0])
    if not shared:
        return chance.integers(held, size=count)
    both = np.stack([np.concatenate([groups[c], groups[c][givers[c]]]) for c in shared], axis=1)
    kinds = np.unique(both, axis=0, return_inverse=True)[1].reshape(-1)
    released, new = kinds[:held], kinds[held:]
    order = np.argsort(released, kind="stable")
    sizes = np.bincount(released, minlength=int(kinds.max()) + 1)
    first = np.cumsum(sizes) - sizes
    return np.asarray(order[first[new] + (chance.random(count) * sizes[new]).astype(np.int64)])
