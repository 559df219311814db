"""Which questions carry a certificate, under which relation, unit and promise; and how far over the bound they are.

`grid` asks every kind of question by `session.preview` on an invented table of 10,000 rows; `page` renders it for
docs/guide/certificates.md, and a test compares the two.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

import sfumato as sf
from sfumato.errors import SfumatoError

__all__ = ["ADJACENCIES", "DAILY", "OTHERS", "PROMISES", "UNITS", "Cell", "ask", "laboratory", "page", "row"]

ROWS, PERSONS = 10_000, 5_000
ADJACENCIES = {"add/remove": sf.AddRemove(), "replace": sf.Replace()}
UNITS = {"row": sf.Row(), "person": sf.Person("id", 2)}
PROMISES = {"pure": sf.Pure(1.0), "rho": sf.Concentrated(0.1), "delta": sf.Approximate(1.0, 1e-6)}
BUDGETS = {"pure": sf.Pure(1e6), "rho": sf.Concentrated(1e6), "delta": sf.Approximate(1e6, 0.5)}
TEN = [f"g{i}" for i in range(10)]
HOURS = [f"h{i}" for i in range(8)]

DAILY: dict[str, sf.Query] = {
    "count": sf.count(),
    "count where": sf.count().where("x >= 50"),
    "histogram": sf.histogram("kind"),
    "sum, 0 in the range": sf.sum("x"),
    "sum, 0 not in the range": sf.sum("age"),
    "mean": sf.mean("x"),
    "mean by group": sf.mean("x").by("group"),
    "variance": sf.variance("x"),
    "standard deviation": sf.std("x"),
    "share": sf.share("x >= 50"),
    "share by group": sf.share("x >= 50").by("group"),
    "weighted mean": sf.mean("x", weight="age"),
    "ratio": sf.ratio("x", "age"),
    "difference of counts": sf.difference(sf.count(), across="member", between=(True, False)),
    "difference of means": sf.difference(sf.mean("x"), across="member", between=(True, False)),
    "median": sf.median("x"),
    "quartiles": sf.quantiles("x", [0.25, 0.5, 0.75]),
    "most popular": sf.most_popular("level"),
    "top 3": sf.top("level", 3),
    "top 3 of sets": sf.top("items", 3),
    "counts of items": sf.items("items"),
    "counts of discovered keys": sf.count().by(sf.discovered("town")),
    "prefix sums": sf.prefix("small"),
    "cross table": sf.crosstab("kind", "level"),
    "two-way tables": sf.marginals(["small", "kind", "level"], 2),
    "people": sf.count_people(),
    "people by group": sf.count_people(groups=1).by("kind"),
    "density": sf.density("x", bandwidth=6),
}
OTHERS: dict[str, Any] = {
    "distribution": sf.distribution("x", bandwidth=6),
    "density by group": sf.density("x", bandwidth=10).by("kind"),
    "mean curve": sf.mean_curve(HOURS, radius=3, center=5, waves=2, period=8),
    "mean curve by group": sf.mean_curve(HOURS, radius=3, center=5, waves=2, period=8).by("kind"),
    "covariance of curves": sf.covariance(HOURS, radius=3, center=5, waves=2, period=8),
    "extent": sf.extent("x"),
    "running counts": sf.running("small", *range(9)),
    "choice by scores": sf.choose({kind: sf.count().where(f"kind == '{kind}'") for kind in "abc"}),
    "rows of a person": sf.rows_per_person(0.95, most=10),
    "regression": sf.regression("x", "age", bandwidth=40),
    "classification": sf.classification("member", "age", bandwidth=40),
    "principal components": sf.pca(["x", "age"], k=1),
    "thresholds": sf.thresholds("small", points=8),
    "smooth means": sf.smooth(["x"], {(1,): 1.0}),
    "small database": sf.small_database(sf.prefix("kind"), rows=4),
    "synthetic table": sf.synthetic(["small", "kind", "level"]),
    "smooth synthetic table": sf.trigonometric(["x"]),
    "sanitized table": sf.sanitized(["small", "kind"]),
}


@dataclass(frozen=True)
class Cell:
    """What the preview says: a factor, a reason why none is known, or None and why the question is not offered."""

    factor: float | None
    words: str
    offered: bool = True
    public: bool = False
    floor: bool = False

    @property
    def shown(self) -> str:
        """For the table."""
        if self.factor is None:
            return "·" if not self.offered else "public" if self.public else "floor" if self.floor else "none"
        return f"{-(-round(self.factor * 1e6) // 10_000) / 100:.2f}"


@functools.cache
def invented() -> pa.Table:
    """An invented table with a column of every type."""
    rng = np.random.default_rng(14)
    columns: dict[str, Any] = {
        "id": np.repeat(np.arange(PERSONS), ROWS // PERSONS), "x": rng.integers(0, 101, ROWS),
        "age": rng.integers(18, 91, ROWS), "small": rng.integers(0, 8, ROWS), "kind": rng.choice(list("abc"), ROWS),
        "level": rng.choice(list("pqrst"), ROWS), "group": np.repeat(TEN, ROWS // 10),
        "town": rng.choice(["Ulm", "Kiel"], ROWS),
        "member": rng.random(ROWS) < 0.5, "items": [["u", "v"]] * ROWS,
    }  # fmt: skip
    return pa.table(columns | {hour: rng.uniform(0, 10, ROWS).round(1) for hour in HOURS})


def schema(adjacency: str, unit: str) -> sf.Schema:
    """All columns declared so that no row is ever left out."""
    columns: dict[str, Any] = {
        "x": sf.Integers(0, 100, missing=0), "age": sf.Integers(18, 90, missing=18),
        "small": sf.Integers(0, 7, missing=0), "kind": sf.Categories(list("abc"), missing="a", other="a"),
        "level": sf.Categories(list("pqrst"), missing="p", other="p"),
        "group": sf.Categories(TEN, missing="g0", other="g0"), "town": sf.Texts(),
        "member": sf.Categories([False, True], missing=False, other=False), "items": sf.Subsets(list("uvwxyz"), cap=2),
    }  # fmt: skip
    columns |= {hour: sf.Interval(0, 10, step=0.1, missing=0.0) for hour in HOURS}
    own = ROWS if unit == "row" else PERSONS
    return sf.Schema(
        columns, adjacency=ADJACENCIES[adjacency], unit=UNITS[unit], size=own, dataset="invented", version="7"
    )


@functools.cache
def laboratory(adjacency: str, unit: str, promise: str) -> sf.Session:
    """A session that spends nothing here: only previews are asked."""
    return sf.reference.lab(
        invented(),
        schema(adjacency, unit),
        budget=BUDGETS[promise],
        seed=1,
        allow=["real-arithmetic", "mixing", "fixed-dates"],
    )


def ask(query: sf.Query, adjacency: str, unit: str, promise: str) -> Cell:
    """One cell of the grid."""
    try:
        preview = laboratory(adjacency, unit, promise).preview(query, spend=PROMISES[promise])
    except SfumatoError as refused:
        return Cell(None, str(refused), offered=False)
    found = preview.certificate
    if isinstance(found, sf.reference.Certificate):
        return Cell(found.factor, found.words())
    unknown = isinstance(found, sf.reference.NoBoundKnown)
    return Cell(None, found.words(), public=preview.half_width == 0, floor=not unknown)


@functools.cache
def row(name: str) -> list[Cell]:
    """All relations, units and promises of one kind of question."""
    query = (DAILY | OTHERS)[name]
    return [ask(query, a, u, p) for a in ADJACENCIES for u in UNITS for p in PROMISES]


def share(names: Iterator[str] | list[str]) -> tuple[int, int]:
    """How many of the cells that are offered carry a certificate."""
    cells = [cell for name in names for cell in row(name) if cell.offered and not cell.public]
    return sum(cell.factor is not None for cell in cells), len(cells)


def line(name: str) -> str:
    """One row of the table of the guide."""
    cells = row(name)
    parts = [" / ".join(cell.shown for cell in cells[i : i + 3]) for i in range(0, len(cells), 3)]
    return f"| {name} | " + " | ".join(parts) + " |"


def page() -> str:
    """The table of the guide."""
    heads = [f"{a}, {u}" for a in ADJACENCIES for u in UNITS]
    lines = ["| question | " + " | ".join(heads) + " |", "|---|" + "---|" * len(heads)]
    return "\n".join(lines + [line(name) for name in DAILY | OTHERS])
