"""For the steward alone: what coercion, clipping and bounding do to each declared column, counted exactly.

Nothing here is private, charged or stored.  The counts are facts about the data: a schema that is corrected after
looking at them tells something of what was seen, so correct what is wrong about the form, not what is rare in the data.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from fractions import Fraction
from typing import Any

import ibis

from sfumato.engines.backends import executed, isolated
from sfumato.engines.coercion import coerced, day_of, held_labels, items_of, numeral, present, vacant
from sfumato.engines.engine import WITHHELD, Table
from sfumato.errors import EngineError
from sfumato.privacy.adjacency import Person
from sfumato.schema import Schema
from sfumato.spaces import Categories, Curves, Dates, Integers, Interval, Space, Subsets

__all__ = ["Check", "ColumnCheck", "check"]

SECRET = "NOT RELEASABLE: exact and secret, for the steward alone; nothing was charged or stored"
COUNTS = ("missing", "unreadable", "below", "above", "unknown", "cut")


@dataclass(frozen=True, slots=True)
class ColumnCheck:
    """How many rows of a column each rule concerns, before any bounding; None where there is no such rule.

    `missing`: null, NaN or a code; `unreadable`: there, but no value of the space; `below`, `above`: clipped by more
    than half a step; `unknown`: a label, or some item, that is not declared; `cut`: longer than declared.  `used`: the
    share of the declared range between the least and the greatest value, or of the declared labels that occur.
    """

    column: str
    space: str
    missing: int | None = None
    unreadable: int | None = None
    below: int | None = None
    above: int | None = None
    unknown: int | None = None
    cut: int | None = None
    used: float | None = None


@dataclass(frozen=True, slots=True, repr=False)
class Check:
    """What the schema makes of a table.  Exact and secret: never part of a release.

    `size` is the declared number of units, `units` the true one.  With persons: `no_id` rows without an identifier,
    `people_cut` people with more rows than count, `rows_cut` their rows that do not.
    """

    dataset: str
    unit: str
    rows: int
    units: int
    size: int | None
    no_id: int | None
    people_cut: int | None
    rows_cut: int | None
    columns: tuple[ColumnCheck, ...]

    def __repr__(self) -> str:
        return f"Check({self.dataset!r}, {len(self.columns)} columns; {SECRET})"

    def __str__(self) -> str:
        headings = ("column", "space", *COUNTS, "used")
        table = [headings, *(self.cells(column) for column in self.columns)]
        widths = [max(map(len, part)) for part in zip(*table, strict=True)]
        lines = [
            "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in table
        ]
        return "\n".join([SECRET, self.words(), *lines])

    def words(self) -> str:
        """The rows and units in one line."""
        declared = "no size is declared" if self.size is None else f"declared size {self.size:,}"
        if self.people_cut is None:
            return f"{self.dataset}: {self.rows:,} rows; {declared}"
        return (
            f"{self.dataset}: {self.rows:,} rows, {self.units:,} people; {declared}; {self.no_id:,} rows have no id, "
            f"{self.people_cut:,} people have more rows than count, and {self.rows_cut:,} rows of theirs do not count"
        )

    def cells(self, column: ColumnCheck) -> tuple[str, ...]:
        """A column's counts for a table: the number and its share of the rows."""
        counts = (getattr(column, name) for name in COUNTS)
        shown = ("" if count is None else f"{count:,}{self._share(count)}" for count in counts)
        return (column.column, column.space, *shown, "" if column.used is None else f"{column.used:.0%}")

    def to_record(self) -> dict[str, Any]:
        """Plain values, for programs of the steward."""
        return {"releasable": False, **asdict(self), "columns": [asdict(column) for column in self.columns]}

    def to_pandas(self) -> Any:
        """The columns as a pandas frame."""
        import pandas as pd

        return pd.DataFrame([asdict(column) for column in self.columns])

    def _share(self, count: int) -> str:
        return f" ({count / self.rows:.1%})" if count and self.rows else ""


def check(table: Table) -> Check:
    """What coercion, clipping and bounding do to a table.  NOT RELEASABLE: exact, secret and free."""
    found = _counted(table)
    if found is None:  # raised out here, so that the engine's own error is not its context
        raise EngineError(WITHHELD)
    schema, (totals, people) = table.schema, found
    person = isinstance(schema.unit, Person)
    return Check(
        dataset=schema.dataset,
        unit=schema.words(),
        rows=totals["rows"],
        units=people["people"] if person else totals["rows"],
        size=schema.size,
        no_id=totals["rows"] - people["held"] if person else None,
        people_cut=people["people_cut"] if person else None,
        rows_cut=people["held"] - people["kept"] if person else None,
        columns=tuple(
            _column(place, name, space, totals) for place, (name, space) in enumerate(schema.columns.items())
        ),
    )


