"""Whatever an analyst gets is on a closed list, and none of it tells what happened within a tick.

The numbers of ledger entries were a clock once: small questions beside a slow one told when that was stored.  So every
part of every answer is listed here with what it is made of, and a part that nobody listed fails.
"""

from __future__ import annotations

import io
import json
import re
import threading
from collections.abc import Callable, Iterable, Iterator
from datetime import datetime
from fnmatch import fnmatchcase
from functools import partial
from typing import Any

import httpx
import pyarrow.parquet as pq
import pytest

from houses import PLAN, House, people
from sfumato.server import jobs as working
from sfumato.server import ticks
from sfumato.server.routes import asking
from sfumato.session import Session
from waiting import wait_in_loop, wait_until

TICK, GRID = 59.999, 59_999  # seconds, and the seconds that the times of such a tick are multiples of
ABOUT = "/api/v1/datasets/people"
ASKED = {
    "count": {"query": {"query": "count"}, "spend": {"epsilon": 0.05}, "name": "mine"},
    "slow": {"query": {"query": "mean", "column": "age", "by": ["state"]}, "spend": {"epsilon": 0.05}},
    "statement": {"sql": "SELECT avg(salary), count(*) FROM people WHERE age >= 30", "spend": {"epsilon": 0.1}},
    "target": {"query": {"query": "count", "where": "age >= 50"}, "within": 500},
    "curve": {"query": {"query": "distribution", "column": "age"}, "spend": {"epsilon": 0.05}},
    "table": {"query": {"query": "synthetic", "columns": ["state"]}, "spend": {"epsilon": 0.05}},
}  # fmt: skip

# What a part of an answer is made of.
FIXED = "the question, the declarations, or this program: the same whatever was charged and stored meanwhile"
NOISE = "the noisy output, which was paid for, and how it was made"
TICKED = "the ledger, or a time, as of the last tick"
OWN = "what the one who asks has asked and spent"
FIELDS = {
    FIXED: """
        me.analyst me.role me.datasets[] login.analyst login.role login.datasets[] logout.done
        dataset.dataset dataset.protects dataset.unit dataset.persons dataset.adjacency dataset.size dataset.version
        dataset.columns[].* dataset.budget.* dataset.allow dataset.schema.* dataset.kinds[] dataset.tick
        budget.dataset.budget.* budget.analyst.budget.* budget.dataset.note budget.analyst.note
        preview.question preview.query.* preview.name preview.release preview.cost.* preview.mechanism preview.error.*
        preview.cells preview.hint preview.notes preview.long preview.questions preview.certificate.*
        answer.releases answer.job answer.release answer.question answer.query.* answer.guarantee.*
        answer.error.level answer.columns[] answer.level answer.notes
        answer.rows answer.rows[].keys answer.rows[].keys.* answer.rows[].age answer.curve
        answer.curve.x[] answer.table answer.table.columns[] answer.record
        record.format record.name record.query.* record.schema.* record.keys record.spend.* record.guarantee.*
        record.guarantee_in_words record.mechanism.* record.table_level record.provenance.dataset
        record.provenance.unit record.provenance.version record.provenance.digest
        file.column[] file.metadata[] history[].release history[].question
        job.job job.dataset job.releases[] job.problem problem.error problem.message
    """,
    NOISE: """
        answer.rows[].value answer.rows[].low answer.rows[].high answer.error.half_width answer.curve.value[]
        answer.curve.low[] answer.curve.high[] answer.table.rows[][] answer.table.count answer.notes[]
        answer.certificate.* answer.error.words record.certificate.* record.certificate_in_words record.error_in_words
        record.output* record.table.* record.rows record.method.* record.provenance.parts[].*
        file.cell[] picture.*
    """,
    TICKED: """
        budget.dataset.spent.* budget.dataset.left.* budget.dataset.words
        preview.stored preview.fits preview.refusal preview.more
        answer.time record.provenance.time history[].time job.state job.progress job.stage job.words
    """,
    OWN: """
        budget.analyst.spent.* budget.analyst.left.* budget.analyst.words
        answer.name answer.charged answer.charged.* history history[].name history[].cost.*
        history[].analyst job.charged.*
    """,
}
KINDS = {pattern: kind for kind, patterns in FIELDS.items() for pattern in patterns.split()}
SAME = {  # what stands in several places
    r"^release\b": "answer",
    r"^(answer|preview)\.(releases|questions)\[\]": r"\1",
    r"^(answer|preview)\.left\b": "budget",
    r"^(answer\.record|file)\.(?=[a-z])(?!column\[|cell\[|metadata\[)": "record.",
}
HEADERS = {
    "content-length", "content-type", "content-disposition", "content-security-policy", "x-frame-options", "set-cookie",
    "x-content-type-options", "referrer-policy", "cache-control", "cross-origin-opener-policy", "www-authenticate",
    "cross-origin-resource-policy", "permissions-policy", "retry-after", "allow",
}  # fmt: skip


