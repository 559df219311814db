"""Say how exact an answer must be, and learn the least that it costs.

`within=` turns the question round: the spend follows from the error.  Previews are free.
"""

import altair as alt
import pandas as pd

import sfumato as sf

columns = {"age": sf.Integers(0, 120), "team": sf.Categories(["a", "b", "c"])}
table = sf.read(pd.DataFrame({"age": [40], "team": ["a"]}), schema=columns, dataset="wanted", size=5_000)
session = sf.Session(table, budget=sf.Pure(10.0), ledger="wanted.ledger")

rows = []
for name, question in {"count": sf.count(), "count by team": sf.count().by("team"), "mean age": sf.mean("age")}.items():
    for percent in (0.5, 1, 2, 4):
        preview = session.preview(question, within=f"{percent}%")
        rows.append({"question": name, "percent": percent, "epsilon": preview.guarantee.epsilon})
print(pd.DataFrame(rows).pivot(index="percent", columns="question", values="epsilon"))
log = alt.Scale(type="log")
chart = alt.Chart(pd.DataFrame(rows)).mark_line(point=True).encode(
    x=alt.X("percent", scale=log, title="error wanted, in percent"),
    y=alt.Y("epsilon", scale=log, title="least epsilon"),
    color=alt.Color("question", sort=None),
)  # fmt: skip
chart.properties(title="What an error costs", width=420).save("accuracy_target.svg")
