"""A relay behind the server: a process of its own, that takes messages of one collection and sends on batches.

It serves no declaration, no page and no program: devices get these, and with them the key that reports are sealed to,
from somebody else, since a relay that gave out a key of its own could read what it carries.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from fastapi import APIRouter

from sfumato.local.collection.collector import Receipt
from sfumato.local.collection.door import Gathering
from sfumato.local.relay.delivering import Courier
from sfumato.local.relay.relay import Relay
from sfumato.server.local.collecting import MESSAGE, longest
from sfumato.server.local.inbox import Inbox
from sfumato.server.local.terms import Terms

__all__ = ["relaying"]


@contextmanager
def relaying(relay: Relay, name: str, deliver: Callable[[], object], terms: Terms) -> Iterator[APIRouter]:
    """The path of a relay; `deliver` takes away the batches that have left.  Who waits is served before this ends."""
    courier = Courier(deliver)

    def taken(messages: list[bytes]) -> list[Receipt]:
        receipts = relay.add_all(messages)
        courier.wake()
        return receipts

    gathering = Gathering(taken)
    inbox = Inbox(longest(relay.collection), gathering.send, terms.limit, terms.origins)
    router = APIRouter(prefix="/local", tags=["local collection"])
    router.add_api_route(f"/{name}", inbox.post, methods=["POST"], openapi_extra=MESSAGE)
    try:
        yield router
    finally:
        gathering.close()
        courier.close()
