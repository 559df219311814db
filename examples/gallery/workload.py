"""Every threshold of an age at once: the planner ranks the shapes that noise can take.

A workload is many linear answers over one histogram.  Noise for the list is far smaller than noise for each answer.
"""

import altair as alt
import numpy as np
import pandas as pd

import sfumato as sf

ages = np.clip(np.random.default_rng(6).gamma(9, 4.5, 20_000), 0, 99).round()
table = sf.read(pd.DataFrame({"age": ages}), schema={"age": sf.Integers(0, 99)}, dataset="ages", size=20_000)
session = sf.Session(table, budget=sf.Pure(1.0), ledger="ages.ledger")

question = sf.prefix("age")  # how many are at most 0, 1, ..., 99
print(session.preview(question, spend=sf.Pure(0.2)).ranking)
release = session.release(question, spend=sf.Pure(0.2))
low, high = release.interval(0.95)
truth = np.cumsum(np.bincount(ages.astype(int), minlength=100))

rows = pd.DataFrame({"age": range(100), "low": low - truth, "high": high - truth, "error": release.value - truth})
base = alt.Chart(rows).encode(x=alt.X("age", title="threshold"))
band = base.mark_area(color="#a9c8e8", opacity=0.5).encode(y=alt.Y("low", title="rows off the truth"), y2="high")
line = base.mark_line(color="#1f5fa8").encode(y="error")
title = "A hundred thresholds: error of each, and its interval"
(band + line).properties(title=title, width=480, height=240).save("workload.svg")
