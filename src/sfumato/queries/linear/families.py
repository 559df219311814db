"""What a workload asks, as plain values: products of named rows, listed rows, or conditions, each with a weight."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np

from sfumato.errors import ParameterError, SchemaError
from sfumato.numeric import exact
from sfumato.queries.linear.factors import EACH, RANGES, TOTAL, UPTO, Factor, Rows

__all__ = ["NAMED", "Conditions", "Listed", "Part", "Product", "part_from", "part_of", "weighted"]

NAMED: dict[str, Factor] = {"each": EACH, "total": TOTAL, "prefix": UPTO, "ranges": RANGES}
FINEST = 2**20  # steps in the largest entry of a matrix that is quantized without a declared step


@dataclass(frozen=True, slots=True)
class Product:
    """Named rows for each key: `each` cell, the `total`, every `prefix`, all `ranges`."""

    rows: tuple[str, ...]
    weight: float = 1

    def __post_init__(self) -> None:
        for name in self.rows:
            if name not in NAMED:
                raise ParameterError(f"rows must be among {', '.join(NAMED)}, got {name!r}")
        _check_weight(self.weight)

    def to_record(self) -> dict[str, Any]:
        """Plain values."""
        return {"rows": list(self.rows), "weight": self.weight}


@dataclass(frozen=True, slots=True)
class Listed:
    """Rows of numbers over all cells; entries are rounded to whole multiples of `step`."""

    matrix: tuple[tuple[float, ...], ...]
    step: float | None = None
    weight: float = 1

    def __post_init__(self) -> None:
        entries = _entries(self.matrix)
        object.__setattr__(self, "matrix", tuple(tuple(row) for row in entries.tolist()))
        if self.step is None:
            object.__setattr__(self, "step", _step_of(entries))
        elif exact(self.step, "step") <= 0:
            raise ParameterError(f"step must be positive, got {self.step!r}")
        _check_weight(self.weight)

    def to_record(self) -> dict[str, Any]:
        """Plain values."""
        return {"matrix": [list(row) for row in self.matrix], "step": self.step, "weight": self.weight}

    @property
    def quantized(self) -> Rows:
        """The entries in whole steps."""
        assert self.step is not None
        return Rows(tuple(tuple(round(exact(e) / exact(self.step)) for e in row) for row in self.matrix))

    @property
    def bias(self) -> float:
        """How far one row of the table can move an answer through rounding alone."""
        assert self.step is not None
        step = exact(self.step)
        off = (abs(round(exact(e) / step) * step - exact(e)) for row in self.matrix for e in row)
        return float(max(off))


@dataclass(frozen=True, slots=True)
class Conditions:
    """One count for each condition; a condition must hold on whole cells."""

    conditions: tuple[str, ...]
    weight: float = 1

    def __post_init__(self) -> None:
        if not self.conditions or not all(isinstance(text, str) and text for text in self.conditions):
            raise ParameterError('conditions must be texts such as "age >= 18", at least one')
        _check_weight(self.weight)

    def to_record(self) -> dict[str, Any]:
        """Plain values."""
        return {"conditions": list(self.conditions), "weight": self.weight}


Part = Product | Listed | Conditions


def weighted(rows: Any, weight: float, step: float | None = None) -> Part:
    """Rows whose errors count `weight` times as much as others'."""
    part = part_of(rows)
    if step is not None and isinstance(part, Listed):
        part = Listed(part.matrix, step)
    return replace(part, weight=weight)


def part_of(rows: Any) -> Part:
    """A part from what a caller wrote: names, a matrix, or conditions."""
    if isinstance(rows, Product | Listed | Conditions):
        return rows
    texts = (rows,) if isinstance(rows, str) else rows
    if isinstance(texts, Sequence) and texts and all(isinstance(entry, str) for entry in texts):
        if all(entry in NAMED for entry in texts):
            return Product(tuple(texts))
        for word in texts:
            if word.isidentifier() and word not in NAMED:
                raise ParameterError(
                    f"{word!r} names no rows and is no condition; names are {', '.join(NAMED)}, and a condition is a "
                    'text such as "age >= 18"'
                )
        return Conditions(tuple(texts))
    return Listed(rows)


def part_from(record: object) -> Part:
    """The part that `to_record`, or a plan, describes."""
    if isinstance(record, Mapping):
        fields = dict(record)
        weight = fields.pop("weight", 1)
        if fields.keys() == {"rows"}:
            rows = fields["rows"]
            return Product((rows,) if isinstance(rows, str) else tuple(rows), weight)
        if fields.keys() == {"conditions"}:
            return Conditions(tuple(fields["conditions"]), weight)
        if "matrix" in fields and fields.keys() <= {"matrix", "step"}:
            return Listed(fields["matrix"], fields.get("step"), weight)
    raise SchemaError(
        'a part of a workload is { rows = ["prefix"] }, { conditions = ["age >= 18"] } or { matrix = [[1, 0]] }, '
        "each with an optional weight"
    )


def _entries(matrix: Any) -> Any:
    try:
        entries = np.asarray(matrix, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise ParameterError("a matrix must hold numbers, with rows of equal length") from None
    if entries.ndim != 2 or entries.size == 0:
        raise ParameterError(f"a matrix needs two axes and at least one entry, got shape {entries.shape}")
    if not np.isfinite(entries).all():
        raise ParameterError("a matrix must hold finite numbers; it holds NaN or an infinity")
    if not entries.any():
        raise ParameterError("a matrix of zeros asks nothing; its answer is 0 without any data")
    return entries


def _step_of(entries: Any) -> float:
    """The coarsest step that keeps every entry, or a power of two below a millionth of the largest."""
    common = math.lcm(*{exact(entry).denominator for entry in np.unique(entries).tolist()})
    if common <= FINEST and exact(1 / common) == Fraction(1, common):
        return 1 if common == 1 else 1 / common
    largest = float(np.abs(entries).max())
    return float(2.0 ** math.ceil(math.log2(largest / FINEST)))


def _check_weight(weight: float) -> None:
    try:
        amount = exact(weight, "weight")
    except ParameterError:
        amount = Fraction(0)
    if amount <= 0:
        raise ParameterError(f"weight must be a positive number, got {weight!r}")
