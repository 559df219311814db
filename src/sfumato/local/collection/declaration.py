"""What is collected, declared once and in public: a name, a version, a protocol in full, labels and rounds.

Clients, collectors and analysts read the same file (TOML by hand, or JSON as `save` writes it).  Its digest binds
journals and messages to it.  One owner sends one report a round; `docs/formats/collection.md` has the layout.
"""

from __future__ import annotations

import inspect
import json
import tomllib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sfumato.errors import ParameterError, SchemaError, SfumatoError
from sfumato.local.client.binding import BOUND, SEALED, UNBOUND, Address, address, check_digest, declared_digest, texts
from sfumato.local.client.sealing import checked_key
from sfumato.local.interactive.quantiles import Threshold
from sfumato.local.interactive.strings import Prefixes
from sfumato.local.protocols.protocol import LocalProtocol, whole_from
from sfumato.local.questions import QUESTIONS, question_from
from sfumato.local.questions.history import history
from sfumato.local.questions.marginals import Marginals
from sfumato.privacy.guarantees import Approximate, Pure
from sfumato.records import digest, readable

__all__ = ["FORMAT", "Collection"]

FORMAT = "sfumato-collection/3"
WITH_RELAY = "sfumato-collection/4"  # the same with a part `key` or `batch`
EARLIER = "sfumato-collection/1"  # its messages name the protocol alone, and its rounds are counted
WITH_OTHER = "sfumato-collection/2"  # the same with a part `other`
FORMATS = (EARLIER, WITH_OTHER, FORMAT, WITH_RELAY)
LONGEST = 200  # characters of a name
MOST_ROUNDS = 10_000
MOST_REPORTS = 10**9
CHANNELS: dict[str, type[Threshold | Prefixes]] = {kind.name: kind for kind in (Threshold, Prefixes)}


