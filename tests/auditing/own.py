"""Our own mechanisms as targets of the auditor: `python -m sfumato.auditing own:TARGETS` in this folder.

Each target is a whole pipeline: a column of a table goes through the schema, the engine's coercion (its slow
twin, which the tests hold to the engine integer for integer), the question and its mechanism, and comes out as what a
release holds.  The auditor makes the neighbors, hostile values included.  The error rate 1e-6 is shared by the
whole list.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

sys.path.insert(0, str(Path(__file__).parent.parent))

import sfumato as sf
from reference import answer, counted, position
from sfumato.auditing import Target
from sfumato.mechanisms import (
    Complement,
    CountedKeys,
    CutSynthesis,
    DiscoveredKeys,
    FiniteChannel,
    JoinedSynthesis,
    KeyDiscovery,
    KeySelection,
    MarginalSynthesis,
    Net,
    NumericSynthesis,
    ParityCube,
    PersonSynthesis,
    RandomizedResponse,
    Sanitization,
    SmallDatabase,
    TextSynthesis,
    Trigonometric,
    WorkloadSynthesis,
)
from sfumato.planner import options
from sfumato.privacy.guarantees import Guarantee
from sfumato.queries import Query, bind
from sfumato.queries.popular import Popular
from sfumato.queries.quantiles import Quantiles
from sfumato.queries.view import SecretView
from sfumato.randomness import seeded

COLUMN = {"x": sf.Interval(0, 4, step=1)}
NUMBERS = [0.0, 1.0, 1.0, 3.0, 4.0, 2.5]


@dataclass
class Counted:
    """A table of which one statistic is known."""

    known: Any

    def answer(self, statistic: Any) -> Any:
        return self.known


@dataclass
class Pipeline:
    """A column's values in, the mechanism's output out; exact answers are remembered, noise is fresh."""

    query: Query
    schema: sf.Schema
    mechanism: Any
    remembered: dict[str, Any] = field(default_factory=dict)

    def __call__(self, data: Any, rng: Any) -> Any:
        return np.asarray(self.mechanism.release(self.exact(data), rng)).tolist()

    @cached_property
    def question(self) -> Any:
        return self.mechanism.query

    def exact(self, data: Any) -> Any:
        """The exact answer in the form the mechanism takes."""
        key = repr([type(data).__name__, *data])
        if key not in self.remembered:
            rows = [{"x": value} for value in data]
            self.remembered[key] = self._form(answer(rows, self.question.statistic, self.schema))
        return self.remembered[key]

    def _form(self, found: Any) -> Any:
        question = self.question
        if not isinstance(question, Quantiles | Popular):
            return question.vector(np.array(found, dtype=object))
        triples = np.array([(cell, value, count) for (cell, value), count in found.items()], dtype=np.int64)
        cells, values, counts = triples.reshape(-1, 3).T
        return question.answer(Counted((cells, values, counts)))


@dataclass
class Learned(Pipeline):
    """As above for questions that read rows: x is a point, a curve of two points or a row with its target."""

    def exact(self, data: Any) -> Any:
        """The exact vector from a batch of coerced rows; a record that is no tuple stands for missing values."""
        key = repr([type(data).__name__, *data])
        if key not in self.remembered:
            names = list(self.schema.columns)
            pairs = [one if isinstance(one, tuple) and len(one) == len(names) else (None,) * len(names) for one in data]
            rows = [dict(zip(names, one, strict=True)) for one in pairs]
            kept = counted(rows, self.schema)
            batch = {name: np.array([position(row[name], self.schema.columns[name]) for row in kept]) for name in names}
            self.remembered[key] = self.question.vector([batch])
        return self.remembered[key]


@dataclass
class Tabled(Pipeline):
    """As above through the engine itself: whatever the mechanism takes of a table."""

    def exact(self, data: Any) -> Any:
        """What the mechanism takes; records that are no tuple of the right length stand for missing values."""
        key = repr([type(data).__name__, *data])
        if key not in self.remembered:
            names = list(self.schema.columns)
            rows = [one if isinstance(one, tuple) and len(one) == len(names) else (None,) * len(names) for one in data]
            texts = isinstance(next(iter(self.schema.columns.values())), sf.Texts)
            stored = pa.string() if texts else pa.float64()
            columns = {name: pa.array([row[i] for row in rows], stored) for i, name in enumerate(names)}
            self.remembered[key] = self.mechanism.take(
                sf.read(pa.table(columns), schema=self.schema).under(self.question.schema)
            )
        return self.remembered[key]


@dataclass
class Peopled(Tabled):
    """As above where persons are protected: a record is one person, the values of its rows; nothing is no person."""

    def exact(self, data: Any) -> Any:
        """What the mechanism takes."""
        key = repr([type(data).__name__, *data])
        if key not in self.remembered:
            rows = [(i, x) for i, one in enumerate(data) if isinstance(one, tuple) for x in one]
            columns = {
                "id": pa.array([i for i, _ in rows], pa.int64()),
                "x": pa.array([x for _, x in rows], pa.float64()),
            }
            self.remembered[key] = self.mechanism.take(
                sf.read(pa.table(columns), schema=self.schema).under(self.question.schema)
            )
        return self.remembered[key]


@dataclass
class Bagged(Tabled):
    """As above for a column of sets: a record is a set of texts."""

    def exact(self, data: Any) -> Any:
        """What the mechanism takes."""
        key = repr([type(data).__name__, *data])
        if key not in self.remembered:
            sets = [list(one) if isinstance(one, tuple) else None for one in data]
            table = pa.table({"x": pa.array(sets, pa.list_(pa.string()))})
            self.remembered[key] = self.mechanism.take(sf.read(table, schema=self.schema))
        return self.remembered[key]


@dataclass
class Whole(Tabled):
    """Whole tables, through the engine: what is looked at is a small public feature of the rows that come out."""

    feature: Callable[[Any], Any] = np.asarray

    def __call__(self, data: Any, rng: Any) -> Any:
        """The feature as plain values."""
        return np.asarray(self.feature(self.mechanism.release(self.exact(data), rng))).tolist()

    def exact(self, data: Any) -> Any:
        """What the mechanism takes; of a view the rows are remembered, so that the engine is asked once."""
        known = repr([type(data).__name__, *data]) in self.remembered
        taken = super().exact(data)
        if not known and isinstance(taken, SecretView):
            taken = SecretView(Rows(list(taken.batches())), taken.columns)
            self.remembered[repr([type(data).__name__, *data])] = taken
        return taken


@dataclass
class Worded(Whole):
    """As above with a column of texts, which the mechanism asks for before it asks for rows."""

    def exact(self, data: Any) -> Any:
        """What the mechanism takes; all that it asks for is remembered."""
        known = repr([type(data).__name__, *data]) in self.remembered
        taken = super(Whole, self).exact(data)
        if not known:
            taken = SecretView(Heard(taken.table), taken.columns)
            self.remembered[repr([type(data).__name__, *data])] = taken
        return taken


@dataclass
class Heard:
    """An engine's table; asked the same twice it answers from memory."""

    table: Any
    known: dict[Any, Any] = field(default_factory=dict)

    def answer(self, statistic: Any) -> Any:
        """As the engine answers."""
        if statistic not in self.known:
            self.known[statistic] = self.table.answer(statistic)
        return self.known[statistic]

    def rows(self, columns: Any, where: Any = None, texts: Any = ()) -> Iterator[Any]:
        """The batches."""
        if texts not in self.known:
            self.known[texts] = list(self.table.rows(columns, where, texts))
        return iter(self.known[texts])


