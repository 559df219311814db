"""Questions of a workload as weights of rows: the same numbers as engines count, and bounds that every row keeps."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

import sfumato as sf
from sfumato.errors import ParameterError, SchemaError, SfumatoError, UnsupportedQuery
from sfumato.queries import bind
from sfumato.queries.goals import UNIT, Batch, goals_of
from sfumato.queries.view import SecretView

COLUMNS = {
    "x": sf.Interval(-2, 3, step=0.5), "y": sf.Interval(0, 1, step=1e-15), "c": sf.Categories(["a", "b", "c"]),
    "d": sf.Dates("2020-01-01", "2020-02-01"), "h": sf.Subsets(["p", "q"], cap=2),
}  # fmt: skip
COUNTED = [
    sf.count(), sf.count().where("x >= 0.5 and not c == 'a'"), sf.count().where("x != 1 or c in ['b', 'c']"),
    sf.histogram("c"), sf.histogram("c", sf.bins("x", -2, 0, 1, 3)), sf.crosstab("c", "x"),
    sf.count().where("d >= '2020-01-20'").by("c"), sf.count().where("'p' in h and x < 2"),
]  # fmt: skip
VALUED = [sf.mean("x"), sf.mean("x").by("c").where("d < '2020-01-20'"), sf.sum("y"), sf.share("x >= 1").by("c")]
SMOOTH = [sf.gaussian_mixture(["x", "y"], [[0, 0.5], [1, -1]], 0.7), sf.smooth(["x"], {(1,): 0.5, (2,): -0.5})]


def view_of(seed, rows=300):
    chance = np.random.default_rng(seed)

    def some(values):
        return [None if chance.random() < 0.1 else values[place] for place in chance.integers(0, len(values), rows)]

    days = [np.datetime64("2019-12-25") + np.timedelta64(day, "D") for day in range(50)]
    held = {
        "x": some([-9.0, -2.0, -0.6, 0.0, 0.5, 1.0, 2.7, 3.0, 8.0, float("nan")]), "y": some([0.0, 0.3, 1.0, 2.0]),
        "c": some(["a", "b", "c", "?"]), "d": some([str(day) for day in days]),
        "h": some([["p"], ["q", "p"], [], ["z"]]),
    }  # fmt: skip
    table = sf.read(pa.table(held), schema=COLUMNS, dataset="d")
    question = bind(sf.synthetic(workload=[*COUNTED, *VALUED, *SMOOTH]), table.schema)
    return table, question, SecretView(table, question.columns, question.parts)


def sums(question, view):
    return [
        sum(goal.sums(Batch(batch, question.schema)) for batch in view.batches()) for goal in question.goals
    ]  # fmt: skip


@pytest.mark.parametrize("seed", range(2))
def test_goals_count_what_engines_count(seed):
    table, question, view = view_of(seed)
    found = sums(question, view)
    for goal, numbers in zip(question.goals, found, strict=True):
        exact = bind(goal.query, table.schema)
        told = np.asarray(exact.answer(table), dtype=object)
        if goal.values is None:
            histogram = np.asarray(exact.counts(table) if goal.query.kind == "workload" else told, dtype=np.int64)
            assert (numbers == UNIT * histogram).all(), goal.query.name
            continue
        one, other = numbers.reshape(-1, 2).T / UNIT
        a, b = np.asarray(told, dtype=float).reshape(-1, 2).T if len(told) == len(numbers) else (told, None)
        if b is None:  # a sum: above the lower bound
            assert one.sum() == pytest.approx(_above(exact, told), rel=1e-3)
            continue
        width = max(float((a + b).sum()) / max(1.0, float((one + other).sum())), 1e-12)
        assert one == pytest.approx(a / width, abs=300 / UNIT)
        assert other == pytest.approx(b / width, abs=300 / UNIT)


def _above(exact, told):
    """The sum of a column from 0 to 1, in steps of 1e-15."""
    return float(exact.estimate(told)[0])


@pytest.mark.parametrize("seed", range(2))
def test_a_row_gives_no_more_than_one(seed):
    """Whatever indices come in: also those of no value."""
    _, question, _ = view_of(seed)
    chance = np.random.default_rng(seed)
    wild = {
        column.name: chance.integers(-1, 3 + (column.points if column.edges else column.size), 200)
        for column in question.levels
    }
    whole = Batch(wild, question.schema)
    for goal in question.goals:
        out = np.zeros((whole.rows, goal.size), dtype=np.float32)
        goal.spread(whole, out)
        assert (out >= 0).all()
        assert (out.sum(axis=1) <= 1 + 1e-6).all()
        one = sum(
            goal.sums(Batch({name: held[[row]] for name, held in wild.items()}, question.schema)) for row in range(200)
        )
        assert (one == goal.sums(whole)).all()  # a row gives the same whatever stands beside it
        assert goal.sums(whole).min() >= 0


@pytest.mark.parametrize(
    ("query", "kind", "said"),
    [
        (sf.median("x"), UnsupportedQuery, "ask the made table"),
        (sf.mean("x", weight="y"), UnsupportedQuery, "weights"),
        (sf.count().where("x is null"), UnsupportedQuery, "made rows do not tell"),
        (sf.count().where("z == 1"), SfumatoError, "z"),
        (sf.count().by("c", sf.bins("y", count=30_000)), UnsupportedQuery, "fewer queries"),
        (sf.histogram("month(d)"), ParameterError, "columns of the synthetic table"),
    ],
)
def test_what_no_made_row_can_tell_is_refused(query, kind, said):
    schema = sf.Schema(COLUMNS)
    with pytest.raises(kind, match=said):
        bind(sf.synthetic(workload=[query]), schema)


def test_columns_that_are_not_made_are_refused():
    with pytest.raises(ParameterError, match="'c' of 'histogram of c' is none"):
        bind(sf.synthetic(["x"], workload=[sf.histogram("c")]), sf.Schema(COLUMNS))
    assert goals_of([], sf.Schema(COLUMNS), []) == ()


def test_a_column_named_like_a_part_is_not_taken_for_it():
    """`h has a` is what the flag of an item is called; beside the set itself the two names are refused as one."""
    spaces = {"h": sf.Subsets(["a", "b"], 2), "h has a": sf.Integers(0, 5), "x": sf.Integers(0, 9)}
    asked = [sf.count().where("'a' in h")]
    with pytest.raises(ParameterError, match=r"'h' of .* is none of them"):
        bind(sf.synthetic(["h has a", "x"], workload=asked), sf.Schema(spaces))
    with pytest.raises(ParameterError, match="'h has a' twice"):
        bind(sf.synthetic(workload=asked), sf.Schema(spaces))
    assert bind(sf.synthetic(["h", "x"], workload=asked), sf.Schema(spaces))


@pytest.mark.parametrize("name", ["\0weight", "\0rows", "\0"])
def test_no_column_is_named_like_what_mechanisms_count_beside_columns(name):
    with pytest.raises(SchemaError, match="begins with a zero byte"):
        sf.Schema({name: sf.Integers(0, 3)})
