"""One dataset that is served: its plan, table and ledger, and what analysts are told of it.

Everything here blocks, and is called from threads.  Charging, computing and storing are the session's.
"""

from __future__ import annotations

import json
import secrets
import threading
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

from sfumato.engines import Table
from sfumato.errors import BudgetExceeded, LedgerError, ParameterError, SfumatoError
from sfumato.ledger import LedgerLike, rules
from sfumato.ledger.accounts import Allowance
from sfumato.ledger.entries import label
from sfumato.ledger.names import plain_name
from sfumato.ledger.pool import Unreachable
from sfumato.ledger.rules import History
from sfumato.plans import Plan
from sfumato.plans.outlook import opened, opened_table
from sfumato.plans.service import Analyst
from sfumato.privacy.guarantees import Guarantee
from sfumato.queries.kinds import ALIASES, KINDS
from sfumato.records import canonical_ascii
from sfumato.release import Published
from sfumato.release.archive import read
from sfumato.server import answers, sight
from sfumato.server.asking import Reading, Settled
from sfumato.server.fitting import Held, too_much
from sfumato.server.index import Index, Line
from sfumato.server.keeping import Kept
from sfumato.server.logins import Logins
from sfumato.server.models import Ask, ReleaseAsk
from sfumato.server.paid import Paid, Sought
from sfumato.server.roster import Roster
from sfumato.server.sight import Sight
from sfumato.server.statuses import Refused
from sfumato.server.store import Store, opened_store
from sfumato.server.ticks import round_to_tick
from sfumato.session import Session

__all__ = ["Begun", "Desk"]

PATIENCE = 20.0  # seconds that one thread waits for another that opens the same dataset
LOST = (
    "this request was charged, and its answer was lost before it was stored, as where a process is killed; the charge "
    "stands.  Ask again with a new request id, which is charged again"
)

PARTLY = (
    "a part of this statement was charged and stored, and for the rest too little was left by then; what is stored "
    "costs nothing when it is asked for again"
)


OVERTAKEN = (
    "too little is left for this by now, since something was charged after the last tick; nothing was charged for "
    "this.  Look at the budget, and ask for less"
)


@dataclass(frozen=True, slots=True)
class Begun:
    """A request that was written down before anything was charged."""

    request: str
    sequence: int  # of the ledger's last entry then
    again: bool  # whether it was written down before


@dataclass(frozen=True, slots=True)
class _Places:
    """What a dataset keeps, and where."""

    table: Table
    ledger: LedgerLike
    store: Store
    roster: Roster
    logins: Logins
    index: Index
    sight: Sight

    @classmethod
    def open(cls, plan: Plan) -> _Places:
        """Open everything; whatever is wrong with a plan is found here."""
        table = opened_table(plan)
        ledger, store = opened(plan, table).ledger, opened_store(plan)
        roster = Roster(store, plan.schema.dataset)
        logins = Logins(store, roster, plan.schema.dataset)
        return cls(table, ledger, store, roster, logins, Index(ledger).refresh(), Sight(ledger, plan.service.tick))