@dataclass
class Rows:
    """Rows that the engine has read."""

    held: list[Any]
    whose: list[Any] = field(default_factory=list)

    def rows(self, columns: Any) -> Iterator[Any]:
        """The batches."""
        return iter(self.held)

    def persons(self, columns: Any) -> Iterator[Any]:
        """The batches of persons."""
        return iter(self.whose)


@dataclass
class Grouped(Peopled):
    """Whole tables of persons: looked at is whose the rows are that come out, and what the first one holds."""

    def __call__(self, data: Any, rng: Any) -> Any:
        """Plain values."""
        found = self.mechanism.release(self.exact(data), rng)
        return [*found.persons.tolist(), int(found.rows["x"][0])]

    def exact(self, data: Any) -> Any:
        """What the mechanism takes, read once."""
        known = repr([type(data).__name__, *data]) in self.remembered
        taken = super().exact(data)
        if not known:
            taken = SecretView(Rows(list(taken.batches()), list(taken.persons())), taken.columns)
            self.remembered[repr([type(data).__name__, *data])] = taken
        return taken


@dataclass
class Responses:
    """Channels of three values, randomized response and others, on a fixed number of records."""

    mechanism: RandomizedResponse | FiniteChannel

    def __call__(self, data: Any, rng: Any) -> Any:
        places = [int(value) % 3 if value == value else 0 for value in data]
        return self.mechanism.release(np.array(places, dtype=np.int64), rng).tolist()


