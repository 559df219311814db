r"""The staircase mechanism on the integers: the best pure noise for one number.

Definition.  For f(x) in Z moved by at most s (whole) per unit, add Z with P(Z = z) proportional to
exp(-epsilon * level(|z|)), level(k) = 0 for k < w and 1 + floor((k - w) / s) from there on.

Guarantee.   A shift by at most s changes the level by at most 1, so k units cost k epsilon
[GengViswanath2014].  Proof: docs/proofs/staircase.md.

Accuracy.    With the best width w no epsilon-private mechanism for integer sums that one unit can change by
every integer up to s has a smaller worst-case mean absolute error (or mean square, for its own best width);
at s = 1 it is the two-sided geometric law.

Assumes.     Nothing beyond random bits: the sampler is exact.
"""

from __future__ import annotations

from dataclasses import dataclass

from sfumato.errors import ParameterError, UnsupportedQuery
from sfumato.mechanisms.noise.additive import Additive, Answerable, Lattice, noised
from sfumato.privacy.guarantees import Guarantee, Pure
from sfumato.randomness import Rng
from sfumato.sampling import Staircase as StaircaseLaw

__all__ = ["Staircase"]

LARGEST = 1000.0  # epsilon that the sampler supports: the noise is zero but for e^-1000


@dataclass(frozen=True, slots=True)
class Staircase(Additive):
    """Staircase noise on one number.

    Proof: docs/proofs/staircase.md.

    >>> from sfumato.mechanisms.noise.additive import Vector
    >>> total = Vector("total", dimension=1, l1=10, l2=10, linf=10)
    >>> Staircase.calibrate(total, Pure(1.0)).guarantee()
    Pure(epsilon=1.0)
    """

    query: Answerable
    epsilon: float
    width: int

    def __post_init__(self) -> None:
        if int(self.query.sensitivity("l1")) < 1:
            raise ParameterError(f"no unit moves {self.query.name!r}; it needs no staircase, release it as Public")
        if self.query.dimension != 1:
            raise ParameterError(f"the staircase is for one number, {self.query.name!r} has {self.query.dimension}")
        _ = self.noise

    @classmethod
    def calibrate(cls, query: Answerable, target: Guarantee) -> Staircase:
        """The width with the least mean square for `target`."""
        if not isinstance(target, Pure) or target.epsilon <= 0:
            raise UnsupportedQuery(f"the staircase meets pure targets with epsilon > 0, not {target!r}")
        epsilon = min(target.epsilon, LARGEST)
        return cls(query, epsilon, best_width(int(query.sensitivity("l1")), epsilon))

    @property
    def noise(self) -> StaircaseLaw:
        """The law of the noise."""
        return StaircaseLaw(int(self.query.sensitivity("l1")), self.epsilon, self.width)

    def guarantee(self, distance: int = 1) -> Pure:
        """What one release costs between tables `distance` units apart."""
        return Pure(self.epsilon).group(distance)

    def error(self, beta: float = 0.05) -> float:
        """The error in lattice units, exceeded with probability at most `beta`."""
        return float(self.noise.quantile(beta))

    def release(self, answer: Lattice, rng: Rng) -> Lattice:
        """Add the noise.  `answer` is the exact, secret value of the query."""
        return noised(answer, self.query, self.noise, rng)

    def to_record(self) -> dict[str, object]:
        """Public parameters."""
        return {"type": "staircase", "epsilon": self.epsilon, "width": self.width}


def best_width(sensitivity: int, epsilon: float) -> int:
    """The width with the least mean square.

    It is a strictly convex function of w over a linear one, so it falls and then rises: a ternary search over
    the whole widths finds its least value (docs/proofs/staircase.md).
    """
    low, high = 1, sensitivity
    while high - low > 2:
        left, right = low + (high - low) // 3, high - (high - low) // 3
        falls = _variance(sensitivity, epsilon, left) > _variance(sensitivity, epsilon, right)
        low, high = (left, high) if falls else (low, right)
    return min(range(low, high + 1), key=lambda width: _variance(sensitivity, epsilon, width))


def _variance(sensitivity: int, epsilon: float, width: int) -> float:
    return StaircaseLaw(sensitivity, epsilon, width).variance
