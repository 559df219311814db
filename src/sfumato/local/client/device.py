"""A device that takes part in collections: budget, memory and outbox in one file, changed together or not at all.

Recording a value draws its report, charges what it costs and puts the message into the outbox in one durable step.  The
message stays there, the same bytes, until it is acknowledged: a retry is neither new noise nor a second charge.

One report a collection and round: what is recorded later for the same round changes nothing.  A collection that
declares `most` values is answered from kept randomizations, and is charged for one at each of the first `most` rounds,
whether its value is new or not.  A value that no paid randomization is left for is answered as the one recorded last,
by one rule; where nothing was paid for the device stays silent.  So values decide neither whether a message is sent,
nor what is left for other collections.

The file is as secret as the values.  Losses add up over all collections that share it, within `period` days if one is
given: then the limit is a promise about every such time, not about all of it.  What is kept is used for all time, so
that collections that declare `most` need a budget without a period.
"""

from __future__ import annotations

import json
import math
import sqlite3
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Protocol

import numpy.typing as npt

from sfumato.errors import LedgerError, ParameterError
from sfumato.local.client.bits import SystemBits
from sfumato.local.client.budget import UNIT, amounts
from sfumato.local.client.keeping import answered, drawn, keeping_costs, place_of, single
from sfumato.local.client.randomized import Randomized
from sfumato.local.client.sealing import check_sealing
from sfumato.local.client.wire import Declared, encode_batch, header_of
from sfumato.local.protocols.owned import Names
from sfumato.local.protocols.protocol import Bits, Reports
from sfumato.numeric import shown_up
from sfumato.privacy.claims import guarantee_from, to_record
from sfumato.privacy.guarantees import Approximate, Pure
from sfumato.records import canonical_ascii
from sfumato.storage import DatabaseKind

__all__ = ["Device", "told"]

FORMAT = 1
DAY = 86_400.0  # seconds
SCHEMA = (
    "CREATE TABLE terms (budget TEXT NOT NULL, period INTEGER)",
    """CREATE TABLE charges (
  collection TEXT NOT NULL, round TEXT NOT NULL, day INTEGER NOT NULL, epsilon INTEGER NOT NULL,
  delta INTEGER NOT NULL, PRIMARY KEY (collection, round)
) WITHOUT ROWID""",
    """CREATE TABLE kept (
  collection TEXT NOT NULL, place TEXT NOT NULL, report BLOB NOT NULL, last INTEGER NOT NULL,
  PRIMARY KEY (collection, place)
) WITHOUT ROWID""",
    "CREATE TABLE outbox (name BLOB PRIMARY KEY, collection TEXT NOT NULL, message BLOB NOT NULL) WITHOUT ROWID",
)

STATE = DatabaseKind(
    noun="device file",
    application=0x53464456,  # "SFDV"
    formats=(FORMAT,),
    error=LedgerError,
    absent="check the path",
    foreign=f"of a device in format {FORMAT}",
    damaged="restore it; nothing is sent without it",
    refused="refused what was recorded",
    failed="nothing was recorded; mend that and record again",
    settings=("PRAGMA temp_store = MEMORY", "PRAGMA secure_delete = ON"),
)


class Joined(Declared, Protocol):
    """What a device needs of a collection beyond what a client does."""

    @property
    def name(self) -> str:
        """What it is called."""
        ...