@dataclass
class Discovery:
    """The keys that enough rows hold, with their noisy counts."""

    mechanism: KeyDiscovery | KeySelection

    def __call__(self, data: Any, rng: Any) -> Any:
        keys = sorted({value for value in data if isinstance(value, str)})
        noisy = self.mechanism.release(np.array([data.count(key) for key in keys], dtype=np.int64), rng)
        return {key: int(count) for key, count in zip(keys, noisy, strict=True) if count}


def _questions() -> Iterator[tuple[Query, Guarantee]]:
    pure = sf.Pure(1.0)
    for query in (
        sf.count(), sf.count().where("x >= 2"), sf.sum("x"), sf.mean("x"), sf.variance("x"), sf.histogram("x"),
        sf.median("x"), sf.median("x", bars=True), sf.quantiles("x", [0.25, 0.5, 0.9]),
        sf.mean("x").by(sf.bins("x", 0, 2, 4)),
    ):  # fmt: skip
        yield query, pure
    for query in (sf.count(), sf.histogram("x"), sf.mean("x"), sf.median("x")):
        yield query, sf.Concentrated(0.5)
    for query in (sf.sum("x"), sf.histogram("x")):
        yield query, sf.Approximate(1.0, 0.01)
    yield sf.density("x", bandwidth=1.5), sf.Approximate(1.0, 0.01)
    yield sf.distribution("x", bandwidth=1.0), pure


def _read_by_row() -> Iterator[Target]:
    """Curves, their covariance, regression and classification, on records of two entries."""
    curve = {"x": sf.Interval(0, 4, step=1), "y": sf.Interval(0, 4, step=1)}
    labeled = {"x": sf.Interval(0, 4, step=1), "y": sf.Categories(["a", "b"])}
    points, labels = [(0.0, 4.0), (4.0, 4.0), (1.0, 2.0)], [(0.0, "a"), (4.0, "b"), (3.0, "b")]
    for query, columns, inputs in (
        (sf.mean_curve(["x", "y"], radius=1.0, center=2.0, waves=1), curve, points),
        (sf.covariance(["x", "y"], radius=1.0, center=2.0, waves=1), curve, points),
        (sf.regression("y", "x", bandwidth=3.0, penalty=0.5), curve, points),
        (sf.classification("y", "x", bandwidth=3.0, penalty=0.5), labeled, labels),
    ):
        hostile = [*inputs, (float("nan"), None), (float("inf"), -1e300), ("?", "?"), None]
        for relation, spend in ((sf.AddRemove(), sf.Approximate(1.0, 0.01)), (sf.Replace(), sf.Pure(1.0))):
            schema = sf.Schema(columns, adjacency=relation, size=len(inputs))
            choices = {"inputs": inputs, "records": hostile, "adjacency": relation.name, "generator": _words, "seed": 1}
            option = options(bind(query, schema), spend)[0]
            run = Learned(query, schema, option.mechanism)
            yield Target(f"{query.name}, {option.name}, {relation.name}", run, option.mechanism.guarantee(), choices)


