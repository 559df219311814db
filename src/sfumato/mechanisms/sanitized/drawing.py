"""Records perturbed batch by batch as they are read, and published in random order, piece by piece.

Nothing but the noisy records is held whole, each number in as few bytes as its batch allows: a record leaves its batch
perturbed.  Of many records each falls into a piece of its own drawing, all pieces equally likely, and the pieces follow
one another, each in uniformly random order.  Whatever records are exchanged, that is as likely: the order of all of
them is uniform [Sandelius1962].
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from sfumato.mechanisms.sanitized.part import Integers
from sfumato.queries.view import SecretView
from sfumato.randomness import Rng
from sfumato.spaces.schema import Schema

__all__ = ["published", "shuffled_order"]

PIECE = 1 << 18  # records, on average, that are put in order and decoded at a time
MOST_PIECES = 256
KINDS = (np.int8, np.int16, np.int32, np.int64)


class Perturbs(Protocol):
    """How some columns of each record are perturbed, by themselves."""

    @property
    def columns(self) -> tuple[str, ...]: ...

    def release(self, records: Integers, rng: Rng) -> Integers: ...

    def decoded(self, noisy: Integers) -> dict[str, Any]: ...


def published(parts: Sequence[Perturbs], view: SecretView, schema: Schema, rng: Rng) -> dict[str, pa.ChunkedArray]:
    """The columns of as many records as are declared, perturbed, in random order."""
    size = schema.fixed_size or 0
    drawn: list[list[Integers]] = [[] for _ in parts]
    for batch in _exactly(size, view, schema):
        for place, part in enumerate(parts):
            records = np.stack([batch[column] for column in part.columns], axis=1)
            drawn[place].append(_compact(part.release(records, rng)))
    noisy = [_joined(drawn, place) for place in range(len(parts))]
    made: dict[str, list[Any]] = {}
    for order in _orders(size, rng):
        for part, held in zip(parts, noisy, strict=True):
            for name, column in part.decoded(held[order].astype(np.int64)).items():
                made.setdefault(name, []).append(pa.array(column))
    return {name: pa.chunked_array(pieces) for name, pieces in made.items()}


def shuffled_order(size: int, rng: Rng) -> Integers:
    """A uniform permutation: random bits drawn again until they are distinct."""
    while True:
        order = np.argsort(drawn := rng.bits64(size))
        if (drawn[order[1:]] != drawn[order[:-1]]).all():
            return order


def _orders(size: int, rng: Rng) -> Iterator[Integers]:
    """A uniform permutation, piece by piece."""
    bits = min(MOST_PIECES.bit_length() - 1, (max(size, 1) // PIECE).bit_length())
    if not bits:
        yield shuffled_order(size, rng)
        return
    pieces = np.empty(size, dtype=np.uint8)
    for start in range(0, size, PIECE):
        count = min(PIECE, size - start)
        pieces[start : start + count] = (rng.bits64(count) >> np.uint64(64 - bits)).astype(np.uint8)
    for piece in range(1 << bits):
        places = np.flatnonzero(pieces == piece)
        yield places[shuffled_order(len(places), rng)]


def _exactly(size: int, view: SecretView, schema: Schema) -> Iterator[Mapping[str, Integers]]:
    """The coerced records: as many as declared, whatever the table holds; the rest is missing."""
    left = size
    for batch in view.batches():
        taken = min(left, len(batch[view.columns[0]]))
        if taken:
            yield {column: batch[column][:taken] for column in view.columns}
        left -= taken
    curves = {column: schema.space(column).curve for column in view.columns}
    while left:
        rows = min(left, PIECE)
        left -= rows
        shapes = {column: (rows,) if curve is None else (rows, len(curve.points)) for column, curve in curves.items()}
        yield {column: np.full(shape, -1, dtype=np.int64) for column, shape in shapes.items()}


def _compact(noisy: Integers) -> npt.NDArray[Any]:
    """The same numbers in as few bytes as hold them; each is public by now."""
    least, most = int(noisy.min(initial=0)), int(noisy.max(initial=0))
    return noisy.astype(next(kind for kind in KINDS if np.iinfo(kind).min <= least and most <= np.iinfo(kind).max))


def _joined(drawn: list[list[Integers]], place: int) -> npt.NDArray[Any]:
    """All records of a part; what they were held in is given back."""
    held, drawn[place] = drawn[place], []
    return np.concatenate(held) if held else np.empty((0, 1), dtype=np.int64)
