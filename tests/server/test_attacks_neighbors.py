"""Two services whose tables differ in one row: errors and previews are the same, and times tell nothing."""

import asyncio
import math
import threading
from concurrent.futures import ThreadPoolExecutor

import pyarrow as pa
import pyarrow.parquet as pq

from houses import PLAN, House, people
from sfumato.server import ticks
from sfumato.session import Session
from waiting import HandClock, wait_until

RELEASE, PREVIEW = "/api/v1/datasets/people/release", "/api/v1/datasets/people/preview"
ODD = {"age": [None], "salary": [float("nan")], "state": ["' OR 1=1 --"]}
ASKED = [
    {"query": {"query": "mean", "column": "salary", "by": "state"}, "spend": {"epsilon": 0.01}},
    {"query": {"query": "median", "column": "age", "where": "salary is null"}, "spend": {"epsilon": 0.01}},
    {"query": {"query": "sum", "column": "age", "where": "age == 77 and state == 'CA'"}, "spend": {"epsilon": 0.01}},
    {"query": {"query": "variance", "column": "salary", "where": "age > 99"}, "spend": {"epsilon": 0.01}},
    {"query": {"query": "top", "column": "state", "k": 2}, "spend": {"epsilon": 0.01}},
    {"sql": "SELECT state, count(*), avg(age) FROM people WHERE salary = 0 GROUP BY state", "spend": {"epsilon": 0.02}},
    {"sql": "SELECT avg(salary) FROM people WHERE age / 0 > 1", "spend": {"epsilon": 0.02}},
    {"sql": "SELECT sum(salary) / sum(age) FROM people", "spend": {"epsilon": 0.02}},
    {"query": {"query": "mean", "column": "salry"}, "spend": {"epsilon": 0.01}},
    {"query": {"query": "count"}, "spend": {"epsilon": 100}},
    {"query": {"query": "count"}, "spend": {"rho": 0.1}},
    {"query": {"query": "count", "where": "state == 'ZZ'"}, "spend": {"epsilon": 0.01}},
    {"query": {"query": "quantiles", "column": "age", "probabilities": [2]}, "spend": {"epsilon": 0.01}},
    {"query": {"query": "histogram", "by": {"bins": "salary", "count": 10**9}}, "spend": {"epsilon": 0.01}},
]  # fmt: skip


def neighbors(folder, plan=PLAN):
    """The plans of a table, and of that table with one odd row more."""
    paths = []
    for name in ("one", "other"):
        (folder / name).mkdir()
        paths.append(people(folder / name, plan))
    held = pq.read_table(paths[1].parent / "people.parquet")
    odd = pa.table({name: pa.array(value, held.schema.field(name).type) for name, value in ODD.items()})
    pq.write_table(pa.concat_tables([held, odd]), paths[1].parent / "people.parquet")
    return paths


def told(answer):
    """What may not depend on one row: everything but the noisy numbers."""
    body = answer.json()
    if answer.status_code != 200 or "rows" not in body:
        return answer.status_code, body
    shapes = [{name: sorted(row) for name, row in enumerate(body["rows"])}]
    parts = ("question", "query", "guarantee", "columns", "charged", "left", "release")
    return answer.status_code, shapes, {name: body[name] for name in parts}, sorted(answer.headers)


def test_errors_previews_and_shapes_are_the_same_for_neighbors(tmp_path):
    seen = []
    for path in neighbors(tmp_path):
        with House(path) as house, house.client("ana") as client:
            seen.append([told(client.post(call, json=asked)) for asked in ASKED for call in (PREVIEW, RELEASE)])
    assert seen[0] == seen[1]
    statuses = {one[0] for one in seen[0]}
    assert {200, 409, 422} <= statuses  # good and bad ones were among them
    assert max(statuses) < 500


# times

TICK, PLANTED, BEGUN = 1.0, 0.5, 1_750_000_000.02


def find_moments(houses, clock, numbers, monkeypatch, wait):
    """Return the moments after a tick at which answers to the same releases leave both services."""
    found = [[], []]
    for number in numbers:
        for place, house in enumerate(houses):
            clock.advance(math.ceil(clock.now) + 0.02 - clock.now)
            begun, come, left = clock.now, threading.Event(), []

            async def leave(tick, come=come, left=left):
                waiting = [] if wait is None else [asyncio.ensure_future(wait(tick))]
                if waiting:
                    await asyncio.wait(waiting, timeout=0)  # by now it has looked at the clock and sleeps
                else:
                    left.append(clock.now)
                come.set()
                for one in waiting:
                    await one
                    left.append(clock.now)

            monkeypatch.setattr("sfumato.server.routes.asking.ticked", leave)
            sent = {
                "query": {"query": "sum", "column": "salary", "where": f"age >= {number}"},
                "spend": {"epsilon": 0.01},
            }
            with house.client("ana") as client, ThreadPoolExecutor(1) as pool:
                asking = pool.submit(client.post, RELEASE, json=sent)
                wait_until(lambda come=come, asking=asking: come.is_set() or asking.done())
                clock.advance(math.floor(clock.now / TICK + 1) * TICK + 0.01 - clock.now)
                assert asking.result().status_code == 200
            found[place] += [round(moment - begun, 1) for moment in left]
    return found


def test_times_of_neighbors_do_not_differ_and_the_tick_hides_what_would(tmp_path, monkeypatch):
    """Half a tick of work for one row, on a clock that the test sets, is seen without the tick and not with it."""
    clock, real = HandClock(BEGUN), ticks.ticked
    monkeypatch.setattr(ticks, "time", clock)
    monkeypatch.setattr(ticks, "asyncio", clock)
    with (
        House(neighbors(tmp_path, PLAN.replace("tick = 0.05", f"tick = {TICK}"))[0]) as one,
        House(tmp_path / "other" / "people.toml") as other,
    ):
        moments = find_moments((one, other), clock, range(1, 5), monkeypatch, real)
        assert moments[0] == moments[1] == [TICK] * 4
        answer = Session._answer

        def answer_slowly(self, settled, provenance):  # as an engine would that takes longer for that row
            if self is other.desk._sessions.get("ana"):
                clock.advance(PLANTED)
            return answer(self, settled, provenance)

        monkeypatch.setattr(Session, "_answer", answer_slowly)
        moments = find_moments((one, other), clock, range(5, 9), monkeypatch, real)
        assert moments[0] == moments[1] == [TICK] * 4
        moments = find_moments((one, other), clock, range(9, 13), monkeypatch, None)
        assert moments == [[0.0] * 4, [PLANTED] * 4]  # what the tick hides is there, and is found
