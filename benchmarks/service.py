"""The service under load and kills: no unit overspent, no charge lost or made twice, and how long answers take.

Run `python benchmarks/service.py --json [--quick]`: one JSON object per line with the figure, its value, the target and
whether it holds.  Fifty analysts pause two seconds on average; of their requests 70 % are previews, 20 % small
statistics, 9 % were asked before, by whomever, and 1 % are new small workloads and curves, which are jobs.  Two
processes, each with one beside it that releases, spend from one ledger on a PostgreSQL server of this run's own
(`tests/serving.py`), over loopback.  Then the same in a fifth of the requests, through random kills of a process; a
request whose connection breaks is sent again with the same id.  Nothing was tuned on a table: questions, their
constants and spends are drawn from a fixed seed.

A release leaves on the clock's next tick, so its time is given above the tick: what it took, less the tick's length.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import os
import random
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import numpy as np

ROOT = Path(__file__).parents[1]
RUNS: list[dict[str, Any]] = [  # with the load of the machine beside them; 11 minutes, most of them pauses
    {
        "requests": 10_000, "load": 0.9, "processors": 2, "requests a second": 22.2,
        "seconds a request on a processor": 0.0251,
        "preview": {"50 %": 0.0142, "99 %": 0.0606}, "small above the tick": {"50 %": -0.3617, "99 %": 0.156},
        "again above the tick": {"50 %": -0.4295, "99 %": 0.0221},
        "spent": "19.9999 of 20", "overspent": 0, "lost or double charges": 0, "5xx": 0,
        "statuses": {200: 9565, 202: 69, 409: 454},
    },
    {
        "requests": 2_000, "kills": 20, "load": 1.8, "processors": 2, "connections that broke": 143,
        "spent": "3.9986 of 4", "overspent": 0, "lost or double charges": 0, "5xx": 0,
        "statuses": {200: 1920, 202: 11, 409: 99},
    },
]  # fmt: skip
ANALYSTS, PAUSE, TICK = 50, 2.0, 1.0
STATES = ["CA", "FL", "NY", "TX", "UT", "WA"]
SHARES = {"preview": 0.70, "small": 0.20, "again": 0.09, "job": 0.01}
ROWS = 20_000
BUDGET = 0.002  # of the dataset, a request: about three quarters of what is asked for
OWN, LITTLE = 1.5, 0.1  # of each analyst, and of every fifth: some are used up long before the end
WARM = 0.1  # of the requests come first and are not timed


@dataclass(frozen=True)
class Size:
    """How much is asked."""

    requests: int
    killed: int
    kills: int


SIZES = {"quick": Size(1_000, 400, 5), "usual": Size(10_000, 2_000, 20)}


@dataclass(frozen=True)
class Figure:
    """One measured figure and its verdict."""

    figure: str
    value: object
    target: str
    holds: bool


@dataclass
class Seen:
    """What the analysts saw."""

    statuses: Counter[int] = field(default_factory=Counter)
    times: dict[str, list[float]] = field(default_factory=dict)
    charged: Counter[tuple[str, str]] = field(default_factory=Counter)  # (analyst, release) that said it was charged
    asked: list[dict[str, Any]] = field(default_factory=list)  # questions that were answered
    broken: int = 0  # connections that ended before an answer
    lost: int = 0  # requests that were charged and never stored, as the service said
    jobs: Counter[str] = field(default_factory=Counter)  # how they ended


# what is asked


def question(draw: random.Random) -> dict[str, Any]:
    """A small statistic, as JSON or as SQL, that nobody asked before most likely."""
    low, high = draw.randint(0, 60), draw.randint(61, 120)
    column, spend = draw.choice(["age", "salary"]), {"epsilon": round(draw.uniform(0.004, 0.02), 4)}
    if draw.random() < 0.3:
        measure = draw.choice(
            ["count(*)", f"avg({column})", f"sum({column})", "avg(CASE WHEN sex = 'F' THEN 1 ELSE 0 END)"]
        )
        group = draw.choice(["", " GROUP BY state", " GROUP BY sex"])
        text = f"SELECT {measure} FROM people WHERE age >= {low} AND salary <= {draw.randint(100, 2000) * 100}{group}"
        return {"sql": text, "spend": spend}
    query: dict[str, Any] = {"query": draw.choice(["count", "mean", "sum", "share", "std", "median", "histogram"])}
    if query["query"] in ("mean", "sum", "std", "median"):
        query["column"] = column
    if query["query"] == "share":
        query["condition"] = f"salary >= {draw.randint(100, 2000) * 100}"
    if query["query"] == "histogram" or draw.random() < 0.5:
        query["by"] = draw.choice([["state"], ["sex"], ["state", "sex"]])
    query["where"] = f"age between {low} and {high} and salary >= {draw.randint(0, 500) * 100}"
    return {"query": query, "spend": spend}


def long_question(draw: random.Random) -> dict[str, Any]:
    """A new small workload, or a curve."""
    spend = {"epsilon": round(draw.uniform(0.01, 0.03), 4)}
    if draw.random() < 0.5:
        return {
            "query": {"query": "density", "columns": ["age"], "bandwidth": round(draw.uniform(4, 12), 3)},
            "spend": spend,
        }
    by = [{"bins": "age", "count": draw.randint(6, 24)}]
    return {"query": {"query": "workload", "by": by, "workload": [{"rows": ["prefix"]}]}, "spend": spend}


# the analysts


class Analyst:
    """One who asks, again and again."""

    def __init__(self, name: str, client: httpx.AsyncClient, token: str, seen: Seen, draw: random.Random) -> None:
        self.name, self.client, self.seen, self.draw = name, client, seen, draw
        self.headers = {"Authorization": f"Bearer {token}"}
        self.number = 0

    async def ask(self, kind: str, timed: bool) -> None:
        """One request of a kind."""
        if kind == "again" and not self.seen.asked:
            kind = "small"
        if kind == "preview":
            await self._sent(kind, "preview", question(self.draw), timed)
            return
        makes = {"small": question, "job": long_question, "again": lambda draw: draw.choice(self.seen.asked)}
        self.number += 1
        body = {**makes[kind](self.draw), "request": f"{self.name}-{self.number}"}
        answer = await self._sent(kind, "release", body, timed)
        if answer is None:
            return
        if "job" in answer:
            await self._waited(answer["job"])
            return
        for one in answer["releases"] or [answer]:
            if one["charged"] is not None:
                self.seen.charged[self.name, one["release"]] += 1
        self.seen.asked.append({name: part for name, part in body.items() if name != "request"})

    async def _sent(self, kind: str, call: str, body: dict[str, Any], timed: bool) -> dict[str, Any] | None:
        begun = time.perf_counter()
        for _ in range(60):
            try:
                response = await self.client.post(f"/api/v1/datasets/people/{call}", json=body, headers=self.headers)
                break
            except httpx.TransportError:
                self.seen.broken += 1
                timed = False
                await asyncio.sleep(0.5)
        else:
            raise RuntimeError("the service is gone")
        took = time.perf_counter() - begun
        self.seen.statuses[response.status_code] += 1
        if response.status_code == 409 and "lost before it was stored" in response.text:
            self.seen.lost += 1
        if timed and response.status_code in (200, 202):
            self.seen.times.setdefault(kind, []).append(took if call == "preview" else took - TICK)
        if response.status_code >= 500 or response.status_code == 422:
            print(
                json.dumps({"unexpected": response.status_code, "body": body, "text": response.text[:300]}),
                file=sys.stderr,
            )
        return response.json() if response.status_code in (200, 202) else None

    async def _waited(self, job: str) -> None:
        for _ in range(240):
            await asyncio.sleep(1.0)
            try:
                response = await self.client.get(f"/api/v1/jobs/{job}", headers=self.headers)
            except httpx.TransportError:
                self.seen.broken += 1
                continue
            self.seen.statuses[response.status_code] += 1
            state = response.json() if response.status_code == 200 else {"state": "unseen"}
            if state["state"] in ("done", "failed", "canceled"):
                problem = state["problem"] or {"error": state["state"]}
                self.seen.jobs["done" if state["state"] == "done" else problem["error"]] += 1
                return
        self.seen.jobs["waiting"] += 1


async def asked(url: str, tokens: dict[str, str], requests: int, seed: int, seen: Seen) -> None:
    """All requests, by all analysts."""
    order = random.Random(seed)
    kinds = order.choices(list(SHARES), weights=list(SHARES.values()), k=requests)
    waiting: Iterator[tuple[int, str]] = iter(enumerate(kinds))
    limits = httpx.Limits(max_connections=2 * ANALYSTS, max_keepalive_connections=2 * ANALYSTS)
    async with httpx.AsyncClient(base_url=url, timeout=60, limits=limits) as client:

        async def one(name: str, token: str) -> None:
            draw = random.Random(f"{seed} {name}")
            analyst = Analyst(name, client, token, seen, draw)
            await asyncio.sleep(draw.uniform(0, PAUSE))
            for place, kind in waiting:
                await analyst.ask(kind, place >= WARM * requests)
                await asyncio.sleep(draw.expovariate(1 / PAUSE))

        await asyncio.gather(*(one(name, token) for name, token in tokens.items()))


# the service


def plan_text(dataset: str, budget: float) -> str:
    """The plan of a table of people, with fifty analysts."""
    own = [LITTLE if place % 5 == 0 else OWN for place in range(ANALYSTS)]
    return "\n".join(
        [
            'format = "sfumato-plan/2"',
            f'table = {{ path = "people.parquet", dataset = "{dataset}", unit = "row", size = {ROWS} }}',
            'columns.age = { type = "integers", low = 0, high = 120 }',
            'columns.salary = { type = "interval", low = 0, high = 200000, step = 100 }',
            f'columns.state = {{ type = "categories", values = {json.dumps(STATES)} }}',
            'columns.sex = { type = "categories", values = ["F", "M"] }',
            f"budget = {{ epsilon = {budget} }}",
            'ledger = { connection = "SFUMATO_BENCH_LEDGER" }',
            f"service = {{ tick = {TICK}, rate = 100 }}",
            *(f"analysts.{name}.budget = {{ epsilon = {most} }}" for name, most in zip(names(), own, strict=True)),
        ]
    )


def names() -> list[str]:
    """Those who ask."""
    return [f"analyst{number:02}" for number in range(ANALYSTS)]


def prepared(folder: Path, dataset: str, budget: float = 20.0) -> Path:
    """A table and its plan, in a folder."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    rng = np.random.default_rng(11)
    columns = {
        "age": rng.integers(0, 121, ROWS),
        "salary": rng.integers(0, 2001, ROWS) * 100.0,
        "state": rng.choice(STATES, ROWS),
        "sex": rng.choice(["F", "M"], ROWS),
    }
    folder.mkdir(exist_ok=True)
    pq.write_table(pa.table(columns), folder / "people.parquet")
    (folder / "people.toml").write_text(plan_text(dataset, budget))
    return folder / "people.toml"


