"""The shapes that pictures are made of.  Rows are dicts: cell, shown, estimate, low, high; in grids row and column."""

from __future__ import annotations

from typing import Any

from sfumato.report.style import ACCENT, GRID, INK, MUTED, PALE, SHADES, WIDTH, altair

__all__ = ["columns", "gauge", "heatmap", "lines", "listing", "nothing", "quantiles", "ranking", "single"]

Rows = list[dict[str, Any]]
MOST_LABELS = 51  # columns that are all labeled; of more, some labels are left out


def columns(rows: Rows, key: str, title: str, digits: int, bars: bool) -> Any:
    """Cells along the bottom, in the order of the rows: bars from zero, or points, with error bars."""
    alt = altair()
    order = [row["cell"] for row in rows]
    short, many = max(map(len, order)) <= 3, len(rows) > 24
    small = {"labelFontSize": 9, "ticks": False} if many and short else {}
    angle = 0 if short or sum(len(cell) * 7 for cell in order) <= 1.3 * WIDTH else -40
    axis = alt.Axis(labelAngle=angle, labelOverlap=many and len(rows) > MOST_LABELS, labelPadding=6, **small)
    x = alt.X("cell:N", sort=order, title=key, axis=axis)
    y = alt.Y("estimate:Q", title=title, scale=alt.Scale(zero=bars, nice=True), axis=_numbers(digits))
    size = 16 if len(rows) <= 16 else 8 if len(rows) <= MOST_LABELS else 4
    drawn = _layers(alt.Chart(alt.Data(values=rows)).encode(x=x), y, "y", bars, size, "low" in rows[0])
    return drawn.properties(width=max(WIDTH, min(15 * len(rows), 15 * MOST_LABELS)), height=300)


def lines(rows: Rows, key: str, title: str, digits: int, bars: bool) -> Any:
    """Cells down the side, in the order of the rows, with room for long labels."""
    alt = altair()
    order = [row["cell"] for row in rows]
    y = alt.Y("cell:N", sort=order, title=key, axis=alt.Axis(labelPadding=6, ticks=False, domain=False))
    x = alt.X("estimate:Q", title=title, scale=alt.Scale(zero=bars, nice=True), axis=_numbers(digits))
    few = len(rows) <= 16
    drawn = _layers(alt.Chart(alt.Data(values=rows)).encode(y=y), x, "x", bars, 16 if few else 10, "low" in rows[0])
    return drawn.properties(width=WIDTH - 80, height=alt.Step(26 if few else 17))


def _layers(base: Any, estimate: Any, along: str, bars: bool, size: int, limits: bool) -> Any:
    """An estimate for each cell with its interval if it has limits, along one axis."""
    alt = altair()
    bar = base.mark_bar(color=PALE).encode(**{along: estimate})
    point = base.mark_point(filled=True, color=ACCENT, size=46, opacity=1).encode(**{along: estimate})
    if not limits:
        return bar if bars else point
    ends = {along: _as(estimate, "low:Q"), f"{along}2": "high:Q"}
    interval = base.mark_rule(color=INK, strokeWidth=1.4).encode(**ends)
    tick = {"color": INK, "thickness": 1.4, "size": size * 0.6}
    caps = [base.mark_tick(**tick).encode(**{along: _as(estimate, f"{end}:Q")}) for end in ("low", "high")]
    return alt.layer(bar, interval, *caps) if bars else alt.layer(interval, *caps, point)


def _as(channel: Any, shorthand: str) -> Any:
    copied = channel.copy(deep=True)
    copied.shorthand = shorthand
    return copied


