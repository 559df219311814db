r"""Keys discovered, then a question answered over them: two mechanisms in turn, the second over what the first found.

Definition.  Release the keys that `KeySelection` or `KeyDiscovery` finds; then what another mechanism releases over
the cells of these keys.  The output is the pair of both.

Guarantee.   Discovery costs (epsilon_1, delta_1).  Once its keys are public, the question over them is one with public
cells, and the answering mechanism costs (epsilon_2, delta_2), whatever the keys are: both together cost
(epsilon_1 + epsilon_2, delta_1 + delta_2), by adaptive composition.
Proof: docs/proofs/discovered_keys.md.

Accuracy.    `error` is that of the discovery: keys held by more units than this are missed with probability at most
`beta` each.  The answers' own errors are those of the answering mechanism.

Assumes.     What the two mechanisms assume.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from sfumato.errors import ParameterError, UnsupportedQuery
from sfumato.mechanisms.mechanism import Answering, Mechanism
from sfumato.mechanisms.noise.laplace import Laplace
from sfumato.mechanisms.selection.key_discovery import KeyDiscovery
from sfumato.mechanisms.selection.key_selection import KeySelection
from sfumato.numeric import ceil_float
from sfumato.privacy.guarantees import Approximate, Guarantee, Pure
from sfumato.queries.keys import STAND_INS, Found, Keys, KeyView
from sfumato.randomness import Rng

__all__ = ["DiscoveredKeys"]


@dataclass(frozen=True, slots=True)
class DiscoveredKeys(Answering):
    """A discovery of keys, and what answers over them, calibrated for stand-ins of unknown number.

    Proof: docs/proofs/discovered_keys.md.
    """

    query: Keys
    discovery: KeyDiscovery | KeySelection
    answering: Mechanism

    def __post_init__(self) -> None:
        if "epsilon" not in self.answering.guarantee().parts():
            raise UnsupportedQuery("what answers over discovered keys must state an epsilon, as the discovery does")

    @classmethod
    def calibrate(cls, query: Keys, target: Guarantee, kind: type[Mechanism] = Laplace) -> DiscoveredKeys:
        """Half of epsilon and all of delta find the keys; the other half goes to answers of this kind."""
        discovery, share = cls.shares(target)
        return cls(query, cls.finding(query, discovery), kind.calibrate(query.over(), share))

    @staticmethod
    def finding(query: Keys, target: Guarantee) -> KeyDiscovery | KeySelection:
        """What finds keys of the fewest holders: coins of their own for the names, or a threshold for noisy counts."""
        threshold = KeyDiscovery.calibrate(query, target)
        try:
            coins = KeySelection.calibrate(query, target)
        except ParameterError:  # so little epsilon that certainty is out of reach
            return threshold
        return coins if coins.error() <= threshold.error() else threshold

    @staticmethod
    def shares(target: Guarantee) -> tuple[Approximate, Pure]:
        """What of a target the discovery takes, and what is left for the answers."""
        epsilon, delta = target.pure_within(), target.parts().get("delta", 0.0)
        if not (epsilon > 0 and delta > 0):
            raise UnsupportedQuery(f"discovering keys needs a delta: spend Approximate(epsilon, delta), not {target!r}")
        return Approximate(epsilon / 2, delta), Pure(epsilon / 2)

    def over(self, keys: tuple[str, ...]) -> Mechanism:
        """What answers over these keys: the same noise, for as many cells as there are."""
        if keys == STAND_INS:
            return self.answering
        return type(self.answering).from_record(self.query.over(keys), self.answering.to_record())

    def guarantee(self, distance: int = 1) -> Approximate:
        """What both cost together between tables `distance` units apart."""
        first, second = self.discovery.guarantee(distance).parts(), self.answering.guarantee(distance).parts()
        epsilon, delta = (
            ceil_float(Fraction(first.get(part, 0)) + Fraction(second.get(part, 0))) for part in ("epsilon", "delta")
        )
        return Approximate(epsilon, delta)

    def error(self, beta: float = 0.05) -> float:
        """Keys held by more than this many units are missed with probability at most `beta` each."""
        return self.discovery.error(beta)

    def release(self, answer: KeyView, rng: Rng) -> Found:
        """The keys, sorted, and what is released over them.  `answer` is the secret view of the table."""
        texts, counts = answer.units()
        noisy = self.discovery.release(counts, rng)
        keys = tuple(sorted(text for text, count in zip(texts, noisy, strict=True) if count))
        answering = self.over(keys)
        return Found(keys, answering.release(answering.take(answer.table), rng))

    def to_record(self) -> dict[str, object]:
        """Public parameters: the records of both, in turn."""
        return {"type": "in-turn", "parts": [self.discovery.to_record(), self.answering.to_record()]}

    @classmethod
    def from_record(cls, query: Keys, record: Mapping[str, Any]) -> DiscoveredKeys:
        """The mechanism whose parts are recorded."""
        from sfumato.mechanisms import mechanism_from

        first, second = record["parts"]
        discovery = mechanism_from(first, query)
        if not isinstance(discovery, KeyDiscovery | KeySelection):
            raise UnsupportedQuery("keys are discovered by key-selection or key-discovery, and then answered over")
        return cls(query, discovery, mechanism_from(second, query.over()))
