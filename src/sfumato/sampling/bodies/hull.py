"""The convex hull of signed columns: {sum x_i f_i : sum |x_i| <= 1}, the sensitivity body of a linear query."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from sfumato.deferred import compiled
from sfumato.elimination import rank, spanned
from sfumato.errors import ParameterError
from sfumato.randomness import Rng
from sfumato.sampling.bodies import body, facets
from sfumato.sampling.bodies.enclosure import norm_bound, preimage_bound
from sfumato.sampling.bodies.frame import Frame, distinct_columns, frame, row_units
from sfumato.sampling.bodies.lp_ball import CrossPolytope
from sfumato.sampling.bodies.programs import gauge_by_program, least_norm_preimages
from sfumato.sampling.reals import Reals, real_matrix, uniforms

__all__ = ["Hull"]


@dataclass(frozen=True, slots=True, eq=False)
class Hull:
    """The hull of the columns of `vertices` (d, n) and their negatives.

    >>> Hull([[1, 0, 1], [0, 1, 1]]).gauge([[2.0, 2.0], [1.0, -1.0]]).round(6).tolist()
    [2.0, 2.0]
    """

    vertices: Reals

    def __post_init__(self) -> None:
        vertices = real_matrix("vertices", self.vertices)
        if not vertices.any():
            raise ParameterError("vertices are all zero: the hull is a point; such a query needs no noise")
        object.__setattr__(self, "vertices", vertices)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Hull) and np.array_equal(self.vertices, other.vertices)

    def __hash__(self) -> int:
        return hash((self.vertices.shape, self.vertices.tobytes()))

    @property
    def dimension(self) -> int:
        """Of the space that holds the hull."""
        return int(self.vertices.shape[0])

    @property
    def degrees(self) -> int:
        """The rank of the vertices, exactly: the dimension of the hull itself."""
        return _degrees(self)

    @property
    def extent(self) -> float:
        """The largest coordinate of a point of the hull."""
        return float(np.abs(self.vertices).max())

    @property
    def frame(self) -> Frame:
        """Coordinates in which the hull is round and of full dimension."""
        return _frame(self)

    @property
    def columns(self) -> Reals:
        """The distinct columns, up to sign, without zeros."""
        return distinct_columns(self.vertices)

    def gauge(self, points: npt.ArrayLike) -> Reals:
        """The least sum |x_i| with sum x_i f_i = z, for each row, by pivots; infinite outside the span."""
        z = body.rows(points, self.dimension)
        return np.where(self._near(z), gauge_by_pivots(self.frame, z @ self.frame.drop.T), np.inf)

    def gauge_by_program(self, points: npt.ArrayLike) -> Reals:
        """The same by one linear program a row: slower, independent of the pivots."""
        return gauge_by_program(np.asarray(self.vertices), body.rows(points, self.dimension))

    def tight_gauge_bound(self, points: npt.ArrayLike) -> Reals:
        """The gauge, rounded up, also where vertices lie inside the hull of the others."""
        z = body.rows(points, self.dimension)
        return np.minimum(self.gauge_bound(z), self._enclose(z))

    def gauge_bound(self, points: npt.ArrayLike) -> Reals:
        """The gauge, rounded up; 1 for the vertices themselves, wherever they lie."""
        z = body.rows(points, self.dimension)
        known = {column.tobytes() for column in np.hstack([self.columns, -self.columns]).T + 0.0}
        own = np.array([row.tobytes() in known for row in z + 0.0])
        bound = np.where(z.any(axis=1), 1.0, 0.0)
        others = np.flatnonzero(~own & z.any(axis=1))
        if others.size:
            bound[others] = self._enclose(z[others])
        return bound

    def contains(self, points: npt.ArrayLike) -> npt.NDArray[np.bool_]:
        """Whether each row is proven to lie inside."""
        return np.asarray(self.gauge_bound(points) <= 1)

    def volume(self) -> float | None:
        """Exact where the hull can be cut into simplices (small dimension); None elsewhere."""
        from sfumato.sampling.bodies import simplices

        if self.degrees < self.dimension:
            return 0.0
        if self.degrees == len(self.columns.T):
            _, logs = np.linalg.slogdet(self.columns)
            return float(np.exp(logs)) * CrossPolytope(self.dimension).volume()
        return simplices.volume(self) if simplices.affordable(self) else None

    def uniform(self, count: int, rng: Rng) -> Reals:
        """Uniform points: K-norm draws by the best sampler there is, brought to gauge U^{1/d}."""
        from sfumato.sampling.bodies.knorm import knorm

        draws, _ = knorm(self, 1.0, count, rng)
        return np.asarray(draws / self.gauge(draws)[:, None] * uniforms((count, 1), rng) ** (1 / self.degrees))

    def mean_norm(self, norm: str, rng: Rng, order: float = 1.0) -> float:
        """E ||u||^order over simulated uniform points."""
        return body.mean_norm(self, norm, rng, order)

    def _near(self, z: Reals) -> npt.NDArray[np.bool_]:
        """Whether each row lies in the span up to rounding, every coordinate in its own unit."""
        if self.degrees == self.dimension:
            return np.ones(len(z), dtype=np.bool_)
        units = row_units(np.asarray(self.vertices)).T
        gap = np.abs(z - z @ self.frame.drop.T @ self.frame.lift.T) / units
        return np.asarray(gap.max(axis=1) <= 1e-9 * np.abs(z / units).max(axis=1))

    def _enclose(self, z: Reals) -> Reals:
        columns = self.columns
        guesses = preimages_by_pivots(self.frame, z @ self.frame.drop.T)
        if self.degrees < self.dimension:  # the basis of the span is rounded; that a row lies in it is not
            return np.where(
                self._near(z) & spanned(columns.T, z), norm_bound(np.abs(guesses), 1.0) * (1 + 1e-9), np.inf
            )
        return norm_bound(preimage_bound(columns, z, guesses), 1.0)


def gauge_by_pivots(coordinates: Frame, points: Reals) -> Reals:
    """Walk from point to point over the facets; without a compiler, a program each."""
    out = np.zeros(len(points))
    some = np.flatnonzero(points.any(axis=1))
    if some.size and not compiled():
        out[some] = gauge_by_program(coordinates.columns, points[some])
    elif some.size:
        state = facets.locate(coordinates.columns, start(coordinates))
        found = np.empty(some.size)
        facets.gauges(coordinates.columns, state, np.ascontiguousarray(points[some]), found)
        lost = np.isnan(found)  # a walk that rounding led astray
        if lost.any():
            found[lost] = gauge_by_program(coordinates.columns, points[some][lost])
        out[some] = found
    return out


def preimages_by_pivots(coordinates: Frame, points: Reals) -> Reals:
    """For each row z a basic x with columns @ x about z and sum |x_i| the gauge."""
    if not compiled():
        return least_norm_preimages(coordinates.columns, points, 1.0)
    out = np.zeros((len(points), coordinates.columns.shape[1]))
    state = facets.locate(coordinates.columns, start(coordinates))
    gauge = np.empty(1)
    for row, z in zip(out, points, strict=True):
        facets.gauges(coordinates.columns, state, z[None], gauge)
        row[state[0]] = state[2] * state[6]
    return out


def start(coordinates: Frame) -> Reals:
    """A public point in general position: irrational multiples of the axes."""
    return np.sqrt(np.arange(2, coordinates.rank + 2)) % 1 - 0.5


@lru_cache(maxsize=64)
def _degrees(hull: Hull) -> int:
    return rank(hull.columns)


@lru_cache(maxsize=32)
def _frame(hull: Hull) -> Frame:
    return frame(np.asarray(hull.vertices))
