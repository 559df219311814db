"""How far from the best possible: the certificate of six questions, at one spend.

A factor of 1.2 says that no private mechanism of the named class, known or unknown, errs less than this one
divided by 1.2 on the worst table.  Previews are free, so nothing is spent here.
"""

import altair as alt
import pandas as pd

import sfumato as sf

columns = {"age": sf.Integers(0, 99), "team": sf.Categories(["north", "south", "east", "west"])}
table = sf.read(pd.DataFrame({"age": [40], "team": ["north"]}), schema=columns, dataset="certified", size=10_000)
session = sf.Session(table, budget=sf.Pure(1.0), ledger="certified.ledger")

questions = {
    "a count": sf.count(),
    "a mean": sf.mean("age"),
    "a mean by team": sf.mean("age").by("team"),
    "a histogram": sf.histogram("team"),
    "quartiles": sf.quantiles("age", [0.25, 0.5, 0.75]),
    "every threshold": sf.prefix("age"),
}
certificates = {name: session.preview(question, spend=0.5).certificate for name, question in questions.items()}
for name, certificate in certificates.items():
    print(f"{name}: {certificate.words()}")

rows = pd.DataFrame([{"question": name, "within": each.factor} for name, each in certificates.items()])
bars = alt.Chart(rows).encode(
    y=alt.Y("question", sort=None, title=None), x=alt.X("within", title="times the least error")
)
chart = bars.mark_bar(color="#a9c8e8") + bars.mark_text(align="left", dx=4).encode(
    text=alt.Text("within", format=".2f")
)
chart.properties(title="Certified: our error over the least that is possible", width=480).save("certificates.svg")
