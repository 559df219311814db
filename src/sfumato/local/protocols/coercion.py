"""Any value becomes one of the domain, by a public rule, and never raises."""

from __future__ import annotations

from typing import Any, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from sfumato.errors import ParameterError

__all__ = ["numbers", "positions", "records", "vectors"]


@runtime_checkable
class Arrayed(Protocol):
    """An array, or what becomes one."""

    def __array__(self) -> npt.NDArray[Any]:
        """As an array of numpy."""


def records(values: npt.ArrayLike) -> npt.NDArray[Any]:
    """One entry a person, whatever it holds; only the shape of an array, which is public, is refused."""
    if isinstance(values, Arrayed):  # columns of data frames, too
        values = np.asarray(values)
        values = values.reshape(1) if values.ndim == 0 else values
        if values.ndim != 1:
            raise ParameterError(f"values must be one-dimensional, one a person; got shape {values.shape}")
        return values
    listed = list(values) if isinstance(values, list | tuple | range) else [values]
    try:
        found = np.asarray(listed)
    except (ValueError, TypeError, OverflowError):
        found = np.empty(0)
    if found.shape == (len(listed),) and found.dtype.kind in "biuf":
        return found
    loose = np.empty(len(listed), dtype=object)
    for i, value in enumerate(listed):
        loose[i] = value
    return loose


def positions(values: npt.ArrayLike, k: int) -> npt.NDArray[np.int64]:
    """Positions in [0, k); everything else counts as the last category, k - 1: declare one for it.

    >>> positions([0, 2, -1, 7, None, "x", 1.0, float("nan")], 4).tolist()
    [0, 2, 3, 3, 3, 3, 1, 3]
    """
    raw = records(values)
    if raw.dtype.kind not in "biuf":
        raw = np.array([_number(value) for value in raw], dtype=np.float64)
    if raw.dtype.kind in "bf":
        raw = raw.astype(np.int64) if raw.dtype.kind == "b" else _floats(raw)
    with np.errstate(invalid="ignore"):
        inside = (raw >= 0) & (raw < k)
        if raw.dtype.kind == "f":
            inside &= raw == np.floor(raw)
    return np.where(inside, np.where(inside, raw, 0).astype(np.int64), k - 1)  # k - 1 may not fit narrow integers


def _number(value: object) -> float:
    """A number as a float; anything else, texts included, as NaN."""
    try:
        return float(value) if isinstance(value, int | float | np.integer | np.floating | np.bool_) else np.nan
    except (OverflowError, TypeError):
        return np.nan


def numbers(values: npt.ArrayLike) -> npt.NDArray[np.float64]:
    """Numbers as floats; what is not a number becomes NaN.

    >>> numbers([1, "2", None, True, float("inf")]).tolist()
    [1.0, nan, nan, 1.0, inf]
    """
    raw = records(values)
    if raw.dtype.kind in "biuf":
        return _floats(raw)
    return np.array([_number(value) for value in raw], dtype=np.float64)


def _floats(raw: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
    """Doubles; what is beyond them becomes infinite."""
    with np.errstate(over="ignore"):
        return raw.astype(np.float64)


def vectors(values: npt.ArrayLike, dimension: int) -> npt.NDArray[np.float64]:
    """One row of floats a person; a record that is no vector of this dimension becomes a row of NaN."""
    if isinstance(values, Arrayed):
        values = np.asarray(values)
    if isinstance(values, np.ndarray) and not (values.ndim == 1 and values.dtype == object):
        if values.ndim != 2 or values.shape[1] != dimension:
            raise ParameterError(f"values must have the shape (n, {dimension}), got {values.shape}")
        if values.dtype.kind in "biuf":
            return _floats(values)
    listed = list(values) if isinstance(values, list | tuple | np.ndarray) else [values]
    out = np.full((len(listed), dimension), np.nan)
    for i, value in enumerate(listed):
        row = numbers(value) if isinstance(value, list | tuple) or _flat(value) else np.empty(0)
        if row.shape == (dimension,):
            out[i] = row
    return out


def _flat(value: object) -> bool:
    return isinstance(value, np.ndarray) and value.ndim == 1
