"""Pictures of synthetic tables: shares of every column, alone or beside the real ones."""

from __future__ import annotations

from typing import Any

import numpy as np

from sfumato.report.answers import cost
from sfumato.report.style import ACCENT, MUTED, altair, styled
from sfumato.synthesis.comparison import WARNING, Comparison, coarse_shares
from sfumato.synthesis.table import SyntheticTable

__all__ = ["plot_columns", "plot_comparison"]

MOST_COLUMNS = 24  # small pictures on a page
ACROSS = 4


def plot_columns(table: SyntheticTable) -> Any:
    """The shares of every column's groups."""
    shares = coarse_shares(table)
    rows = [row for name in list(shares)[:MOST_COLUMNS] for row in _rows(name, shares[name], "synthetic")]
    chart = _small(rows, list(shares)[:MOST_COLUMNS], ["synthetic"], [ACCENT])
    return styled(chart, table.name, f"{len(table):,} synthetic rows · {cost(table.guarantee)}")


def plot_comparison(comparison: Comparison) -> Any:
    """Real and synthetic shares side by side; for the steward's eyes."""
    names = list(comparison.shares)[:MOST_COLUMNS]
    rows = []
    for name in names:
        real, made = comparison.shares[name]
        rows += [*_rows(name, real, "real"), *_rows(name, made, "synthetic")]
    chart = _small(rows, names, ["real", "synthetic"], [MUTED, ACCENT])
    return styled(chart, WARNING, "shares of each column, in public groups of levels; the last group is missing values")


def _rows(name: str, shares: Any, side: str) -> list[dict[str, Any]]:
    kept = range(int(np.flatnonzero(shares).max(initial=0)) + 1)
    return [{"column": name, "group": group, "share": float(shares[group]), "table": side} for group in kept]


def _small(rows: list[dict[str, Any]], names: list[str], sides: list[str], colors: list[str]) -> Any:
    """One small picture for each column."""
    alt = altair()
    color = alt.Color("table:N", scale=alt.Scale(domain=sides, range=colors), title=None)
    base = alt.Chart(alt.Data(values=rows)).mark_line(interpolate="step", strokeWidth=1.6)
    drawn = base.encode(
        x=alt.X("group:Q", title=None, axis=alt.Axis(labels=False, ticks=False, grid=False)),
        y=alt.Y("share:Q", title=None, axis=alt.Axis(format="%", tickCount=3)),
        color=color if len(sides) > 1 else alt.value(colors[0]),
    ).properties(width=130, height=80)
    return drawn.facet(facet=alt.Facet("column:N", sort=names, title=None), columns=ACROSS).resolve_scale(
        x="independent", y="independent"
    )
