"""Pictures of components and of thresholds."""

from __future__ import annotations

from typing import Any

from sfumato.release import Release
from sfumato.report.answers import cost
from sfumato.report.style import ACCENT, PALE, WIDTH, altair, styled

__all__ = ["plot_components", "plot_thresholds"]

MOST_LOADINGS = 40  # columns drawn; of more, the first


def plot_components(release: Release, level: float = 0.95) -> Any:
    """Eigenvalues with their error bars, and below them the loadings of each column."""
    alt = altair()
    rows = release.table(level).to_pylist()
    bars = alt.Chart(alt.Data(values=rows)).encode(y=alt.Y("component:O", title="component"))
    values = bars.mark_bar(color=PALE, height=14).encode(x=alt.X("estimate:Q", title="eigenvalue, columns in [-1, 1]"))
    ends = bars.mark_rule(color=ACCENT, strokeWidth=2).encode(x="low:Q", x2="high:Q")
    names = [name for name in rows[0] if name.startswith("loading_")][:MOST_LOADINGS]
    cells = [
        {"component": row["component"], "column": name.removeprefix("loading_"), "loading": row[name]}
        for row in rows
        for name in names
    ]
    scale = alt.Scale(scheme="blueorange", domain=[-1, 1])
    loadings = alt.Chart(alt.Data(values=cells)).mark_rect().encode(
        x=alt.X("column:N", sort=None, title=None), y=alt.Y("component:O"), color=alt.Color("loading:Q", scale=scale),
    )  # fmt: skip
    height = 24 * len(rows)
    both = alt.vconcat(
        alt.layer(values, ends).properties(width=WIDTH, height=height), loadings.properties(width=WIDTH, height=height)
    )
    return styled(both, release.name, f"{level:.0%} error bars · {cost(release.guarantee)}")


def plot_thresholds(release: Release, level: float = 0.95) -> Any:
    """The share of rows at or below each point, with its band where the size is declared."""
    alt = altair()
    columns = release.answer.table(level)
    rows = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    column = release.answer.measure
    base = alt.Chart(alt.Data(values=rows)).encode(x=alt.X("threshold:Q", title=column, scale=alt.Scale(nice=False)))
    share = alt.Y("estimate:Q", title="share at or below", scale=alt.Scale(domain=[0, 1]))
    layers = [base.mark_line(color=ACCENT, strokeWidth=2, interpolate="step-after").encode(y=share)]
    if "low" in rows[0]:
        layers.insert(
            0, base.mark_area(color=PALE, opacity=0.7, interpolate="step-after").encode(y="low:Q", y2="high:Q")
        )
    note = f"{release.accuracy(level)} · {cost(release.guarantee)}"
    return styled(alt.layer(*layers).properties(width=WIDTH, height=300), release.name, note)
