r"""The noisy covariance: one release of all second moments, components read off it.

Definition.  For rows z in {-q..q}^d and y = (z, q) release the distinct entries of sum y y^T (squares, products, and
where needed q z and q^2) plus noise on the lattice.  Normal: rounded N(0, sigma^2) on squares and count, rounded
N(0, sigma^2 / 2) on products and sums: the ellipsoid of the Frobenius norm [DworkTalwarThakurtaZhang2014].  Cube:
weight exp(-||v||_inf / b) on the vector, each kind of entry multiplied by the whole number that evens out its reach.
Ball: density exp(-||z||_2 / b), products and sums divided by sqrt(2), rounded.  Laplace: weight exp(-||v||_1 / b).

Guarantee.   One unit moves the entries by at most F in the Frobenius norm, s in l-infinity (after multiplication) and
l in l1, all from public quantities.  So k units cost rho = (k F)^2 / (2 sigma^2) concentrated, or (epsilon, delta) by
the exact profile at k F; k s / b, k F / b or k l / b pure.  Components, eigenvalues and error bars are post-processing.
Proof: docs/proofs/noisy_covariance.md.

Accuracy.    `error` bounds the spectral norm of the noise in the sums, in rows: sigma sqrt(2 d) and a Gaussian tail for
normal noise; a simulated quantile for the others.  Eigenvalues move by at most that over n, directions by
its ratio to the gap.

Assumes.     Nothing beyond random bits: sums and noise are whole numbers and the samplers exact.

Differs.     [Huang2014] scales the noise by a noisy mean; the second moment has a global sensitivity instead.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from sfumato.errors import ParameterError, UnsupportedQuery
from sfumato.mechanisms.additive import Lattice, approximate, checked, smallest_scale
from sfumato.mechanisms.spectral import simulated, symmetric_normal
from sfumato.numeric import ceil_float, round_up
from sfumato.privacy.conversions import pure_for
from sfumato.privacy.gaussian import gaussian_delta, gaussian_sigma
from sfumato.privacy.guarantees import Approximate, Concentrated, Guarantee, Pure
from sfumato.queries.components import UNIT, Moments
from sfumato.randomness import Rng
from sfumato.sampling import CubeNoise, DiscreteLaplace, RoundedNormal
from sfumato.sampling.ball import BallNoise

__all__ = ["BODIES", "NoisyCovariance", "pure_bodies", "root_up"]

BODIES = ("normal", "cube", "ball", "laplace")
MOST_IN_CUBE = 10_000  # dimensions that cube noise is drawn in
MOST_IN_BALL = 50_000
NARROW = Fraction(5793, 8192)  # not below 1 / sqrt(2)


@dataclass(frozen=True, slots=True)
class NoisyCovariance:
    """Noise of a given scale on all second moments; the claim follows from the body, and from `epsilon` if given."""

    query: Moments
    body: str
    scale: float
    epsilon: float | None = None

    def __post_init__(self) -> None:
        if self.body not in BODIES:
            raise ParameterError(f"body must be one of {', '.join(BODIES)}, got {self.body!r}")
        DiscreteLaplace(self.scale)
        if self.body in ("cube", "ball"):
            self._noise_law()
        if self.epsilon is not None:
            Pure(self.epsilon)

    @classmethod
    def calibrate(cls, query: Moments, target: Guarantee, body: str | None = None) -> NoisyCovariance:
        """The least noisy mechanism of this body, by default the best that fits the target."""
        if isinstance(target, Concentrated) and target.rho > 0 and body in (None, "normal"):
            return cls(query, "normal", smallest_scale(_normal_scale(query.squared_frobenius, target.rho)))
        if isinstance(target, Approximate) and target.delta > 0 and body in (None, "normal"):
            moved = root_up(query.squared_frobenius)
            sigma = gaussian_sigma(moved, target.epsilon, target.delta)
            return cls(query, "normal", smallest_scale(sigma), target.epsilon)
        epsilon = pure_for(target.rho) if isinstance(target, Concentrated) else getattr(target, "epsilon", 0.0)
        if body == "normal" or epsilon <= 0:
            raise UnsupportedQuery(
                f"noise of body {body or 'cube'!r} cannot meet {target!r}; spend more, or with delta"
            )
        made = [
            cls(query, chosen, smallest_scale(ceil_float(Fraction(_reach(query, chosen)) / Fraction(epsilon))))
            for chosen in ((body,) if body else pure_bodies(query.dimension))
        ]
        return min(made, key=lambda one: one.error(0.5))

    @property
    def multiples(self) -> tuple[int, int, int, int]:
        """What squares, products, sums and count are multiplied by before cube noise is added."""
        if self.body != "cube":
            return 1, 1, 1, 1
        return _multiples(self.query)

    def guarantee(self, distance: int = 1) -> Pure | Concentrated | Approximate:
        """What one release costs between tables `distance` units apart."""
        if self.body != "normal":
            return Pure(ceil_float(distance * Fraction(_reach(self.query, self.body)) / Fraction(self.scale)))
        squared = distance**2 * self.query.squared_frobenius
        if self.epsilon is None:
            return Concentrated(ceil_float(Fraction(squared) / Fraction(self.scale) ** 2 / 2))
        if not squared:
            return Approximate(0.0, 0.0)
        return approximate(self.epsilon, gaussian_delta(self.scale, root_up(squared), self.epsilon), distance)

    def error(self, beta: float = 0.05) -> float:
        """The spectral norm of the noise in the sums, in rows, exceeded with probability at most `beta`."""
        size = self.query.size + (self.query.counted or self.query.details.center)
        if self.body == "ball":
            parts = 1.0, float(1 / NARROW)
            found = self.scale * simulated("ball", (size, 0), parts, self.query.dimension | 1, beta)
        elif self.body == "normal":
            found = symmetric_normal(self.scale / math.sqrt(2), size, beta)
        else:
            squares, products, sums, count = self.multiples
            parts = float(min(squares, count)), float(min(products, sums))
            found = self.scale * simulated(self.body, (size, 0), parts, self.query.dimension, beta)
        return (found + size) / UNIT**2  # rounding moves no entry by more than one

    def release(self, answer: Lattice, rng: Rng) -> Lattice:
        """Add the noise.  `answer` is the exact, secret vector of sums; a header says how to read the result."""
        groups, whole = self.query.groups, math.lcm(*self.multiples)
        factors = np.repeat(np.array(self.multiples, dtype=object), groups)
        noise = self._noise(rng)
        noisy = factors * checked(answer, self.query) + noise  # type: ignore[arg-type]
        header = np.array([0, whole], dtype=object)
        return np.concatenate([header, noisy * (whole // factors)])

    def _noise(self, rng: Rng) -> Lattice:
        groups, law = self.query.groups, self._noise_law()
        if isinstance(law, CubeNoise):
            return law.sample(None, rng).astype(object)
        if isinstance(law, BallNoise):
            return law.sample(rng).astype(object)
        if self.body == "laplace":
            return np.asarray(DiscreteLaplace(self.scale).sample(self.query.dimension, rng)).astype(object)
        wide, narrow = RoundedNormal(self.scale), RoundedNormal(round_up(self.scale / math.sqrt(2), 2))
        laws = (wide, narrow, narrow, wide)
        parts = [law.sample(count, rng) for law, count in zip(laws, groups, strict=True) if count]
        return np.concatenate(parts).astype(object)

    def _noise_law(self) -> CubeNoise | BallNoise | None:
        """The law of the whole noise vector, where its coordinates depend on one another."""
        if self.body == "cube":
            return CubeNoise(self.scale, self.query.dimension)
        if self.body == "ball":
            widths = (Fraction(1), NARROW, NARROW, Fraction(1))
            parts = zip(self.query.groups, widths, strict=True)
            return BallNoise(self.scale, tuple((count, width) for count, width in parts if count))
        return None

    def to_record(self) -> dict[str, object]:
        """Public parameters."""
        return {"type": "noisy-covariance", "body": self.body, "scale": self.scale, "epsilon": self.epsilon}


def _multiples(query: Moments) -> tuple[int, int, int, int]:
    """Whole numbers that bring the reach of every kind of entry near the largest."""
    largest = max(reach for reach, count in zip(query.reaches, query.groups, strict=True) if count)
    squares, products, sums, count = (max(1, largest // max(1, reach)) for reach in query.reaches)
    return squares, products, sums, count


def pure_bodies(dimension: int) -> tuple[str, ...]:
    """The bodies of pure noise that can be drawn in this many dimensions."""
    if dimension > MOST_IN_BALL:
        return ("laplace",)
    return ("cube", "ball") if dimension <= MOST_IN_CUBE else ("ball",)


def _reach(query: Moments, body: str) -> float:
    """How far one unit moves the multiplied vector in the body's norm, rounded up."""
    if body == "laplace":
        return ceil_float(Fraction(query.l1))
    if body == "ball":
        return root_up(query.squared_frobenius)
    moved = zip(query.reaches, _multiples(query), query.groups, strict=True)
    return ceil_float(Fraction(max(reach * factor for reach, factor, count in moved if count)))


def _normal_scale(squared: int, rho: float) -> float:
    """The least sigma with squared / (2 sigma^2) <= rho, rounded up."""
    sigma = root_up(squared) / math.sqrt(2 * rho)
    while Fraction(squared) / Fraction(sigma) ** 2 / 2 > Fraction(rho):
        sigma = round_up(sigma)
    return sigma


def root_up(squared: int) -> float:
    """The square root of a whole number, rounded up."""
    root = math.isqrt(squared)
    if root * root == squared:
        return ceil_float(Fraction(root))
    found = ceil_float(Fraction(math.isqrt(squared << 128) + 1, 1 << 64))
    return found
