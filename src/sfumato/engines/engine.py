"""Exact answers, computed where the data lives: an Ibis backend does the work, whole numbers come out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sfumato import arguments
from sfumato.engines.backends import executed, streamed
from sfumato.engines.canary import trusted
from sfumato.engines.coercion import check_declared
from sfumato.engines.compilation import LIMB, compiled, limbs
from sfumato.errors import EngineError, ParameterError, SchemaError, SfumatoError
from sfumato.privacy.adjacency import Person
from sfumato.queries.aggregation import Aggregation, Distinct, Frequencies, Measure, Rows, Statistic
from sfumato.queries.grouping import Cells
from sfumato.queries.predicates import Predicate
from sfumato.schema import Schema
from sfumato.spaces import Categories, Curves, Integers, Interval, Label, Space, Subsets

__all__ = ["Counted", "Table"]

EXACT = 2**53  # whole numbers below it are exact as floats
BATCH = 1 << 16  # rows held at a time where rows are needed
MOST_BITS = 62  # items of a set that travels as a whole number

WITHHELD = (
    "the engine could not compute this answer (its message is withheld, since it may hold "
    "data); check that the table is readable and fits its declared types"
)

Counted = tuple[Any, Any, Any]  # cells, values, counts


@dataclass(frozen=True, slots=True)
class Table:
    """A sensitive table behind its schema.  Only whole numbers per public cell come out of `answer`.

    `source` is any Ibis table expression; its backend is the engine.
    """

    source: Any
    schema: Schema

    def __post_init__(self) -> None:
        arguments.instance("schema", self.schema, Schema, "a Schema(...)")
        if not hasattr(self.source, "get_backend"):
            raise ParameterError("source must be an Ibis table; open files and frames with sfumato.read(...)")
        trusted(self.source.get_backend())
        check_declared(self.schema, dict(self.source.schema().items()))
        if self.schema.fixed_size is not None:
            self._compare(self.schema.fixed_size)

    def _compare(self, declared: int) -> None:
        """Under replacement the number of rows is public, and everything relies on the declared one."""
        found = int(self.answer(Aggregation(None, Cells(()), (Measure(None),)))[0, 0])
        if found != declared:
            raise SchemaError(
                f"size={declared} is declared, but the table has {found} rows; under replacement the number of rows is "
                f"public and must be exact: declare size={found}, or protect against adding and removing rows"
            )

    def __repr__(self) -> str:
        return f"Table({self.schema.dataset!r}, columns: {', '.join(self.schema.columns)})"

    def answer(self, statistic: Statistic) -> Any:
        """The exact, secret answer.  Whatever the engine raises is replaced by one generic error."""
        answer = self._computed(statistic)
        if answer is None:  # raised out here, so that the engine's own error is not its context
            raise EngineError(WITHHELD)
        return answer

    def rows(self, columns: Sequence[str], where: Predicate | None = None) -> Iterator[dict[str, Any]]:
        """The coerced, bounded rows in batches of whole numbers, -1 where missing; for the few that need them.

        The order of rows is the engine's own.  `where` is bound to the schema.
        """
        wanted = tuple(dict.fromkeys(columns))
        for name in wanted:
            space = self.schema.space(name)
            small = isinstance(space, Subsets) and len(space.of) <= MOST_BITS
            if not (small or isinstance(space, Interval | Integers | Categories | Curves)):
                raise SchemaError(
                    f"column {name!r} must hold numbers, categories, curves or sets of at most {MOST_BITS} items to be "
                    "read row by row"
                )
            if isinstance(space, Curves) and isinstance(self.schema.unit, Person):
                raise SchemaError(f"curves such as {name!r} are read one row a unit; protect rows, or name each point")
        batches = self._batches(Rows(where, wanted))
        while True:
            batch = _next(batches)
            if batch is None:
                raise EngineError(WITHHELD)
            if not batch:
                return
            yield batch

    def _batches(self, statistic: Rows) -> Iterator[dict[str, Any]]:
        for batch in streamed(compiled(statistic, self.schema, self.source), BATCH):
            yield {name: _read(batch[f"value{i}"], self.schema.space(name)) for i, name in enumerate(statistic.columns)}

    def _computed(self, statistic: Statistic) -> Any:
        try:
            if isinstance(statistic, Aggregation):
                return self._added(statistic)
            result = executed(compiled(statistic, self.schema, self.source))
            if isinstance(statistic, Frequencies):
                return _counted(result, statistic, self.schema)
            assert isinstance(statistic, Distinct)
            return result["value"].to_pylist(), _whole(result["count"])
        except SfumatoError:
            raise
        except Exception:
            return None

    def _added(self, statistic: Aggregation) -> Any:
        """Sums of floats where they are exact, which is faster; else sums of integers in limbs."""
        counted = {measure.column for measure in statistic.measures if measure.power == 0}
        real = all(measure.column in counted for measure in statistic.measures)
        result = executed(compiled(statistic, self.schema, self.source, real))
        if not _exact(result, statistic, self.schema):
            result = executed(compiled(statistic, self.schema, self.source))
        return _totals(result, statistic, self.schema)


def _next(batches: Iterator[dict[str, Any]]) -> dict[str, Any] | None:
    """The next batch; empty at the end, None if anything failed."""
    try:
        return next(batches, {})
    except Exception:
        return None


def _exact(result: pa.Table, statistic: Aggregation, schema: Schema) -> bool:
    """Whether every sum of floats stayed below 2^53, by the counts of what was added up."""
    for i, measure in enumerate(statistic.measures):
        if pa.types.is_floating(result[f"sum{i}_0"].type):
            counted = statistic.measures.index(Measure(measure.column))
            most = int(_whole(result[f"sum{counted}_0"]).max(initial=0))
            width: int = schema.space(measure.column or "").lattice.width  # type: ignore[attr-defined]
            if most * width**measure.power >= EXACT:
                return False
    return True


def _totals(result: pa.Table, statistic: Aggregation, schema: Schema) -> Any:
    """An object array of Python integers, of shape (measures, cells)."""
    places = _cell_numbers(result, statistic.cells)
    totals = np.zeros((len(statistic.measures), statistic.cells.count), dtype=object)
    for i, measure in enumerate(statistic.measures):
        real = pa.types.is_floating(result[f"sum{i}_0"].type)
        parts = [_whole(result[f"sum{i}_{j}"]).astype(object) for j in range(1 if real else limbs(measure, schema))]
        totals[i, places] = sum(part << (LIMB * j) for j, part in enumerate(parts))
    return totals


def _counted(result: pa.Table, statistic: Frequencies, schema: Schema) -> Counted:
    space = schema.space(statistic.column)
    values = _whole(result["value"])
    if isinstance(space, Interval | Integers):
        values = values + space.lattice.low
    return _cell_numbers(result, statistic.cells), values, _whole(result["count"])


def _cell_numbers(result: pa.Table, cells: Cells) -> Any:
    """Each answer row's place among the cells."""
    places = [_whole(result[f"key{i}"]) for i in range(len(cells.keys))]
    return np.ravel_multi_index(places, cells.shape) if places else np.zeros(result.num_rows, dtype=np.int64)


