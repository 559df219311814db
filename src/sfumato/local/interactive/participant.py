"""The owner's half of an inquiry: computes each question itself, answers one turn of a round, and no other ever.

A participant believes nobody.  Which turn of a round is its own it draws itself, once, and keeps; the question follows
from the public rule and the transcript that it was shown, and whatever that transcript claims, the answer must cost no
more than the rule promised and fit the budget of the owner's file, which all collections share (`client.device`).  That
the round is answered is durable before the answer is drawn.  So a collector that invents turns, shows a turn again with
another question, or asks the same owner in two turns gets one answer a round at most.

The file is the device's own: a table `turns` holds, for each inquiry and round, the turn that was drawn and the digest
of the collection that was answered.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

from sfumato.errors import BudgetExceeded, ParameterError
from sfumato.local.client.bits import SystemBits
from sfumato.local.client.device import STATE, Device, told
from sfumato.local.collection.declaration import Collection
from sfumato.local.interactive.inquiry import Asked, Inquiry
from sfumato.local.protocols.drawing import uniform
from sfumato.local.protocols.owned import Names
from sfumato.local.protocols.protocol import Bits
from sfumato.privacy.guarantees import Approximate, Pure

__all__ = ["Participant"]

TURNS = """CREATE TABLE IF NOT EXISTS turns (
  inquiry TEXT NOT NULL, round TEXT NOT NULL, turn INTEGER NOT NULL, answered TEXT, PRIMARY KEY (inquiry, round)
) WITHOUT ROWID"""


class Participant:
    """One owner's part in an inquiry; `inquiry` is a declaration or its file, the rest as of a `Device`.

    >>> import tempfile
    >>> from sfumato.local.interactive.quantiles import QuantileSearch
    >>> search = QuantileSearch.calibrate(100, 0.5, Pure(1.0), users=1000, blocks=1)
    >>> with tempfile.TemporaryDirectory() as place:
    ...     user = Participant(Inquiry("age", search), f"{place}/device.db", budget=Pure(3.0))
    ...     asked = user.inquiry.asked()
    ...     print(user.answer(42, asked), user.answer(7, asked), len(user.pending()), user.remaining())
    True False 1 Pure(epsilon=2.0)
    """

    __slots__ = ("_bits", "_clock", "_device", "_path", "inquiry")

    def __init__(
        self,
        inquiry: Inquiry | str | Path,
        state: str | Path,
        budget: Pure | Approximate | None = None,
        period: int | None = None,
        bits: Bits | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.inquiry = Inquiry.read(inquiry) if isinstance(inquiry, str | Path) else inquiry
        if not isinstance(self.inquiry, Inquiry):
            raise ParameterError(f"inquiry must be a declared inquiry or its file, got {inquiry!r}")
        self._path, self._clock = Path(state), clock
        self._bits: Bits = SystemBits() if bits is None else bits
        first = self.inquiry.asked(self.inquiry.rounds[0]).collection
        assert first is not None
        self._device = Device(first, state, budget, period, self._bits, clock)  # makes the file, refuses a bad budget
        with STATE.reading(self._path) as connection:
            made = connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'turns'").fetchone()
        if made is None:
            with STATE.writing(self._path) as connection:
                connection.execute(TURNS)

    def answer(self, value: object, question: Asked | str | Path) -> bool:
        """Put the answer to a turn's question into the outbox; false where it is not this owner's turn, or all is said.

        A value that is not of the domain, and a question that does not follow from the inquiry, are refused before
        anything is written.  A question in a file is checked against the inquiry as it is read.
        """
        asked = Asked.read(question, self.inquiry) if isinstance(question, str | Path) else question
        if asked.inquiry != self.inquiry:
            raise ParameterError(f"the question belongs to another inquiry than {self.inquiry.name!r}")
        collection = asked.collection
        if collection is None:
            return False
        self._affordable(collection)
        collection.protocol.owned(value, Names())
        if not self._taken(asked, collection):
            return False
        device = Device(collection, self._path, self._device.budget, self._device.period, self._bits, self._clock)
        return device.record(value)

    def pending(self) -> list[bytes]:
        """The answers that were not acknowledged, the same bytes each time, in no telling order."""
        mine = "SELECT answered FROM turns WHERE inquiry = ?"
        query = f"SELECT message FROM outbox WHERE collection IN ({mine}) ORDER BY name"
        with STATE.reading(self._path) as connection:
            return [row[0] for row in connection.execute(query, (self.inquiry.digest,))]

    def acknowledge(self, message: bytes) -> None:
        """Forget an answer that a collector or relay has taken, or has refused for good."""
        self._device.acknowledge(message)

    def remaining(self) -> Pure | Approximate | None:
        """What is left of the budget now; none if there is no limit."""
        return self._device.remaining()

    def describe(self) -> str:
        """What leaves the device, and what it costs at most, in plain words."""
        claim = self.inquiry.guarantee().words().format(unit="any other value its owner might have had")
        rounds, first = len(self.inquiry.rounds), self._device.collection.protocol
        lines = [
            f"One turn of a round is answered, drawn by the device from {self.inquiry.rule.turns}, whatever is asked.",
            f"The first question asks for {first.words()}; later ones follow from earlier answers.",
            f"The promise of one answer: {claim}.",
        ]
        lines += [f"{rounds} rounds are answered at most: {told(self.inquiry.history())} in all."] if rounds > 1 else []
        if (limit := self._device.budget) is not None:
            lines.append(f"All collections together spend at most {told(limit)}; {self._device.left()}.")
        return "\n".join(lines)

    def _affordable(self, collection: Collection) -> None:
        """Refuse a question that costs more than the rule promised."""
        if not collection.guarantee().implies(self.inquiry.guarantee()):
            raise BudgetExceeded(
                f"the question costs {collection.guarantee()!r}, more than the {self.inquiry.guarantee()!r} that "
                f"{self.inquiry.rule.name!r} promised; nothing was sent"
            )

    def _taken(self, asked: Asked, collection: Collection) -> bool:
        """Whether this is the owner's own turn and unanswered; then it counts as answered from now on, durably."""
        key = (self.inquiry.digest, asked.round)
        with STATE.writing(self._path) as connection:
            query = "SELECT turn, answered FROM turns WHERE inquiry = ? AND round = ?"
            row = connection.execute(query, key).fetchone()
            if row is None:
                row = (int(uniform(self.inquiry.rule.turns, 1, self._bits)[0]), None)
                connection.execute("INSERT INTO turns VALUES (?, ?, ?, NULL)", (*key, row[0]))
            if row != (asked.turn, None):
                return False
            update = "UPDATE turns SET answered = ? WHERE inquiry = ? AND round = ?"
            connection.execute(update, (collection.digest, *key))
        return True
