"""The application: the routes of all parts behind one guard."""

from __future__ import annotations

import asyncio
import contextlib
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import ExitStack, asynccontextmanager
from pathlib import Path

import anyio.to_thread
from fastapi import FastAPI

from sfumato.plans import Plan
from sfumato.server import documented, pages
from sfumato.server import playground as trying
from sfumato.server.desk import Desk
from sfumato.server.guard import Guard
from sfumato.server.hands import Hands
from sfumato.server.local.alone import application
from sfumato.server.local.collecting import BATCH, named
from sfumato.server.local.collecting import collecting as opened
from sfumato.server.local.terms import NOTHING, Collecting
from sfumato.server.routes import asking, entering, looking, stewards
from sfumato.server.service import served
from sfumato.server.statuses import Plain, register
from sfumato.server.ticks import ticked
from sfumato.version import VERSION

__all__ = ["created"]

PROMPT = 0.001  # seconds that a thread may compute while others wait: previews are short, releases are not
PATIENCE = 20.0  # seconds that a job may go on when the service is stopped


def created(
    plans: Sequence[Plan],
    *,
    secure: bool = False,
    playground: bool = False,
    collecting: Collecting = NOTHING,
    this_machine: bool = False,
    hands: Hands | None = None,
    must_open: bool = True,
    open_metrics: bool = False,
) -> FastAPI:
    """The service of some plans; `secure` if browsers reach it by TLS alone, `playground` to try on invented data,
    `this_machine` if nobody else reaches it, `hands` if others than its own threads release.  All datasets must open at
    the start, unless it takes the place of a process that ended.  With `open_metrics` this machine needs no token for
    its counts: not for where a proxy on it hands on requests of others.

    Without either it takes reports of what is collected, and does nothing else.
    """
    stack, files = ExitStack(), [Path(file) for file in collecting.files]
    local = stack.enter_context(opened(files, collecting.terms())) if files else None
    bodies = {f"/local/{named(file)}/batches": BATCH for file in files}
    if local is not None and not (plans or playground):
        return application(local, lambda app: _lasting(stack))
    service = served(plans, hands, must_open)

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        sys.setswitchinterval(PROMPT)
        await service.hands.start()
        looking = [asyncio.create_task(_looking(desk)) for desk in service.desks.values()]
        yield
        for task in looking:
            task.cancel()
        await service.hands.stop(PATIENCE)
        await anyio.to_thread.run_sync(stack.close)

    app = FastAPI(
        title="Sfumato",
        version=VERSION,
        description="Private answers with their guarantee, error bar and certificate.  docs/formats/service.md",
        docs_url=None,
        redoc_url=None,
        lifespan=lifespan,
        default_response_class=Plain,
        generate_unique_id_function=lambda route: route.name,
    )
    app.state.service, app.state.secure, app.state.open_metrics = service, secure, open_metrics
    register(app)
    for part in (entering, looking, asking, stewards, documented):
        app.include_router(part.routes())
    if playground:
        app.include_router(trying.routes())
    if local is not None:
        app.include_router(local)
    app.include_router(pages.routes(playground, bool(plans)))
    app.add_middleware(Guard, metrics=service.metrics, bodies=bodies, secure=secure, this_machine=this_machine)
    return app


async def _looking(desk: Desk) -> None:
    """Look at the ledger on each tick, so that no request does so in between."""
    while True:
        await ticked(desk.plan.service.tick)
        with contextlib.suppress(Exception):  # it cannot be reached for a moment; the next look finds it
            await anyio.to_thread.run_sync(desk.is_ready)


@asynccontextmanager
async def _lasting(stack: ExitStack) -> AsyncIterator[None]:
    """Until the service is stopped; what waits is counted then."""
    yield
    await anyio.to_thread.run_sync(stack.close)
