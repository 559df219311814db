"""What a ledger already knows under a name: the same question at the spend that was found for it then.

A target, or a budget to be divided, is met by a spend that depends on what else was asked, and on the version.  A name
that is known keeps the spend that it was charged with, so that what is stored is found again.
"""

from __future__ import annotations

from collections.abc import Mapping

from sfumato.accuracy.targets import stated
from sfumato.answers.targets import Target
from sfumato.errors import LedgerError, SfumatoError, UnsupportedQuery
from sfumato.ledger import Known
from sfumato.ledger.protocol import in_words
from sfumato.mechanisms import Mechanism
from sfumato.numeric import round_up, shown_up
from sfumato.privacy.claims import guarantee_from
from sfumato.privacy.guarantees import Guarantee, Pure
from sfumato.queries import Question
from sfumato.release.recognition import identity_within

__all__ = ["kept_spend", "meets", "must_meet", "recorded_spend"]


def recorded_spend(question: Question, mechanism: object, known: Known | None) -> Guarantee | None:
    """The spend with which a ledger knows this very question; none where it knows the name for something else."""
    spend = None if known is None else _spend(known)
    try:
        return (
            spend if spend and identity_within(question.query, question, spend, mechanism).within("", known) else None
        )
    except (SfumatoError, KeyError, TypeError, ValueError):
        return None


def kept_spend(name: str, question: Question, mechanism: object, known: Known | None) -> Guarantee | None:
    """The same, none only where the name is free: one that is known for something else is refused, in words."""
    found = recorded_spend(question, mechanism, known)
    if known is not None and found is None:
        identity_within(question.query, question, _spend(known) or Pure(1.0), mechanism).within(name, known)
    return found


def _spend(known: Known) -> Guarantee | None:
    """The spend in a charge's description; none where it has none that can be read."""
    specification = known.description.get("specification")
    try:
        return guarantee_from(dict(specification["spend"])) if isinstance(specification, Mapping) else None
    except (SfumatoError, KeyError, TypeError, ValueError):
        return None


def must_meet(title: str, question: Question, mechanism: Mechanism, target: Target, spend: Guarantee) -> None:
    """Refuse a target that what is known under this name does not meet, or of which nobody knows whether it does."""
    try:
        met = meets(question, mechanism, target)
    except UnsupportedQuery as unknown:
        raise UnsupportedQuery(
            f"{unknown}; {title!r} is in this ledger for {in_words(spend)}: asked for with that spend, it costs nothing"
        ) from None
    if not met:
        error = stated(question, mechanism, target.level)
        raise LedgerError(
            f"name {title!r} is already used in this ledger for an answer whose error is {shown_up(error, 4)}, not "
            f"{target.words()}; give the more accurate release a new name"
        )


def meets(question: Question, mechanism: Mechanism, target: Target) -> bool:
    """Whether the error that is stated for a mechanism is within a target."""
    return stated(question, mechanism, target.level) <= round_up(target.amount, 4)
