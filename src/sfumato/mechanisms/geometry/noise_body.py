r"""The noise body: gamma times a uniform point of a symmetric convex body around everything one unit can do.

Definition.  Let one unit move the integer answer f(x) in Z^d by a signed column of the query, or, if a unit has up to
m rows, by a sum of at most m of the signed columns divided by m.  (Not by any other point of K, their hull: a lattice
law behind a matrix shifts by integer preimages only.) Let K' be a symmetric convex body, or the image A K'' of one in
R^m.  Release f(x) + round(r A u), r from Gamma(m+1, 1/epsilon), u uniform on K''.  Without A this is density
exp(-epsilon ||z||_{K'}): Laplace for the cross-polytope, the l-infinity mechanism for the cube, elliptic noise for an
ellipsoid, K-norm for K itself [HardtTalwar2010].  Cube and cross-polytope, and their images under integer matrices
whose preimages of the columns are integers, use the exact lattice laws with weight exp(-epsilon ||g||) on Z^m
instead.

Guarantee.   If every column has gauge at most s <= 1, k units cost epsilon s k, pure [HardtTalwar2010, theorem 4.1,
with the factor 2 of the general exponential mechanism removed, since the normalizing constant does not depend on x].
Columns and gauges are checked with outward rounding.  A walk within tau of its law in total variation gives
(epsilon, (1 + e^epsilon) tau).  Proof: docs/proofs/noise_body.md.

Accuracy.    E ||noise|| = (m+1)/epsilon E ||A u||; margins by exact tails, or simulated from a fixed seed.

Assumes.     `real-arithmetic` where the noise is drawn in floating point, `mixing` where it comes from a walk; nothing
for the exact lattice laws.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from sfumato.errors import ParameterError, UnsupportedQuery
from sfumato.mechanisms.mechanism import Answering
from sfumato.mechanisms.noise.additive import Lattice, checked
from sfumato.mechanisms.noise.gauges import gauge_claim
from sfumato.mechanisms.noise.law import pure_epsilon
from sfumato.numeric import round_down
from sfumato.privacy.guarantees import Guarantee, Pure
from sfumato.randomness import Rng
from sfumato.sampling import CubeNoise, DiscreteLaplace
from sfumato.sampling.bodies import Body, CrossPolytope, Cube, Ellipsoid, Hull, Image, replacement, sampler, sum_zero
from sfumato.sampling.bodies.lattice import LatticeNoise, RoundedNoise

__all__ = ["Columns", "Linear", "NoiseBody"]

LARGEST = 2.0**53  # of the entries of a query
EDGE = 1e-9  # how far beyond the body rounding may seem to place a column that touches its boundary


class Linear(Protocol):
    """A query with an integer answer, and its columns (d, n).

    One unit moves the answer by a signed column, or by a sum of at most m of them divided by m, m the declared
    `unit_rows` or a divisor of the columns' common factor.
    """

    @property
    def name(self) -> str: ...

    @property
    def dimension(self) -> int: ...

    @property
    def vertices(self) -> npt.NDArray[Any]: ...


@dataclass(frozen=True, slots=True, eq=False)
class Columns:
    """A bare linear query, for mechanisms used by themselves: the columns of its matrix, in lattice units.

    Under replacement the columns are the differences that one replacement makes.  A unit of several rows moves by sums
    of columns divided by `unit_rows`; left open, any common factor of the columns is taken for that number.
    """

    name: str
    vertices: npt.NDArray[Any]
    unit_rows: int | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "vertices", np.array(self.vertices))

    def __eq__(self, other: object) -> bool:
        same = isinstance(other, Columns) and (self.name, self.unit_rows) == (other.name, other.unit_rows)
        return same and np.array_equal(self.vertices, other.vertices)  # type: ignore[attr-defined]

    def __hash__(self) -> int:
        return hash((self.name, self.vertices.tobytes()))

    @property
    def dimension(self) -> int:
        """The number of rows."""
        return int(self.vertices.shape[0])

    def sensitivity(self, norm: str) -> float:
        """The largest norm of a column."""
        order = {"l1": 1.0, "l2": 2.0, "linf": np.inf}[norm]
        largest = float(np.linalg.norm(self.vertices.astype(np.float64), ord=order, axis=0).max())
        return largest if norm != "l2" else math.nextafter(largest, math.inf)


@dataclass(frozen=True, slots=True)
class NoiseBody(Answering):
    """Noise shaped like `body`, which must contain everything one unit can do.

    Proof: docs/proofs/noise_body.md.

    >>> pair = Columns("pair", [[1, 0, 1], [0, 1, 1]])
    >>> NoiseBody(pair, Cube(2), 0.5).guarantee(distance=2)
    Pure(epsilon=1.0)
    """

    query: Linear
    body: Body
    epsilon: float
    patient: bool = False  # a hull is drawn by rejection where a walk would be quicker
    reach: float = field(init=False, repr=False, compare=False)  # the largest gauge of a column, rounded up
    noise: LatticeNoise | RoundedNoise = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if not (isinstance(self.epsilon, int | float) and math.isfinite(self.epsilon) and self.epsilon > 0):
            raise ParameterError(f"epsilon must be positive and finite, got {self.epsilon!r}")
        vertices = columns_of(self.query)
        if self.body.dimension != self.query.dimension:
            raise ParameterError(f"body has dimension {self.body.dimension}, the query {self.query.dimension}")
        reach = float(self.body.gauge_bound(vertices.T.astype(np.float64)).max())
        if not reach <= 1 + EDGE:
            raise ParameterError(
                f"body does not contain what one unit can do: a column has gauge {reach:.6g}; enlarge it by that factor"
            )
        exact = lattice_noise(self.body, vertices, self.epsilon, row_count(self.query, vertices))
        object.__setattr__(self, "reach", exact[1] if exact else reach)
        object.__setattr__(self, "noise", exact[0] if exact else RoundedNoise(self.body, self.epsilon, self.patient))

    @classmethod
    def calibrate(cls, query: Linear, target: Guarantee, body: Body | None = None, patient: bool = False) -> NoiseBody:
        """The least noisy mechanism of this body, by default the sensitivity body itself, that meets a pure target."""
        epsilon = pure_epsilon(target, "a noise body")
        shape: Body = Hull(columns_of(query)) if body is None else body
        made = cls(query, shape, epsilon, patient)
        share = Fraction(epsilon) / Fraction(made.guarantee().epsilon)  # above 1 if the body has room to spare
        made = made if share == 1 else cls(query, shape, float(Fraction(epsilon) * share), patient)
        while made.guarantee().epsilon > epsilon:
            made = cls(query, shape, round_down(made.epsilon), patient)
        return made

    @property
    def assumptions(self) -> frozenset[str]:
        """What the claim takes for granted."""
        if isinstance(self.noise, LatticeNoise):
            return frozenset()
        return frozenset({"real-arithmetic", "mixing"} if self.noise.mixing else {"real-arithmetic"})

    def guarantee(self, distance: int = 1) -> Pure:
        """What one release costs between tables `distance` units apart."""
        if isinstance(self.noise, LatticeNoise):
            return gauge_claim(self.reach, self.noise.law.scale, distance)
        return replace(gauge_claim(self.reach, 1 / Fraction(self.epsilon), distance), assumptions=self.assumptions)

    def error(self, beta: float = 0.05) -> float:
        """The largest coordinate error in lattice units, exceeded with probability at most `beta`."""
        return float(self.margins(beta / self.query.dimension).max())

    def margins(self, beta: float) -> npt.NDArray[np.float64]:
        """For each coordinate a distance that its error exceeds with probability at most `beta`."""
        if not 0 < beta < 1:
            raise ParameterError(f"beta must lie strictly between 0 and 1, got {beta!r}")
        return self.noise.margins(beta)

    def answers(self, output: Lattice) -> npt.NDArray[np.float64]:
        """The answers that an output stands for: itself."""
        return np.asarray(output, dtype=np.float64)

    def mean_error(self, norm: str = "l2") -> float:
        """E ||noise||, in lattice units."""
        return self.noise.mean_norm(norm)

    @property
    def root_mean_square(self) -> float:
        """sqrt(E ||noise||_2^2 / d), in lattice units."""
        return math.sqrt(float(self.noise.variances.mean()))

    def release(self, answer: Lattice, rng: Rng) -> Lattice:
        """Add the noise; a walk starts anew.  `answer` is the exact, secret value of the query."""
        return np.asarray(checked(answer, self.query) + self.noise.sample(1, rng)[0])  # type: ignore[arg-type]

    def to_record(self) -> dict[str, object]:
        """Public parameters."""
        kind = type(self.body).__name__.lower()
        drawn = "lattice" if isinstance(self.noise, LatticeNoise) else "rounded"
        if not isinstance(self.noise, LatticeNoise):
            drawn = self.noise.method or drawn
        return {"type": "noise-body", "body": kind, "epsilon": self.epsilon, "drawn": drawn, **_body_record(self.body)}

    @classmethod
    def from_record(cls, query: Linear, record: Mapping[str, Any]) -> NoiseBody:
        """The mechanism that `to_record` describes: its body as it is, the hull being that of the query's columns."""
        body = _body_from(query, record)
        patient = record["drawn"] == "rejection" and isinstance(body, Hull) and sampler(body) == "walk"
        made = cls(query, body, record["epsilon"], patient)
        if made.to_record()["drawn"] != record["drawn"]:
            raise ParameterError(f"this noise body is not drawn as {record['drawn']!r:.40}")
        return made


