"""Linear images: matrix @ body.

If the matrix is injective this is a body again (inside its range), with the gauge of the preimage.  If not, it
is the image of a body in a larger space: `uniform` maps uniform points, which are not uniform on the image,
and gamma(degrees + 1) times such a point is the image of the larger body's noise (noise on a histogram or on
strategy answers, followed by a linear map).  The gauge is then the least gauge of a preimage.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from sfumato.elimination import rank, spanned
from sfumato.errors import ParameterError
from sfumato.randomness import Rng
from sfumato.sampling.bodies import body
from sfumato.sampling.bodies.enclosure import norm_bound, preimage_bound
from sfumato.sampling.bodies.frame import row_units
from sfumato.sampling.bodies.lp_ball import CrossPolytope, Cube, LpBall
from sfumato.sampling.bodies.programs import least_norm_preimages
from sfumato.sampling.reals import Reals, real_matrix

__all__ = ["Image"]


@dataclass(frozen=True, slots=True, eq=False)
class Image:
    """{matrix u : u in body}, the body an l_p ball.

    >>> Image(CrossPolytope(3), [[1, 1, 0], [0, 1, 1]]).gauge([[1.0, 2.0]]).tolist()
    [2.0]
    """

    body: CrossPolytope | Cube | LpBall
    matrix: Reals

    def __post_init__(self) -> None:
        matrix = real_matrix("matrix", self.matrix)
        if matrix.shape[1] != self.body.dimension:
            raise ParameterError(
                f"matrix must have {self.body.dimension} columns, one a coordinate of the body, got {matrix.shape}"
            )
        if not matrix.any():
            raise ParameterError("matrix is zero: its image is a point; such a query needs no noise")
        object.__setattr__(self, "matrix", matrix)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Image):
            return False
        return self.body == other.body and np.array_equal(self.matrix, other.matrix)

    def __hash__(self) -> int:
        return hash((self.body, self.matrix.shape, self.matrix.tobytes()))

    @property
    def dimension(self) -> int:
        """Of the space that holds the image."""
        return int(self.matrix.shape[0])

    @property
    def degrees(self) -> int:
        """Of the space that holds the body."""
        return self.body.dimension

    @property
    def extent(self) -> float:
        """The largest coordinate of a point: attained for the cube, at most that for the other balls."""
        reach = np.abs(self.matrix)
        return self.body.extent * float(reach.max() if self.body.order == 1 else reach.sum(axis=1).max())

    @property
    def rank(self) -> int:
        """Of the matrix, exactly."""
        return _rank(self)

    @property
    def injective(self) -> bool:
        """Whether the image is a copy of the body."""
        return self.rank == self.degrees

    def gauge(self, points: npt.ArrayLike) -> Reals:
        """The least gauge of a preimage, for each row; infinite outside the range of the matrix."""
        z = body.rows(points, self.dimension)
        guesses = self._least(z)
        return np.where(self._maps(guesses, z), self.body.gauge(guesses), np.inf)

    def gauge_bound(self, points: npt.ArrayLike) -> Reals:
        """The gauge, rounded up.  Rows beyond the matrix' rank must follow from the others exactly."""
        z = body.rows(points, self.dimension)
        guesses = self.preimages(z)
        if bool((self.matrix @ guesses.T == z.T).all()) and _integers(self.matrix, guesses, z):
            return self.body.gauge_bound(guesses)
        if self.rank < self.dimension:
            rounding = 1 + 1e-9  # the preimages are rounded; that a row lies in the range is not
            inside = self._maps(guesses, z) & spanned(np.asarray(self.matrix).T, z)
            return np.where(inside, self.body.gauge_bound(guesses) * rounding, np.inf)
        bound = preimage_bound(np.asarray(self.matrix), z, guesses)
        return np.asarray(np.nextafter(norm_bound(bound, self.body.order) / self.body.size, np.inf))

    def contains(self, points: npt.ArrayLike) -> npt.NDArray[np.bool_]:
        """Whether each row is proven to lie inside."""
        return np.asarray(self.gauge_bound(points) <= 1)

    def preimages(self, z: Reals) -> Reals:
        """A small preimage of each row, where there is one; integer where that is easily found.

        Columns of the matrix and, in a cross-polytope of radius 2 or more, their differences are recognized;
        others are the least preimages, rounded to integers where that is exact.
        """
        guesses, known = np.zeros((len(z), self.degrees)), np.zeros(len(z), dtype=np.bool_)
        if isinstance(self.body, CrossPolytope) and not self.injective:
            known = recognize(np.asarray(self.matrix), z, guesses, differences=self.body.radius >= 2)
        others = np.flatnonzero(~known)
        if others.size:
            guesses[others] = self._least(z[others])
        nearest = np.rint(guesses)
        near = (np.abs(guesses - nearest) < 1e-6).all(axis=1) & (nearest @ self.matrix.T == z).all(axis=1)
        return np.where(near[:, None], nearest, guesses)

    def _least(self, z: Reals) -> Reals:
        if self.injective:
            return np.asarray(np.linalg.lstsq(self.matrix, z.T, rcond=None)[0].T, dtype=np.float64)
        return least_norm_preimages(np.asarray(self.matrix), z, self.body.order)

    def _maps(self, guesses: Reals, z: Reals) -> npt.NDArray[np.bool_]:
        """Whether each guess is a preimage up to rounding, every coordinate in its own unit."""
        units = row_units(np.asarray(self.matrix)).T
        gap = np.abs(guesses @ self.matrix.T - z) / units
        return np.asarray(gap.max(axis=1) <= 1e-9 * np.abs(z / units).max(axis=1))

    def volume(self) -> float | None:
        """|det matrix| Vol(body) for square matrices; None for others."""
        if self.dimension != self.degrees:
            return None
        sign, logs = np.linalg.slogdet(self.matrix)
        return math.exp(float(logs)) * self.body.volume() if sign else 0.0

    def uniform(self, count: int, rng: Rng) -> Reals:
        """Images of independent uniform points of the body, one a row."""
        return np.asarray(self.body.uniform(count, rng) @ self.matrix.T)

    def mean_norm(self, norm: str, rng: Rng, order: float = 1.0) -> float:
        """E ||matrix u||^order, exact for the mean square in l2, simulated otherwise."""
        if norm == "l2" and order == 2:
            return float(np.trace(self.covariance()))
        return body.mean_norm(self, norm, rng, order)

    def covariance(self) -> Reals:
        """E of the outer square of a mapped uniform point."""
        return np.asarray(self.matrix @ self.body.covariance() @ self.matrix.T)


