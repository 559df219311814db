"""A workload bound to a schema: whole numbers over a histogram, and how far one unit moves them.

Inside, rows are multiplied by whole weights in the ratio of their importance times their step, so that one
unweighted mean square speaks for the weighted one; `estimate` divides again.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property, reduce
from typing import Any, Protocol

import numpy as np

from sfumato.errors import SchemaError, UnsupportedQuery
from sfumato.numeric import exact, shown_up
from sfumato.queries.aggregation import Measure
from sfumato.queries.contributions import Simplex
from sfumato.queries.grouping import MOST_CELLS, Cells, Grouping, Key, bind_cells
from sfumato.queries.linear.bodies import Moves, largest_column, largest_difference, moves_of
from sfumato.queries.linear.cells import rows_of
from sfumato.queries.linear.factors import Floats, Rows, Whole
from sfumato.queries.linear.families import NAMED, Conditions, Listed, Part, Product
from sfumato.queries.linear.labels import labels_of
from sfumato.queries.linear.matrix import Block, Linear
from sfumato.queries.query import Query
from sfumato.queries.vector import Bounds, Noise, VectorQuestion, per_cell
from sfumato.schema import Schema
from sfumato.spaces import Integers, Interval
from sfumato.statements import Accuracy, ErrorStatement, level_of

__all__ = ["Reading", "Workload", "bind_workload"]

MOST_ROWS = 4_000_000
LARGEST_ENTRY = 2**52  # with weights: columns and their differences are then whole doubles


class Reading(Protocol):
    """What a mechanism knows about its own output: the answers it stands for, and their margins."""

    def answers(self, output: Whole) -> Floats:
        """The rows' answers, weights included."""
        ...

    def margins(self, beta: float) -> Floats:
        """For each row a distance that the error exceeds with probability at most beta, weights included."""
        ...


