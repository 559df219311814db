"""A process that takes reports and does nothing else: a relay, or a collector without datasets."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager
from typing import Protocol

from fastapi import APIRouter, FastAPI
from fastapi.responses import Response

from sfumato.server.local.inbox import answer

__all__ = ["application"]


class Lifespan(Protocol):
    """What lasts as long as an application is served."""

    def __call__(self, app: FastAPI, /) -> AbstractAsyncContextManager[None]:
        """Begin it."""


def application(router: APIRouter, lifespan: Lifespan | None = None) -> FastAPI:
    """What serves these paths and whether it lives, and nothing else."""
    found = FastAPI(
        title="Sfumato", docs_url=None, redoc_url=None, openapi_url=None, redirect_slashes=False, lifespan=lifespan
    )
    found.include_router(router)

    @found.get("/health", response_class=Response)
    async def health() -> Response:
        """That it listens."""
        return answer(200, "ok")

    return found
