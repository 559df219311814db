"""An interaction, declared once and in public, and the question that it asks in a turn.

An `Inquiry` is to an interactive rule what a collection is to a protocol.  Each of its rounds is one interaction, and
each turn of a round is a `Collection` of its own, whose salt is the digest of the inquiry, the round, the turn and the
whole transcript before it: an answer counts for that question after that transcript, and nowhere else.  What is
published in a turn (`Asked`) holds the transcript, so that whoever answers computes the question again and compares.
See docs/formats/turns.md.
"""

from __future__ import annotations

import json
import tomllib
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from sfumato.errors import ParameterError, SchemaError, SfumatoError
from sfumato.local.client.binding import check_digest, declared_digest, texts
from sfumato.local.collection.declaration import Collection
from sfumato.local.interactive.interaction import Interaction, Transcript, Turn, checked
from sfumato.local.interactive.quantiles import QuantileSearch
from sfumato.local.interactive.strings import FrequentStrings
from sfumato.local.questions.history import composed
from sfumato.privacy.guarantees import Approximate, Pure
from sfumato.records import readable
from sfumato.storage import PUBLISHED, whole

__all__ = ["FORMAT", "QUESTION", "RULES", "Asked", "Inquiry", "contents", "declares_interaction", "saved"]

FORMAT, QUESTION = "sfumato-inquiry/1", "sfumato-question/1"
RULES: dict[str, type[QuantileSearch | FrequentStrings]] = {
    kind.name: kind for kind in (QuantileSearch, FrequentStrings)
}
PARTS = {"format", "name", "version", "salt", "rounds", "rule", "digest"}
ASKED = {"format", "inquiry", "round", "turn", "transcript", "collection"}


@dataclass(frozen=True, slots=True)
class Inquiry:
    """A rule under one name and version; an owner answers one turn of each round.

    >>> search = QuantileSearch.calibrate(100, 0.5, Pure(1.0), users=10_000, blocks=10)
    >>> median = Inquiry("age", search, rounds=("2026", "2027"))
    >>> Inquiry.from_record(median.to_record()) == median, median.history().implies(Pure(2.0))
    (True, True)
    """

    name: str
    rule: Interaction
    version: str = "1"
    rounds: tuple[str, ...] = ("1",)
    salt: str = ""

    def __post_init__(self) -> None:
        if not isinstance(self.rule, Interaction):
            raise ParameterError(f"rule must be an interaction, such as QuantileSearch, not {type(self.rule)}")
        first = self.rule.channel_for(())
        assert first is not None
        Collection(self.name, first, version=self.version, rounds=self.rounds, salt=self.salt)  # the same terms

    @property
    def digest(self) -> str:
        """SHA-256 of the declaration, which binds every question to it."""
        return _digest(self)

    def guarantee(self) -> Pure | Approximate:
        """What one answer costs its owner, whatever the questions are."""
        return self.rule.guarantee()

    def history(self) -> Pure | Approximate:
        """What all answers of one owner cost: one in each round, since a device gives no second one."""
        return composed(self.guarantee(), len(self.rounds))

    def asked(self, round: str | None = None, transcript: Transcript = ()) -> Asked:
        """The question of a round after a transcript."""
        return Asked(self, self.named(round), transcript)

    def named(self, round: str | None) -> str:
        """The name of a round; one that there is not is refused, and one of several must be named."""
        if round is None and len(self.rounds) == 1:
            return self.rounds[0]
        if round not in self.rounds:
            few = ", ".join(map(repr, self.rounds[:3]))
            raise ParameterError(
                f"round must name one of the {len(self.rounds)} rounds of {self.name!r}, such as {few}"
            )
        return round

    def to_record(self) -> dict[str, Any]:
        """Plain values; numbers are texts, so that every language hashes the same bytes."""
        return {**self._record(), "digest": self.digest}

    def _record(self) -> dict[str, Any]:
        terms = {"name": self.name, "version": self.version, "salt": self.salt, "rounds": list(self.rounds)}
        return {"format": FORMAT, **terms, "rule": texts(self.rule.to_record())}

    @classmethod
    def from_record(cls, record: object) -> Inquiry:
        """What `to_record` wrote, or a person with `epsilon` in place of inner parameters."""
        if not isinstance(record, dict) or record.get("format") != FORMAT:
            raise SchemaError(f"this is not an inquiry of format {FORMAT}; it must say format = {FORMAT!r}")
        rule, rounds = record.get("rule"), record.get("rounds", ["1"])
        if record.keys() - PARTS or not isinstance(rule, dict) or not isinstance(rounds, list):
            raise SchemaError(
                f"an inquiry has {', '.join(sorted(PARTS))}; rule is an object and rounds a list of names"
            )
        found = cls(
            record.get("name", ""),
            _rule(rule),
            str(record.get("version", "1")),
            tuple(map(str, rounds)),
            str(record.get("salt", "")),
        )
        check_digest("inquiry", record, found.digest)
        return found

    @classmethod
    def read(cls, path: str | Path) -> Inquiry:
        """The inquiry of a `.toml` or `.json` file."""
        return cls.from_record(contents(Path(path), FORMAT))

    def save(self, path: str | Path) -> Path:
        """Write the declaration as JSON."""
        return saved(Path(path), self.to_record())