@dataclass(frozen=True)
class Workload(VectorQuestion):
    """Linear answers over a histogram."""

    linear: Linear
    reading: Reading | None = field(default=None, compare=False, repr=False)

    coordinates = 1

    @property
    def dimension(self) -> int:
        """The number of rows."""
        return self.linear.rows

    @property
    def body(self) -> Simplex:
        """What one row may add to the histogram below the answers."""
        return Simplex(1)

    @property
    def measures(self) -> tuple[Measure, ...]:
        """The number of rows in each cell."""
        return (Measure(None),)

    @property
    def moves(self) -> Moves:
        """Which columns and differences one unit can move the answer by."""
        names = tuple(key.column for key in self.cells.keys)
        return moves_of(self.schema, names, self.query.condition is not None)

    def sensitivity(self, norm: str) -> float:
        """How far one unit moves the weighted answers; rounded up, and up to twice too large for huge differences."""
        return self._sensitivities[norm]

    @cached_property
    def _sensitivities(self) -> dict[str, float]:
        moves = self.moves
        small = self.linear.is_small and self.linear.cells <= 2000
        columns = self.linear.dense() if small and moves.apart else None
        found = {}
        for norm in ("l1", "l2", "linf"):
            if norm == "linf":
                alone = float(_largest_entry(self.linear))
            else:
                alone = largest_column(self.linear.powers(1 if norm == "l1" else 2), norm)
            apart = 2 * alone if columns is None else largest_difference(columns, norm)
            found[norm] = moves.sensitivity(norm, alone, apart)
        return found

    @cached_property
    def vertices(self) -> Whole:
        """One of each pair of opposite vertices of the sensitivity body, as columns."""
        return self.moves.vertices(self.linear.dense())

    @cached_property
    def units(self) -> Floats:
        """What one whole number of each weighted row is worth."""
        worth = [float(_step(part) / block.weight) for part, block in zip(self.parts, self.linear.blocks, strict=True)]
        return np.repeat(worth, self.linear.counts)

    @property
    def parts(self) -> tuple[Part, ...]:
        """The parts as they were asked."""
        return self.query.workload

    @property
    def bias(self) -> float:
        """How far rounding a matrix to its step can move an answer, for each row of the table."""
        return max((part.bias for part in self.parts if isinstance(part, Listed)), default=0.0)

    def histogram(self, totals: Whole) -> Whole:
        """The exact, secret counts of the cells."""
        return np.asarray(totals[0], dtype=np.int64)

    def vector(self, totals: Whole) -> Whole:
        """The exact, secret weighted answers; public ones follow from the declared size, whatever the table holds."""
        counts = self.histogram(totals)
        if not self.moves.alone and self.sensitivity("l1") == 0:
            counts = np.zeros_like(counts)
            counts[0] = self.schema.fixed_size
        return self.linear.apply(counts)

    def read_by(self, mechanism: Any) -> Workload:
        """The same question, its outputs read the way `mechanism` writes them."""
        return replace(self, reading=mechanism if hasattr(mechanism, "answers") else None)

    def estimate(self, noisy: Whole) -> Floats:
        """One number a row, in its own units."""
        answers = noisy if self.reading is None else self.reading.answers(noisy)
        return np.asarray(answers, dtype=np.float64) * self.units

    def interval(self, noisy: Whole, noise: Noise, beta: float) -> Bounds:
        """The noise's quantile on both sides of each row."""
        estimates, margin = self.estimate(noisy), noise.quantile(beta) * self.units
        return estimates - margin, estimates + margin

    def preview(self, noise: Noise, beta: float) -> float:
        """The widest half-width."""
        return float(noise.quantile(beta) * self.units.max())

    def margins(self, mechanism: Any, beta: float) -> Floats:
        """Half-widths of the rows' intervals, in their own units."""
        if hasattr(mechanism, "margins"):
            return np.asarray(mechanism.margins(beta) * self.units)
        return np.asarray(mechanism.noise.quantile(beta) * self.units)

    def accuracy(self, mechanism: Any, beta: float) -> Accuracy:
        """The error to expect."""
        margins = self.margins(mechanism, beta)
        rounding = f"rounding the matrix moves an answer by at most {shown_up(self.bias, 2)} for each row of the table"
        return ErrorStatement(
            "answer", float(margins.max()), level_of(beta), least=float(margins.min()), each=self.dimension > 1,
            besides=(rounding,) if self.bias else (),
        )  # fmt: skip

    def accuracy_of(self, noisy: Whole, mechanism: Any, beta: float) -> Accuracy:
        """The same, whatever came out."""
        return self.accuracy(mechanism, beta)

    def table(self, noisy: Whole, mechanism: Any, beta: float, joint: bool = False) -> dict[str, list[Any]]:
        """The public columns: what was asked, the estimate, and the interval's ends."""
        share = beta / self.dimension if joint else per_cell(beta, 1, False)
        estimates = self.read_by(mechanism).estimate(noisy)
        margins = self.margins(mechanism, share)
        return {
            "query": labels_of(self.parts, self.cells),
            "estimate": estimates.tolist(),
            "low": (estimates - margins).tolist(),
            "high": (estimates + margins).tolist(),
        }


def bind_workload(query: Query, schema: Schema) -> Workload:
    """The workload that `query` asks of a table with this schema."""
    cells = _cells(query.keys, schema)
    steps = [exact(part.weight) * _step(part) for part in query.workload]
    whole = _whole(steps)
    blocks = tuple(_block(part, cells, schema, w) for part, w in zip(query.workload, whole, strict=True))
    spread = any(len(block.factors) != len(cells.shape) for block in blocks)
    linear = Linear((cells.count,), _flattened(blocks, cells)) if spread else Linear(cells.shape, blocks)
    if _largest_entry(linear) > LARGEST_ENTRY:
        raise UnsupportedQuery(
            f"the rows of the workload lie too far apart: brought to whole numbers, weights included, entries reach "
            f"{_largest_entry(linear):.3g}, at most {LARGEST_ENTRY:.3g} are possible; use weights closer together"
        )
    if linear.rows > MOST_ROWS:
        raise UnsupportedQuery(f"the workload has {linear.rows} rows, at most {MOST_ROWS} are possible; ask for fewer")
    return Workload(query, schema, cells, linear)


