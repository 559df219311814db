"""Membership inference on synthetic tables: was this person in the table?

The person is an outlier, a rare combination, or a copy of a typical row; the table is given with and
without.  The features of an output then also hold the distance of its nearest row to the person and
the number of rows equal to it [StadlerEtAl2022].
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sfumato.auditing.auditor import audit
from sfumato.auditing.findings import Finding, abridged
from sfumato.auditing.neighbors import Pair
from sfumato.auditing.records import records_for
from sfumato.auditing.shapes import shape_of
from sfumato.errors import ParameterError
from sfumato.privacy.adjacency import AddRemove, Adjacency, Replace
from sfumato.privacy.guarantees import Claim

__all__ = ["audit_membership"]


def audit_membership(
    target: Callable[..., Any],
    claim: Claim,
    *,
    inputs: object,
    adjacency: Adjacency | str = AddRemove(),  # noqa: B008 (frozen)
    bounds: tuple[float, float] | None = None,
    **options: Any,
) -> Finding:
    """Refute a claim about a synthesizer `target(table) -> table` by telling who was in the table."""
    shape, rows = shape_of(inputs)
    if not rows:
        raise ParameterError("inputs must hold at least one row; people are told apart from the others")
    relation = adjacency if isinstance(adjacency, str) else adjacency.name
    pairs = []
    for person in records_for(shape, rows, bounds):
        for base in (rows, rows[:1], rows[: len(rows) // 2]):
            if relation == Replace.name:
                with_, without = [person, *base[1:]], list(base)
            else:
                with_, without = [*base, person], list(base)
            pairs.append(
                Pair(
                    shape.build(with_), shape.build(without), f"one person in the table: {abridged(person, 80)}", person
                )
            )
    return audit(target, claim, pairs=pairs, **options)
