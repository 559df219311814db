"""Writes what docs/guide/certificates.md shows: the grid of questions that carry a certificate, and two pictures."""

from __future__ import annotations

import math
import sys
from pathlib import Path
from typing import Any

import altair as alt
from certified import DAILY, OTHERS, laboratory, page, share

import sfumato as sf
from sfumato.errors import SfumatoError

__all__ = ["BEGIN", "END", "PAGE", "between", "sentence", "write"]

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "guide" / "certificates.md"
BEGIN, END = "<!-- grid -->", "<!-- end of grid -->"
EPSILONS = (0.05, 0.07, 0.1, 0.15, 0.2, 0.3, 0.5, 0.7, 1.0, 1.5, 2.0)
TICKS = [0.05, 0.1, 0.2, 0.5, 1, 2]
PLOTTED: list[tuple[str, Any, str]] = [  # a kind, and what epsilon x stands for
    ("count, pure", sf.count(), "pure"),
    ("count, rho = ε²/2", sf.count(), "rho"),
    ("sum of 18..90", sf.sum("age"), "pure"),
    ("mean", sf.mean("x"), "pure"),
    ("mean by 10 groups", sf.mean("x").by("group"), "pure"),
    ("variance", sf.variance("x"), "pure"),
    ("prefix sums of 8, pure", sf.prefix("small"), "pure"),
    ("prefix sums of 8, rho = ε²/2", sf.prefix("small"), "rho"),
    ("two-way tables", sf.marginals(["small", "kind", "level"], 2), "pure"),
    ("density, public size, rho = ε²/2", sf.density("x", bandwidth=6), "rho"),
    ("median, in ranks", sf.median("x"), "pure"),
    ("most popular of 6, in rows", sf.most_popular("items"), "pure"),
    ("keys with counts, in holders", sf.count().by(sf.discovered("town")), "delta"),
]


def sentence() -> str:
    """How much of the grid is certified."""
    (daily, asked), (every, offered) = share(list(DAILY)), share(list(DAILY | OTHERS))
    return (
        f"Of the {asked} cells of daily questions {100 * daily // asked} % carry a certificate, "
        f"of all {offered} cells {100 * every // offered} %."
    )


def between(text: str) -> str:
    """What the page shows of the grid."""
    return text.split(BEGIN, 1)[1].split(END, 1)[0].strip()


def write() -> None:
    """The grid into the page, and the pictures."""
    text = PAGE.read_text()
    head, tail = text.split(BEGIN, 1)[0], text.split(END, 1)[1]
    PAGE.write_text(f"{head}{BEGIN}\n{page()}\n\n{sentence()}\n{END}{tail}")
    draw()


def draw() -> None:
    """The pictures, as the others of the guide are written."""
    sys.path.append(str(ROOT / "website"))
    from drawing import finished
    from pictures import PICTURES, shortened

    rows = points()
    over = finished(
        over_epsilon(rows),
        "Released errors over epsilon, beside the least that is possible",
        "On the worst table, at the spend that each heading names; both axes are logarithmic.",
    )
    glance = finished(
        at_a_glance(rows),
        "How far from the best possible",
        "Released error at epsilon 1 over the least that any mechanism of its class can have.",
    )
    (PICTURES / "certificates-over-epsilon.svg").write_text(shortened(over))
    (PICTURES / "certificates.svg").write_text(shortened(glance))


def spend(kind: str, epsilon: float) -> Any:
    """What is spent at one place of the axis."""
    if kind == "pure":
        return sf.Pure(epsilon)
    return sf.Concentrated(epsilon**2 / 2) if kind == "rho" else sf.Approximate(epsilon, 1e-6)


def points() -> list[dict[str, Any]]:
    """Achieved errors and bounds of every kind over epsilon."""
    rows = []
    for name, query, kind in PLOTTED:
        relation = "replace" if "public size" in name else "add/remove"
        for epsilon in EPSILONS:
            try:
                found = laboratory(relation, "row", kind).preview(query, spend=spend(kind, epsilon)).certificate
            except SfumatoError:
                continue
            if isinstance(found, sf.reference.Certificate):
                rows.append({"kind": name, "epsilon": epsilon, "error": found.achieved, "what": "released"})
                rows.append({"kind": name, "epsilon": epsilon, "error": found.bound, "what": "least possible"})
    return rows


def over_epsilon(rows: list[dict[str, Any]]) -> alt.FacetChart:
    """Small pictures, one a kind: the released error and the bound, both over epsilon."""
    order = [name for name, _, _ in PLOTTED]
    colors = alt.Scale(domain=["released", "least possible"], range=["#1f5fa8", "#b8860b"])
    base = alt.Chart(alt.Data(values=rows)).mark_line().encode(
        x=alt.X("epsilon:Q", scale=alt.Scale(type="log", nice=False), axis=alt.Axis(values=TICKS), title="epsilon"),
        y=alt.Y("error:Q", scale=alt.Scale(type="log", nice=False), title=None, axis=alt.Axis(grid=False, ticks=False)),
        color=alt.Color("what:N", scale=colors, title=None, legend=alt.Legend(orient="top")),
        strokeDash=alt.StrokeDash("what:N", scale=alt.Scale(domain=colors.domain, range=[[1, 0], [4, 3]]), legend=None),
    )  # fmt: skip
    small = base.properties(width=170, height=120).facet(
        alt.Facet("kind:N", sort=order, title=None), columns=4, bounds="flush", spacing={"row": 72, "column": 64}
    )
    return small.resolve_scale(y="independent").resolve_axis(x="independent")


def at_a_glance(found: list[dict[str, Any]]) -> alt.LayerChart:
    """At epsilon 1: how far each released error is from its bound; nothing private lies left of 1."""
    rows = [row for row in found if math.isclose(row["epsilon"], 1.0)]
    bounds = {row["kind"]: row["error"] for row in rows if row["what"] == "least possible"}
    bars = [
        {"kind": row["kind"], "factor": row["error"] / bounds[row["kind"]], "one": 1.0, "zero": 0.5}
        for row in rows
        if row["what"] == "released"
    ]
    data, order = alt.Data(values=bars), [name for name, _, _ in PLOTTED]
    y = alt.Y("kind:N", sort=order, title=None)
    scale = alt.Scale(domain=[0.5, max(2.5, max(bar["factor"] for bar in bars) * 1.05)], nice=False)
    never = alt.Chart(data).mark_bar(color="#e7ddc5", size=18).encode(x=alt.X("zero:Q", scale=scale), x2="one:Q", y=y)
    gap = alt.Chart(data).mark_bar(color="#9fb9d8", size=8).encode(
        x=alt.X("one:Q", title="error over the least possible, on the worst table"), x2="factor:Q", y=y
    )  # fmt: skip
    ours = alt.Chart(data).mark_point(color="#1f5fa8", filled=True, size=60, opacity=1).encode(x="factor:Q", y=y)
    note = alt.Data(values=[{"x": 0.75, "text": "no private mechanism"}])
    words = (
        alt.Chart(note)
        .mark_text(baseline="bottom", dy=-4, color="#7a6a3a")
        .encode(x="x:Q", y=alt.value(0), text="text:N")
    )
    return (never + gap + ours + words).properties(width=420, height=26 * len(bars))
