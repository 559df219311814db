r"""Smooth functions of several columns, averaged over the rows: mixtures of Gaussian kernels, Chebyshev polynomials.

Columns are scaled to [-1, 1] by their declared bounds.  A function knows its bound B on all partial derivatives up to
order K: it is (K, B)-smooth, the class that synthetic tables of smooth features are made for [WangFanZhangWang2013].
The same function is asked of a table, by whole numbers kept in its range, and of a synthetic one (`evaluate`).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from sfumato import arguments
from sfumato.errors import ParameterError, SchemaError
from sfumato.queries.features import MOST_CELLS, UNIT, Axis, Cells, Whole, axes_of, factors, products
from sfumato.queries.query import Query
from sfumato.spaces.schema import Schema

__all__ = ["GaussianMixture", "Polynomial", "SmoothFunction", "evaluate", "gaussian_mixture", "smooth"]

SCALE = 1 << 20  # lattice steps of the value 1
TERMS = 1000
LARGEST = 1000.0  # of a weight, so that its products fit in 64 bits
ROOM = 4_000_000  # entries of all tables together

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class GaussianMixture:
    """sum_j weights_j exp(-||x - centers_j||^2 / (2 sigma^2)), in columns scaled to [-1, 1].

    >>> GaussianMixture(("x",), ((0.0,),), 2.0, (1.0,)).derivative_bound(4)
    1.0
    """

    kind: ClassVar[str] = "gaussian-mixture"
    parts: ClassVar[tuple[str, ...]] = ("columns", "centers", "sigma", "weights")

    columns: tuple[str, ...]
    centers: tuple[tuple[float, ...], ...]
    sigma: float
    weights: tuple[float, ...]

    def __post_init__(self) -> None:
        _check_columns(self.columns)
        if not self.centers or any(len(center) != len(self.columns) for center in self.centers):
            raise ParameterError(f"centers must be points with {len(self.columns)} coordinates, at least one of them")
        if len(self.weights) != len(self.centers) or len(self.centers) > TERMS:
            raise ParameterError(f"weights must be one number for each of the centers, of which at most {TERMS}")
        _check_numbers("sigma", (self.sigma,))
        if self.sigma <= 0:
            raise ParameterError(f"sigma must be positive, got {self.sigma!r}")
        _check_numbers("centers", [value for center in self.centers for value in center])
        _check_numbers("weights", self.weights)

    def subject(self) -> str:
        """What is asked, readable."""
        return f"mixture of {len(self.centers)} Gaussian kernels (sigma {self.sigma:g}) over {_listed(self.columns)}"

    def to_record(self) -> dict[str, Any]:
        """Plain values."""
        return {
            "columns": list(self.columns), "centers": [list(center) for center in self.centers],
            "sigma": self.sigma, "weights": list(self.weights),
        }  # fmt: skip

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> GaussianMixture:
        """What `to_record`, or a plan, describes."""
        _check_parts(cls.kind, record, cls.parts, "weights")
        centers = tuple(tuple(float(value) for value in center) for center in record["centers"])
        weights = record.get("weights")
        given = equal_weights(len(centers)) if weights is None else tuple(weights)
        return cls(tuple(record["columns"]), centers, record["sigma"], given)

    def bind(self, query: Query, schema: Schema) -> Any:
        """The question about a table with this schema."""
        from sfumato.queries.smooth_mean import bind_smooth

        return bind_smooth(query, schema)

    def derivative_bound(self, order: int) -> float:
        """A bound on all partial derivatives up to this order: |weights|_1 max_k sqrt(k!) / sigma^k."""
        logs = (math.lgamma(k + 1) / 2 - k * math.log(self.sigma) for k in range(order + 1))
        largest = math.exp(min(max(logs), 700.0))
        return largest * math.fsum(abs(weight) for weight in self.weights)

    @property
    def slope(self) -> float:
        """A bound on the first derivative in each column."""
        return math.exp(-0.5) / self.sigma * math.fsum(abs(weight) for weight in self.weights)

    @property
    def range(self) -> tuple[float, float]:
        """Bounds of the function: the sums of its negative and of its positive weights."""
        return -math.fsum(max(-w, 0.0) for w in self.weights), math.fsum(max(w, 0.0) for w in self.weights)

    def values(self, points: npt.ArrayLike) -> Floats:
        """The function at points in [-1, 1]^d, in floating point."""
        x, total = np.asarray(points, dtype=np.float64), np.zeros(len(np.asarray(points)))
        for center, weight in zip(self.centers, self.weights, strict=True):
            total += weight * np.exp(-np.square(x - np.array(center)).sum(axis=1) / (2 * self.sigma**2))
        return total

    def terms(self, axes: Sequence[Axis]) -> tuple[list[Whole], list[list[tuple[int, int]]], list[int]]:
        """Tables of factors, the factors of each term, and the terms' weights in steps of 1 / SCALE."""
        tables = []
        for place, axis in enumerate(axes):
            centers = np.array([center[place] for center in self.centers])
            tables.append(factors(np.exp(-np.square(axis.positions() - centers[:, None]) / (2 * self.sigma**2))))
        chosen = [[(column, j) for column in range(len(axes))] for j in range(len(self.centers))]
        return tables, chosen, [round(weight * SCALE) for weight in self.weights]