def _body_record(body: Body) -> dict[str, Any]:
    """What a body holds besides its kind and dimension."""
    if isinstance(body, Cube):
        return {"radius": body.radius}
    if isinstance(body, Ellipsoid):
        return {"shape": body.shape.tolist()}
    if isinstance(body, Image) and isinstance(body.body, Cube):
        return {"matrix": body.matrix.tolist(), "radius": body.body.radius}
    return {}


def _body_from(query: Linear, record: Mapping[str, Any]) -> Body:
    kind = record["body"]
    if kind == "cube":
        return Cube(query.dimension, record["radius"])
    if kind == "ellipsoid":
        return Ellipsoid(np.array(record["shape"]))
    if kind == "image":
        matrix = np.array(record["matrix"])
        return Image(Cube(matrix.shape[1], record["radius"]), matrix)
    if kind == "hull":
        return Hull(query.vertices)
    raise ParameterError(f"unknown body {kind!r:.40}; known are cube, ellipsoid, image, hull")


def columns_of(query: Linear) -> npt.NDArray[Any]:
    """The query's columns, checked: whole numbers, not all of them zero."""
    vertices = np.asarray(query.vertices)
    if vertices.ndim != 2 or vertices.shape[0] != query.dimension or vertices.shape[1] == 0:
        raise ParameterError(f"query {query.name!r} needs a ({query.dimension}, n) array of columns")
    real = vertices.astype(np.float64)
    if not np.isfinite(real).all():
        raise ParameterError(f"query {query.name!r} has NaN or infinite entries; replace them")
    if not (real == np.floor(real)).all():
        raise ParameterError(f"query {query.name!r} is not on its lattice; quantize its matrix to whole numbers")
    if np.abs(real).max() >= LARGEST:
        raise ParameterError(f"query {query.name!r} has entries of 2**53 or more, beyond the whole doubles; rescale it")
    if not real.any():
        raise UnsupportedQuery(f"query {query.name!r} does not depend on the data; publish it as it is")
    return vertices