def _through_the_engine() -> Iterator[Target]:
    """Workloads with every shape of noise, components and whole databases of thresholds."""
    labels = sf.Schema({"x": sf.Categories([0, 1, 2, 3])})
    pairs = sf.Schema({"x": sf.Interval(0, 4, step=1), "y": sf.Interval(0, 4, step=1)})
    sized = sf.Schema({"x": sf.Interval(0, 4, step=1)}, size=4)
    fixed = sf.Schema({"x": sf.Interval(0, 4, step=1, missing=0)}, adjacency=sf.Replace(), size=4)
    one = [(0.0,), (1.0,), (1.0,), (3.0,)]
    two = [(0.0, 4.0), (4.0, 4.0), (1.0, 2.0)]
    matrix = [[1, 0, 1, 2], [0, 1, 1, -1]]
    for query, schema, inputs, spend in (
        (sf.workload("x", matrix), labels, one, sf.Pure(1.0)),
        (sf.prefix("x"), labels, one, sf.Concentrated(0.5)),
        (sf.pca(["x", "y"], k=1), pairs, two, sf.Pure(1.0)),
        (sf.pca(["x", "y"], k=1, center=False), pairs, two, sf.Concentrated(0.5)),
        (sf.thresholds("x", points=3, rows=2), pairs, two, sf.Pure(1.0)),
        (sf.density("x", bandwidth="private"), sized, one, sf.Pure(1.0)),
        (sf.density("x", bandwidth=2.0), fixed, one, sf.Concentrated(0.5)),
    ):
        width = len(schema.columns)
        hostile = [*inputs, (float("nan"),) * width, (float("inf"),) * width, (7.0,) * width, None]
        relation = schema.adjacency.name
        choices = {"inputs": inputs, "adjacency": relation, "records": hostile, "generator": _words, "seed": 1}
        found = options(bind(query, schema), spend, frozenset({"real-arithmetic", "mixing"}))
        for option in {type(option.mechanism): option for option in reversed(found)}.values():  # the best of each kind
            run = Tabled(query, schema, option.mechanism)
            yield Target(f"{query.name}, {option.name}, by the engine", run, option.mechanism.guarantee(), choices)


def _everyday() -> Iterator[tuple[Query, sf.Schema, Any, list[Any], list[Any]]]:
    """What people ask every day: the question, the schema, how it is run, the records, and hostile ones."""
    pairs = {"x": sf.Interval(0, 4, step=1), "y": sf.Interval(1, 2, step=1)}
    labeled = {"x": sf.Interval(0, 4, step=1), "g": sf.Categories([0, 1])}
    crossed = {"x": sf.Categories([0, 1]), "g": sf.Categories([0, 1])}
    curved = {"x": pairs["x"], "y": pairs["x"], "g": sf.Categories([0, 1])}
    two = [(0.0, 1.0), (4.0, 2.0), (3.0, 1.0)]
    three = [(0.0, 1.0, 0.0), (4.0, 2.0, 1.0), (4.0, 4.0, 1.0)]
    marked = [(0.0, 0.0), (4.0, 1.0), (3.0, 1.0)]
    odd = (float("nan"), float("inf"), 1e300, 7.0)
    for relation in (sf.AddRemove(), sf.Replace()):
        more: dict[str, Any] = {"adjacency": relation, "size": 3}
        for query, columns, inputs in (
            (sf.share("x >= 2"), pairs, two),
            (sf.share("x >= 2", weight="y"), pairs, two),
            (sf.mean("x", weight="y"), pairs, two),
            (sf.ratio("x", "y"), pairs, two),
            (sf.std("x"), pairs, two),
            (sf.extent("x"), pairs, two),
            (sf.difference(sf.count(), across="g", between=(0, 1)), labeled, marked),
            (sf.difference(sf.mean("x"), across="g", between=(0, 1)), labeled, marked),
            (sf.regression("y", "x", bandwidth=2.0), pairs, two),
            (sf.crosstab("x", "g"), crossed, [(0.0, 0.0), (1.0, 1.0), (1.0, 0.0)]),
            (sf.density("x", bandwidth=2.0).by("g"), labeled, marked),
            (sf.mean_curve(["x", "y"], radius=1.0, center=2.0, waves=1).by("g"), curved, three),
        ):
            hostile = [(x, *one[1:]) for x, one in zip(odd, inputs, strict=False)] + [(7.0,) * len(columns), None]
            yield query, sf.Schema(columns, **more), Tabled, inputs, [*inputs, *hostile]
        bags = sf.Schema({"x": sf.Subsets(["a", "b", "c"], cap=2)}, **more)
        sets = [("a", "b"), ("c",), ()]
        yield sf.items("x"), bags, Bagged, sets, [*sets, ("a", "b", "c"), ("?", "a"), ("b", "b"), None]
        people = [(0.0, 1.0), (4.0,), (3.0, 3.0, 3.0)]
        crowd = [*people, (), (4.0,) * 5, (float("nan"), 2.0), (9.0,)]
        held = sf.Schema({"x": sf.Interval(0, 4, step=1)}, unit=sf.Person("id", 2), **more)
        for query in (
            sf.count_people(), sf.count_people(groups=1).by(sf.bins("x", 0, 2, 4)), sf.rows_per_person(0.5, most=4),
            sf.count().per_person(groups=1, each=1).by(sf.bins("x", 0, 2, 4)), sf.sum("x").per_person(total=(0, 4)),
        ):  # fmt: skip
            yield query, held, Peopled, people, crowd


