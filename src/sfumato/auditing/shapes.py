"""The container of the data: a list of rows, and how to put rows back into what the target expects."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sfumato.auditing.tabular import ArrowTable, PandasFrame
from sfumato.errors import ParameterError

__all__ = ["Shape", "printed", "shape_of"]


@dataclass(frozen=True)
class Shape:
    """How rows become data; `columns` names the parts of a row of a table, `dtype` an array's type."""

    kind: str
    build: Callable[[Sequence[Any]], Any]
    columns: tuple[str, ...] = ()
    dtype: np.dtype[Any] | None = None


def shape_of(data: object) -> tuple[Shape, list[Any]]:
    """The shape of an example, and its rows."""
    if isinstance(data, np.ndarray):
        return _array(data)
    if isinstance(data, ArrowTable):
        return _arrow(data)
    if isinstance(data, PandasFrame):
        return _frame(data)
    if isinstance(data, list | tuple):
        kind = type(data)
        return Shape("list", lambda rows: kind(rows)), list(data)
    raise ParameterError(
        f"inputs of type {type(data).__name__} cannot be taken apart into rows; give a list, an array, "
        "a pandas or arrow table, or give pairs= of neighboring inputs yourself"
    )


def printed(data: object) -> str:
    """A text that tells inputs apart."""
    if isinstance(data, np.ndarray):
        return f"{data.dtype}{data.tolist()!r}"
    if isinstance(data, ArrowTable):
        return f"arrow{data.to_pydict()!r}"
    if isinstance(data, PandasFrame):
        return f"frame{data.to_dict('list')!r}"
    return f"{type(data).__name__}{data!r}"


def _array(data: np.ndarray) -> tuple[Shape, list[Any]]:
    dtype, tail = data.dtype, data.shape[1:]

    def build(rows: Sequence[Any]) -> np.ndarray:
        if not len(rows):
            return np.empty((0, *tail), dtype=dtype)
        with np.errstate(all="ignore"):
            return np.array(rows).astype(dtype).reshape(len(rows), *tail)

    columns = tuple(str(k) for k in range(tail[0])) if tail else ()
    return Shape("array", build, columns, dtype), [row.tolist() for row in data]


def _frame(data: PandasFrame) -> tuple[Shape, list[Any]]:
    kinds, names = dict(data.dtypes), list(data.columns)
    maker: Callable[..., Any] = type(data)

    def build(rows: Sequence[Any]) -> Any:
        frame = maker([list(row) for row in rows], columns=names)
        for name in names:
            try:
                frame[name] = frame[name].astype(kinds[name])
            except (TypeError, ValueError, OverflowError):
                frame[name] = frame[name].astype(object)
        return frame

    rows = [tuple(row) for row in data.itertuples(index=False, name=None)]
    return Shape("table", build, tuple(map(str, names))), rows


def _arrow(data: ArrowTable) -> tuple[Shape, list[Any]]:
    schema, names = data.schema, tuple(data.column_names)
    from_columns: Callable[..., Any] = type(data).from_pydict  # type: ignore[attr-defined]

    def build(rows: Sequence[Any]) -> Any:
        columns = {name: [row[k] for row in rows] for k, name in enumerate(names)}
        return from_columns(columns, schema=schema)

    table = data.to_pydict()
    return Shape("table", build, names), list(zip(*table.values(), strict=True))
