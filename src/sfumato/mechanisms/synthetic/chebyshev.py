"""Chebyshev features of the columns of a table: products of cos(r arccos x), as whole numbers, and what a unit moves.

Features are indexed by degrees r = (r_1, ..., r_d), not all zero: the constant feature is the number of rows.  Values
are quantized to multiples of 1 / scale and lie in [-scale, scale]; sensitivities hold for the quantized values.
Proof: docs/proofs/synthesis-chebyshev.md.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import product
from typing import Any

import numpy as np
import numpy.typing as npt

from sfumato.errors import ParameterError
from sfumato.numeric import ceil_float, round_up
from sfumato.privacy.adjacency import Replace
from sfumato.queries.features import UNIT, Axis, Cells, Whole, factors, placed, products
from sfumato.spaces.schema import Schema

__all__ = ["Chebyshev", "degrees_below", "degrees_up_to"]

SCALE = 1 << 20
MOST_POINTS = 4096  # of grids whose pairs are all compared
HALF = 1 << 29

Degrees = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Chebyshev:
    """Features of the given degrees on the given axes.

    >>> features = Chebyshev((Axis.cut(2),), ((1,), (2,)), scale=100)
    >>> features.values(np.array([[0], [1], [2]])).tolist()
    [[-100, 100], [0, -100], [100, 100]]
    """

    axes: tuple[Axis, ...]
    degrees: tuple[Degrees, ...]
    scale: int = SCALE

    def __post_init__(self) -> None:
        if not self.axes or not self.degrees:
            raise ParameterError("axes and degrees must not be empty; name a column and a feature")
        for degree in self.degrees:
            if len(degree) != len(self.axes) or min(degree) < 0 or not any(degree):
                raise ParameterError(
                    f"degrees must be {len(self.axes)} whole numbers each, not negative and not all zero, got {degree}"
                )
        if not (isinstance(self.scale, int) and 1 <= self.scale <= UNIT):
            raise ParameterError(f"scale must be a whole number from 1 to 2^30, got {self.scale!r}")

    @property
    def count(self) -> int:
        """How many features there are, without the constant."""
        return len(self.degrees)

    def values(self, cells: Cells) -> Whole:
        """The features of rows given by their cells: (rows, features), in [-scale, scale]."""
        tables = _tables(self.axes, max(max(degree) for degree in self.degrees))
        found = np.empty((len(cells), self.count), dtype=np.int64)
        for place, degree in enumerate(self.degrees):
            chosen = [(column, level) for column, level in enumerate(degree) if level]
            found[:, place] = (products(tables, chosen, cells) * self.scale + HALF) >> 30
        return found

    def at(self, points: npt.ArrayLike) -> npt.NDArray[np.float64]:
        """The real features of points in [-1, 1]^d."""
        angles = np.arccos(np.clip(np.asarray(points, dtype=np.float64), -1.0, 1.0))
        return np.stack([np.cos(angles * np.array(degree)).prod(axis=-1) for degree in self.degrees], axis=-1)

    def sums(self, batches: Iterable[Mapping[str, Any]], columns: Sequence[str]) -> tuple[Whole, int]:
        """The sums of all features over the complete rows, and how many those are."""
        total, rows = np.zeros(self.count, dtype=np.int64), 0
        for batch in batches:
            cells = placed(batch, columns, self.axes)
            total += self.values(cells).sum(axis=0)
            rows += len(cells)
        return total, rows

    def alone(self, norm: str) -> float:
        """The largest norm of one row's features, in units of 1 / scale; attained in a corner."""
        sizes = {"l1": float(self.count), "l2": round_up(math.sqrt(self.count)), "linf": 1.0}
        return ceil_float(Fraction(sizes[norm]) * self.scale)

    def apart(self, norm: str) -> float:
        """A bound on the norm of the difference between two rows' features."""
        general = 2 * self.alone(norm)
        if math.prod(axis.cells for axis in self.axes) <= MOST_POINTS:
            return min(general, _largest_difference(self, norm))
        order = max(max(degree) for degree in self.degrees) + 1
        if norm == "l2" and self.degrees == degrees_below(len(self.axes), order):
            slack = 2 * math.sqrt(self.count)  # rounding moves no feature by a whole unit
            return min(general, round_up((self.scale * _product_difference(self.axes, order) + slack) * (1 + 1e-9)))
        return general

    def sensitivity(self, norm: str, schema: Schema) -> float:
        """How far one unit of `schema` moves the sums; a row may also be left out where it misses a value."""
        replaced = isinstance(schema.adjacency, Replace)
        one_row = max(self.alone(norm), self.apart(norm)) if replaced else self.alone(norm)
        return ceil_float(schema.unit.rows * Fraction(one_row))


