"""Pictures of synthetic tables: shares of every column with bands and the errors of pairs, or beside the real table."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from sfumato.cards import counted
from sfumato.mechanisms.synthetic.marginals.judging import coarse
from sfumato.queries.encoding import Column
from sfumato.release.comparison import WARNING, Comparison, coarse_shares
from sfumato.release.prediction import PredictedErrors
from sfumato.release.synthetic import SyntheticTable
from sfumato.report.answers import cost
from sfumato.report.style import ACCENT, INK, MUTED, PALE, SHADES, altair, marked, styled

__all__ = ["plot_columns", "plot_comparison"]

MOST_COLUMNS = 24  # small pictures on a page
ACROSS = 4
LONGEST = 14  # characters of a level's name
Reals = npt.NDArray[np.float64]


def plot_columns(table: SyntheticTable) -> Any:
    """The shares of every column's groups with predicted bands, and how far each pair is predicted to be off."""
    shares = coarse_shares(table)
    names = list(shares)[:MOST_COLUMNS]
    found = table.errors() if table.judged else None
    columns = {column.name: column for column in table.question.levels}
    rows = [row for name in names for row in _banded(columns[name], shares[name], found)]
    alt = altair()
    base = alt.Chart()
    x = alt.X("group:O", sort=None, title=None, axis=alt.Axis(labelAngle=0, labelOverlap=True, ticks=False, grid=False))
    bars = base.mark_bar(color=PALE).encode(x=x, y=alt.Y("share:Q", title=None, axis=alt.Axis(format="%", tickCount=3)))
    bands = base.mark_rule(color=ACCENT, strokeWidth=1.6).encode(x=x, y=alt.Y("low:Q", title=None), y2="high:Q")
    layers = alt.layer(bars, bands, data=alt.Data(values=rows)).properties(width=150, height=80)
    drawn = layers.facet(facet=alt.Facet("column:N", sort=names, title=None), columns=ACROSS).resolve_scale(
        x="independent", y="independent"
    )
    under = f"{counted(len(table), 'synthetic row')} · {cost(table.guarantee)}"
    if found is not None:
        under += " · bars: shares of public groups of levels; lines: where the real shares are predicted to lie at 95 %"
        if len(names) > 1:
            drawn = alt.vconcat(drawn, _pairs(found, names)).resolve_scale(color="independent")
    return marked(styled(drawn, table.name, under), table.provenance.laboratory)


def plot_comparison(comparison: Comparison) -> Any:
    """Real and synthetic shares side by side; for the steward's eyes."""
    names = list(comparison.shares)[:MOST_COLUMNS]
    rows = []
    for name in names:
        real, made = comparison.shares[name]
        rows += [*_rows(name, real, "real"), *_rows(name, made, "synthetic")]
    chart = _small(rows, names, ["real", "synthetic"], [MUTED, ACCENT])
    return styled(chart, WARNING, "shares of each column, in public groups of levels; the last group is missing values")


def _banded(column: Column, shares: Reals, found: PredictedErrors | None) -> list[dict[str, Any]]:
    """Each group that shows, by the name of its first level, with the band that its column's error leaves it."""
    size = found.samples[column.name,] if found is not None else math.inf
    starts = np.flatnonzero(np.diff(coarse(np.arange(column.size), column), prepend=-1))
    kept = coarse(starts, column)
    labels = _labels(column, starts)
    last = int(np.flatnonzero(shares[kept]).max(initial=0)) + 1
    rows = []
    for group, label in list(zip(kept.tolist(), labels, strict=True))[:last]:
        share = float(shares[group])
        reach = 2 * math.sqrt(share * (1 - share) / size) + (2 / size if share < 1 else 0.0)
        band = {"low": max(0.0, share - reach), "high": min(1.0, share + reach)}
        rows.append({"column": column.name, "group": label, "share": share, **band})
    return rows


def _labels(column: Column, starts: npt.NDArray[np.int64]) -> list[str]:
    """The first value of each group, short and each once."""
    missing = starts >= column.valued
    first = np.where(
        missing, -1, starts if column.edges is None else np.array(column.edges)[np.minimum(starts, column.valued - 1)]
    )
    shown: list[str] = []
    for value in column.decoded(first).to_pylist():
        text = "missing" if value is None else f"{value:g}" if isinstance(value, float) else str(value)
        text = text if len(text) <= LONGEST else text[: LONGEST - 1] + "…"
        while text in shown:
            text += "'"
        shown.append(text)
    return shown


def _pairs(found: PredictedErrors, names: list[str]) -> Any:
    """A cell for each pair, the darker the farther off; a dot where the pair was measured."""
    alt = altair()
    rows = [
        {"one": one, "other": other, "most": most, "measured": (one, other) in found.measured}
        for (one, other), most in found.pairs.items()
        if one in names and other in names
    ]
    base = alt.Chart(alt.Data(values=rows)).encode(
        x=alt.X("one:N", sort=names, title=None, axis=alt.Axis(labelAngle=-40, ticks=False, domain=False)),
        y=alt.Y("other:N", sort=names, title=None, axis=alt.Axis(ticks=False, domain=False)),
    )
    legend = alt.Legend(title="pair off by at most", format="%")
    cells = base.mark_rect(stroke="white").encode(
        color=alt.Color("most:Q", scale=alt.Scale(range=SHADES), legend=legend)
    )
    dots = base.transform_filter("datum.measured").mark_point(filled=True, size=22, color=INK, stroke="white")
    side = max(120, 26 * len(names))
    return alt.layer(cells, dots).properties(
        width=side, height=side, title=alt.Title("pairs of columns; a dot: measured", fontSize=12, fontWeight="normal")
    )


def _rows(name: str, shares: Reals, side: str) -> list[dict[str, Any]]:
    kept = range(int(np.flatnonzero(shares).max(initial=0)) + 1)
    return [{"column": name, "group": group, "share": float(shares[group]), "table": side} for group in kept]


def _small(rows: list[dict[str, Any]], names: list[str], sides: list[str], colors: list[str]) -> Any:
    """One small picture for each column."""
    alt = altair()
    base = alt.Chart(alt.Data(values=rows)).mark_line(interpolate="step", strokeWidth=1.6)
    drawn = base.encode(
        x=alt.X("group:Q", title=None, axis=alt.Axis(labels=False, ticks=False, grid=False)),
        y=alt.Y("share:Q", title=None, axis=alt.Axis(format="%", tickCount=3)),
        color=alt.Color("table:N", scale=alt.Scale(domain=sides, range=colors), title=None),
    ).properties(width=130, height=80)
    return drawn.facet(facet=alt.Facet("column:N", sort=names, title=None), columns=ACROSS).resolve_scale(
        x="independent", y="independent"
    )