def _counted(table: Table) -> tuple[dict[str, Any], dict[str, Any]] | None:
    try:
        schema = table.schema
        rows = isolated(table.source.select(*schema.columns))
        rows = isolated(_read(rows, schema))  # so that each text is read once, however often its number is used
        wanted = {"rows": rows.count()}
        for place, space in enumerate(schema.columns.values()):
            faults = _faults(rows[f"raw{place}"], rows[f"read{place}"], space)
            wanted |= {f"{fault}{place}": value for fault, value in faults.items()}
        (totals,) = executed(rows.aggregate(**wanted)).to_pylist()
        if not isinstance(schema.unit, Person):
            return totals, {}
        ids = isolated(table.source.select(id=present(table.source[schema.unit.column])))
        ids = ids.filter(ids["id"].notnull())
        counts = ids.group_by("id").aggregate(n=ids.count())
        kept = ibis.least(counts["n"], schema.unit.rows)
        over = (counts["n"] > schema.unit.rows).ifelse(1, 0)
        people = counts.aggregate(people=counts.count(), held=counts["n"].sum(), kept=kept.sum(), people_cut=over.sum())
        return totals, {name: int(count or 0) for name, count in executed(people).to_pylist()[0].items()}
    except Exception:
        return None


def _read(rows: Any, schema: Schema) -> Any:
    """Each column as it is, and beside it the number or day that it stands for."""
    columns: dict[str, Any] = {}
    for place, (name, space) in enumerate(schema.columns.items()):
        raw = rows[name]
        texts = raw.type().is_string() and isinstance(space, Interval | Integers)
        read = day_of(raw) if isinstance(space, Dates) else numeral(raw) if texts else raw
        columns |= {f"raw{place}": raw, f"read{place}": read}
    return rows.select(**columns)


def _faults(raw: Any, read: Any, space: Space) -> dict[str, Any]:
    """Each rule as a count, by the very expressions that answer questions."""
    if isinstance(space, Dates):
        days = Integers(space.lattice.low, space.lattice.high, na=space.coded_days)
        return _of_numbers(raw, read, days)
    if isinstance(space, Interval | Integers):
        return _of_numbers(raw, read, space)
    if isinstance(space, Categories):
        blank = vacant(raw, space)
        label = coerced(raw, replace(space, other=None, missing=None))
        known = label.isin(held_labels(space.values)).fill_null(False)
        occurring = known.ifelse(label, ibis.null(label.type())).nunique()
        return {"missing": _times(blank), "unknown": _times(~blank & ~known), "occurring": occurring}
    if isinstance(space, Subsets):
        held, items = coerced(raw, replace(space, cap=len(space.of))), items_of(raw, space)
        known = items.filter(lambda item: coerced(item, Categories(space.of)).isin(space.of))
        named = items.filter(lambda item: item.notnull() & (item.cast("string") != ""))
        strange = held.notnull() & (named.length() > known.length())
        return {"missing": _times(held.isnull()), "unknown": _times(strange), "cut": _times(held.length() > space.cap)}
    if isinstance(space, Curves):
        wrong = raw.notnull() & (raw.length() != len(space.points))
        return {"missing": _times(raw.isnull()), "unreadable": _times(wrong)}
    text = coerced(raw, space)
    longest: int = space.longest  # type: ignore[attr-defined]
    return {"missing": _times(text.isnull()), "cut": _times(text.notnull() & (raw.length() > longest))}


def _of_numbers(raw: Any, read: Any, space: Interval | Integers) -> dict[str, Any]:
    index = coerced(read, replace(space, missing=None))
    strange = raw.notnull() & read.isnull()
    wider = coerced(read, _wider(space))  # one step more on either side
    return {
        "missing": _times(index.isnull() & ~strange),
        "unreadable": _times(strange),
        "below": _times(wider == 0),
        "above": _times(wider == space.lattice.width + 2),
        "least": index.min(),
        "greatest": index.max(),
    }


def _wider(space: Interval | Integers) -> Interval | Integers:
    lattice = space.lattice
    if isinstance(space, Integers):
        return replace(space, low=lattice.low - 1, high=lattice.high + 1, missing=None)
    low, high = (Fraction(end * lattice.step) for end in (lattice.low - 1, lattice.high + 1))
    return replace(space, low=low, high=high, step=lattice.step, missing=None)  # type: ignore[arg-type]


def _times(condition: Any) -> Any:
    """In how many rows a condition holds."""
    return condition.fill_null(False).ifelse(1, 0).sum().fill_null(0)


def _column(place: int, name: str, space: Space, totals: Mapping[str, Any]) -> ColumnCheck:
    counts = {count: totals.get(f"{count}{place}") for count in COUNTS}
    used = None
    if isinstance(space, Interval | Integers):
        ends = totals[f"least{place}"], totals[f"greatest{place}"]
        used = 0.0 if None in ends else (int(ends[1]) - int(ends[0])) / space.lattice.width
    elif isinstance(space, Categories):
        used = totals[f"occurring{place}"] / len(space.values)
    whole = {count: None if value is None else int(value) for count, value in counts.items()}
    return ColumnCheck(name, type(space).__name__, **whole, used=used)
