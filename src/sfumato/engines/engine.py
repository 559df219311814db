"""Exact answers, computed where the data lives: an Ibis backend does the work, whole numbers come out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sfumato.engines.backends import prepared
from sfumato.engines.coercion import check_type
from sfumato.engines.compilation import SPLIT, compiled, is_split
from sfumato.errors import EngineError, SchemaError, SfumatoError
from sfumato.privacy.adjacency import Person
from sfumato.queries.aggregation import Aggregation, Distinct, Frequencies, Statistic
from sfumato.queries.grouping import Cells
from sfumato.schema import Schema
from sfumato.spaces import Categories, Subsets

__all__ = ["Counted", "Table"]

Counted = tuple[Any, Any, Any]  # cells, values, counts


@dataclass(frozen=True, slots=True)
class Table:
    """A sensitive table behind its schema.  Only whole numbers per public cell come out of `answer`.

    `source` is any Ibis table expression; its backend is the engine.
    """

    source: Any
    schema: Schema

    def __post_init__(self) -> None:
        held = prepared(self.source).schema()
        wanted = list(self.schema.columns)
        if isinstance(self.schema.unit, Person):
            wanted.append(self.schema.unit.column)
        for name in wanted:
            if name not in held:
                raise SchemaError(
                    f"the table has no column {name!r}; it holds {', '.join(held.names)}. "
                    "Correct the name in the schema (capitals matter)"
                )
        for name, space in self.schema.columns.items():
            check_type(name, space, held[name])

    def __repr__(self) -> str:
        return f"Table({self.schema.dataset!r}, columns: {', '.join(self.schema.columns)})"

    def answer(self, statistic: Statistic) -> Any:
        """The exact, secret answer.  Whatever the engine raises is replaced by one generic error."""
        try:
            result = compiled(statistic, self.schema, self.source).to_pyarrow()
        except SfumatoError:
            raise
        except Exception:
            raise EngineError(
                "the engine could not compute this answer (its message is withheld, since it may hold "
                "data); check that the table is readable and fits its declared types"
            ) from None
        if isinstance(statistic, Aggregation):
            return _totals(result, statistic, self.schema)
        if isinstance(statistic, Frequencies):
            return _counted(result, statistic, self.schema)
        assert isinstance(statistic, Distinct)
        return result["value"].to_pylist(), result["count"].to_numpy().astype(np.int64)


def _totals(result: pa.Table, statistic: Aggregation, schema: Schema) -> Any:
    """An object array of Python integers, of shape (measures, cells)."""
    places = _cell_numbers(result, statistic.cells)
    totals = np.zeros((len(statistic.measures), statistic.cells.count), dtype=object)
    for i, measure in enumerate(statistic.measures):
        column = _whole(result[f"sum{i}"])
        if is_split(measure, schema):
            column = column + _whole(result[f"high{i}"]) * 2**SPLIT
        totals[i, places] = column
    return totals


def _counted(result: pa.Table, statistic: Frequencies, schema: Schema) -> Counted:
    space = schema.space(statistic.column)
    if isinstance(space, Subsets | Categories):
        labels = space.of if isinstance(space, Subsets) else space.values
        positions = pc.index_in(result["value"], value_set=pa.array(labels, result["value"].type))
        result = result.set_column(result.schema.get_field_index("value"), "value", positions)
        result = result.filter(pc.is_valid(result["value"]))
        values = result["value"].to_numpy().astype(np.int64)
    else:
        values = result["value"].to_numpy().astype(np.int64) + space.lattice.low  # type: ignore[attr-defined]
    counts = result["count"].to_numpy().astype(np.int64)
    return _cell_numbers(result, statistic.cells), values, counts


def _cell_numbers(result: pa.Table, cells: Cells) -> Any:
    """Each answer row's place among the cells."""
    if not cells.keys:
        return np.zeros(result.num_rows, dtype=np.int64)
    places = []
    for i, key in enumerate(cells.keys):
        column = result[f"key{i}"]
        if key.starts is None:
            column = pc.index_in(column, value_set=pa.array(key.labels, column.type))
        places.append(column.to_numpy().astype(np.int64))
    return np.ravel_multi_index(places, cells.shape) if places[0].size else np.zeros(0, dtype=np.int64)


def _whole(column: Any) -> Any:
    return np.array([0 if entry is None else int(entry) for entry in column.to_pylist()], dtype=object)
