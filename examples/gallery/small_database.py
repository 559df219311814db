"""Eight rows that answer a whole list of counts, chosen privately among all tables of that size.

The oldest way to publish a table: short lists over few cells.  Rows stand for shares, not for people.
"""

import altair as alt
import numpy as np
import pandas as pd

import sfumato as sf

ages = np.clip(np.random.default_rng(17).gamma(9, 5, 3_000), 0, 99).round()
table = sf.read(pd.DataFrame({"age": ages}), schema={"age": sf.Integers(0, 99)}, dataset="few", size=3_000)
session = sf.Session(table, budget=sf.Pure(1.0), ledger="few.ledger")
edges = [0, 20, 30, 40, 50, 60, 99]
few = session.release(sf.small_database(sf.prefix(sf.bins("age", *edges)), rows=8), spend=sf.Pure(1.0))
print(few.to_pandas())

shares = few.answers().to_pandas()["share"]
rows = pd.DataFrame(
    {"below": edges[1:], "eight rows": shares, "everybody": [(ages < edge).mean() for edge in edges[1:]]}
)
base = alt.Chart(rows).transform_fold(["eight rows", "everybody"], as_=["who", "share"])
chart = base.mark_line(point=True).encode(x=alt.X("below", title="age below"), y="share:Q", color="who:N")
chart.properties(title="Eight private rows answer for three thousand", width=420).save("small_database.svg")
