"""A workload bound to a schema: whole numbers over a histogram, and how far one unit moves them.

Inside, rows are multiplied by whole weights in the ratio of their importance times their step, so that one
unweighted mean square speaks for the weighted one; `estimate` divides again.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, partial, reduce
from typing import Any, ClassVar, Protocol

import numpy as np

from sfumato import arguments
from sfumato.answers.answer import Columns
from sfumato.answers.estimates import Estimates
from sfumato.answers.statements import Accuracy, ErrorStatement, level_of
from sfumato.errors import ParameterError, SchemaError, UnsupportedQuery
from sfumato.numeric import exact, shown_up
from sfumato.queries.adding import added_up_rows, must_add_up, sums_of
from sfumato.queries.aggregation import Measure
from sfumato.queries.contributions import Simplex
from sfumato.queries.details import known_parts
from sfumato.queries.grouping import MOST_CELLS, Cells, Grouping, Key, bind_cells
from sfumato.queries.linear.bodies import Moves, largest_column, largest_difference, moves_of
from sfumato.queries.linear.cells import rows_of
from sfumato.queries.linear.consistency import least_squares
from sfumato.queries.linear.crossing import crossed_labels, is_crossing
from sfumato.queries.linear.factors import EACH, Floats, Rows, Whole
from sfumato.queries.linear.families import NAMED, Conditions, Listed, Part, Product, part_from
from sfumato.queries.linear.labels import labels_of
from sfumato.queries.linear.matrix import Block, Linear
from sfumato.queries.query import CROSSED, KEYED, Query
from sfumato.queries.question import Source
from sfumato.queries.vector import Bounds, Noise, VectorQuestion, per_cell
from sfumato.spaces import numeric
from sfumato.spaces.schema import Schema

__all__ = ["LinearMechanism", "Workload", "WorkloadDetails", "workload_of"]

MOST_ROWS = 4_000_000
LARGEST_ENTRY = 2**52  # with weights: columns and their differences are then whole doubles


@dataclass(frozen=True, slots=True)
class WorkloadDetails:
    """Many linear answers over the cells of some keys, part by part."""

    kind: ClassVar[str] = "workload"

    parts: tuple[Part, ...]

    def __post_init__(self) -> None:
        for part in arguments.several("workload", self.parts):
            arguments.instance("a part of a workload", part, Part, "made by workload(...)")
        if not self.parts:
            raise ParameterError(KEYED[self.kind])

    def subject(self) -> str:
        """What is asked."""
        return CROSSED if is_crossing(self.parts) else self.kind

    def to_record(self) -> dict[str, Any]:
        """Plain values."""
        return {"workload": [part.to_record() for part in self.parts]}

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> WorkloadDetails:
        """What `to_record`, or a plan, describes."""
        known_parts(cls.kind, record, "workload")
        return cls(tuple(part_from(part) for part in record.get("workload", ())))

    def bind(self, query: Query, schema: Schema) -> Workload:
        """The question about a table with this schema."""
        return bind_workload(query, schema, self.parts)


class LinearMechanism(Protocol):
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

    @property
    def total_is_public(self) -> bool:
        """Whether the answers are the histogram itself, and every row has a cell in it."""
        each = len(self.linear.blocks) == 1 and self.linear.blocks[0].weight == 1
        return each and not self.moves.alone and all(factor == EACH for factor in self.linear.blocks[0].factors)

    @cached_property
    def moves_keep_parity(self) -> bool:
        """Whether every entry is odd, so that whatever rows do moves all answers by even or all by odd numbers."""
        return self.linear.is_small and bool((self.linear.dense() % 2 == 1).all())

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
        assert isinstance(self.query.details, WorkloadDetails)
        return self.query.details.parts

    @property
    def bias(self) -> float:
        """How far rounding a matrix to its step can move an answer, for each row of the table."""
        return max((part.bias for part in self.parts if isinstance(part, Listed)), default=0.0)

    def counts(self, table: Source) -> Whole:
        """The exact, secret histogram below the answers."""
        return self.histogram(table.answer(self.statistic))

    def histogram(self, totals: Whole) -> Whole:
        """The same from the engine's totals."""
        return np.asarray(totals[0], dtype=np.int64)

    def vector(self, totals: Whole) -> Whole:
        """The exact, secret weighted answers; public ones follow from the declared size, whatever the table holds."""
        counts = self.histogram(totals)
        if not self.moves.alone and self.sensitivity("l1") == 0:
            counts = np.zeros_like(counts)
            counts[0] = self.schema.fixed_size
        return self.linear.apply(counts)

    def estimate(self, noisy: Whole) -> Floats:
        """Noisy answers, one a row, in the rows' own units."""
        return np.asarray(noisy, dtype=np.float64) * self.units

    def interval(self, noisy: Whole, noise: Noise, beta: float) -> Bounds:
        """The noise's quantile on both sides of each row."""
        estimates, margin = self.estimate(noisy), noise.quantile(beta) * self.units
        return estimates - margin, estimates + margin

    def preview(self, noise: Noise, beta: float) -> float:
        """The widest half-width."""
        return float(noise.quantile(beta) * self.units.max())

    def margins(self, mechanism: LinearMechanism, beta: float) -> Floats:
        """Half-widths of the rows' intervals, in their own units."""
        return np.asarray(mechanism.margins(beta) * self.units)

    def read(self, output: Whole, mechanism: LinearMechanism) -> Estimates:  # type: ignore[override]
        """One estimate for each row that was asked, with its interval."""
        estimates = self.estimate(mechanism.answers(output))

        def ends(beta: float, joint: bool) -> Bounds:
            margins = self.margins(mechanism, beta / self.dimension if joint else per_cell(beta, 1, False))
            return estimates - margins, estimates + margins

        crossed = is_crossing(self.parts)
        keys = crossed_labels(self.parts, self.cells) if crossed else {"query": labels_of(self.parts, self.cells)}
        order, stated = "crossed" if crossed else "asked", partial(self.accuracy, mechanism)
        whole = partial(self._added_up, output, mechanism, ends)
        return Estimates(keys, estimates, ends, "rows", order, True, stated=stated, whole=whole)

    def _added_up(
        self, output: Whole, mechanism: LinearMechanism, ends: Callable[[float, bool], Bounds], beta: float, joint: bool
    ) -> Columns:
        """The answers as sums of one table of whole numbers, where they are cells and sums of cells."""
        must_add_up(self.query)
        summed = sums_of(self.query)
        estimates = self.estimate(mechanism.answers(output))
        if () in summed:
            start = sum(self.linear.counts[: summed.index(())])
            counts = estimates[start : start + self.cells.count]
        else:
            counts = least_squares(self.linear, mechanism.answers(output)).counts
        every = tuple(range(len(self.cells.keys)))
        where = sum(self.linear.counts[: summed.index(every)]) if every in summed else None
        total = float(counts.sum()) if where is None else float(estimates[where])
        public = None if self.moves.alone else self.schema.fixed_size
        return added_up_rows(
            self.cells, summed, counts, *ends(beta, joint), max(0, round(total)) if public is None else public
        )

    def accuracy(self, mechanism: LinearMechanism, beta: float) -> Accuracy:  # type: ignore[override]
        """The error to expect."""
        margins = self.margins(mechanism, beta)
        rounding = f"rounding the matrix moves an answer by at most {shown_up(self.bias, 2)} for each row of the table"
        return ErrorStatement(
            "answer", float(margins.max()), level_of(beta), least=float(margins.min()), each=self.dimension > 1,
            besides=(rounding,) if self.bias else (),
        )  # fmt: skip


def workload_of(query: Query) -> WorkloadDetails:
    """The parts of a query that must be a workload."""
    if not isinstance(query.details, WorkloadDetails):
        raise UnsupportedQuery(f"query must be a workload, such as sf.prefix('age'), not a {query.kind}")
    return query.details


def bind_workload(query: Query, schema: Schema, parts: tuple[Part, ...]) -> Workload:
    """The workload that `query` asks of a table with this schema."""
    cells = _cells(query.keys, schema)
    steps = [exact(part.weight) * _step(part) for part in parts]
    whole = _whole(steps)
    blocks = tuple(_block(part, cells, schema, w) for part, w in zip(parts, whole, strict=True))
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
    named = {grouping: schema.space(grouping) for grouping in groupings if isinstance(grouping, str)}
    wide = {grouping: space.lattice for grouping, space in named.items() if numeric(space)}
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
