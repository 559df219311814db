"""For the steward alone: what coercion, clipping and bounding do to each declared column, counted exactly.

Nothing here is private, charged or stored.  The counts are facts about the data: a schema that is corrected after
looking at them tells something of what was seen, so correct what is wrong about the form, not what is rare in the data.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

import ibis

from sfumato.cards import Printed
from sfumato.engines.backends import executed, isolated
from sfumato.engines.coercion import coerced, held_labels, items_of, number_of, present, vacant
from sfumato.engines.derivation import computed
from sfumato.engines.rows import counted_rows, holding
from sfumato.engines.table import WITHHELD, Table
from sfumato.errors import EngineError
from sfumato.privacy.adjacency import AddRemove, Person, Row
from sfumato.queries.aggregation import Rows
from sfumato.queries.formulas import formula
from sfumato.spaces import Lattice, Space
from sfumato.spaces.forms import Entries, Form, Labels, Numbers, Points, Sets, Strings
from sfumato.spaces.schema import Schema

if TYPE_CHECKING:
    import ibis.expr.types as ir
    import pandas as pd

__all__ = ["Check", "ColumnCheck", "check"]

SECRET = "NOT RELEASABLE: exact and secret, for the steward alone; nothing was charged or stored"
Faults = dict[str, "ir.Scalar"]
COUNTS = ("missing", "unreadable", "below", "above", "unknown", "cut")


@dataclass(frozen=True, slots=True)
class ColumnCheck:
    """How many rows of a column each rule concerns, before any bounding; None where there is no such rule.

    `missing`: null, NaN or a code; `unreadable`: there, but no value of the space; `below`, `above`: clipped by more
    than half a step; `unknown`: a label, or some item, that is not declared; `cut`: longer than declared.  `used`: the
    share of the declared range between the least and the greatest value, or of the declared labels that rows count as,
    those for other and for missing values among them.
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
class Check(Printed):
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

    def to_pandas(self) -> pd.DataFrame:
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
        columns=tuple(_column(place, name, space, totals) for place, (name, space) in enumerate(_spaces(schema))),
    )


def _counted(table: Table) -> tuple[dict[str, Any], dict[str, Any]] | None:
    try:
        schema = table.schema
        rows = isolated(table.source.select(*schema.held))
        rows = isolated(_read(rows, schema))  # so that each text is read once, however often its number is used
        wanted = {"rows": rows.count()}
        for place, space in enumerate(schema.held.values()):
            form = space.form
            faults = FAULTS[type(form)](rows[f"raw{place}"], rows[f"read{place}"], form) if form is not None else {}
            wanted |= {f"{fault}{place}": value for fault, value in faults.items()}
        (totals,) = executed(rows.aggregate(**wanted)).to_pylist()
        totals |= _of_derived(table)
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


def _spaces(schema: Schema) -> list[tuple[str, Space]]:
    """Declared columns, then derived ones."""
    return [*schema.held.items(), *((name, one.space) for name, one in schema.derived.items())]


def _of_derived(table: Table) -> dict[str, Any]:
    """The same of derived columns, whose values come from the coerced ones of every row."""
    if not table.schema.derived:
        return {}
    schema = replace(table.schema, unit=Row(), adjacency=AddRemove(), people=())  # every row of what was joined
    rows = counted_rows(Rows(None, tuple(schema.derived)), schema, table.source)
    counts: Faults = {}
    for place, (name, one) in enumerate(schema.derived.items(), start=len(schema.held)):
        value, form = computed(formula(schema, name), schema, rows, holding), one.space.form
        assert form is not None
        counts |= {f"{fault}{place}": found for fault, found in FAULTS[type(form)](value, value, form).items()}
    return dict(executed(rows.aggregate(**counts)).to_pylist()[0])


