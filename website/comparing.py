"""Pictures of what errors cost, of curves, and of one way beside another."""

from __future__ import annotations

from typing import Any

import altair as alt
import numpy as np
import pyarrow as pa
from drawing import ACCENT, INK, PALE, ROWS, WARM, finished, laboratory, values

import sfumato as sf

__all__ = ["density_band", "least_spend", "privacy_curve", "sanitized", "thresholds", "workloads"]


def density_band() -> Any:
    """A released density and its band, beside the same curve without noise."""
    curve = laboratory(seed=2).release(sf.density("age", bandwidth=3), spend=sf.Pure(0.05)).curve
    places = np.linspace(0, 100, 101)
    low, high = curve.band(places)
    rows = [
        {"age": float(x), "value": float(y), "low": float(a), "high": float(b)}
        for x, y, a, b in zip(places, curve.at(places), low, high, strict=True)
    ]
    base = alt.Chart(values(rows)).encode(x=alt.X("age:Q", title="age"))
    band = base.mark_area(color=PALE, opacity=0.8).encode(y=alt.Y("low:Q", title="density"), y2="high:Q")
    return finished(
        (band + base.mark_line(color=ACCENT).encode(y="value:Q")).properties(width=480, height=200),
        "A density is one public function with a band",
        "10,000 invented people, epsilon 0.05; the curve without noise lies in the band everywhere, 95 times in 100.",
    )


def least_spend() -> Any:
    """The least epsilon for an error, by question."""
    rows, session = [], laboratory()
    questions = {
        "count": sf.count(),
        "mean salary": sf.mean("salary"),
        "count by team": sf.count().by("team"),
        "median salary (in ranks)": sf.median("salary"),
    }
    for name, question in questions.items():
        for share in (0.003, 0.005, 0.01, 0.02, 0.03, 0.05):
            spend = session.preview(question, within=f"{100 * share:g}%", spend=sf.Pure).guarantee.epsilon
            rows.append({"question": name, "share": share, "epsilon": spend})
    chart = (
        alt.Chart(values(rows))
        .mark_line(point=True)
        .encode(
            x=alt.X(
                "share:Q",
                title="error asked for, as a share (95 %)",
                axis=alt.Axis(format=".1%", values=[0.003, 0.005, 0.01, 0.02, 0.05]),
                scale=alt.Scale(type="log", domain=[0.0028, 0.055], nice=False),
            ),
            y=alt.Y(
                "epsilon:Q",
                title="least epsilon",
                scale=alt.Scale(type="log"),
                axis=alt.Axis(format="~g", values=[0.001, 0.01, 0.1, 1, 10]),
            ),
            color=alt.Color(
                "question:N",
                title=None,
                scale=alt.Scale(range=[ACCENT, WARM, "#7a5ba8", "#3d8a5f"]),
                sort=list(questions),
                legend=alt.Legend(labelLimit=240),
            ),
        )
        .properties(width=430, height=230)
    )
    return finished(
        chart,
        "What an error costs",
        "Previews of 10,000 declared rows: free, and computed from public quantities only.",
    )


def privacy_curve() -> Any:
    """The deltas of a batch over epsilon."""
    plan = sf.accounting.compose((sf.accounting.gaussian(1 / 50), 1000), (sf.accounting.discrete_laplace(50, 1), 1000))
    return finished(
        plan.plot(),
        "A thousand Gaussian and a thousand Laplace releases",
        "The delta that belongs to each epsilon, composed as one batch.",
    )


def sanitized() -> Any:
    """The error of a mean, released by itself and read from a perturbed copy of the table."""
    rows = []
    schema = sf.Schema({"age": sf.Integers(0, 100)}, adjacency=sf.Replace(), size=ROWS, dataset="ages")
    table = sf.read(pa.table({"age": np.full(ROWS, 40)}), schema=schema)
    for epsilon in (0.25, 0.5, 1.0, 2.0, 4.0, 8.0):
        session = sf.reference.lab(table, budget=sf.Pure(100.0), seed=1)
        mean = session.preview(sf.mean("age"), spend=sf.Pure(epsilon)).half_width
        copy = session.release(sf.sanitized(), spend=sf.Pure(epsilon))
        ((low, high),) = [
            (row["low"], row["high"]) for row in copy.estimate(sf.mean("age")).to_pandas().to_dict("records")
        ]
        rows += [
            {"epsilon": epsilon, "what": "one mean, released by itself", "error": mean},
            {"epsilon": epsilon, "what": "read from a perturbed copy", "error": (high - low) / 2},
        ]
    chart = (
        alt.Chart(values(rows))
        .mark_line(point=True)
        .encode(
            x=alt.X(
                "epsilon:Q",
                scale=alt.Scale(type="log", nice=False, padding=12),
                axis=alt.Axis(values=[0.25, 0.5, 1, 2, 4, 8], format="~g"),
            ),
            y=alt.Y(
                "error:Q",
                title="95 % half-width, in years",
                scale=alt.Scale(type="log"),
                axis=alt.Axis(format="~g", values=[0.001, 0.01, 0.1, 1, 10]),
            ),
            color=alt.Color(
                "what:N",
                title=None,
                scale=alt.Scale(range=[ACCENT, WARM]),
                legend=alt.Legend(orient="top", labelLimit=300),
            ),
        )
        .properties(width=430, height=220)
    )
    return finished(
        chart,
        "A perturbed copy is the costliest kind of release",
        "The mean age of 10,000 invented rows, replacing one; the copy answers every other question as well.",
    )


def thresholds() -> Any:
    """Released shares below thresholds with simultaneous bars."""
    rows = (
        laboratory(seed=5).release(sf.thresholds("age", points=20), spend=sf.Pure(0.1)).to_pandas().to_dict("records")
    )
    base = alt.Chart(values(rows)).encode(x=alt.X("threshold:Q", title="age"))
    bars = base.mark_rule(color=PALE, strokeWidth=5).encode(
        y=alt.Y("low:Q", title="share at or below", axis=alt.Axis(format="%")), y2="high:Q"
    )
    points = base.mark_point(filled=True, color=ACCENT, size=40, opacity=1).encode(y="estimate:Q")
    return finished(
        (bars + points).properties(width=480, height=200),
        "Thresholds never fall, and hold all at once",
        "Shares at or below 20 ages of 10,000 invented people, epsilon 0.1.",
    )


def workloads() -> Any:
    """Predicted errors of the ways to answer every threshold."""
    found = laboratory().preview(sf.prefix("age"), spend=sf.Pure(0.5)).ranking
    rows = [{"way": name, "error": error} for name, error in found if name != "strategy: answers"]
    chart = (
        alt.Chart(values(rows))
        .mark_bar(color=ACCENT, height=16)
        .encode(
            y=alt.Y("way:N", title=None, sort=[name for name, _ in found], axis=alt.Axis(labelLimit=240)),
            x=alt.X(
                "error:Q", title="predicted root mean square error of an answer, in rows", axis=alt.Axis(tickCount=6)
            ),
        )
    )
    text = chart.mark_text(align="left", dx=5, color=INK).encode(text=alt.Text("error:Q", format=".1f"))
    return finished(
        (chart + text).properties(width=430, height=120),
        "Noise for the whole list is smaller than noise for each answer",
        "How many are at most 0, 1, ..., 100 years old: 101 answers, epsilon 0.5.",
    )