def _asked_every_day() -> Iterator[Target]:
    """The best mechanism for each."""
    for query, schema, kind, inputs, hostile in _everyday():
        relation = schema.adjacency.name
        choices = {"inputs": inputs, "adjacency": relation, "records": hostile, "generator": _words, "seed": 1}
        option = options(bind(query, schema), sf.Pure(1.0))[0]
        run = kind(query, schema, option.mechanism)
        yield Target(f"{query.name}, {option.name}, {relation}", run, option.mechanism.guarantee(), choices)


def _whole_tables() -> Iterator[Target]:
    """Synthetic, numeric, sanitized, trigonometric tables, small databases and nets."""
    numbers = {name: sf.Interval(0, 4, step=1, missing=0) for name in "xyz"}
    labels = {"x": sf.Categories([0, 1], other=0, missing=0)}
    three, pair, one = [(0.0, 4.0, 1.0), (4.0, 4.0, 0.0), (1.0, 2.0, 4.0)], [(0.0, 4.0), (4.0, 0.0)], [(0,), (1,), (1,)]
    for query, columns, inputs, feature, kind in (
        (sf.synthetic(["x"]), labels, one, _first, MarginalSynthesis),
        (sf.synthetic(["x", "y", "z"], rows=1), numbers, three, _first, NumericSynthesis),
        (sf.synthetic(["x", "y", "z"], rows=1), numbers, three, _first, JoinedSynthesis),
        (sf.synthetic(["x"], rows=1, workload=[sf.count().where("x == 1")]), labels, one, _first, WorkloadSynthesis),
        (sf.sanitized(["x"]), labels, one, _ordered, Sanitization),
        (sf.sanitized(["x", "y"]), {name: numbers[name] for name in "xy"}, pair, _ordered, Sanitization),
        (sf.trigonometric(["x"], order=2, grid=4), {"x": numbers["x"]}, [(0.0,), (4.0,)], np.asarray, Trigonometric),
        (sf.small_database(sf.prefix("x"), rows=2), labels, one, np.asarray, SmallDatabase),
        (sf.small_database(sf.prefix("x"), candidates=[[2, 0], [0, 2]]), labels, one, np.asarray, Net),
    ):
        schema = sf.Schema(columns, adjacency=sf.Replace(), size=len(inputs))
        mechanism = kind.calibrate(bind(query, schema), sf.Pure(1.0))
        hostile = [*inputs, (None,) * len(columns), (7,) * len(columns), None]
        choices = {"inputs": inputs, "adjacency": "replace", "records": hostile, "generator": _words, "seed": 1}
        run = Whole(query, schema, mechanism, feature=feature)
        yield Target(f"{query.name}, {kind.__name__}, whole table", run, mechanism.guarantee(), choices)
    people = sf.Schema({"x": sf.Interval(0, 4, step=1)}, unit=sf.Person("id", 2), size=3)
    question = bind(sf.synthetic(["x"], rows=2, person=[]), people)
    mechanism = PersonSynthesis.calibrate(question, sf.Pure(1.0))
    crowd = [(0.0, 1.0), (4.0,), (3.0, 3.0, 3.0)]
    choices = {"inputs": crowd, "records": [*crowd, (), (4.0,) * 5, None], "generator": _words, "seed": 1}
    run = Grouped(question.query, people, mechanism)
    yield Target("synthetic x, PersonSynthesis, whole table", run, mechanism.guarantee(), choices)
    schema = sf.Schema({"x": sf.Texts()})
    query = sf.count().by(sf.discovered("x"))
    made = [kind.calibrate(bind(query, schema), sf.Approximate(1.0, 0.05)) for kind in (DiscoveredKeys, CountedKeys)]
    choices = {"inputs": [("a",), ("a",), ("b",)], "records": [("a",), ("rare",), None], "generator": _words, "seed": 1}
    for found in made:
        name = f"discovered keys with their counts, {type(found).__name__}"
        yield Target(name, Whole(query, schema, found, feature=_keys), found.guarantee(), choices)
    query = sf.synthetic(["x"], rows=2)
    mechanism = TextSynthesis.calibrate(bind(query, schema), sf.Approximate(1.0, 0.1))
    run = Worded(query, schema, mechanism, feature=_worded)
    yield Target("synthetic x, TextSynthesis, whole table", run, mechanism.guarantee(), choices)
    schema = sf.Schema({"x": sf.Integers(0, 300)})
    query = sf.synthetic(["x"], rows=2, cuts=["x"])
    mechanism = CutSynthesis.calibrate(bind(query, schema), sf.Pure(1.0))
    choices = {"inputs": [(0,), (0,), (300,)], "records": [(0,), (300,), None], "generator": _words, "seed": 1}
    run = Worded(query, schema, mechanism, feature=_placed)
    yield Target("synthetic x, CutSynthesis, whole table", run, mechanism.guarantee(), choices)