@asynccontextmanager
async def serving(plan: Path) -> AsyncIterator[tuple[str, subprocess.Popen[str]]]:
    """The service in two processes, at an address of this machine."""
    command = [sys.executable, "-m", "sfumato.cli", "serve", str(plan), "--port", "0", "--workers", "2"]
    unbuffered = os.environ | {"PYTHONUNBUFFERED": "1"}
    running = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, start_new_session=True, env=unbuffered)
    assert running.stdout is not None
    try:
        line = await asyncio.wait_for(asyncio.to_thread(running.stdout.readline), 60)
        found = re.search(r"http://\S+", line)
        if found is None:
            raise RuntimeError("the service did not start")
        await well(found[0])
        yield found[0], running
    finally:
        if running.poll() is None:
            running.send_signal(signal.SIGTERM)
            try:
                running.wait(40)
            except subprocess.TimeoutExpired:
                os.killpg(running.pid, signal.SIGKILL)


async def well(url: str) -> None:
    """Wait until the service answers."""
    async with httpx.AsyncClient(base_url=url, timeout=5) as client:
        for _ in range(240):
            try:
                if (await client.get("/health")).status_code == 200:
                    return
            except httpx.TransportError:
                pass
            await asyncio.sleep(0.25)
    raise RuntimeError("the service is not well")


