r"""Tables of several attributes: each owner is asked for the cell of one table, drawn at random.

Definition.  An owner has d attributes of known sizes.  Each subset of `order` attributes is a table; one is drawn,
and the cell reported through a frequency protocol.

Guarantee.   The weakest table's: one report, whatever the number of tables.

Accuracy.    Each table is unbiased, from about n / C(d, order) reports.  A smaller table is read from every table that
holds its attributes, weighted by their reports; its variance is exact (`moments`).  [CormodeKulkarniSrivastava2018]
Proof: docs/proofs/local-questions.md.

Assumes.     Nothing beyond the protocols of the tables; owners are independent draws (see `split`).
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from sfumato.errors import ParameterError
from sfumato.local.protocols.coercion import positions
from sfumato.local.protocols.generalized import GeneralizedResponse
from sfumato.local.protocols.linear import shares
from sfumato.local.protocols.owned import UNSENT, Names, listed, position
from sfumato.local.protocols.protocol import Floats, LocalProtocol, Tally, whole_from
from sfumato.local.questions.limits import binomial
from sfumato.local.questions.moments import supports
from sfumato.local.questions.oracles import oracle, protocols_from
from sfumato.local.questions.split import MOST_PARTS, Split
from sfumato.privacy.guarantees import Approximate, Pure

__all__ = ["Marginals"]


@dataclass(frozen=True, slots=True)
class Marginals(Split):
    """All tables of `order` of the attributes; a value outside an attribute's range counts as its last.

    >>> pairs = Marginals.calibrate([2, 3, 4], Pure(1.0))
    >>> pairs.subsets, [protocol.cells for protocol in pairs.tables]
    (((0, 1), (0, 2), (1, 2)), [6, 8, 12])
    """

    name: ClassVar[str] = "marginals"
    goal: ClassVar[str] = "tables"

    sizes: tuple[int, ...]
    order: int
    tables: tuple[LocalProtocol, ...]

    def __post_init__(self) -> None:
        if not 1 <= self.order <= len(self.sizes) or math.comb(len(self.sizes), self.order) > MOST_PARTS:
            raise ParameterError(
                f"order must be from 1 to the number of attributes, {len(self.sizes)}, with few tables"
            )
        if [supports(protocol).k for protocol in self.tables] != [self._cells(subset) for subset in self.subsets]:
            raise ParameterError("tables must hold one protocol for each subset of attributes; use calibrate")

    @classmethod
    def calibrate(cls, sizes: list[int] | tuple[int, ...], target: Pure | Approximate, order: int = 2) -> Marginals:
        """The protocol of least variance for each table."""
        held = tuple(sizes)
        if not held or any(isinstance(size, bool) or not isinstance(size, int) or size < 2 for size in held):
            raise ParameterError("sizes must list, for each attribute, how many values it has, at least two")
        if not (isinstance(order, int) and 1 <= order <= len(held)):
            raise ParameterError(f"order must be from 1 to the number of attributes, {len(held)}, got {order!r}")
        cells = [math.prod(held[i] for i in subset) for subset in itertools.combinations(range(len(held)), order)]
        return cls(held, order, tuple(oracle(count, target) for count in cells))

    @property
    def subsets(self) -> tuple[tuple[int, ...], ...]:
        """The attributes of each table, in lexicographic order."""
        return tuple(itertools.combinations(range(len(self.sizes)), self.order))

    @property
    def parts(self) -> tuple[LocalProtocol, ...]:
        """One for each table."""
        return self.tables

    @property
    def yes_no(self) -> bool:
        """Whether it asks questions of yes or no, each by itself: the share of no is what the share of yes leaves."""
        return self.order == 1 and all(isinstance(one, GeneralizedResponse) and one.k == 2 for one in self.tables)

    def owned(self, value: object, names: Names) -> list[int]:
        """A position for each attribute, or its label where labels name the values of all attributes in turn.

        Where they name attributes of two values each, also the names of those that are answered by yes.
        """
        entries = listed(value, what := f"a list of {len(self.sizes)} positions or labels, one for each attribute")
        if set(self.sizes) == {2} and len(names.labels) == len(self.sizes) and all(type(one) is str for one in entries):
            held = {names.position(entry, len(self.sizes)) for entry in entries}
            return [int(place in held) for place in range(len(self.sizes))]
        if len(entries) != len(self.sizes):
            raise ParameterError(f"a value must be {what}; {UNSENT}")
        told = zip(entries, self.sizes, strict=True)
        entries = [int(one) if size == 2 and type(one) is bool else one for one, size in told]
        if len(names.labels) == sum(self.sizes):
            own = self._labels(names.labels)
            return [Names(labels).position(entry, len(labels)) for entry, labels in zip(entries, own, strict=True)]
        return [position(entry, size) for entry, size in zip(entries, self.sizes, strict=True)]

    def named(self, labels: tuple[str, ...]) -> list[str]:
        """What each cell is about, where labels name the values of all attributes in turn."""
        own = self._labels(labels)
        cells = ((s, cell) for s in self.subsets for cell in np.ndindex(*(self.sizes[i] for i in s)))
        return [", ".join(own[i][v] for i, v in zip(subset, cell, strict=True)) for subset, cell in cells]

    def _labels(self, labels: tuple[str, ...]) -> list[tuple[str, ...]]:
        ends = np.cumsum(self.sizes).tolist()
        return [labels[end - size : end] for end, size in zip(ends, self.sizes, strict=True)]

    def coerce(self, values: npt.ArrayLike) -> npt.NDArray[np.int64]:
        """A row of positions for each owner."""
        width = len(self.sizes)
        if isinstance(values, np.ndarray) and values.dtype != object:
            if values.ndim != 2 or values.shape[1] != width:
                raise ParameterError(f"values must have {width} columns, one for each attribute; got {values.shape}")
            columns = [values[:, i] for i in range(width)]
        else:
            rows = [
                row if isinstance(row, list | tuple) and len(row) == width else (None,) * width for row in _list(values)
            ]
            columns = [[row[i] for row in rows] for i in range(width)]  # type: ignore[misc]
        return np.stack([positions(column, size) for column, size in zip(columns, self.sizes, strict=True)], axis=1)

    def asked(self, values: npt.NDArray[Any], part: int) -> npt.NDArray[Any]:
        """The cell of that table, the last attribute fastest."""
        cell = np.zeros(len(values), dtype=np.int64)
        for attribute in self.subsets[part]:
            cell = cell * self.sizes[attribute] + values[:, attribute]
        return cell

    def domain(self) -> npt.NDArray[Any]:
        """Every combination of attributes."""
        self.check_entries(math.prod(self.sizes))
        return np.array(list(itertools.product(*(range(size) for size in self.sizes))))

    def estimate(self, tally: Tally, n: int) -> Floats:
        """Every table, unbiased, flat and one after the other."""
        return np.concatenate([
            protocol.estimate(piece, count) if count else np.zeros(protocol.cells)
            for (count, piece), protocol in zip(self.pieces(tally), self.tables, strict=True)
        ])  # fmt: skip

    def variance(self, n: int, truth: npt.ArrayLike | None = None) -> Floats:
        """Of each cell of each table, when tables are drawn evenly; `truth` are all tables, flat."""
        cells = [self._cells(subset) for subset in self.subsets]
        held = [None] * len(cells) if truth is None else np.split(shares(truth, sum(cells)), np.cumsum(cells)[:-1])
        share = n / len(cells)
        found = []
        for protocol, table in zip(self.tables, held, strict=True):
            moments = supports(protocol)
            p, q = float(moments.own), float(moments.other)
            worst = np.full(moments.k, min(max(0.5, q), p))
            rate = worst if table is None else q + (p - q) * table
            found.append(rate * (1 - rate) / ((p - q) ** 2 * share))
        return np.concatenate(found)

    def limits(self, tally: Tally, n: int, beta: float) -> tuple[Floats, Floats]:
        """Proven limits for each cell of each table (`limits`)."""
        lows, highs = [], []
        for (count, piece), protocol in zip(self.pieces(tally), self.tables, strict=True):
            moments = supports(protocol)
            low, high = binomial(piece, count, beta) if count else (np.zeros(moments.k), np.ones(moments.k))
            lows.append((low - float(moments.other)) / moments.gap)
            highs.append((high - float(moments.other)) / moments.gap)
        return np.clip(np.concatenate(lows), 0, 1), np.clip(np.concatenate(highs), 0, 1)

    def table(self, tally: Tally, attributes: tuple[int, ...]) -> tuple[Floats, Floats]:
        """The table of at most `order` attributes, and the variances of its cells under the estimated truth."""
        chosen = tuple(attributes)
        if not chosen or tuple(sorted(set(chosen))) != chosen or not set(chosen) <= set(range(len(self.sizes))):
            raise ParameterError(f"attributes must be different positions below {len(self.sizes)}, in order")
        if len(chosen) > self.order:
            raise ParameterError(f"tables of {len(chosen)} attributes were not asked for; order is {self.order}")
        shape = tuple(self.sizes[i] for i in chosen)
        total, weight, spread = np.zeros(math.prod(shape)), 0.0, np.zeros(math.prod(shape))
        for subset, protocol, (count, piece) in zip(self.subsets, self.tables, self.pieces(tally), strict=True):
            if count and set(chosen) <= set(subset):
                functionals = self._summing(subset, chosen)
                cells = protocol.estimate(piece, count)
                total += count * (functionals @ cells)
                spread += count * supports(protocol).variance(functionals, _distribution(cells))
                weight += count
        if not weight:
            raise ParameterError("no report has answered a table with these attributes yet; collect more")
        return (total / weight).reshape(shape), (spread / weight**2).reshape(shape)

    def words(self) -> str:
        """What leaves the device."""
        return (
            f"which {self.order} of {len(self.sizes)} attributes were drawn (by chance alone), and, randomized, "
            f"their values; for the first table: {self.tables[0].words()}"
        )

    def to_record(self) -> dict[str, object]:
        """The public parameters."""
        tables = [protocol.to_record() for protocol in self.tables]
        return {"type": self.name, "sizes": list(self.sizes), "order": self.order, "tables": tables}

    @classmethod
    def from_record(cls, record: dict[str, Any]) -> Marginals:
        """The question that `to_record` wrote."""
        sizes = tuple(whole_from("sizes", size) for size in record["sizes"])
        return cls(sizes, whole_from("order", record["order"]), protocols_from(record["tables"]))

    def _cells(self, subset: tuple[int, ...]) -> int:
        return math.prod(self.sizes[i] for i in subset)

    def _summing(self, subset: tuple[int, ...], chosen: tuple[int, ...]) -> Floats:
        """A row for each cell of the chosen table: which cells of the larger one it adds up."""
        grid = np.indices([self.sizes[i] for i in subset]).reshape(len(subset), -1)
        cell = np.zeros(grid.shape[1], dtype=np.int64)
        for attribute in chosen:
            cell = cell * self.sizes[attribute] + grid[subset.index(attribute)]
        return np.asarray(np.arange(self._cells(chosen))[:, None] == cell, dtype=np.float64)


def _list(values: object) -> list[Any]:
    if not isinstance(values, list | tuple | np.ndarray):
        raise ParameterError("values must be an array, or a list with one row of attributes for each owner")
    return list(values)


def _distribution(cells: Floats) -> Floats:
    """Estimates cut to be a distribution, to evaluate a variance at."""
    held = np.maximum(cells, 0.0)
    return held / held.sum() if held.sum() else np.full(len(cells), 1 / len(cells))