def degrees_below(columns: int, order: int) -> tuple[Degrees, ...]:
    """All degrees with every part below `order`, but the constant; by total degree.

    >>> degrees_below(2, 2)
    ((0, 1), (1, 0), (1, 1))
    """
    chosen = [degree for degree in product(range(order), repeat=columns) if any(degree)]
    return tuple(sorted(chosen, key=lambda degree: (sum(degree), degree)))


def degrees_up_to(columns: int, total: int) -> tuple[Degrees, ...]:
    """All degrees of total at most `total`, but the constant; by total degree, sparse ones built directly.

    >>> len(degrees_up_to(30, 2))
    495
    """
    return tuple(degree for size in range(1, total + 1) for degree in _of_total(columns, size))


def _of_total(columns: int, total: int) -> Iterator[Degrees]:
    if columns == 1:
        yield (total,)
        return
    for first in range(total, -1, -1):
        for rest in _of_total(columns - 1, total - first):
            yield (first, *rest)


@lru_cache(maxsize=8)
def _tables(axes: tuple[Axis, ...], order: int) -> list[Whole]:
    """cos(r arccos x) for r up to `order` at the cells of each axis, as factors."""
    levels = np.arange(order + 1)[:, None]
    return [factors(np.cos(levels * np.arccos(np.clip(axis.positions(), -1, 1))[None, :])) for axis in axes]


@lru_cache(maxsize=32)
def _largest_difference(features: Chebyshev, norm: str) -> float:
    """The largest norm of a difference over all pairs of grid points: exact for the quantized features."""
    counts = [axis.cells for axis in features.axes]
    grid = np.stack(np.meshgrid(*map(np.arange, counts), indexing="ij"), axis=-1).reshape(-1, len(counts))
    values = features.values(grid).astype(np.float64)
    if norm == "linf":
        return float((values.max(axis=0) - values.min(axis=0)).max())
    if norm == "l2":  # whole numbers below 2^53 throughout, so the Gram matrix is exact in any order of summation
        if features.count * features.scale**2 * 4 > 2**53:
            return math.inf
        gram = values @ values.T
        sizes = np.diag(gram)
        return round_up(math.sqrt(float((sizes[:, None] + sizes[None, :] - 2 * gram).max())))
    if len(values) ** 2 * features.count > 2e8:
        return math.inf
    return max(float(np.abs(values - row).sum(axis=1).max()) for row in values)


@lru_cache(maxsize=32)
def _product_difference(axes: tuple[Axis, ...], order: int) -> float:
    """The largest l2 norm of a difference of all features below `order`, unscaled: product structure, then hulls.

    The squared norm is a_1 ... a_d + b_1 ... b_d - 2 c_1 ... c_d, where (a, b, c) = (k(x, x), k(y, y), k(x, y)) on each
    axis; it is linear in each triple, so the largest value is taken at vertices of the triples' hulls.
    """
    vertices = [_kernel_vertices(axis, order) for axis in axes]
    if math.prod(len(triples) for triples in vertices) > 5_000_000:
        return math.inf
    total = vertices[0]
    for triples in vertices[1:]:
        total = (total[:, None, :] * triples[None, :, :]).reshape(-1, 3)
    return math.sqrt(max(float((total[:, 0] + total[:, 1] - 2 * total[:, 2]).max()), 0.0))


def _kernel_vertices(axis: Axis, order: int) -> npt.NDArray[np.float64]:
    """The vertices of the hull of (k(x, x), k(y, y), k(x, y)) over pairs of cells; all of them where it is flat."""
    from scipy.spatial import ConvexHull, QhullError

    values = np.cos(np.arange(order)[:, None] * np.arccos(np.clip(axis.positions(), -1, 1)))
    gram = values.T @ values
    own = np.broadcast_to(np.diag(gram)[:, None], gram.shape)
    triples = np.unique(np.stack([own, own.T, gram], axis=-1).reshape(-1, 3), axis=0)
    try:
        return np.asarray(triples[ConvexHull(triples).vertices]) if len(triples) > 100 else triples
    except QhullError:
        return triples
