"""A person with many rows: what a limit cuts, and what it costs in noise.

Kind of data: events of persons.  A person is protected with all of their rows; each question says how many count.
"""

import altair as alt
import numpy as np
import pandas as pd

import sfumato as sf

rng = np.random.default_rng(12)
visits = pd.DataFrame({"visitor": np.repeat(np.arange(2_000), rng.geometric(0.25, 2_000))})  # four visits on average
visits["paid"] = rng.gamma(2, 15, len(visits))

schema = {"paid": sf.Interval(0, 200, step=1)}
table = sf.read(visits, schema=schema, unit="visitor", rows=10, size=2_000, dataset="shop")
session = sf.Session(table, budget=sf.Pure(4.0), ledger="shop.ledger")
usual = session.release(sf.rows_per_person([0.5, 0.95], most=50), spend=sf.Pure(0.2))
print("visits of half and of nearly all visitors:", usual.value)

rows = []
for limit in (1, 2, 4, 6, 8, 10):
    release = session.release(sf.count().per_person(rows=limit), spend=sf.Pure(0.1), name=f"{limit} visits each")
    low, high = release.interval(0.95)
    rows.append({"limit": limit, "estimate": float(release), "low": float(low), "high": float(high)})
base = alt.Chart(pd.DataFrame(rows)).encode(x=alt.X("limit:O", title="visits of a person that count"))
bars = base.mark_rule(color="#1f5fa8", strokeWidth=2).encode(y=alt.Y("low", title="visits"), y2="high")
true = alt.Chart(pd.DataFrame({"all": [len(visits)]})).mark_rule(strokeDash=[4, 4]).encode(y="all")
title = "A small limit cuts, a large one adds noise (dashed: all visits)"
(bars + base.mark_point(filled=True, size=60).encode(y="estimate") + true).properties(title=title, width=420).save(
    "persons.svg"
)
