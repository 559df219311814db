"""A release explained to whoever is in the data: what was promised, what could be learned, what the error bar means.

Every sentence is rendered from a value of the release (its claim, its neighbors, its stated error, its certificate, its
charge), so that tests check what is said.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sfumato.accounting.posteriors import Belief, beliefs
from sfumato.answers.statements import Accuracy, ErrorStatement
from sfumato.errors import ParameterError
from sfumato.numeric import shown_up
from sfumato.privacy.claims import to_record
from sfumato.privacy.guarantees import Guarantee
from sfumato.privacy.statements import EveryEvent
from sfumato.release import Provenance, Published

__all__ = ["HEADINGS", "Explanation", "explained"]

HEADINGS = ("believed before", "after: at least", "after: at most", "a guess is right at most")


@dataclass(frozen=True, slots=True)
class Explanation:
    """What a release says about itself, for readers who know no formula."""

    name: str
    provenance: Provenance
    claim: Guarantee
    stated: Guarantee | None  # a smaller claim in the file, which its mechanism does not give
    doubt: str  # what somebody may wonder
    removal: bool  # neighbors differ by a presence
    learned: tuple[Belief, ...]
    error: Accuracy
    certificate: str

    def promised(self) -> tuple[str, ...]:
        """The promise, and what it does not depend on."""
        disputed = (f"The file states {self.stated!r}, which its mechanism does not give: count what is said here.",)
        return (
            f"{self.provenance.claimed(self.claim)}.",
            *(disputed if self.stated is not None else ()),
            "This holds whatever else somebody knows, and whatever they compute from the release, now or later.",
        )

    def attack(self) -> tuple[str, ...]:
        """What somebody could learn at most."""
        said = self.claim.statement()
        once = (
            f"Suppose somebody knows everything else, and wonders {self.doubt}. "
            f"Through this release the odds change by a factor of at most {said.factor}, up or down."
        )
        return (once, *self._exception(said), *self._contents())

    def limits(self) -> tuple[str, ...]:
        """How to read the table of beliefs."""
        return (
            "A guess is right so often at most, by the best rule there is, once the release is seen"
            + (", the exception counted in." if self.claim.statement().delta else "."),
            "What the release says about everybody together is not bounded: it hardly depends on any one of them.",
        )

    def accuracy(self) -> tuple[str, ...]:
        """What the error bar means."""
        words = f"{self.error.words()}."
        if not isinstance(self.error, ErrorStatement):
            return (words,)
        chance = f"{100 * self.error.probability:.6g} %"
        alone = ("Each answer keeps within its own so often: of many, some lie outside.",)
        return (
            words,
            "The chance is over the noise alone: were it drawn again and again for this same table, the error would "
            f"stay within that in at least {chance} of all draws.",
            *(alone if self.error.each else ()),
            "The true answer meant is that of the table as declared: values taken into their bounds, "
            "rows limited as the unit says. Who was never in the table is not accounted for.",
        )

    def adding_up(self) -> tuple[str, ...]:
        """That other releases count as well."""
        source = self.provenance
        if source.laboratory is not None:
            return ("Nothing was charged: this comes from a laboratory, and protects nobody.",)
        together = "" if source.batch is None else f", which paid for {source.batch} releases together"
        charge = "It is charged to" if source.charge is None else f"Charge {source.charge} of"
        return (
            f"{charge} the ledger of {source.dataset!r}{together}. All this is about one release; "
            "promises of several add up, and the ledger keeps the sum within its budget: sfumato ledger show.",
        )

    def _exception(self, said: EveryEvent) -> tuple[str, ...]:
        if not said.delta:
            return ("There is no exception: this holds for every answer that could have come out.",)
        return (
            f"The exception: at worst it is as if, with probability {shown_up(said.delta, 3)}, "
            "the release told them outright.",
        )

    def _contents(self) -> tuple[str, ...]:
        """Where presence is protected: what holds for the contents of somebody known to be there."""
        if not self.removal:
            return ()
        try:
            said = self.claim.group(2).statement()
        except ParameterError:
            return ("Of somebody who is known to be in the table nothing is promised about what their data are.",)
        plus = f", but for a probability of {shown_up(said.delta, 3)}" if said.delta else ""
        return (
            "If it is known to be there, and the doubt is what its data are, the factor is at most "
            f"{said.factor}{plus}: one removal and one addition lie between.",
        )

    def to_record(self) -> dict[str, Any]:
        """Plain values, with the sentences."""
        return {
            "name": self.name,
            "guarantee": to_record(self.claim),
            "promised": list(self.promised()),
            "attack": list(self.attack()),
            "beliefs": [belief.to_record() for belief in self.learned],
            "limits": list(self.limits()),
            "error": list(self.accuracy()),
            "certificate": self.certificate,
            "adding_up": list(self.adding_up()),
        }


def explained(release: Published) -> Explanation:
    """The explanation of a release."""
    schema = release.question.schema
    return Explanation(
        name=release.name,
        provenance=release.provenance,
        claim=release.guarantee,
        stated=release.stated,
        doubt=schema.doubt(),
        removal=schema.adjacency.removes,
        learned=beliefs(release.guarantee),
        error=release.error(),
        certificate=release.certificate.words(),
    )