def _worded(made: Any) -> Any:
    """The texts that were found, and how many rows hold each."""
    found = [text for _, texts in made.found for text in texts]
    return [*found, *map(str, np.bincount(1 + next(iter(made.rows.values())), minlength=2 + len(found)).tolist())]


def _placed(made: Any) -> Any:
    """The cuts that were found, and how many rows lie in the upper half."""
    return [*(cut for _, cuts in made.found for cut in cuts), int((next(iter(made.rows.values())) > 150).sum())]


def _first(made: Any) -> Any:
    """How many rows hold each index of the first column."""
    return np.bincount(next(iter(made.rows.values())), minlength=2)


def _ordered(made: dict[str, Any]) -> Any:
    """The rows, put in order: shuffling has taken theirs."""
    return sorted(zip(*(np.asarray(column).tolist() for column in made.values()), strict=True))


def _keys(output: Any) -> Any:
    """The discovered keys alone."""
    return [str(key) for key in output.keys]


def _targets() -> Iterator[Target]:
    for adjacency in ("add-remove", "replace"):
        size = len(NUMBERS) if adjacency == "replace" else None
        schema = sf.Schema(COLUMN, adjacency=sf.AddRemove() if size is None else sf.Replace(), size=size)
        choices = {"inputs": NUMBERS, "adjacency": adjacency, "generator": _words, "seed": 1}
        for query, spend in _questions():
            question = bind(query, schema)
            for option in options(question, spend):
                run = Pipeline(query, schema, option.mechanism)
                name = f"{query.name}, {option.name}, {adjacency}"
                yield Target(name, run, option.mechanism.guarantee(), choices)
    settled = sf.Schema({"x": sf.Categories([0, 1, 2], other=0, missing=0)}, adjacency=sf.Replace(), size=4)
    for option in options(bind(sf.histogram("x"), settled), sf.Pure(1.0)):
        choices = {"inputs": [0, 1, 1, 2], "adjacency": "replace", "records": [0, 1, 2, None, 7]}
        run = Pipeline(sf.histogram("x"), settled, option.mechanism)
        more = {"generator": _words, "seed": 1}
        yield Target(f"counts of a public total, {option.name}", run, option.mechanism.guarantee(), choices | more)
    halves = sf.Schema({"x": sf.Categories([0, 1], other=0, missing=0)}, adjacency=sf.Replace(), size=4)
    held = Complement.calibrate(bind(sf.histogram("x"), halves), sf.Approximate(1.0, 0.01))
    run = Pipeline(sf.histogram("x"), halves, held)
    both = {"inputs": [0, 1, 1], "adjacency": "replace", "records": [0, 1, None, 7]} | more
    yield Target("two counts of a public total, complement", run, held.guarantee(), both)
    odd = sf.workload("x", [[1, 1, -1], [1, -1, 3]])
    mechanism = ParityCube.calibrate(bind(odd, settled), sf.Pure(1.0))
    yield Target("odd rows, parity-cube", Pipeline(odd, settled, mechanism), mechanism.guarantee(), choices | more)
    yield from _read_by_row()
    yield from _through_the_engine()
    yield from _whole_tables()
    yield from EVERYDAY
    cut = sf.Schema(COLUMN, version="2")
    for spend in (sf.Pure(1.0), sf.Approximate(1.0, 0.05)):
        query = sf.running("x", 0, 1, 2, 4)
        for option in options(bind(query, cut), spend, frozenset({"fixed-dates"})):
            name = f"{query.name}, {option.mechanism.strategy}, {option.mechanism.law.name}"
            choices = {"inputs": NUMBERS, "generator": _words, "seed": 1}
            yield Target(name, Pipeline(query, cut, option.mechanism), option.mechanism.guarantee(), choices)
    labels = sf.Schema({"x": sf.Categories([0, 1, 2])})
    for query in (sf.most_popular("x"), sf.top("x", 2)):
        for option in options(bind(query, labels), sf.Pure(1.0)):
            choices = {"inputs": [0, 1, 1, 2], "records": [0, 1, 2, None, 7], "generator": _words, "seed": 1}
            run = Pipeline(query, labels, option.mechanism)
            yield Target(f"{query.name}, {option.name}", run, option.mechanism.guarantee(), choices)
    texts = sf.Schema({"x": sf.Texts()})
    found = KeyDiscovery.calibrate(bind(sf.count().by(sf.discovered("x")), texts), sf.Approximate(1.0, 0.05))
    choices = {"inputs": ["a", "a", "b"], "records": ["a", "b", "rare", None], "generator": _words, "seed": 1}
    yield Target("discovered keys", Discovery(found), found.guarantee(), choices)
    coins = KeySelection.calibrate(bind(sf.count().by(sf.discovered("x")), texts), sf.Approximate(1.0, 0.05))
    yield Target("discovered names", Discovery(coins), coins.guarantee(), choices)
    response = RandomizedResponse.calibrate(sf.Categories(["a", "b", "c"]), sf.Approximate(1.0, 0.05))
    choices = {"inputs": [0, 1, 2], "adjacency": "replace", "records": [0, 1, 2], "generator": _words, "seed": 1}
    yield Target("randomized response", Responses(response), response.guarantee(), choices)
    line = tuple(tuple(abs(x - y) / 2 for y in range(3)) for x in range(3))
    channel = FiniteChannel.calibrate(line, sf.Approximate(1.0, 0.05))
    yield Target("finite channel", Responses(channel), channel.guarantee(), choices)


def _words(seed: int) -> Any:
    return seeded(seed)


EVERYDAY = list(_asked_every_day())
TARGETS = list(_targets())
