"""What all routes share: the datasets that are served, who is let in, how often, and what is written down."""

from __future__ import annotations

import contextlib
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

import anyio

from sfumato.errors import LedgerError, SfumatoError
from sfumato.plans import Plan
from sfumato.plans.service import RATE, Analyst
from sfumato.server.audit import Audit
from sfumato.server.desk import Desk
from sfumato.server.hands import Hands, Here, desks_of
from sfumato.server.jobs import Jobs
from sfumato.server.limits import Buckets
from sfumato.server.logins import Logins, new_session
from sfumato.server.metrics import Metrics
from sfumato.server.roster import Held, Roster
from sfumato.server.statuses import SOON, Refused
from sfumato.server.tokens import hashed

__all__ = ["Caller", "Service", "served"]

FAILURES, FAILURE_RATE = 10, 0.2  # wrong tokens of one address at once, and a second after that
AT_ONCE = 6  # previews that are computed at a time
SHARE = 3  # of these, and of releases, by one caller, so that who asks for slow ones leaves room for others
UNKNOWN = (
    "this token is not known here, was revoked or has expired; ask the steward for another.  Sessions end, too: "
    "if you were signed in, sign in again"
)
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
        return self._let_in(hashed(token), address, lambda desk: desk.roster)

    def visitor(self, session: str, address: str) -> Caller:
        """Whose session it is, of a browser that signed in; it is let in as long as its token."""
        return self._let_in(hashed(session), address, lambda desk: desk.logins)

    def begin_session(self, caller: Caller) -> str:
        """Return the id of a new session for whoever has shown a token."""
        session = new_session()
        for dataset in caller.analysts:
            self.desks[dataset].logins.begin(hashed(session), caller.token)
        return session

    def end_session(self, session: str) -> None:
        """End a session for all datasets; where one is away, that is said."""
        away = []
        for name, desk in self.desks.items():
            try:
                desk.logins.end(hashed(session))
            except SfumatoError:
                away.append(name)
        if away:
            raise Refused(503, f"the session may not have ended for {', '.join(away)}; sign out again", SOON)

    def _let_in(self, key: str, address: str, book_of: Callable[[Desk], Roster | Logins]) -> Caller:
        """Whoever has shown a key, by its hash.  A token that was revoked for one dataset is let in for none."""
        books: dict[str, Roster | Logins] = {}
        for name, desk in self.desks.items():
            with contextlib.suppress(SfumatoError):  # this dataset is not there for a moment; the others are
                books[name] = book_of(desk)
        met = any(book.met(key) for book in books.values())
        if not (met or self.failures.holds(address)):  # many may share an address, such as that of their office
            raise Refused(429, "too many wrong tokens from this address; wait a minute", {"Retry-After": "60"})
        found: dict[str, Held] = {}
        away = self.desks.keys() - books.keys()
        for name, book in books.items():
            try:
                held = book.look_up(key)
            except LedgerError:
                away.add(name)
                continue
            if held is not None:
                found[name] = held
        now, revoked = datetime.now(UTC), any(held.revoked is not None for held in found.values())
        analysts = {
            name: self.desks[name].plan.service.analysts[held.analyst] for name, held in found.items()
            if not revoked and held.valid(now) and held.analyst in self.desks[name].plan.service.analysts
        }  # fmt: skip
        if not analysts and away and not revoked:
            raise Refused(503, "the datasets of this token may not be ready; try again in a moment", SOON)
        if not analysts:
            if not any(book.is_over(key) for book in books.values()):  # an id that was once good is no guess
                self.failures.takes(address)
            raise Refused(401, UNKNOWN)
        caller = Caller(next(iter(found.values())).hash, analysts, frozenset(away))
        self.requests.must_take(caller.token)
        return caller

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
