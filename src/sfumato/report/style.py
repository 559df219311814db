"""One look for every picture: few colors with contrast, quiet axes, room for labels."""

from __future__ import annotations

from typing import Any, Protocol, runtime_checkable

from sfumato.visible import visible

__all__ = [
    "ACCENT",
    "DARK",
    "GRID",
    "INK",
    "LONGEST",
    "MUTED",
    "PALE",
    "SHADES",
    "WIDTH",
    "altair",
    "drawable",
    "marked",
    "styled",
]

WIDTH = 640
LONGEST = 300  # characters of a drawn text
INK, MUTED, GRID, ACCENT, PALE = "#1f2933", "#5a6672", "#e1e5ea", "#1f5fa8", "#a9c8e8"
DARK = {INK: "#e8edf2", MUTED: "#a3afbb", GRID: "#313a44", ACCENT: "#7db6f5", PALE: "#34608f"}
SHADES = ["#edf3fa", "#a9c8e8", "#5b93cc", "#1f5fa8", "#123a6b"]
FONT = "Helvetica Neue, Helvetica, Arial, Liberation Sans, sans-serif"

SMALL = {"labelColor": INK, "titleColor": MUTED, "labelFontSize": 11, "titleFontSize": 12, "titleFontWeight": "normal"}
CONFIGURATION = {
    "font": FONT,
    "view": {"stroke": None},
    "title": {
        "anchor": "start", "frame": "bounds", "fontSize": 16, "fontWeight": 600, "color": INK, "subtitleColor": MUTED,
        "subtitleFontSize": 12, "subtitlePadding": 5, "offset": 14,
    },
    "axis": {
        **SMALL, "gridColor": GRID, "domainColor": MUTED, "tickColor": MUTED, "titlePadding": 10, "labelLimit": 220,
        "tickSize": 4,
    },
    "legend": SMALL,
}  # fmt: skip


class Chart(Protocol):
    """A picture of Altair."""

    def properties(self, **parts: object) -> Any:
        """The same with these parts."""

    def to_dict(self, validate: bool = True) -> dict[str, Any]:
        """Its description, compared with the schema of such descriptions or not."""

    def save(self, path: str, /) -> None:
        """Drawn, as the name of the file says."""


@runtime_checkable
class Parted(Protocol):
    """An object of Altair that keeps its parts by name."""

    _kwds: dict[str, Any]


def altair() -> Any:
    """The plotting library, loaded when a picture is made."""
    import altair

    return altair


def marked(chart: Chart, laboratory: str | None) -> Any:
    """The chart, and if it shows a laboratory's release a title that says so."""
    if laboratory is None:
        return chart
    heading = chart.to_dict().get("title", {})
    heading = heading if isinstance(heading, dict) else {"text": heading}
    return chart.properties(title={**heading, "text": f"NOT PRIVATE: {heading.get('text', '')}"})


def styled(chart: Chart, title: str, subtitle: str) -> Any:
    """The chart with its title and the common configuration, all of its texts safe to draw."""
    _make_drawable(chart)
    title, subtitle = drawable(title), drawable(subtitle)
    heading = {"text": title, "subtitle": _wrapped(subtitle)}
    padding = {"left": 8, "right": 16, "top": 8, "bottom": 8}
    return chart.properties(title=heading, background="transparent", padding=padding, config=CONFIGURATION)


def drawable(text: str, longest: int = LONGEST) -> str:
    """A text that no renderer chokes on: XML knows no control characters, and a label has an end.

    Vega reads the labels of a sorted axis as program text, where a backslash would make an escape of what follows.
    """
    shown = visible(text).replace("\\", "\N{SET MINUS}")
    return shown if len(shown) <= longest else shown[: longest - 1] + "…"


def _make_drawable(part: object) -> Any:
    """The part of a chart with every text in it drawable; Altair's own objects keep their parts in `_kwds`."""
    if part is None or isinstance(part, int | float):
        return part
    if isinstance(part, str):
        return drawable(part)
    if isinstance(part, list | tuple):
        return [_make_drawable(one) for one in part]
    if isinstance(part, dict):
        return {_make_drawable(name): _make_drawable(one) for name, one in part.items()}
    if isinstance(part, Parted):
        given = {name: one for name, one in part._kwds.items() if one is not altair().Undefined}
        part._kwds.update({name: _make_drawable(one) for name, one in given.items()})
    return part


def _wrapped(text: str, width: int = 100) -> list[str]:
    lines = [""]
    for word in text.split():
        if lines[-1] and len(lines[-1]) + len(word) >= width:
            lines.append("")
        lines[-1] = f"{lines[-1]} {word}".strip()
    return lines