def _read(rows: ir.Table, schema: Schema) -> ir.Table:
    """Each column as it is, and beside it the number that it stands for."""
    columns: dict[str, ir.Column] = {}
    for place, (name, space) in enumerate(schema.held.items()):
        read = number_of(rows[name], space.form) if type(space.form) is Numbers else rows[name]
        columns |= {f"raw{place}": rows[name], f"read{place}": read}
    return rows.select(**columns)


def _of_numbers(raw: ir.Column, read: ir.Column, form: Numbers) -> Faults:
    index = coerced(read, replace(form, missing=None))
    strange = raw.notnull() & read.isnull()
    lattice = form.lattice
    wider = replace(form, missing=None, lattice=Lattice(lattice.step, lattice.low - 1, lattice.high + 1))
    within = coerced(read, wider)  # one step more on either side
    return {
        "missing": _times(index.isnull() & ~strange),
        "unreadable": _times(strange),
        "below": _times(within == 0),
        "above": _times(within == lattice.width + 2),
        "least": index.min(),
        "greatest": index.max(),
    }


def _of_labels(raw: ir.Column, read: ir.Column, form: Labels) -> Faults:
    blank = vacant(raw, form)
    label = coerced(raw, replace(form, other=None, missing=None))
    known = label.isin(held_labels(form.labels)).fill_null(False)
    counted = coerced(raw, form)
    held = counted.isin(held_labels(form.labels)).fill_null(False)
    occurring = held.ifelse(counted, ibis.null(counted.type())).nunique()
    return {"missing": _times(blank), "unknown": _times(~blank & ~known), "occurring": occurring}


def _of_sets(raw: ir.Column, read: ir.Column, form: Sets) -> Faults:
    held, items = coerced(raw, replace(form, cap=len(form.labels))), items_of(raw, form)
    known = items.filter(lambda item: coerced(item, Labels(form.labels)).isin(form.labels))
    named = items.filter(lambda item: item.notnull() & (item.cast("string") != ""))
    strange = held.notnull() & (named.length() > known.length())
    return {"missing": _times(held.isnull()), "unknown": _times(strange), "cut": _times(held.length() > form.cap)}


def _of_points(raw: ir.Column, read: ir.Column, form: Points) -> Faults:
    wrong = raw.notnull() & (raw.length() != len(form.points))
    return {"missing": _times(raw.isnull()), "unreadable": _times(wrong)}


def _of_entries(raw: ir.Column, read: ir.Column, form: Entries) -> Faults:
    wrong = raw.notnull() & coerced(raw, form).isnull()
    return {"missing": _times(raw.isnull()), "unreadable": _times(wrong)}


def _of_strings(raw: ir.Column, read: ir.Column, form: Strings) -> Faults:
    text = coerced(raw, form)
    return {"missing": _times(text.isnull()), "cut": _times(text.notnull() & (raw.length() > form.longest))}


# Each rule as a count, by the very expressions that answer questions.
FAULTS: dict[type[Form], Callable[..., Faults]] = {
    Numbers: _of_numbers, Labels: _of_labels, Sets: _of_sets, Points: _of_points,
    Entries: _of_entries, Strings: _of_strings,
}  # fmt: skip


def _times(condition: ir.BooleanColumn) -> ir.Scalar:
    """In how many rows a condition holds."""
    return condition.fill_null(False).ifelse(1, 0).sum().fill_null(0)


def _column(place: int, name: str, space: Space, totals: Mapping[str, Any]) -> ColumnCheck:
    counts = {count: totals.get(f"{count}{place}") for count in COUNTS}
    used = None
    if space.lattice is not None:
        ends = totals[f"least{place}"], totals[f"greatest{place}"]
        used = 0.0 if None in ends else (int(ends[1]) - int(ends[0])) / space.lattice.width
    elif space.labels is not None:
        used = totals[f"occurring{place}"] / len(space.labels)
    whole = {count: None if value is None else int(value) for count, value in counts.items()}
    return ColumnCheck(name, type(space).__name__, **whole, used=used)
