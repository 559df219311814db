"""Names in SQL that are public: the table's, those of its columns, and of the parts of their dates."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from sqlglot import exp

from sfumato.errors import SchemaError, UnsupportedQuery
from sfumato.privacy.adjacency import Person
from sfumato.spaces.derived import PARTS, part_name
from sfumato.spaces.schema import Schema, unknown_column
from sfumato.sql.reading import ONE_TABLE, Tree

__all__ = ["Columns", "columns_of_table", "shown"]

NAMED: dict[type[Tree], str] = {
    exp.Year: "year",
    exp.Quarter: "quarter",
    exp.Month: "month",
    exp.Day: "day",
    exp.DayOfMonth: "day",
    exp.Hour: "hour",
    exp.DayOfWeekIso: "weekday",
}
SPELLED = {"isodow": "weekday", **{part: part for part in PARTS if part != "weekday"}}
WEEKDAYS = "days of the week are counted from Monday, 1, to Sunday, 7: isodow(day), or extract(isodow FROM day)"
LONGEST = 60  # characters of a name in a refusal


@dataclass(frozen=True, slots=True)
class Columns:
    """The columns of one table, and the words that may stand before them."""

    schema: Schema
    prefixes: tuple[str, ...]  # without capitals

    def of(self, tree: Tree) -> str | None:
        """The column, or the part of a date, that a tree names; None if it is something else."""
        part = _part(tree)
        if part is not None:
            function, inner = part
            column = self.of(inner)
            return None if column is None else part_name(function, column)
        if not isinstance(tree, exp.Column | exp.Dot) or not all(isinstance(one, exp.Identifier) for one in tree.parts):
            return None
        words = [one.name for one in tree.parts]
        if len(words) > 1 and words[0].casefold() in self.prefixes and not self.known(".".join(words)):
            words = words[1:]
        return self._named(".".join(words), tree.parts[-1].args.get("quoted") is True)

    def examples(self) -> list[str]:
        """Conditions on this table's own columns."""
        spaces = {name: self.schema.space(name) for name in self.schema.held}
        numbers = [(name, space.to_record()) for name, space in spaces.items() if "low" in space.to_record()]
        labeled = [(name, space.labels) for name, space in spaces.items() if space.labels]
        texts = [(name, labels) for name, labels in labeled if all(isinstance(one, str) for one in labels)]
        found = []
        for name, record in numbers[:1]:
            low, high = (exp.convert(record[end]).sql() for end in ("low", "high"))
            found += [f"{shown(name)} >= {low}", f"{shown(name)} BETWEEN {low} AND {high}"]
        for name, labels in texts[:1]:
            found += [f"{shown(name)} IN ({', '.join(exp.convert(one).sql() for one in labels[:2])})"]
        return [*found, *(f"{shown(name)} IS NOT NULL" for name in list(spaces)[:1])]

    def identifies(self, tree: Tree) -> bool:
        """Whether a tree names the column that tells people apart, which no question reads."""
        unit = self.schema.unit
        if not isinstance(tree, exp.Column) or not isinstance(unit, Person):
            return False
        before = [one.name.casefold() for one in tree.parts[:-1]]
        return tree.name.casefold() == unit.column.casefold() and (not before or before == [self.prefixes[0]])

    def known(self, name: str) -> str | None:
        """The declared name, whatever its capitals."""
        lower = {one.casefold(): one for one in (*self.schema.columns, *self.schema.held, *self.schema.derived)}
        return lower.get(name.casefold())

    def _named(self, name: str, quoted_here: bool = False) -> str:
        found = self.known(name)
        if found is not None:
            return found
        if self.schema.entry(name) is not None:
            self.schema.space(name)  # refuses an entry that no value has
            return name
        unit = self.schema.unit
        if isinstance(unit, Person) and name.casefold() == unit.column.casefold():
            raise UnsupportedQuery(
                f"{unit.column!r} tells people apart, so that no question reads it; count(DISTINCT {unit.column}) "
                "counts people"
            )
        declared = [*self.schema.held, *self.schema.derived]
        quoted = [shown(one) for one in declared if shown(one) != one]
        advice = f"; names such as {quoted[0]} stand between double quotes" if quoted else ""
        if quoted_here:
            advice = f"; a text stands between single quotes: {exp.convert(name[:LONGEST]).sql()}"
        raise SchemaError(f"{unknown_column(name[:LONGEST], declared)}{advice}")


def columns_of_table(tree: exp.Select, schema: Schema, names: Iterable[str]) -> Columns:
    """The columns of the table after FROM, which must be one of these names."""
    source = tree.args.get("from_")
    known = tuple(dict.fromkeys(names))
    if source is None:
        raise UnsupportedQuery(f"the SQL says of no table; add FROM {shown(known[0])}")
    table = source.this
    if not isinstance(table, exp.Table) or not isinstance(table.this, exp.Identifier):
        raise UnsupportedQuery(f"FROM takes the table's name alone: FROM {shown(known[0])}; {ONE_TABLE}")
    besides = [part for part, held in table.args.items() if held and part not in ("this", "db", "alias")]
    alias = table.args.get("alias")
    if besides or (alias is not None and alias.args.get("columns")):
        raise UnsupportedQuery(f"FROM takes the table's name alone: FROM {shown(known[0])}")
    called = ".".join(part.name for part in table.parts)
    if called.casefold() not in {name.casefold() for name in known}:
        raise SchemaError(f"there is no table {called[:LONGEST]!r}; write FROM {shown(known[0])}")
    prefix = table.name if alias is None or not alias.name else alias.name
    return Columns(schema, (prefix.casefold(),))


def shown(name: str) -> str:
    """A name as SQL writes it."""
    return name if name.isidentifier() and name.isascii() else exp.to_identifier(name, quoted=True).sql()


def _part(tree: Tree) -> tuple[str, Tree] | None:
    """The part of a date that a tree asks for, and of what."""
    if type(tree) in NAMED and isinstance(tree.this, exp.Expr):
        return NAMED[type(tree)], tree.this
    if isinstance(tree, exp.Extract):
        return _spelled(tree.this.name), tree.expression
    if isinstance(tree, exp.Anonymous) and tree.name.lower() == "date_part" and len(tree.expressions) == 2:
        return _spelled(tree.expressions[0].name), tree.expressions[1]
    if isinstance(tree, exp.DayOfWeek) or (isinstance(tree, exp.Anonymous) and tree.name.lower() == "weekday"):
        raise UnsupportedQuery(f"DAYOFWEEK and WEEKDAY are not supported; {WEEKDAYS}")
    return None


def _spelled(word: str) -> str:
    found = SPELLED.get(word.lower())
    if found is None:
        about = WEEKDAYS if "dow" in word.lower() or "week" in word.lower() else f"known are {', '.join(SPELLED)}"
        raise UnsupportedQuery(f"the part {word[:LONGEST]!r} of a date is not supported; {about}")
    return found