@lru_cache(maxsize=16)
def _digest(inquiry: Inquiry) -> str:
    """Hashed once for all of its questions."""
    return declared_digest(inquiry._record())


@dataclass(frozen=True, slots=True)
class Asked:
    """What is asked in a turn: it follows from the inquiry, the round and the transcript, and from nothing else."""

    inquiry: Inquiry
    round: str
    transcript: Transcript

    def __post_init__(self) -> None:
        self.inquiry.named(self.round)
        if len(self.transcript) > self.inquiry.rule.turns:
            raise ParameterError(f"{self.inquiry.name!r} has at most {self.inquiry.rule.turns} turns")
        checked(self.inquiry.rule, self.transcript)

    @property
    def turn(self) -> int:
        """Its number, from 0: that of the turns before it."""
        return len(self.transcript)

    @property
    def collection(self) -> Collection | None:
        """The collection of the answers; none when the interaction has ended."""
        channel = self.inquiry.rule.channel_for(self.transcript)
        if channel is None:
            return None
        before = {"inquiry": self.inquiry.digest, "round": self.round, "turn": self.turn, "transcript": self._before()}
        return Collection(
            self.inquiry.name, channel, version=self.inquiry.version, rounds=(self.round,), salt=declared_digest(before)
        )

    def to_record(self) -> dict[str, Any]:
        """What is published; numbers are texts."""
        collection = self.collection
        return {
            "format": QUESTION,
            "inquiry": self.inquiry.digest,
            "round": self.round,
            "turn": str(self.turn),
            "transcript": texts(self._before()),
            "collection": None if collection is None else collection.to_record(),
        }

    def _before(self) -> list[dict[str, Any]]:
        return [turn.to_record() for turn in self.transcript]

    @classmethod
    def from_record(cls, record: object, inquiry: Inquiry) -> Asked:
        """What `to_record` wrote for this inquiry; a question that does not follow from its transcript is refused."""
        if not isinstance(record, dict) or record.get("format") != QUESTION or record.keys() != ASKED:
            raise SchemaError(f"this is not a question of format {QUESTION}; it has {', '.join(sorted(ASKED))}")
        if record["inquiry"] != inquiry.digest:
            raise SchemaError(
                f"the question belongs to another inquiry, or another version of {inquiry.name!r}: digest "
                f"{str(record['inquiry'])[:12]}, this one has {inquiry.digest[:12]}; nothing is answered"
            )
        before = record["transcript"]
        if not isinstance(before, list) or len(before) > inquiry.rule.turns:
            raise SchemaError(f"transcript must be a list of at most {inquiry.rule.turns} turns; nothing is answered")
        found = cls(inquiry, str(record["round"]), tuple(map(Turn.from_record, before)))
        if record != found.to_record():
            raise SchemaError(
                "the question is not the one that follows from its transcript by the inquiry's rule; "
                "nothing is answered"
            )
        return found

    @classmethod
    def read(cls, path: str | Path, inquiry: Inquiry) -> Asked:
        """The question of a `.json` file."""
        return cls.from_record(contents(Path(path), QUESTION), inquiry)

    def save(self, path: str | Path) -> Path:
        """Write the question as JSON, whole or not at all."""
        return saved(Path(path), self.to_record())


def declares_interaction(path: Path) -> bool:
    """Whether a file declares an inquiry (or publishes a question), and no plain collection."""
    try:
        return str(contents(path, FORMAT).get("format", "")).startswith(FORMAT.partition("/")[0])
    except SchemaError:
        return False


def contents(source: Path, form: str) -> dict[str, Any]:
    try:
        text = source.read_text(encoding="utf-8")
        record = tomllib.loads(text) if source.suffix == ".toml" else json.loads(text)
    except (OSError, ValueError, RecursionError):
        raise SchemaError(f"{source} is not a readable file; check the path, expected {form}") from None
    if not isinstance(record, dict):
        raise SchemaError(f"{source} does not hold an object; expected {form}")
    return record


def saved(target: Path, record: dict[str, Any]) -> Path:
    if target.suffix != ".json":
        raise ParameterError(f"it is saved as .json, not {target.suffix!r}")
    with whole(target, PUBLISHED) as draft:
        draft.write_text(readable(record), encoding="utf-8")
    return target


def _rule(record: dict[str, Any]) -> Interaction:
    """A rule in full, or one to calibrate: `type`, `epsilon`, perhaps `delta`, and its public sizes."""
    kind = RULES.get(str(record.get("type")))
    if kind is None:
        raise SchemaError(f"unknown rule {record.get('type')!r}; known are {', '.join(RULES)}")
    extra = record.keys() - kind.PARTS
    if extra:
        raise SchemaError(f"rule {kind.name!r} has no part {', '.join(sorted(extra))}; it has {', '.join(kind.PARTS)}")
    try:
        return kind.from_record(record)
    except (KeyError, TypeError, ValueError) as error:
        if isinstance(error, SfumatoError):
            raise
        raise SchemaError(
            f"rule {kind.name!r} lacks a part or has one of a wrong type; it is declared with {', '.join(kind.PARTS)}"
        ) from None
