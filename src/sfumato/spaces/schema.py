"""What is public about a table: a space per column, who is protected, and under which relation."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from copy import copy
from dataclasses import dataclass, field
from difflib import get_close_matches
from functools import lru_cache
from pathlib import Path
from typing import Any

from sfumato.errors import SchemaError, UnsupportedQuery
from sfumato.privacy.adjacency import ADJACENCIES, AddRemove, Adjacency, Person, Replace, Row, Unit
from sfumato.spaces import Lattice, Numeric, Space, numeric, space_from
from sfumato.spaces.derived import Derived, entries_of, part_of, paths_of

MOST = 2**53  # units that a size may say: as far as doubles count

__all__ = ["Schema", "is_pattern", "named_after", "nearest", "schema_from", "stem"]


@dataclass(frozen=True, slots=True)
class Schema:
    """Declared, never derived: nothing in it is read off the data.

    `size` is the public number of units: exact under `Replace`, a guess for previews under
    `AddRemove`.  `dataset` is the identity that ledgers are bound to; `version` tells its states apart: without one,
    changed data is not noticed, and a stored answer is returned as it was computed.  `quoted_lines`: quotes of a text
    file may hold line ends, so that one quote left open joins the lines after it; then the promise is about the rows so
    joined.  `people` names the columns that a table of people holds, one line a person, beside that of the events; see
    `sfumato.read`.  `derived` maps names of columns that are computed from declared ones to pairs of a formula and a
    space.

    >>> from sfumato.spaces import Interval
    >>> people = Schema({"age": Interval(0, 120, step=1)}, dataset="people")
    >>> people.space("agee")
    Traceback (most recent call last):
    sfumato.errors.SchemaError: there is no column 'agee' in the schema; did you mean 'age'? Declared: age
    """

    columns: Mapping[str, Space]
    unit: Unit = field(default_factory=Row)
    adjacency: Adjacency = field(default_factory=AddRemove)
    size: int | None = None
    dataset: str = "dataset"
    version: str | None = None
    quoted_lines: bool = field(default=False, kw_only=True)
    people: tuple[str, ...] = field(default=(), kw_only=True)
    derived: Mapping[str, Derived] = field(default_factory=dict, kw_only=True)

    def __post_init__(self) -> None:
        if not isinstance(self.columns, Mapping):
            raise SchemaError("columns must map each column's name to its space, such as {'age': Interval(0, 120)}")
        object.__setattr__(self, "columns", dict(self.columns))
        if not self.columns:
            raise SchemaError("columns is empty; declare at least one column with its space")
        for name, space in self.columns.items():
            if not (isinstance(name, str) and isinstance(space, Space)) or isinstance(space, type):
                raise SchemaError(f"column {name!r} needs a space such as Interval(low, high) or Categories([...])")
            if name.startswith("\0"):  # the names of what mechanisms count beside columns
                raise SchemaError(f"the name of column {name!r:.60} begins with a zero byte; rename it")
        if isinstance(self.unit, Person) and self.unit.column in self.columns:
            raise SchemaError(f"unit column {self.unit.column!r} is an identifier; leave it out of columns")
        held = [".".join(path) for path, _ in paths_of(self.columns)]
        object.__setattr__(self, "derived", _derived(self.derived, self.held))
        named = [*held, *self.derived, *([self.unit.column] if isinstance(self.unit, Person) else [])]
        if len({name.casefold() for name in named}) < len(named):
            raise SchemaError("two columns differ in capitals only, which engines cannot tell apart; rename one")
        self._read_apart()
        if not isinstance(self.unit, Row | Person):
            raise SchemaError("unit must be Row() or Person(column, rows)")
        if not isinstance(self.adjacency, AddRemove | Replace):
            raise SchemaError("adjacency must be AddRemove() or Replace()")
        if self.size is not None and not (type(self.size) is int and 1 <= self.size <= MOST):
            raise SchemaError(f"size must be a whole number of at least 1, and at most 2^53, got {self.size!r:.40}")
        if isinstance(self.adjacency, Replace) and isinstance(self.unit, Row) and self.size is None:
            raise SchemaError("under replacement the number of rows is public: declare it as size=")
        if not isinstance(self.quoted_lines, bool):
            raise SchemaError(f"quoted_lines must be True or False, got {self.quoted_lines!r}")
        object.__setattr__(self, "people", tuple(self.people))
        if self.people and not (isinstance(self.unit, Person) and set(self.people) <= self.columns.keys()):
            raise SchemaError("people names declared columns of a table of people; it needs unit=Person(column, rows)")
        if not (isinstance(self.dataset, str) and self.dataset):
            raise SchemaError("dataset must be a name for this dataset; ledgers are bound to it")
        if self.version is not None and not (isinstance(self.version, str) and self.version):
            raise SchemaError(f"version must be a text such as '2026-01', got {self.version!r:.60}")

    def _read_apart(self) -> None:
        """Refuse columns that are read from one stored column and tell of each other: any day has any time of day."""
        held, sharing = self.held, Counter(self.paths.values())
        for name, path in self.paths.items():
            if sharing[path] > 1 and held[name].stored is None and held[name].part("month") is None:
                raise SchemaError(
                    f"of={path[-1]!r} reads a column that is declared as {type(held[name]).__name__}; "
                    "only Dates can have their time of day declared beside them"
                )
        twice = [path for path, count in sharing.items() if count > 1 + (".".join(path) in held)]
        if twice:
            raise SchemaError(f"of={twice[0][-1]!r} is said of two columns; declare the time of day once")

    @property
    def paths(self) -> dict[str, tuple[str, ...]]:
        """The columns as engines hold them, a record's fields in its place, and where each is stored."""
        return {".".join(path): (*path[:-1], space.stored or path[-1]) for path, space in paths_of(self.columns)}

    @property
    def held(self) -> dict[str, Space]:
        """The spaces of the columns as engines hold them: in the place of a record its fields, as `record.field`."""
        return {".".join(path): space for path, space in paths_of(self.columns)}

    @property
    def fixed_size(self) -> int | None:
        """The number of rows where it is public and the same for all neighbors."""
        rows_are_units = isinstance(self.unit, Row) and isinstance(self.adjacency, Replace)
        return self.size if rows_are_units else None

    def unsized(self) -> Schema:
        """The same without a declared size, where that is not public; nothing else is checked anew."""
        if self.fixed_size is not None:
            raise SchemaError("under replacement the number of rows is public: declare it as size=")
        plain = copy(self)
        object.__setattr__(plain, "size", None)
        return plain

    def space(self, column: str) -> Space:
        """The space of a column."""
        if not isinstance(column, str):
            raise SchemaError(f"a column is named by a text, got a {type(column).__name__}")
        if column in self.columns:
            return self.columns[column]
        computed = self.origin(column)
        if computed is not None:
            return computed.space
        held = self.held
        if column in held:
            return held[column]
        entry = self.entry(column)
        if entry is not None:
            whole, place = entry
            return held[whole].entry(place) or self._beyond(column, whole)
        raise unknown_column(column, [*held, *self.derived])

    def origin(self, column: str) -> Derived | None:
        """How a column is computed from declared ones: as it was declared, or as the part of a date; else None."""
        if column in self.columns or column in self.derived:
            return self.derived.get(column)
        part = part_of(column)
        if part is None:
            return None
        (function, whole), held = part, self.held
        if whole not in held:
            raise unknown_column(whole, held)
        space = held[whole].part(function)
        if space is None:
            kind = type(held[whole]).__name__
            raise UnsupportedQuery(
                f"column {whole!r} ({kind}) has no {function}; Dates have a year, quarter, month, day and weekday, a "
                "Duration and a TimeOfDay have an hour (of a column of timestamps that is declared as Dates, declare "
                f"the time of day beside it: TimeOfDay(of={whole!r}))"
            )
        return Derived(column, space)

    def entry(self, column: str) -> tuple[str, int] | None:
        """The declared array and the place in it that a name such as `x[0][2]` says; None for other columns."""
        held = self.held
        named = [] if column in held or column in self.derived else entries_of(column)
        found = next(((whole, held[whole].place(indices)) for whole, indices in named if whole in held), None)
        return None if found is None else (found[0], -1 if found[1] is None else found[1])

    def _beyond(self, column: str, whole: str) -> Space:
        """Refuse an entry that no value of the column has."""
        space = self.held[whole]
        if space.size is None:
            raise UnsupportedQuery(f"{column!r} is an entry of {whole!r} ({type(space).__name__}), which is no Box")
        last = space.named_entry(space.size - 1)
        raise UnsupportedQuery(f"there is no {column!r}: the last entry of {whole!r} is {whole}{last}")

    def sources(self, column: str) -> tuple[str, ...]:
        """The declared columns that a column is read from: itself, or those that it is computed from."""
        computed, entry = self.origin(column), self.entry(column)
        if entry is not None:
            return (entry[0],)
        return (column,) if computed is None else computed.columns

    def numbers(self, column: str) -> Numeric:
        """The space of a column, which must hold numbers."""
        space = self.space(column)
        if not numeric(space):
            fields = f"; name a field, such as {column}.{next(iter(space.fields))}" if space.fields else ""
            raise UnsupportedQuery(
                f"column {column!r} must hold numbers; it is declared as {type(space).__name__}{fields}"
            )
        return space

    def lattice(self, column: str) -> Lattice:
        """The lattice of a column, which must hold numbers."""
        return self.numbers(column).lattice

    def words(self) -> str:
        """Who is protected, in words."""
        joined = ", in a file whose quotes may join lines (the rows are those so joined)" if self.quoted_lines else ""
        lines = ", in the table of events and in that of people" if self.people else ""
        return f"{self.adjacency.words()} {self.unit.words()}{lines}{joined}"

    def doubt(self) -> str:
        """What somebody may wonder about whom the neighbors tell apart, in words."""
        return f"{self.adjacency.doubt()} {self.unit.words()}"

    def to_record(self) -> dict[str, Any]:
        """Plain values, for plans, releases and digests."""
        unit = self.unit.to_record() if isinstance(self.unit, Person) else None
        return {
            "dataset": self.dataset,
            "unit": unit,
            "adjacency": self.adjacency.name,
            "size": self.size,
            "columns": {name: space.to_record() for name, space in self.columns.items()},
        } | self._declared_besides()

    def _declared_besides(self) -> dict[str, Any]:
        """What a record holds only where it is declared, so that those of old stay as they are."""
        besides = {
            "version": self.version,
            "quoted_lines": self.quoted_lines or None,
            "people": list(self.people) or None,
            "derived": {name: computed.to_record() for name, computed in self.derived.items()} or None,
        }
        return {name: value for name, value in besides.items() if value is not None}

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> Schema:
        """The schema that `to_record` wrote."""
        adjacency = record.get("adjacency", "add-remove")
        if adjacency not in ADJACENCIES:
            raise SchemaError(f"adjacency must be one of {', '.join(ADJACENCIES)}, got {adjacency!r}")
        unit = record.get("unit")
        return cls(
            {name: space_from(dict(space), name) for name, space in record["columns"].items()},
            unit=Person.from_record(unit) if unit else Row(),
            adjacency=ADJACENCIES[adjacency],
            size=record.get("size"),
            dataset=record.get("dataset", "dataset"),
            version=record.get("version"),
            quoted_lines=record.get("quoted_lines", False),
            people=tuple(record.get("people", ())),
            derived={name: derived_from(dict(one), name) for name, one in record.get("derived", {}).items()},
        )


