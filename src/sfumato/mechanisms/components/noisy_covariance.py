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
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from sfumato.accounting.laws import Law
from sfumato.mechanisms.functions.spectral import simulated, symmetric_normal
from sfumato.mechanisms.mechanism import Answering
from sfumato.mechanisms.noise.additive import Lattice, checked
from sfumato.mechanisms.noise.gauges import BALL, CUBE
from sfumato.mechanisms.noise.law import Moved, NoiseLaw, Root
from sfumato.mechanisms.noise.laws import law_named, must_be_known, pure_laws
from sfumato.mechanisms.noise.normals import NORMAL
from sfumato.numeric import round_up
from sfumato.privacy.guarantees import Approximate, Concentrated, Guarantee, Pure
from sfumato.queries.components import UNIT, Moments
from sfumato.randomness import Rng
from sfumato.sampling import RoundedNormal
from sfumato.sampling.ball import BallNoise
from sfumato.sampling.law import check_scale

__all__ = ["NoisyCovariance"]

NARROW = Fraction(5793, 8192)  # not below 1 / sqrt(2)


@dataclass(frozen=True, slots=True)
class NoisyCovariance(Answering):
    """Noise of a given scale on all second moments; the claim follows from the body, and from `epsilon` if given.

    Proof: docs/proofs/noisy_covariance.md.
    """

    query: Moments
    body: NoiseLaw
    scale: float
    epsilon: float | None = None

    def __post_init__(self) -> None:
        must_be_known(self.body)
        check_scale("scale", self.scale)
        self._noise_law()
        if self.epsilon is not None:
            Pure(self.epsilon)

    @classmethod
    def calibrate(cls, query: Moments, target: Guarantee, body: NoiseLaw | None = None) -> NoisyCovariance:
        """The least noisy mechanism of this body, by default the best that fits the target."""
        bodies = (body,) if body else (NORMAL,) if NORMAL.meets(target) else pure_laws(query.dimension)
        made = [cls(query, one, *one.calibrate(_moved(query, one), target)) for one in bodies]
        return min(made, key=lambda one: one.error(0.5))

    @property
    def multiples(self) -> tuple[int, int, int, int]:
        """What squares, products, sums and count are multiplied by before cube noise is added."""
        if self.body != CUBE:
            return 1, 1, 1, 1
        return _multiples(self.query)

    def guarantee(self, distance: int = 1) -> Pure | Concentrated | Approximate:
        """What one release costs between tables `distance` units apart."""
        return self.body.claim(_moved(self.query, self.body), self.scale, self.epsilon, distance)

    def loss(self, distance: int = 1) -> Law | None:
        """A pair of laws on the line that dominates one release, where one is known."""
        return self.body.loss(_moved(self.query, self.body), self.scale, distance)

    def error(self, beta: float = 0.05) -> float:
        """The spectral norm of the noise in the sums, in rows, exceeded with probability at most `beta`."""
        size = self.query.size + (self.query.counted or self.query.details.center)
        if self.body == BALL:
            parts = 1.0, float(1 / NARROW)
            found = self.scale * simulated(BALL, (size, 0), parts, self.query.dimension, beta)
        elif self.body == NORMAL:
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
        law = self._noise_law()
        if law is not None:
            return law.sample(rng).astype(object)
        if self.body != NORMAL:
            return np.asarray(self.body.on(self.scale, self.query.dimension).sample(1, rng)[0], dtype=object)
        wide, narrow = RoundedNormal(self.scale), RoundedNormal(round_up(self.scale / math.sqrt(2), 2))
        laws = zip((wide, narrow, narrow, wide), self.query.groups, strict=True)
        parts = [np.asarray(law.sample(count, rng)) for law, count in laws if count]
        return np.asarray(np.concatenate(parts), dtype=object)

    def _noise_law(self) -> BallNoise | None:
        """The stretched law of the ball's whole vector."""
        if self.body != BALL:
            self.body.on(self.scale, self.query.dimension)
            return None
        widths = (Fraction(1), NARROW, NARROW, Fraction(1))
        parts = zip(self.query.groups, widths, strict=True)
        return BallNoise(self.scale, tuple((count, width) for count, width in parts if count))

    def to_record(self) -> dict[str, object]:
        """Public parameters."""
        return {"type": "noisy-covariance", "body": self.body.name, "scale": self.scale, "epsilon": self.epsilon}

    @classmethod
    def from_record(cls, query: Moments, record: Mapping[str, Any]) -> NoisyCovariance:
        """The mechanism that `to_record` describes."""
        return cls(query, law_named(record["body"]), record["scale"], record["epsilon"])


def _multiples(query: Moments) -> tuple[int, int, int, int]:
    """Whole numbers that bring the reach of every kind of entry near the largest."""
    largest = max(reach for reach, count in zip(query.reaches, query.groups, strict=True) if count)
    squares, products, sums, count = (max(1, largest // max(1, reach)) for reach in query.reaches)
    return squares, products, sums, count


def _moved(query: Moments, body: NoiseLaw) -> Moved:
    """How far one unit moves the multiplied vector in the body's norm."""
    if body.norm == "l1":
        return Fraction(query.l1)
    if body.norm == "l2":
        return Root(query.squared_frobenius)
    moved = zip(query.reaches, _multiples(query), query.groups, strict=True)
    return Fraction(max(reach * factor for reach, factor, count in moved if count))
