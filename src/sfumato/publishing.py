"""How an answer comes to be: charged, computed, stored, shown, in this order; what fails after the charge is spent."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import cast

from sfumato.errors import BudgetExceeded, EngineError, LedgerError
from sfumato.ledger import Charge, LedgerLike
from sfumato.ledger.contents import must_have_room
from sfumato.ledger.names import lost_words, must_be_no_part
from sfumato.orders import Order
from sfumato.release import Identity, Provenance, Published
from sfumato.release.account import Account
from sfumato.release.archive import read
from sfumato.series import awaited, unpublished
from sfumato.spaces.schema import Schema
from sfumato.version import VERSION

__all__ = ["Publisher"]


class Publisher(Account):
    """A schema and the ledger that pays, with what was computed and could not be stored yet."""

    def __init__(self, schema: Schema, ledger: LedgerLike, is_new: bool) -> None:
        super().__init__(schema, ledger, is_new)
        self._unstored: dict[tuple[str, str], tuple[Charge, bytes, Published]] = {}

    def _key(self, title: str, identity: Identity) -> str:
        """The digest under which the ledger knows, or will know, a release; a name that is taken is refused."""
        known = self.ledger.known(title)
        if known is None:
            must_be_no_part(title, self.ledger)
        return identity.within(title, known)

    def _charges(self, settled: Order) -> list[Order]:
        """What carrying out an order would be charged for: itself, unless it is paid, or a lost period before it."""
        if not settled.periods or self.ledger.known(settled.title) is None:
            return [settled] if self._is_unpaid(settled) else []
        return [one for one in unpublished(settled, self.ledger)[1] if self._is_unpaid(one)]

    def _is_unpaid(self, settled: Order) -> bool:
        title, key = settled.title, self._key(settled.title, settled.identity)
        kept = (title, key) in self._unstored or self.ledger.find(title, key) is not None
        return not (kept or self.ledger.is_paid(title, key, settled.described))

    def _published(self, settled: Order, make: Callable[[Provenance], Published]) -> Published:
        """The stored publication, or one that is charged, computed and stored now.

        What was computed and could not be stored is kept: asking again stores it, and charges nothing more.
        """
        key = self._key(settled.title, settled.identity)
        found = self._found(settled, key)
        if found is not None:
            return found
        with self.ledger.turn(settled.title):
            return self._found(settled, key) or self._paid(settled, key, make)

    def _paid(self, settled: Order, key: str, make: Callable[[Provenance], Published]) -> Published:
        """The publication that is charged, computed and stored now."""
        title = settled.title
        held = self._unstored.pop((title, key), None) or self._computed(settled, key, make)
        if held is None:  # somebody else has published it meanwhile
            return cast(Published, self._found(settled, key))
        charge, content, publication = held
        failure = self._stored(charge, content)
        if failure is not None:
            shown = self._found(settled, key) if settled.periods else None
            if shown is not None:  # somebody else was faster: of a series the first that is stored is the only one
                return shown
            self._unstored[title, key] = held
            raise LedgerError(
                f"release {title!r} is charged and computed but could not be stored, so it is not shown: {failure}.  "
                "Mend that and ask again in this session, which stores it and charges nothing more; "
                "another session would charge again"
            )
        if self.ledger.laboratory is not None:
            self._shown[title, key] = publication
        return publication

    def _found(self, settled: Order, key: str) -> Published | None:
        """What the ledger holds of an order, as it was published."""
        stored = self.ledger.find(settled.title, key)
        if stored is None:
            return None
        return self._shown.get((settled.title, key)) or read(stored.content, type(settled.mechanism))

    def _computed(
        self, settled: Order, key: str, make: Callable[[Provenance], Published]
    ) -> tuple[Charge, bytes, Published] | None:
        """The publication and its bytes, after its charge; None where it is of a series, and another has drawn it."""
        title = settled.title
        must_have_room(self.ledger.place, self.ledger.room())
        charge = self.ledger.draw(title, key, settled.described)
        if charge is None and settled.periods and awaited(self.ledger, title, key):
            return None
        charge = charge or self._charged(settled, key)
        made = self._made(key, charge, make)
        if made is None:  # raised out here, so that the cause is not its context
            raise EngineError(
                f"release {title!r} failed after its charge, which is spent, and nothing can be shown; asking again "
                "charges again, so first see that the table can be read and that memory and disk suffice "
                "(the cause is withheld, since it may hold data)"
            )
        return charge, *made

    def _charged(self, settled: Order, key: str) -> Charge:
        """A charge by itself; where there is no room for it, and it would not be the first, that is said."""
        try:
            return self.ledger.charge(settled.title, key, settled.claim, settled.described)
        except BudgetExceeded as error:
            before = [] if self.ledger.known(settled.title) is None else [settled.title]
            raise BudgetExceeded(f"{error}{lost_words(before)}") from None

    def _made(
        self, key: str, charge: Charge, make: Callable[[Provenance], Published]
    ) -> tuple[bytes, Published] | None:
        """The publication as bytes and as a value; None if anything failed on the way."""
        provenance = Provenance(
            dataset=self.schema.dataset, unit=self.schema.words(), version=VERSION, digest=key,
            time=datetime.now(UTC).isoformat(timespec="seconds"), charge=charge.sequence, head=charge.head,
            batch=charge.batch, laboratory=self.ledger.laboratory,
        )  # fmt: skip
        try:
            publication = make(provenance)
            return publication.to_bytes(), publication
        except Exception:
            return None

    def _stored(self, charge: Charge, content: bytes) -> str | None:
        """Nothing if it was stored; else why not, as far as that is about the ledger's file and not about the data."""
        try:
            self.ledger.store(charge, content)
        except LedgerError as error:
            return str(error)
        except Exception:
            return f"ledger {self.ledger.place} failed"
        return None
