"""One class that a phone, a browser's helper or a server runs for the owner of a value."""

from __future__ import annotations

import base64
import os
from pathlib import Path
from typing import Any

import numpy.typing as npt

from sfumato.errors import BudgetExceeded, LedgerError, ParameterError
from sfumato.local.client.bits import SystemBits
from sfumato.local.client.budget import Budget
from sfumato.local.client.files import locked, read, write
from sfumato.local.client.keeping import answered, drawn, keeping_costs, place_of, single
from sfumato.local.client.randomized import Randomized
from sfumato.local.client.sealing import check_sealing
from sfumato.local.client.wire import Declared, encode_batch
from sfumato.local.protocols.owned import Names
from sfumato.local.protocols.protocol import Bits, LocalProtocol, Reports
from sfumato.privacy.guarantees import Approximate, Pure

__all__ = ["Client"]

FORMAT = "sfumato-memory/1"


class Client:
    """Turns its owner's values into reports; nothing else leaves.

    Without `memory` each report is drawn afresh, and all of them compose.  With `memory`, a file that stays with the
    owner (it is as secret as the values), the randomization of a value is drawn once: the same value is answered with
    the same report (RAPPOR: with fresh copies of the same kept bitmap), and only a new value costs anew.
    With `budget`, what a new randomization costs is charged, durably, before it is sent.  Once a new value cannot be
    paid for (or its `key` was used before), the answer kept last is sent again: a value never decides whether a report
    is sent.

    Made of a collection, it takes labels, and its messages count in that collection and round alone; made of a bare
    protocol, it takes positions and numbers.  A value that is not of the domain is refused before anything is spent or
    sent, unless the collection declares `other` (`protocols.owned`).

    >>> from sfumato.local.protocols import GeneralizedResponse
    >>> client = Client(GeneralizedResponse.calibrate(10, Pure(1.0)))
    >>> len(client.report(3))
    49
    """

    __slots__ = ("_bits", "_memory", "_names", "_source", "budget", "protocol")

    def __init__(
        self,
        source: LocalProtocol | Declared,
        memory: str | Path | None = None,
        budget: Budget | None = None,
        bits: Bits | None = None,
    ) -> None:
        self._source = source
        try:
            self.protocol: LocalProtocol = source if isinstance(source, LocalProtocol) else source.protocol
        except AttributeError:
            raise ParameterError(
                f"source must be a collection (Collection.read reads its file) or a protocol, got {source!r}"
            ) from None
        if not isinstance(source, LocalProtocol) and source.most is not None:
            raise ParameterError(
                f"the collection promises that an owner randomizes at most {source.most} values; a Device keeps to it"
            )
        check_sealing(None if isinstance(source, LocalProtocol) else source.key)
        self._names = Names() if isinstance(source, LocalProtocol) else Names(source.labels, source.other)
        self.budget = budget
        self._memory = None if memory is None else Path(memory)
        self._bits: Bits = SystemBits() if bits is None else bits

    def report(self, value: object, key: str | None = None, round: str | None = None) -> bytes:
        """The message to send for a value of the domain, in a round; `key` names the report for the budget, once."""
        if not isinstance(self._source, LocalProtocol):
            self._source.address(round)  # a round that there is not costs nothing
        values = single(self.protocol.owned(value, self._names))
        if self._memory is None:
            self._charge(self.protocol.guarantee(), key)
            return self._message(self.protocol.randomize(values, self._bits), round)
        with locked(self._memory):
            kept = self._kept(values, key)
        return self._message(answered(self.protocol, kept, self._bits), round)

    def cost(self) -> Pure | Approximate:
        """What a new value costs."""
        return self.protocol.guarantee() if self._memory is None else keeping_costs(self.protocol)

    def describe(self) -> str:
        """What leaves the device, in plain words."""
        claim = self.cost().words().format(unit="any other value its owner might have had")
        lines = [f"Each report holds {self.protocol.words()}, and nothing else.", f"The promise: {claim}."]
        if caution := self.protocol.caution():
            lines.append(f"What is estimated {caution}.")
        if self._names.other is not None:
            lines.append(f"A value that is unknown or missing is reported as {self._names.other!r}.")
        if self._memory is None:
            lines.append("Each report is drawn afresh: several reports of one person add up their losses.")
        else:
            lines.append(
                "A value is randomized once and that answer is kept on the device: the same value costs nothing more, "
                "a new one costs the same again, and who sees all reports may notice that something changed."
            )
        if self.budget is not None:
            lines.append(f"At most {self.budget.limit!r} is spent in total; {self.budget.remaining()!r} remains.")
        return "\n".join(lines)

    def _message(self, reports: Reports, round: str | None) -> bytes:
        return encode_batch(self._source, Randomized(self.protocol, reports), round=round)

    def _charge(self, claim: Pure | Approximate, key: str | None) -> None:
        if self.budget is not None:
            self.budget.spend(claim, os.urandom(16).hex() if key is None else key)

    def _kept(self, values: npt.ArrayLike, key: str | None) -> Reports:
        """The kept randomization of a value, drawn, charged and stored first if the value is new."""
        assert self._memory is not None
        place = place_of(self.protocol, values)
        protocol = self.protocol.digest.hex()
        own = protocol if isinstance(self._source, LocalProtocol) else self._source.digest
        mine: dict[str, Any] = {"format": FORMAT, "protocol": own, "kept": {}, "last": ""}
        contents = read(self._memory, FORMAT) or mine  # of before, a file names the protocol alone
        if contents.get("protocol") not in (own, protocol) or not isinstance(contents.get("kept"), dict):
            raise LedgerError(f"{self._memory.name} remembers another protocol; give each protocol a file of its own")
        if place not in contents["kept"]:
            try:
                self._charge(self.cost(), key)
                contents["kept"][place] = base64.b64encode(
                    self.protocol.encode(drawn(self.protocol, values, self._bits))
                ).decode()
            except BudgetExceeded:
                if not contents["kept"]:
                    raise  # the first value of all: whatever it is
                place = str(contents["last"])
        if contents["last"] != place:
            contents["last"] = place
            write(self._memory, contents)
        return self.protocol.decode(base64.b64decode(contents["kept"][place]))