def workers(parent: int) -> list[int]:
    """The processes that answer, and those beside them that release."""
    serving = children(parent, b"spawn_main")
    return [*serving, *(aside for one in serving for aside in children(one, b"sfumato.server.aside"))]


def children(parent: int, word: bytes) -> list[int]:
    """The processes that one has started, with a word in their command."""
    with contextlib.suppress(FileNotFoundError, ProcessLookupError):  # killed meanwhile
        found = Path(f"/proc/{parent}/task/{parent}/children").read_text().split()
        return [int(pid) for pid in found if word in Path(f"/proc/{pid}/cmdline").read_bytes()]
    return []


async def killed(parent: int, kills: int, over: float, seed: int) -> int:
    """Kill a process that answers or releases, again and again, at random times; how often that was done."""
    draw, done = random.Random(seed), 0
    while done < kills:
        await asyncio.sleep(draw.uniform(0.5, 1.5) * over / kills)
        found = workers(parent)
        if found:
            os.kill(draw.choice(found), signal.SIGKILL)
            done += 1
    return done


# judging


def audited(plan_path: Path, seen: Seen, kills: bool) -> Iterator[Figure]:
    """What the ledger says, against what the analysts saw."""
    from sfumato.numeric import exact
    from sfumato.plans import read_plan
    from sfumato.server.desk import Desk

    desk = Desk(read_plan(plan_path))
    lines = desk.index.refresh().lines
    charges = [line for line in lines if line.kind == "charge" and line.guarantee is not None]
    stored = {line.digest for line in desk.index.releases}
    spent: dict[str, Any] = {}
    for line in charges:
        assert line.guarantee is not None
        spent[str(line.account)] = spent.get(str(line.account), 0) + exact(line.guarantee.amount)
    allowed = {name: exact(one.budget.amount) for name, one in desk.plan.service.analysts.items() if one.budget}
    over = [name for name, amount in spent.items() if amount > allowed[name]]
    label = "through kills: " if kills else ""
    yield Figure(label + "accounts overspent", len(over), "0", not over)
    whole = sum(spent.values())
    yield Figure(
        label + "epsilon spent of the dataset's",
        float(whole),
        f"at most {desk.plan.budget.amount:g}",
        whole <= exact(desk.plan.budget.amount),
    )
    ledger = Counter((str(line.account), line.digest) for line in charges)
    unknown = seen.charged - ledger
    yield Figure(label + "charges said and not in the ledger", sum(unknown.values()), "0", not unknown)
    twice = sum(count - 1 for count in Counter(line.digest for line in charges).values() if count > 1)
    unsaid = [line for line in charges if line.digest not in stored]
    again = f"at most {seen.lost + len(unsaid)}, the requests that were lost with a process" if kills else "0"
    yield Figure(label + "questions charged twice", twice, again, twice <= (seen.lost + len(unsaid) if kills else 0))
    target = "those lost with a killed process" if kills else "0"
    yield Figure(label + "charges without a stored answer", len(unsaid), target, kills or not unsaid)
    yield Figure(label + "the ledger verifies", desk.ledger.verify().holds, "true", bool(desk.ledger.verify().holds))
    failed = {code: count for code, count in seen.statuses.items() if code >= 500}
    yield Figure(label + "answers 5xx", sum(failed.values()), "0", not failed)
    fine = seen.jobs["done"] + seen.jobs["BudgetExceeded"] + (seen.jobs["Conflict"] if kills else 0)
    words = "done, or beyond the budget" + (", or lost with a process" if kills else "")
    yield Figure(label + "jobs by their end", dict(seen.jobs), words, fine == sum(seen.jobs.values()))
    yield Figure(label + "answers by status", dict(sorted(seen.statuses.items())), "200, 202, 409", True)


