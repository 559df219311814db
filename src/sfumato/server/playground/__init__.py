"""The playground: invented people, truth beside private answers, for teaching and for choosing epsilon.

It needs no token, since it holds nobody's data; and it is bounded: one trial at a time, of few rows, few that wait, and
so many a second from one address.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import anyio.to_thread
from fastapi import APIRouter, Request
from pydantic import BaseModel, ConfigDict

from sfumato.server.callers import address_of
from sfumato.server.limits import Buckets
from sfumato.server.playground.questions import QUESTIONS
from sfumato.server.playground.trial import MOST_ROWS, Trial, Wish
from sfumato.server.responses import problems
from sfumato.server.statuses import Plain, Refused

__all__ = ["routes"]

RATE, BURST = 4.0, 24  # trials of one address: a second, and at once
WAITING = 12  # trials that may wait for their turn


class Sliders(BaseModel):
    """What the page sends."""

    model_config = ConfigDict(extra="forbid")

    question: str
    epsilon: float
    low: float
    high: float
    rows: int
    seed: int


def routes() -> APIRouter:
    """What the playground's page asks for."""
    router = APIRouter(prefix="/api/v1/playground", tags=["playground"])
    turns, buckets = anyio.CapacityLimiter(1), Buckets(RATE, BURST)
    shapes = {200: {"model": dict[str, Any]}, **problems(400, 413, 422, 429)}

    async def in_turn(request: Request, work: Callable[[], dict[str, Any]]) -> Plain:
        buckets.must_take(address_of(request))
        if turns.statistics().tasks_waiting >= WAITING:
            raise Refused(429, "the playground is busy; move the slider again in a moment", {"Retry-After": "2"})
        return Plain(await anyio.to_thread.run_sync(work, limiter=turns))

    @router.get("", responses={200: {"model": dict[str, Any]}})
    def playground() -> Plain:
        """The questions that can be tried, and the ends of the sliders."""
        asked = [
            {"name": name, "words": one.words, "unit": one.unit, "bounded": one.bounded, "grouped": one.grouped}
            for name, one in QUESTIONS.items()
        ]
        return Plain({"questions": asked, "most_rows": MOST_ROWS})

    @router.post("/trial", responses=shapes)
    async def trial(request: Request, sliders: Sliders) -> Plain:
        """One trial: the truth, an answer with its interval, and its error at other epsilons.  Not private."""
        return await in_turn(request, Trial(Wish(**sliders.model_dump())).record)

    @router.post("/presence", responses=shapes)
    async def presence(request: Request, sliders: Sliders) -> Plain:
        """Many answers with one person in the table and without: what that presence changes.  Not private."""
        return await in_turn(request, Trial(Wish(**sliders.model_dump())).presence)

    return router
