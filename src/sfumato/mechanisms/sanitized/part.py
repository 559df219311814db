"""What the randomizer of a column, or of several columns together, offers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from sfumato.errors import ParameterError
from sfumato.mechanisms.noise.randomized_response import RandomizedResponse
from sfumato.privacy.guarantees import Approximate, Pure
from sfumato.randomness import Rng
from sfumato.spaces import Numeric, Space

__all__ = ["Floats", "Integers", "OneColumn", "Part", "Reading", "near_its_end", "telling"]

Integers = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


class Part(Protocol):
    """A randomizer of one record's values in `columns`: what it costs, how far it moves them, and its inverse.

    Records enter as whole numbers of shape (n, columns): lattice indices, positions of categories, sets as bits; -1
    stands for missing and is coerced here, to the same public value for everyone.
    """

    @property
    def columns(self) -> tuple[str, ...]: ...

    @property
    def diameter(self) -> float:
        """The largest distance of two records, in the spaces' own metric (summed over columns)."""

    @property
    def mean_error(self) -> float:
        """The worst mean distance of the published record from the true one, in the same metric."""

    @property
    def spread(self) -> float:
        """The worst variance of what one record says, read without bias, relative to the range: of a number, of the
        presence of one category or item.
        """

    @property
    def cut_off(self) -> tuple[str, ...]:
        """The columns that noise takes to where their type ends, so that what is published of them is biased."""

    def guarantee(self) -> Pure | Approximate:
        """What replacing one record by any other costs."""

    def release(self, records: Integers, rng: Rng) -> Integers:
        """The published whole numbers."""

    def decoded(self, noisy: Integers) -> dict[str, Any]:
        """The published columns, in the table's own values."""

    def to_record(self) -> dict[str, Any]:
        """Public parameters."""


class OneColumn:
    """What the randomizers of a single column share."""

    __slots__ = ()
    column: str
    space: Space | Numeric

    @property
    def columns(self) -> tuple[str, ...]:
        """The one column."""
        return (self.column,)

    @property
    def diameter(self) -> float:
        """That of the space: the width of a range, the largest symmetric difference of sets."""
        return self.space.diameter

    @property
    def cut_off(self) -> tuple[str, ...]:
        """Nothing is, where the range is never left."""
        return ()


def near_its_end(space: Numeric, noise: float) -> bool:
    """Whether noise of a mean size comes near to the end of what the column's type can hold.

    Ten times that is far: Laplace noise beyond moves a mean by less than 3e-5 of its own size.
    """
    (low, high), lattice = space.reach, space.lattice
    return min(lattice.low_value - low, high - lattice.high_value) < 10 * noise


Reading = tuple[Callable[[Any], Floats], float, float, float]
"""An unbiased reading of published values: the function, its least and largest value, its variance at most."""


def telling(response: RandomizedResponse, column: str) -> RandomizedResponse:
    """The response, unless its answers do not depend on the record at all."""
    if response.p * len(response.space.values) == 1:
        raise ParameterError(f"spend is too small: what is left for column {column!r} says nothing; give more")
    return response