def single(row: dict[str, Any], title: str, frame: tuple[float, float] | None, digits: int) -> Any:
    """One number as an interval against its public bounds, or against zero."""
    alt = altair()
    low, high = frame or (min(0.0, row["low"]), max(0.0, row["high"]))
    scale = alt.Scale(domain=[low, high], nice=frame is None, zero=False)
    x = alt.X("estimate:Q", title=title, scale=scale, axis=_numbers(digits if high - low < 10 else 0, grid=False))
    base = alt.Chart(alt.Data(values=[row])).encode(y=alt.value(46))
    ends = {"x": alt.datum(low, type="quantitative", scale=scale, title=title), "x2": alt.datum(high)}
    track = base.mark_rule(color=GRID, strokeWidth=10).encode(**ends)
    interval = base.mark_rule(color=ACCENT, strokeWidth=10).encode(x=_as(x, "low:Q"), x2="high:Q")
    tick = base.mark_tick(color=INK, thickness=1.5, size=20, orient="vertical")
    caps = [tick.encode(x=_as(x, f"{end}:Q")) for end in ("low", "high")]
    align = "left" if row["estimate"] < (low + high) / 2 else "right"
    label = base.mark_text(fontSize=20, fontWeight=600, color=INK, align=align).encode(
        x=x, y=alt.value(18), text="shown:N"
    )
    return alt.layer(track, interval, *caps, label).properties(width=WIDTH, height=62)


def quantiles(rows: Rows, title: str, keys: list[str]) -> Any:
    """Quantiles as points on the column's axis, with their intervals where released; one line for each cell."""
    alt = altair()
    for row in rows:
        row["which"] = f"{row['probability']:.6g}"
        row["cell"], row["zero"] = row["cell"] or "all", 0
    order = list(dict.fromkeys(row["cell"] for row in rows))
    x = alt.X("estimate:Q", title=title, scale=alt.Scale(zero=True), axis=_numbers(0))
    if not keys:
        y = alt.Y("which:N", sort=[row["which"] for row in rows][::-1], title="quantile", axis=_quiet())
        base = alt.Chart(alt.Data(values=rows)).encode(x=x, y=y)
        stems = base.mark_rule(color=PALE, strokeWidth=2).encode(x=_as(x, "zero:Q"), x2="estimate:Q")
        beside = _as(x, "high:Q" if "low" in rows[0] else "estimate:Q")
        text = base.mark_text(align="left", dx=11, color=INK, fontSize=12).encode(x=beside, text="shown:N")
        dots = base.mark_point(filled=True, size=90, opacity=1, color=ACCENT)
        ends = {"x": _as(x, "low:Q"), "x2": "high:Q"}
        bars = [base.mark_rule(color=INK, strokeWidth=1.4).encode(**ends)] if "low" in rows[0] else []
        return alt.layer(stems, *bars, dots, text).properties(width=WIDTH - 60, height=alt.Step(34))
    y = alt.Y("cell:N", sort=order, title=", ".join(keys), axis=_quiet())
    several = len({row["which"] for row in rows}) > 1  # of one there is nothing to tell apart
    told = alt.Legend() if several else None
    shade = alt.Color("which:N", title="quantile", scale=alt.Scale(range=SHADES[1:]), sort=None, legend=told)
    base = alt.Chart(alt.Data(values=rows)).encode(x=x, y=y)
    span = base.mark_line(color=GRID, strokeWidth=3).encode(detail="cell:N")
    dots = base.mark_point(filled=True, size=80, opacity=1).encode(color=shade)
    if "low" not in rows[0]:
        return alt.layer(span, dots).properties(width=WIDTH - 120, height=alt.Step(22))
    base = base.encode(yOffset=alt.YOffset("which:N", sort=None))  # intervals of one cell lie below one another
    bars = base.mark_rule(color=INK, strokeWidth=1.4).encode(x=_as(x, "low:Q"), x2="high:Q")
    dots = base.mark_point(filled=True, size=80, opacity=1).encode(color=shade)
    step = 14 + 8 * len({row["which"] for row in rows})
    return alt.layer(bars, dots).properties(width=WIDTH - 120, height=alt.Step(step, **{"for": "position"}))


def ranking(rows: Rows, keys: list[str]) -> Any:
    """Chosen items as a ranked list; with keys, one line of items for each cell."""
    alt = altair()
    base = alt.Chart(alt.Data(values=rows))
    if keys:
        order = list(dict.fromkeys(row["cell"] for row in rows))
        y = alt.Y("cell:N", sort=order, title=", ".join(keys), axis=_quiet())
        x = alt.X("rank:O", title="rank", axis=alt.Axis(orient="top", labelAngle=0, ticks=False, domain=False))
        return (
            base.mark_text(color=INK, fontSize=12)
            .encode(x=x, y=y, text="shown:N")
            .properties(width=WIDTH - 80, height=alt.Step(24))
        )
    y = alt.Y("rank:O", axis=None)
    number = base.mark_text(align="right", fontSize=18, fontWeight=600, color=ACCENT).encode(
        y=y, x=alt.value(22), text="rank:N"
    )
    item = base.mark_text(align="left", fontSize=16, color=INK).encode(y=y, x=alt.value(38), text="shown:N")
    return alt.layer(number, item).properties(width=WIDTH - 40, height=alt.Step(32))


