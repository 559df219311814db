"""Brute-force sensitivity: how far do neighbors move an exact part, against what is claimed?"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from itertools import product
from typing import Any

import numpy as np

from sfumato.arguments import choice
from sfumato.auditing.findings import Attempt, Finding, abridged
from sfumato.auditing.neighbors import Pair, explicit, pairs_for, relation_of
from sfumato.auditing.reporting import exact_finding, shown
from sfumato.auditing.running import Raised, Runner, name_of
from sfumato.auditing.shapes import shape_of
from sfumato.auditing.sources import source_of
from sfumato.privacy.adjacency import AddRemove, Adjacency, Replace, Row, Unit

__all__ = ["audit_sensitivity"]

NORMS: dict[str, Callable[[np.ndarray], float]] = {
    "l1": lambda v: float(np.abs(v).sum()),
    "l2": lambda v: float(np.sqrt(np.square(v).sum())),
    "linf": lambda v: float(np.abs(v).max(initial=0.0)),
}


def audit_sensitivity(
    function: Callable[[Any], Any],
    claimed: float,
    norm: str = "l1",
    *,
    inputs: object = (0.0, 1.0),
    pairs: Sequence[tuple[Any, Any]] | None = None,
    records: Sequence[Any] | None = None,
    bounds: tuple[float, float] | None = None,
    unit: Unit = Row(),  # noqa: B008 (frozen)
    adjacency: Adjacency | str = AddRemove(),  # noqa: B008 (frozen)
) -> Finding:
    """Refute that neighbors move `function` by at most `claimed` in the norm.

    All small tables over the corners are tried, and the neighbors that `audit` would make.  Moves
    that are not numbers, and exceptions on one input only, count as infinite.

    >>> audit_sensitivity(sum, 1.0, bounds=(-1.0, 1.0)).refuted
    False
    >>> audit_sensitivity(sum, 1.0, bounds=(0.0, 4.0)).evidence.epsilon
    4.0
    """
    choice("norm", norm, NORMS)
    relation = relation_of(adjacency)
    if pairs is not None:
        found = explicit(pairs)
    else:
        example = list(inputs) if isinstance(inputs, tuple) else inputs
        found = pairs_for([example], relation, unit, records, bounds)
        if relation in (AddRemove.name, Replace.name):
            found += list(_small(example, relation, records, bounds))
    runner = Runner(function, np.random.default_rng, 0)
    worst, where = -1.0, found[0]
    for pair in found:
        move = _move(runner.one(pair.first), runner.one(pair.second), NORMS[norm])
        if move > worst:
            worst, where = move, pair
    claim = f"sensitivity {claimed:g} in {norm}"
    if worst <= claimed * (1 + 1e-9):
        words = f"{len(found)} pairs of neighbors, the largest move was {worst:.6g}"
        failed = runner.seen.failed
        return Finding(
            name_of(function), claim, None, (Attempt("sensitivity", words, runner.runs),),
            notes=() if failed is None else (failed,), audited=failed is None,
        )  # fmt: skip
    return exact_finding(
        name_of(function),
        claim,
        attack="sensitivity",
        neighbors=(where.first, where.second),
        relation=where.relation,
        words=f"the exact part moves by {worst:.6g} in {norm}, claimed {claimed:.6g}",
        epsilon=worst,
        script=_script(function, where),
    )


def _move(one: object, two: object, norm: Callable[[np.ndarray], float]) -> float:
    if isinstance(one, Raised) or isinstance(two, Raised):
        return 0.0 if isinstance(one, Raised) and isinstance(two, Raised) else math.inf
    a, b = np.atleast_1d(np.asarray(one, dtype=float)), np.atleast_1d(np.asarray(two, dtype=float))
    if a.shape != b.shape:
        return math.inf
    with np.errstate(all="ignore"):
        same = (a == b) | (np.isnan(a) & np.isnan(b))
        moved = norm(np.where(same, 0.0, a - b).ravel())
    return math.inf if math.isnan(moved) else moved


def _small(
    example: object, relation: str, records: Sequence[Any] | None, bounds: tuple[float, float] | None
) -> Iterator[Pair]:
    """Every table of at most three rows over a few records, beside each of its neighbors."""
    shape, rows = shape_of(example)
    pool = list(records)[:5] if records is not None else []
    if not pool:
        pool = [bounds[0], bounds[1], sum(bounds) / 2] if bounds and not shape.columns else rows[:4]
    for size in range(4):
        for table in product(pool, repeat=size):
            if relation == AddRemove.name:
                for record in pool:
                    yield Pair(
                        shape.build([*table, record]), shape.build(list(table)), f"one more row: {abridged(record, 80)}"
                    )
            elif size:
                for record in pool:
                    words = f"row 0 of {size} replaced: {abridged(record, 80)} for {abridged(table[0], 80)}"
                    yield Pair(shape.build([record, *table[1:]]), shape.build(list(table)), words)


def _script(function: Callable[[Any], Any], pair: Pair) -> str:
    return "\n".join(
        [
            "from math import inf, nan",
            "",
            "import numpy as np",
            "import pandas as pd",
            "import pyarrow as pa",
            "",
            source_of(function),
            "",
            f"print(target({shown(pair.first)}), target({shown(pair.second)}))",
            "",
        ]
    )
