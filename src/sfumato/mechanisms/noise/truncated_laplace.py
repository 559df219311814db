r"""The truncated Laplace mechanism: with a delta that is not tiny, the noise of least variance on a count.

Definition.  For f(x) in Z^d release f(x) + (Z_1, ..., Z_d), the Z_i independent with P(Z = z) proportional to
exp(-|z| / b) for |z| < r, at |z| = r to `edge` times that, and 0 beyond [GengDingGuoKumar2020].

Guarantee.   If k units move f by at most s whole steps in l1, s <= r, they cost epsilon = s / b and
delta = P(Z > r - s) + (1 - edge) exp(-(r - s) / b) / total: what an output beyond the other table's reach gives away.
For larger s the claim is that of a group.  Proof: docs/proofs/truncated_laplace.md.

Accuracy.    Exact tails; the error never exceeds r.  For a count no (epsilon, delta)-private mechanism with whole
answers has a smaller worst mean square, and those with real answers hardly (docs/proofs/bounds-truncation.md).

Assumes.     Nothing beyond random bits: the sampler is exact.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from sfumato.errors import ParameterError, UnsupportedQuery
from sfumato.mechanisms.noise.additive import Additive, Answerable, Lattice, noised
from sfumato.mechanisms.noise.law import approximate, both_amounts, far, smallest_scale
from sfumato.numeric import ceil_float, round_up
from sfumato.privacy.guarantees import Approximate, Guarantee
from sfumato.randomness import Rng
from sfumato.sampling.independent import joint_quantile
from sfumato.sampling.truncated_laplace import LARGEST
from sfumato.sampling.truncated_laplace import TruncatedLaplace as TruncatedLaplaceLaw

__all__ = ["TruncatedLaplace"]

EDGES = 2**32  # the edge is a whole multiple of 1 / EDGES
ROUNDING = 1e-12  # far above what a few exponentials and sums lose


@dataclass(frozen=True, slots=True)
class TruncatedLaplace(Additive):
    """Laplace noise within a reach, in lattice units.

    Proof: docs/proofs/truncated_laplace.md.

    >>> from sfumato.mechanisms.noise.additive import Vector
    >>> count = Vector("count", dimension=1, l1=1, l2=1, linf=1)
    >>> made = TruncatedLaplace.calibrate(count, Approximate(0.05, 0.01))
    >>> made.reach, round(made.noise.variance, 1), made.guarantee().implies(Approximate(0.05, 0.01))
    (25, 151.4, True)
    """

    query: Answerable
    scale: float
    reach: int
    edge: float = 1.0

    def __post_init__(self) -> None:
        _ = self.noise
        if int(far(self.query.sensitivity("l1"))) > self.reach:
            raise ParameterError(
                f"one unit moves {self.query.name!r} beyond a reach of {self.reach}; choose a wider one"
            )

    @classmethod
    def calibrate(cls, query: Answerable, target: Guarantee) -> TruncatedLaplace:
        """The least reach, and edge, with which the scale of a pure claim meets `target`."""
        epsilon, delta = both_amounts(target, "truncated Laplace noise")
        steps = int(far(query.sensitivity("l1")))
        if steps < 1:
            raise ParameterError(f"no unit moves {query.name!r}; it needs no noise, release it as Public")
        scale = smallest_scale(ceil_float(Fraction(steps) / Fraction(epsilon)))
        high = steps
        while _given_away(TruncatedLaplaceLaw(scale, high), steps) > delta:
            high *= 2
            if high > LARGEST:
                raise UnsupportedQuery(f"truncated Laplace noise would reach beyond {LARGEST} lattice units")
        low = steps - 1  # reaches from `high` on are enough, up to `low` they are not
        while high - low > 1:
            middle = (low + high) // 2
            enough = _given_away(TruncatedLaplaceLaw(scale, middle), steps) <= delta
            low, high = (low, middle) if enough else (middle, high)
        return cls(query, scale, high, _least_edge(scale, high, steps, delta))

    @property
    def noise(self) -> TruncatedLaplaceLaw:
        """The law of each coordinate's noise."""
        return TruncatedLaplaceLaw(self.scale, self.reach, self.edge)

    def guarantee(self, distance: int = 1) -> Approximate:
        """What one release costs between tables `distance` units apart."""
        moved = self.query.sensitivity("l1")
        steps = int(far(moved, distance))
        if not steps:
            return Approximate(0.0, 0.0)
        if steps > self.reach:
            return self.guarantee().group(distance)
        epsilon = ceil_float(Fraction(steps) / Fraction(self.scale))
        return approximate(epsilon, _given_away(self.noise, steps), distance)

    def error(self, beta: float = 0.05) -> float:
        """The largest coordinate error in lattice units, exceeded with probability at most `beta`."""
        return float(joint_quantile(self.noise, self.query.dimension, beta))

    def release(self, answer: Lattice, rng: Rng) -> Lattice:
        """Add the noise.  `answer` is the exact, secret value of the query."""
        return noised(answer, self.query, self.noise, rng)

    def to_record(self) -> dict[str, object]:
        """Public parameters."""
        return {"type": "truncated-laplace", "scale": self.scale, "reach": self.reach, "edge": self.edge}


def _given_away(law: TruncatedLaplaceLaw, steps: int) -> float:
    """The delta of a move of so many steps, at most the reach: the mass it loses, rounded up."""
    inside = law.reach - steps
    ending = (1 - law.edge) * law.between(inside, inside) + law.weight(law.reach)
    lost = (law.between(inside + 1, law.reach - 1) + ending) / law.total
    return min(1.0, round_up(lost * (1 + ROUNDING * (1 + law.reach / law.scale))))


def _least_edge(scale: float, reach: int, steps: int, delta: float) -> float:
    """The least multiple of 1 / EDGES at which this reach is enough; at 1 it is."""
    low, high = 0, EDGES
    while high - low > 1:
        middle = (low + high) // 2
        enough = _given_away(TruncatedLaplaceLaw(scale, reach, middle / EDGES), steps) <= delta
        low, high = (low, middle) if enough else (middle, high)
    return high / EDGES
