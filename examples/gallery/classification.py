"""Who is at risk: a private score of two numbers, from -1 (no) to 1 (yes).

The score is twice the chance of the second label, less one.  It is one public function: ask it about anybody.
"""

import altair as alt
import numpy as np
import pandas as pd

import sfumato as sf

rng = np.random.default_rng(10)
age, weight = rng.uniform(20, 90, 9_000), rng.uniform(40, 140, 9_000)
ill = rng.random(9_000) < 1 / (1 + np.exp(-(age + weight - 150) / 10))

columns = {
    "age": sf.Interval(20, 90, step=1),
    "weight": sf.Interval(40, 140, step=1),
    "ill": sf.Categories([False, True]),
}
frame = pd.DataFrame({"age": age, "weight": weight, "ill": ill})
table = sf.read(frame, schema=columns, dataset="ward", size=9_000)
session = sf.Session(table, budget=sf.Pure(2.0), ledger="ward.ledger")
score = session.release(sf.classification("ill", ["age", "weight"], bandwidth=[12, 16]), spend=sf.Pure(2.0)).curve

grid = pd.DataFrame([(a, w) for a in range(22, 90, 4) for w in range(43, 140, 6)], columns=["age", "weight"])
grid["score"] = score.at(grid.to_numpy(dtype=float))
right = ((score.at(np.c_[age, weight]) > 0) == ill).mean()
print(f"the private score tells {right:.1%} of these invented people right")
color = alt.Color("score", scale=alt.Scale(scheme="redblue", reverse=True, domain=[-1, 1]))
chart = alt.Chart(grid).mark_rect().encode(x=alt.X("age:O"), y=alt.Y("weight:O", sort="descending"), color=color)
chart.properties(title="A private classifier, evaluated everywhere").save("classification.svg")
