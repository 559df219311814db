"""Plots of privacy curves: (epsilon, delta) and trade-off functions, as altair charts.

altair is imported when a chart is asked for, not before.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Literal

from sfumato.errors import ParameterError

if TYPE_CHECKING:
    import altair

__all__ = ["profile_chart", "tradeoff_chart"]

Curve = Callable[[float], float]
POWERS = "datum.value >= 0.01 ? format(datum.value, '~g') : format(datum.value, '.0e')"  # of a logarithmic axis


def profile_chart(curves: Mapping[str, Curve], epsilons: Sequence[float], width: int = 420) -> altair.Chart:
    """Delta against epsilon, delta on a logarithmic axis; points of delta 0 are left out."""
    rows = [
        {"epsilon": epsilon, "delta": delta, "curve": name}
        for name, curve in _named(curves).items()
        for epsilon in epsilons
        if (delta := curve(epsilon)) > 0
    ]
    return _chart(rows, "epsilon", "delta", "log", width)


def tradeoff_chart(curves: Mapping[str, Curve], points: int = 101, width: int = 320) -> altair.Chart:
    """Missed detections against false alarms; the diagonal is perfect privacy."""
    if points < 2:
        raise ParameterError(f"points must be at least 2, got {points!r}")
    rates = [i / (points - 1) for i in range(points)]
    drawn = {"perfect privacy": lambda rate: 1 - rate, **_named(curves)}
    rows = [
        {"false alarms": rate, "missed detections": curve(rate), "curve": name}
        for name, curve in drawn.items()
        for rate in rates
    ]
    return _chart(rows, "false alarms", "missed detections", "linear", width)


def _named(curves: Mapping[str, Curve]) -> Mapping[str, Curve]:
    if not curves:
        raise ParameterError("curves must name at least one curve to draw")
    return curves


def _chart(
    rows: Sequence[Mapping[str, object]],
    x: str,
    y: str,
    scale: Literal["linear", "log"],
    width: int,
) -> altair.Chart:
    import altair

    axis = altair.Axis(labelExpr=POWERS) if scale == "log" else altair.Axis()
    chart: altair.Chart = (
        altair.Chart(altair.InlineData(values=[dict(row) for row in rows]))
        .mark_line()
        .encode(
            x=altair.X(f"{x}:Q"),
            y=altair.Y(f"{y}:Q", scale=altair.Scale(type=scale), axis=axis),
            color=altair.Color("curve:N", title=None),
        )
        .properties(width=width, height=width * 2 // 3)
    )
    return chart
