"""Two services whose tables differ in one row: errors and previews are the same, and times tell nothing."""

import threading
import time

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from scipy import stats

from houses import PLAN, House, people
from sfumato.session import Session

RELEASE, PREVIEW = "/api/v1/datasets/people/release", "/api/v1/datasets/people/preview"
ALPHA = 1e-6
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

TICK, PLANTED, SAMPLES = 1.0, 0.5, 16


def durations(houses, samples, numbers):
    """How long the same releases take at both services, each sent just after a tick, side by side."""
    found = [[], []]

    def ask(place, house, number):
        with house.client("ana") as client:
            begun = time.perf_counter()
            sent = {
                "query": {"query": "sum", "column": "salary", "where": f"age >= {number}"},
                "spend": {"epsilon": 0.01},
            }
            assert client.post(RELEASE, json=sent).status_code == 200
            found[place].append(time.perf_counter() - begun)

    tick = houses[0].desk.plan.service.tick
    for _, number in zip(range(samples), numbers, strict=False):
        time.sleep(tick - time.time() % tick + 0.02)
        threads = [threading.Thread(target=ask, args=(place, house, number)) for place, house in enumerate(houses)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    return found


def p_value(found):
    return stats.mannwhitneyu(*found, method="exact").pvalue


@pytest.mark.heavy
def test_times_of_neighbors_do_not_differ_and_the_tick_hides_what_would(tmp_path, monkeypatch):
    """Half a tick of work for one row is seen without the tick and not with it; sixteen a side can show one in 10^8."""
    quick = PLAN.replace("tick = 0.05", f"tick = {TICK}")
    with House(neighbors(tmp_path, quick)[0]) as one, House(tmp_path / "other" / "people.toml") as other:
        numbers = iter(range(1, 90))
        assert p_value(durations((one, other), SAMPLES, numbers)) > ALPHA
        real = Session._answer

        def slowly(self, settled, provenance):  # as an engine would that takes longer for that row
            if self is other.desk._sessions.get("ana"):
                time.sleep(PLANTED)
            return real(self, settled, provenance)

        monkeypatch.setattr(Session, "_answer", slowly)
        assert p_value(durations((one, other), SAMPLES, numbers)) > ALPHA

        async def at_once(tick):
            return None

        monkeypatch.setattr("sfumato.server.routes.asking.ticked", at_once)
        assert p_value(durations((one, other), SAMPLES, numbers)) < ALPHA  # what the tick hides is there, and is found
