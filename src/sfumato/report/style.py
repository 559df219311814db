"""One look for every picture: few colors with contrast, quiet axes, room for labels."""

from __future__ import annotations

from typing import Any

__all__ = ["ACCENT", "DARK", "GRID", "INK", "MUTED", "PALE", "SHADES", "WIDTH", "altair", "styled"]

WIDTH = 640
INK, MUTED, GRID, ACCENT, PALE = "#1f2933", "#5a6672", "#e1e5ea", "#1f5fa8", "#a9c8e8"
DARK = {INK: "#e8edf2", MUTED: "#a3afbb", GRID: "#313a44", ACCENT: "#7db6f5", PALE: "#34608f"}
SHADES = ["#edf3fa", "#a9c8e8", "#5b93cc", "#1f5fa8", "#123a6b"]
FONT = "Helvetica Neue, Helvetica, Arial, Liberation Sans, sans-serif"


def altair() -> Any:
    """The plotting library, loaded when a picture is made."""
    import altair

    return altair


def styled(chart: Any, title: str, subtitle: str) -> Any:
    """The chart with its title and the common configuration."""
    heading = {"text": title, "subtitle": _wrapped(subtitle)}
    padding = {"left": 8, "right": 16, "top": 8, "bottom": 8}
    return (
        chart.properties(title=heading, background="transparent", padding=padding)
        .configure(font=FONT)
        .configure_view(stroke=None)
        .configure_title(
            anchor="start", frame="bounds", fontSize=16, fontWeight=600, color=INK, subtitleColor=MUTED,
            subtitleFontSize=12, subtitlePadding=5, offset=14,
        )
        .configure_axis(
            labelColor=INK, titleColor=MUTED, gridColor=GRID, domainColor=MUTED, tickColor=MUTED, labelFontSize=11,
            titleFontSize=12, titleFontWeight="normal", titlePadding=10, labelLimit=220, tickSize=4,
        )
        .configure_legend(
            labelColor=INK, titleColor=MUTED, labelFontSize=11, titleFontSize=12, titleFontWeight="normal"
        )
    )  # fmt: skip


def _wrapped(text: str, width: int = 100) -> list[str]:
    lines = [""]
    for word in text.split():
        if lines[-1] and len(lines[-1]) + len(word) >= width:
            lines.append("")
        lines[-1] = f"{lines[-1]} {word}".strip()
    return lines
