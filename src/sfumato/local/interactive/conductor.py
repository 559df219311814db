"""The collector's half of an inquiry: a journal for each turn, and the next question when a turn ends.

The state of a round is its journals and nothing else: those of ended turns are closed, for good, and hold the
transcript; from it everybody computes the same next question.  A conductor may die at any moment and be started
anywhere that has the directory: a turn is ended in one durable step, and one without an answer is not ended, so that a
step that was repeated because nobody saw its end asks the same question again.
Each journal is bound to its question, and by that to the transcript before it; answers to an ended turn are refused.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from sfumato.errors import ReportError
from sfumato.local.client.binding import Address
from sfumato.local.client.wire import Header, header_of
from sfumato.local.collection.collector import Collector, Receipt
from sfumato.local.collection.database import CollectionError
from sfumato.local.interactive.finding import Finding
from sfumato.local.interactive.inquiry import Asked, Inquiry
from sfumato.local.interactive.interaction import Transcript, Turn

__all__ = ["Conductor"]

JOURNAL = re.compile(r"([1-9][0-9]{0,4})-[0-9]+\.journal")  # the place of the round, and the turn


class Conductor:
    """An inquiry and its journals, in a directory that is made if missing; `most` limits the answers of one message.

    >>> import tempfile
    >>> from sfumato.local.interactive.participant import Participant
    >>> from sfumato.local.interactive.quantiles import QuantileSearch
    >>> from sfumato.privacy.guarantees import Pure
    >>> inquiry = Inquiry("age", QuantileSearch.calibrate(100, 0.5, Pure(1.0), users=1, blocks=1))
    >>> with tempfile.TemporaryDirectory() as place:
    ...     conductor = Conductor(inquiry, f"{place}/age.turns")
    ...     user = Participant(inquiry, f"{place}/device.db")
    ...     print(user.answer(42, conductor.asked()), conductor.add_all(user.pending())[0].accepted)
    ...     print(conductor.turn().collection, conductor.finding().reports)
    True 1
    None 1
    """

    __slots__ = ("_collectors", "_ended", "_first", "_homes", "inquiry", "most", "place")

    def __init__(self, inquiry: Inquiry, place: str | Path, most: int | None = None) -> None:
        self.inquiry, self.place, self.most = inquiry, Path(place), most
        try:
            self.place.mkdir(exist_ok=True)
        except OSError as error:
            raise CollectionError(
                f"the journals' directory {self.place} cannot be made ({error.strerror}); give another place"
            ) from None
        self._ended: dict[str, Transcript] = dict.fromkeys(inquiry.rounds, ())
        self._collectors: dict[tuple[str, int], Collector] = {}
        self._homes: dict[Address, Collector] = {}  # by what the messages of a turn carry
        self._first: dict[Address, str] = {}  # the rounds, by what the messages of their first turns carry

    @classmethod
    def open(cls, declaration: str | Path, place: str | Path | None = None, most: int | None = None) -> Conductor:
        """The conductor of a declared inquiry; the journals lie beside it unless `place` says where."""
        source = Path(declaration)
        return cls(Inquiry.read(source), source.with_suffix(".turns") if place is None else place, most)

    def __repr__(self) -> str:
        return f"Conductor({self.inquiry.name!r}, {str(self.place)!r})"

    def asked(self, round: str | None = None) -> Asked:
        """The question of a round as it stands."""
        named = self.inquiry.named(round)
        while True:
            asked = Asked(self.inquiry, named, self._ended[named])
            collector = self._collector(asked)
            if collector is None or not collector.state.closed:
                return asked
            state, channel = collector.state, collector.collection.protocol
            self._ended[named] = (*asked.transcript, Turn.of(channel, state.reports, state.tally))

    def turn(self, round: str | None = None) -> Asked:
        """End the turn, if it has any answer, and ask the next question; none is left when its collection is none."""
        asked = self.asked(round)
        collector = self._collector(asked)
        if collector is not None and collector.state.reports:
            collector.close(forget=True)  # its answers can count no more, so nothing needs to tell them apart
        return self.asked(round)

    def add(self, message: bytes) -> Receipt:
        """Take in one message of answers; returns when its effect is durable."""
        return self.add_all([message])[0]

    def add_all(self, messages: Iterable[bytes]) -> list[Receipt]:
        """Take in messages, each in its own turn of its own round: a receipt for each, all durable on return."""
        held = list(messages)
        receipts: dict[int, Receipt] = {}
        groups: dict[Collector, list[int]] = {}
        for place, message in enumerate(held):
            groups.setdefault(self._home(message), []).append(place)
        for collector, places in groups.items():
            found = collector.add_all([held[place] for place in places])
            receipts.update(zip(places, found, strict=True))
        return [receipts[place] for place in range(len(held))]

    def finding(self, round: str | None = None) -> Finding:
        """What the ended turns of a round say, and what was refused in all of its turns."""
        asked = self.asked(round)
        refused = Counter[str]()
        for (name, _), collector in self._collectors.items():
            if name == asked.round:
                refused.update(collector.state.refused)
        return Finding(self.inquiry, asked.round, asked.transcript, dict(refused))

    def waiting(self, round: str | None = None) -> int:
        """How many answers the open turn has; 0 when the round has ended."""
        collector = self._collector(self.asked(round))
        return 0 if collector is None else collector.state.reports

    def knows(self, address: Address) -> bool:
        """Whether messages that carry this belong to a turn that was asked."""
        if address not in self._homes:
            for round in self._begun(address):
                self.asked(round)
        return address in self._homes

    def width(self, head: Header) -> int:
        """The bytes of one record behind a header that is known."""
        return self._homes[head.address].width(head)

    def _begun(self, address: Address) -> set[str]:
        """The rounds that a stranger may belong to: nobody is asked before the turn has a journal, but for the first.

        So junk opens and makes no journals, however many rounds there are.
        """
        if not self._first:
            firsts = ((self.inquiry.asked(round).collection, round) for round in self.inquiry.rounds)
            self._first = {place: round for first, round in firsts if first is not None for place in first.addresses()}
        opened = {collector.journal.path.name for collector in self._collectors.values()}
        rounds = (JOURNAL.fullmatch(name) for name in {*os.listdir(self.place)} - opened)
        places = {int(found[1]) for found in rounds if found and int(found[1]) <= len(self.inquiry.rounds)}
        begun = {self.inquiry.rounds[place - 1] for place in places}
        return begun | ({self._first[address]} if address in self._first else set())

    def _home(self, message: bytes) -> Collector:
        """Whose a message is; a stranger is refused, and counted, where the first round began."""
        try:
            address = header_of(bytes(message)).address
        except ReportError:
            address = None
        if address is not None and self.knows(address):
            return self._homes[address]
        first = self._collector(self.inquiry.asked(self.inquiry.rounds[0]))
        assert first is not None
        return first

    def _collector(self, asked: Asked) -> Collector | None:
        """That of a question, made if it is new; none when there is nothing to ask."""
        key = (asked.round, asked.turn)
        if key not in self._collectors:
            collection = asked.collection
            if collection is None:
                return None
            place = self.place / f"{self.inquiry.rounds.index(asked.round) + 1}-{asked.turn}.journal"
            self._collectors[key] = Collector(collection, place, self.most)
            self._homes |= dict.fromkeys(collection.addresses(), self._collectors[key])
        return self._collectors[key]
