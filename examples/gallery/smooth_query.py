"""Averages of smooth functions of two columns: where do people cluster?

A Gaussian bump is moved over the plane; each of its averages is one private number with one interval.
"""

import altair as alt
import numpy as np
import pandas as pd

import sfumato as sf

rng = np.random.default_rng(14)
frame = pd.DataFrame(
    {"age": np.r_[rng.normal(30, 6, 3_000), rng.normal(65, 6, 3_000)], "spent": rng.normal(150, 30, 6_000)}
)
frame["spent"] += 80 * (frame["age"] > 50)
columns = {"age": sf.Interval(0, 100, step=1), "spent": sf.Interval(0, 300, step=1)}
table = sf.read(frame, schema=columns, dataset="clusters", size=6_000)
session = sf.Session(table, budget=sf.Pure(1.0), ledger="clusters.ledger")

rows = []
for age in range(10, 100, 10):
    for spent in (150, 230):
        place = [age / 50 - 1, spent / 150 - 1]  # columns are scaled to -1 .. 1
        bump = sf.gaussian_mixture(["age", "spent"], centers=[place], sigma=0.3)
        release = session.release(bump, spend=sf.Pure(0.05), name=f"around age {age}, spent {spent}")
        low, high = release.interval(0.95)
        rows.append({"age": age, "spent": spent, "mean": float(release), "low": float(low), "high": float(high)})
base = alt.Chart(pd.DataFrame(rows)).encode(x=alt.X("age", title="age at the middle of the bump"), color="spent:N")
band = base.mark_area(opacity=0.3).encode(y=alt.Y("low", title="mean of the bump"), y2="high")
title = "A smooth query, moved along the ages"
(band + base.mark_line(point=True).encode(y="mean")).properties(title=title, width=420).save("smooth_query.svg")
