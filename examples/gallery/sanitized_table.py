"""A perturbed copy of the table: every record changed on its own, and estimates that undo the noise.

The costliest kind of release, for whoever must publish records; a handful of questions is far better asked.
"""

import altair as alt
import numpy as np
import pandas as pd

import sfumato as sf

rng = np.random.default_rng(15)
states = ["CA", "NY", "TX", "WA"]
people = pd.DataFrame({"state": rng.choice(states, 5_000, p=[0.4, 0.3, 0.2, 0.1]), "age": rng.integers(0, 100, 5_000)})

columns = {"state": sf.Categories(states, other="WA", missing="WA"), "age": sf.Integers(0, 100)}
table = sf.read(people, schema=columns, adjacency=sf.Replace(), size=5_000, dataset="census")  # their number is public
session = sf.Session(table, budget=sf.Approximate(2.0, 1e-6), ledger="census.ledger")
copy = session.sanitize(spend=sf.Approximate(2.0, 1e-7))
print(copy)

read = copy.estimate(sf.histogram("state")).to_pandas()
read["as published"] = [copy.to_pandas()["state"].tolist().count(state) for state in read["state"]]
read["truth"] = [int((people["state"] == state).sum()) for state in read["state"]]
print(read)
base = alt.Chart(read).encode(y=alt.Y("state", title=None))
bars = base.mark_rule(strokeWidth=3, color="#1f5fa8").encode(x=alt.X("low", title="people"), x2="high")
points = base.transform_fold(["estimate", "as published", "truth"]).mark_point(filled=True, size=70)
chart = bars + points.encode(x="value:Q", color=alt.Color("key:N", title=None), shape=alt.Shape("key:N", title=None))
chart.properties(title="Counted as published, undone, and true", width=420, height=160).save("sanitized_table.svg")