Got = dict[str, list[tuple[str, object]]]


class Clock:
    """The tick, moved by hand; what leaves on it leaves at once, or waits for `leave`."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.count, self.leave = 0, threading.Event()
        self.leave.set()
        monkeypatch.setattr(ticks, "count_ticks", lambda tick: self.count)
        monkeypatch.setattr(asking, "ticked", self._ticked)
        monkeypatch.setattr(working, "seen_to_end", lambda begun, ended, tick: ended)

    async def _ticked(self, tick: float) -> None:
        await wait_in_loop(self.leave.is_set)


@pytest.fixture
def clock(monkeypatch):
    return Clock(monkeypatch)


def house_in(folder) -> House:
    folder.mkdir(exist_ok=True)
    return House(people(folder, PLAN.replace("tick = 0.05", f"tick = {TICK}")))


def parts(value: object, place: str) -> Iterator[tuple[str, object]]:
    """The leaves of JSON with their places; an empty list is one."""
    if isinstance(value, dict) and value:
        for name, one in value.items():
            yield from parts(one, f"{place}.{name}")
    elif isinstance(value, list) and value:
        for one in value:
            yield from parts(one, f"{place}[]")
    else:
        yield place, value


def file_parts(answer: httpx.Response) -> Iterator[tuple[str, object]]:
    """The same of a download."""
    kind = answer.headers["content-type"].partition(";")[0]
    if kind == "text/csv":
        head, *rows = [line.split(",") for line in answer.text.splitlines()]
        yield from (("file.column[]", name) for name in head)
        yield from (("file.cell[]", one) for row in rows for one in row)
    elif kind.endswith("parquet"):
        table = pq.read_table(io.BytesIO(answer.content))
        metadata = pq.read_metadata(io.BytesIO(answer.content))
        yield from (("file.column[]", name) for name in table.column_names)
        yield from (("file.metadata[]", name.decode()) for name in {**(metadata.metadata or {})})
        yield "file.metadata[]", metadata.created_by
        yield from parts(json.loads((table.schema.metadata or {})[b"sfumato.release"]), "file")
    else:
        yield from parts(answer.json(), "file")


def pattern_of(place: str) -> str | None:
    """The line of the closed list that a part is on."""
    for same, name in SAME.items():
        place = re.sub(same, name, place)
    return next((one for one in KINDS if fnmatchcase(place, one.replace("[]", "[[]]"))), None)


def without_noise(found: Iterable[tuple[str, object]]) -> list[tuple[str, object]]:
    """The parts that should not depend on the noise."""
    return [(place, one) for place, one in found if KINDS[pattern_of(place) or ""] != NOISE]


def see_done(analyst: httpx.Client, job: str) -> Any:
    """Return what a job says once it is done."""
    said = analyst.get(f"/api/v1/jobs/{job}").json()
    return said if said["state"] == "done" else None


def everything(house: House, clock: Clock, names: tuple[str, ...], between: Callable[[], None]) -> Got:
    """Every answer that ana gets, by call; `between` stands for what happens beside hers."""
    got: Got = {}

    def keep(call: str, kind: str, answer: httpx.Response) -> httpx.Response:
        assert answer.headers.keys() <= HEADERS, f"a header that nobody listed: {answer.headers.keys() - HEADERS}"
        kind = "problem" if answer.status_code >= 400 else kind
        got[call] = [*(file_parts(answer) if kind == "file" else parts(answer.json(), kind))]
        return answer

    with house.client("ana") as ana:
        releases, jobs = [], []
        for name in names:
            ask = ASKED[name]
            between()
            keep(f"POST {ABOUT}/preview {name}", "preview", ana.post(f"{ABOUT}/preview", json=ask))
            answer = keep(
                f"POST {ABOUT}/release {name}", "release", ana.post(f"{ABOUT}/release", json=ask | {"request": name})
            ).json()
            assert "message" not in answer, answer
            if "job" in answer:
                done = wait_until(partial(see_done, ana, answer["job"]))
                jobs.append(answer["job"])
                releases += done["releases"]
            else:
                releases += [one["release"] for one in answer["releases"] or [answer]]
        between()
        keep(f"GET {ABOUT}/releases", "history", ana.get(f"{ABOUT}/releases"))
        keep(f"GET {ABOUT}/budget", "budget", ana.get(f"{ABOUT}/budget"))
        clock.count += 1
        keep("GET /api/v1/me", "me", ana.get("/api/v1/me"))
        keep(f"GET {ABOUT}", "dataset", ana.get(ABOUT))
        keep(f"later {ABOUT}/budget", "budget", ana.get(f"{ABOUT}/budget"))
        keep(f"later {ABOUT}/releases", "history", ana.get(f"{ABOUT}/releases"))
        for release in releases:
            here = f"{ABOUT}/releases/{release}"
            keep(f"GET {here}", "answer", ana.get(here))
            keep(f"GET {here}/picture", "picture", ana.get(f"{here}/picture"))
            for format in ("csv", "json", "parquet"):
                keep(f"GET {here} {format}", "file", ana.get(f"{here}?format={format}"))
        for job in jobs:
            keep(f"GET /api/v1/jobs/{job}", "job", ana.get(f"/api/v1/jobs/{job}"))
            keep(f"DELETE /api/v1/jobs/{job}", "job", ana.delete(f"/api/v1/jobs/{job}"))
        for part in ("ledger", "analysts", "spending"):
            keep(f"GET {ABOUT}/{part}", part, ana.get(f"{ABOUT}/{part}"))
        own = {"X-Sfumato": "1"}
        keep("POST /api/v1/login", "login", ana.post("/api/v1/login", json={"token": house.tokens["ana"]}, headers=own))
        keep("POST /api/v1/logout", "logout", ana.post("/api/v1/logout", headers=own))
    return got


QUICK = ("count",)


def both(folder, clock: Clock, names: tuple[str, ...]) -> tuple[Got, Got, set[str]]:
    """What ana gets where nobody else asks, and where bob does all the time; and all routes that there are."""
    with house_in(folder / "quiet") as house:
        quiet = everything(house, clock, names, lambda: None)
        routes = set(house.app.openapi()["paths"])
    with house_in(folder / "busy") as house, house.client("bob") as bob:
        number = iter(range(1, 100))

        def ask() -> None:
            for _ in range(2):
                query = {"query": "count", "where": f"age >= {next(number)}"}
                assert (
                    bob.post(f"{ABOUT}/release", json={"query": query, "spend": {"epsilon": 0.01}}).status_code == 200
                )

        busy = everything(house, clock, names, ask)
    return quiet, busy, routes


@pytest.mark.parametrize("names", [QUICK, pytest.param(tuple(ASKED), marks=pytest.mark.heavy)], ids=["few", "all"])
def test_an_analyst_gets_what_is_listed_and_nothing_that_counts_what_others_do(tmp_path, clock, names):
    quiet, busy, routes = both(tmp_path, clock, names)
    found = {place: pattern_of(place) for got in (quiet, busy) for call in got.values() for place, _ in call}
    unlisted = [place for place, pattern in found.items() if pattern is None]
    assert not unlisted, "say in FIELDS what these are made of; numbers and times of the ledger are a clock"
    assert quiet.keys() == busy.keys()
    for call, got in quiet.items():
        later = call.startswith("later ")  # a tick has passed, and the dataset's budget has moved on it
        for (place, one), (where, other) in zip(without_noise(got), without_noise(busy[call]), strict=True):
            kind = KINDS[found[place] or ""]
            assert place == where
            if place.endswith("time"):
                assert datetime.fromisoformat(str(one)).timestamp() % GRID == 0, (call, place)
            elif kind in (FIXED, OWN) or (kind == TICKED and not later):
                assert one == other, (call, place)
    if names != QUICK:
        assert sorted(KINDS.keys() - found.values()) == [], "listed, and nothing gives it"
        called = {re.sub(r"/(release|job)s/[0-9a-f]+", r"/\1s/{\1}", call.split()[1]).replace("people", "{dataset}")
                  for call in quiet}  # fmt: skip
        public = {"/health", "/metrics"}  # for operators; without a token they say nothing of the ledger
        assert routes - public <= called, "a route that this does not call"


def test_one_answer_does_not_tell_when_another_was_stored(tmp_path, clock, monkeypatch):
    """Small questions beside a slow one: what they get is the same whether it was stored before them or after."""
    held, begun, real = threading.Event(), threading.Event(), Session._answer

    def answered(session, order, *rest):
        if order.question.query.kind == "mean":
            begun.set()
            held.wait(60)
        return real(session, order, *rest)

    monkeypatch.setattr(Session, "_answer", answered)
    seen = []
    for early in (True, False):
        held.clear()
        begun.clear()
        with house_in(tmp_path / f"{early}") as house, house.client("ana") as ana, house.client("bob") as bob:
            before = bob.get(f"{ABOUT}/budget").json()["dataset"]
            clock.leave.clear()  # nothing leaves while the slow answer is made

            def ask(client, ask, got):
                got.append(client.post(f"{ABOUT}/release", json=ask).json())

            def stored(count):
                wait_until(lambda: sum(one.kind == "release" for one in house.desk.ledger.entries()) == count)

            slow, small = [], []
            asking_ = [threading.Thread(target=ask, args=(ana, ASKED["slow"], slow))]
            asking_[0].start()
            wait_until(begun.is_set)
            if early:
                held.set()
                stored(1)
            asking_.append(threading.Thread(target=ask, args=(bob, ASKED["count"], small)))
            asking_[1].start()
            stored(2 if early else 1)
            held.set()
            stored(2)
            clock.leave.set()
            for thread in asking_:
                thread.join(60)
            assert small[0]["left"]["dataset"] == before, "what was charged after the tick is seen on the next one"
            seen.append(without_noise(parts(small[0], "release")))
    assert seen[0] == seen[1]