def listing(rows: Rows) -> Any:
    """Names down the side, in the order of the rows, which says nothing and so has no numbers."""
    alt = altair()
    base = alt.Chart(alt.Data(values=rows)).encode(y=alt.Y("place:O", axis=None), x=alt.value(4), text="shown:N")
    return base.mark_text(align="left", fontSize=14, color=INK).properties(width=WIDTH - 40, height=alt.Step(24))


def heatmap(rows: Rows, keys: list[str], title: str, digits: int) -> Any:
    """Two keys as a grid of shades; the numbers are written where they fit."""
    alt = altair()
    across, down = list(dict.fromkeys(r["column"] for r in rows)), list(dict.fromkeys(r["row"] for r in rows))
    fits = max(len(str(one)) for one in across) * 7 * len(across) <= WIDTH - 120  # the longest label in each column
    x = alt.X("column:N", sort=across, title=keys[1], axis=alt.Axis(labelAngle=0 if fits else -40))
    y = alt.Y("row:N", sort=down, title=keys[0])
    shade = alt.Color("estimate:Q", title=title, scale=alt.Scale(range=SHADES), legend=alt.Legend(format=",~s"))
    base = alt.Chart(alt.Data(values=rows)).encode(x=x, y=y)
    grid = base.transform_filter("!datum.summed").mark_rect().encode(color=shade)
    size = {"width": WIDTH - 120, "height": alt.Step(26)}
    if max(len(row["shown"]) for row in rows) * 8 * len(across) > WIDTH - 120:
        return grid.properties(**size)
    inner = [row["estimate"] for row in rows if not row["summed"]]
    dark = (alt.datum.estimate > (max(inner) + min(inner)) / 2) & ~alt.datum.summed  # sums are not shaded
    on = alt.condition(dark, alt.value("#ffffff"), alt.value("#1f2934"))
    return alt.layer(grid, base.mark_text(fontSize=11).encode(text="shown:N", color=on)).properties(**size)


def gauge(rows: Rows) -> Any:
    """Spent shares of each part of a budget, one segment for each release, and what is left."""
    alt = altair()
    labels = alt.Axis(ticks=False, domain=False, labelFontSize=13, labelPadding=10)
    base = alt.Chart(alt.Data(values=rows)).encode(
        y=alt.Y("part:N", title=None, sort=None, axis=labels),
        x=alt.X("from:Q", title=None, scale=alt.Scale(domain=[0, 1]), axis=alt.Axis(format=".0%", grid=False)),
        x2="to:Q",
        tooltip=["release:N"],
    )
    left = base.transform_filter("datum.order < 0").mark_bar(color=GRID, height=24)
    spent = base.transform_filter("datum.order >= 0").mark_bar(color=ACCENT, height=24)
    seams = (
        alt.Chart(alt.Data(values=[row for row in rows if row["order"] > 0]))
        .mark_tick(color=GRID, thickness=2, size=24)
        .encode(x=alt.X("from:Q"), y=alt.Y("part:N", sort=None))
    )
    return alt.layer(left, spent, seams).properties(width=WIDTH - 160, height=alt.Step(44))


def nothing(text: str) -> Any:
    """A picture that says why it is empty."""
    alt = altair()
    return (
        alt.Chart(alt.Data(values=[{"text": text}]))
        .mark_text(color=MUTED, fontSize=14, align="left")
        .encode(text="text:N", x=alt.value(8))
        .properties(width=WIDTH - 40, height=60)
    )


def _numbers(digits: int, grid: bool = True) -> Any:
    alt = altair()
    return alt.Axis(format=f",.{min(digits, 3)}~f", tickCount=6, domain=False, grid=grid)


def _quiet() -> Any:
    return altair().Axis(ticks=False, domain=False, labelPadding=8, labelFontSize=12)