@dataclass(frozen=True, slots=True)
class Polynomial:
    """sum_j coefficients_j prod_i cos(degrees_ji arccos x_i), in columns scaled to [-1, 1]."""

    kind: ClassVar[str] = "smooth"
    parts: ClassVar[tuple[str, ...]] = ("columns", "degrees", "coefficients")

    columns: tuple[str, ...]
    degrees: tuple[tuple[int, ...], ...]
    coefficients: tuple[float, ...]

    def __post_init__(self) -> None:
        _check_columns(self.columns)
        for degree in self.degrees:
            whole = all(isinstance(part, int) and 0 <= part <= 1000 for part in degree)
            if len(degree) != len(self.columns) or not whole:
                raise ParameterError(f"degrees must be {len(self.columns)} whole numbers from 0 to 1000 in each term")
        if not self.degrees or len(self.degrees) != len(self.coefficients) or len(self.degrees) > TERMS:
            raise ParameterError(f"coefficients must be one number for each term, of which 1 to {TERMS}")
        _check_numbers("coefficients", self.coefficients)

    def subject(self) -> str:
        """What is asked, readable."""
        return f"smooth function of {len(self.degrees)} terms over {_listed(self.columns)}"

    def to_record(self) -> dict[str, Any]:
        """Plain values."""
        return {
            "columns": list(self.columns), "degrees": [list(degree) for degree in self.degrees],
            "coefficients": list(self.coefficients),
        }  # fmt: skip

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> Polynomial:
        """What `to_record`, or a plan, describes."""
        _check_parts(cls.kind, record, cls.parts)
        degrees = tuple(tuple(degree) for degree in record["degrees"])
        return cls(tuple(record["columns"]), degrees, tuple(record["coefficients"]))

    def bind(self, query: Query, schema: Schema) -> Any:
        """The question about a table with this schema."""
        from sfumato.queries.smooth_mean import bind_smooth

        return bind_smooth(query, schema)

    def derivative_bound(self, order: int) -> float:
        """A bound on all partial derivatives up to this order: derivatives of cos(r arccos x) peak at 1 (Markov)."""
        bounds = (
            abs(c) * _largest_derivative(tuple(sorted(filter(None, degree))), order)
            for degree, c in zip(self.degrees, self.coefficients, strict=True)
        )
        return math.fsum(bounds)

    @property
    def slope(self) -> float:
        """A bound on the first derivative in each column."""
        return math.fsum(abs(c) * max(d) ** 2 for d, c in zip(self.degrees, self.coefficients, strict=True))

    @property
    def range(self) -> tuple[float, float]:
        """Bounds of the function: the constant terms, plus or minus the sizes of the others."""
        constant = math.fsum(c for d, c in zip(self.degrees, self.coefficients, strict=True) if not any(d))
        size = math.fsum(abs(c) for d, c in zip(self.degrees, self.coefficients, strict=True) if any(d))
        return constant - size, constant + size

    def values(self, points: npt.ArrayLike) -> Floats:
        """The function at points in [-1, 1]^d, in floating point."""
        angles = np.arccos(np.clip(np.asarray(points, dtype=np.float64), -1, 1))
        total = np.zeros(len(angles))
        for degree, coefficient in zip(self.degrees, self.coefficients, strict=True):
            total += coefficient * np.cos(angles * np.array(degree)).prod(axis=1)
        return total

    def terms(self, axes: Sequence[Axis]) -> tuple[list[Whole], list[list[tuple[int, int]]], list[int]]:
        """Tables of factors, the factors of each term, and the terms' weights in steps of 1 / SCALE."""
        levels = np.arange(max(max(degree) for degree in self.degrees) + 1)[:, None]
        tables = [factors(np.cos(levels * np.arccos(np.clip(axis.positions(), -1, 1)))) for axis in axes]
        chosen = [[(column, level) for column, level in enumerate(degree) if level] for degree in self.degrees]
        return tables, chosen, [round(coefficient * SCALE) for coefficient in self.coefficients]


SmoothFunction = GaussianMixture | Polynomial


def gaussian_mixture(
    columns: Sequence[str], centers: Sequence[Sequence[float]], sigma: float, weights: Sequence[float] | None = None
) -> Query:
    """The mean over the rows of a mixture of Gaussian kernels; equal weights that add up to 1 unless given.

    (K, B)-smooth with B = |weights|_1 for every K up to sigma^2.
    """
    points = tuple(_point("centers", center) for center in arguments.several("centers", centers))
    given = equal_weights(len(points)) if weights is None else _point("weights", weights)
    width = arguments.number("sigma", sigma)
    return Query(GaussianMixture(arguments.names("columns", columns), points, width, given))


