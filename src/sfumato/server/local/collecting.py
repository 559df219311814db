"""Collectors behind the server: a declaration, where its messages go, and a page that makes one.

Each declared collection or inquiry has the path `/local/NAME`, NAME being that of its file.  Where it declares batches,
devices send to a relay, and the collector takes batches of whoever has its token, which it makes once and keeps beside
the declaration; a message of a device is refused there, unread.
"""

from __future__ import annotations

import asyncio
import hmac
import re
import threading
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

from fastapi import APIRouter, Request
from fastapi.responses import Response
from starlette.concurrency import run_in_threadpool

from sfumato.errors import ParameterError
from sfumato.local.client.sealing import SEAL
from sfumato.local.client.wire import HEADER, NAME
from sfumato.local.collection.collector import Receipt
from sfumato.local.collection.declaration import Collection
from sfumato.local.collection.door import Door, Gathering
from sfumato.local.interactive.conductor import Conductor
from sfumato.local.interactive.inquiry import Asked, declares_interaction
from sfumato.local.relay.relay import LARGEST
from sfumato.local.relay.tokens import token_of
from sfumato.records import readable
from sfumato.server.local.inbox import HEADERS, Inbox, answer, received
from sfumato.server.local.pages import add_files, page
from sfumato.server.local.terms import Terms

__all__ = ["BATCH", "collecting", "longest", "named"]

PART = re.compile("[A-Za-z0-9][A-Za-z0-9_.-]{0,99}", re.ASCII)
BATCH = LARGEST + HEADER.size  # bytes of a batch
ANSWER = 1 << 16  # bytes of an answer to a turn
MESSAGE = {"requestBody": {"required": True, "content": {"application/octet-stream": {}}}}


def named(declaration: Path) -> str:
    """The part of a path that a declaration has: the name of its file."""
    if not PART.fullmatch(declaration.stem):
        raise ParameterError(f"{declaration.name}: a file that is served has a name of letters, digits, . _ and -")
    return declaration.stem


def longest(collection: Collection) -> int:
    """Bytes of a message of one report."""
    return HEADER.size + 2 * NAME + SEAL + collection.protocol.report_bytes


@contextmanager
def collecting(declarations: Sequence[Path], terms: Terms) -> Iterator[APIRouter]:
    """The paths of these collections and inquiries; what waits is counted before this ends."""
    names = [named(declaration) for declaration in declarations]
    twice = {name for name in names if names.count(name) > 1}
    if twice:
        raise ParameterError(
            f"two files are called {', '.join(sorted(twice))}: each collection needs a name of its own"
        )
    router = APIRouter(prefix="/local", tags=["local collection"])
    add_files(router)
    with ExitStack() as stack:
        for name, declaration in zip(names, declarations, strict=True):
            if declares_interaction(declaration):
                stack.enter_context(_inquired(router, name, declaration, terms))
            else:
                stack.enter_context(_collected(router, name, declaration, terms))
        yield router


@contextmanager
def _collected(router: APIRouter, name: str, declaration: Path, terms: Terms) -> Iterator[None]:
    """A collection: its terms, its page, and its door."""
    collection, key = Collection.read(declaration), declaration.with_suffix(".key")
    if not collection.bound:
        raise ParameterError(f"{declaration}: messages of an earlier format name no collection; declare it anew")
    if collection.key is not None and not key.is_file():
        raise ParameterError(f"reports of {collection.name!r} are sealed, and there is no key {key} to open them")
    if collection.batch is not None and terms.relay is None:
        raise ParameterError(
            f"{collection.name!r} declares batches of {collection.batch:,} reports, which a relay makes: say where "
            "pages send to, by --relay https://relay.example"
        )
    public = Response(readable(collection.to_record()), 200, HEADERS, "application/json")
    sent_to = None if collection.batch is None else terms.relay

    async def declared() -> Response:
        """The declaration: what is collected, how it is randomized, and what that costs."""
        return public

    async def shown() -> Response:
        """A page that collects one answer."""
        return page(sent_to, name)

    router.add_api_route(f"/{name}/collection.json", declared, response_class=Response)
    router.add_api_route(f"/{name}/", shown, response_class=Response)
    most = 1 if collection.batch is None else LARGEST
    with Door(collection, declaration.with_suffix(".journal"), most, None if collection.key is None else key) as door:
        if collection.batch is None:
            inbox = Inbox(longest(collection), door.send, terms.limit, terms.origins)
            router.add_api_route(f"/{name}", inbox.post, methods=["POST"], openapi_extra=MESSAGE)
        else:
            batches = Batches(door, token_of(declaration.with_suffix(".token"), made=True))
            router.add_api_route(f"/{name}", elsewhere, methods=["POST"], openapi_extra=MESSAGE)
            router.add_api_route(f"/{name}/batches", batches.post, methods=["POST"], openapi_extra=MESSAGE)
        yield


async def elsewhere() -> Response:
    """Refuse a message of a device, unread."""
    return answer(400, "reports of this collection go to its relay, not here")


class Batches:
    """What takes batches of a relay, one at a time, from whoever has the token."""

    __slots__ = ("_door", "_one", "_token")

    def __init__(self, door: Door, token: str) -> None:
        self._door, self._token, self._one = door, token, asyncio.Lock()

    async def post(self, request: Request) -> Response:
        """Count a batch; 200 when that is durable, or was before."""
        given = request.headers.get("authorization", "")
        if not hmac.compare_digest(given.encode(), f"Bearer {self._token}".encode()):
            return answer(401, "batches are taken from the relay that has the token of this collection")
        async with self._one:  # a batch may have 256 MB
            body = await received(request, BATCH)
            if isinstance(body, Response):
                return body
            try:
                receipt = await asyncio.wrap_future(self._door.send(body))
            except Exception:
                return answer(503, "not taken; send it again later")
        return answer(200 if receipt.accepted or receipt.before else 400, receipt.words)


@contextmanager
def _inquired(router: APIRouter, name: str, declaration: Path, terms: Terms) -> Iterator[None]:
    """An inquiry: its terms, the question of a round as it stands, and where answers go."""
    conductor, turn = Conductor.open(declaration, most=1), threading.Lock()
    public = Response(readable(conductor.inquiry.to_record()), 200, HEADERS, "application/json")

    def taken(messages: list[bytes]) -> list[Receipt]:
        with turn:
            return conductor.add_all(messages)

    def asked(round: str | None) -> Asked:
        with turn:
            return conductor.asked(round)

    async def declared() -> Response:
        """The declaration: the rule, its rounds, and what one answer costs."""
        return public

    async def question(round: str | None = None) -> Response:
        """What is asked in a round now, the same for everybody; without a collection when the round has ended."""
        try:
            found = await run_in_threadpool(asked, round)
        except ParameterError as error:
            return answer(422, str(error))
        return Response(readable(found.to_record()), 200, HEADERS, "application/json")

    gathering = Gathering(taken)
    inbox = Inbox(ANSWER, gathering.send, terms.limit, terms.origins)
    router.add_api_route(f"/{name}/inquiry.json", declared, response_class=Response)
    router.add_api_route(f"/{name}/question.json", question, response_class=Response)
    router.add_api_route(f"/{name}", inbox.post, methods=["POST"], openapi_extra=MESSAGE)
    try:
        yield
    finally:
        gathering.close()
