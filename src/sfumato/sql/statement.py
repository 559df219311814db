"""One SELECT as the questions that it asks, each with its name; nothing of the text ever reaches an engine."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from sqlglot import exp

from sfumato.errors import UnsupportedQuery
from sfumato.queries import Query, count, items, quantiles, top
from sfumato.queries.linear.doors import crosstab
from sfumato.queries.names import keys as names_of
from sfumato.records import canonical
from sfumato.spaces.schema import Schema
from sfumato.sql.aggregates import aggregate, is_aggregate, narrowed
from sfumato.sql.columns import Columns, columns_of_table
from sfumato.sql.conditions import number
from sfumato.sql.keys import FOUND, Key, key
from sfumato.sql.reading import AGGREGATED, Tree, select

__all__ = ["Asked", "asked"]

LARGEST = (
    "the k most frequent values of one column: SELECT hobby, count(*) FROM ... GROUP BY hobby ORDER BY 2 DESC LIMIT 3"
)
SORTED = "rows are released in the declared order; sort what is released, which costs nothing.  Asked can be " + LARGEST
CHOSEN = "the most frequent are chosen privately, in order; their counts are shown where the choice measured them"
BY_COUNT = "deviations and variances are divided by the count, not by the count less one"
PRESENT = "sums and weights are over the rows that have all columns of the quotient"
READ_AS: dict[type[Tree], str] = {
    exp.Stddev: BY_COUNT,
    exp.StddevSamp: BY_COUNT,
    exp.Variance: BY_COUNT,
    exp.ApproxTopK: CHOSEN,
    exp.Mode: CHOSEN,
}
MOST = 20  # questions of one statement


@dataclass(frozen=True, slots=True)
class Asked:
    """One question of a statement, the name that its alias gives it, and what is to be known of how it was read."""

    query: Query
    name: str | None = None
    notes: tuple[str, ...] = ()


def asked(text: str, schema: Schema, *tables: str) -> tuple[Asked, ...]:
    """The questions that a SELECT asks about a table with this schema, called by its dataset's name or one of `tables`.

    >>> from sfumato.spaces import Categories, Interval
    >>> people = Schema({"age": Interval(0, 120, step=1), "state": Categories(["CA", "NY"])}, dataset="people")
    >>> found = asked("SELECT state, count(*) AS adults, avg(age) FROM people WHERE age >= 18 GROUP BY state", people)
    >>> [(one.name, one.query.name) for one in found]
    [('adults', 'count by state where age >= 18'), (None, 'mean of age by state where age >= 18')]
    """
    try:
        tree = select(text)
        columns = columns_of_table(tree, schema, (schema.dataset, *tables))
        return _Reader(tree, columns).asked()
    except RecursionError:
        raise UnsupportedQuery("the SQL nests too deeply; split the question") from None


class _Reader:
    """The parts of one SELECT."""

    def __init__(self, tree: exp.Select, columns: Columns) -> None:
        self.columns, self.tree = columns, tree
        self.outputs: list[tuple[Tree, str | None]] = [
            (one.this, one.alias) if isinstance(one, exp.Alias) else (one, None) for one in tree.expressions
        ]
        self.measured = [(one, alias) for one, alias in self.outputs if is_aggregate(one)]
        self.cube = False
        self.keys = self._keys()

    def asked(self) -> tuple[Asked, ...]:
        """The questions, like ones joined."""
        self._must_show_keys()
        if self.tree.args.get("limit") is not None:
            return (self._largest(),)
        if self.tree.args.get("order") is not None:
            raise UnsupportedQuery(f"ORDER BY without LIMIT is not supported; {SORTED}")
        if self.tree.args.get("distinct") is not None or not self.measured:
            return (self._names(),)
        found = _joined(
            (question := self._question(one), alias, self._notes(one, question)) for one, alias in self.measured
        )
        if len(found) > MOST:
            raise UnsupportedQuery(
                f"the SQL asks {len(found)} questions at once, at most {MOST} are possible; ask for fewer"
            )
        names = [one.name for one in found if one.name is not None]
        if len(set(names)) < len(names):
            raise UnsupportedQuery("an alias is given twice; name each answer once")
        return found

    def _keys(self) -> list[Key]:
        """What the statement groups by."""
        group = self.tree.args.get("group")
        if group is None:
            return []
        besides = [name for name, held in group.args.items() if held and name not in ("expressions", "cube", "all")]
        if besides:
            raise UnsupportedQuery(
                f"GROUP BY {besides[0].upper()} is not supported; GROUP BY CUBE (a, b) gives all sums"
            )
        trees = list(group.expressions)
        if group.args.get("all"):
            trees = [one for one, _ in self.outputs if not is_aggregate(one)]
        cubes = group.args.get("cube") or []
        if cubes:
            if trees or len(cubes) > 1 or not isinstance(cubes[0], exp.Cube):
                raise UnsupportedQuery("GROUP BY takes one CUBE and nothing beside it: GROUP BY CUBE (state, sex)")
            self.cube, trees = True, list(cubes[0].expressions)
        return [key(tree if self._is_column(tree) else self._meant(tree), self.columns) for tree in trees]

    def _is_column(self, tree: Tree) -> bool:
        """Whether a word names a column: after GROUP BY that comes before an alias of the same name."""
        return isinstance(tree, exp.Column) and len(tree.parts) == 1 and self.columns.known(tree.name) is not None

    def _meant(self, tree: Tree) -> Tree:
        """What a place in the list after SELECT, or an alias, stands for."""
        place = number(tree)
        if place is not None:
            if not isinstance(place, int) or not 1 <= place <= len(self.outputs):
                raise UnsupportedQuery(f"{place} is no place in the list after SELECT, which has {len(self.outputs)}")
            return self.outputs[place - 1][0]
        if isinstance(tree, exp.Column) and len(tree.parts) == 1:
            for one, alias in self.outputs:
                if alias is not None and alias.casefold() == tree.name.casefold():
                    return one
        return tree

    def _must_show_keys(self) -> None:
        """Refuse outputs that are neither aggregates nor keys."""
        distinct = self.tree.args.get("distinct")
        if distinct is not None and (distinct.args.get("on") or self.measured or self.keys or len(self.outputs) != 1):
            raise UnsupportedQuery(
                "DISTINCT is not supported; GROUP BY shows groups, and count(DISTINCT visitor) counts people"
            )
        for one, _ in self.outputs:
            if is_aggregate(one) or distinct is not None:
                continue
            if key(one, self.columns) not in self.keys:
                raise UnsupportedQuery(
                    "rows are not shown: what stands after SELECT is a key of GROUP BY or an aggregate; " + AGGREGATED
                )

    def _question(self, tree: Tree) -> Query:
        """One aggregate over the statement's rows and groups."""
        question = self._narrowed(aggregate(tree, self.columns))
        plain = [one.grouping for one in self.keys if one.grouping is not None]
        sets = [one.column for one in self.keys if one.grouping is None]
        if self.cube:
            if question != self._narrowed(count()) or sets:
                raise UnsupportedQuery("GROUP BY CUBE is supported for count(*) alone")
            return replace(crosstab(*plain), condition=question.condition)
        if not sets:
            return question.by(*plain)
        if len(sets) > 1 or question != self._narrowed(count()):
            raise UnsupportedQuery("the items of sets are counted: SELECT unnest(hobbies), count(*) ... GROUP BY 1")
        return replace(items(sets[0]), condition=question.condition).by(*plain)

    def _narrowed(self, question: Query) -> Query:
        where = self.tree.args.get("where")
        return question if where is None else narrowed(question, where.this, self.columns)

    def _largest(self) -> Asked:
        """The most frequent values of one key."""
        k, order = number(self.tree.args["limit"].expression), self.tree.args.get("order")
        plain = [self._narrowed(aggregate(one, self.columns)) for one, _ in self.measured]
        by_count = order is not None and len(order.expressions) == 1 and order.expressions[0].args.get("desc")
        if not by_count or len(self.keys) != 1 or self.cube or any(one != self._narrowed(count()) for one in plain):
            raise UnsupportedQuery(f"LIMIT is supported for {LARGEST}; all other groups are released")
        ordered = self._meant(order.expressions[0].this)  # type: ignore[union-attr]
        if not is_aggregate(ordered) or self._narrowed(aggregate(ordered, self.columns)) != self._narrowed(count()):
            raise UnsupportedQuery(f"LIMIT is supported for {LARGEST}; all other groups are released")
        (only,) = self.keys
        if not isinstance(k, int) or not only.plain:
            raise UnsupportedQuery(f"LIMIT is supported for {LARGEST}, a column of categories or the items of sets")
        alias = next((alias for _, alias in self.measured if alias is not None), None)
        return Asked(self._narrowed(top(only.column, k)), alias, (CHOSEN,))

    def _names(self) -> Asked:
        """The values of a column of texts that enough units hold."""
        kept = self.keys or [key(one, self.columns) for one, _ in self.outputs]
        if len(kept) != 1 or not kept[0].found:
            raise UnsupportedQuery(
                "the SQL asks for no aggregate; groups of declared columns are public, so ask something of them: "
                "SELECT state, count(*) FROM ... GROUP BY state"
            )
        alias = next((alias for _, alias in self.outputs if alias is not None), None)
        return Asked(self._narrowed(names_of(kept[0].column)), alias, (FOUND,))

    def _notes(self, tree: Tree, question: Query) -> tuple[str, ...]:
        """What is to be known of how an aggregate and the keys were read."""
        kinds = {type(node) for node in tree.walk()}
        notes = [*(one.note for one in self.keys), *(note for kind, note in READ_AS.items() if kind in kinds)]
        if question.details.to_record().keys() & {"numerator", "weight"}:
            notes.append(PRESENT)
        return tuple(dict.fromkeys(note for note in notes if note is not None))


def _joined(found: Iterable[tuple[Query, str | None, tuple[str, ...]]]) -> tuple[Asked, ...]:
    """Each question once, and quantiles of one column as one question, which errs less than several."""
    held: dict[bytes, list[tuple[Query, str | None, tuple[str, ...]]]] = {}
    for one in found:
        record = {name: part for name, part in one[0].to_record().items() if name != "probabilities"}
        held.setdefault(canonical(record), []).append(one)
    return tuple(_one(same) for same in held.values())


def _one(same: list[tuple[Query, str | None, tuple[str, ...]]]) -> Asked:
    """Questions that are the same but for their probabilities, as one."""
    question, notes = same[0][0], tuple(dict.fromkeys(note for _, _, each in same for note in each))
    aliases = list(dict.fromkeys(alias for _, alias, _ in same if alias is not None))
    places = sorted({float(at) for one, _, _ in same for at in one.to_record().get("probabilities", ())})
    if places:
        question = replace(question, details=quantiles(str(question.column), places).details)
    return Asked(question, ", ".join(aliases) or None, notes)
