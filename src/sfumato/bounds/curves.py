"""Which bound speaks about the release of a density, a distribution or a mean curve: values at points are linear.

At points y the curve without noise is, up to the rounding of its coefficients, the mean over rows of what a row at
each place adds; replaced rows exchange places.  So `bounds/linear.py` bounds the mean square over the points, on one
worst table for all of them.  Proof: docs/proofs/bounds-curves.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Protocol, TypeVar

import numpy as np
import numpy.typing as npt

from sfumato.answers.certificate import Certificate, NoBoundKnown, certified
from sfumato.bounds.averages import least_average
from sfumato.bounds.exchanges import families_of_columns
from sfumato.bounds.line import words
from sfumato.bounds.linear import Floats, best_family
from sfumato.bounds.linear import among as of_tables
from sfumato.bounds.reachability import emptiness, most_rows, restriction
from sfumato.privacy.adjacency import Replace
from sfumato.privacy.guarantees import Guarantee
from sfumato.queries.functions.density import Density
from sfumato.queries.functions.groups import CurvesByGroup
from sfumato.queries.functions.means import MeanCurve
from sfumato.queries.functions.question import FunctionQuestion
from sfumato.queries.vector import Noise, Whole

__all__ = ["certify_curves_by_group", "certify_density", "certify_mean_curve"]

MEASURE = "root mean square noise at a point, over points where records may lie"
SAMPLED = {1: 32, 2: 6, 3: 3}  # points a side
NAME = "least variance of a count, ellipsoid of rows in different places"
MISSED = 0.05  # the chance that the true number of rows lies above the upper limit
CHANCES = (1e-40, 1e-30, 1e-24, 1e-20, 1e-17, 1e-14, 1e-11)  # that the divisor lies lower
FINER = 1.02  # over what rows between the points may add to the largest curve


# Points to look at, what a row of each kind adds there, one a column, and the radius of a ball that holds all kinds.
Kinds = tuple[Floats, Floats, float | None]
Asked = TypeVar("Asked", bound=FunctionQuestion, covariant=True)


class Waved(Protocol[Asked]):
    """Noise of one law on the coefficients of a curve, in the units and with the waves of its own question."""

    @property
    def query(self) -> Asked: ...

    @property
    def noise(self) -> Noise: ...


def certify_density(
    question: Density, mechanism: Waved[Density], claim: Guarantee, output: Whole | None = None
) -> Certificate | NoBoundKnown:
    """The certificate of noise on a kernel density or its integral, at the public, declared or released size."""
    hindered = restriction(question.query, question.schema)
    return _certify(
        question, mechanism, claim, hindered, _rows_of(question, mechanism, output), _columns(mechanism.query)
    )


def certify_mean_curve(
    question: MeanCurve, mechanism: Waved[MeanCurve], claim: Guarantee, output: Whole | None = None
) -> Certificate | NoBoundKnown:
    """The certificate of noise on a mean of curves, at the public, declared or released size."""
    hindered = restriction(question.query, question.schema)
    return _certify(
        question, mechanism, claim, hindered, _rows_of(question, mechanism, output), _waves(mechanism.query)
    )


def certify_curves_by_group(
    question: CurvesByGroup, mechanism: Waved[CurvesByGroup], claim: Guarantee, output: Whole | None = None
) -> Certificate | NoBoundKnown:
    """The certificate of noise on the curves of groups, at the declared size, rows shared equally by the groups."""
    size, groups = question.schema.size, question.groups.count
    each = None if size is None else max(1, size // groups)
    hindered = emptiness(question.groups, question.schema) or restriction(question.query, question.schema)
    kinds = PARTS[type(mechanism.query.part)](mechanism.query.part)
    return _certify(question, mechanism, claim, hindered, each, kinds, f"{groups} groups of ")


def _certify(
    question: FunctionQuestion, mechanism: Waved[FunctionQuestion], claim: Guarantee, hindered: str | None,
    size: int | None, kinds: Kinds, groups: str = "",
) -> Certificate | NoBoundKnown:  # fmt: skip
    """At this number of rows; of several groups each has so many, and the mean is over all of them."""
    if hindered is not None:
        return NoBoundKnown(hindered)
    if size is None:
        return NoBoundKnown("it depends on the number of rows; declare size= to preview it")
    answered, public = mechanism.query, question.divisor is not None
    points, columns, radius = kinds
    shown = answered.reading.design(points) * answered.worth / math.sqrt(len(points))
    values, spread = shown @ columns, mechanism.noise.variance * float((shown**2).sum())
    least, more = _least(question, values, claim, size)
    rounding = float(np.linalg.norm(np.abs(shown).sum(axis=1))) / (2 * size)  # half a step of each coefficient
    root = max(math.sqrt(least) - rounding, 0.0)
    if public:
        return certified(math.sqrt(spread) / size, root, MEASURE, NAME, of_tables(claim, size))
    tables = f"table of {groups}{size:,} to {size + more:,} rows" if more else f"table of {groups}{size:,} rows"
    largest = float((values**2).sum(axis=0).max()) * FINER
    if radius is not None:
        largest = (radius * float(np.linalg.norm(shown, 2))) ** 2
    achieved = math.sqrt(_of_ratio(largest, spread, mechanism, size)) / size
    return certified(achieved, root, MEASURE, NAME, words(claim), tables)


def _least(question: FunctionQuestion, values: Floats, claim: Guarantee, size: int) -> tuple[float, int]:
    """The least mean square at this number of rows, and how many more the worst table may have."""
    each = question.schema.unit.rows
    if isinstance(question.schema.adjacency, Replace):
        units = size // each
        return best_family(families_of_columns(each * values / size, False, True, units), claim, units), 0
    average = least_average(values, claim, size, each)
    return average.mean_square, average.more


def _rows_of(question: FunctionQuestion, mechanism: Waved[FunctionQuestion], output: Whole | None) -> int | None:
    """The public number of rows, the upper limit of the released one, or the declared one."""
    weight = mechanism.query.count_weight
    if question.divisor is not None:
        return int(question.divisor)
    if output is None:
        return question.schema.size
    found = (float(output[-1]) + mechanism.noise.quantile(2 * MISSED)) / weight
    return max(1, math.ceil(min(found, most_rows(question.schema))))


def _of_ratio(largest: float, spread: float, mechanism: Waved[FunctionQuestion], size: int) -> float:
    """The mean square of the error times that of rows, on the worst table, where the count is noisy too.

    The error is (Z - f W) / (n + W), f the exact curve, whose mean square over the points is largest for rows in one
    place.  But for a small chance the divisor is above n - h; else it is at least 1, and sums are at most n f + Z.
    """
    weight = mechanism.query.count_weight
    plain, found = spread + largest * mechanism.noise.variance / weight**2, math.inf
    for chance in CHANCES:
        least = max(size - mechanism.noise.quantile(chance) / weight, 1.0)
        rest = 2 * chance * float(size) ** 2 * (spread + (size + 1.0) ** 2 * largest)
        found = min(found, plain * (size / least) ** 2 + rest)
    return found


def _columns(question: Density) -> Kinds:
    """Grid points, and the whole features of a record at each, one a column, before they are rounded in a sum."""
    features = question.features
    places = [_places(axis.count, SAMPLED[len(features.axes)]) for axis in features.axes]
    chosen = np.stack([part.ravel() for part in np.meshgrid(*places, indexing="ij")])
    points = np.stack([axis.points[own] for own, axis in zip(chosen, features.axes, strict=True)], axis=1)
    return points, _rows(question, chosen).T / 2.0**features.shift, None


def _rows(question: Density, places: npt.NDArray[np.int64]) -> Floats:
    """The features of one record at each of the grid points, all but the constant."""
    out = np.ones((places.shape[1], 1))
    for axis, own in zip(question.features.axes, places, strict=True):
        rows = axis.matrix(own)
        out = (out[:, :, None] * rows[:, None, :]).reshape(len(out), -1)
    return out[:, 1:]


def _places(count: int, most: int) -> npt.NDArray[np.int64]:
    """Up to `most` places of a side, spread out."""
    return np.unique(np.linspace(0, count - 1, most).round().astype(np.int64))


def _waves(question: MeanCurve) -> Kinds:
    """The points of the curves, and the whole coefficients of rows that are single waves, up and down, as far as the
    ball and the range allow: computed as those of any row.
    """
    details, projection = question.curves, question.projection
    points = np.array(details.points)
    waves = details.axis.values(points).T * projection.length
    reals = np.concatenate([projection.center + waves, projection.center - waves])
    lattice = projection.lattice
    indices = np.clip(np.rint(reals / lattice.value(1)) - lattice.low, 0, lattice.width).astype(np.int64)
    single = len(details.columns) == 1
    batch = {name: indices if single else indices[:, i] for i, name in enumerate(details.columns)}
    return points[:, None], projection.rows(batch).T.astype(np.float64), projection.radius


PARTS: dict[type, Callable[[Any], Kinds]] = {Density: _columns, MeanCurve: _waves}  # of the curve of one group
