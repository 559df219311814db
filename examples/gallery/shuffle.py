"""What a shuffle buys: a weak promise of each device becomes a strong one among many.

Epsilon that an observer of shuffled reports learns, by how many people report and what each promised locally.
"""

import altair as alt
import pandas as pd

import sfumato as sf

rows = [
    {"reports": reports, "local": f"{epsilon}", "epsilon": sf.accounting.shuffled(epsilon, reports, 1e-6).epsilon}
    for epsilon in (0.5, 1.0, 2.0)
    for reports in (1_000, 3_000, 10_000, 30_000, 100_000, 1_000_000)
]
print(pd.DataFrame(rows).pivot(index="reports", columns="local", values="epsilon").round(4))
log = alt.Scale(type="log")
chart = alt.Chart(pd.DataFrame(rows)).mark_line(point=True).encode(
    x=alt.X("reports", scale=log, title="honest reports that are shuffled"),
    y=alt.Y("epsilon", scale=log, title="epsilon after the shuffle, at delta 1e-6"),
    color=alt.Color("local", title="epsilon of a report"),
)  # fmt: skip
chart.properties(title="What a shuffle buys", width=420).save("shuffle.svg")