def recognize(matrix: Reals, z: Reals, guesses: Reals, differences: bool) -> npt.NDArray[np.bool_]:
    """Fill in the preimages of the rows of z that are signed columns, or differences of two; tell which are."""
    known = np.zeros(len(z), dtype=np.bool_)
    places: dict[bytes, list[int]] = {}
    for row, line in enumerate(z + 0.0):
        places.setdefault(line.tobytes(), []).append(row)

    def enter(vectors: Reals, plus: npt.NDArray[np.int64], minus: int | None) -> None:
        for sign in (1.0, -1.0):
            for j, line in zip(plus.tolist(), sign * vectors + 0.0, strict=True):
                for row in places.get(line.tobytes(), ()):
                    if not known[row]:
                        known[row], guesses[row, j] = True, sign
                        if minus is not None:
                            guesses[row, minus] = -sign

    columns = np.ascontiguousarray(matrix.T)
    enter(columns, np.arange(len(columns)), None)
    for i in range(len(columns) if differences else 0):
        if known.all():
            break
        enter(columns[i + 1 :] - columns[i], np.arange(i + 1, len(columns)), i)
    return known


@lru_cache(maxsize=64)
def _rank(image: Image) -> int:
    return rank(image.matrix)


def _integers(*arrays: Reals) -> bool:
    return all(bool((np.abs(a) < 2**26).all() and (a == np.floor(a)).all()) for a in arrays)
