"""Points at which a curve is asked for: one row each, as many numbers as it has columns."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from sfumato.errors import ParameterError

__all__ = ["beyond", "in_rows"]


def in_rows(name: str, points: npt.ArrayLike, width: int) -> npt.NDArray[np.float64]:
    """One row a point; a list of numbers is a list of points of one column."""
    x = np.asarray(points, dtype=np.float64)
    x = x.reshape(-1, 1) if width == 1 else np.atleast_2d(x)
    if x.ndim != 2 or x.shape[1] != width:
        raise ParameterError(f"points of {name!r} need {width} numbers each, got shape {x.shape}")
    return x


def beyond(name: str, bounds: Sequence[tuple[float, float]]) -> ParameterError:
    """What is said where points lie beyond the declared bounds."""
    box = " x ".join(f"[{low:g}, {high:g}]" for low, high in bounds)
    return ParameterError(f"{name!r} says nothing beyond the declared bounds: points must lie in {box}")
