"""The median age of devices, found by a search in turns: each question depends on the earlier answers.

Every owner answers in one turn only, drawn by the device; the search halves what is left.
"""

import altair as alt
import numpy as np
import pandas as pd

import sfumato as sf

search = sf.local.QuantileSearch.calibrate(100, 0.5, sf.Pure(2.0), users=20_000, blocks=5)
conductor = sf.local.Conductor(sf.local.Inquiry("median age", search), "age.turns")

rows, owners = [], np.random.default_rng(25)
while (asked := conductor.asked()).collection is not None:
    ages = np.clip(owners.normal(40, 12, 20_000 // 5), 0, 99).astype(int)
    conductor.add(sf.local.encode_batch(asked.collection, sf.local.randomized(asked.collection.protocol, ages)))
    conductor.turn()
    found = conductor.finding().columns()
    rows.append({"turn": len(rows) + 1, "low": found["low"][0], "high": found["high"][0] + 1})
print(conductor.finding())
chart = alt.Chart(pd.DataFrame(rows)).mark_bar(color="#1f5fa8").encode(
    x=alt.X("low", title="ages that are left", scale=alt.Scale(domain=[0, 100])), x2="high", y=alt.Y("turn:O")
)  # fmt: skip
chart.properties(title="A search in five turns", width=420).save("interactive_search.svg")