@dataclass(frozen=True, slots=True)
class Collection:
    """One protocol under one name and version; `labels` are the public names of what it estimates, in order.

    `other` is the label that a client gives to a value that is none of them, or missing; without it such a value is
    refused where it is.  `rounds` are the names of all rounds there will be, such as days; a report counts in its own
    round alone.  `most`: owners randomize at most so many different values and answer from those ever after; without it
    they answer every round afresh.  `salt` tells collections apart that are declared alike.  `bound` is false of
    collections that were declared before messages named them (formats 1 and 2).  `key` is the public key that reports
    are sealed to, and `batch` the least number of reports that a relay shuffles and sends on together.

    >>> from sfumato.local.protocols import GeneralizedResponse
    >>> pets = Collection("pets", GeneralizedResponse.calibrate(3, Pure(1.0)), ("cat", "dog", "other"))
    >>> Collection.from_record(pets.to_record()) == pets, len(pets.digest)
    (True, 64)
    """

    name: str
    protocol: LocalProtocol
    labels: tuple[str, ...] = ()
    other: str | None = None
    version: str = "1"
    rounds: tuple[str, ...] = ("1",)
    most: int | None = None
    salt: str = ""
    bound: bool = True
    key: str | None = None
    batch: int | None = None

    def __post_init__(self) -> None:
        for part in ("labels", "rounds"):
            if isinstance(getattr(self, part), list):
                object.__setattr__(self, part, tuple(getattr(self, part)))
        if not (_text(self.name) and 0 < len(self.name.strip()) <= LONGEST):
            raise ParameterError(f"name must be a text of 1 to {LONGEST} characters that says what is collected")
        if not isinstance(self.protocol, LocalProtocol):
            raise ParameterError(
                f"protocol must be a local protocol or question, such as `choose` finds, not {type(self.protocol)}"
            )
        for part in ("labels", "rounds"):
            _names(part, getattr(self, part))
        expected = _expected(self.protocol)
        if self.labels and len(self.labels) not in expected:
            named = " or ".join(map(str, sorted(expected))) or "no"
            what = "attributes, or all their values," if isinstance(self.protocol, Marginals) else "categories"
            of = f"all {named} {what}" if self.protocol.goal in ("frequencies", "tables") else f"{named} estimates"
            raise ParameterError(f"labels must name {of} of {self.protocol.name!r}, got {len(self.labels)}")
        if self.other is not None and (self.other not in self.labels or self.protocol.goal != "frequencies"):
            raise ParameterError("other must be one of the labels, of a protocol for categories or sets")
        if not (0 < len(self.rounds) <= MOST_ROUNDS):
            raise ParameterError(f"rounds must name from 1 to {MOST_ROUNDS:,} rounds, got {len(self.rounds):,}")
        for part in ("version", "salt"):
            if not _text(getattr(self, part)) or len(getattr(self, part)) > LONGEST:
                raise ParameterError(f"{part} must be a text of at most {LONGEST} characters")
        if self.most is not None and not (type(self.most) is int and 1 <= self.most <= len(self.rounds)):
            raise ParameterError(f"most must be a number of values from 1 to that of the rounds, got {self.most!r}")
        if self.key is not None:
            checked_key(self.key)
        if self.batch is not None and not (type(self.batch) is int and 2 <= self.batch <= MOST_REPORTS):
            raise ParameterError(f"batch must be a number of reports from 2 to {MOST_REPORTS:,}, got {self.batch!r}")
        if not self.bound and (self.key is not None or self.batch is not None):
            raise ParameterError("key and batch belong to collections whose messages name them")

    @property
    def digest(self) -> str:
        """SHA-256 of the declaration, which binds journals and messages to it."""
        record = self._record()
        return declared_digest(record) if self.bound else digest(record)

    def address(self, round: str | None = None) -> Address:
        """What messages of a round carry; a collection of one round needs no name."""
        if not self.bound:
            return Address(UNBOUND, self.protocol.digest)
        if round is None and len(self.rounds) > 1:
            raise ParameterError(
                f"round must name one of the {len(self.rounds)} rounds of {self.name!r}, such as {self.rounds[0]!r}"
            )
        named = self.rounds[0] if round is None else round
        if named not in self.rounds:
            raise ParameterError(f"{self.name!r} declares no round {round!r}; {_listed(self.rounds)}")
        return address(self.digest, named, self._wire)

    def addresses(self) -> dict[Address, str | None]:
        """The round of each of the addresses that messages can carry; none where rounds are counted."""
        if not self.bound:
            return {self.address(): None}
        digest = self.digest  # of all terms, once
        return {address(digest, name, self._wire): name for name in self.rounds}

    @property
    def _wire(self) -> int:
        return BOUND if self.key is None else SEALED

    def against(self, other: Collection) -> str:
        """How another collection differs from this one, in words."""
        alike = "same name, other terms" if other.name == self.name else "another name"
        return f"{alike} (digest {other.digest[:12]}, this one has {self.digest[:12]})"

    def guarantee(self) -> Pure | Approximate:
        """What one report costs its owner."""
        return self.protocol.guarantee()

    def history(self) -> Pure | Approximate:
        """What all reports of one owner cost, over all rounds: `most` values, or a fresh report each round."""
        return history(self.protocol, len(self.rounds), self.most)

    def caution(self) -> str:
        """What estimates rely on and cannot show themselves; empty if there is nothing."""
        told = [caution] if (caution := self.protocol.caution()) else []
        if self.most is not None and self.most < len(self.rounds):
            rare = ", and numbers hardly ever repeat" if "mean" in self.protocol.goal else ""
            told.append(
                f"an owner is heard for at most {self.most} different values{rare}: what comes after them is answered "
                "as the last one, so that later rounds lag behind what changes"
            )
        return "; ".join(told)

    def to_record(self) -> dict[str, Any]:
        """Plain values; numbers are texts, so that every language hashes the same bytes."""
        return {**self._record(), "digest": self.digest} if self.bound else self._record()

    def _record(self) -> dict[str, Any]:
        other = {} if self.other is None else {"other": self.other}
        if not self.bound:
            held = {"name": self.name, "labels": list(self.labels), "protocol": self.protocol.to_record()}
            return {"format": WITH_OTHER if other else EARLIER, **held, **other}
        terms = {"version": self.version, "salt": self.salt, "rounds": list(self.rounds), "labels": list(self.labels)}
        terms |= {} if self.most is None else {"most": str(self.most)}
        relayed = {} if self.batch is None else {"batch": str(self.batch)}
        relayed |= {} if self.key is None else {"key": self.key}
        terms |= relayed
        form = WITH_RELAY if relayed else FORMAT
        return {"format": form, "name": self.name, **terms, **other, "protocol": texts(self.protocol.to_record())}

    @classmethod
    def from_record(cls, record: object) -> Collection:
        """What `to_record` wrote, or a person with `epsilon` in place of a protocol's inner parameters."""
        if isinstance(record, dict) and str(record.get("format")).startswith("sfumato-inquiry/"):
            raise SchemaError(
                "this is an inquiry, which goes by turns; each turn has a collection of its own, in its question"
            )
        if not isinstance(record, dict) or record.get("format") not in FORMATS:
            raise SchemaError(f"this is not a collection of format {FORMAT}; it must say format = {FORMAT!r}")
        parts = {"format", "name", "labels", "protocol"}
        parts |= {"other"} if record["format"] != EARLIER else set()
        parts |= {"version", "salt", "rounds", "most", "digest"} if record["format"] in (FORMAT, WITH_RELAY) else set()
        parts |= {"key", "batch"} if record["format"] == WITH_RELAY else set()
        extra = record.keys() - parts
        if extra or not isinstance(record.get("protocol"), dict):
            hint = f"; say format = {WITH_RELAY!r} for these" if extra and extra <= {"key", "batch"} else ""
            told = ", ".join(sorted(extra)) or "less"
            raise SchemaError(f"a collection of this format has {', '.join(sorted(parts))}; not {told}{hint}")
        labels, rounds = record.get("labels", []), record.get("rounds", ["1"])
        if not isinstance(labels, list) or not isinstance(record["protocol"].get("type"), str):
            raise SchemaError("labels must be a list of names, and a protocol needs a type, its name")
        if not isinstance(rounds, list):
            raise SchemaError("rounds must be a list of names, such as days")
        found = cls(
            record.get("name", ""),
            _protocol(dict(record["protocol"]), len(labels)),
            tuple(str(label) for label in labels),
            record.get("other"),
            str(record.get("version", "1")),
            tuple(str(name) for name in rounds),
            None if record.get("most") is None else whole_from("most", record["most"]),
            str(record.get("salt", "")),
            record["format"] in (FORMAT, WITH_RELAY),
            record.get("key"),
            None if record.get("batch") is None else whole_from("batch", record["batch"]),
        )
        check_digest("collection", record, found.digest)
        return found

    @classmethod
    def read(cls, path: str | Path) -> Collection:
        """The collection of a `.toml` or `.json` file."""
        source = Path(path)
        if not source.is_file():
            raise SchemaError(f"there is no collection file {source}; check the path")
        try:
            text = source.read_text(encoding="utf-8")
            record = tomllib.loads(text) if source.suffix == ".toml" else json.loads(text)
        except (OSError, ValueError, RecursionError):
            raise SchemaError(f"{source} is not a readable {source.suffix or 'JSON'} file; expected {FORMAT}") from None
        return cls.from_record(record)

    def save(self, path: str | Path) -> Path:
        """Write the declaration as JSON."""
        target = Path(path)
        if target.suffix != ".json":
            raise ParameterError(f"a collection is saved as .json, not {target.suffix!r}")
        target.write_text(readable(self.to_record()), encoding="utf-8")
        return target