def _cells(groupings: tuple[Grouping, ...], schema: Schema) -> Cells:
    """As for any grouping; and a number may be used at every point of its lattice, however many."""
    wide = {
        grouping: schema.space(grouping).lattice  # type: ignore[attr-defined]
        for grouping in groupings
        if isinstance(grouping, str) and isinstance(schema.space(grouping), Interval | Integers)
    }
    if not any(lattice.width >= 1000 for lattice in wide.values()):
        return bind_cells(groupings, schema)
    if math.prod(lattice.width + 1 for lattice in wide.values()) > MOST_CELLS:
        raise UnsupportedQuery(f"the workload has more than {MOST_CELLS} cells; use bins(...)")
    keys = []
    for grouping in groupings:
        if isinstance(grouping, str) and grouping in wide:
            lattice = wide[grouping]
            indices = range(lattice.low, lattice.high + 1)
            values = lattice.values(np.arange(lattice.low, lattice.high + 1)).tolist()
            labels = tuple(int(value) if value.is_integer() else f"{value:g}" for value in values)
            keys.append(Key(grouping, labels, tuple(indices)))
        else:
            keys.extend(bind_cells((grouping,), schema).keys)
    if len({key.column for key in keys}) != len(keys):
        raise SchemaError("a column appears twice in the grouping; name each once")
    cells = Cells(tuple(keys))
    if cells.count > MOST_CELLS:
        raise UnsupportedQuery(f"the workload has {cells.count} cells, at most {MOST_CELLS}; use coarser keys")
    return cells


def _block(part: Part, cells: Cells, schema: Schema, weight: int) -> Block:
    if isinstance(part, Product):
        if len(part.rows) != len(cells.keys):
            raise SchemaError(f"a part names {len(part.rows)} kinds of rows for {len(cells.keys)} keys; one for each")
        return Block(tuple(NAMED[name] for name in part.rows), weight)
    if isinstance(part, Conditions):
        return Block((rows_of(part.conditions, cells, schema),), weight)
    quantized = part.quantized
    if len(quantized.entries[0]) != cells.count:
        raise SchemaError(f"the matrix has {len(quantized.entries[0])} columns for {cells.count} cells; one for each")
    if not any(any(row) for row in quantized.entries):
        raise SchemaError(f"step={part.step:g} rounds every entry of the matrix to 0; choose a smaller step")
    return Block((quantized,), weight)


def _flattened(blocks: tuple[Block, ...], cells: Cells) -> tuple[Block, ...]:
    """Blocks over the flat list of cells, products written out."""
    flat = []
    for block in blocks:
        if len(block.factors) == len(cells.shape) > 1:
            matrices = [f.dense(n) for f, n in zip(block.factors, cells.shape, strict=True)]
            block = Block((Rows(tuple(map(tuple, reduce(np.kron, matrices).tolist()))),), block.weight)
        flat.append(block)
    return tuple(flat)


def _step(part: Part) -> Fraction:
    return exact(part.step or 1) if isinstance(part, Listed) else Fraction(1)


def _whole(ratios: list[Fraction]) -> list[int]:
    """The least whole numbers in these ratios."""
    common = math.lcm(*(ratio.denominator for ratio in ratios))
    scaled = [int(ratio * common) for ratio in ratios]
    divisor = math.gcd(*scaled)
    return [number // divisor for number in scaled]


def _largest_entry(linear: Linear) -> int:
    largest = 0
    for block in linear.blocks:
        entries = [max(abs(e) for row in f.entries for e in row) if isinstance(f, Rows) else 1 for f in block.factors]
        largest = max(largest, block.weight * math.prod(entries))
    return largest
