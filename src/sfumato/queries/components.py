r"""Principal components: second moments of columns scaled to a public box, and what one unit moves.

Each complete row becomes z in {-q..q}^d, its columns scaled to [-1, 1] in steps of 1/q; with a public `radius` a
longer z is shortened to it.  The exact answer is the sum over the rows of the entries of y y^T, y = (z, q): squares,
products, and, where they are needed, q z (for the mean) and q^2 (for the count).  Since ||y y^T||_F = ||y||^2,
sensitivities need no look at the data; the mean that a covariance is centered with comes out of the same release.
Proof: docs/proofs/queries-components.md.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from sfumato import arguments
from sfumato.answers import components as answers
from sfumato.answers.answer import Columns
from sfumato.answers.statements import Accuracy, ErrorStatement, NotStated, level_of, state_by_rows
from sfumato.errors import ParameterError, SchemaError, UnsupportedQuery
from sfumato.numeric import exact
from sfumato.privacy.adjacency import Replace
from sfumato.queries.features import Axis, axes_of
from sfumato.queries.query import Query
from sfumato.queries.question import Erring, Source
from sfumato.queries.vector import NEEDS_SIZE
from sfumato.queries.whole import WholeTable
from sfumato.spaces.schema import Schema

__all__ = ["UNIT", "Components", "Moments", "pca"]

UNIT = 2048  # lattice steps from the middle of the box to its side
MOST_COLUMNS = 1000

Whole = npt.NDArray[Any]


@dataclass(frozen=True, slots=True)
class Components:
    """The leading `k` principal components of some numeric columns."""

    kind: ClassVar[str] = "pca"

    columns: tuple[str, ...]
    k: int
    center: bool = True
    radius: float | None = None

    def __post_init__(self) -> None:
        if not self.columns or len(set(self.columns)) < len(self.columns):
            raise ParameterError("columns must name at least one column, and none twice")
        if len(self.columns) > MOST_COLUMNS:
            raise ParameterError(f"columns: at most {MOST_COLUMNS} at once, got {len(self.columns)}; leave some out")
        if not (isinstance(self.k, int) and 1 <= self.k <= len(self.columns)):
            raise ParameterError(f"k must be a whole number from 1 to {len(self.columns)} columns, got {self.k!r}")
        if not isinstance(self.center, bool):
            raise ParameterError(f"center must be true or false, got {self.center!r}")
        if self.radius is not None and not exact(self.radius, "radius") * UNIT >= 1:
            raise ParameterError(f"radius must be at least 1/{UNIT}, in columns scaled to [-1, 1], got {self.radius!r}")

    def subject(self) -> str:
        """What is asked, readable."""
        shown = ", ".join(self.columns[:4]) + (f" and {len(self.columns) - 4} more" if len(self.columns) > 4 else "")
        return f"{self.k} principal component{'s' if self.k > 1 else ''} of {shown}"

    def to_record(self) -> dict[str, Any]:
        """Plain values."""
        return {"columns": list(self.columns), "k": self.k, "center": self.center, "radius": self.radius}

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> Components:
        """What `to_record`, or a plan, describes."""
        unknown = sorted(record.keys() - {"columns", "k", "center", "radius"})
        if unknown:
            raise SchemaError(f"a pca query has no part {unknown[0]!r}; known are columns, k, center, radius, where")
        columns = record.get("columns", ())
        if isinstance(columns, str) or not all(isinstance(name, str) for name in columns):
            raise SchemaError("columns of a pca query must be a list of column names")
        return cls(tuple(columns), record.get("k", 2), record.get("center", True), record.get("radius"))

    def bind(self, query: Query, schema: Schema) -> Moments:
        """The question about a table with this schema."""
        if query.keys:
            raise UnsupportedQuery("principal components take no keys in by; narrow them with where")
        return Moments(query, schema, axes_of(self.columns, schema))


def pca(columns: Sequence[str], k: int = 2, *, center: bool = True, radius: float | None = None) -> Query:
    """The leading `k` principal components of columns, each scaled to [-1, 1] by its declared bounds.

    `center` takes the mean out first, at a small price; `radius` shortens longer rows to it, which pays where
    few rows lie in the corners of the box.
    """
    return Query(Components(arguments.names("columns", columns), k, center, radius))


@dataclass(frozen=True)
class Moments(WholeTable):
    """The second moments behind a query for principal components, as one vector of whole numbers."""

    query: Query
    schema: Schema
    axes: tuple[Axis, ...]

    @property
    def details(self) -> Components:
        """The query's own parameters."""
        assert isinstance(self.query.details, Components)
        return self.query.details

    @property
    def size(self) -> int:
        """How many columns there are."""
        return len(self.axes)

    @cached_property
    def rows(self) -> int | None:
        """The public number of complete rows, where there is one."""
        imputed = all(self.schema.space(name).settled for name in self.details.columns)
        return self.schema.fixed_size if imputed and self.query.condition is None else None

    @property
    def counted(self) -> bool:
        """Whether the number of rows is released too."""
        return self.rows is None

    @property
    def groups(self) -> tuple[int, int, int, int]:
        """How many squares, products, sums and counts the vector holds, in this order."""
        d = self.size
        return d, d * (d - 1) // 2, d if self.details.center else 0, int(self.counted)

    @property
    def dimension(self) -> int:
        """The length of the vector."""
        return sum(self.groups)

    @cached_property
    def radius(self) -> int | None:
        """The longest row in lattice steps, where one was asked for and it is shorter than the box's diagonal."""
        if self.details.radius is None:
            return None
        asked = math.floor(exact(self.details.radius) * UNIT)
        return asked if asked**2 < self.size * UNIT**2 else None

    @property
    def longest(self) -> int:
        """The largest squared length of a row, in squared lattice steps."""
        return self.size * UNIT**2 if self.radius is None else self.radius**2

    @property
    def replaced(self) -> bool:
        """Whether neighbors exchange a unit."""
        return isinstance(self.schema.adjacency, Replace)

    @property
    def squared_frobenius(self) -> int:
        """How far one unit moves squares, root 2 times products and sums, and count, in l2, squared: whole."""
        p, q = self.longest, UNIT**2
        one = (p + q) ** 2 if self.details.center else p**2 + q**2 * self.counted
        return one * self.schema.unit.rows**2 * (2 if self.replaced else 1)

    @property
    def reaches(self) -> tuple[int, int, int, int]:
        """How far one unit moves a single square, product, sum and count."""
        p, q, m, twice = self.longest, UNIT**2, self.schema.unit.rows, 2 if self.replaced else 1
        side = min(UNIT, math.isqrt(p))
        return m * side**2, m * twice * min(side**2, p // 2), m * twice * side * UNIT, m * q

    @property
    def l1(self) -> int:
        """How far one unit moves the vector in l1."""
        p, d, twice = self.longest, self.size, 2 if self.replaced else 1
        squares = min(twice * p, d * UNIT**2)
        products = twice * -(-(d - 1) * p // 2)
        sums = twice * UNIT * (math.isqrt(d * p - 1) + 1) if self.details.center else 0
        return self.schema.unit.rows * (squares + products + sums + UNIT**2 * self.counted)

    def vectors(self, batch: Mapping[str, Any]) -> Whole:
        """The complete rows of a batch as points of {-q..q}^d, none longer than the radius."""
        indices = np.stack([np.asarray(batch[name], dtype=np.int64) for name in self.details.columns], axis=1)
        indices = indices[(indices >= 0).all(axis=1)]
        widths = np.array([float(axis.width) for axis in self.axes])
        points = np.rint((2.0 * indices / widths - 1.0) * UNIT)
        points = np.clip(points, -UNIT, UNIT).astype(np.int64)
        if self.radius is None:
            return np.asarray(points)
        squared = np.square(points).sum(axis=1)
        length = np.floor(np.sqrt(squared.astype(np.float64))).astype(np.int64)
        length += length**2 < squared  # not shorter than the row, so that what follows is not longer than the radius
        long = squared > self.radius**2
        points[long] = np.sign(points[long]) * (np.abs(points[long]) * self.radius // length[long, None])
        return np.asarray(points)

    def answer(self, table: Source) -> Whole:
        """The exact, secret sums: one pass over the rows, in batches."""
        batches = table.rows(self.details.columns, self.query.bound_condition(self.schema))
        return self.summed(self.vectors(batch) for batch in batches)

    def summed(self, parts: Iterable[npt.NDArray[np.int64]]) -> Whole:
        """The vector of sums over batches of points."""
        moment, total, rows = np.zeros((self.size, self.size), dtype=object), np.zeros(self.size, dtype=object), 0
        for points in parts:
            real = points.astype(np.float64)  # whole numbers below 2^53, summed exactly in any order
            moment = moment + (real.T @ real).astype(np.int64)
            total = total + points.sum(axis=0)
            rows += len(points)
        squares, products = np.diag(moment), moment[np.triu_indices(self.size, 1)]
        sums = UNIT * total if self.details.center else total[:0]
        count = [UNIT**2 * rows] if self.counted else []
        return np.concatenate([squares, products, sums, np.array(count, dtype=object)])

    def read(self, output: Whole, mechanism: Erring) -> answers.Components:
        """The eigenvalues, largest first, of columns scaled to [-1, 1], and their directions."""
        from sfumato.queries.spectra import component_table, spectrum

        found = spectrum(self, output)

        def columns(beta: float) -> Columns:
            return component_table(self, found, mechanism.error(beta))

        return answers.Components(
            found.values, found.vectors, columns, partial(self.state_released, mechanism, found.rows)
        )

    def accuracy(self, mechanism: Erring, beta: float) -> Accuracy:
        """The error to expect, from public quantities."""
        rows = self.rows or self.schema.size
        if rows is None:
            return NotStated(NEEDS_SIZE)
        most = mechanism.error(beta)
        return state_by_rows(
            rows, self.query.selection, lambda count: ErrorStatement("spectrum", most / count, level_of(beta))
        )

    def state_released(self, mechanism: Erring, rows: float, beta: float) -> Accuracy:
        """The error of a release in which so many rows count, as the noisy number of rows says."""
        if self.query.selection is None:
            return self.accuracy(mechanism, beta)
        most = mechanism.error(beta)
        return ErrorStatement("spectrum", most / max(rows - most, 1.0), level_of(beta))
