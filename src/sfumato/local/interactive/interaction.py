"""Sequentially interactive protocols: a user's channel may depend on earlier reports, and on nothing else.

An `Interaction` is a public rule.  From the transcript so far (the tallies of earlier blocks of users) it names the
next channel, or ends.  Everybody computes the same channel from the same transcript: the collector to estimate, and
each client, for itself, before it answers.

Guarantee.  Given the transcript, a report costs its user what the channel costs, whatever the transcript is and
whoever made it up [DuchiJordanWainwright2018]; so a client that answers only channels within its limit, each once,
keeps that limit even against a collector that cheats.  Users who answer several times pay the sum, which the client's
own budget enforces.  Proof: docs/proofs/local-interactive.md.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from sfumato.errors import ParameterError
from sfumato.local.protocols.protocol import Bits, LocalProtocol, Tally
from sfumato.privacy.guarantees import Approximate, Pure

__all__ = ["Interaction", "Transcript", "Turn", "checked", "conducted", "target_from"]

MOST_REPORTS = 1 << 40  # of one turn: a collector cannot make a device count for ever


@dataclass(frozen=True, slots=True)
class Turn:
    """One block of users: the channel they answered (by digest), how many, and their tally."""

    channel: bytes
    reports: int
    tally: tuple[int, ...]

    def __post_init__(self) -> None:
        if not 0 <= self.reports <= MOST_REPORTS or any(abs(count) > 1 << 62 for count in self.tally):
            raise ParameterError(f"a turn must have from 0 to {MOST_REPORTS} reports, and a tally that fits them")

    @classmethod
    def of(cls, channel: LocalProtocol, reports: int, tally: Tally) -> Turn:
        """A turn from what a collector holds."""
        return cls(channel.digest, int(reports), tuple(int(count) for count in tally))

    def to_record(self) -> dict[str, Any]:
        """Plain values, to send to clients."""
        return {"channel": self.channel.hex(), "reports": self.reports, "tally": list(self.tally)}

    @classmethod
    def from_record(cls, record: dict[str, Any]) -> Turn:
        """What `to_record` wrote."""
        try:
            return cls(bytes.fromhex(record["channel"]), int(record["reports"]), tuple(int(c) for c in record["tally"]))
        except (KeyError, TypeError, ValueError):
            raise ParameterError("a turn must hold channel (hexadecimal), reports and tally (whole numbers)") from None


Transcript = tuple[Turn, ...]


class Interaction(ABC):
    """A public rule that names the next channel; subclasses are frozen dataclasses."""

    __slots__ = ()

    name: ClassVar[str]
    beta: float  # how often the result may be wrong

    @property
    @abstractmethod
    def turns(self) -> int:
        """How many turns there are at most."""

    @abstractmethod
    def channel_for(self, transcript: Transcript) -> LocalProtocol | None:
        """The channel of the next block of users; none when the interaction has ended."""

    @abstractmethod
    def block(self, transcript: Transcript) -> int:
        """How many users the next block should have."""

    @abstractmethod
    def guarantee(self) -> Pure | Approximate:
        """What answering once costs, whatever the transcript."""

    @abstractmethod
    def columns(self, transcript: Transcript) -> dict[str, list[Any]]:
        """What the answers say, as columns of a table; the transcript is checked against the rule."""

    def notes(self, transcript: Transcript) -> dict[str, str]:
        """What else is to be said of what was found, in words."""
        return {}

    @abstractmethod
    def to_record(self) -> dict[str, Any]:
        """`type` and all parameters, as plain values."""


def checked(interaction: Interaction, transcript: Transcript) -> list[tuple[LocalProtocol, Turn]]:
    """Each turn with the channel that the rule names there; a transcript that breaks the rule is refused."""
    found = []
    for place, turn in enumerate(transcript):
        channel = interaction.channel_for(transcript[:place])
        if channel is None or channel.digest != turn.channel or channel.cells != len(turn.tally):
            raise ParameterError(
                f"turn {place} of the transcript does not follow the rule of {interaction.name!r}; "
                "ask the collector for the whole transcript of this interaction"
            )
        found.append((channel, turn))
    return found


def conducted(interaction: Interaction, values: Sequence[Any], bits: Bits) -> Transcript:
    """The whole interaction with one value a user, each answering once: for simulations and tests."""
    transcript: Transcript = ()
    start = 0
    while start < len(values):
        channel = interaction.channel_for(transcript)
        if channel is None:
            break
        chunk = values[start : start + max(1, interaction.block(transcript))]
        start += len(chunk)
        reports = channel.randomize(chunk, bits)
        transcript = (*transcript, Turn.of(channel, len(chunk), np.asarray(channel.tally(reports))))
    return transcript


def target_from(record: dict[str, Any]) -> Pure | Approximate:
    """The guarantee that a rule is declared with: epsilon, and perhaps delta."""
    epsilon, delta = float(record["epsilon"]), float(record.get("delta", 0.0))
    return Approximate(epsilon, delta) if delta else Pure(epsilon)
