"""Targets that stored releases meet: who asks for an error that one has, or a wider one, has it for nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Protocol

from sfumato.accuracy.again import meets
from sfumato.accuracy.targets import target_of
from sfumato.answers.targets import Target
from sfumato.orders import asked
from sfumato.privacy.guarantees import Guarantee, Pure
from sfumato.queries import Query, Question
from sfumato.release import Published
from sfumato.release.recognition import identity_within
from sfumato.server.index import Line, question_key
from sfumato.server.keeping import Kept
from sfumato.spaces.schema import Schema

__all__ = ["Paid", "Seek", "Sought", "nothing_stored", "sought"]


@dataclass(frozen=True, slots=True)
class Sought:
    """A question with the error that its answer may have."""

    key: str | None
    question: Question
    target: Target


class Seek(Protocol):
    """Which spend a stored release has that meets a target."""

    def __call__(self, wanted: Sought, /) -> Guarantee | None:
        """None where no release does."""


def nothing_stored(wanted: Sought, /) -> Guarantee | None:
    """Of no use where nothing is known of a ledger."""
    return None


def sought(query: Query, schema: Schema, within: object, level: float, mechanism: str | None) -> Sought:
    """What is looked for before a spend is."""
    question = asked(query, schema)
    described = identity_within(query, question, Pure(1.0), mechanism).described()
    return Sought(question_key(described), question, target_of(within, question, level))


class Paid:
    """Which of the stored releases meets a target; what was found is kept, since neither changes."""

    def __init__(self, publication: Callable[[Line], Published]) -> None:
        self._publication = publication
        self._met: Kept[bool] = Kept(2000)

    def first(self, wanted: Sought, lines: Iterable[tuple[Line, Guarantee]]) -> Guarantee | None:
        """The spend of the oldest that does, so that asking again is the same again."""
        return next((spend for line, spend in lines if self._meets(wanted, line)), None)

    def _meets(self, wanted: Sought, line: Line) -> bool:
        key = f"{line.digest} {wanted.target.amount!r} {wanted.target.level!r}"
        return self._met.get(key, lambda: meets(wanted.question, self._publication(line).mechanism, wanted.target))
