"""Public rules that every row of a synthetic table keeps: conditions, columns that are computed, and made-up keys.

A rule is a text of the language of conditions and formulas.  `total == a + b`, a column that equals a formula over
others, says how the column is computed: to the nearest value that it can take.  `unique(id)` numbers the rows.  Every
other rule is a condition on a row, such as `start <= end`, and holds where a value that it needs is missing.

Rules are part of the question and never tested against the data: what is computed or numbered is not read at all.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sfumato import arguments
from sfumato.errors import SchemaError, UnsupportedQuery
from sfumato.queries.conditions import Condition, Test
from sfumato.queries.evaluation import Made, indexed
from sfumato.queries.formulas import NUMBER, TRUTH, Term, dates_in, sort_of, term_of
from sfumato.queries.predicates import Predicate
from sfumato.spaces import numeric
from sfumato.spaces.derived import columns_in, named
from sfumato.spaces.grammar import Tree, parsed
from sfumato.spaces.schema import Schema, nearest

__all__ = ["Rules", "given_of", "rules_of"]

MOST_RULES = 100
NOTHING, TRUTHS = ("null", "none"), ("true", "false")  # words of the language, unless a column has the name

Whole = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Rule:
    """A condition that a row keeps or breaks, or the formula of the column `name`; and the columns that it reads."""

    text: str
    term: Term
    columns: tuple[str, ...]
    name: str = ""


@dataclass(frozen=True, slots=True)
class Rules:
    """Rules bound to a schema; `computed` in an order in which each needs only those before it."""

    schema: Schema
    texts: tuple[str, ...] = ()
    conditions: tuple[Rule, ...] = ()
    computed: tuple[Rule, ...] = ()
    keys: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.texts)

    @property
    def made(self) -> tuple[str, ...]:
        """The columns that are computed or numbered, not read."""
        return (*(one.name for one in self.computed), *self.keys)

    def sources(self, columns: Sequence[str]) -> tuple[str, ...]:
        """The columns that are read, behind these; behind keys there are none."""
        found = dict.fromkeys(name for name in columns if name not in self.keys)
        for one in reversed(self.computed):
            if one.name in found:
                del found[one.name]
                found |= dict.fromkeys(one.columns)
        return tuple(found)

    def completed(self, rows: Mapping[str, Whole]) -> tuple[dict[str, Whole], Flags]:
        """The rows with the columns that are computed, and where these are as computed, not clipped."""
        held = dict(rows)
        fits = np.ones(len(next(iter(rows.values()))), dtype=bool)
        for one in self.computed:
            held[one.name], fit = indexed(Made(self.schema, held), one.term, self.schema.space(one.name))
            fits &= fit
        return held, fits

    def hold(self, rows: Mapping[str, Whole]) -> Flags:
        """Which rows keep all of the rules."""
        held, kept = self.completed(rows)
        made = Made(self.schema, held, leaves_open=True)
        for rule in self.conditions:
            kept &= ~made.truth(rule.term).no
        return kept

    @property
    def room(self) -> int | None:
        """How many rows keys have numbers for; None without keys."""
        return min((self.schema.lattice(name).width + 1 for name in self.keys), default=None)

    def numbered(self, count: int, after: int = 0) -> dict[str, Whole]:
        """The keys of so many rows, from the one after the first `after`."""
        return {name: np.arange(after, after + count) for name in self.keys}

    def parts(self) -> Iterator[tuple[Rules, tuple[str, ...]]]:
        """Rules that share no column with the rest, each part with the columns that are read for it."""
        groups: list[set[str]] = []
        for one in (*self.conditions, *self.computed):
            columns = set(self.sources(one.columns))
            apart = [group for group in groups if not group & columns]
            groups = [*apart, columns.union(*(group for group in groups if group & columns))]
        for group in groups:
            conditions = tuple(one for one in self.conditions if group & set(self.sources(one.columns)))
            computed = tuple(one for one in self.computed if group & set(self.sources(one.columns)))
            texts = tuple(one.text for one in (*conditions, *computed))
            yield Rules(self.schema, texts, conditions, computed), tuple(sorted(group))

    def constants(self, column: str) -> list[int]:
        """Indices of a column that the rules speak of: ends of what is tested."""
        space = self.schema.space(column)
        if not numeric(space):
            return []
        ends = {end for test in self.tests(column) for end in (test.box() or {}).get(column, ())}
        return sorted(end - space.lattice.low for end in ends if space.lattice.low <= end <= space.lattice.high)

    def tests(self, column: str) -> list[Test]:
        """The tests of a column."""
        terms = [one.term for one in (*self.conditions, *self.computed)]
        tests = (test for term in terms for condition in term.conditions() for test in condition.tests())
        return [test for test in tests if test.column == column]


def rules_of(texts: Sequence[str], schema: Schema, names: Sequence[str]) -> Rules:
    """The rules that the texts describe, about columns with these names; whatever is wrong with them is found here."""
    if len(texts) > MOST_RULES:
        raise SchemaError(f"keep takes at most {MOST_RULES} rules, got {len(texts)}; join some by and")
    trees = [(text, tree) for text in texts for tree in _joined(parsed(text, "rule"))]
    keys = tuple(dict.fromkeys(_key(tree, text, schema, names) for text, tree in trees if _is_key(tree)))
    plain = [name for name in names if name not in keys]
    conditions: list[Rule] = []
    computed: dict[str, Rule] = {}
    for text, tree in trees:
        if _is_key(tree):
            continue
        columns = _columns(tree, text, schema, plain, keys)
        defined = next(_definitions(tree), None)
        if (
            defined is None
            or sort_of(schema.space(defined[0])) != (term := term_of(schema, defined[1], text, "rule")).sort
        ):
            conditions.append(Rule(text, _condition(schema, tree, text, "rule"), columns))
            continue
        name = defined[0]
        if name in computed:
            raise SchemaError(
                f"column {name!r} is computed by two rules, {computed[name].text!r} and {text!r}; keep one"
            )
        _must_be_labels(term, schema, name, text)
        _must_be_of_its_kind(term, schema, name, text)
        computed[name] = Rule(text, term, tuple(one for one in columns if one != name), name)
    return Rules(schema, tuple(texts), tuple(conditions), _ordered(computed), keys)


def given_of(given: str | Predicate, rules: Rules, names: Sequence[str]) -> Term:
    """A condition on made rows, as a text or built by `col`, about columns with these names."""
    if not isinstance(given, str):
        arguments.instance("given", given, Condition, 'a condition such as "age >= 60" or col("age") >= 60')
        bound = given.bind(rules.schema)
        _must_be_plain(
            [test.column for test in bound.tests()], given.words(), rules.schema, names, rules.keys, "condition"
        )
        return Term("condition", TRUTH, value=bound)
    tree = parsed(given, "condition")
    _columns(tree, given, rules.schema, names, rules.keys, "condition")
    return _condition(rules.schema, tree, given, "condition")


def _must_be_labels(term: Term, schema: Schema, name: str, text: str) -> None:
    """Refuse a category that a formula gives and its column does not have: rows with it could not be made."""
    space = schema.space(name)
    for part in term.parts[1:] if term.operation == "if" else ():
        _must_be_labels(part, schema, name, text)
    if term.operation == "constant" and space.labels is not None and space.coerce(term.value) is None:
        raise SchemaError(
            f"the rule {text!r:.200} gives {term.value!r:.80}, which is no category of column {name!r}; declare it or "
            "write another"
        )


def _must_be_of_its_kind(term: Term, schema: Schema, name: str, text: str) -> None:
    """Refuse a date that is given to a column of numbers, and a number that is given to a column of dates."""
    given, wanted = dates_in(term, schema), dates_in(Term("number", NUMBER, value=name), schema)
    if numeric(schema.space(name)) and given not in (None, wanted):
        kinds = ("a date", "a number") if wanted else ("a number", "a date")
        raise SchemaError(
            f"the rule {text!r:.200} computes {name!r}, which is {kinds[0]}, from what is {kinds[1]}; dates differ by "
            "days (end - start), and have parts such as year(start)"
        )


def _condition(schema: Schema, tree: Tree, text: str, kind: str) -> Term:
    """The condition that a tree is; what is a number or a text is refused."""
    term = term_of(schema, tree, text, kind)
    if term.sort != TRUTH:
        raise SchemaError(f"the {kind} {text!r:.200} is {term.sort}; write a condition such as start <= end")
    return term


def _joined(tree: Tree) -> tuple[Tree, ...]:
    """The rules that `and` joins to one."""
    return tuple(one for part in tree.parts for one in _joined(part)) if tree.function == "and" else (tree,)


def _is_key(tree: Tree) -> bool:
    return tree.function == "unique"


def _key(tree: Tree, text: str, schema: Schema, names: Sequence[str]) -> str:
    """The column that is numbered."""
    column = tree.parts[0].bare if len(tree.parts) == 1 else None
    if column is None:
        raise SchemaError(f"the rule {text!r:.200} is written unique(id), id a column of the synthetic table")
    if column not in names:
        raise SchemaError(f"the rule {text!r:.200} numbers {column!r}, which {_absent(column, schema, names)}")
    if not numeric(schema.space(column)):
        raise UnsupportedQuery(f"the rule {text!r:.200} needs a column of numbers, which count the rows")
    return column


def _definitions(tree: Tree) -> Iterator[tuple[str, Tree]]:
    """A column and the formula over others that it equals, either side first."""
    if tree.function == "==":
        for one, other in (tree.parts, tree.parts[::-1]):
            inside = [
                name for name in columns_in(other) if name != other.bare or name.lower() not in (*NOTHING, *TRUTHS)
            ]
            if one.bare is not None and inside and one.bare not in inside:
                yield one.bare, other


def _columns(
    tree: Tree, text: str, schema: Schema, names: Sequence[str], keys: Sequence[str], kind: str = "rule"
) -> tuple[str, ...]:
    """The columns that a rule names, all of them plain ones of the table."""
    found = tuple(name for name in columns_in(tree) if name in names or name.lower() not in TRUTHS)
    _must_be_plain(found, text, schema, names, keys, kind)
    if not found:
        raise SchemaError(f"the {kind} {text!r:.200} names no column; write one such as start <= end")
    return found


def _must_be_plain(
    found: Sequence[str], text: str, schema: Schema, names: Sequence[str], keys: Sequence[str], kind: str
) -> None:
    """Refuse columns that rules and conditions on made rows cannot be about."""
    for name in found:
        if name not in names and name.lower() in NOTHING:
            raise SchemaError(f"the {kind} {text!r:.200} compares with {name}; missing values are found by: a is null")
        if name not in names and schema.entry(name) is not None:
            raise UnsupportedQuery(
                f"the {kind} {text!r:.200} names {name!r}, an entry of an array; it can be about numbers, dates and "
                "categories that are columns of their own"
            )
        if name in keys:
            raise UnsupportedQuery(f"the {kind} {text!r:.200} names {name!r}, whose numbers are made up; leave it out")
        if name not in names:
            quoted = f"; a text stands between quotes: {named(name)} as '{name}'"
            raise SchemaError(f"the {kind} {text!r:.200} names {name!r}, which {_absent(name, schema, names, quoted)}")
        space = schema.space(name)
        if space.labels is None and not numeric(space):
            raise UnsupportedQuery(
                f"the {kind} {text!r:.200} names {name!r} ({type(space).__name__}); it can be about numbers, dates and "
                "categories"
            )


def _absent(name: str, schema: Schema, names: Sequence[str], otherwise: str = "") -> str:
    """That a name is no column of the table, and what may be meant."""
    left_out = "; the real table has it, but it is not among the columns that are made" if name in schema.held else ""
    return f"is no column of the synthetic table{left_out or nearest(name, names) or otherwise}"


def _ordered(computed: Mapping[str, Rule]) -> tuple[Rule, ...]:
    """Each after those that it needs."""
    left, found = dict(computed), []
    while left:
        ready = [name for name, one in left.items() if not left.keys() & set(one.columns)]
        if not ready:
            texts = ", ".join(repr(one.text) for one in left.values())
            raise SchemaError(f"the rules {texts} compute columns from one another in a circle; drop one of them")
        found += [left.pop(name) for name in ready]
    return tuple(found)
