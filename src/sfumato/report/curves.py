"""Pictures of released curves: the curve with its band, a surface as a map of colors."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from sfumato.answers.curves import Curve, Trend
from sfumato.answers.statements import ErrorStatement
from sfumato.errors import UnsupportedQuery
from sfumato.report.style import ACCENT, INK, MUTED, PALE, SHADES, WIDTH, altair, drawable, styled

__all__ = ["plot_curve", "plot_curves"]

POINTS, SIDE = 301, 37
LONGEST_LABEL = 60  # characters of a group in the legend
STEWARD = "FOR THE STEWARD ONLY: shows the secret truth, do not publish"


def plot_curve(
    curve: Curve | Trend,
    level: float = 0.95,
    truth: Callable[[Any], Any] | None = None,
    support: Curve | None = None,
    smoothed: str | None = None,
) -> Any:
    """The curve and its simultaneous band; with `truth`, a function of points, also the secret curve, marked so.

    `smoothed`: by which bandwidth, for the line below the title.

    A band says "the curve is here", and where a learned curve rests on few rows that is false of what a reader takes
    it for: it has a band only where `support`, a released density, shows enough of them.
    """
    if len(curve.domain) == 2 and truth is None:
        return _map(curve, level, support, smoothed)
    if len(curve.domain) != 1:
        raise UnsupportedQuery("pictures show curves of one variable, and maps of two without the truth")
    alt = altair()
    x = np.linspace(*curve.shown[0], POINTS)
    shown = _shown(curve, x, level, support)
    bounds = [np.where(shown, end, np.nan) for end in curve.band(x, level)]
    kept = shown if support is not None else curve.seen(x)
    rows = [
        {"x": a, "estimate" if e else "unsupported": b, "low": _value(c), "high": _value(d)}
        for a, b, c, d, e in zip(x.tolist(), curve.at(x).tolist(), *bounds, kept.tolist(), strict=True)
    ]
    frame = alt.Scale(nice=False, zero=False, domain=list(curve.shown[0]))
    base = alt.Chart(alt.Data(values=rows)).encode(x=alt.X("x:Q", title=curve.labels[0], scale=frame))
    line, height = base.mark_line(color=ACCENT, strokeWidth=2), alt.Scale(zero=False)
    layers = [line.encode(y=alt.Y("estimate:Q", title=curve.kind, scale=height))]
    if shown.any():
        area = base.mark_area(color=PALE, opacity=0.7)
        layers.insert(0, area.encode(y=alt.Y("low:Q", title=curve.kind, scale=height), y2="high:Q"))
    if not kept.all():
        layers.append(base.mark_line(color=MUTED, strokeDash=[2, 4]).encode(y=alt.Y("unsupported:Q", scale=height)))
    note = _joined(_note(curve, level, support), smoothed)
    if truth is not None:
        values = np.asarray(truth(x), dtype=np.float64)
        secret = [{"x": a, "truth": b} for a, b in zip(x.tolist(), values.tolist(), strict=True)]
        line = alt.Chart(alt.Data(values=secret)).mark_line(color=INK, strokeDash=[5, 4], strokeWidth=1.4)
        layers.append(line.encode(x="x:Q", y="truth:Q"))
        mark = alt.Chart(alt.Data(values=[{"text": STEWARD}])).mark_text(
            align="left", baseline="top", x=8, y=6, color="#b3261e", fontSize=13, fontWeight=700
        )
        layers.append(mark.encode(text="text:N"))
        note = f"{STEWARD} (dashed) · {note}"
    return styled(alt.layer(*layers).properties(width=WIDTH, height=300), curve.name, note)


def plot_curves(
    curves: Mapping[object, Curve | Trend], name: str, level: float = 0.95, smoothed: str | None = None
) -> Any:
    """The curves of groups in one picture, each with its band, told apart by color."""
    alt, rows = altair(), []
    first = next(iter(curves.values()))
    if len(first.domain) != 1:
        raise UnsupportedQuery("pictures show curves by groups of one variable; draw each of curves by itself")
    x = np.linspace(*first.shown[0], POINTS)
    for label, curve in curves.items():
        group = ", ".join(map(str, label)) if isinstance(label, tuple) else str(label)
        seen, (low, high) = curve.seen(x), curve.band(x, level)
        rows += [
            {"x": a, "group": drawable(group, LONGEST_LABEL), "estimate": b, "low": c, "high": d}
            for a, b, c, d in zip(*(part[seen].tolist() for part in (x, curve.at(x), low, high)), strict=True)
        ]
    frame = alt.Scale(nice=False, zero=False, domain=list(first.shown[0]))
    legend = alt.Legend(symbolOpacity=1)  # the color of the lines, where that of the bands is too pale to tell apart
    base = alt.Chart(alt.Data(values=rows)).encode(
        x=alt.X("x:Q", title=first.labels[0], scale=frame), color=alt.Color("group:N", title=None, legend=legend)
    )
    height = alt.Scale(zero=False)
    area = base.mark_area(opacity=0.25).encode(y=alt.Y("low:Q", title=first.kind, scale=height), y2="high:Q")
    line = base.mark_line(strokeWidth=2).encode(y=alt.Y("estimate:Q", title=first.kind, scale=height))
    note = _joined(f"{level:.0%} band for each whole curve by itself, {_about(first)}", smoothed)
    return styled(alt.layer(area, line).properties(width=WIDTH, height=300), name, note)


def _joined(*notes: str | None) -> str:
    return " · ".join(note for note in notes if note)


def _about(curve: Curve | Trend) -> str:
    """What a band is about."""
    said = curve.covered()
    return said if said.startswith("about ") else f"about {said}"


def _shown(curve: Curve | Trend, x: npt.NDArray[np.float64], level: float, support: Curve | None) -> Any:
    """Where a band may be drawn."""
    if curve.pull is None:
        return curve.seen(x)
    return np.zeros(len(x), dtype=np.bool_) if support is None else curve.supported(x, support, level)


def _note(curve: Curve | Trend, level: float, support: Curve | None) -> str:
    """What is drawn, and what it is about."""
    if curve.pull is None:
        return f"{level:.0%} band for the whole curve at once, {_about(curve)}"
    noise = f"noise ± {curve.half_width(level):.3g} everywhere at once ({level:.0%}), about {curve.covered()}"
    if support is None:
        return f"{noise} · no band, since nothing here shows where rows are few (give a released density as support)"
    return f"{noise} · band only where the released density shows enough rows, elsewhere dots"


def _value(number: float) -> float | None:
    return None if np.isnan(number) else float(number)


def _map(curve: Curve | Trend, level: float, support: Curve | None, smoothed: str | None) -> Any:
    """A surface as colored squares; of a learned one with `support`, those that rest on enough rows."""
    alt = altair()
    axes = [np.linspace(low, high, SIDE + 1) for low, high in curve.shown]
    middles = [(axis[1:] + axis[:-1]) / 2 for axis in axes]
    mesh = np.stack([part.reshape(-1) for part in np.meshgrid(*middles, indexing="ij")], axis=1)
    keep = curve.seen(mesh) if support is None else curve.supported(mesh, support, level)
    halves = [float(axis[1] - axis[0]) / 2 for axis in axes]
    rows = [
        {"x": a - halves[0], "x2": a + halves[0], "y": b - halves[1], "y2": b + halves[1], "estimate": value}
        for (a, b), value, kept in zip(mesh.tolist(), curve.at(mesh).tolist(), keep.tolist(), strict=True)
        if kept
    ]
    names = curve.labels if len(curve.labels) == 2 else (curve.labels[0], curve.labels[0])
    chart = alt.Chart(alt.Data(values=rows)).mark_rect().encode(
        x=alt.X("x:Q", title=names[0], scale=alt.Scale(nice=False, zero=False)), x2="x2:Q",
        y=alt.Y("y:Q", title=names[1], scale=alt.Scale(nice=False, zero=False)), y2="y2:Q",
        color=alt.Color("estimate:Q", title=curve.kind, scale=alt.Scale(range=SHADES)),
    )  # fmt: skip
    estimate, (low, high) = curve.at(mesh), curve.band(mesh, level)
    reach = float(np.maximum(high - estimate, estimate - low).max())
    note = ErrorStatement("points", max(reach, 0.0), level, besides=(_about(curve),)).words()
    return styled(chart.properties(width=WIDTH * 0.75, height=WIDTH * 0.6), curve.name, _joined(note, smoothed))