def timed(seen: Seen) -> Iterator[Figure]:
    """How long answers took."""
    for kind, target in (("preview", 0.1), ("small", 0.3), ("again", 0.3)):
        times = np.array(seen.times.get(kind, [np.nan]))
        words = "seconds" if kind == "preview" else "seconds above the tick"
        for share in (50, 99):
            value = float(np.percentile(times, share))
            holds = share != 99 or value < target
            yield Figure(
                f"{kind}: {words}, {share} %", round(value, 4), f"below {target}" if share == 99 else "", holds
            )


def cpu(parent: int) -> dict[int, float]:
    """Seconds that each process of the service was on a processor so far, with all threads that it ever had."""
    fields = {pid: Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split() for pid in workers(parent)}
    return {pid: (int(found[11]) + int(found[12])) / os.sysconf("SC_CLK_TCK") for pid, found in fields.items()}


async def measured(size: Size) -> AsyncIterator[Figure]:
    """Both runs, each with a dataset of its own."""
    from sfumato.plans import read_plan
    from sfumato.server.roster import Roster
    from sfumato.server.store import opened_store

    with tempfile.TemporaryDirectory(prefix="sfumato-service-") as folder:
        for kills in (0, size.kills):
            dataset = "people"
            os.environ["SFUMATO_BENCH_LEDGER"] = address(f"run{kills}")
            requests = size.killed if kills else size.requests
            plan = prepared(Path(folder) / f"run{kills}", dataset, round(BUDGET * requests, 3))
            roster = Roster(opened_store(read_plan(plan)), dataset)
            tokens = {name: roster.add(name, None) for name in names()}
            seen = Seen()
            async with serving(plan) as (url, running):
                begun, used = time.monotonic(), cpu(running.pid)
                tasks = [asyncio.create_task(asked(url, tokens, requests, 23 + kills, seen))]
                if kills:
                    over = requests * (PAUSE + 0.5) / ANALYSTS
                    tasks.append(asyncio.create_task(killed(running.pid, kills, 0.8 * over, 5)))
                done = await asyncio.gather(*tasks)
                took = time.monotonic() - begun
                if kills:
                    yield Figure("kills of a process", done[1], str(kills), done[1] == kills)
                    yield Figure("connections that broke", seen.broken, "", True)
                else:
                    yield Figure("requests a second", round(requests / took, 1), "", True)
                    busy = [seconds - used[pid] for pid, seconds in cpu(running.pid).items()]
                    yield Figure("seconds a request on a processor", round(sum(busy) / requests, 4), "", True)
                    yield Figure("share of the busier process", round(max(busy) / sum(busy), 2), "", True)
            if not kills:
                for figure in timed(seen):
                    yield figure
            for figure in audited(plan, seen, bool(kills)):
                yield figure


