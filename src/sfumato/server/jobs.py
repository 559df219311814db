"""Long work: kept beside the ledger, carried out by whichever process comes to it, and seen by all of them.

A job is charged when it runs, never twice: one whose process died before its charge waits again, one that was charged
and not stored has failed, and its charge stands.  Its end is seen on a ladder of times (`ticks`).
"""

from __future__ import annotations

import contextlib
import json
import threading
import time
from typing import Any

from sfumato.errors import SfumatoError
from sfumato.plans.service import Analyst
from sfumato.progress import listening
from sfumato.records import sha256
from sfumato.server.answers import added_up
from sfumato.server.desk import LOST, Begun, Desk
from sfumato.server.models import ReleaseAsk
from sfumato.server.statuses import Refused, shown
from sfumato.server.ticks import ladder, seen_to_end

__all__ = ["UNKNOWN", "Jobs", "Worker"]

BEAT = 1.0  # seconds between two notes of how far a job is
GONE = 30.0  # seconds without a note after which its process is taken for dead
MOST = 4  # jobs of one analyst at a time
UNKNOWN = "the plan does not know the analyst any more"
STANDS = "it was charged already, and the charge stands: it is carried out to its end"
COLUMNS = (
    "id, analyst, request, body, state, stage, progress, digests, problem, canceled, created, begun, touched, ended"
)


class Canceled(SfumatoError):
    """Somebody canceled a job before its charge."""


