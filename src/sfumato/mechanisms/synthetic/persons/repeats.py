r"""How often two rows of one person agree in a column: what makes a person's rows belong together.

Of each person with several rows, the share of pairs of rows that agree, in whole 64ths; summed over the persons, with
noise.  One person moves each sum by at most 64.  Proof: docs/proofs/synthesis-persons.md.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from sfumato.mechanisms.synthetic.marginals.levels import Groups
from sfumato.mechanisms.synthetic.marginals.noise import Noise, Reach, noisy
from sfumato.queries.encoding import Column
from sfumato.randomness import Rng

__all__ = ["UNITS", "agreements", "noisy_agreements"]

UNITS = 64  # to one person

Whole = npt.NDArray[np.int64]
Persons = Iterable[tuple[Whole, Mapping[str, Any]]]  # batches of whole persons: whose each row is, and the columns


def agreements(batches: Persons, columns: Sequence[Column], owners: Sequence[Groups]) -> tuple[Whole, int]:
    """The sums of agreeing shares in each column's groups of levels, and how many persons have several rows.

    >>> from sfumato.spaces import Integers
    >>> number = Column.of("x", Integers(0, 9))
    >>> found = agreements([(np.array([1, 1, 1, 2]), {"x": np.array([5, 5, 6, 5])})], [number], [np.arange(11)])
    >>> found[0].tolist(), found[1]
    ([21], 1)
    """
    totals, several = np.zeros(len(columns), dtype=np.int64), 0
    for persons, batch in batches:
        _, own, counts = np.unique(persons, return_inverse=True, return_counts=True)
        pairs = counts * (counts - 1)
        shared = pairs > 0
        several += int(shared.sum())
        for place, (column, owner) in enumerate(zip(columns, owners, strict=True)):
            groups, size = owner[column.levels(np.asarray(batch[column.name]))], int(owner.max()) + 1
            cells, held = np.unique(own * size + groups, return_counts=True)
            alike = np.bincount(cells // size, held * (held - 1), len(counts)).astype(np.int64)
            totals[place] += (UNITS * alike[shared] // pairs[shared]).sum()
    return totals, several


def noisy_agreements(exact: Whole, noise: Noise, amount: Fraction, rng: Rng) -> npt.NDArray[np.float64]:
    """The sums in persons, with noise for an amount."""
    moved = type(noise)(Reach(UNITS, both=False))
    scale = max(moved.scales(amount, [1] * len(exact)))
    return np.asarray(noisy(exact, moved.law(scale), rng) / UNITS)