def address(database: str) -> str:
    """A new database of this run's server."""
    import psycopg

    host = os.environ["SFUMATO_POSTGRES"]
    with psycopg.connect(f"host={host} user=postgres dbname=postgres", autocommit=True) as con:
        con.execute(f'DROP DATABASE IF EXISTS "{database}"')
        con.execute(f'CREATE DATABASE "{database}"')
    return f"postgresql://postgres@/{database}?host={host}"


async def main() -> int:
    """Print every figure; the exit code says whether all hold."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true", help="one JSON object a line")
    parser.add_argument("--quick", action="store_true", help="a tenth of the requests")
    parser.add_argument("--requests", type=int, help="so many, and a fifth of them through kills")
    given = parser.parse_args()
    held = True
    figures = [Figure("load of the machine before", os.getloadavg()[0], f"{os.cpu_count()} processors", True)]
    for figure in figures:
        print(json.dumps(vars(figure)) if given.json else f"{figure.figure}: {figure.value}", flush=True)
    size = SIZES["quick" if given.quick else "usual"]
    if given.requests is not None:
        size = Size(given.requests, max(200, given.requests // 5), size.kills)
    async for figure in measured(size):
        held = held and figure.holds
        mark = "" if figure.holds else "  MISSED"
        text = f"{figure.figure}: {figure.value}  ({figure.target}){mark}"
        print(json.dumps(vars(figure)) if given.json else text, flush=True)
    load = Figure("load of the machine after", os.getloadavg()[0], f"{os.cpu_count()} processors", True)
    print(json.dumps(vars(load)) if given.json else f"{load.figure}: {load.value}")
    return 0 if held else 1


if __name__ == "__main__":
    if "SFUMATO_POSTGRES" not in os.environ:
        beside = [sys.executable, str(ROOT / "tests" / "serving.py"), sys.executable, *sys.argv]
        raise SystemExit(subprocess.run(beside, check=False).returncode)
    raise SystemExit(asyncio.run(main()))
