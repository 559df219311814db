"""What the randomizer of a column, or of several columns together, offers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from sfumato.errors import ParameterError
from sfumato.mechanisms.randomized_response import RandomizedResponse
from sfumato.privacy.guarantees import Approximate, Pure
from sfumato.randomness import Rng
from sfumato.spaces import Dates, Interval
from sfumato.spaces import Integers as WholeNumbers

__all__ = ["Floats", "Integers", "Part", "Reading", "in_units", "indices", "telling"]

EVER = (-719_162, 2_932_896)  # the days of the years 1 to 9999, which published dates stay in

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

    def guarantee(self) -> Pure | Approximate:
        """What replacing one record by any other costs."""

    def release(self, records: Integers, rng: Rng) -> Integers:
        """The published whole numbers."""

    def decoded(self, noisy: Integers) -> dict[str, Any]:
        """The published columns, in the table's own values."""

    def to_record(self) -> dict[str, Any]:
        """Public parameters."""


Reading = tuple[Callable[[Any], Floats], float, float, float]
"""An unbiased reading of published values: the function, its least and largest value, its variance at most."""


def telling(response: RandomizedResponse, column: str) -> RandomizedResponse:
    """The response, unless its answers do not depend on the record at all."""
    if response.p * len(response.space.values) == 1:
        raise ParameterError(f"spend is too small: what is left for column {column!r} says nothing; give more")
    return response


def in_units(places: Integers, space: Interval | WholeNumbers) -> Any:
    """Lattice indices above the lower bound as numbers in the column's own units."""
    values = places + space.lattice.low
    if isinstance(space, Dates):
        return pa.array(np.clip(values, *EVER).astype(np.int32), pa.int32()).cast(pa.date32())
    return values if isinstance(space, WholeNumbers) else space.lattice.values(values)


def indices(values: Any, space: Interval | WholeNumbers) -> Integers:
    """What `in_units` was given."""
    if isinstance(space, Dates):
        return np.asarray(values, dtype="datetime64[D]").astype(np.int64) - space.lattice.low
    whole = np.rint(np.asarray(values, dtype=np.float64) / float(space.lattice.step)).astype(np.int64)
    return np.asarray(whole - space.lattice.low)
