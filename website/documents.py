"""Pictures of the book on the source documents, from the stored results of the experiments."""

from __future__ import annotations

from typing import Any

import altair as alt
from drawing import ACCENT, INK, MUTED, PALE, WARM, finished, values
from results import points, rows

__all__ = ["document_density", "document_geometry", "document_local", "document_smooth", "document_thresholds"]

LOG = alt.Scale(type="log")
WIDTHS = (2, 4, 6, 8, 10)
OTHERS = ["#7a5ba8", "#3d8a5f", "#b08900", "#5b6b7a", "#a0527d", "#2f8f9d", "#8c564b", "#c27ba0", "#6b8e23", "#708090"]


def document_geometry() -> Any:
    """Table 3 at epsilon 1: printed, and done right."""
    shown = {
        "printed Laplace": "Laplace, as printed: not private",
        "printed K-norm": "K-norm, as printed: 202 steps of a walk",
        "least possible (metric, 99.9 %)": "least possible",
        "K-norm": "K-norm",
        "cube": "cube",
        "Laplace on x": "Laplace on x",
        "NIM": "NIM",
        "Laplace": "Laplace",
    }
    long = [
        {
            "queries": f"{each['d']} queries",
            "mechanism": name,
            "error": each[column],
            "who": "printed" if "printed" in column else "nobody" if name == "least possible" else "ours",
        }
        for each in rows("geometry-table-3")
        if each["epsilon"] == 1.0
        for column, name in shown.items()
    ]
    chart = (
        alt.Chart(values(long))
        .mark_point(filled=True, size=70, opacity=1)
        .encode(
            x=alt.X(
                "error:Q",
                scale=LOG,
                title="mean l2 error at epsilon 1",
                axis=alt.Axis(values=[1, 3, 10, 30, 100, 300, 1000]),
            ),
            y=alt.Y("mechanism:N", sort=list(shown.values()), title=None, axis=alt.Axis(labelLimit=300)),
            color=alt.Color(
                "who:N",
                legend=None,
                scale=alt.Scale(domain=["printed", "ours", "nobody"], range=[WARM, ACCENT, MUTED]),
            ),
        )
        .properties(width=280, height=170)
        .facet(alt.Column("queries:N", title=None), spacing=44)
    )
    return finished(
        chart,
        "The printed errors were below what is possible",
        "200 ages, random sign queries; a year of one age is hidden.",
    )


def document_density() -> Any:
    """Figures 1 to 3."""
    long = [
        {"x": each["x"], "epsilon": f"epsilon {e}", "truth": each["truth"], "private": each[e],
         "low": each[e] - each[f"{e} band"], "high": each[e] + each[f"{e} band"]}
        for e in ("0.1", "1", "3")
        for each in points("metric-figures")
    ]  # fmt: skip
    base = alt.Chart(values(long)).encode(x=alt.X("x:Q", title="x"))
    band = base.mark_area(color=PALE, opacity=0.8).encode(y=alt.Y("low:Q", title="density"), y2="high:Q")
    truth = base.mark_line(color=MUTED, strokeDash=[4, 3]).encode(y="truth:Q")
    drawn = base.mark_line(color=ACCENT).encode(y="private:Q")
    chart = (
        (band + truth + drawn).properties(width=200, height=150).facet(alt.Column("epsilon:N", title=None), spacing=36)
    )
    return finished(
        chart,
        "A density of 1,000 rows, with the noise that is needed",
        "delta = 0.1, bandwidth 0.5; dashed: without noise; the band holds everywhere, 95 times in 100.",
    )


def document_smooth() -> Any:
    """Table 3.2 for the four sets that are the document's own."""
    names = {"printed": "as printed", "ours": "ours", "noisy mean": "noisy mean", "no data": "no data"}
    long = [
        {"set": each["set"], "sigma": sigma, "way": name, "error": max(each[column][at], 1e-4)}
        for each in rows("smooth-table-3-2")
        if each["set"] == each["ours is of"]
        for column, name in names.items()
        for at, sigma in enumerate(WIDTHS)
    ]
    chart = (
        alt.Chart(values(long))
        .mark_line(point=True)
        .encode(
            x=alt.X("sigma:O", title="width of the kernels", axis=alt.Axis(labelAngle=0)),
            y=alt.Y("error:Q", scale=LOG, title="worst error", axis=alt.Axis(format="~g")),
            color=alt.Color(
                "way:N", title=None, sort=list(names.values()), scale=alt.Scale(range=[WARM, ACCENT, MUTED, INK])
            ),
        )
        .properties(width=150, height=150)
        .facet(alt.Facet("set:N", title=None), columns=4)
    )
    return finished(
        chart,
        "Worst errors of smooth queries at epsilon 1",
        "Min-max scaling, as in the document, for comparison only; no data is the uniform cube.",
    )


def document_local() -> Any:
    """Errors of frequencies against n, by protocol."""
    long = [each for each in points("local-frequencies") if each["axis"] == "n"]
    names = sorted({each["protocol"] for each in long} - {"lower bound"})
    chart = (
        alt.Chart(values(long))
        .mark_line(point=True)
        .encode(
            x=alt.X("n:Q", scale=LOG, title="people", axis=alt.Axis(values=[10**k for k in range(3, 8)], format="~s")),
            y=alt.Y(
                "error:Q",
                scale=LOG,
                title="root of the total square error",
                axis=alt.Axis(values=[10**-k for k in range(4)], format="~g"),
            ),
            color=alt.Color(
                "protocol:N",
                title=None,
                sort=["lower bound", *names],
                scale=alt.Scale(range=[INK, ACCENT, WARM, *OTHERS]),
            ),
        )
        .properties(width=420, height=240)
    )
    return finished(
        chart,
        "Frequencies of 16 values at epsilon 1",
        "Exact errors of every protocol, and the least possible; olh, oue and sue lie on one another within 3 %.",
    )


def document_thresholds() -> Any:
    """All thresholds of one table."""
    base = alt.Chart(values(points("selection-thresholds"))).encode(x=alt.X("x:Q", title="threshold"))
    truth = base.mark_line(color=MUTED, strokeDash=[4, 3]).encode(y=alt.Y("truth:Q", title="share at or below"))
    drawn = base.mark_line(color=ACCENT, interpolate="step-after").encode(y="released:Q")
    return finished(
        (truth + drawn).properties(width=480, height=180),
        "A thousand thresholds from a small database",
        "10,000 rows, epsilon 1; dashed: the truth.",
    )
