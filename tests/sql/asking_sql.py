"""One table and its schema for the tests of SQL, with missing values in every column."""

from __future__ import annotations

import datetime
import random

import pandas as pd

import sfumato as sf

SCHEMA = sf.Schema(
    {
        "age": sf.Integers(0, 120),
        "salary": sf.Interval(0, 1000, step=10),
        "tip": sf.Interval(0, 50, step=1),
        "fare": sf.Interval(1, 100, step=1),
        "w": sf.Interval(0, 5, step=0.5),
        "x": sf.Interval(-30, 30, step=1),
        "state": sf.Categories(["CA", "NY", "UT"]),
        "sex": sf.Categories(["F", "M"]),
        "paid": sf.Categories([False, True]),
        "day": sf.Dates("2025-11-15", "2026-03-31"),
        "hobbies": sf.Subsets(["chess", "go", "tea"], cap=3),
        "town": sf.Texts(),
        "home": sf.Record({"rent": sf.Interval(0, 3000, step=10)}),
        "marks": sf.Box(1, 6, shape=(3,), step=1),
        "first name": sf.Categories(["Jo", "Al"]),
    },
    size=300,
    dataset="people",
    derived={"pay": ("salary / 10", sf.Interval(0, 100, step=1))},
)
PERSONS = sf.Schema(
    {name: SCHEMA.columns[name] for name in ("age", "salary", "state")}, unit=sf.Person("visitor", 3), dataset="visits",
    size=100,
)  # fmt: skip


def rows(count: int, seed: int) -> pd.DataFrame:
    """Rows that are within the declared bounds, a seventh of each column missing."""
    draw = random.Random(seed)

    def maybe(value: object) -> object:
        return None if draw.random() < 1 / 7 else value

    def row() -> dict[str, object]:
        return {
            "age": maybe(draw.randint(0, 120)),
            "salary": maybe(draw.randint(0, 100) * 10.0),
            "tip": maybe(float(draw.randint(0, 50))),
            "fare": maybe(float(draw.randint(1, 100))),
            "w": maybe(draw.randint(0, 10) / 2),
            "x": maybe(float(draw.randint(-30, 30))),
            "state": maybe(draw.choice(["CA", "NY", "UT"])),
            "sex": maybe(draw.choice(["F", "M"])),
            "paid": maybe(draw.random() < 0.5),
            "day": maybe(datetime.date(2025, 11, 15) + datetime.timedelta(days=draw.randint(0, 136))),
            "hobbies": draw.sample(["chess", "go", "tea"], draw.randint(0, 3)),
            "town": maybe(draw.choice(["Ulm", "Uelzen", "Bonn", "U"])),
            "home": {"rent": maybe(draw.randint(0, 300) * 10.0)},
            "marks": [draw.randint(1, 6) for _ in range(3)],
            "first name": maybe(draw.choice(["Jo", "Al"])),
        }

    held = pd.DataFrame([row() for _ in range(count)])
    return held.astype({"age": "Int64", "paid": "boolean"})
