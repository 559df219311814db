"""The geometry of linear queries on plain matrices: document 000's mechanisms, volumes and bounds.

Data are vectors x of n real numbers, a histogram among others, and neighbors lie at an l1 distance of at most 1; the
query is a matrix F of shape (d, n), its answer F x, its sensitivity body K the hull of the signed columns.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from sfumato import arguments
from sfumato.answers.certificate import Certificate, NoBoundKnown
from sfumato.bounds import isotropy as isotropy_of
from sfumato.bounds.isotropy import Isotropy
from sfumato.bounds.metric import metric_mean_norm, metric_mean_square
from sfumato.bounds.projections import LARGEST, projected_mean_norm, projected_mean_square
from sfumato.bounds.santalo import volume_radius_above
from sfumato.bounds.volume import Radius
from sfumato.bounds.volume import volume_radius as volume_radius_below
from sfumato.elimination import rank
from sfumato.errors import ParameterError
from sfumato.mechanisms.geometry.nim import NIM
from sfumato.mechanisms.geometry.noise_body import Columns
from sfumato.numeric import round_down
from sfumato.privacy.guarantees import Pure
from sfumato.queries.linear.ellipsoid import least_ellipsoid
from sfumato.randomness import Rng
from sfumato.reference.bound import Bound, certify
from sfumato.reference.calibrated import Calibrated, must_be_generator
from sfumato.reference.real_vectors import RealBody, RealLevels, RealNoise, real_answer
from sfumato.sampling.bodies import Body, CrossPolytope, Cube, Ellipsoid, Hull
from sfumato.sampling.bodies.hit_and_run import hit_and_run
from sfumato.sampling.bodies.lattice import accuracy_draws
from sfumato.sampling.bodies.metropolis import ball_walk, grid_walk

__all__ = [
    "Radii",
    "factorization_norm",
    "isotropy",
    "knorm",
    "laplace",
    "nim",
    "noise_body",
    "uniform",
    "volume_bound",
    "volume_radius",
]

Reals: TypeAlias = npt.NDArray[np.float64]
METRIC = "mechanisms on real vectors whose loss is at most epsilon times every l1 distance"
FINEST = 30  # binary digits behind the point that NIM's lattice keeps of a matrix
WALKS = ("body", "ball", "grid", "hit-and-run")


@dataclass(frozen=True, slots=True)
class Radii:
    """A volume radius between two numbers, which hold together with probability at least `confidence`."""

    lower: float
    upper: float
    confidence: float


def knorm(matrix: npt.ArrayLike, epsilon: float) -> Calibrated[npt.ArrayLike, Reals]:
    """The K-norm mechanism: noise shaped like the sensitivity body itself.

    Proof: docs/proofs/real_vectors.md.

    >>> knorm([[1, 1], [1, -1]], 0.5).guarantee()
    Pure(epsilon=0.5, assumptions=['real-arithmetic'])
    """
    columns = _matrix(matrix)
    return _body("K-norm mechanism", columns, Hull(columns), epsilon)


def laplace(matrix: npt.ArrayLike, epsilon: float) -> Calibrated[npt.ArrayLike, Reals]:
    """The Laplace mechanism: independent noise on the answers, scaled to the largest column's l1 norm.

    Proof: docs/proofs/real_vectors.md.
    """
    columns = _matrix(matrix)
    return _body("Laplace mechanism", columns, CrossPolytope(len(columns), _reach(columns, 1)), epsilon)


def noise_body(
    matrix: npt.ArrayLike, epsilon: float, body: str | npt.ArrayLike = "cube"
) -> Calibrated[npt.ArrayLike, Reals]:
    """Noise shaped like another body around the columns: "cube", "cross-polytope", "ball", or an ellipsoid.

    Proof: docs/proofs/real_vectors.md.

    An ellipsoid is given by a positive definite matrix A, {z : z^T A^-1 z <= 1}, or by "least" for that of the least
    mean square; a body that does not reach all columns is enlarged until it does.
    """
    columns = _matrix(matrix)
    shape = _shape(columns, body)
    return _body("noise body", columns, shape, epsilon)


def nim(matrix: npt.ArrayLike, epsilon: float, share: str = "optimized") -> Calibrated[npt.ArrayLike, Reals]:
    """The recursive mechanism NIM: K-norm noise level by level; `share` of the budget as in `NIM.calibrate`.

    Proof: docs/proofs/real_vectors.md.
    """
    columns, step = _whole(_matrix(matrix))
    levels = NIM.calibrate(Columns("query", columns), Pure(arguments.number("epsilon", epsilon)), share=share)
    return _calibrated("NIM", columns * step, RealLevels(levels, step), epsilon)


def volume_radius(matrix: npt.ArrayLike, confidence: float = 0.999, draws: int = 1500) -> Radii:
    """The radius of the ball with the volume of the sensitivity body: exact up to 4 dimensions, else enclosed.

    Proof: docs/proofs/bounds-volume.md, docs/proofs/bounds-santalo.md.

    >>> found = volume_radius(np.eye(3))
    >>> round(found.lower, 6) == round(found.upper, 6), found.confidence
    (True, 1.0)
    """
    columns = _matrix(matrix)
    half = 1 - (1 - confidence) / 2
    below = volume_radius_below(columns, half, draws)
    if below.is_exact:
        return Radii(below.value, below.value * (1 + 1e-8), 1.0)
    return Radii(below.value, max(volume_radius_above(columns, half).value, below.value), confidence)


def volume_bound(matrix: npt.ArrayLike, epsilon: float, power: int = 1, confidence: float = 0.999) -> Bound:
    """VolLB and GVolLB of document 000 with their constants: the larger of the whole body's and its projections'.

    The class is that of metric privacy on real vectors, `setting` "metric": noise whose loss is bounded for neighbors
    alone, such as a staircase, may stay below it (`sf.bounds.unit_step`).  It holds with this confidence where a volume
    is simulated [HardtTalwar2010].  Proof: docs/proofs/bounds-metric.md, docs/proofs/bounds-projections.md.
    """
    columns, claim = _matrix(matrix), Pure(arguments.number("epsilon", epsilon))
    arguments.whole("power", power, 1, 2)  # of the mean error, or of the mean square
    d = len(columns)
    radius = volume_radius_below(columns, confidence)
    whole = metric_mean_norm if power == 1 else metric_mean_square
    value, name = whole(radius.value, d, epsilon), "volume"
    if d <= LARGEST:
        parts = projected_mean_norm if power == 1 else projected_mean_square
        split = parts(columns, epsilon, 1.0)[0]
        value, name = max((value, name), (split, "volumes of projections"))
    name = name if radius.is_exact else f"{name}, {100 * confidence:g} % confidence"
    return Bound(value, claim, name, METRIC, power=float(power), worst="vector", setting="metric")


def factorization_norm(matrix: npt.ArrayLike, kind: str = "frobenius") -> tuple[float, float]:
    """A factorization norm of the matrix, between two numbers.

    "frobenius" is min ||L||_F max_i ||r_i||_2 over F = L R, r_i the columns of R: times the noise of one count it is
    the root of the total mean square of the best Gaussian matrix mechanism.  "nuclear" is the sum of the singular
    values over the root of the number of columns, which is never above it.
    Proof: docs/proofs/factorization.md, docs/proofs/bounds-linear.md.
    """
    columns = _matrix(matrix)
    if kind == "frobenius":
        found = least_ellipsoid(columns)
        return math.sqrt(found.lower), math.sqrt(found.trace)
    if kind == "nuclear":
        value = float(np.linalg.svd(columns, compute_uv=False).sum()) / math.sqrt(columns.shape[1])
        return value * (1 - 1e-9), value * (1 + 1e-9)
    raise ParameterError(f"kind must be 'frobenius' or 'nuclear', got {kind!r:.40}")


def isotropy(matrix: npt.ArrayLike) -> Isotropy:
    """How round the sensitivity body is, its covariance and volume simulated from a fixed seed.

    Proof: docs/proofs/bounds-isotropy.md.
    """
    columns = _matrix(matrix)
    draws, d = accuracy_draws(Hull(columns)), len(columns)
    covariance = draws.T @ draws / len(draws) / ((d + 1) * (d + 2))
    return isotropy_of(covariance, Radius(volume_radius(columns).lower, 0.999))


def uniform(
    matrix: npt.ArrayLike, count: int, rng: Rng, method: str = "body", *, size: float = 0.3, thin: int = 1
) -> Reals:
    """Points of the sensitivity body, one a row: independent and uniform by "body", else the points of one walk.

    "ball" and "grid" are the walks of document 000 with a refused step counted as a step; `size` is the radius or the
    spacing in coordinates where the body lies between balls of radius 1 and sqrt(d).  "hit-and-run" draws from
    exp(-||z||_K), not uniformly.  A walk's points depend on one another; keep every `thin`-th.
    """
    must_be_generator(rng)
    hull = Hull(_matrix(matrix))
    steps = arguments.whole("count", count) * arguments.whole("thin", thin)
    if method == "body":
        return hull.uniform(count, rng)
    if method == "ball":
        return ball_walk(hull, steps, size, rng)[thin - 1 :: thin]
    if method == "grid":
        return grid_walk(hull, steps, size, rng)[thin - 1 :: thin]
    if method == "hit-and-run":
        return np.asarray(hit_and_run(hull.frame, count, thin, 10 * hull.frame.rank, rng).points @ hull.frame.lift.T)
    raise ParameterError(f"method must be one of {', '.join(WALKS)}, got {method!r:.40}")


def _body(name: str, columns: Reals, body: Body, epsilon: float) -> Calibrated[npt.ArrayLike, Reals]:
    """The least noise of this shape that meets epsilon."""
    wanted = Pure(arguments.number("epsilon", epsilon)).epsilon
    if wanted <= 0:
        raise ParameterError(f"epsilon must be positive, got {epsilon!r}")
    made = RealBody(columns, body, wanted)
    made = RealBody(columns, body, wanted / made.reach)
    while made.guarantee().epsilon > wanted:
        made = RealBody(columns, body, round_down(made.epsilon))
    return _calibrated(name, columns, made, wanted)


def _calibrated(name: str, columns: Reals, noise: RealNoise, epsilon: float) -> Calibrated[npt.ArrayLike, Reals]:
    @cache
    def proven() -> Certificate | NoBoundKnown:
        if rank(columns) < len(columns):
            return NoBoundKnown("the rows of the matrix depend on one another, so that the body has no volume")
        return certify(noise, volume_bound(columns, epsilon))

    return Calibrated(name, noise, lambda x, rng: noise.release(real_answer(columns, x), rng), proven, noise.moment)


def _matrix(matrix: npt.ArrayLike) -> Reals:
    """The matrix in doubles, checked."""
    try:
        columns = np.array(matrix, dtype=np.float64)
    except (TypeError, ValueError):
        raise ParameterError("matrix must be numbers, one row a query and one column an entry of x") from None
    if columns.ndim != 2 or 0 in columns.shape:
        raise ParameterError(
            f"matrix must have one row a query and one column an entry of x, got an array of shape {columns.shape}"
        )
    if not np.isfinite(columns).all() or not columns.any():
        raise ParameterError("matrix must be finite and not all zero")
    return columns


def _whole(columns: Reals) -> tuple[Reals, float]:
    """The matrix in whole multiples of a power of two, exactly."""
    for digits in range(FINEST + 1):
        scaled = columns * 2.0**digits
        if (scaled == np.floor(scaled)).all():
            return scaled, 2.0**-digits
    raise ParameterError(f"NIM takes matrices in whole multiples of 2^-{FINEST}; round the matrix to that first")


def _reach(columns: Reals, order: float) -> float:
    """The largest norm of a column, rounded up."""
    return float(np.linalg.norm(columns, ord=order, axis=0).max()) * (1 + 1e-12)


def _shape(columns: Reals, body: str | npt.ArrayLike) -> Body:
    d = len(columns)
    if isinstance(body, str):
        if body == "cube":
            return Cube(d, _reach(columns, np.inf))
        if body == "cross-polytope":
            return CrossPolytope(d, _reach(columns, 1))
        if body == "ball":
            return Ellipsoid(_reach(columns, 2) ** 2 * np.eye(d))
        if body == "least":
            found = least_ellipsoid(columns).shape
            return Ellipsoid((found + found.T) / 2)  # but for rounding it is symmetric
        raise ParameterError(f"body must be cube, cross-polytope, ball, least or a matrix, got {body!r:.40}")
    shape = np.asarray(body, dtype=np.float64)
    if shape.shape != (d, d):
        raise ParameterError(f"body must be a matrix of shape ({d}, {d}) for an ellipsoid, got {shape.shape}")
    return Ellipsoid(shape)
