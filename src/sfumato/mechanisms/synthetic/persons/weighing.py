r"""Each person counts once: of r rows, each weighs 1 / r, in whole parts of a person.

A person's rows weigh at most one person together, whatever their number, so that one person moves a table of weighed
counts by at most that in l1 and in l2.  Proof: docs/proofs/synthesis-persons.md.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from sfumato.mechanisms.synthetic.marginals.counting import WEIGHT, Read
from sfumato.queries.encoding import Column
from sfumato.queries.view import SecretView
from sfumato.spaces import Integers

__all__ = ["number_of_rows", "parts_of_a_person", "weighed"]

ROWS = "\0rows"  # the name of the column that says how many rows a person has, which nobody else's has
EXACT, PARTS, FINE = 10, 2520, 50

Whole = npt.NDArray[np.int64]


def parts_of_a_person(most: int) -> int:
    """Into how many parts a person is cut, at most `most` rows each: so many that next to nothing is lost by division.

    >>> parts_of_a_person(4), parts_of_a_person(10), parts_of_a_person(60)
    (12, 2520, 5040)
    """
    return math.lcm(*range(1, most + 1)) if most <= EXACT else PARTS * -(-most // FINE)


def number_of_rows(most: int) -> Column:
    """How many rows a person has, as a column: the same in all of them.  Columns have two values or more."""
    return Column.of(ROWS, Integers(1, max(2, most), missing=1))


def weighed(view: SecretView, parts: int, number: Column) -> Read:
    """The rows of persons with their weights, and with the number of rows that each one's person has."""

    def read() -> Iterator[Mapping[str, Any]]:
        for persons, batch in view.persons():
            _, own, counts = np.unique(persons, return_inverse=True, return_counts=True)
            rows = counts[own]
            yield {**batch, number.name: np.minimum(rows, number.points) - 1, WEIGHT: parts // rows}

    return read
