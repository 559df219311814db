"""A question in parts: each owner draws one part at random, answers it alone, and says which one it was.

The part is drawn by a fair die that does not look at the value, so the guarantee is the weakest of the parts'.
A report is two bytes for the part, then its report, filled up with zeros to one length.  The tally holds, for each
part, how many answered it and their tally.

Accuracy is stated for owners who are independent draws from a population: the parts are then independent, and so are
the reports.  For a fixed set of n owners the variances are at most n/(n - 1) times those.
Proof: docs/proofs/local-questions.md.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from sfumato.errors import ParameterError
from sfumato.local.protocols.drawing import uniform
from sfumato.local.protocols.protocol import Bits, LocalProtocol, Matrix, Reports, Tally
from sfumato.privacy.guarantees import Approximate, Pure

__all__ = ["MOST_PARTS", "Split", "weakest"]

MOST_PARTS = 1 << 16
HEAD = 2  # bytes that name the part


class Split(LocalProtocol):
    """The shared half of questions whose owners are split over parts; the other half says what a part asks.

    Proof: docs/proofs/local-questions.md.
    """

    __slots__ = ()

    drawn: ClassVar[bool] = True

    @property
    @abstractmethod
    def parts(self) -> tuple[LocalProtocol, ...]:
        """The protocols, in their public order."""

    @abstractmethod
    def asked(self, values: npt.NDArray[Any], part: int) -> npt.NDArray[Any]:
        """What coerced values are to that part."""

    def guarantee(self) -> Pure | Approximate:
        """The weakest part's: which part was drawn says nothing about the value."""
        return weakest([part.guarantee() for part in self.parts])

    def randomize(self, values: npt.ArrayLike, bits: Bits) -> Reports:
        """A part each, and its report."""
        truth = self.coerce(values)
        drawn = uniform(len(self.parts), len(truth), bits)
        out = np.zeros((len(truth), self.columns), dtype=np.uint8)
        out[:, 0], out[:, 1] = drawn & 255, drawn >> 8
        for number, part in enumerate(self.parts):
            rows = np.flatnonzero(drawn == number)
            payload = part.encode(part.randomize(self.asked(truth[rows], number), bits))
            width = part.report_bytes
            out[rows, HEAD : HEAD + width] = np.frombuffer(payload, dtype=np.uint8).reshape(-1, width)
        return out

    @property
    def dtype(self) -> np.dtype[Any]:
        """Bytes."""
        return np.dtype(np.uint8)

    @property
    def columns(self) -> int:
        """The part, and room for the longest report."""
        return HEAD + max(part.report_bytes for part in self.parts)

    def valid(self, reports: Reports) -> npt.NDArray[np.bool_]:
        """A known part, a valid report of it, and zeros behind."""
        found = np.zeros(len(reports), dtype=np.bool_)
        for number, rows in self._groups(reports):
            part = self.parts[number]
            chosen = reports[rows]
            inner = part.valid(self._inner(chosen, part))
            found[rows] = inner & ~chosen[:, HEAD + part.report_bytes :].any(axis=1)
        return found

    @property
    def cells(self) -> int:
        """A count and a tally for each part."""
        return sum(1 + part.cells for part in self.parts)

    def tally(self, reports: Reports) -> Tally:
        """For each part, how many answered it and their tally."""
        pieces = [np.zeros(1 + part.cells, dtype=np.int64) for part in self.parts]
        for number, rows in self._groups(reports):
            part = self.parts[number]
            pieces[number][0] = len(rows)
            pieces[number][1:] = part.tally(self._inner(reports[rows], part))
        return np.concatenate(pieces)

    def pieces(self, tally: Tally) -> list[tuple[int, Tally]]:
        """For each part, how many answered it and their tally."""
        ends = np.cumsum([1 + part.cells for part in self.parts])[:-1]
        return [(int(piece[0]), piece[1:]) for piece in np.split(np.asarray(tally), ends)]

    def risk(self, n: int) -> float:
        """At least the sum of the variances of all estimates, for every truth."""
        return float(self.variance(n).sum())

    def outputs(self) -> Reports:
        """Every report of every part."""
        rows = []
        for number, part in enumerate(self.parts):
            every = np.frombuffer(part.encode(part.outputs()), dtype=np.uint8).reshape(-1, part.report_bytes)
            block = np.zeros((len(every), self.columns), dtype=np.uint8)
            block[:, 0], block[:, 1], block[:, HEAD : HEAD + part.report_bytes] = number & 255, number >> 8, every
            rows.append(block)
        return np.concatenate(rows)

    def channel(self) -> Matrix:
        """Each part's channel at what it asks, divided by the number of parts."""
        inner = [part.channel() for part in self.parts]
        domain = self.domain()
        asked = [self.asked(domain, number).tolist() for number in range(len(self.parts))]
        self.check_entries(len(domain) * sum(len(matrix[0]) for matrix in inner))
        return [
            [p / len(inner) for number, matrix in enumerate(inner) for p in matrix[asked[number][value]]]
            for value in range(len(domain))
        ]

    @abstractmethod
    def domain(self) -> npt.NDArray[Any]:
        """Every coerced value, in the order of the rows of `channel`."""

    def _groups(self, reports: Reports) -> Iterator[tuple[int, npt.NDArray[np.intp]]]:
        part = reports[:, 0].astype(np.int64) | (reports[:, 1].astype(np.int64) << 8)
        for number in range(len(self.parts)):
            rows = np.flatnonzero(part == number)
            if rows.size:
                yield number, rows

    def _inner(self, reports: Reports, part: LocalProtocol) -> Reports:
        return part.decode(np.ascontiguousarray(reports[:, HEAD : HEAD + part.report_bytes]).tobytes())


def weakest(claims: list[Pure | Approximate]) -> Pure | Approximate:
    """A claim that each of the given ones implies.

    >>> weakest([Pure(1.0), Approximate(0.5, 1e-6)])
    Approximate(epsilon=1.0, delta=1e-06)
    """
    if not claims:
        raise ParameterError("a question needs at least one part")
    names = frozenset[str]().union(*(claim.assumptions for claim in claims))
    epsilon = max(claim.epsilon for claim in claims)
    delta = max(claim.delta for claim in claims)
    return Approximate(epsilon, delta, assumptions=names) if delta else Pure(epsilon, assumptions=names)
