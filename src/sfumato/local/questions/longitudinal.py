r"""The same question over and over: randomizations are kept, and what that protects is said in full.

Definition.  For each value it ever held, an owner keeps one randomization, drawn when the value first occurred, and
answers from it whenever the value recurs (RAPPOR: with fresh noise on top).  After `most` different values a new one is
answered as the one answered last, as a `Device` and a `Client` do: silence or an error would tell of the change.

Guarantee.   Between two histories whose values change at the same times, in the same pattern, all reports of all time
together cost at most `most` times what one randomization costs.  [ErlingssonPihurKorolova2014]
Not protected: that something changed, and when.  Where a kept randomization is sent as it is, reports that differ prove
a change, so between a history that changes and one that does not there is no finite bound.
Proof: docs/proofs/local-questions.md.

Accuracy.    Each round is the protocol's own; over rounds the same noise returns, so averaging rounds does not help.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from sfumato.errors import LedgerError, ParameterError
from sfumato.local.client.client import FORMAT as MEMORY
from sfumato.local.client.client import Client
from sfumato.local.client.files import locked, read, write
from sfumato.local.client.keeping import single
from sfumato.local.protocols.owned import Names
from sfumato.local.protocols.protocol import Bits, LocalProtocol
from sfumato.local.protocols.rappor import Rappor
from sfumato.local.questions.history import history
from sfumato.privacy.guarantees import Approximate, Pure

__all__ = ["Diary", "Longitudinal"]

FORMAT = "sfumato-diary/1"


@dataclass(frozen=True, slots=True)
class Longitudinal:
    """A frequency protocol asked again and again, of owners who answer for at most `most` different values.

    >>> from sfumato.local.protocols import GeneralizedResponse
    >>> weekly = Longitudinal(GeneralizedResponse.calibrate(10, Pure(1.0)), most=3)
    >>> weekly.history().implies(Pure(3.0)), weekly.single().implies(Pure(1.0))
    (True, True)
    """

    protocol: LocalProtocol
    most: int

    def __post_init__(self) -> None:
        if isinstance(self.most, bool) or not isinstance(self.most, int) or self.most < 1:
            raise ParameterError(f"most must be a positive number of different values, got {self.most!r}")
        if self.protocol.goal != "frequencies":
            raise ParameterError(f"protocol must be one for categories, not {self.protocol.name!r}")

    def single(self) -> Pure | Approximate:
        """What one report costs whoever sees no other."""
        return self.protocol.guarantee()

    def history(self) -> Pure | Approximate:
        """What all reports of all time cost together, between histories that change in the same pattern."""
        return history(self.protocol, self.most, self.most)

    def words(self) -> str:
        """What is protected over time, and what is not, for whoever decides."""
        fresh = isinstance(self.protocol, Rappor)
        seen = (
            "that it changed can be told from many reports"
            if fresh
            else "two different reports of one owner prove that the value changed"
        )
        return (
            f"Each report alone: {self.single().words().format(unit='the value')}.\n"
            f"All reports together, for values that change in a given pattern: "
            f"{self.history().words().format(unit='the values')}.\n"
            f"Not protected: that the value changed, and when ({seen}). "
            f"From the {_ordinal(self.most + 1)} different value on, an owner answers as the last time."
        )


class Diary:
    """The owner's half: keeps (in `path`, as secret as the values) what was answered, and reports within `most`.

    With `labels` (and perhaps `other` among them), as a collection declares them, it takes labels, else positions.
    """

    __slots__ = ("_client", "_kept", "_names", "_path", "question")

    def __init__(
        self,
        question: Longitudinal,
        path: str | Path,
        bits: Bits | None = None,
        labels: tuple[str, ...] = (),
        other: str | None = None,
    ) -> None:
        self.question = question
        self._names = Names(labels, other)
        self._path = Path(path)
        self._kept = self._path.with_name(self._path.name + ".kept")
        self._client = Client(question.protocol, self._kept, bits=bits)

    def report(self, value: object) -> bytes:
        """The message for this round."""
        return self._client.report(self._known(value))

    def _known(self, value: object) -> int:
        """The value's category, or the one answered last when there is no room for another."""
        place = int(self.question.protocol.coerce(single(self.question.protocol.owned(value, self._names)))[0])
        mine = {"format": FORMAT, "protocol": self.question.protocol.digest.hex(), "places": []}
        with locked(self._path):
            held = read(self._path, FORMAT) or mine
            places = held.get("places")
            if held.get("protocol") != mine["protocol"] or not isinstance(places, list):
                raise LedgerError(f"{self._path.name} belongs to another protocol; give each one a file of its own")
            if place in places:
                return place
            if len(places) >= self.question.most:
                kept = read(self._kept, MEMORY) or {}
                return int(kept.get("last") or places[-1])  # none if the first report was never finished
            places.append(place)
            write(self._path, held)
        return place


def _ordinal(number: int) -> str:
    """1st, 2nd, 3rd, 4th..."""
    ending = "th" if number % 100 in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{ending}"
