"""How the pictures of the guide look, and the invented tables that they are about."""

from __future__ import annotations

from functools import cache
from typing import Any

import altair as alt
import numpy as np
import pyarrow as pa

import sfumato as sf
from sfumato.report.style import ACCENT, CONFIGURATION, GRID, INK, MUTED, PALE

__all__ = ["ACCENT", "GRID", "INK", "MUTED", "PALE", "WARM", "finished", "laboratory", "salaries", "spoken", "values"]

WARM = "#b5552b"
ROWS = 10_000


def values(rows: list[dict[str, Any]]) -> Any:
    return alt.Data(values=rows)


def spoken(x: float, y: float, text: str, **given: Any) -> alt.Chart:
    """One line of text at a place of the data."""
    place = {"color": INK, "fontSize": 12, "align": "left"} | given
    return (
        alt.Chart(values([{"x": x, "y": y, "text": text}])).mark_text(**place).encode(x="x:Q", y="y:Q", text="text:N")
    )


def finished(chart: Any, title: str, subtitle: str | list[str] = "") -> Any:
    """The chart with its heading, in the colors of the reports, on white."""
    return chart.properties(title=alt.TitleParams(title, subtitle=subtitle), background="white", padding=14).configure(
        **CONFIGURATION
        | {"axis": CONFIGURATION["axis"] | {"labelOverlap": "greedy", "labelSeparation": 6, "labelFlush": False}}
    )


@cache
def salaries() -> Any:
    """Invented salaries, skewed as salaries are."""
    return np.random.default_rng(7).lognormal(10.9, 0.6, ROWS).round(-1)


def laboratory(seed: int = 1, **declared: Any) -> sf.Session:
    """A seeded session about invented people; its answers are no release of anybody."""
    rng = np.random.default_rng(3)
    table = pa.table(
        {
            "age": np.clip(rng.gamma(9.0, 5.0, ROWS), 0, 100).round(),
            "salary": salaries(),
            "team": rng.choice(["north", "south", "east", "west"], ROWS, p=[0.5, 0.3, 0.15, 0.05]),
        }
    )
    columns = {
        "age": sf.Integers(0, 100),
        "salary": sf.Interval(0, 300_000, step=10),
        "team": sf.Categories(["north", "south", "east", "west"]),
    }
    schema = sf.Schema(columns | declared, size=ROWS, dataset="invented people")
    return sf.reference.lab(table, schema, budget=sf.Approximate(1000.0, 1e-3), seed=seed)