@lru_cache(maxsize=8)
def schema_from(text: str) -> Schema:
    """The schema that a record in JSON describes; releases of one plan have the same."""
    return Schema.from_record(json.loads(text))


def unknown_column(column: str, declared: Iterable[str]) -> SchemaError:
    """The error for a column that the schema does not declare, with the nearest that it does."""
    names = list(declared)
    near = nearest(column, names)
    hint = f"{near} Declared:" if near else "; declared are"
    return SchemaError(f"there is no column {column!r} in the schema{hint} {', '.join(names)}")


def nearest(column: str, names: Iterable[str]) -> str:
    """A hint at the name that is meant, to go on a refusal; empty where none is near.

    >>> nearest("Agee", ["age", "state"])
    "; did you mean 'age'?"
    """
    lower = {name.casefold(): name for name in names}
    near = get_close_matches(column.casefold(), lower, n=1) or [
        name for name in lower if len(column) > 2 and name.startswith(column.casefold())
    ]
    return f"; did you mean {lower[near[0]]!r}?" if near else ""


def derived_from(record: dict[str, Any], name: str) -> Derived:
    """The derived column with these fields of a plan: those of its space, and `from`."""
    formula = record.pop("from", None)
    if not isinstance(formula, str):
        raise SchemaError(f'derived column {name!r} needs from = a formula such as "kg / (m * m)"')
    return Derived(formula, space_from(record, name))


