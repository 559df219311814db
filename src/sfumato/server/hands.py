"""Who carries out what is charged: threads of the process that serves, or a process beside it (`aside`)."""

from __future__ import annotations

import contextlib
import importlib
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from typing import Any, Protocol

import anyio.to_thread

from sfumato.errors import LedgerError, SchemaError
from sfumato.ledger.server import CONNECTED
from sfumato.plans import Plan
from sfumato.release.archive import PUBLICATIONS
from sfumato.server.desk import Desk
from sfumato.server.jobs import UNKNOWN, Jobs, Worker
from sfumato.server.models import ReleaseAsk
from sfumato.server.statuses import Refused, described, shown

__all__ = ["AT_ONCE", "Hands", "Here", "Reply", "desks_of"]

AHEAD = ("ibis.expr.types.groupby", "scipy.linalg.lapack", "sfumato.ledger.behalf")  # what small statistics need
AT_ONCE = 6  # releases that are computed at a time


@dataclass(frozen=True, slots=True)
class Reply:
    """What a request for a release is answered with, and what the audit log says of it."""

    status: int
    body: dict[str, Any]
    headers: dict[str, str] = field(default_factory=dict)
    outcome: str = "released"

    @classmethod
    def to(cls, error: Exception) -> Reply:
        """The answer to an error."""
        return cls(*described(error), shown(error)[1])

    def to_record(self) -> dict[str, Any]:
        """Its parts, for `Reply(**record)`."""
        return asdict(self)


class Hands(Protocol):
    """What carries out releases and jobs."""

    async def start(self) -> None:
        """Begin."""

    async def stop(self, patience: float) -> None:
        """Take nothing more; what runs has so many seconds."""

    async def released(self, dataset: str, analyst: str, ask: ReleaseAsk) -> Reply:
        """The answer to a request for a release: it, the job that makes it, or what is wrong; never raises."""


class Here:
    """Threads of this process."""

    def __init__(self, desks: Mapping[str, Desk]) -> None:
        self._desks, self._jobs = desks, {name: Jobs(desk) for name, desk in desks.items()}
        self._worker = Worker(list(self._jobs.values()))
        self._limit = anyio.CapacityLimiter(AT_ONCE)

    async def start(self) -> None:
        """Begin to look for jobs."""
        self.begin()

    def begin(self) -> None:
        """The same, without a loop of events."""
        self._worker.start()

    async def stop(self, patience: float) -> None:
        """Take no more jobs."""
        await anyio.to_thread.run_sync(self.end, patience)

    def end(self, patience: float) -> None:
        """The same, without a loop of events."""
        self._worker.stop(patience)

    async def released(self, dataset: str, analyst: str, ask: ReleaseAsk) -> Reply:
        """In a thread, few at a time."""
        return await anyio.to_thread.run_sync(partial(self.answered, dataset, analyst, ask), limiter=self._limit)

    def answered(self, dataset: str, analyst: str, ask: ReleaseAsk) -> Reply:
        """Charge, compute and store; or begin the job where it is long and not stored."""
        desk, jobs = self._desks[dataset], self._jobs[dataset]
        try:
            who = desk.plan.service.analysts.get(analyst)
            if who is None:
                raise Refused(403, UNKNOWN)
            desk.account(who)
            asked = desk.settled(who, ask, ask.request)
            begun = desk.begin(who, ask, asked)
            if any(one.long and desk.seen(one.digests) is None for one in asked):
                if not begun.again:
                    desk.must_fit(who, asked)
                job = jobs.submit(who, ask, begun, [one.digests[0] for one in asked])
                self._worker.wake()
                return Reply(202, {"job": job}, outcome="job")
            return Reply(200, desk.released(who, ask, begun))
        except Exception as error:
            return Reply.to(error)


def desks_of(plans: Sequence[Plan], must_open: bool = True) -> dict[str, Desk]:
    """The datasets of some plans; whatever is wrong with one is found here, if all must open.

    A process that takes another's place opens what it can: a ledger that is away takes no other dataset with it.
    """
    names = [plan.schema.dataset for plan in plans]
    if len(set(names)) < len(names):
        raise SchemaError("two plans are about one dataset; serve each dataset once")
    for plan in plans:
        if not plan.service.analysts:
            raise SchemaError(f"{plan.path}: nobody may ask; add [analysts.NAME] with a budget for each who may")
    _load_ahead()
    said = [plan.service.connections for plan in plans if plan.service.connections is not None]
    if said:
        CONNECTED.set_bound(min(said))
    desks = {plan.schema.dataset: Desk(plan) for plan in plans}
    for desk in desks.values():
        with contextlib.nullcontext() if must_open else contextlib.suppress(LedgerError):
            desk.open()
    return desks


def _load_ahead() -> None:
    """Import what others leave until it is used: here several threads would come to it at once, and wait."""
    for name in AHEAD:
        importlib.import_module(name)
    tuple(PUBLICATIONS.values())
