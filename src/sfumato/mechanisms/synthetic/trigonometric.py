r"""The trigonometric mechanism: noisy means of Chebyshev features, and a distribution on a grid that fits them.

Definition.  Columns are scaled to [-1, 1] and cut into N cells a side; features are prod_i cos(r_i arccos x_i),
r in {0..t-1}^d, but the constant.  Release their sums, as whole numbers, plus noise (and the number of rows where it is
private); find the distribution on the grid whose feature means are nearest in l1, by a linear program; publish its
points with weights, or m rows drawn from it [Huang2014, algorithms 4 and 5; WangFanZhangWang2013].

Guarantee.   With s the sensitivity of the sums in the noise's norm, what `noise/gauges.py` and `noise/normals.py` say:
pure k s / b for cube (l-infinity), ball (l2) or Laplace (l1) noise, rho = (k s)^2 / (2 sigma^2) concentrated or
(epsilon, delta) by the exact profile for normal noise (l2).  The program and the sampling are post-processing.
Proof: docs/proofs/synthesis-trigonometric.md.

Accuracy.    For (K, B)-smooth queries and the printed t, N, m: O(n^{-K/(2d+K)} / epsilon) (I) and
O(n^{-2K/(3d+2K)} log(1/delta)^{K/(3d+2K)} / epsilon) (II), against the net mechanism's n^{-K/(d+3K)}; `query_bound`
gives a number for each query, after the release.

Assumes.     Nothing beyond random bits: features and noise are whole numbers and the samplers exact.

Differs.     Sensitivity 2/n a feature under replacement (or less where proven), not 1/n; the constant feature is free
or is the count; cube or ball noise in place of Laplace; exact calibration in place of advanced composition; m capped.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from sfumato.accounting.laws import Law
from sfumato.answers.statements import Accuracy, ErrorStatement, NotStated, level_of
from sfumato.errors import UnsupportedQuery
from sfumato.mechanisms.mechanism import Answering
from sfumato.mechanisms.noise.additive import Vector, checked
from sfumato.mechanisms.noise.gauges import BALL, CUBE
from sfumato.mechanisms.noise.law import Drawn, NoiseLaw, stated_delta
from sfumato.mechanisms.noise.laws import law_named, must_be_known
from sfumato.mechanisms.noise.normals import NORMAL
from sfumato.mechanisms.synthetic.chebyshev import Chebyshev, degrees_below
from sfumato.mechanisms.synthetic.distribution import WEIGHT, GridDistribution
from sfumato.mechanisms.synthetic.grid_fit import cosines, fit
from sfumato.numeric import round_up
from sfumato.privacy.guarantees import Approximate, Concentrated, Guarantee, Pure
from sfumato.queries.features import axes_of
from sfumato.queries.question import Source
from sfumato.queries.trigonometric import SmoothRows
from sfumato.queries.vector import NEEDS_SIZE
from sfumato.randomness import Rng
from sfumato.sampling.law import check_scale
from sfumato.spaces.schema import Schema

__all__ = ["Trigonometric", "printed_parameters"]

MOST_POINTS = 1 << 22  # of a grid
MOST_FEATURES = 4000


def printed_parameters(rows: int, columns: int, smoothness: int, delta: float | None = None) -> tuple[int, int, int]:
    """t, N and m of algorithm 4, or with delta of algorithm 5.

    >>> printed_parameters(10_000, 2, 4)
    (4, 100, 3162278)
    """
    n, d, k = float(rows), columns, smoothness
    if delta is None:
        base = 2 * d + k
        return math.ceil(n ** (1 / base)), math.ceil(n ** (k / base)), math.ceil(n ** (1 + (k + 1) / base))
    base, log = 3 * d + 2 * k, max(math.log(1 / delta), 1.0)
    order, grid = n ** (2 / base) * log ** (-1 / base), n ** (2 * k / base) * log ** (-k / base)
    drawn = n ** ((4 * d + 4 * k + 2) / base) * log ** (-(2 * d + 2 * k + 1) / base)
    return math.ceil(order), math.ceil(grid), math.ceil(drawn)


@dataclass(frozen=True, slots=True)
class Trigonometric(Answering):
    """Noise of a given scale on the sums of Chebyshev features of some columns.

    Proof: docs/proofs/synthesis-trigonometric.md.
    """

    query: SmoothRows
    features: Chebyshev
    body: NoiseLaw
    scale: float
    epsilon: float | None = None

    def __post_init__(self) -> None:
        must_be_known(self.body)
        check_scale("scale", self.scale)
        _ = self.noise

    @classmethod
    def calibrate(
        cls, query: SmoothRows, target: Guarantee, bodies: Sequence[NoiseLaw] = (NORMAL, CUBE, BALL)
    ) -> Trigonometric:
        """The least noisy mechanism that meets `target`; order and grid as printed for the declared size."""
        normal = target.takes_normal
        features = _features(query, stated_delta(target, math.exp(-1)) if normal else None)
        vector = _vector(query, features)
        chosen = [body for body in bodies if normal or body != NORMAL]
        scales = [(one, *one.calibrate(vector.sensitivity(one.norm), target)) for one in chosen]
        made = [cls(query, features, *scale) for scale in scales]
        return min(made, key=lambda one: one.error(0.5))

    @property
    def schema(self) -> Schema:
        """What is public of the table."""
        return self.query.schema

    @property
    def columns(self) -> tuple[str, ...]:
        """The numbers that are published."""
        return self.query.columns

    @property
    def counted(self) -> bool:
        """Whether the number of rows is released too."""
        return _counted(self.schema, self.columns)

    @property
    def vector(self) -> Vector:
        """The vector of sums: its size and how far one unit moves it."""
        return _vector(self.query, self.features)

    @property
    def memory(self) -> int:
        """An estimate of the bytes that fitting takes."""
        return 40 * math.prod(axis.cells for axis in self.features.axes) + 64 * self.features.count**2

    @property
    def noise(self) -> Drawn:
        """The noise of the whole vector."""
        return self.body.on(self.scale, self.vector.dimension)

    def guarantee(self, distance: int = 1) -> Pure | Concentrated | Approximate:
        """What one release costs between tables `distance` units apart."""
        return self.body.claim(self.vector.sensitivity(self.body.norm), self.scale, self.epsilon, distance)

    def loss(self, distance: int = 1) -> Law | None:
        """A pair of laws on the line that dominates one release, where one is known."""
        return self.body.loss(self.vector.sensitivity(self.body.norm), self.scale, distance)

    def error(self, beta: float = 0.05) -> float:
        """The largest error of a feature's sum, in rows, exceeded with probability at most `beta`."""
        return self.noise.quantile(beta) / self.features.scale

    def take(self, table: Source) -> npt.NDArray[np.int64]:
        """The exact, secret sums: one pass over the rows, in batches."""
        sums, rows = self.features.sums(self.query.answer(table).batches(), self.columns)
        return np.append(sums, rows * self.features.scale) if self.counted else sums

    def release(self, answer: npt.NDArray[np.int64], rng: Rng) -> npt.NDArray[np.int64]:
        """Add the noise.  `answer` is the exact, secret vector of sums."""
        return np.asarray(checked(answer, self.vector) + self.noise.sample(1, rng)[0])

    def means(self, output: npt.ArrayLike) -> tuple[npt.NDArray[np.float64], float]:
        """The noisy feature means, kept in [-1, 1], and the number of rows they are over."""
        noisy = np.asarray(output, dtype=np.float64) / self.features.scale
        rows = max(float(noisy[-1]), 1.0) if self.counted else float(self.schema.fixed_size or 1)
        return np.clip(noisy[: self.features.count] / rows, -1.0, 1.0), rows

    def accuracy(self, beta: float, output: npt.ArrayLike | None = None) -> Accuracy:
        """How far all feature means lie from those of the table, of the declared size or of the released one.

        With z the error of a sum, v that of a private number of rows and m the mean, |m| <= 1, the error of m is
        (z - v m) / rows: at most twice that of a sum.
        """
        rows = self.schema.size if output is None else self.means(output)[1]
        if rows is None:
            return NotStated(f"{self.features.count} features; {NEEDS_SIZE}")
        reach = self.error(beta) * (2 if self.counted else 1) / rows
        return ErrorStatement(
            "features", reach, level_of(beta), given=(f"{self.features.count} features",),
            rows=int(rows) if output is None else None,
            besides=("made for smooth queries: bound(query) states the error of one",),
        )  # fmt: skip

    def distribution(self, output: npt.ArrayLike) -> GridDistribution:
        """The distribution on the grid nearest to what was released."""
        tables = cosines(self.features.axes, self.order)
        found = fit(tables, self.features.degrees, self.means(output)[0])
        return GridDistribution(self.schema, self.columns, self.features.axes, found.cells, found.weights)

    def points(self, output: npt.ArrayLike) -> dict[str, Any]:
        """The points of that distribution in the columns' own units, and their weights."""
        found = self.distribution(output)
        return {**found.values(), WEIGHT: found.weights}

    @property
    def order(self) -> int:
        """One more than the highest degree of a feature in one column."""
        return max(max(degree) for degree in self.features.degrees) + 1

    def to_record(self) -> dict[str, object]:
        """Public parameters."""
        return {
            "type": "trigonometric",
            "columns": list(self.columns),
            "order": self.order,
            "cells": [axis.cells for axis in self.features.axes],
            "steps": [axis.step for axis in self.features.axes],
            "body": self.body.name,
            "scale": self.scale,
            "epsilon": self.epsilon,
        }

    @classmethod
    def from_record(cls, query: SmoothRows, record: Mapping[str, Any]) -> Trigonometric:
        """The mechanism of a question that `to_record` described."""
        sides = zip(query.columns, record["cells"], strict=True)
        axes = tuple(axes_of((name,), query.schema, cells)[0] for name, cells in sides)
        features = Chebyshev(axes, degrees_below(len(axes), record["order"]))
        return cls(query, features, law_named(record["body"]), record["scale"], record["epsilon"])