def _point(name: str, values: object) -> tuple[float, ...]:
    return tuple(arguments.number(f"each of {name}", value) for value in arguments.several(name, values))


def equal_weights(count: int) -> tuple[float, ...]:
    """Weights that add up to 1."""
    return (1 / count,) * count if count else ()


def smooth(columns: Sequence[str], terms: Mapping[tuple[int, ...], float]) -> Query:
    """The mean over the rows of a polynomial in Chebyshev form: {degrees: coefficient}."""
    held = arguments.mapping("terms", terms)
    degrees = tuple(arguments.several("degrees of a term", one) for one in held)
    return Query(Polynomial(arguments.names("columns", columns), degrees, tuple(held.values())))


def whole_values(function: SmoothFunction, axes: Sequence[Axis], cells: Cells) -> Whole:
    """The function at rows given by their cells, in steps of 1 / SCALE, not rounded to its range."""
    tables, chosen, weights = _terms(function, tuple(axes))
    total = np.zeros(len(cells), dtype=np.int64)
    for factor, weight in zip(chosen, weights, strict=True):
        total += (products(tables, factor, cells) * weight + UNIT // 2) >> 30
    return total


@lru_cache(maxsize=4)
def _terms(
    function: SmoothFunction, axes: tuple[Axis, ...]
) -> tuple[list[Whole], list[list[tuple[int, int]]], list[int]]:
    return function.terms(axes)


def cut_axes(function: SmoothFunction, schema: Schema) -> tuple[Axis, ...]:
    """The columns' axes, in as many cells as the tables of all terms leave room for."""
    terms = len(function.centers if isinstance(function, GaussianMixture) else function.degrees)
    return axes_of(function.columns, schema, max(64, min(MOST_CELLS, ROOM // (terms * len(function.columns)))))


def evaluate(query: Query, rows: Any, schema: Schema, weights: npt.ArrayLike | None = None) -> float:
    """The mean of a smooth query over public rows (a mapping or frame of columns), perhaps weighted.

    The same whole numbers as for a secret table; rows that miss a value are left out.
    """
    arguments.instance("schema", schema, Schema, "the schema of a table")
    function = query.details if isinstance(query, Query) else query
    if not isinstance(function, GaussianMixture | Polynomial):
        raise ParameterError("evaluate takes a query made by gaussian_mixture(...) or smooth(...)")
    axes = cut_axes(function, schema)
    indices = []
    for name in function.columns:
        space: Any = schema.space(name)
        coerced = (space.coerce(value) for value in np.asarray(rows[name]).tolist())
        indices.append([-1 if v is None else space.lattice.index(v) - space.lattice.low for v in coerced])
    table = np.array(indices, dtype=np.int64).T.reshape(-1, len(axes))
    present = (table >= 0).all(axis=1)
    cells = table[present] // np.array([axis.step for axis in axes])
    found = whole_values(function, axes, cells) / SCALE
    shares = np.ones(len(found)) if weights is None else np.asarray(weights, dtype=np.float64)[present]
    return float(found @ shares / shares.sum()) if shares.sum() > 0 else 0.0


def _largest_derivative(degrees: tuple[int, ...], order: int) -> float:
    """The largest product of derivatives of total order at most `order` at 1, one factor for each degree."""
    best = [1.0] + [0.0] * order  # by total order
    for degree in degrees:
        own = [1.0]
        for k in range(order):
            own.append(own[-1] * max(degree**2 - k**2, 0) / (2 * k + 1))
        best = [max(best[j] * own[k - j] for j in range(k + 1)) for k in range(order + 1)]
    return max(best)


def _check_columns(columns: tuple[str, ...]) -> None:
    if not columns or len(set(columns)) < len(columns):
        raise ParameterError("columns must name at least one column, and none twice")


def _check_numbers(name: str, values: Sequence[float]) -> None:
    for value in values:
        if not (isinstance(value, int | float) and math.isfinite(value) and abs(value) <= LARGEST):
            raise ParameterError(f"{name} must be finite numbers of at most {LARGEST:g} in size, got {value!r}")


def _check_parts(kind: str, record: Mapping[str, Any], parts: tuple[str, ...], optional: str = "") -> None:
    if record.keys() | {optional} != {*parts, optional}:
        raise SchemaError(f"a {kind} query has the parts {', '.join(parts)} (and where), no others and none less")


def _listed(columns: tuple[str, ...]) -> str:
    return ", ".join(columns[:4]) + (f" and {len(columns) - 4} more" if len(columns) > 4 else "")
