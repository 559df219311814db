"""Pictures of what is promised: two laws, what somebody believes, who counts, what clipping costs."""

from __future__ import annotations

import math
from typing import Any

import altair as alt
import numpy as np
import pyarrow as pa
from drawing import ACCENT, INK, MUTED, PALE, WARM, finished, laboratory, salaries, values

import sfumato as sf

PANEL = 300


def two_laws() -> Any:
    """The laws of a released count with and without one person, and the logarithm of their ratio."""
    epsilon, with_her, without = 0.5, 51, 50
    decay = math.exp(-epsilon)

    def chance(count: int, shown: int) -> float:
        return (1 - decay) / (1 + decay) * decay ** abs(shown - count)

    rows = [
        {"answer": shown, "table": name, "chance": chance(count, shown)}
        for shown in range(40, 62)
        for name, count in (("with her: 51 rows", with_her), ("without her: 50 rows", without))
    ]
    bars = (
        alt.Chart(values(rows))
        .mark_bar()
        .encode(
            x=alt.X("answer:O", title="what is published", axis=alt.Axis(labelAngle=0, values=list(range(40, 62, 5)))),
            xOffset="table:N",
            y=alt.Y("chance:Q", title="probability"),
            color=alt.Color(
                "table:N", title=None, scale=alt.Scale(range=[ACCENT, WARM]), legend=alt.Legend(orient="top")
            ),
        )
        .properties(width=PANEL * 1.4, height=200)
    )
    losses = [
        {"answer": shown, "loss": math.log(chance(with_her, shown) / chance(without, shown))} for shown in range(40, 62)
    ]
    limits = (
        alt.Chart(values([{"y": epsilon}, {"y": -epsilon}])).mark_rule(color=MUTED, strokeDash=[4, 3]).encode(y="y:Q")
    )
    steps = (
        alt.Chart(values(losses))
        .mark_point(filled=True, color=INK, size=30)
        .encode(
            x=alt.X("answer:O", title="what is published", axis=alt.Axis(labelAngle=0, values=list(range(40, 62, 5)))),
            y=alt.Y(
                "loss:Q",
                title="log of the ratio",
                scale=alt.Scale(domain=[-0.8, 0.8]),
                axis=alt.Axis(values=[-0.5, 0, 0.5]),
            ),
        )
        .properties(width=PANEL * 0.9, height=200)
    )
    return finished(
        (bars | (limits + steps)).resolve_scale(color="independent"),
        "Two tables, two laws",
        "A count released with epsilon 0.5. Neither table makes anything more than e^0.5 = 1.65 times as likely.",
    )


def beliefs() -> Any:
    """How far a belief about one row can move, over epsilon."""
    rows = []
    for epsilon in np.arange(0.05, 5.0001, 0.05):
        for belief in sf.accounting.beliefs(sf.Pure(float(epsilon)), priors=[0.01, 0.1, 0.5]):
            rows.append(
                {
                    "epsilon": float(epsilon),
                    "before": f"held for {100 * belief.prior:g} % likely before",
                    "prior": belief.prior,
                    "least": belief.least,
                    "most": belief.most,
                }
            )
    base = alt.Chart(values(rows)).encode(x=alt.X("epsilon:Q", title="epsilon"))
    band = base.mark_area(color=PALE, opacity=0.7).encode(
        y=alt.Y("least:Q", title="held for likely after", axis=alt.Axis(format="%"), scale=alt.Scale(domain=[0, 1])),
        y2="most:Q",
    )
    lines = base.mark_line(color=ACCENT).encode(y="most:Q") + base.mark_line(color=ACCENT).encode(y="least:Q")
    before = base.mark_line(color=MUTED, strokeDash=[4, 3]).encode(y="prior:Q")
    chart = (
        (band + lines + before)
        .properties(width=190, height=190)
        .facet(
            facet=alt.Facet("before:N", title=None, sort=[f"held for {p:g} % likely before" for p in (1, 10, 50)]),
            columns=3,
        )
    )
    return finished(
        chart,
        "What somebody can come to believe of one row, at most and at least",
        "Pure epsilon; whoever looks knew everything else in the table. The dashed line is what they believed before.",
    )


