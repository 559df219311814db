"""Arrays as values: the mean of every entry of a small image, in one release.

Kind of data: arrays.  All entries of a row move together, so a concentrated spend suits them.
"""

import altair as alt
import numpy as np
import pandas as pd

import sfumato as sf

rng = np.random.default_rng(20)
ring = np.hypot(*np.mgrid[-1:1:8j, -1:1:8j])
scans = np.clip(np.exp(-8 * (ring - 0.7) ** 2) + rng.normal(0, 0.3, (5_000, 8, 8)), 0, 1)

table = sf.read(
    pd.DataFrame({"scan": scans.tolist()}),
    schema={"scan": sf.Box(0, 1, shape=(8, 8), step=0.01)},
    dataset="scans",
    size=5_000,
)
session = sf.Session(table, budget=sf.Concentrated(0.1), ledger="scans.ledger")
release = session.release(sf.mean("scan"), spend=sf.Concentrated(0.05))
print(f"each of {len(release.value)} means within {release.error()}")

cells = pd.DataFrame([{"row": i // 8, "column": i % 8, "mean": value} for i, value in enumerate(release.value)])
cells = pd.concat([cells.assign(which="private"), cells.assign(mean=scans.mean(axis=0).ravel(), which="true")])
color = alt.Color("mean", scale=alt.Scale(scheme="blues"))
chart = (
    alt.Chart(cells).mark_rect().encode(x="column:O", y="row:O", color=color, column=alt.Column("which", title=None))
)
chart.properties(title="The mean of five thousand small images").save("arrays.svg")