def lattice_noise(
    body: Body, vertices: npt.NDArray[Any], epsilon: float, rows: int
) -> tuple[LatticeNoise, float] | None:
    """The exact law of this body, if it has one, and the largest norm of a column's integer preimage."""
    if isinstance(body, Hull) and replacement.applies(body):
        return sum_zero_noise(body, vertices, epsilon)
    if isinstance(body, Hull):
        if body.degrees != body.columns.shape[1]:
            return None
        body = Image(CrossPolytope(body.columns.shape[1]), body.columns)
    if isinstance(body, Image):
        return image_noise(body, vertices, epsilon, rows)
    moved, law = vertices.T.astype(np.float64), axis_law(body, epsilon)
    return None if law is None else (LatticeNoise(law, body.dimension), largest(body, moved))


def sum_zero_noise(body: Hull, vertices: npt.NDArray[Any], epsilon: float) -> tuple[LatticeNoise, float] | None:
    """The same for a histogram under replacement: the gauge is half the l1 norm, over the size of a difference."""
    size, cells = float(np.abs(body.columns).max()), body.dimension
    if cells > sum_zero.LARGEST or vertices.sum(axis=0).any():
        return None
    reach = float(np.abs(vertices).sum(axis=0).max()) / 2
    return LatticeNoise(sum_zero.SumZeroNoise(size / epsilon, cells), cells), reach


