"""How far neighbors move exact answers, by brute force over tables of corner rows.

Every pair of neighboring tables with a few corner rows is tried: the exact vectors never differ by more than the
claimed sensitivity in any norm, and for each claim that the proofs call tight some pair attains it.
"""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

import reference
import sfumato as sf
from sfumato.privacy.adjacency import AddRemove, Person, Replace, Row
from sfumato.queries import (
    bind,
    bins,
    col,
    count,
    difference,
    histogram,
    items,
    mean,
    quantiles,
    ratio,
    share,
    std,
    sum,
    top,
    variance,
)  # fmt: skip
from sfumato.spaces import Interval
from sfumato.spaces.schema import Schema

SPACES = {
    "x": sf.Interval(-2, 4, 2),
    "f": sf.Interval(0, 3, 1, missing=1),
    "c": sf.Categories(["a", "b"]),
    "h": sf.Subsets(["p", "q", "r"], cap=2),
}
NOTHING = {"x": math.nan, "f": None, "c": "?", "h": None}
CORNERS = [
    NOTHING,
    {"x": math.inf, "f": math.inf, "c": "a", "h": ["p", "q", "r"]},
    {"x": -1e308, "f": -math.inf, "c": "b", "h": ["r"]},
    {"x": 0.0, "f": math.nan, "c": "b", "h": []},
    {"x": 2.0, "f": 2.0, "c": "a", "h": ["q", None, "z"]},
    {"x": math.inf, "f": math.inf, "c": "b", "h": ["p", "q"]},
    {"x": -math.inf, "f": -1.0, "c": "a", "h": ["r", "r"]},
    {"x": -math.inf, "f": math.inf, "c": "a", "h": None},
]
VECTORS = [
    count(), count().where("c == 'a'"), histogram("c"), histogram("c", bins("x", -2, 0, 4)), sum("x"), sum("f"),
    sum("x").by("c"), sum("f").by("c"), sum("f").where(col("c") == "a"), mean("x"), mean("f"), mean("x").by("c"),
    mean("f").by("c"), variance("x"), variance("f").by("c"), items("h"), items("h").by("c"),
    std("x").by("c"), share("c == 'a'"),
    share("x >= 2").by("c").where("f <= 2"), share("x >= 2", weight="f"), mean("x", weight="f"),
    mean("x", weight="f").by("c"), sum("x", weight="f"), sum("x", weight="f").by("c"), count(weight="f").by("c"),
    ratio("x", "f", bounds=(-5, 5)), ratio("x", "f", bounds=(-5, 5)).by("c"),
    *(difference(of, across="c", between=("a", "b")) for of in (count(), sum("x"), mean("x"), share("x >= 2"))),
    difference(count(), across="c", between=("b", "a")).by(bins("x", -2, 0, 4)),
    difference(sum("x", weight="f"), across="c", between=("a", "b")),
]  # fmt: skip
RANKED = [quantiles("x", [0.25, 0.5, 0.9]), quantiles("f", 0.5).by("c"), top("h", 1), top("c", 1), top("h", 2).by("c")]
SCHEMAS = [
    Schema(SPACES, unit, adjacency, size=3 if isinstance(unit, Row) and adjacency == Replace() else None)
    for unit in (Row(), Person("id", 1), Person("id", 2))
    for adjacency in (AddRemove(), Replace())
]
NAMES = [f"{type(s.unit).__name__}{s.unit.rows}-{s.adjacency.name}" for s in SCHEMAS]


def tables(schema):
    """For each set of bystanders (scores depend on them), the tables that differ in one unit; first without it.

    A person may have more rows than count, so that bounding has a choice.
    """
    most = 1 if isinstance(schema.unit, Row) else schema.unit.rows + 1
    places = range(len(CORNERS))
    own = [rows for size in range(most + 1) for rows in itertools.combinations_with_replacement(places, size)]
    for others in ((), (1, 2), (4, 4)):
        bystanders = [{**CORNERS[place], "id": f"other{i}"} for i, place in enumerate(others)]
        yield [[*bystanders, *({**CORNERS[place], "id": "me"} for place in rows)] for rows in own]


def differences(answers, schema):
    """Between neighbors: with and without the unit, or any two contents of it (a row stays a row)."""
    answers = np.array(answers, dtype=object)
    if isinstance(schema.adjacency, AddRemove):
        return answers[1:] - answers[:1]
    answers = answers[1:] if isinstance(schema.unit, Row) else answers
    one, other = np.triu_indices(len(answers), 1)
    return answers[one] - answers[other]


def exact(question, rows):
    """The exact vector of coerced rows, by the slow engine."""
    totals = reference.answered(rows, question.statistic, question.schema)
    if question.query.kind == "items":
        groups, many = question.groups.count, question.dimension // question.groups.count
        totals = [[totals[group, item] for item in range(many)] for group in range(groups)]
    return question.vector(np.array(totals, dtype=object))


@pytest.mark.parametrize("schema", SCHEMAS, ids=NAMES)
def test_no_neighbors_are_further_apart_than_claimed_and_some_are_that_far(schema):
    held = [[reference.counted(rows, schema) for rows in options] for options in tables(schema)]
    for query in VECTORS:
        question = bind(query, schema)
        moved = np.concatenate([
            np.abs(differences([exact(question, rows) for rows in options], schema)) for options in held
        ])  # fmt: skip
        assert moved.sum(axis=1).max() == question.sensitivity("l1"), query.name
        assert moved.max() == question.sensitivity("linf") == question.coordinate_sensitivity(), query.name
        squared = int((moved * moved).sum(axis=1).max())
        assert squared <= Fraction(question.sensitivity("l2")) ** 2, query.name
        assert math.sqrt(squared) == pytest.approx(question.sensitivity("l2"), rel=1e-12), query.name


@pytest.mark.parametrize("schema", SCHEMAS, ids=NAMES)
def test_no_neighbors_spread_the_scores_more_than_claimed_and_some_do_as_much(schema):
    for query in RANKED:
        question = bind(query, schema)
        worst = 0
        for options in tables(schema):
            change = differences([scores(question, rows) for rows in options], schema)
            together = (change.max(axis=-1) - change.min(axis=-1)).sum(axis=-1)  # over the cells
            worst = max(worst, together.max())
            assert worst <= question.spread, query.name
        assert worst == question.spread, query.name


def scores(question, rows):
    """An array (probabilities, cells, candidates) of penalties, or (1, cells, items) of counts."""
    found = reference.answer(rows, question.statistic, question.schema)
    cells = range(question.cells.count)
    if isinstance(question.schema.space(question.query.column), Interval):
        return np.array([[penalties(question.lattice, found, cell, p) for cell in cells]
                         for p in question.probabilities], dtype=object)  # fmt: skip
    items = range(len(question.items))
    return np.array([[[found[cell, item] for item in items] for cell in cells]], dtype=object)


def penalties(lattice, found, cell, p):
    """max(0, L - p n, U - (1 - p) n) / (2 max(p, 1 - p)) of every lattice point."""
    points = range(lattice.low, lattice.high + 1)
    counts = [found[cell, point] for point in points]
    rows = int(np.sum(counts))
    below = [int(np.sum(counts[:i])) for i in range(len(counts))]
    above = [rows - b - c for b, c in zip(below, counts, strict=True)]
    scale = 2 * max(p, 1 - p)
    return [max(Fraction(0), b - p * rows, a - (1 - p) * rows) / scale for b, a in zip(below, above, strict=True)]
