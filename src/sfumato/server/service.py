"""What all routes share: the datasets that are served, who is let in, how often, and what is written down."""

from __future__ import annotations

import contextlib
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import anyio

from sfumato.errors import LedgerError, SfumatoError
from sfumato.plans import Plan
from sfumato.plans.service import RATE, Analyst
from sfumato.server.audit import Audit
from sfumato.server.desk import Desk
from sfumato.server.hands import Hands, Here, desks_of
from sfumato.server.jobs import Jobs
from sfumato.server.limits import Buckets
from sfumato.server.metrics import Metrics
from sfumato.server.roster import Roster
from sfumato.server.statuses import SOON, Refused
from sfumato.server.tokens import hashed

__all__ = ["Caller", "Service", "served"]

FAILURES, FAILURE_RATE = 10, 0.2  # wrong tokens of one address at once, and a second after that
AT_ONCE = 6  # previews that are computed at a time
SHARE = 3  # of these, and of releases, by one caller, so that who asks for slow ones leaves room for others
BURST = 3  # seconds of requests that may come at once


@dataclass(frozen=True, slots=True)
class Caller:
    """Somebody with a token that is let in: who they are for each dataset."""

    token: str  # its hash
    analysts: Mapping[str, Analyst]
    away: frozenset[str] = frozenset()  # datasets that cannot say now whether they know the token

    @property
    def name(self) -> str:
        """Their name."""
        return next(iter(self.analysts.values())).name

    @property
    def role(self) -> str:
        """A steward of any dataset is one."""
        return "steward" if any(one.role == "steward" for one in self.analysts.values()) else "analyst"

    def of(self, dataset: str) -> Analyst:
        """Who they are for a dataset; datasets of others are not there."""
        if dataset in self.away:
            raise Refused(503, f"dataset {dataset!r} is not ready; try again in a moment", SOON)
        if dataset not in self.analysts:
            raise Refused(404, "there is no such dataset; GET /api/v1/me lists yours")
        return self.analysts[dataset]

    def steward_of(self, dataset: str) -> Analyst:
        """The same, of stewards only."""
        found = self.of(dataset)
        if found.role != "steward":
            raise Refused(403, "this is for stewards of the dataset")
        return found


@dataclass(frozen=True)
class Service:
    """One process of the service."""

    desks: Mapping[str, Desk]
    jobs: Mapping[str, Jobs]
    audits: Mapping[str, Audit]
    hands: Hands
    requests: Buckets
    metrics: Metrics = field(default_factory=Metrics)
    failures: Buckets = field(default_factory=lambda: Buckets(FAILURE_RATE, FAILURES))
    previews: anyio.CapacityLimiter = field(default_factory=lambda: anyio.CapacityLimiter(AT_ONCE))
    shares: defaultdict[tuple[str, str], anyio.CapacityLimiter] = field(
        default_factory=lambda: defaultdict(lambda: anyio.CapacityLimiter(SHARE))
    )  # by what is done and the caller's name

    def caller(self, token: str, address: str) -> Caller:
        """Whose token it is; wrong ones are counted by address, and refused all alike."""
        rosters = self._rosters()
        met = any(roster.met(token) for roster in rosters.values())
        if not (met or self.failures.holds(address)):  # many may share an address, such as that of their office
            raise Refused(429, "too many wrong tokens from this address; wait a minute", {"Retry-After": "60"})
        analysts, away = {}, self.desks.keys() - rosters.keys()
        for name, roster in rosters.items():
            try:
                held = roster.find(token)
            except LedgerError:  # this dataset is not there for a moment; the others are
                away.add(name)
                continue
            known = None if held is None else self.desks[name].plan.service.analysts.get(held.analyst)
            if known is not None:
                analysts[name] = known
        if not analysts and away:
            raise Refused(503, "the datasets of this token may not be ready; try again in a moment", SOON)
        if not analysts:
            self.failures.takes(address)
            raise Refused(401, "this token is not known here, was revoked or has expired; ask the steward for another")
        found = Caller(hashed(token), analysts, frozenset(away))
        self.requests.must_take(found.token)
        return found

    def _rosters(self) -> dict[str, Roster]:
        """The rosters of the datasets that are open, or can be opened now."""
        found = {}
        for name, desk in self.desks.items():
            with contextlib.suppress(SfumatoError):
                found[name] = desk.roster
        return found

    def desk(self, dataset: str) -> Desk:
        """A dataset, after its caller was let in."""
        return self.desks[dataset]

    def note(self, dataset: str, **said: object) -> None:
        """Write down who asked what."""
        self.audits[dataset].write(**said)


def served(plans: Sequence[Plan], hands: Hands | None = None, must_open: bool = True) -> Service:
    """The service of some plans; whatever is wrong with one is found here.  Without hands of its own it is its own."""
    desks = desks_of(plans, must_open)
    jobs = {name: Jobs(desk) for name, desk in desks.items()}
    audits = {plan.schema.dataset: Audit(plan.service.audit) for plan in plans if plan.service.audit is not None}
    rate = max((plan.service.rate for plan in plans), default=RATE)
    return Service(desks, jobs, audits, hands or Here(desks), Buckets(rate, max(10, int(BURST * rate))))
