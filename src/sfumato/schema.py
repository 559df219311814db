"""What is public about a table: a space per column, who is protected, and under which relation."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from sfumato.errors import SchemaError
from sfumato.privacy.adjacency import ADJACENCIES, AddRemove, Adjacency, Person, Replace, Row, Unit
from sfumato.spaces import Space, space_from

__all__ = ["Schema", "named_after", "stem"]


@dataclass(frozen=True, slots=True)
class Schema:
    """Declared, never derived: nothing in it is read off the data.

    `size` is the public number of units: exact under `Replace`, a guess for previews under
    `AddRemove`.  `dataset` is the identity that ledgers are bound to; `version` tells its states apart: without one,
    changed data is not noticed, and a stored answer is returned as it was computed.  `quoted_lines`: quotes of a text
    file may hold line ends, so that one quote left open joins the lines after it; then the promise is about the rows so
    joined.

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

    def __post_init__(self) -> None:
        if not isinstance(self.columns, Mapping):
            raise SchemaError("columns must map each column's name to its space, such as {'age': Interval(0, 120)}")
        object.__setattr__(self, "columns", dict(self.columns))
        if not self.columns:
            raise SchemaError("columns is empty; declare at least one column with its space")
        for name, space in self.columns.items():
            if not (isinstance(name, str) and hasattr(space, "coerce")) or isinstance(space, type):
                raise SchemaError(f"column {name!r} needs a space such as Interval(low, high) or Categories([...])")
        if isinstance(self.unit, Person) and self.unit.column in self.columns:
            raise SchemaError(f"unit column {self.unit.column!r} is an identifier; leave it out of columns")
        named = [*self.columns, *([self.unit.column] if isinstance(self.unit, Person) else [])]
        if len({name.casefold() for name in named}) < len(named):
            raise SchemaError("two columns differ in capitals only, which engines cannot tell apart; rename one")
        if not isinstance(self.unit, Row | Person):
            raise SchemaError("unit must be Row() or Person(column, rows)")
        if not isinstance(self.adjacency, AddRemove | Replace):
            raise SchemaError("adjacency must be AddRemove() or Replace()")
        if self.size is not None and (isinstance(self.size, bool) or not isinstance(self.size, int) or self.size < 1):
            raise SchemaError(f"size must be a whole number of at least 1, got {self.size!r}")
        if isinstance(self.adjacency, Replace) and isinstance(self.unit, Row) and self.size is None:
            raise SchemaError("under replacement the number of rows is public: declare it as size=")
        if not isinstance(self.quoted_lines, bool):
            raise SchemaError(f"quoted_lines must be True or False, got {self.quoted_lines!r}")
        if not (isinstance(self.dataset, str) and self.dataset):
            raise SchemaError("dataset must be a name for this dataset; ledgers are bound to it")
        if self.version is not None and not (isinstance(self.version, str) and self.version):
            raise SchemaError(f"version must be a text such as '2026-01', got {self.version!r:.60}")

    @property
    def fixed_size(self) -> int | None:
        """The number of rows where it is public and the same for all neighbors."""
        rows_are_units = isinstance(self.unit, Row) and isinstance(self.adjacency, Replace)
        return self.size if rows_are_units else None

    def space(self, column: str) -> Space:
        """The space of a column."""
        if not isinstance(column, str):
            raise SchemaError(f"a column is named by a text, got a {type(column).__name__}")
        if column in self.columns:
            return self.columns[column]
        near = get_close_matches(column, self.columns, n=1)
        hint = f"did you mean {near[0]!r}? Declared:" if near else "declared are"
        raise SchemaError(f"there is no column {column!r} in the schema; {hint} {', '.join(self.columns)}")

    def words(self) -> str:
        """Who is protected, in words."""
        joined = ", in a file whose quotes may join lines (the rows are those so joined)" if self.quoted_lines else ""
        return f"{self.adjacency.words()} {self.unit.words()}{joined}"

    def to_record(self) -> dict[str, Any]:
        """Plain values, for plans, releases and digests."""
        unit = {"column": self.unit.column, "rows": self.unit.rows} if isinstance(self.unit, Person) else None
        return {
            "dataset": self.dataset,
            "unit": unit,
            "adjacency": self.adjacency.name,
            "size": self.size,
            "columns": {name: space.to_record() for name, space in self.columns.items()},
        } | self._declared_besides()

    def _declared_besides(self) -> dict[str, Any]:
        """What a record holds only where it is declared, so that those of old stay as they are."""
        besides = {"version": self.version, "quoted_lines": self.quoted_lines or None}
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
            unit=Person(unit["column"], unit["rows"]) if unit else Row(),
            adjacency=ADJACENCIES[adjacency],
            size=record.get("size"),
            dataset=record.get("dataset", "dataset"),
            version=record.get("version"),
            quoted_lines=record.get("quoted_lines", False),
        )


def stem(file: Path) -> str:
    """A file's name without its endings.

    >>> stem(Path("people.csv.gz")), stem(Path("people.2020.parquet"))
    ('people', 'people.2020')
    """
    return Path(file.stem).stem if file.suffix.lower() == ".gz" else file.stem


def named_after(file: Path) -> str:
    """The dataset that a file is, where nothing else is declared; people.2020.csv and people.2021.csv are not one."""
    name, first = stem(file), file.name.split(".")[0]  # version 0.2.0 took the first part for all
    if name != first:
        raise SchemaError(
            f"the name of {file.name!r:.200} has dots of its own, so that it is not clear which dataset it is: say "
            f"dataset = {name!r:.200}"
            + (f" (or {first!r:.200}, where a ledger of version 0.2.0 is bound to that name)" if first else "")
        )
    return name
