r"""Synthetic tables with columns of texts: common texts are discovered first, then the table is made over them.

Definition.  For each column of texts release those that `KeySelection` or `KeyDiscovery` finds.  They become its public
levels, with one more for all other texts and one for missing values; then release what another synthesizer makes of the
whole table with these levels.  The output is all of them.

Guarantee.   The discoveries cost (epsilon_i, delta_i).  Once their texts are public, the table over them is one with
public levels, and the synthesizer costs (epsilon_0, delta_0), whatever the texts are: all together cost the sums of
both, by adaptive composition.  Proof: docs/proofs/synthesis-texts.md.

Accuracy.    `holders` is that of the discoveries: a text that more units hold is missed with probability at most beta.
How far rows are from the table depends on it, and is judged by the synthesizer over the levels of found texts.

Assumes.     What the discoveries and the synthesizer assume.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, cast

from sfumato.errors import UnsupportedQuery
from sfumato.mechanisms.mechanism import Answering
from sfumato.mechanisms.selection.discovered_keys import DiscoveredKeys
from sfumato.mechanisms.selection.key_discovery import KeyDiscovery
from sfumato.mechanisms.selection.key_selection import KeySelection
from sfumato.mechanisms.synthetic.finding import Found, Synthesizer
from sfumato.mechanisms.synthetic.marginals.mechanism import MarginalSynthesis
from sfumato.numeric import ceil_float, floor_float
from sfumato.privacy.guarantees import Approximate, Guarantee
from sfumato.progress import tell
from sfumato.queries.keys import KeyView
from sfumato.queries.names import KeyNames, keys
from sfumato.queries.question import Known
from sfumato.queries.synthetic import Synthesized, SyntheticRows
from sfumato.queries.view import SecretView
from sfumato.randomness import Rng

__all__ = ["Discovery", "TextSynthesis"]

EACH, MOST = Fraction(1, 10), Fraction(1, 4)  # of epsilon, for the texts of one column, and for those of all of them
OF_DELTA = Fraction(1, 2)
FINDING = ("key-selection", "key-discovery")
MAKING = ("marginal-synthesis", "joined-synthesis", "person-synthesis", "workload-synthesis", "cut-synthesis")

Discovery = KeyDiscovery | KeySelection


@dataclass(frozen=True, slots=True)
class TextSynthesis(Answering):
    """A discovery for each column of texts, and what makes the rows, calibrated for stand-ins of unknown number.

    Proof: docs/proofs/synthesis-texts.md.
    """

    query: SyntheticRows
    discoveries: tuple[Discovery, ...]
    making: Synthesizer

    def __post_init__(self) -> None:
        columns = tuple(one.query.column for one in self.discoveries)
        if not columns or columns != self.query.undiscovered:
            raise UnsupportedQuery("each column of texts is discovered once, in the order of the table")
        if any(one.query != _texts_of(self.query, one.query.column) for one in self.discoveries):
            raise UnsupportedQuery("texts are discovered in the table itself, with its own unit and adjacency")
        if type(self.making).from_record(self.query.over(), self.making.to_record()) != self.making:
            raise UnsupportedQuery("what makes rows over discovered texts must be all that its record says")
        if "epsilon" not in self.making.guarantee().parts():
            raise UnsupportedQuery("what makes rows over discovered texts must state an epsilon, as the discovery does")

    @classmethod
    def calibrate(
        cls, query: SyntheticRows, target: Guarantee, kind: type[Synthesizer] = MarginalSynthesis
    ) -> TextSynthesis:
        """A tenth of epsilon, and half of delta for all of them, finds the texts of a column; the rest makes rows."""
        first, rest = cls.shares(query, target)
        return cls(query, cls.finding(query, first), kind.calibrate(query.over(), rest))

    @staticmethod
    def shares(query: SyntheticRows, target: Guarantee) -> tuple[Approximate, Approximate]:
        """What of a target each discovery takes, and what is left for the rows."""
        epsilon, delta = Fraction(target.pure_within()), Fraction(target.parts().get("delta", 0.0))
        if not (epsilon > 0 and delta > 0):
            named = ", ".join(query.undiscovered)
            raise UnsupportedQuery(
                f"the texts of {named} are not public, and are discovered at a delta: spend Approximate(epsilon, "
                "delta), in the shell --delta; or declare the common ones as Categories(..., other=...), or name the "
                "other columns (columns=[...], in the shell --column)"
            )
        columns = len(query.undiscovered)
        one = floor_float(epsilon * min(EACH, MOST / columns)), floor_float(delta * OF_DELTA / columns)
        left = floor_float(epsilon - columns * Fraction(one[0])), floor_float(delta - columns * Fraction(one[1]))
        return Approximate(*one), Approximate(*left)

    @staticmethod
    def finding(query: SyntheticRows, target: Guarantee) -> tuple[Discovery, ...]:
        """What finds the texts of each column."""
        return tuple(DiscoveredKeys.finding(_texts_of(query, name), target) for name in query.undiscovered)

    @property
    def target(self) -> Guarantee:
        """What rows are made for, once texts are public."""
        return self.making.target

    @property
    def holders(self) -> float:
        """Texts that more units hold are missed with probability at most one in twenty each."""
        return max(one.error() for one in self.discoveries)

    def over(self, texts: Known) -> Synthesizer:
        """What makes rows over these texts: the same amounts, for as many levels as there are."""
        return type(self.making).from_record(self.query.over(texts), self.making.to_record())

    def guarantee(self, distance: int = 1) -> Approximate:
        """What all of it costs between tables `distance` units apart."""
        parts = [one.guarantee(distance).parts() for one in (*self.discoveries, self.making)]
        epsilon, delta = (
            ceil_float(sum((Fraction(part.get(name, 0)) for part in parts), Fraction(0)))
            for name in ("epsilon", "delta")
        )
        return Approximate(epsilon, delta)

    def error(self, beta: float = 0.05) -> float:
        """No bound is known."""
        return math.inf

    def release(self, answer: SecretView, rng: Rng) -> Found:
        """The texts, and the synthetic rows over them.  `answer` is a secret view, which is asked for texts first."""
        tell("discovering texts", 0.0)
        making = self.over(tuple((one.query.column, _found(one, answer, rng)) for one in self.discoveries))
        known = making.query.texts
        made: Synthesized = making.release(replace(answer, texts=known), rng)
        return Found(made, "texts", known)

    def to_record(self) -> dict[str, object]:
        """Public parameters: those of what makes the rows, and how texts were found."""
        made = self.making.to_record()
        discovery = [one.to_record() for one in self.discoveries]
        return {**made, "type": "text-synthesis", "making": made["type"], "discovery": discovery}

    @classmethod
    def from_record(cls, query: SyntheticRows, record: Mapping[str, Any]) -> TextSynthesis:
        """The synthesizer whose parts are recorded."""
        from sfumato.mechanisms import mechanism_from

        names, held = query.undiscovered, record["discovery"]
        if len(held) != len(names):
            raise UnsupportedQuery(
                f"{len(names)} columns of texts are discovered, and {len(held)} discoveries are named"
            )
        if not {one["type"] for one in held} <= set(FINDING):
            raise UnsupportedQuery(f"texts are discovered by {' or '.join(FINDING)}")
        discoveries = tuple(mechanism_from(one, _texts_of(query, name)) for name, one in zip(names, held, strict=True))
        if record["making"] not in MAKING:
            raise UnsupportedQuery(f"rows over discovered texts are made by {', '.join(MAKING)}")
        making = mechanism_from({**record, "type": record["making"]}, query.over())
        return cls(query, discoveries, cast(Synthesizer, making))  # type: ignore[arg-type]


def _texts_of(query: SyntheticRows, column: str) -> KeyNames:
    """How many units hold each text of a column."""
    return KeyNames(keys(column), query.schema)


def _found(discovery: Discovery, answer: SecretView, rng: Rng) -> tuple[str, ...]:
    """The texts of a column that are shown, sorted."""
    texts, counts = KeyView(discovery.query, answer.table).units()
    return tuple(text for text, count in zip(texts, discovery.release(counts, rng), strict=True) if count)
