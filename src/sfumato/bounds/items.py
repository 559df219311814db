r"""What no mechanism can beat on the counts of all items of a set: along each set that a row may hold they are a count.

A row with the set S moves the counts by its indicator f, one with S in place of a disjoint T by f - g.  Where tables
are unbounded, all sets of c of D items with equal weights give gamma = sqrt((D - 1) c (D - c) / D) + c / sqrt(D), so
about c D for gamma^2: what Gaussian noise pays.  A table of n units has room for fewer: the shifts of one set, drawn
once and for all, along a ring of q items are q moves whose matrix is circulant with eigenvalues |DFT(f)_k|^2, so that
gamma^2 >= (sum_k |DFT(f)_k|)^2 / q.  Groups share no row, so their gamma^2 add up.  With `bounds/linear.py` that is a
bound for every mechanism.  Proof: docs/proofs/bounds-items.md.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import lru_cache, partial

import numpy as np

from sfumato.answers.certificate import Certificate, NoBoundKnown
from sfumato.bounds.exchanges import sizes_of
from sfumato.bounds.linear import Family, Least, among, best_family
from sfumato.bounds.numbers import Noised
from sfumato.bounds.reachability import obstacle, takes_every_row
from sfumato.privacy.adjacency import Replace
from sfumato.privacy.guarantees import Guarantee
from sfumato.queries.items import ItemCounts

__all__ = ["certify_items", "families_of_sets", "least_of_items"]

SEED = 15  # public: a bound is the same whoever computes it
LARGEST_RING = 1 << 16
FEW, TRIED = 64, 8  # of few items several sets are tried, since some have shifts that are nearly dependent
DOWN = 1 - 1e-9  # more than the transform may have added


def certify_items(question: ItemCounts, mechanism: Noised, claim: Guarantee) -> Certificate | NoBoundKnown:
    """Of the counts of every item, by group: a row adds one to each item of its set."""
    if question.dimension == 0:
        return NoBoundKnown("there is no group")
    found = obstacle(question)
    if found is not None:
        return NoBoundKnown(found)
    return least_of_items(question, claim).certificate(question.dimension * mechanism.noise.variance)


def least_of_items(question: ItemCounts, claim: Guarantee) -> Least:
    """The least mean square of all counts together."""
    schema, groups = question.schema, question.groups.count
    items, replaced = question.dimension // groups, isinstance(schema.adjacency, Replace)
    units = schema.size if replaced else None
    empty = schema.fixed_size is None or not takes_every_row(question)
    families = families_of_sets(items, question.most_items, groups, empty, replaced, units)
    least = schema.unit.rows**2 * best_family(families, claim, units)
    return Least(least, "least variance of a count, along sets", among(claim, units))


def families_of_sets(items: int, cap: int, groups: int, alone: bool, apart: bool, units: int | None) -> list[Family]:
    """Rows that come to hold a set (`alone`), or hold one set in place of another (`apart`): all sets, or rings."""
    if units is None and alone and not apart:
        value = groups * max(_norm_of_all(items, size) for size in {1, min(cap, (items + 1) // 2)})
        return [Family(1, value, partial(float, value))]
    found = []
    for q in {min(q, LARGEST_RING) for q in sizes_of(items, units)}:
        for value in _norms(q, min(cap, q), alone, apart):
            for g in sizes_of(groups, units):
                found.append(Family(g * q, g * value, partial(float, g * value)))
    return found


def _norm_of_all(items: int, size: int) -> float:
    """gamma^2, from below, of all sets of this size.

    >>> round(_norm_of_all(10, 1), 6), round(_norm_of_all(10, 10), 6)
    (10.0, 10.0)
    """
    root = math.sqrt((items - 1) * size * (items - size) / items) + size / math.sqrt(items)
    return root**2 * DOWN


@lru_cache(maxsize=1024)
def _norms(items: int, cap: int, alone: bool, apart: bool) -> tuple[float, ...]:
    return tuple(_norms_of_rings(items, cap, alone, apart))


def _norms_of_rings(items: int, cap: int, alone: bool, apart: bool) -> Iterator[float]:
    """gamma^2, from below, of the shifts of single items, and of sets of as many items as count or as are best."""
    rng, half = np.random.default_rng(SEED), items // 2
    for size in {1, min(cap, max(1, half)), min(cap, max(1, half - 1))}:
        for _ in range(TRIED if items <= FEW else 1):
            order = rng.permutation(items)
            if alone:
                yield _norm_of_shifts(items, order[:size], order[:0])
            if apart and size <= half:
                yield _norm_of_shifts(items, order[:size], order[size : 2 * size])


def _norm_of_shifts(items: int, more: np.ndarray, fewer: np.ndarray) -> float:
    move = np.zeros(items)
    move[more] += 1.0
    move[fewer] -= 1.0
    return float(np.abs(np.fft.fft(move)).sum()) ** 2 / items * DOWN
