"""Our own mechanisms as targets of the auditor: `python -m sfumato.auditing own:TARGETS` in this folder.

Each target is a whole pipeline: a column of a table goes through the schema, the engine's coercion (its slow
twin, which the tests hold to the engine integer for integer), the question and its mechanism, and comes out as what a
release holds.  The auditor makes the neighbors, hostile values included.  The error rate 1e-6 is shared by the
whole list.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parent.parent))

import sfumato as sf
from reference import answer, counted, position
from sfumato.auditing import Target
from sfumato.mechanisms import KeyDiscovery, RandomizedResponse
from sfumato.mechanisms.ranks import Ranks
from sfumato.planner import options
from sfumato.privacy.guarantees import Guarantee
from sfumato.queries import Query, bind
from sfumato.queries.popular import Popular
from sfumato.queries.quantiles import Quantiles
from sfumato.randomness import seeded

COLUMN = {"x": sf.Interval(0, 4, step=1)}
NUMBERS = [0.0, 1.0, 1.0, 3.0, 4.0, 2.5]


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
        if isinstance(question, Popular):
            return question.scores(cells, values, counts)
        return [Ranks.counted(values[cells == k], counts[cells == k]) for k in range(question.cells.count)]


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
class Responses:
    """Randomized response on a fixed number of records."""

    mechanism: RandomizedResponse

    def __call__(self, data: Any, rng: Any) -> Any:
        places = [int(value) % len(self.mechanism.space.values) if value == value else 0 for value in data]
        return self.mechanism.release(np.array(places, dtype=np.int64), rng).tolist()


@dataclass
class Discovery:
    """The keys that enough rows hold, with their noisy counts."""

    mechanism: KeyDiscovery

    def __call__(self, data: Any, rng: Any) -> Any:
        keys = sorted({value for value in data if isinstance(value, str)})
        noisy = self.mechanism.release(np.array([data.count(key) for key in keys], dtype=np.int64), rng)
        return {key: int(count) for key, count in zip(keys, noisy, strict=True) if count}


def _questions() -> Iterator[tuple[Query, Guarantee]]:
    pure = sf.Pure(1.0)
    for query in (
        sf.count(), sf.count().where("x >= 2"), sf.sum("x"), sf.mean("x"), sf.variance("x"), sf.histogram("x"),
        sf.median("x"), sf.quantiles("x", [0.25, 0.5, 0.9]), sf.mean("x").by(sf.bins("x", 0, 2, 4)),
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
    yield from _read_by_row()
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
    response = RandomizedResponse.calibrate(sf.Categories(["a", "b", "c"]), sf.Approximate(1.0, 0.05))
    choices = {"inputs": [0, 1, 2], "adjacency": "replace", "records": [0, 1, 2], "generator": _words, "seed": 1}
    yield Target("randomized response", Responses(response), response.guarantee(), choices)


def _words(seed: int) -> Any:
    return seeded(seed)


TARGETS = list(_targets())
