"""Pictures of released curves: the curve with its band, a surface as a map of colors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from sfumato.curves import Curve
from sfumato.errors import UnsupportedQuery
from sfumato.report.style import ACCENT, INK, PALE, SHADES, WIDTH, altair, styled

__all__ = ["plot_curve"]

POINTS, SIDE = 301, 37
STEWARD = "FOR THE STEWARD ONLY: shows the secret truth, do not publish"


def plot_curve(curve: Curve, level: float = 0.95, truth: Callable[[Any], Any] | None = None) -> Any:
    """The curve and its simultaneous band; with `truth`, a function of points, also the secret curve, marked so."""
    if len(curve.domain) == 2 and truth is None:
        return _map(curve, level)
    if len(curve.domain) != 1:
        raise UnsupportedQuery("pictures show curves of one variable, and maps of two without the truth")
    alt = altair()
    x = np.linspace(*curve.domain[0], POINTS)
    low, high = curve.band(x, level)
    rows = [
        {"x": a, "estimate": b, "low": c, "high": d}
        for a, b, c, d in zip(x.tolist(), curve.at(x).tolist(), low.tolist(), high.tolist(), strict=True)
    ]
    base = alt.Chart(alt.Data(values=rows)).encode(x=alt.X("x:Q", title=curve.labels[0], scale=alt.Scale(nice=False)))
    band = base.mark_area(color=PALE, opacity=0.7).encode(
        y=alt.Y("low:Q", title=curve.kind, scale=alt.Scale(zero=False)), y2="high:Q"
    )
    layers = [band, base.mark_line(color=ACCENT, strokeWidth=2).encode(y="estimate:Q")]
    note = f"{level:.0%} band for the whole curve at once"
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


def _map(curve: Curve, level: float) -> Any:
    """A surface as colored squares."""
    alt = altair()
    axes = [np.linspace(low, high, SIDE + 1) for low, high in curve.domain]
    middles = [(axis[1:] + axis[:-1]) / 2 for axis in axes]
    mesh = np.stack([part.reshape(-1) for part in np.meshgrid(*middles, indexing="ij")], axis=1)
    halves = [float(axis[1] - axis[0]) / 2 for axis in axes]
    rows = [
        {"x": a - halves[0], "x2": a + halves[0], "y": b - halves[1], "y2": b + halves[1], "estimate": value}
        for (a, b), value in zip(mesh.tolist(), curve.at(mesh).tolist(), strict=True)
    ]
    names = curve.labels if len(curve.labels) == 2 else (curve.labels[0], curve.labels[0])
    chart = alt.Chart(alt.Data(values=rows)).mark_rect().encode(
        x=alt.X("x:Q", title=names[0], scale=alt.Scale(nice=False, zero=False)), x2="x2:Q",
        y=alt.Y("y:Q", title=names[1], scale=alt.Scale(nice=False, zero=False)), y2="y2:Q",
        color=alt.Color("estimate:Q", title=curve.kind, scale=alt.Scale(range=SHADES)),
    )  # fmt: skip
    note = f"± {curve.half_width(level):.3g} everywhere at once with probability {level:g}"
    return styled(chart.properties(width=WIDTH * 0.75, height=WIDTH * 0.6), curve.name, note)
