"""What is collected, declared once and in public: a name, a protocol with all its parameters, and labels.

Clients, collectors and analysts read the same file (TOML by hand, or JSON as `save` writes it).  Its digest binds a
journal to it.  One owner sends one report a round; `docs/formats/collection.md` has the layout.
"""

from __future__ import annotations

import inspect
import json
import tomllib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sfumato.errors import ParameterError, SchemaError
from sfumato.local.interactive.quantiles import Threshold
from sfumato.local.interactive.strings import Prefixes
from sfumato.local.protocols.protocol import LocalProtocol
from sfumato.local.questions import QUESTIONS, question_from
from sfumato.privacy.guarantees import Approximate, Pure
from sfumato.records import digest, readable

__all__ = ["FORMAT", "WITH_OTHER", "Collection"]

FORMAT = "sfumato-collection/1"
WITH_OTHER = "sfumato-collection/2"  # the same with a part `other`; one that declares none is written as before
LONGEST = 200  # characters of a name
CHANNELS: dict[str, type[Threshold | Prefixes]] = {kind.name: kind for kind in (Threshold, Prefixes)}


@dataclass(frozen=True, slots=True)
class Collection:
    """One protocol under one name; `labels` are the public names of what it estimates, in order.

    `other` is the label that a client gives to a value that is none of them, or missing; without it such a value is
    refused where it is.

    >>> from sfumato.local.protocols import GeneralizedResponse
    >>> pets = Collection("pets", GeneralizedResponse.calibrate(3, Pure(1.0)), ("cat", "dog", "other"))
    >>> Collection.from_record(pets.to_record()) == pets, len(pets.digest)
    (True, 64)
    """

    name: str
    protocol: LocalProtocol
    labels: tuple[str, ...] = ()
    other: str | None = None

    def __post_init__(self) -> None:
        if not (isinstance(self.name, str) and 0 < len(self.name.strip()) <= LONGEST):
            raise ParameterError(f"name must be a text of 1 to {LONGEST} characters that says what is collected")
        if not all(isinstance(label, str) for label in self.labels):
            raise ParameterError("labels must be texts")
        if len(set(self.labels)) != len(self.labels):
            raise ParameterError("labels must be different from each other")
        expected = getattr(self.protocol, "k", len(self.labels))
        if self.labels and self.protocol.goal == "frequencies" and len(self.labels) != expected:
            raise ParameterError(f"labels must name all {expected} categories, got {len(self.labels)}")
        if self.other is not None and (self.other not in self.labels or self.protocol.goal != "frequencies"):
            raise ParameterError("other must be one of the labels, of a protocol for categories or sets")

    @property
    def digest(self) -> str:
        """SHA-256 of the declaration."""
        return digest(self.to_record())

    def guarantee(self) -> Pure | Approximate:
        """What one report costs its owner."""
        return self.protocol.guarantee()

    def to_record(self) -> dict[str, Any]:
        """Plain values."""
        held = {"name": self.name, "labels": list(self.labels), "protocol": self.protocol.to_record()}
        return {"format": FORMAT, **held} if self.other is None else {"format": WITH_OTHER, **held, "other": self.other}

    @classmethod
    def from_record(cls, record: object) -> Collection:
        """What `to_record` wrote, or a person with `epsilon` in place of a protocol's inner parameters."""
        if not isinstance(record, dict) or record.get("format") not in (FORMAT, WITH_OTHER):
            raise SchemaError(f"this is not a collection of format {FORMAT}; it must say format = {FORMAT!r}")
        parts = {"format", "name", "labels", "protocol"} | ({"other"} if record["format"] == WITH_OTHER else set())
        extra = record.keys() - parts
        if extra or not isinstance(record.get("protocol"), dict):
            raise SchemaError(
                f"a collection of this format has {', '.join(sorted(parts))}; not {', '.join(sorted(extra)) or 'less'}"
            )
        held = record.get("labels", [])
        if not isinstance(held, list) or not isinstance(record["protocol"].get("type"), str):
            raise SchemaError("labels must be a list of names, and a protocol needs a type, its name")
        labels = tuple(str(label) for label in held)
        protocol = _protocol(dict(record["protocol"]), len(labels))
        return cls(record.get("name", ""), protocol, labels, record.get("other"))

    @classmethod
    def read(cls, path: str | Path) -> Collection:
        """The collection of a `.toml` or `.json` file."""
        source = Path(path)
        if not source.is_file():
            raise SchemaError(f"there is no collection file {source}; check the path")
        try:
            text = source.read_text(encoding="utf-8")
            record = tomllib.loads(text) if source.suffix == ".toml" else json.loads(text)
        except (OSError, ValueError):
            raise SchemaError(f"{source} is not a readable {source.suffix or 'JSON'} file; expected {FORMAT}") from None
        return cls.from_record(record)

    def save(self, path: str | Path) -> Path:
        """Write the declaration as JSON."""
        target = Path(path)
        if target.suffix != ".json":
            raise ParameterError(f"a collection is saved as .json, not {target.suffix!r}")
        target.write_text(readable(self.to_record()), encoding="utf-8")
        return target


def _protocol(record: dict[str, Any], labels: int) -> LocalProtocol:
    """A protocol in full, or one to calibrate: `type`, `epsilon`, perhaps `delta`, and its domain."""
    if "epsilon" not in record or record.get("type") not in QUESTIONS:
        channel = CHANNELS.get(str(record.get("type")))
        return question_from(record) if channel is None else channel.from_record(record)
    kind: Any = QUESTIONS[record.pop("type")]
    epsilon, delta = record.pop("epsilon"), record.pop("delta", None)
    if labels and not record:
        record["k"] = labels
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