def _text(value: object) -> bool:
    """Whether this is a text that can be written as UTF-8."""
    return isinstance(value, str) and not any("\ud800" <= letter <= "\udfff" for letter in value)


def _names(part: str, names: object) -> None:
    if not isinstance(names, tuple) or not all(_text(name) and (name or part == "labels") for name in names):
        raise ParameterError(f"{part} must be texts, in a tuple or list")
    if len(set(names)) != len(names):
        raise ParameterError(f"{part} must be different from each other")


def _expected(protocol: LocalProtocol) -> set[int]:
    """How many labels a protocol can have, if any."""
    if isinstance(protocol, Marginals):
        return {len(protocol.sizes), sum(protocol.sizes)}  # the attributes, or the values of all of them in turn
    if protocol.goal == "frequencies":
        return {int(getattr(protocol, "k", protocol.cells))}
    if protocol.goal == "means":
        return {len(protocol.estimate(protocol.tally(protocol.decode(b"")), 1))}
    return {1} if protocol.goal == "mean" else set()


def _listed(rounds: tuple[str, ...]) -> str:
    few = ", ".join(map(repr, rounds[:3]))
    return f"its rounds are {few}" + (f" and {len(rounds) - 3} more" if len(rounds) > 3 else "")


def _protocol(record: dict[str, Any], labels: int) -> LocalProtocol:
    """A protocol in full, or one to calibrate: `type`, `epsilon`, perhaps `delta`, and its domain."""
    kind: Any = QUESTIONS.get(record["type"])
    if kind is None or "epsilon" not in record:
        channel = CHANNELS.get(record["type"])
        try:
            return question_from(record) if channel is None else channel.from_record(record)
        except SfumatoError as error:
            if kind is None:
                raise
            raise SchemaError(
                f"{error}; declare all parameters of protocol {kind.name!r} as a saved collection has them, or epsilon "
                f"in their place, such as epsilon = 1.0, and {', '.join(_needed(kind.calibrate)[1:])}"
            ) from None
    record.pop("type")
    epsilon, delta = record.pop("epsilon"), record.pop("delta", None)
    if labels and "k" in _needed(kind.calibrate):
        record.setdefault("k", labels)
    target = Pure(epsilon) if delta is None else Approximate(epsilon, delta)
    try:
        return kind.calibrate(**record, target=target)  # type: ignore[no-any-return]
    except TypeError:
        raise SchemaError(
            f"protocol {kind.name!r} is declared with {', '.join(sorted(record)) or 'no parts of its own'}, and needs "
            f"{', '.join(_needed(kind.calibrate))}"
        ) from None


def _needed(calibrate: Callable[..., Any]) -> list[str]:
    """The parts without which a protocol cannot be calibrated."""
    parts = inspect.signature(calibrate).parameters.values()
    return ["epsilon", *(part.name for part in parts if part.default is part.empty and part.name != "target")]