class Desk:
    """What the service knows of one dataset.

    It is opened when it is first used.  Where its ledger cannot be reached, each use says so and tries anew, and other
    datasets go on.
    """

    def __init__(self, plan: Plan) -> None:
        self.plan, self.dataset = plan, plan.schema.dataset
        self._opened: _Places | None = None
        self._reading, self._paid = Reading(plan), Paid(self.publication)
        self._sessions: dict[str, Session] = {}
        self._making, self._opening = threading.Lock(), threading.Lock()
        self._answers: Kept[dict[str, Any]] = Kept(500)

    def open(self) -> _Places:
        """Return what the dataset keeps, opened now if it was not before."""
        if self._opened is None:
            if not self._opening.acquire(timeout=PATIENCE):  # another thread waits for a server that is silent
                raise Unreachable(f"dataset {self.dataset!r} is not ready; try again")
            try:
                self._opened = self._opened or _Places.open(self.plan)
            finally:
                self._opening.release()
        return self._opened

    @property
    def ledger(self) -> LedgerLike:
        """The ledger that pays."""
        return self.open().ledger

    @property
    def store(self) -> Store:
        """What is kept beside the ledger."""
        return self.open().store

    @property
    def roster(self) -> Roster:
        """Who may ask."""
        return self.open().roster

    @property
    def logins(self) -> Logins:
        """The sessions of browsers."""
        return self.open().logins

    @property
    def index(self) -> Index:
        """The ledger by digest, as it is now: for charging, never for showing."""
        return self.open().index

    @property
    def sight(self) -> Sight:
        """The ledger as it is shown."""
        return self.open().sight

    def is_ready(self) -> bool:
        """Whether the ledger could be read at the last tick."""
        try:
            self.sight.look()
        except SfumatoError:
            return False
        return True

    def described(self) -> dict[str, Any]:
        """What is public about the dataset."""
        schema, record = self.plan.schema, self.plan.schema.to_record()
        declared = {**record["columns"], **record.get("derived", {})}
        return {
            "dataset": self.dataset, "protects": schema.words(), "unit": schema.unit.words(),
            "persons": record["unit"] is not None,
            "adjacency": schema.adjacency.name, "size": schema.size, "version": schema.version,
            "columns": [
                answers.plain({"name": name, **parts, "words": repr(schema.space(name))})
                for name, parts in declared.items()
            ],
            "budget": answers.amount(self.plan.budget), "allow": sorted(self.plan.allow),
            "schema": answers.plain(record), "kinds": [*KINDS, *ALIASES], "tick": self.plan.service.tick,
        }  # fmt: skip

    def account(self, analyst: Analyst) -> LedgerLike:
        """The ledger on behalf of an analyst; refused to one without a budget."""
        if analyst.budget is None:
            raise Refused(
                403, f"{analyst.name} has no budget in the plan of {self.dataset!r}, and may look but not ask"
            )
        return self._asking(analyst).ledger

    def _asking(self, analyst: Analyst) -> Session:
        assert analyst.budget is not None
        with self._making:
            if analyst.name not in self._sessions:
                behalf = self.ledger.on_behalf(analyst.name, analyst.budget)
                self._sessions[analyst.name] = Session(
                    self.open().table, budget=self.plan.budget, ledger=behalf, allow=self.plan.allow
                )
            return self._sessions[analyst.name]

    def budgets(self, analyst: Analyst) -> dict[str, Any]:
        """Both budgets, with what is spent and left as of the last tick."""
        return answers.budgets(self.plan.budget, analyst.budget, self._histories(analyst, self.sight.look()))

    def _histories(self, analyst: Analyst, index: Index) -> Sequence[History]:
        """What admits a charge of an analyst, with what was spent: their own first, if they have one."""
        allowance = None if analyst.budget is None else Allowance(analyst.name, analyst.budget)
        return sight.histories(self.ledger.terms, index, allowance)

    def preview(self, analyst: Analyst, ask: Ask) -> dict[str, Any]:
        """What a release would cost and be good at; nothing is spent and no data is read."""
        self.account(analyst)
        asked = self.settled(analyst, ask)
        histories = self._histories(analyst, self.sight.look())
        shown = [
            {
                **answers.previewed(one.preview, one.order, one.name or ask.name),
                "notes": list(one.notes),
                "stored": self.seen(one.digests) is not None,
                "long": one.long,
            }
            for one in asked
        ]
        unpaid = [one.order for one, seen in zip(asked, shown, strict=True) if not seen["stored"]]
        refusal = too_much(unpaid, self._held(analyst, histories), self.plan.allow)
        counts = [rules.times(one.order.claim, *histories) for one in asked]
        more = min((count for count in counts if count is not None), default=None)
        return {
            **shown[0],
            "cost": answers.added_up([one.claim for one in unpaid or [each.order for each in asked]]),
            "stored": not unpaid,
            "fits": refusal is None,
            "refusal": refusal,
            "left": answers.budgets(self.plan.budget, analyst.budget, histories),
            "more": more if more is None or len(asked) == 1 else more // len(asked),
            "questions": shown if len(shown) > 1 else [],
        }

    def settled(self, analyst: Analyst, ask: Ask, request: str | None = None) -> tuple[Settled, ...]:
        """The questions of a request; a target that a release meets which may be shown takes that one.

        A request that was written down keeps the releases that it stood for then.
        """
        pinned = None if request is None else self._pinned(analyst, request)

        def seek(wanted: Sought) -> Guarantee | None:
            if wanted.key is None:
                return None
            if pinned is not None:
                held = self.index.refresh().of_question(wanted.key)
                return next((spend for line, spend in held if line.digest in pinned), None)
            found, hidden = self.sight.look().of_question(wanted.key), self._under_way()
            return self._paid.first(wanted, (one for one in found if one[0].digest not in hidden))

        return self._reading.settled(ask, analyst.budget, seek)

    def _pinned(self, analyst: Analyst, request: str) -> list[str] | None:
        query = "SELECT digests FROM {0}asked WHERE dataset = ? AND analyst = ? AND request = ?"
        rows = self.store.rows(query, (self.dataset, analyst.name, request))
        return json.loads(rows[0][0]) if rows else None

    def begin(self, analyst: Analyst, ask: ReleaseAsk, asked: tuple[Settled, ...]) -> Begun:
        """Write a request down before anything is charged; the same id for something else is refused."""
        for given, text in (("name", ask.name), ("request", ask.request)):
            if text is not None:
                label(given, text)
        request = ask.request or secrets.token_hex(16)
        body = canonical_ascii(ask.model_dump(exclude_none=True, exclude={"request", "name"}))
        digests = [one.digests[0] for one in asked]
        sequence = len(self.index.refresh().lines) - 1
        new = self.store.write(
            "INSERT INTO {0}asked (dataset, analyst, request, body, digests, names, time, sequence) "
            "VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
            (self.dataset, analyst.name, request, body, json.dumps(digests), json.dumps(ask.name),
             datetime.now(UTC).isoformat(timespec="seconds"), sequence),
        )  # fmt: skip
        if new:
            return Begun(request, sequence, False)
        query = "SELECT body, sequence FROM {0}asked WHERE dataset = ? AND analyst = ? AND request = ?"
        ((kept, sequence),) = self.store.rows(query, (self.dataset, analyst.name, request))
        if kept != body:
            raise ParameterError(f"request {request!r:.80} stands for another question; give each question its own id")
        return Begun(request, sequence, True)

    def released(
        self, analyst: Analyst, ask: ReleaseAsk, begun: Begun, before: Callable[[], None] = lambda: None
    ) -> dict[str, Any]:
        """The answers to a request: stored ones as they are, the others charged, computed and stored now.

        `before` is called before each charge, and may raise to stop it.
        """
        asked = self.settled(analyst, ask, begun.request)
        own, index = self.account(analyst), self.index.refresh() if begun.again else self.index
        due = [one for one in asked if index.stored(one.digests) is None]
        if begun.again:
            for one in due:
                self._must_not_be_lost(analyst, one, begun)
        self.must_fit(analyst, due)
        if len(due) > 1 and not own.admits(*(one.order.claim for one in due)):
            raise BudgetExceeded(OVERTAKEN)
        made: list[dict[str, Any]] = []
        for one in asked:
            try:
                made.append(self._answered(analyst, one, ask, before))
            except BudgetExceeded:  # others were faster since the tick; what they left is told on the next one
                partly = any(each["charged"] is not None for each in made)
                raise BudgetExceeded(PARTLY if partly else OVERTAKEN) from None
        return {**made[0], "releases": made if len(made) > 1 else []}

    def must_fit(self, analyst: Analyst, asked: Sequence[Settled]) -> None:
        """Refuse what does not fit by what may be seen; what others spent since is found by the charge."""
        due = [one.order for one in asked if self.index.stored(one.digests) is None]  # as `begin` found it
        found = too_much(due, self._held(analyst, self._histories(analyst, self.sight.look())), self.plan.allow)
        if found is not None:
            raise BudgetExceeded(found)

    def _held(self, analyst: Analyst, histories: Sequence[History]) -> list[Held]:
        """The budgets that must take a charge, with whose they are."""
        budgets = [("the dataset's budget", self.plan.budget)]
        if analyst.budget is not None:
            budgets.insert(0, (f"the budget of analyst {analyst.name!r}", analyst.budget))
        return [(whose, budget, history) for (whose, budget), history in zip(budgets, histories, strict=True)]

    def _must_not_be_lost(self, analyst: Analyst, one: Settled, begun: Begun) -> None:
        """Refuse to charge a request twice: where it was charged and nothing is stored, once nobody is at it."""
        with self.ledger.turn(one.order.title):
            index = self.index.refresh()
        if index.stored(one.digests) is None and index.charges_after(begun.sequence, analyst.name, one.digests[0]):
            raise Refused(409, LOST)

    def _answered(self, analyst: Analyst, one: Settled, ask: ReleaseAsk, before: Callable[[], None]) -> dict[str, Any]:
        level = 0.95 if ask.level is None else ask.level
        name = one.name or ask.name or answers.words(one.order.question.query)
        found = self.index.refresh().stored(one.digests)
        if found is not None:
            return _with(one, {**self.answer(found, level), "name": name, "charged": None})
        before()
        known = len(self.index.lines)
        publication = self._asking(analyst).fulfill(one.order)
        place = publication.provenance
        assert place.charge is not None
        paid, digest = self.index.refresh().lines[place.charge], place.digest
        charged = paid.sequence >= known and paid.account == analyst.name
        shown = self._answers.get(f"{digest} {level}", lambda: answers.answer(self._served(publication), digest, level))
        cost = answers.amount(one.order.claim) if charged else None
        return _with(one, {**shown, "name": name, "charged": cost})

    def answer(self, line: Line, level: float = 0.95) -> dict[str, Any]:
        """A stored release, shown."""
        return self._answers.get(
            f"{line.digest} {level}", lambda: answers.answer(self.publication(line), line.digest, level)
        )

    def publication(self, line: Line) -> Published:
        """A stored release as analysts get it."""
        stored = self.ledger.find(line.name, line.digest)
        if stored is None:
            raise LedgerError(f"release {line.name!r} is not stored")
        return self._served(read(stored.content))

    def _served(self, publication: Published) -> Published:
        """Withhold from a release what tells when it was charged within a tick: numbers of the ledger count all else
        that was charged and stored meanwhile.
        """
        place = publication.provenance
        shown = place.withhold_entry(round_to_tick(place.time, self.plan.service.tick))
        return replace(publication, provenance=shown)

    def stored(self, digest: str) -> Line:
        """A stored release by its digest, whoever asked for it."""
        found = self.seen((digest,))
        if found is None:
            raise Refused(404, "there is no such release; GET .../releases lists those that there are")
        return found

    def seen(self, digests: Iterable[str]) -> Line | None:
        """A stored release that may be shown: it was there at the last tick, and no job is at it."""
        found = self.sight.look().stored(digests)
        return None if found is None or found.digest in self._under_way() else found

    def _under_way(self) -> set[str]:
        """What jobs are at, the end of which is seen later."""
        query = "SELECT digests FROM {0}jobs WHERE dataset = ? AND state = 'running'"
        return {one for (digests,) in self.store.rows(query, (self.dataset,)) for one in json.loads(digests)}

    def named(self, analyst: Analyst, digest: str) -> str | None:
        """What an analyst called a release last."""
        query = "SELECT digests, names FROM {0}asked WHERE dataset = ? AND analyst = ? ORDER BY time DESC LIMIT 1000"
        found = (row for row in self.store.rows(query, (self.dataset, analyst.name)) if digest in json.loads(row[0]))
        return next((name for _, text in found if (name := json.loads(text)) is not None), None)

    def history(self, analyst: Analyst) -> list[dict[str, Any]]:
        """What an analyst asked for and is stored, latest first; of a steward all that is stored."""
        index, hidden = self.sight.look(), self._under_way()
        if analyst.role == "steward":
            return [
                self._line(line, None, line.time, None)
                for line in reversed(index.releases)
                if line.digest not in hidden
            ]
        query = (
            "SELECT digests, names, time FROM {0}asked WHERE dataset = ? AND analyst = ? ORDER BY time DESC LIMIT 1000"
        )
        shown: dict[str, dict[str, Any]] = {}
        for digests, name, time in self.store.rows(query, (self.dataset, analyst.name)):
            for digest in json.loads(digests):
                line = index.stored((digest,))
                if line is not None and digest not in shown and digest not in hidden:
                    seen = round_to_tick(time, self.plan.service.tick)
                    shown[digest] = self._line(line, json.loads(name), seen, analyst)
        return sorted(shown.values(), key=lambda one: (one["time"], one["release"]), reverse=True)

    def _line(self, line: Line, name: str | None, time: str, asker: Analyst | None) -> dict[str, Any]:
        """A stored release; to an analyst what somebody else paid for is free, and nobody is named."""
        paid = self.sight.look().payer(line)
        free = asker is not None and (paid is None or paid.account != asker.name)
        claim = None if paid is None else paid.guarantee
        question = plain_name(line.name, line.digest)
        return {
            "release": line.digest, "name": name or question, "question": question, "time": time,
            "cost": None if free else answers.amount(claim if claim is not None else self.plan.budget),
            "analyst": None if free or paid is None else paid.account,
        }  # fmt: skip


def _with(one: Settled, shown: dict[str, Any]) -> dict[str, Any]:
    """An answer with what is to be known of how its statement was read."""
    return {**shown, "notes": [*shown["notes"], *one.notes]}
