"""Exact answers, computed where the data lives: an Ibis backend does the work, whole numbers come out."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import ibis
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sfumato import arguments
from sfumato.cards import Card, Shown
from sfumato.engines.attempts import can_attempt, careful
from sfumato.engines.backends import OWN, executed, resumes, streamed, take_care
from sfumato.engines.canary import trusted
from sfumato.engines.coercion import check_declared
from sfumato.engines.compilation import compiled
from sfumato.engines.fusing import Foreseen, asked_first
from sfumato.engines.growing import Growing
from sfumato.engines.keeping import Kept
from sfumato.engines.positions import found, found_text, labelled
from sfumato.engines.results import Counted, Whole, counted, exact, hopeful, totals, whole
from sfumato.engines.rows import form_of
from sfumato.engines.storing import Stored, stored
from sfumato.errors import EngineError, ParameterError, SchemaError, SfumatoError
from sfumato.privacy.adjacency import Person
from sfumato.queries.aggregation import Aggregation, Distinct, Frequencies, Measure, Rows, Statistic
from sfumato.queries.formulas import formula
from sfumato.queries.grouping import Cells
from sfumato.queries.predicates import Predicate
from sfumato.queries.question import Known
from sfumato.spaces.forms import Entries, Form, Labels, Numbers, Points, Sets, Strings
from sfumato.spaces.schema import Schema
from sfumato.visible import visible

__all__ = ["Counted", "Table"]

BATCH, LEAST_BATCH = 1 << 16, 1 << 13  # rows held at a time where rows are needed
BATCH_VALUES = 1 << 22  # of all columns together
MOST_BITS = 62  # items of a set that travels as a whole number

JOBS = ("pyspark",)  # engines on which every answer is a job of its own

WITHHELD = (
    "the engine could not compute this answer (its message is withheld, since it may hold "
    "data); check that the table is readable and fits its declared types"
)

Batch = tuple[Whole, dict[str, Whole]]  # whose rows they are, where that is asked, and their columns

NOBODY = np.empty(0, dtype=np.int64)


@dataclass(frozen=True, slots=True)
class Table(Shown):
    """A sensitive table behind its schema.  Only whole numbers per public cell come out of `answer`.

    `source` is any Ibis table expression; its backend is the engine.
    """

    source: ibis.Table
    schema: Schema
    growing: Growing | None = field(default=None, repr=False, compare=False)  # its files, whose answers are kept
    _kept: Kept = field(default_factory=Kept, init=False, repr=False, compare=False)
    _foreseen: Foreseen = field(default_factory=Foreseen, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        arguments.instance("schema", self.schema, Schema, "a Schema(...)")
        if not isinstance(self.source, ibis.Table):
            raise ParameterError("source must be an Ibis table; open files and frames with sfumato.read(...)")
        trusted(self.source.get_backend())
        for name in self.schema.derived:
            formula(self.schema, name)  # refuses what cannot be computed
        check_declared(self.schema, dict(self.source.schema().items()))
        if self.schema.fixed_size is not None:
            self._compare(self.schema.fixed_size)

    def _compare(self, declared: int) -> None:
        """Under replacement the number of rows is public, and everything relies on the declared one."""
        found = int(self.answer(Aggregation(None, Cells(()), (Measure(None),)))[0, 0])
        if found != declared:
            way = f"declare size={found}, or protect" if found else "of none there is nothing to replace; protect"
            raise SchemaError(
                f"size={declared} is declared, but the table has {found} rows; under replacement the number of rows is "
                f"public and must be exact: {way} against adding and removing rows"
            )

    def __repr__(self) -> str:
        return f"Table({self.schema.dataset!r}, columns: {', '.join(self.schema.columns)})"

    def card(self) -> Card:
        """What is declared of the table: nothing of the data."""
        rows = [(visible(name), visible(repr(space))) for name, space in self.schema.columns.items()]
        size = {} if self.schema.size is None else {"size": f"{self.schema.size:,}, declared"}
        return Card(visible(self.schema.dataset), {"protects": self.schema.words(), **size}, ("column", "space"), rows)

    def under(self, schema: Schema) -> Table:
        """The same table as a question sees it that has its own limits on what counts of one person."""
        if schema == self.schema:
            return self
        limited = replace(self, schema=schema, growing=None)
        if schema.held == self.schema.held:
            object.__setattr__(limited, "_kept", self._kept)  # what is kept of persons depends on no limit
        return limited

    def expect(self, schema: Schema, columns: Iterable[str]) -> None:
        """Questions about these columns, with the limits of this schema, are about to come: one pass serves them all.

        Nothing is read here.
        """
        if isinstance(schema.unit, Person):
            sources = (source for name in columns for source in schema.sources(name))
            self._kept.expect(sources, schema.unit.rows if schema.unit.groups is None else None)

    def foresee(self, take: Callable[[Any], object]) -> None:
        """A mechanism is about to take its answer: where every pass is a job of its own, several share one.

        Nothing is read here: it is asked what it takes first, without a table.
        """
        if self.source.get_backend().name in JOBS:
            self._foreseen.expect(asked_first(take, self.schema, self.steady))

    @property
    def steady(self) -> bool:
        """Whether all answers are of one state: rows of persons are stored, and what we opened is written by nobody."""
        return isinstance(self.schema.unit, Person) or self.source.get_backend() in OWN

    def answer(self, statistic: Statistic) -> Any:
        """The exact, secret answer.  Whatever the engine raises is replaced by one generic error."""
        if self.growing is not None:
            return self.growing.answer(statistic)
        answer = self._foreseen.answer(statistic, self.schema, self._computed, self._sums)
        if answer is None:  # raised out here, so that the engine's own error is not its context
            raise EngineError(WITHHELD)
        return answer

    def rows(
        self, columns: Sequence[str], where: Predicate | None = None, texts: Known = ()
    ) -> Iterator[dict[str, Whole]]:
        """The coerced, bounded rows in batches of whole numbers, -1 where missing; for the few that need them.

        The order of rows is the engine's own.  `where` is bound to the schema.  A text is its place among the known
        ones of its column, one that is not known the place after the last.
        """
        return (batch for _, batch in self._read(Rows(where, self._readable(columns, texts), texts=texts)))

    def persons(self, columns: Sequence[str], texts: Known = ()) -> Iterator[tuple[Whole, dict[str, Whole]]]:
        """The same rows, those of each person together: the number of each row's person, and the batch.

        Persons are numbered in the order of their identifiers, and may go on in the next batch.
        """
        if not isinstance(self.schema.unit, Person):
            raise SchemaError("rows have no persons here; declare unit=Person(column, rows)")
        return self._read(Rows(None, self._readable(columns, texts), together=True, texts=texts))

    def _readable(self, columns: Sequence[str], texts: Known) -> tuple[str, ...]:
        """The columns, each once; those that are not read row by row are refused."""
        wanted, known = tuple(dict.fromkeys(columns)), dict(texts)
        for name in wanted:
            space = self.schema.space(name)
            form = space.form
            large = form is not None and form.listed and len(form.labels or ()) > MOST_BITS
            unknown = space.discoverable and name not in known
            if large or unknown or type(form) not in READ:
                raise SchemaError(
                    f"column {name!r} must hold numbers, categories, curves, arrays or sets of at most {MOST_BITS} "
                    "items to be read row by row"
                )
            if space.curve is not None and isinstance(self.schema.unit, Person):
                raise SchemaError(f"curves such as {name!r} are read one row a unit; protect rows, or name each point")
        return wanted

    def _read(self, statistic: Rows) -> Iterator[Batch]:
        batches = self._batches(statistic)
        while True:
            batch = _next(batches)
            if batch is None:
                raise EngineError(WITHHELD)
            if not batch[1]:
                return
            yield batch

    def _batches(self, statistic: Rows) -> Iterator[Batch]:
        forms = {name: form_of(self.schema, name) for name in statistic.columns}
        ways = {name: READ[type(form)] for name, form in forms.items()}
        if self.source.get_backend().name == "duckdb":  # which hands out labels
            ways |= {name: found for name, form in forms.items() if labelled(form)}
            ways |= {name: partial(found_text, known=known) for name, known in statistic.texts}
        size = max(LEAST_BATCH, min(BATCH, BATCH_VALUES // max(1, len(forms))))
        for batch in self._streamed(statistic, size):
            persons = whole(batch["person"]) if statistic.together else NOBODY
            yield persons, {name: ways[name](batch[f"value{i}"], form) for i, (name, form) in enumerate(forms.items())}

    def _streamed(self, statistic: Rows, size: int) -> Iterator[pa.RecordBatch]:
        """Arrow batches; where the engine raises, those that are left, of the same statement with care.

        Rows whose order may be another one in a second run are stored first, all of them or with care.
        """
        backend = self.source.get_backend()
        held: Stored | None = None
        handed_out = 0
        try:
            expression = self._expression(statistic)
            if can_attempt(backend) and not resumes(expression):
                held = stored(expression)
                expression = held.rows
            for batch in streamed(expression, size):
                yield batch
                handed_out += batch.num_rows
            return
        except Exception as failure:
            if isinstance(failure, SfumatoError) or not can_attempt(backend) or held is not None:
                raise
        take_care(backend)
        with careful():
            expression = self._expression(statistic)
            if not resumes(expression):
                held = stored(expression)
                expression = held.rows
        for batch in streamed(expression, size):
            known = min(handed_out, batch.num_rows)
            handed_out -= known
            if known < batch.num_rows:
                yield batch.slice(known)

    def _expression(self, statistic: Statistic, real: bool = False, narrow: bool = False) -> ibis.Table:
        return compiled(statistic, self.schema, self.source, real, self._kept, narrow)

    def _computed(self, statistic: Statistic) -> Any:
        """The answer; where the engine raises, that of the same statement with care.  None where this raises too."""
        found = self._tried(statistic)
        if found is None and can_attempt(self.source.get_backend()):
            with careful():
                found = self._tried(statistic, with_care=True)
        return found

    def _tried(self, statistic: Statistic, with_care: bool = False) -> Any:
        try:
            if with_care:
                take_care(self.source.get_backend())
            return self._asked(statistic)
        except SfumatoError:
            raise
        except Exception:
            return None

    def _asked(self, statistic: Statistic) -> Any:
        if isinstance(statistic, Aggregation):
            return self._added(statistic)
        result = executed(self._expression(statistic))
        if isinstance(statistic, Frequencies):
            return counted(result, statistic, self.schema)
        assert isinstance(statistic, Distinct)
        return result["value"].to_pylist(), whole(result["count"])

    def _added(self, statistic: Aggregation) -> Whole:
        """The totals of each cell."""
        return totals(self._sums(statistic, hopeful(statistic, self.schema)), statistic, self.schema)

    def _sums(self, statistic: Aggregation, real: bool = False) -> pa.Table:
        """Sums of floats, or of 64 bits, where they are exact, which is faster; else wider sums of limbs."""
        result = executed(self._expression(statistic, real, narrow=True))
        return result if exact(result, statistic, self.schema) else executed(self._expression(statistic))


def _next(batches: Iterator[Batch]) -> Batch | None:
    """The next batch; empty at the end, None if anything failed."""
    try:
        return next(batches, (NOBODY, {}))
    except Exception:
        return None


def _points(column: pa.Array, form: Points) -> Whole:
    """A row of lattice indices for each curve, -1 where a point is missing; all of them where the length is wrong."""
    lengths = pc.fill_null(pc.list_value_length(column), -1).to_numpy(zero_copy_only=False)
    fitting = lengths == len(form.points)
    held = pc.list_flatten(column.filter(pa.array(fitting))).to_numpy(zero_copy_only=False).astype(np.float64)
    found = np.full((len(lengths), len(form.points)), -1, dtype=np.int64)
    found[fitting] = form.lattice.places(held).reshape(-1, len(form.points))
    return found


def _entries(column: pa.Array, form: Entries) -> Whole:
    """A row of lattice indices for each array, -1 where it is missing."""
    present = column.is_valid().to_numpy(zero_copy_only=False)
    found = np.full((len(present), form.size), -1, dtype=np.int64)
    found[present] = pc.list_flatten(column).to_numpy(zero_copy_only=False).reshape(-1, form.size)
    return found


# A column of a batch as whole numbers.
READ: dict[type[Form] | type[None], Callable[..., Whole]] = {
    Numbers: lambda column, _: whole(column),
    Labels: lambda column, _: whole(column),
    Strings: lambda column, _: whole(column),
    Sets: lambda column, form: form.bits(column),
    Points: _points,
    Entries: _entries,
}