def guesses() -> Any:
    """How often a guess of who is in the table is right at most, with and without a delta."""
    rows = []
    for epsilon in np.arange(0.0625, 5.0001, 0.0625):
        for name, claim in (
            ("delta 0", sf.Pure(float(epsilon))),
            ("delta 0.01", sf.Approximate(float(epsilon), 0.01)),
            ("delta 0.1", sf.Approximate(float(epsilon), 0.1)),
        ):
            (belief,) = sf.accounting.beliefs(claim, priors=[0.5])
            rows.append({"epsilon": float(epsilon), "claim": name, "right": belief.guess})
    chart = (
        alt.Chart(values(rows))
        .mark_line()
        .encode(
            x=alt.X("epsilon:Q", title="epsilon"),
            y=alt.Y(
                "right:Q", title="right guesses, at most", axis=alt.Axis(format="%"), scale=alt.Scale(domain=[0.5, 1])
            ),
            color=alt.Color("claim:N", title=None, scale=alt.Scale(range=[ACCENT, "#7a5ba8", WARM])),
        )
        .properties(width=460, height=220)
    )
    return finished(
        chart,
        "How often a guess can be right where a coin decides who is in the table",
        "Deltas of 0.01 and 0.1 are drawn to be seen: choose far smaller ones, below one over the number of people.",
    )


def rows_that_count() -> Any:
    """What a limit of rows a person cuts, beside the noise that it asks for."""
    rng = np.random.default_rng(5)
    visits = np.minimum(rng.geometric(0.35, 2000), 12)
    rows = []
    table = pa.table({"who": [str(i) for i in range(5)], "paid": [1.0] * 5})
    for limit in range(1, 13):
        found = sf.read(
            table, schema={"paid": sf.Interval(0, 1, step=1)}, unit="who", rows=limit, dataset="visits", size=2000
        )
        noise = sf.reference.lab(found, budget=sf.Pure(1.0), seed=1).preview(sf.count(), spend=sf.Pure(0.1)).half_width
        rows.append(
            {"limit": limit, "what": "rows that are cut", "rows": int((visits - np.minimum(visits, limit)).sum())}
        )
        rows.append({"limit": limit, "what": "noise, 95 % half-width", "rows": noise})
    chart = (
        alt.Chart(values(rows))
        .mark_line(point=True)
        .encode(
            x=alt.X("limit:O", title="rows of one person that count", axis=alt.Axis(labelAngle=0)),
            y=alt.Y("rows:Q", title="rows"),
            color=alt.Color(
                "what:N", title=None, scale=alt.Scale(range=[ACCENT, WARM]), legend=alt.Legend(orient="top")
            ),
        )
        .properties(width=480, height=220)
    )
    return finished(
        chart,
        "A limit that is too small cuts, one that is too large adds noise",
        f"A count of the visits of 2,000 invented people ({int(visits.sum()):,} in all), epsilon 0.1.",
    )


def clipping() -> Any:
    """Clipping bias beside the half-width of the noise, over the declared upper bound."""
    paid = salaries()
    rows = []
    for high in range(40_000, 400_001, 20_000):
        declared = sf.Interval(0, high, step=10)
        half = laboratory(salary=declared).preview(sf.mean("salary"), spend=sf.Pure(0.02)).half_width
        bias = float(paid.mean() - np.minimum(paid, high).mean())
        rows.append({"high": high, "what": "clipping: the mean is too low by", "error": bias})
        rows.append({"high": high, "what": "noise: 95 % half-width", "error": half})
    chart = (
        alt.Chart(values(rows))
        .mark_line(point=True)
        .encode(
            x=alt.X(
                "high:Q",
                title="declared upper bound of a salary",
                axis=alt.Axis(values=list(range(0, 400_001, 100_000)), format=",.0f"),
            ),
            y=alt.Y("error:Q", title="dollars", axis=alt.Axis(format=",.0f")),
            color=alt.Color(
                "what:N",
                title=None,
                scale=alt.Scale(range=[WARM, ACCENT]),
                legend=alt.Legend(orient="top", labelLimit=400),
            ),
        )
        .properties(width=480, height=220)
    )
    return finished(
        chart,
        "Narrow bounds bend the answer, wide bounds blur it",
        "The mean of 10,000 invented salaries, epsilon 0.02. No error bar holds the clipping.",
    )


__all__ = ["beliefs", "clipping", "guesses", "rows_that_count", "two_laws"]
