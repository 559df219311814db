"""A picture of an estimate from local reports: values with their intervals, or a distribution as a curve."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from sfumato.cards import counted
from sfumato.errors import ParameterError
from sfumato.local.collection.estimates import Estimate
from sfumato.local.collection.series import Series
from sfumato.report import marks
from sfumato.report.answers import cost, decimals, spaced
from sfumato.report.style import ACCENT, WIDTH, Chart, altair, styled

__all__ = ["plot_estimate", "plot_series", "save_picture"]

MOST_CELLS = 60  # of more categories the largest are drawn, and the picture says so
MOST_ORDERED = 400  # of more cells the first are drawn
MOST_LINES = 8  # of more values the first are drawn over time
PICTURES = (".svg", ".png", ".html")


def plot_estimate(estimate: Estimate, level: float = 0.95, *, joint: bool = False, consistent: bool = False) -> Any:
    """Bars with error bars for frequencies, points for means, a line for a distribution (an Altair chart).

    Where values are sorted or cut by size, intervals are joint: the largest of many estimates are not those of chance.
    """
    protocol = estimate.collection.protocol
    chosen = "mean" not in protocol.goal and not estimate.ordered and len(estimate.rows()) > 1
    joint = joint or chosen
    columns = estimate.columns(level, joint=joint, consistent=consistent)
    digits = decimals(columns, None) if "low" in columns else 3
    rows = [dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)]
    for row in rows:
        row["cell"], row["shown"] = row["label"], spaced(row["estimate"], digits)
    note = [counted(estimate.reports, "report"), cost(estimate.guarantee())]
    doubts = bool(estimate.suspicions())
    note[:0] = ["SUSPICIOUS: honest reports can hardly have made this tally"] if doubts else []
    note[1:1] = [f"{'joint ' if joint else ''}{level:.0%} intervals"] if "low" in columns else []
    title = "mean" if "mean" in protocol.goal else "share"
    if "low" not in columns and not doubts:
        chart = _line(rows, title)
    elif len(rows) == 1 and not doubts:
        chart = marks.single(rows[0], title, (protocol.low, protocol.high), digits)  # type: ignore[attr-defined]
    else:
        ordered = estimate.ordered
        if chosen:
            rows = sorted(rows, key=lambda row: -row["estimate"])
        most = MOST_ORDERED if ordered else MOST_CELLS
        if len(rows) > most:
            note.append(f"the {most} {'first' if ordered else 'largest'} of {len(rows):,}")
            rows = rows[:most]
        draw = marks.columns if ordered else marks.lines
        chart = draw(rows, "", title, digits, bars=title == "share")
    return styled(chart, estimate.collection.name, " · ".join(note))


def plot_series(series: Series, level: float = 0.95) -> Any:
    """A line a value over the rounds in their order, with bands that hold for all of them together."""
    alt = altair()
    columns = series.columns(level, joint=True)
    rows = [dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)]
    labels = series.rounds[-1].row_labels()
    shown = set(labels[:MOST_LINES])
    drawn = [row for row in rows if row["label"] in shown]
    x = alt.X("round:N", title=None, sort=[one.round for one in series.rounds])
    legend = alt.Legend(symbolType="stroke", symbolStrokeWidth=3, symbolOpacity=1)  # the lines', not the pale bands'
    base = alt.Chart(alt.Data(values=drawn)).encode(x=x, color=alt.Color("label:N", title=None, legend=legend))
    chart = base.mark_line(point=True).encode(y=alt.Y("estimate:Q", title="estimate"))
    note = [counted(sum(one.reports for one in series.rounds), "report"), f"{cost(series.history())} over all rounds"]
    if "low" in columns:
        chart = base.mark_area(opacity=0.15).encode(y=alt.Y("low:Q", title="estimate"), y2="high:Q") + chart
        note.insert(1, f"joint {level:.0%} intervals")
    note += [f"the first {MOST_LINES} of {len(labels):,}"] if len(drawn) < len(rows) else []
    return styled(chart.properties(width=WIDTH, height=280), series.collection.name, " · ".join(note))


def save_picture(chart: Chart, path: Path) -> None:
    """Write a chart as SVG, PNG or HTML."""
    if path.suffix.lower() not in PICTURES:
        raise ParameterError(f"a picture is saved as {', '.join(PICTURES)}, not {path.suffix!r}")
    chart.save(str(path))


def _line(rows: list[dict[str, Any]], title: str) -> Any:
    """A distribution without error bars, over numbers."""
    alt = altair()
    for row in rows:
        row["at"] = float(row["label"])
    base = alt.Chart(alt.Data(values=rows)).mark_line(color=ACCENT, strokeWidth=1.6)
    x = alt.X("at:Q", title="value", scale=alt.Scale(zero=False, nice=False))
    return base.encode(x=x, y=alt.Y("estimate:Q", title=title)).properties(width=WIDTH, height=280)
