"""What an engine hands out, as whole numbers: checked, and put in the places of their public cells."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from sfumato.engines.compilation import LIMB, limbs
from sfumato.queries.aggregation import Aggregation, Frequencies, Measure
from sfumato.queries.grouping import Cells
from sfumato.spaces.schema import Schema

__all__ = ["Counted", "Whole", "counted", "exact", "hopeful", "places_of", "totals", "whole", "within"]

EXACT = 2**53  # whole numbers below it are exact as floats
NARROW = 2 ** (63 - LIMB)  # summands of a limb's bits whose sum has 64
GUESSED = 10**6  # rows, where no size is declared

Whole = npt.NDArray[Any]  # whole numbers: int64, or Python's own where they may be larger
Counted = tuple[Whole, Whole, Whole]  # cells, values, counts


def hopeful(statistic: Aggregation, schema: Schema) -> bool:
    """Whether sums of floats can be checked, and would stay exact were the declared number of rows spread evenly."""
    counted = {measure.column for measure in statistic.measures if measure.power == 0}
    rows = (GUESSED if schema.size is None else schema.size * schema.unit.rows) // max(1, statistic.cells.count)
    return all(
        measure.is_plain
        and measure.column in counted
        and (measure.power == 0 or max(1, rows) * schema.lattice(measure.column or "").width ** measure.power < EXACT)
        for measure in statistic.measures
    )


def exact(result: pa.Table, statistic: Aggregation, schema: Schema) -> bool:
    """Whether every sum of floats stayed below 2^53, and every narrow one below 2^63, by what was added up."""
    if "rows" in result.column_names and int(whole(result["rows"]).max(initial=0)) >= NARROW:
        return False
    for i, measure in enumerate(statistic.measures):
        if pa.types.is_floating(result[f"sum{i}_0"].type):
            counted = statistic.measures.index(Measure(measure.column))
            most = int(whole(result[f"sum{counted}_0"]).max(initial=0))
            if most * schema.lattice(measure.column or "").width ** measure.power >= EXACT:
                return False
    return True


def totals(result: pa.Table, statistic: Aggregation, schema: Schema) -> Whole:
    """An object array of Python integers, of shape (measures, cells)."""
    result = within(result, statistic.cells)
    places = places_of(result, statistic.cells)
    totals = np.zeros((len(statistic.measures), statistic.cells.count), dtype=object)
    for i, measure in enumerate(statistic.measures):
        real = pa.types.is_floating(result[f"sum{i}_0"].type)
        parts = [whole(result[f"sum{i}_{j}"]).astype(object) for j in range(1 if real else limbs(measure, schema))]
        totals[i, places] = sum(part << (LIMB * j) for j, part in enumerate(parts))
    return totals


def counted(result: pa.Table, statistic: Frequencies, schema: Schema) -> Counted:
    """Cells, values and counts; numbers as lattice indices, or as numbers of runs."""
    result = within(result, statistic.cells)
    lattice = None if statistic.column is None else schema.space(statistic.column).lattice
    values = whole(result["value"]) + (0 if lattice is None or statistic.in_runs else lattice.low)
    return places_of(result, statistic.cells), values, whole(result["count"])


def within(result: pa.Table, cells: Cells) -> pa.Table:
    """Those of an answer's rows that some cell holds."""
    for i in range(len(cells.keys)):
        result = result.filter(pc.greater_equal(result[f"key{i}"], 0))
    return result


def places_of(result: pa.Table, cells: Cells) -> Whole:
    """Each answer row's place among the cells."""
    places = [whole(result[f"key{i}"]) for i in range(len(cells.keys))]
    return np.ravel_multi_index(places, cells.shape) if places else np.zeros(result.num_rows, dtype=np.int64)


def whole(column: pa.Array | pa.ChunkedArray) -> Whole:
    """Whole numbers; the sum of nothing is 0.  Sums beyond 64 bits arrive as decimals and stay Python's integers."""
    if pa.types.is_decimal(column.type):
        held = pc.fill_null(column, pa.scalar(0, column.type))
        largest = pc.max(pc.abs(held)).as_py() or 0
        if largest >= 2**63:
            return np.array([int(value) for value in held.to_pylist()], dtype=object)
        return np.asarray(pc.cast(held, pa.int64()).to_numpy())
    return np.asarray(pc.fill_null(column, 0).to_numpy().astype(np.int64))