def _features(query: SmoothRows, delta: float | None) -> Chebyshev:
    """The features and grid asked for, or those of the document as far as memory allows."""
    schema, columns, d = query.schema, query.columns, len(query.columns)
    smoothness, order, grid = query.details.smoothness, query.details.order, query.details.grid
    if (order is None or grid is None) and schema.size is None:
        raise UnsupportedQuery("declare size= in the schema, or give order= and grid=")
    printed = printed_parameters(schema.size or 1, d, smoothness, delta)
    t, side = order or max(2, printed[0]), grid or min(max(2, printed[1]), math.floor(MOST_POINTS ** (1 / d) + 1e-9))
    if t < 2 or t**d > MOST_FEATURES:
        raise UnsupportedQuery(
            f"{d} columns at order {t} make {float(t) ** d:.3g} features, of which 1 to {MOST_FEATURES} are feasible; "
            "lower order=, take fewer columns, or synthesize with features by degree"
        )
    if side < 2 or side**d > MOST_POINTS:
        raise UnsupportedQuery(
            f"a grid of {side} points a side has {float(side) ** d:.3g} points in {d} columns, about "
            f"{40 * float(side) ** d / 2**30:.3g} GiB; at most {MOST_POINTS:,}: lower grid= or take fewer columns"
        )
    return Chebyshev(axes_of(columns, schema, side), degrees_below(d, t))


def _counted(schema: Schema, columns: tuple[str, ...]) -> bool:
    imputed = all(schema.space(name).settled for name in columns)
    return schema.fixed_size is None or not imputed


def _vector(query: SmoothRows, features: Chebyshev) -> Vector:
    """Sensitivities of the features' sums and, where it is released, of the scaled count."""
    schema, columns = query.schema, query.columns
    l1, l2, linf = (features.sensitivity(norm, schema) for norm in ("l1", "l2", "linf"))
    l2 = min(l1, l2)  # a bound in a larger norm is one in a smaller
    linf = min(l2, linf)
    name = f"features of {', '.join(columns)}"
    if not _counted(schema, columns):
        return Vector(name, features.count, l1, l2, linf)
    rows = float(features.scale * schema.unit.rows)
    both = round_up(math.sqrt(l2 * l2 + rows * rows), 4)
    return Vector(name, features.count + 1, l1 + rows, both, max(linf, rows))