class Device:
    """One owner's part in a collection; devices of several collections share `state`, and with it the budget.

    `collection` is a declaration or its file, `state` the device's own file, made if missing; `budget` limits what all
    collections together may learn, for all time or in any `period` of days.

    >>> import tempfile
    >>> from sfumato.local import collect
    >>> pets = collect("pets", ["cat", "dog", "other"], spend=1.0, people=1000, other="other")
    >>> with tempfile.TemporaryDirectory() as place:
    ...     device = Device(pets, f"{place}/device.db", budget=Pure(2.0))
    ...     print(device.record("cat"), device.record("dog"), len(device.pending()), device.remaining())
    True False 1 Pure(epsilon=1.0)
    """

    __slots__ = ("_bits", "_clock", "_path", "budget", "collection", "period")

    def __init__(
        self,
        collection: Joined | str | Path,
        state: str | Path,
        budget: Pure | Approximate | None = None,
        period: int | None = None,
        bits: Bits | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.collection = _declared(collection)
        check_sealing(self.collection.key)
        _countable(budget)
        if budget is not None and not _paid(budget, self._price()):
            raise ParameterError(
                f"budget must pay for one report at least: {budget!r} does not cover {self._price()!r}, and the device "
                f"could never send to {self.collection.name!r}"
            )
        if period is not None and not (type(period) is int and period >= 1):
            raise ParameterError(f"period must be a whole number of days, got {period!r}")
        if period is not None and self.collection.most is not None:
            raise ParameterError(
                f"{self.collection.name!r} keeps values for all time: give it a budget without a period, elsewhere"
            )
        self.budget, self.period = budget, period
        self._path, self._clock = Path(state), clock
        self._bits: Bits = SystemBits() if bits is None else bits
        self._open()

    def record(self, value: object, round: str | None = None) -> bool:
        """Put the report for a value into the outbox; false if there is one for this round, or nothing to say.

        A value that is not of the domain is refused before anything is written, unless the collection declares `other`.
        """
        named = self._round(round)
        protocol = self.collection.protocol
        values = single(protocol.owned(value, Names(self.collection.labels, self.collection.other)))
        with STATE.writing(self._path) as connection:
            query = "SELECT 1 FROM charges WHERE collection = ? AND round = ?"
            if connection.execute(query, (self.collection.digest, named)).fetchone() is not None:
                return False
            report, claim = (
                self._fresh(connection, values) if self.collection.most is None else self._kept(connection, values)
            )
            if report is None:
                return False
            epsilon, delta = (0, 0) if claim is None else amounts(claim, math.ceil)
            day = int(self._clock() // DAY)
            row = (self.collection.digest, named, day, epsilon, delta)
            connection.execute("INSERT INTO charges VALUES (?, ?, ?, ?, ?)", row)
            message = encode_batch(self.collection, Randomized(protocol, report), round=named)
            kept = (header_of(message).name, self.collection.digest, message)
            connection.execute("INSERT INTO outbox VALUES (?, ?, ?)", kept)
        return True

    def pending(self) -> list[bytes]:
        """The messages of the collection that were not acknowledged, the same bytes each time, in no telling order."""
        query = "SELECT message FROM outbox WHERE collection = ? ORDER BY name"
        with STATE.reading(self._path) as connection:
            return [row[0] for row in connection.execute(query, (self.collection.digest,))]

    def acknowledge(self, message: bytes) -> None:
        """Forget a message that a collector or relay has taken, or has refused for good."""
        with STATE.writing(self._path) as connection:
            connection.execute("DELETE FROM outbox WHERE name = ?", (header_of(message).name,))

    def remaining(self) -> Pure | Approximate | None:
        """What is left of the budget now; none if there is no limit."""
        if self.budget is None:
            return None
        with STATE.reading(self._path) as connection:
            spent = self._spent(connection)
        whole = amounts(self.budget, math.floor)
        left = {"epsilon": max(0, whole[0] - spent[0]) / UNIT, "delta": max(0, whole[1] - spent[1]) / UNIT}
        return self.budget.with_parts({name: left[name] for name in self.budget.names()})

    def left(self) -> str:
        """What is left of the budget now, in a few words."""
        remaining = self.remaining()
        return "there is no limit" if remaining is None else f"{told(remaining)} is left"

    def describe(self) -> str:
        """What leaves the device, and what it costs at most, in plain words."""
        protocol, most = self.collection.protocol, self.collection.most
        claim = protocol.guarantee().words().format(unit="any other value its owner might have had")
        lines = [f"Each report holds {protocol.words()}, and nothing else.", f"The promise of one report: {claim}."]
        if caution := protocol.caution():
            lines.append(f"What is estimated {caution}.")
        if self.collection.key is not None:
            lines.append("It is sealed: whoever carries it sees that a report was sent, and cannot read it.")
        rounds = len(self.collection.rounds)
        if most is not None:
            lines.append(
                f"At most {most} different values are randomized, each once; later ones are answered as the last. "
                "That something changed may be noticed by whoever sees all reports."
            )
        elif rounds > 1:
            lines.append(f"Each of {rounds} rounds is answered afresh, and their losses add up.")
        if self.budget is not None:
            time = "" if self.period is None else f" in any {self.period} days"
            lines.append(f"All collections together spend at most {told(self.budget)}{time}; {self.left()}.")
            lines += self._shortage(self.budget)
            lines += self._more()
        return "\n".join(lines)

    def _shortage(self, budget: Pure | Approximate) -> list[str]:
        """How far the budget reaches, where that is not to the end."""
        paid, most, rounds = _paid(budget, self._price()), self.collection.most, len(self.collection.rounds)
        if paid >= (rounds if most is None else most):
            return []
        if most is not None:
            return [f"It pays for {paid} of {most} different values; what cannot be paid for is answered as the last."]
        time = "" if self.period is None else f" in any {self.period} days"
        return [f"It pays for {paid} of {rounds} rounds{time}; when nothing is left the device stays silent."]

    def _more(self) -> list[str]:
        """What can still be paid for now, of this collection, where that is not all of it."""
        remaining, most, rounds = self.remaining(), self.collection.most, len(self.collection.rounds)
        query = "SELECT count(*), count(nullif(epsilon, 0)) FROM charges WHERE collection = ?"
        with STATE.reading(self._path) as connection:
            answered, charged = connection.execute(query, (self.collection.digest,)).fetchone()
        wanted = rounds - answered if most is None else most - charged
        paid = wanted if remaining is None else _paid(remaining, self._price())
        if paid >= wanted:
            return []
        return [f"Now it pays for {paid} more {'round' if most is None else 'value'}{'' if paid == 1 else 's'} here."]

    def _price(self) -> Pure | Approximate:
        """What a fresh report costs, or keeping one more value."""
        protocol = self.collection.protocol
        return protocol.guarantee() if self.collection.most is None else keeping_costs(protocol)

    def _round(self, round: str | None) -> str:
        """The name of a round; one that there is not is refused."""
        self.collection.address(round)
        return self.collection.rounds[0] if round is None else round

    def _fresh(
        self, connection: sqlite3.Connection, values: npt.ArrayLike
    ) -> tuple[Reports | None, Pure | Approximate]:
        """A new report, if it can be paid for; that does not depend on the value."""
        protocol, claim = self.collection.protocol, self._price()
        return (protocol.randomize(values, self._bits) if self._fits(connection, claim) else None), claim

    def _kept(
        self, connection: sqlite3.Connection, values: npt.ArrayLike
    ) -> tuple[Reports | None, Pure | Approximate | None]:
        """A report from what is kept of the value, kept now if it is new and paid for; else of the one before."""
        protocol, mine = self.collection.protocol, self.collection.digest
        held = dict(connection.execute("SELECT place, report FROM kept WHERE collection = ?", (mine,)))
        query = "SELECT count(*) FROM charges WHERE collection = ? AND epsilon > 0"
        (paid,) = connection.execute(query, (mine,)).fetchone()
        claim, charged = self._price(), None
        if paid < (self.collection.most or 0) and self._fits(connection, claim):
            paid, charged = paid + 1, claim
        if not paid:
            return None, None
        place = place_of(protocol, values)
        if place not in held and len(held) < paid:
            held[place] = protocol.encode(drawn(protocol, values, self._bits))
            connection.execute("INSERT INTO kept VALUES (?, ?, ?, 0)", (mine, place, held[place]))
        elif place not in held:
            last = connection.execute("SELECT place FROM kept WHERE collection = ? AND last = 1", (mine,))
            (place,) = last.fetchone()
        connection.execute("UPDATE kept SET last = (place = ?) WHERE collection = ?", (place, mine))
        return answered(protocol, protocol.decode(held[place]), self._bits), charged

    def _fits(self, connection: sqlite3.Connection, claim: Pure | Approximate) -> bool:
        if self.budget is None:
            return True
        spent, cost, whole = self._spent(connection), amounts(claim, math.ceil), amounts(self.budget, math.floor)
        within = all(s + c <= w for s, c, w in zip(spent, cost, whole, strict=True))
        return within and claim.assumptions <= self.budget.assumptions

    def _spent(self, connection: sqlite3.Connection) -> tuple[int, int]:
        """Epsilon and delta of all collections; those of the days that a time of `period` days may reach back to."""
        query, since = "SELECT coalesce(sum(epsilon), 0), coalesce(sum(delta), 0) FROM charges", ()
        if self.period is not None:
            query, since = f"{query} WHERE day >= ?", (int(self._clock() // DAY) - self.period,)  # type: ignore[assignment]
        epsilon, delta = connection.execute(query, since).fetchone()
        return int(epsilon), int(delta)

    def _open(self) -> None:
        """The file at its place, made if missing; one that was made with another budget is refused."""
        terms = ("" if self.budget is None else canonical_ascii(to_record(self.budget)), self.period)

        def fill(connection: sqlite3.Connection) -> None:
            for statement in SCHEMA:
                connection.execute(statement)
            connection.execute("INSERT INTO terms VALUES (?, ?)", terms)

        if not self._path.exists():
            STATE.create(self._path, FORMAT, fill)
        with STATE.reading(self._path) as connection:
            held = connection.execute("SELECT budget, period FROM terms").fetchone()
        if held != terms:
            raise LedgerError(
                f"{self._path.name} keeps another budget, {_terms(*held)}; open it with the one it was made with"
            )


def told(claim: Pure | Approximate) -> str:
    """The parts of a guarantee in a few words, rounded up.

    >>> told(Approximate(2.0, 1e-6))
    'epsilon 2 and delta 1e-06'
    """
    return " and ".join(f"{name} {shown_up(amount, 6)}" for name, amount in claim.parts().items())


def _terms(budget: str, period: int | None) -> str:
    """A stored budget in a few words."""
    if not budget:
        return "no limit"
    found = guarantee_from(json.loads(budget))
    return told(found) + ("" if period is None else f" in any {period} days")  # type: ignore[arg-type]


def _countable(budget: Pure | Approximate | None) -> None:
    """Refuse a budget that cannot be counted in epsilon and delta."""
    try:
        if budget is not None:
            amounts(budget, math.floor)
    except AttributeError:
        raise ParameterError(f"budget must be a pure or approximate guarantee, got {budget!r}") from None


def _paid(budget: Pure | Approximate, claim: Pure | Approximate) -> int:
    """How many such claims a whole budget pays for."""
    costs, whole = amounts(claim, math.ceil), amounts(budget, math.floor)
    times = min(w // c for w, c in zip(whole, costs, strict=True) if c)
    return times if claim.assumptions <= budget.assumptions else 0


def _declared(source: Joined | str | Path) -> Joined:
    """A collection, or the one that a file declares."""
    if isinstance(source, str | Path):
        from sfumato.local.collection.declaration import Collection

        return Collection.read(source)
    with suppress(AttributeError):
        if source.rounds and source.digest:
            return source
    raise ParameterError(f"collection must be a declared collection or its file, got {source!r}")
