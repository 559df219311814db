r"""Two counts of a public total: one is noised, and the other is what it leaves.

Definition.  For counts f(x) = (a, n - a) of a table of n rows, every row in one of two cells, release
(a + Z, n - a - Z), Z the noise of another mechanism on the single number a.

Guarantee.   Replacing k rows moves a by at most k s, s half of what it moves both counts by in l1.  The release is a
function of a + Z and of n, which neighbors share, so it costs what the mechanism on a costs: post-processing.
Proof: docs/proofs/complement.md.

Accuracy.    That of the mechanism on one number; both counts err by the same amount.  The total stays exact.

Assumes.     What the mechanism on one number assumes: nothing beyond random bits.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from sfumato.accounting.laws import Law
from sfumato.errors import ParameterError, SchemaError, SfumatoError, UnsupportedQuery
from sfumato.mechanisms.noise.additive import Additive, Lattice, Vector, checked
from sfumato.mechanisms.noise.discrete_gaussian import DiscreteGaussian
from sfumato.mechanisms.noise.gaussian import Gaussian
from sfumato.mechanisms.noise.laplace import Laplace
from sfumato.mechanisms.noise.sum_zero import Histogram
from sfumato.mechanisms.noise.truncated_laplace import TruncatedLaplace
from sfumato.privacy.guarantees import Guarantee
from sfumato.randomness import Rng
from sfumato.sampling.independent import Single

__all__ = ["Complement"]

Counted = Gaussian | DiscreteGaussian | TruncatedLaplace | Laplace
KINDS: dict[str, type[Counted]] = {  # what may noise the one count, by stored name, in the order of preference
    "gaussian": Gaussian,
    "discrete-gaussian": DiscreteGaussian,
    "truncated-laplace": TruncatedLaplace,
    "laplace": Laplace,
}


@dataclass(frozen=True, slots=True)
class Complement(Additive):
    """A mechanism on the first of two counts whose total is public; the second count is what the first leaves.

    Proof: docs/proofs/complement.md.
    """

    query: Histogram
    counted: Counted

    def __post_init__(self) -> None:
        if type(self.counted) not in KINDS.values() or self.counted.query != first_count(self.query):
            raise ParameterError("counted must be noise on the first of two counts, as calibrate makes it")

    @classmethod
    def calibrate(cls, query: Histogram, target: Guarantee) -> Complement:
        """The mechanism of least error among those that can meet `target` on one number."""
        one = first_count(query)
        found: list[Counted] = []
        if not target.takes_normal:
            raise UnsupportedQuery(
                "the complement of a count is for spends with a delta or a rho; use noise of sum zero"
            )
        for kind in KINDS.values():
            try:
                found.append(kind.calibrate(one, target))
            except SfumatoError:  # it cannot meet this target: no delta, or no reach
                continue
        if not found:
            raise UnsupportedQuery("no noise on one count can meet this spend")
        return cls(query, min(found, key=lambda mechanism: mechanism.noise.variance))

    @property
    def noise(self) -> Single:
        """The law of each count's noise."""
        return self.counted.noise

    def guarantee(self, distance: int = 1) -> Guarantee:
        """What one release costs between tables `distance` units apart."""
        return self.counted.guarantee(distance)

    def loss(self, distance: int = 1) -> Law | None:
        """A pair of laws on the line that dominates one release."""
        return self.counted.loss(distance)

    def error(self, beta: float = 0.05) -> float:
        """The error of both counts, exceeded with probability at most `beta`."""
        return float(self.counted.error(beta))

    def release(self, answer: Lattice, rng: Rng) -> Lattice:
        """Noise the first count, and give the second one the rest.  `answer` is the exact, secret pair of counts."""
        held = checked(answer, self.query)
        first = self.counted.release(held[:1], rng)
        return np.asarray(np.concatenate([first, held.sum() - first]))

    def to_record(self) -> dict[str, object]:
        """Public parameters."""
        return {"type": "complement", "counted": self.counted.to_record()}

    @classmethod
    def from_record(cls, query: Histogram, record: Mapping[str, object]) -> Complement:
        """The mechanism of a question that `to_record` described."""
        counted = record.get("counted")
        if record.keys() != {"type", "counted"} or not isinstance(counted, dict) or counted.get("type") not in KINDS:
            raise SchemaError(f"a complement has the record of noise on one count, of {', '.join(KINDS)}")
        return cls(query, KINDS[counted["type"]].from_record(first_count(query), counted))


def first_count(query: Histogram) -> Vector:
    """The first of two counts as a question of its own."""
    if query.dimension != 2 or not query.total_is_public:
        raise UnsupportedQuery(
            f"the complement needs two counts of a public total, {query.name!r} has others: use replacement of rows, "
            "declare where missing and unknown values go, and leave no row out"
        )
    moved = query.sensitivity("l1") / 2
    return Vector("the first of two counts", 1, moved, moved, moved)
