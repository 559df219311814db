"""Which relations a synthetic table knows, and which queries of its workload its rows could not be given, in words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from sfumato.cards import counted, listed
from sfumato.mechanisms.synthetic.effort import DELTA, pairs_with_delta
from sfumato.privacy.guarantees import Guarantee
from sfumato.queries.goals import UNIT, Batch
from sfumato.queries.synthetic import SyntheticRows

__all__ = ["cells_found", "relations", "texts_found", "unmet"]

CLEARLY, LEAST = 4.0, 0.002  # scales of the noise, and a share of the rows: what is nearer counts as met
NAMES = 3  # of queries in a sentence


def relations(
    question: SyntheticRows,
    target: Guarantee,
    pairs: int,
    together: Sequence[str] = (),
    triples: Sequence[Sequence[str]] = (),
) -> dict[str, str]:
    """How many pairs of columns were measured, and how many a delta would have paid for; nothing of one column.

    `together` are the columns whose moments were measured, which say something of all relations among them; `triples`
    are those that were measured three at a time.
    """
    columns = len(question.levels)
    among = columns * (columns - 1) // 2
    if not among:
        return {}
    others = "; the others are what these imply" if pairs < among else ""
    known = f"{pairs:,} of {counted(among, 'pair')} of columns measured{others}"
    if not pairs:
        known = "none: columns are independent of one another here; the table is too small, or the budget too low"
        if together:
            known = f"no pair of columns was counted; the {len(together):,} numbers are related as far as moments tell"
    if question.triples:
        shown = listed([" x ".join(names) for names in triples], NAMES)
        known += f"; of three columns {shown}" if triples else "; no three columns were worth their noise"
    more = pairs_with_delta(question, target)
    hint = f"; with a delta of {DELTA:g} up to {more:,} of {among:,} pairs" if more is not None and more > pairs else ""
    return {"relations": known + hint}


def texts_found(question: SyntheticRows) -> dict[str, str]:
    """How many texts of each column were found, and what stands for the others; nothing where no column holds any."""
    words = {column.name: (column.space.labels or ("",))[-1] for column in question.levels}
    told = [f"{len(known):,} of {name} (all others: {words[name]!r})" for name, known in question.texts]
    return {"texts found": ", ".join(told)} if told else {}


def cells_found(question: SyntheticRows) -> dict[str, str]:
    """About which values cells are fine, of columns that were cut; nothing where none was."""
    columns, told = {column.name: column.space for column in question.levels}, []
    for name, found in question.cuts:
        low = question.schema.lattice(name).low
        first, last = (columns[name].label(low + end) for end in (found[0], found[-1]))
        told.append(f"{name} about {first}" if first == last else f"{name} from {first} to {last}")
    return {"cells": f"finest where values were found to lie: {', '.join(told)}"} if told else {}


def unmet(question: SyntheticRows, rows: Mapping[str, npt.NDArray[np.int64]], method: Mapping[str, Any]) -> str | None:
    """The queries whose measured answers the rows miss by far more than noise; None if there are none."""
    told = {one["query"]: one for one in sorted(method.get("answered", ()), key=lambda one: -one["scale"])}
    batch, total = Batch(rows, question.schema), float(method.get("total", 1.0))
    missed = []
    for place, one in sorted(told.items()):
        made = question.goals[place].sums(batch) / (UNIT * max(1, batch.rows))
        apart = np.abs(made - np.clip(one["shares"], 0.0, 1.0))
        worst = int(apart.argmax())
        if apart[worst] > CLEARLY * one["scale"] / total + LEAST:
            shares = f"measured {one['shares'][worst]:.1%} of the rows, made {made[worst]:.1%}"
            missed.append(f"{question.goals[place].query.name} ({shares})")
    if not missed:
        return None
    shown = listed(missed, NAMES)
    return f"{'a query' if len(missed) == 1 else 'queries'} of the workload that rows could not be given: {shown}"
