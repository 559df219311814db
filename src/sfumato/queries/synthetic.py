"""A synthetic table as a question: which columns and how many rows; its answer is a secret view of those columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

import numpy as np
import numpy.typing as npt

from sfumato import arguments
from sfumato.answers.rows import RowsAnswer
from sfumato.answers.statements import Accuracy, NotStated
from sfumato.errors import ParameterError, SchemaError, UnsupportedQuery
from sfumato.privacy.adjacency import Person
from sfumato.queries.cuts import Cuts, must_be_numbers
from sfumato.queries.encoding import STAND_INS, Column, encoded, known_texts
from sfumato.queries.goals import Goal, goals_of
from sfumato.queries.mending import possible
from sfumato.queries.parts import Parts, parts_of
from sfumato.queries.query import Query
from sfumato.queries.question import Known, Source
from sfumato.queries.rules import Rules, rules_of
from sfumato.queries.view import SecretView
from sfumato.queries.whole import WholeTable, must_be_whole, names_from, shown_names
from sfumato.queries.wishes import cuts_of, keep_of, must_be_persons, must_have_keys, person_of, weights_of, workload_of
from sfumato.spaces.schema import Schema, nearest

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["Synthetic", "SyntheticRows", "synthetic"]

MOST_ROWS = 10_000_000
MOST_VALUES = 100_000_000  # of all rows and columns together: 800 MB while they are made
GOOD_FOR = ("both", "smooth", "marginals")
DEFAULT = "marginals"  # of questions asked today
UNSAID = "both"  # what a record means that does not say: the default of 1.0.0rc1, which stored questions rest on
FEWEST_NUMBERS = 3  # columns of numbers from which on moments are measured
GUESSED = 10_000  # rows that predictions suppose where no size is declared
UNKNOWN = "not stated: how far the rows will be from the table depends on the table"


@dataclass(frozen=True, slots=True)
class Synthetic:
    """Invented rows of some columns (all of them by default), as many as the table has unless `rows` says otherwise."""

    kind: ClassVar[str] = "synthetic"

    columns: tuple[str, ...] | None = None
    rows: int | None = None
    good_for: str = DEFAULT
    weights: tuple[tuple[str, float], ...] = ()
    keep: tuple[str, ...] = ()
    person: tuple[str, ...] | None = None
    workload: tuple[Query, ...] = ()
    cuts: tuple[str, ...] = ()
    triples: bool = False

    def __post_init__(self) -> None:
        arguments.choice("good_for", self.good_for, GOOD_FOR)
        arguments.instance("triples", self.triples, bool, "true or false")
        if self.triples and self.good_for == "smooth":
            raise ParameterError("three columns are measured beside other marginals; leave out good_for")
        if self.workload and self.good_for == "smooth":
            raise ParameterError("a table for a workload also measures marginals; leave out good_for")
        if self.cuts and self.good_for == "smooth":
            raise ParameterError("cuts are of cells that are counted, and moments have none; leave out good_for")
        if self.workload and self.person is not None:
            raise ParameterError(
                "a workload is answered by rows alone, not by those of persons; leave out the workload or the person"
            )
        rows = self.rows
        if rows is not None and not (isinstance(rows, int) and not isinstance(rows, bool) and 1 <= rows <= MOST_ROWS):
            raise ParameterError(f"rows must be a whole number from 1 to {MOST_ROWS:,}, got {rows!r}")

    def subject(self) -> str:
        """What is asked, readable."""
        return f"synthetic {'table' if self.columns is None else shown_names(self.columns)}"

    def to_record(self) -> dict[str, object]:
        """Plain values; what is left out is the default."""
        record: dict[str, object] = {} if self.columns is None else {"columns": list(self.columns)}
        record |= {} if self.rows is None else {"rows": self.rows}
        record |= {} if self.good_for == UNSAID else {"good_for": self.good_for}
        record |= {"weights": dict(self.weights)} if self.weights else {}
        record |= {} if self.person is None else {"person": list(self.person)}
        record |= {"keep": list(self.keep)} if self.keep else {}
        record |= {"cuts": list(self.cuts)} if self.cuts else {}
        record |= {"triples": True} if self.triples else {}
        return {**record, "workload": [query.to_record() for query in self.workload]} if self.workload else record

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> Synthetic:
        """What `to_record`, or a plan, describes."""
        known = ("columns", "rows", "good_for", "target", "weights", "keep", "person", "workload", "cuts", "triples")
        unknown = sorted(record.keys() - set(known))
        if unknown:
            raise SchemaError(f"a synthetic query has no part {unknown[0]!r}; known are {', '.join(known)}")
        weights = weights_of(record.get("target"), record.get("weights"))
        names, good_for = names_from(record, "synthetic"), record.get("good_for", UNSAID)
        keep, person, asked = keep_of(record.get("keep")), person_of(record.get("person")), record.get("workload")
        listed = None if asked is None else [Query.from_record(one) for one in arguments.several("workload", asked)]
        own = keep, person, workload_of(listed), cuts_of(record.get("cuts")), record.get("triples", False)
        return cls(names, record.get("rows"), good_for, weights, *own)

    def bind(self, query: Query, schema: Schema) -> SyntheticRows:
        """The question about a table with this schema."""
        must_be_whole(query, "a synthetic table")
        levels = self._levels(schema)
        rules = rules_of(self.keep, schema, list(dict.fromkeys(column.whole or column.name for column in levels)))
        read = tuple(column for column in levels if column.name not in rules.made)
        if not read:
            raise ParameterError("keep computes every column of the synthetic table; leave one to be modelled")
        weighted = sorted(dict(self.weights).keys() & set(rules.made))
        if weighted:
            raise ParameterError(
                f"target and weights name columns that are modelled, and a rule makes {weighted[0]!r}; name what it is "
                "made of"
            )
        for part, names in rules.parts():
            possible(part, [column for column in read if column.name in names])
        named = [name for column in read for name in (column.name, column.whole) if name is not None]
        plain = (column.name for column in read if column.whole is None)
        texts = tuple(name for name in plain if schema.space(name).discoverable)
        goals = goals_of(self.workload, schema, [name for name in named if name not in texts])
        numbers = {column.whole or column.name: column.ordered and column.whole is None for column in read}
        must_be_numbers(self.cuts, numbers, rules.made)
        question = SyntheticRows(
            query, schema, read, rules, self.rows, self.good_for,
            goals=goals, undiscovered=texts, uncut=self.cuts, triples=self.triples,
        )  # fmt: skip
        if self.person is not None:
            must_be_persons(question, self.person)
            attributes = set(schema.people) & set(question.columns)
            question = replace(question, person=tuple(sorted({*self.person, *attributes})))
        must_have_keys(question)
        if (self.rows or 1) > question.most_rows:
            raise ParameterError(
                f"{self.rows:,} rows of {len(question.levels)} columns are too many to hold; "
                f"ask for at most {question.most_rows:,}"
            )
        return question

    def _levels(self, schema: Schema) -> tuple[Column, ...]:
        """The columns with their weights."""
        weights, columns = dict(self.weights), encoded(schema, self.columns)
        unknown = sorted(weights.keys() - {column.whole or column.name for column in columns})
        if unknown:
            made = [column.whole or column.name for column in columns]
            raise ParameterError(
                f"target and weights name columns of the synthetic table; {unknown[0]!r} is none of it"
                f"{nearest(unknown[0], made)}"
            )
        return tuple(replace(column, weight=weights.get(column.whole or column.name, 1.0)) for column in columns)


def synthetic(
    columns: Sequence[str] | None = None,
    *,
    rows: int | None = None,
    good_for: str = DEFAULT,
    target: str | None = None,
    weights: Mapping[str, float] | None = None,
    keep: Sequence[str] | None = None,
    person: Sequence[str] | None = None,
    workload: Sequence[Query] | None = None,
    cuts: Sequence[str] | None = None,
    triples: bool = False,
) -> Query:
    """A table of invented rows, drawn from a private model of this one; whatever is computed from them is free.

    All columns by default: numbers, dates, categories, texts, sets, arrays and records; missing values are modelled.
    Texts need a delta: those that enough units hold are found first, and all others become one public word.  `rows`: as
    many as the table has, by default.  `good_for`: "marginals" (shares of values and pairs of values, the default),
    "smooth" (averages of smooth functions of many numbers), or "both".  `target`: a column that others are to predict.
    `weights`: how much relations to a column matter, by its name, 1 where nothing is said; those of a pair's two
    columns are multiplied, and a target is one of 4.  `keep`: public rules that hold in every row, such as `start <=
    end`, `total == a + b` or `unique(id)`.  `person`: where persons have several rows, the columns that are the same in
    all of these (none: an empty list; attributes of people are known to be); the rows of a person then belong together,
    under a made-up identifier, and each person counts as much as any other.  `workload`: counts, histograms, cross
    tables, sums, means, shares and smooth functions that the rows should answer well, thousands of them if you like; a
    quarter of the budget goes to them.  `cuts`: columns of numbers or dates whose declared bounds are far too wide; a
    tenth of the budget each, a quarter at most, finds where their values lie, so that cells are fine there.  `triples`:
    also relations of three columns that no pairs imply, for a tenth of what pairs get; it takes about twice as long.
    Preview it first: that says what it will be good at.
    """
    names = None if columns is None else arguments.names("columns", arguments.several("columns", columns))
    own = keep_of(keep), person_of(person), workload_of(workload), cuts_of(cuts), triples
    return Query(Synthetic(names, rows, good_for, weights_of(target, weights), *own))


class Synthesized(Protocol):
    """Synthetic rows as indices, and what was measured for them."""

    @property
    def rows(self) -> Mapping[str, npt.NDArray[np.int64]]:
        """For each column indices above the lower bound, -1 where missing."""

    @property
    def persons(self) -> npt.NDArray[np.int64] | None:
        """Whose each row is, by made-up numbers, where rows belong to persons."""

    def measurements(self) -> dict[str, Any]:
        """What was measured, as plain values; under `texts` and `cuts` those that were found, by column."""


@dataclass(frozen=True, slots=True)
class SyntheticRows(WholeTable):
    """A synthetic table bound to a schema: the levels of its columns, and the number of rows wanted."""

    query: Query
    schema: Schema
    levels: tuple[Column, ...]
    rules: Rules
    rows: int | None = None
    good_for: str = DEFAULT
    person: tuple[str, ...] | None = None
    goals: tuple[Goal, ...] = ()  # the queries of the workload
    undiscovered: tuple[str, ...] = ()  # columns of texts none of which is public yet: levels are those of stand-ins
    texts: Known = ()  # the columns of texts of which some are public by now
    uncut: tuple[str, ...] = ()  # columns whose cells are yet to be found: levels are those of the declared bounds
    cuts: Cuts = ()  # the columns whose cells were found, with where their values lie; of no points, supposed ones
    triples: bool = False  # whether three columns at a time are measured, too

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that are made, in the order of the schema where rules make some of them."""
        read = self.modelled
        if not self.rules.made:
            return read
        asked = self.query.columns or tuple(self.schema.held)
        place = {name: at for at, name in enumerate(self.schema.held)} | {name: at for at, name in enumerate(asked)}
        return tuple(sorted((*read, *self.rules.made), key=lambda name: place[name]))

    def over(self, texts: Known = ()) -> SyntheticRows:
        """The same question once texts are public, those of each column or stand-ins for them; others are one level."""
        spaces = known_texts(self.schema, dict(texts) or dict.fromkeys(self.undiscovered, STAND_INS))
        levels = tuple(replace(column, space=spaces.get(column.name, column.space)) for column in self.levels)
        rules = replace(self.rules, schema=replace(self.schema, columns={**self.schema.held, **spaces}))
        known = tuple((name, tuple(map(str, space.labels[:-1]))) for name, space in spaces.items())
        return replace(self, levels=levels, rules=rules, undiscovered=(), texts=known)

    def about(self, cuts: Mapping[str, Sequence[int]] | None = None) -> SyntheticRows:
        """The same question once cuts are public, those of each column or none yet: then declared cells stand in."""
        found = {name: cuts[name] for name in self.uncut} if cuts is not None else {}
        levels = tuple(column.about(found[column.name]) if column.name in found else column for column in self.levels)
        known = tuple((name, tuple(found.get(name, ()))) for name in self.uncut)
        return replace(self, levels=levels, uncut=(), cuts=known)

    def told(self, measurements: Mapping[str, Any]) -> SyntheticRows:
        """The question over the texts and the cells that a release found; itself where there was nothing to find."""
        question = self
        if self.undiscovered:
            found = measurements["texts"]
            question = self.over(tuple((name, tuple(found[name])) for name in self.undiscovered))
        return question.about(measurements["cuts"]) if self.uncut else question

    def must_be_found(self) -> None:
        """Refuse what a synthesizer would have to find first, of those that find nothing."""
        if self.undiscovered:
            named = ", ".join(self.undiscovered)
            raise UnsupportedQuery(
                f"the texts of {named} are not public, and this synthesizer discovers none: leave mechanism= out, or "
                "declare the common ones as Categories(..., other=...)"
            )
        if self.uncut:
            raise UnsupportedQuery(
                f"the cuts of {', '.join(self.uncut)} are not public, and this synthesizer finds none: leave "
                "mechanism= out, or cuts="
            )

    @property
    def modelled(self) -> tuple[str, ...]:
        """The columns that are read."""
        return tuple(dict.fromkeys(column.whole or column.name for column in self.levels))

    @property
    def identifier(self) -> str | None:
        """What identifies persons, where rows belong to them."""
        unit = self.schema.unit
        return unit.column if isinstance(unit, Person) and self.person is not None else None

    @property
    def parts(self) -> tuple[Parts, ...]:
        """What is taken apart and put together again."""
        found = (parts_of(name, self.schema.space(name)) for name in self.modelled)
        return tuple(part for part in found if part is not None)

    @property
    def name(self) -> str:
        """The name unless another is given."""
        return f"synthetic {shown_names(self.columns)}"

    @property
    def supposed_size(self) -> int:
        """The number of rows that predictions suppose: the declared one, of persons with all their rows."""
        schema = self.schema
        if schema.size is None:
            return GUESSED
        return schema.size * (schema.unit.rows if schema.fixed_size is None else 1)

    @property
    def supposed_persons(self) -> int:
        """The number of units that predictions suppose: the declared one."""
        return self.schema.size or GUESSED

    @property
    def most_rows(self) -> int:
        """How many rows can be made at once."""
        return min(MOST_ROWS, MOST_VALUES // len(self.levels), self.rules.room or MOST_ROWS)

    def specification(self) -> dict[str, object]:
        """What makes it the same table again: the columns, and how many rows."""
        same: dict[str, object] = {"columns": list(self.columns), "rows": self.rows}
        same |= {} if self.good_for == UNSAID else {"good_for": self.good_for}
        same |= {"weights": self.weights} if self.weights else {}
        same |= {"triples": True} if self.triples else {}
        same |= {} if self.person is None else {"person": list(self.person)}
        same |= {"keep": list(self.rules.texts)} if self.rules else {}
        asked = (*self.uncut, *(name for name, _ in self.cuts))
        same |= {"cuts": list(asked)} if asked else {}
        return {**same, "workload": self.workload} if self.goals else same

    @property
    def counts_alone(self) -> bool:
        """Whether "both" and "marginals" come to the same here: counts are measured, and no moments."""
        numbers = sum(column.ordered for column in self.levels)
        others = self.person is not None or self.goals or self.uncut or self.cuts
        return self.good_for != "smooth" and (bool(others) or numbers < FEWEST_NUMBERS)

    @property
    def weights(self) -> dict[str, float]:
        """Of the columns whose relations matter more or less than others."""
        return {column.whole or column.name: column.weight for column in self.levels if column.weight != 1}

    @property
    def workload(self) -> list[dict[str, Any]]:
        """The queries that the rows should answer well, as plain values."""
        return [goal.query.to_record() for goal in self.goals]

    def answer(self, table: Source) -> SecretView:
        """A secret view of the columns."""
        return SecretView(table, self.modelled, self.parts, self.texts)

    def indices(self, rows: pa.Table) -> dict[str, npt.NDArray[np.int64]]:
        """The indices of each column of levels, from made rows."""
        plain = (column for column in self.levels if column.whole is None)
        found = {column.name: column.space.places(rows[column.name]) for column in plain}
        return found | {name: held for part in self.parts for name, held in part.places(rows[part.name]).items()}

    def accuracy(self, mechanism: object, beta: float) -> Accuracy:
        """None is stated."""
        return NotStated(UNKNOWN)

    def stored(self, output: Synthesized) -> dict[str, object]:
        """What was measured, and the wishes that it was made for; the rows are stored as they are."""
        held = {**output.measurements(), **({"weights": self.weights} if self.weights else {})}
        held |= {"keep": list(self.rules.texts)} if self.rules else {}
        held |= {"triples": True} if self.triples else {}
        return {**held, "workload": self.workload} if self.goals else held

    def read(self, output: Synthesized, mechanism: object) -> RowsAnswer:
        """The rows in their columns' own types."""
        if self.undiscovered or self.uncut:
            return self.told(output.measurements()).read(output, mechanism)
        rows = output.rows
        made = {column.name: column.decoded(rows[column.name]) for column in self.levels if column.whole is None}
        made |= self._completed(rows)
        made |= {part.name: self._together(part, output) for part in self.parts}
        found = {name: made[name] for name in self.columns}
        if self.identifier is not None:
            found = {self.identifier: output.persons, **found}
        return RowsAnswer(found, NotStated(UNKNOWN))

    def _together(self, part: Parts, output: Synthesized) -> pa.Array:
        """What is made of parts; where it is a person's, once for all of her rows, since what does not fit is drawn."""
        if output.persons is None or part.name not in (self.person or ()):
            return part.joined(output.rows)
        _, first, places = np.unique(output.persons, return_index=True, return_inverse=True)
        return part.joined({name: output.rows[name][first] for name in part.spaces()}).take(places)

    def _completed(self, rows: Mapping[str, npt.NDArray[np.int64]]) -> dict[str, Any]:
        """The columns that rules compute and number."""
        count = len(next(iter(rows.values())))
        held = {**self.rules.completed(rows)[0], **self.rules.numbered(count), **rows}
        return {name: Column.of(name, self.schema.space(name)).decoded(held[name]) for name in self.rules.made}
