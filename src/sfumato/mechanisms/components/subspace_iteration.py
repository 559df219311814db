r"""Private subspace iteration: the leading directions of a second moment by repeated noisy products.

Definition.  Let A = sum z z^T over the rows.  From a random orthonormal X of k columns repeat L times: round X to a
lattice, release W = A X + noise, and let X be an orthonormal basis of W.  The trace of A, and the number of rows, are
released beside it, as one more product [Hardt2013; Huang2014, algorithms 6 and 7, noise matrices d x k].

Guarantee.   ||X|| <= c is checked in whole numbers.  One row of ||z||^2 <= P moves A X by at most P c in l2,
P c sqrt(d k) in l1 and side sqrt(P) c in l-infinity (twice that, and sqrt(2) in l2, for a replaced row).  So L + 1
adaptive releases cost (L + 1) (k s)^2 / (2 sigma^2) concentrated, (epsilon, delta) with the Gaussian profile at
sqrt(L + 1) k s, or (L + 1) k s / b pure.  Proof: docs/proofs/subspace_iteration.md.

Accuracy.    `error` bounds the spectral norm of the last noise matrix, in rows.  With g = 1 - lambda_{k+1} / lambda_k
and L >= log(d) / g or so, the angle is of the order of (sigma / lambda_k) sqrt(d) / g [Hardt2013; the gap of Huang2014,
theorem 2.11, corrected]; eigenvalues are Ritz values, within the released residual of an eigenvalue.

Assumes.     Nothing beyond random bits: sums, directions and noise are whole numbers and the samplers exact.

Differs.     From the uncentered second moment, no noisy mean, no factor 10; Ritz values in place of column norms, which
never fall below sigma sqrt(d), the term that Huang2014's theorem 2.12 misses.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from sfumato.accounting.laws import Law
from sfumato.errors import ParameterError, UnsupportedQuery
from sfumato.mechanisms.components.noisy_covariance import NoisyCovariance
from sfumato.mechanisms.functions.spectral import rectangular_normal, simulated
from sfumato.mechanisms.mechanism import Answering
from sfumato.mechanisms.noise.additive import Lattice, checked
from sfumato.mechanisms.noise.law import Moved, NoiseLaw, Root, far
from sfumato.mechanisms.noise.laws import law_named, must_be_known, pure_laws
from sfumato.mechanisms.noise.normals import NORMAL
from sfumato.privacy.guarantees import Approximate, Concentrated, Guarantee, Pure
from sfumato.queries.components import UNIT, Moments
from sfumato.queries.spectra import DIRECTION
from sfumato.randomness import Rng
from sfumato.sampling import RoundedNormal
from sfumato.sampling.law import check_scale

__all__ = ["SubspaceIteration", "component_mechanisms"]

ITERATIONS = 5


@dataclass(frozen=True, slots=True)
class SubspaceIteration(Answering):
    """`iterations` noisy products with noise of a given scale; for second moments that are not centered.

    Proof: docs/proofs/subspace_iteration.md.
    """

    query: Moments
    body: NoiseLaw
    scale: float
    iterations: int = ITERATIONS
    epsilon: float | None = None

    def __post_init__(self) -> None:
        if self.query.details.center:
            raise UnsupportedQuery("subspace iteration needs center=False; the noisy covariance centers")
        must_be_known(self.body)
        if not (isinstance(self.iterations, int) and 1 <= self.iterations <= 1000):
            raise ParameterError(f"iterations must be a whole number from 1 to 1000, got {self.iterations!r}")
        check_scale("scale", self.scale)
        self.body.on(self.scale, self.query.size * self.query.details.k)
        if self.epsilon is not None:
            Pure(self.epsilon)

    @classmethod
    def calibrate(
        cls, query: Moments, target: Guarantee, body: NoiseLaw | None = None, iterations: int = ITERATIONS
    ) -> SubspaceIteration:
        """The least noisy mechanism of this body, by default the best that fits the target."""
        chosen = body or (NORMAL if NORMAL.meets(target) else _best_body(query))
        scale, epsilon = chosen.calibrate(_moved(query, chosen, iterations + 1), target)
        return cls(query, chosen, scale, iterations, epsilon)

    def guarantee(self, distance: int = 1) -> Pure | Concentrated | Approximate:
        """What one release costs between tables `distance` units apart."""
        moved = _moved(self.query, self.body, self.iterations + 1)
        return self.body.claim(moved, self.scale, self.epsilon, distance)

    def loss(self, distance: int = 1) -> Law | None:
        """A pair of laws on the line that dominates one release, where one is known."""
        if self.body != NORMAL:
            return None
        return NORMAL.loss(_moved(self.query, NORMAL, self.iterations + 1), self.scale, distance)

    def error(self, beta: float = 0.05) -> float:
        """The spectral norm of the last noise matrix, in rows, exceeded with probability at most `beta`."""
        d, k = self.query.size, self.query.details.k
        if self.body == NORMAL:
            found = rectangular_normal(self.scale, d, k, beta)
        else:
            found = self.scale * simulated(self.body, (d, k), (1.0, 1.0), d * k, beta)
        return (found + math.sqrt(d * k)) / (UNIT**2 * DIRECTION)

    def release(self, answer: Lattice, rng: Rng) -> Lattice:
        """Iterate.  `answer` is the exact, secret vector of sums; a header says how to read the result."""
        d, k = self.query.size, self.query.details.k
        exact = checked(answer, self.query)  # type: ignore[arg-type]
        moment = _matrix(np.asarray(exact, dtype=object), d)
        frame = _lattice_frame(np.asarray(RoundedNormal(1e6).sample((d, k), rng), dtype=np.float64))
        for _ in range(self.iterations):
            start = frame
            image = moment.dot(start) + self._noise((d, k), rng)
            frame = _lattice_frame(image.astype(np.float64))
        totals = [np.trace(moment), *exact[d + d * (d - 1) // 2 :]]
        noisy = DIRECTION * np.array(totals, dtype=object) + self._noise((len(totals),), rng)
        header = np.array([self.iterations, 1], dtype=object)
        return np.concatenate([header, start.reshape(-1), image.reshape(-1), noisy])

    def _noise(self, shape: tuple[int, ...], rng: Rng) -> npt.NDArray[Any]:
        drawn = self.body.on(self.scale, math.prod(shape)).sample(1, rng)
        return drawn.astype(object).reshape(shape)

    def to_record(self) -> dict[str, object]:
        """Public parameters."""
        return {
            "type": "subspace-iteration", "body": self.body.name, "scale": self.scale, "iterations": self.iterations,
            "epsilon": self.epsilon,
        }  # fmt: skip

    @classmethod
    def from_record(cls, query: Moments, record: Mapping[str, Any]) -> SubspaceIteration:
        """The mechanism that `to_record` describes."""
        return cls(query, law_named(record["body"]), record["scale"], record["iterations"], record["epsilon"])


Made = tuple[NoisyCovariance | SubspaceIteration, float, str]


def component_mechanisms(query: Moments, target: Guarantee) -> list[Callable[[], Made]]:
    """The mechanisms for components that may meet the target, each with the typical spectral norm of its noise."""
    bodies = (*((NORMAL,) if NORMAL.meets(target) else ()), *pure_laws(query.dimension))
    found: list[Callable[[], Made]] = [partial(_at_once, query, target, body) for body in bodies]
    return found if query.details.center or query.size == 1 else [*found, partial(_iterated, query, target)]


def _at_once(query: Moments, target: Guarantee, body: NoiseLaw) -> Made:
    made = NoisyCovariance.calibrate(query, target, body)
    return made, made.error(0.5), f"noisy covariance, {made.body.name} noise"


def _iterated(query: Moments, target: Guarantee) -> Made:
    made = SubspaceIteration.calibrate(query, target)
    return made, made.error(0.5), f"subspace iteration, {made.body.name} noise"


def _matrix(exact: npt.NDArray[Any], size: int) -> npt.NDArray[Any]:
    """The summed second moment as a symmetric matrix of whole numbers."""
    moment = np.zeros((size, size), dtype=object)
    moment[np.diag_indices(size)] = exact[:size]
    upper = np.triu_indices(size, 1)
    moment[upper] = exact[size : size + len(upper[0])]
    moment.T[upper] = moment[upper]
    return moment


def _cap(query: Moments) -> int:
    """The norm that directions on the lattice are allowed to have."""
    return DIRECTION + math.isqrt(query.size * query.details.k) + 1


def _lattice_frame(image: npt.NDArray[np.float64]) -> npt.NDArray[Any]:
    """An orthonormal basis of the image, in lattice steps; its norm is at most `_cap`, checked in whole numbers."""
    size, k = image.shape
    basis = np.linalg.qr(image / max(float(np.abs(image).max()), 1.0))[0]
    cap = DIRECTION + math.isqrt(size * k) + 1
    while True:
        frame = np.rint(DIRECTION * np.nan_to_num(basis)).astype(np.int64)
        gram = np.abs(frame.T @ frame)
        if int(gram.sum(axis=1).max()) <= cap**2:  # the largest row sum of X^T X bounds its norm
            return np.asarray(frame.astype(object))
        basis = basis * 0.999


def _squared(query: Moments) -> int:
    """The squared l2 distance that one unit moves a product, or the multiplied totals, by at most."""
    p = query.longest
    product = (p * _cap(query)) ** 2
    totals = DIRECTION**2 * (p**2 + UNIT**4 * query.counted)
    return max(product, totals) * query.schema.unit.rows**2 * (2 if query.replaced else 1)


def _moved(query: Moments, body: NoiseLaw, rounds: int) -> Moved:
    """How far one unit moves so many products, or multiplied totals, together in the body's norm.

    In l2 the squares of successive moves add, even where one depends on the other; in the norm of a pure law the moves.
    """
    if body == NORMAL:
        return Root(rounds * _squared(query))
    return rounds * Fraction(far(_once(query, body)))


def _once(query: Moments, body: NoiseLaw) -> Moved:
    """How far one unit moves a product, or the multiplied totals, in the body's norm."""
    if body.norm == "l2":
        return Root(_squared(query))
    p, cap, entries = query.longest, _cap(query), query.size * query.details.k
    if body.norm == "l1":
        product, totals = _ceil_root(entries * (p * cap) ** 2), DIRECTION * (p + UNIT**2 * query.counted)
    else:
        side = min(UNIT, math.isqrt(p))
        product, totals = side * _ceil_root(p * cap**2), DIRECTION * max(p, UNIT**2 * query.counted)
    return Fraction(max(product, totals) * query.schema.unit.rows * (2 if query.replaced else 1))


def _best_body(query: Moments) -> NoiseLaw:
    """Cube or ball noise, whichever has the smaller entries."""
    entries = query.size * query.details.k
    return min(pure_laws(entries), key=lambda body: body.deviation(entries) * far(_once(query, body)))


def _ceil_root(squared: int) -> int:
    root = math.isqrt(squared)
    return root + (root * root < squared)