class Jobs:
    """The jobs of one dataset."""

    def __init__(self, desk: Desk) -> None:
        self.desk = desk
        self.over = threading.Event()  # that the process is told to stop

    def submit(self, analyst: Analyst, ask: ReleaseAsk, begun: Begun, digests: list[str]) -> str:
        """The job of a request; the same request again is the same job."""
        number = sha256(json.dumps([self.desk.dataset, analyst.name, begun.request]).encode())[:32]
        if self._rows("id = ?", (number,)):
            return number
        if len(self._rows("analyst = ? AND state IN ('waiting', 'running')", (analyst.name,))) >= MOST:
            raise Refused(
                429, f"{MOST} jobs of yours are waiting or running; wait for one to end", {"Retry-After": "5"}
            )
        now = time.time()
        self.desk.store.write(
            "INSERT INTO {0}jobs (dataset, id, analyst, request, body, state, stage, progress, digests, problem, "
            "canceled, created, begun, touched, ended) "
            "VALUES (?, ?, ?, ?, ?, 'waiting', '', 0, ?, NULL, 0, ?, NULL, ?, NULL) ON CONFLICT DO NOTHING",
            (self.desk.dataset, number, analyst.name, begun.request, ask.model_dump_json(exclude_none=True),
             json.dumps(digests), now, now),
        )  # fmt: skip
        return number

    def find(self, number: str) -> dict[str, Any] | None:
        """A job as it is kept."""
        return next(iter(self._rows("id = ?", (number,))), None)

    def status(self, number: str) -> dict[str, Any] | None:
        """How far a job is; what a dead process left is taken up or given up."""
        job = self.find(number)
        if job is not None and job["state"] == "running" and time.time() - job["touched"] > GONE:
            self._revive(job)
            job = self.find(number)
        return None if job is None else self._seen(job)

    def _seen(self, job: dict[str, Any]) -> dict[str, Any]:
        early = job["ended"] is not None and time.time() < job["ended"]
        state = "running" if early and job["state"] in ("done", "failed") else job["state"]
        done = state == "done"
        return {
            "job": job["id"], "dataset": self.desk.dataset, "state": state,
            "progress": 1.0 if done else min(0.99, job["progress"]), "stage": job["stage"],
            "releases": json.loads(job["digests"]) if done else [],
            "charged": self._charged(job) if done else None,
            "problem": json.loads(job["problem"]) if job["problem"] and state == "failed" else None,
        }  # fmt: skip

    def _charged(self, job: dict[str, Any]) -> dict[str, Any] | None:
        """What its analyst was charged for it, as is seen once it is done; none where all was stored before."""
        begun, index = self._begun(job), self.desk.sight.look()
        lines = [line for one in json.loads(job["digests"]) for line in index.charges_after(begun, job["analyst"], one)]
        claims = [line.guarantee for line in lines if line.guarantee is not None]
        return added_up(claims) if claims else None

    def _begun(self, job: dict[str, Any]) -> int:
        """The number of the ledger's last entry when its request was written down."""
        query = "SELECT sequence FROM {0}asked WHERE dataset = ? AND analyst = ? AND request = ?"
        rows = self.desk.store.rows(query, (self.desk.dataset, job["analyst"], job["request"]))
        return int(rows[0][0]) if rows else -1

    def cancel(self, number: str) -> dict[str, Any]:
        """Cancel a job that was not charged; one that was goes on."""
        self._set(number, "canceled = 1", ())
        waiting = self._set(number, "state = 'canceled', ended = ?", (time.time(),), "state = 'waiting'")
        seen = self.status(number)
        assert seen is not None
        words = "canceled: nothing was charged" if waiting or seen["state"] == "canceled" else (
            f"ended: {seen['state']}" if seen["state"] in ("done", "failed")
            else f"asked to stop: where it was not charged yet it stops uncharged; else {STANDS}"
        )  # fmt: skip
        return {**seen, "words": words}

    def run_one(self) -> bool:
        """Carry out a job that waits, if there is one."""
        for job in self._rows("state = 'waiting' ORDER BY created LIMIT 1", ()):
            now = time.time()
            if self._set(job["id"], "state = 'running', begun = ?, touched = ?", (now, now), "state = 'waiting'"):
                self._carry_out(job, now)
                return True
        for job in self._rows("state = 'running' AND touched < ?", (time.time() - GONE,)):
            self._revive(job)
        return False

    def waiting(self) -> int:
        """How many jobs wait or run."""
        return len(self._rows("state IN ('waiting', 'running')", ()))

    def _carry_out(self, job: dict[str, Any], begun: float) -> None:
        """Answer, and rest until its end may be seen: whatever follows, such as the next job, follows that."""
        told = ["", 0.0]
        over = threading.Event()
        beat = threading.Thread(target=self._beat, args=(job["id"], begun, told, over), daemon=True)
        beat.start()
        state, found = "done", None
        try:
            with listening(lambda words, part: told.__setitem__(slice(None), [words, part])):
                self._answer(job)
        except Canceled:
            state = "canceled"
        except Exception as error:
            _, name, message = shown(error)
            state, found = "failed", json.dumps({"error": name, "message": message})
        ended = seen_to_end(begun, time.time(), self.desk.plan.service.tick)
        self.over.wait(ended - time.time())
        over.set()
        beat.join()
        self._set(job["id"], "state = ?, problem = ?, ended = ?", (state, found, ended))

    def _answer(self, job: dict[str, Any]) -> None:
        analyst = self.desk.plan.service.analysts.get(job["analyst"])
        if analyst is None:
            raise Refused(403, UNKNOWN)
        ask = ReleaseAsk.model_validate_json(job["body"]).model_copy(update={"request": job["request"]})

        def must_be_wanted() -> None:
            kept = self.find(job["id"])
            if kept is None or kept["canceled"]:
                raise Canceled("canceled before its charge")

        begun = self.desk.begin(analyst, ask, self.desk.settled(analyst, ask, ask.request))
        self.desk.released(analyst, ask, begun, must_be_wanted)

    def _beat(self, number: str, begun: float, told: list[Any], over: threading.Event) -> None:
        """Note that its process lives, and on the ladder of times how far it is."""
        tick, next_, values = self.desk.plan.service.tick, begun, ("", 0.0)
        while not over.wait(BEAT):
            now = time.time()
            if now >= next_:
                next_, values = begun + ladder(now - begun, tick), (str(told[0])[:200], float(told[1]))
            with contextlib.suppress(SfumatoError):
                self._set(number, "stage = ?, progress = ?, touched = ?", (*values, now))

    def _revive(self, job: dict[str, Any]) -> None:
        """What becomes of a job whose process died: done if it is stored, failed if it was charged, else it waits."""
        index, digests = self.desk.index.refresh(), json.loads(job["digests"])
        unstored = [one for one in digests if index.stored((one,)) is None]
        lost = any(index.charges_after(self._begun(job), job["analyst"], one) for one in unstored)
        now, last, same = time.time(), job["touched"], f"state = 'running' AND touched = {job['touched']!r}"
        if not unstored:
            self._set(job["id"], "state = 'done', ended = ?", (last,), same)
        elif lost:
            problem = json.dumps({"error": "Conflict", "message": LOST})
            self._set(job["id"], "state = 'failed', problem = ?, ended = ?", (problem, last), same)
        else:
            self._set(job["id"], "state = 'waiting', stage = '', progress = 0, touched = ?", (now,), same)

    def _set(self, number: str, change: str, values: tuple[Any, ...], where: str = "1 = 1") -> int:
        statement = f"UPDATE {{0}}jobs SET {change} WHERE dataset = ? AND id = ? AND {where}"
        return self.desk.store.write(statement, (*values, self.desk.dataset, number))

    def _rows(self, where: str, values: tuple[Any, ...]) -> list[dict[str, Any]]:
        query = f"SELECT {COLUMNS} FROM {{0}}jobs WHERE dataset = ? AND {where}"
        names = COLUMNS.split(", ")
        return [dict(zip(names, row, strict=True)) for row in self.desk.store.rows(query, (self.desk.dataset, *values))]


class Worker:
    """One thread of a process that carries out what waits."""

    def __init__(self, jobs: list[Jobs]) -> None:
        self._jobs = jobs
        self._wake, self._over = threading.Event(), threading.Event()
        self._thread = threading.Thread(target=self._run, name="jobs", daemon=True)

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def wake(self) -> None:
        """There is something to do."""
        self._wake.set()

    def stop(self, patience: float) -> None:
        """Take no more jobs; wait so long for the one that runs."""
        for event in (self._over, self._wake, *(one.over for one in self._jobs)):
            event.set()
        self._thread.join(patience)

    def _run(self) -> None:
        while not self._over.is_set():
            self._wake.clear()
            busy = False
            for one in self._jobs:
                try:
                    busy = one.run_one() or busy
                except Exception:  # the place is not there for a moment; the next turn finds it, or the next process
                    busy = False
            if not busy:
                self._wake.wait(BEAT)