def _whole(column: Any) -> Any:
    """Whole numbers; the sum of nothing is 0.  Sums beyond 64 bits arrive as decimals and stay Python's integers."""
    if pa.types.is_decimal(column.type):
        held = pc.fill_null(column, pa.scalar(0, column.type))
        largest = pc.max(pc.abs(held)).as_py() or 0
        if largest >= 2**63:
            return np.array([int(value) for value in held.to_pylist()], dtype=object)
        return pc.cast(held, pa.int64()).to_numpy()
    return pc.fill_null(column, 0).to_numpy().astype(np.int64)


def _read(column: Any, space: Space) -> Any:
    """A column of a batch as whole numbers."""
    if isinstance(space, Subsets):
        return _bits(column, space.of)
    return _points(column, space) if isinstance(space, Curves) else _whole(column)


def _points(column: Any, space: Curves) -> Any:
    """A row of lattice indices for each curve, -1 where a point is missing; all of them where the length is wrong."""
    lengths = pc.fill_null(pc.list_value_length(column), -1).to_numpy(zero_copy_only=False)
    fitting = lengths == len(space.points)
    held = pc.list_flatten(column.filter(pa.array(fitting))).to_numpy(zero_copy_only=False).astype(np.float64)
    found = np.full((len(lengths), len(space.points)), -1, dtype=np.int64)
    found[fitting] = space.lattice.places(held).reshape(-1, len(space.points))
    return found


def _bits(column: Any, items: tuple[Label, ...]) -> Any:
    """Each set as a whole number with one bit an item; -1 for a missing one."""
    sets = column if isinstance(column, pa.Array) else pa.chunked_array(column).combine_chunks()
    sizes = pc.fill_null(pc.list_value_length(sets), 0).to_numpy(zero_copy_only=False)
    places = pc.index_in(pc.list_flatten(sets), pa.array(items)).to_numpy(zero_copy_only=False).astype(np.int64)
    total = np.zeros(len(sets), dtype=np.int64)
    np.bitwise_or.at(total, np.repeat(np.arange(len(sets)), sizes), np.int64(1) << places)
    return np.where(sets.is_null().to_numpy(zero_copy_only=False), -1, total)