def image_noise(
    body: Image, vertices: npt.NDArray[Any], epsilon: float, rows: int
) -> tuple[LatticeNoise, float] | None:
    """The same for an integer matrix, on the finest lattice: common factors move from the matrix to the radius.

    A unit of several rows moves by sums of the columns divided by their number, so preimages are those of these.
    """
    matrix = np.asarray(body.matrix)
    if not isinstance(body.body, Cube | CrossPolytope) or not whole(matrix):
        return None
    common = factor(matrix)
    shape = type(body.body)(body.degrees, body.body.radius * common)
    fine = Image(shape, matrix / common)
    single = vertices.T.astype(np.float64) / rows
    moved = fine.preimages(single)
    if not whole(moved) or not (moved @ fine.matrix.T == single).all():
        return None
    law = axis_law(shape, epsilon)
    return (
        None
        if law is None
        else (LatticeNoise(law, body.degrees, fine.matrix.astype(np.int64)), rows * largest(shape, moved))
    )


def row_count(query: Linear, vertices: npt.NDArray[Any]) -> int:
    """How many rows a unit may have, as far as the lattice must know: declared, or any common factor of the columns."""
    declared, common = getattr(query, "unit_rows", None), factor(vertices)
    if declared is None:
        return common
    if not isinstance(declared, int) or declared < 1 or common % declared:
        raise ParameterError(f"query {query.name!r} declares unit_rows={declared!r}, which must divide all its columns")
    return declared


def axis_law(body: Body, epsilon: float) -> CubeNoise | DiscreteLaplace | None:
    """The integer law with weight exp(-epsilon gauge), for the two bodies that have one."""
    if isinstance(body, Cube):
        return CubeNoise(body.radius / epsilon, body.dimension)
    return DiscreteLaplace(body.radius / epsilon) if isinstance(body, CrossPolytope) else None


def largest(body: Body, moved: npt.NDArray[np.float64]) -> float:
    """The largest norm of a row: l-infinity for the cube, l1 for the cross-polytope."""
    sizes = np.abs(moved)
    return float(sizes.max() if isinstance(body, Cube) else sizes.sum(axis=1).max())


def factor(numbers: npt.NDArray[Any]) -> int:
    """The greatest common divisor of whole numbers, not all zero."""
    return int(np.gcd.reduce(np.abs(np.asarray(numbers)).astype(np.int64), axis=None))


def whole(numbers: npt.NDArray[np.float64]) -> bool:
    """Whether all are integers, small enough for products without rounding."""
    return bool((np.abs(numbers) < 2**26).all() and (numbers == np.floor(numbers)).all())