def _derived(given: object, columns: Mapping[str, Space]) -> dict[str, Derived]:
    """The derived columns, each checked as far as names go."""
    if not isinstance(given, Mapping):
        raise SchemaError(
            'derived must map names to pairs of a formula and a space: {"bmi": ("kg / m", Interval(0, 9))}'
        )
    found: dict[str, Derived] = {}
    for name, pair in given.items():
        formula, space = (pair.formula, pair.space) if isinstance(pair, Derived) else _pair(name, pair)
        if not (isinstance(name, str) and name and isinstance(space, Space)) or isinstance(space, type):
            raise SchemaError(f"derived column {name!r} needs a formula and a space such as Interval(low, high)")
        if space.form is None or space.form.listed or space.discoverable:
            raise SchemaError(
                f"derived column {name!r} is declared as {type(space).__name__}; a formula gives a number, a date, a "
                "duration or a category"
            )
        if name in columns:
            raise SchemaError(f"column {name!r} is declared and derived; choose another name for one of them")
        found[name] = Derived(formula, space)
        for column in found[name].columns:
            if column not in columns:
                raise SchemaError(f"derived column {name!r}: {unknown_column(column, columns)}")
    return found


def _pair(name: object, pair: object) -> tuple[Any, Any]:
    if not isinstance(pair, list | tuple) or len(pair) != 2:
        raise SchemaError(f'derived column {name!r} needs a pair of a formula and a space: ("kg / m", Interval(0, 9))')
    return pair[0], pair[1]


def stem(file: Path) -> str:
    """A file's name without its endings.

    >>> stem(Path("people.csv.gz")), stem(Path("people.2020.parquet"))
    ('people', 'people.2020')
    """
    return Path(file.stem).stem if file.suffix.lower() == ".gz" else file.stem


def is_pattern(file: Path) -> bool:
    """Whether a path may name several files, such as months/*.parquet."""
    return "*" in str(file)


def named_after(file: Path) -> str:
    """The dataset that a file is, where nothing else is declared; people.2020.csv and people.2021.csv are not one."""
    if is_pattern(file):
        raise SchemaError(
            f"{file.name!r:.200} names several files, so that their name is no dataset's: say dataset = ..."
        )
    name, first = stem(file), file.name.split(".")[0]  # version 0.2.0 took the first part for all
    if name != first:
        raise SchemaError(
            f"the name of {file.name!r:.200} has dots of its own, so that it is not clear which dataset it is: say "
            f"dataset = {name!r:.200}"
            + (f" (or {first!r:.200}, where a ledger of version 0.2.0 is bound to that name)" if first else "")
        )
    return name
