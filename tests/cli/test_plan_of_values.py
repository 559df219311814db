"""Arrays, records and times of day from a Parquet file, through check, preview, publish and show."""

import datetime

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

PLAN = """
format = "sfumato-plan/1"

[table]
path = "visits.parquet"
unit = { column = "id", rows = 2 }
size = 300

[columns]
marks = { type = "box", low = 1, high = 6, shape = [3], step = 1 }
seen = { type = "dates", low = "2026-01-01", high = "2026-03-31" }
clock = { type = "time-of-day", low = "06:00", high = "21:45", step = 900, of = "seen" }

[columns.home]
type = "record"
parts.rent = { type = "interval", low = 0, high = 3000, step = 10 }
parts.city = { type = "categories", values = ["Bonn", "Ulm"] }

[budget]
epsilon = 1000.0

[[release]]
name = "marks"
query = "mean"
column = "marks"
spend = { epsilon = 100.0 }

[[release]]
name = "rent"
query = "mean"
column = "home.rent"
by = "home.city"
where = "month(seen) <= 2 and marks[0] > 0"
spend = { epsilon = 100.0 }

[[release]]
name = "hours"
query = "histogram"
by = "hour(clock)"
spend = { epsilon = 100.0 }

[[release]]
name = "usual"
query = "median"
column = "clock"
where = "home.rent >= 100"
spend = { epsilon = 100.0 }
"""


def written(place):
    rng, n = np.random.default_rng(5), 300
    start = datetime.datetime(2026, 1, 1)
    seen = [start + datetime.timedelta(days=int(d), hours=int(h)) for d, h in rng.integers([0, 7], [90, 20], (n, 2))]
    home = [{"rent": float(rent), "city": ["Bonn", "Ulm"][rent % 2]} for rent in rng.integers(200, 900, n)]
    kind = pa.struct([("city", pa.string()), ("rent", pa.float64())])
    columns = {
        "id": pa.array(range(n), pa.int64()),
        "marks": pa.array([[1, 4, 6]] * n, pa.list_(pa.int8())),
        "seen": pa.array(seen, pa.timestamp("ms")),
        "home": pa.array(home, kind),
    }
    pq.write_table(pa.table(columns), place / "visits.parquet")
    (place / "visits.toml").write_text(PLAN)
    return seen


def test_arrays_records_and_times_of_day_go_through_a_plan(place, run):
    seen = written(place)
    assert all(word in run("check", "visits.toml").out for word in ("home.rent", "home.city", "clock", "marks"))
    done = run("preview", "visits.toml")
    assert done.code == 0, done.err
    done = run("publish", "visits.toml", "--out", "out")
    assert done.code == 0, done.err
    shown = {name: run("show", f"out/releases/{name}.json").out for name in ("marks", "rent", "hours", "usual")}
    assert "Ulm" in shown["rent"]
    middle = sorted(time.hour for time in seen)[150]
    assert f"{middle:02}:00" in shown["usual"]
