"""What an interaction has found, and what it cost: public and frozen, everything follows from the transcript."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sfumato.answers.frames import Framed
from sfumato.cards import Card, Shown, counted, state_side_fact
from sfumato.errors import ParameterError, SchemaError
from sfumato.local.collection.estimates import short
from sfumato.local.interactive.inquiry import Asked, Inquiry, contents, saved
from sfumato.local.interactive.interaction import Transcript, Turn, checked
from sfumato.privacy.claims import to_record
from sfumato.privacy.guarantees import Approximate, Pure
from sfumato.visible import visible

__all__ = ["FORMAT", "Finding"]

FORMAT = "sfumato-finding/1"
FIRST = 10  # rows that are shown
UNIT = "what any one owner's value was"


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Finding(Shown, Framed):
    """The turns of one round so far, read."""

    inquiry: Inquiry
    round: str
    transcript: Transcript
    refused: dict[str, int]

    @property
    def reports(self) -> int:
        """How many answers were counted, each of another owner."""
        return sum(turn.reports for turn in self.transcript)

    @property
    def ended(self) -> bool:
        """Whether there is nothing more to ask."""
        return self.inquiry.rule.channel_for(self.transcript) is None

    def columns(self) -> dict[str, list[Any]]:
        """What is found, as lists."""
        return self.inquiry.rule.columns(self.transcript)

    def table(self, level: float = 0.95, *, joint: bool = False) -> Any:
        """The same as an Arrow table; its limits hold together, at the level that the rule declares."""
        import pyarrow as pa

        return pa.table(self.columns())

    def guarantee(self) -> Pure | Approximate:
        """What one answer cost its owner."""
        return self.inquiry.guarantee()

    def history(self) -> Pure | Approximate:
        """What all answers of one owner cost, over all rounds."""
        return self.inquiry.history()

    def central(self, delta: float) -> Approximate:
        """What the answers cost one of their owners if a relay shuffled each turn: as in the worst of the turns.

        An owner is in one turn.  What came before does not depend on this owner, and what follows is made of the
        turn's answers.
        """
        from sfumato.local.collection.central import central  # scipy: only when asked

        turns = checked(self.inquiry.rule, self.transcript)
        if not turns:
            raise ParameterError("no turn has ended yet")
        return max((central(channel, turn.reports, delta) for channel, turn in turns), key=lambda one: one.epsilon)

    def words(self) -> str:
        """The claim in full sentences."""
        return str(Card(self._title(), self._facts()))

    def card(self) -> Card:
        """What is found, and the claim."""
        found = self.columns()
        rows = [tuple(_text(part) for part in row) for row in zip(*found.values(), strict=True)]
        numeric = [name != "string" for name in found]
        left = max(0, len(rows) - FIRST)
        return Card(self._title(), self._facts(), list(found), rows[:FIRST], numeric, left)

    def __repr__(self) -> str:
        return (
            f"Finding({self.inquiry.name!r}, round={self.round!r}, turns={len(self.transcript)}, {self.guarantee()!r})"
        )

    def _title(self) -> str:
        state = "ended" if self.ended else "goes on"
        return f"{self.inquiry.name}, round {self.round}: {counted(len(self.transcript), 'turn')}, {state}"

    def _facts(self) -> dict[str, str]:
        rule = self.inquiry.rule
        facts = {
            "answers": f"{self.reports:,}, each of another owner: a device answers one turn of a round",
            "guarantee": self.guarantee().words().format(unit=UNIT),
        }
        if len(self.inquiry.rounds) > 1:
            facts["history"] = f"{short(self.history())} over all {len(self.inquiry.rounds)} rounds"
        if self.transcript:
            facts |= state_side_fact("shuffled", self._describe_shuffled)
        facts["result"] = (
            f"holds with probability at least {1 - rule.beta:.4g}, if owners are drawn alike for each turn"
        )
        facts |= rule.notes(self.transcript)
        told = [f"{count:,} {reason}" for reason, count in sorted(self.refused.items())]
        return {**facts, "refused": ", ".join(told) or "nothing"}

    def _describe_shuffled(self) -> str:
        """The promise after a shuffle of each turn."""
        once = " in one round" if len(self.inquiry.rounds) > 1 else ""
        return f"{short(self.central(1e-6))}{once}, if a relay shuffles each turn and the others answer honestly"

    def to_record(self) -> dict[str, Any]:
        """The whole finding as plain values; documented in docs/formats/turns.md."""
        return {
            "format": FORMAT,
            "inquiry": self.inquiry.to_record(),
            "round": self.round,
            "transcript": [turn.to_record() for turn in self.transcript],
            "refused": self.refused,
            "ended": self.ended,
            "guarantee": to_record(self.guarantee()),
            "history": to_record(self.history()),
            "table": self.columns(),
        }

    @classmethod
    def from_record(cls, record: object) -> Finding:
        """What `to_record` wrote; a transcript that does not follow the rule is refused."""
        if not isinstance(record, dict) or record.get("format") != FORMAT:
            raise SchemaError(f"this is not a finding of format {FORMAT}; it may come from another version")
        inquiry, before = Inquiry.from_record(record.get("inquiry")), record.get("transcript")
        if not isinstance(before, list):
            raise SchemaError("a finding needs a transcript, a list of turns")
        asked = Asked(inquiry, str(record.get("round")), tuple(map(Turn.from_record, before)))
        try:
            refused = {str(reason): int(count) for reason, count in record["refused"].items()}
        except (KeyError, TypeError, ValueError, AttributeError):
            raise SchemaError("a finding needs refused, whole numbers by reason") from None
        return cls(inquiry, asked.round, asked.transcript, refused)

    @classmethod
    def read(cls, path: str | Path) -> Finding:
        """The finding saved in a `.json` file."""
        return cls.from_record(contents(Path(path), FORMAT))

    def save(self, path: str | Path) -> Path:
        """Write the record as JSON."""
        return saved(Path(path), self.to_record())


def _text(part: object) -> str:
    return visible(part) if isinstance(part, str) else f"{part:.4g}" if isinstance(part, float) else str(part)
