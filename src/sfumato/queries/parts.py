"""Columns that are made of several: sets as their size and a flag for each item, arrays as their entries.

A synthetic table models the parts one by one, and puts them together again: an item that is flagged stays unless the
set would be larger than its size, and one that is missing is drawn by the items' shares.  Whole arrays are missing, as
many as entries are on average, and the entries that are left without a number take one of the same entry's.  All of
this is computed from made rows, which are public.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np
import numpy.typing as npt

from sfumato.errors import UnsupportedQuery
from sfumato.spaces import Categories, Integers, Space
from sfumato.spaces.forms import Entries, Sets

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["Parts", "parts_of"]

MOST_ITEMS = 62  # of a set, which travels as a whole number
FLAG = Categories((False, True), other=False, missing=False)

Whole = npt.NDArray[np.int64]


class Parts(Protocol):
    """How a column is taken apart and put together."""

    @property
    def name(self) -> str:
        """The column's own name."""

    def spaces(self) -> dict[str, Space]:
        """The parts by their names."""

    def split(self, held: Whole) -> dict[str, Whole]:
        """The indices of each part, from what an engine hands out."""

    def places(self, values: pa.ChunkedArray) -> dict[str, Whole]:
        """The indices of each part, from published values."""

    def joined(self, made: Mapping[str, Whole]) -> pa.Array:
        """The values that made indices of all parts stand for."""


@dataclass(frozen=True, slots=True)
class SetParts:
    """A set of declared items."""

    name: str
    form: Sets

    @property
    def _size(self) -> str:
        return f"{self.name} size"

    @property
    def _flags(self) -> list[str]:
        return [f"{self.name} has {item}" for item in self.form.labels]

    def spaces(self) -> dict[str, Space]:
        """The size, which tells missing sets, and a flag for each item."""
        if len(self.form.labels) > MOST_ITEMS:
            raise UnsupportedQuery(
                f"column {self.name!r} has {len(self.form.labels):,} items; sets of at most {MOST_ITEMS} can be "
                "synthesized: declare fewer, or leave the column out"
            )
        return {self._size: Integers(0, self.form.cap), **dict.fromkeys(self._flags, FLAG)}

    def split(self, held: Whole) -> dict[str, Whole]:
        """The bits of a whole number, and how many they are; -1 is a missing set."""
        missing = held < 0
        flags = (np.where(missing, 0, held)[:, np.newaxis] >> np.arange(len(self.form.labels))) & 1
        sizes = np.where(missing, -1, flags.sum(axis=1))
        return {self._size: sizes, **dict(zip(self._flags, flags.T, strict=True))}

    def places(self, values: pa.ChunkedArray) -> dict[str, Whole]:
        """From lists of items."""
        return self.split(self.form.bits(values))

    def joined(self, made: Mapping[str, Whole]) -> pa.Array:
        """Lists of items, in the order in which they are declared."""
        import pyarrow as pa

        flags = np.stack([made[name] for name in self._flags], axis=1) > 0
        sizes, draws = made[self._size], np.random.default_rng(len(flags)).random(flags.shape)
        shares = np.maximum(flags.mean(axis=0), 1 / (1 + len(flags)))
        first = np.where(flags, draws, np.log(np.maximum(draws, 1e-300)) / shares)  # drawn without replacement
        chosen = np.zeros(flags.shape, dtype=bool)
        wanted = np.arange(flags.shape[1]) < sizes[:, np.newaxis]
        np.put_along_axis(chosen, np.argsort(-first, axis=1), wanted, axis=1)
        held = pa.array(self.form.labels).take(pa.array(np.nonzero(chosen)[1]))
        return _listed(held, chosen.sum(axis=1), sizes < 0)


@dataclass(frozen=True, slots=True)
class ArrayParts:
    """An array of numbers."""

    name: str
    space: Space
    form: Entries

    @property
    def _entries(self) -> list[str]:
        return [f"{self.name}{self.space.named_entry(place)}" for place in range(self.form.size)]

    def spaces(self) -> dict[str, Space]:
        """One for each entry; all are alike."""
        each = self.space.entry(0)
        return {} if each is None else dict.fromkeys(self._entries, each)

    def split(self, held: Whole) -> dict[str, Whole]:
        """The columns of a matrix with a row for each array."""
        return dict(zip(self._entries, held.reshape(-1, self.form.size).T, strict=True))

    def places(self, values: pa.ChunkedArray) -> dict[str, Whole]:
        """From lists of numbers, as deep as there are axes."""
        return self.split(self.form.places(values))

    def joined(self, made: Mapping[str, Whole]) -> pa.Array:
        """Lists of numbers, as deep as there are axes."""
        import pyarrow as pa

        held = np.stack([made[name] for name in self._entries], axis=1)
        rows, chance = len(held), np.random.default_rng(len(held))
        gaps = (held < 0).sum(axis=1)
        missing = np.zeros(rows, dtype=bool)
        missing[np.argsort(-gaps, kind="stable")[: round(float((held < 0).mean()) * rows)]] = True
        for column in held.T:
            present = column[column >= 0]
            empty = column < 0
            column[empty] = chance.choice(present, int(empty.sum())) if len(present) else 0
        lattice = self.form.lattice
        values = pa.array(lattice.values(held[~missing].reshape(-1) + lattice.low))
        for side in reversed(self.form.shape[1:]):
            values = _listed(values, np.full(len(values) // side, side))
        return _listed(values, np.where(missing, 0, self.form.shape[0]), missing)


def parts_of(name: str, space: Space) -> Parts | None:
    """The parts of a column, None where it is one by itself."""
    form = space.form
    make = PARTS.get(type(form))
    return None if make is None else make(name, space, form)


PARTS: dict[type, Callable[..., Parts]] = {
    Sets: lambda name, space, form: SetParts(name, form),
    Entries: ArrayParts,
}


def _listed(values: pa.Array, lengths: Whole, missing: npt.NDArray[np.bool_] | None = None) -> pa.Array:
    """Lists of these lengths, one after another; as Parquet names them, so that stored bytes read back the same."""
    import pyarrow as pa

    offsets = pa.array(np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32))
    kind = pa.list_(pa.field("element", values.type))
    gaps = None if missing is None or not missing.any() else pa.array(missing)
    return pa.ListArray.from_arrays(offsets, values, type=kind, mask=gaps)
