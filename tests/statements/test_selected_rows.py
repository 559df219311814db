"""An error that depends on how many rows count is a number only where every row of the declared size counts.

For each kind of question: is its stated error the same for every declared size?  Then it holds under any condition and
in groups of any size.  Is it not?  Then a condition or groups make it a function of the number of rows, and `within`
refuses it.  The stated errors are held against tables made for the purpose: conditions that few rows meet, groups that
are nearly empty.
"""

from __future__ import annotations

import math

import numpy as np
import pyarrow as pa
import pytest

import sfumato as sf
from sfumato.accuracy.meeting import order_within
from sfumato.answers.statements import ErrorByRows, ErrorStatement
from sfumato.errors import UnsupportedQuery
from sfumato.planner import options
from sfumato.queries import bind
from sfumato.queries.kinds import ALIASES, KINDS
from sfumato.randomness import seeded

SIZE = 2000
CURVE = [f"h{i}" for i in range(4)]
COLUMNS = {
    "x": sf.Integers(0, 100),
    "w": sf.Integers(1, 4),
    "sex": sf.Categories(["f", "m"]),
    "ill": sf.Categories(["no", "yes"]),
    "city": sf.Texts(12),
    "hobbies": sf.Subsets(["a", "b", "c"], cap=2),
    "box": sf.Box(0, 1, shape=(2,), step=0.1),
    **{name: sf.Interval(-1, 1, 0.01) for name in CURVE},
}
RARE = "x >= 90"
MIXTURE = {"columns": ["x"], "centers": [[0.5]], "sigma": 2.0}
MEAN = {"query": "mean", "column": "x"}

# Questions of every kind, and whether each may be split with `by`.
ASKED = {
    "count": ({}, True),
    "sum": ({"column": "x"}, True),
    "mean": ({"column": "x"}, True),
    "variance": ({"column": "x"}, True),
    "std": ({"column": "x"}, True),
    "share": ({"condition": "ill == 'yes'"}, True),
    "ratio": ({"numerator": "h0", "denominator": "w"}, True),
    "difference": ({"of": MEAN, "across": "sex", "between": ["f", "m"]}, False),
    "correlation": ({"columns": ["x", "h0"]}, True),
    "histogram": ({"by": ["ill"]}, False),
    "quantiles": ({"column": "x", "probabilities": [0.5]}, True),
    "extent": ({"column": "x"}, False),
    "top": ({"column": "hobbies", "k": 1}, True),
    "items": ({"column": "hobbies"}, True),
    "keys": ({"column": "city"}, False),
    "choose": ({"scores": {"many": {"query": "count"}, "much": {"query": "sum", "column": "x"}}}, False),
    "workload": ({"by": "ill", "workload": [{"rows": ["each"]}]}, False),
    "pca": ({"columns": ["x", "h0"], "k": 1}, False),
    "thresholds": ({"column": "x", "points": 20, "rows": 8}, False),
    "gaussian-mixture": (MIXTURE, False),
    "smooth": ({"columns": ["x"], "degrees": [[1]], "coefficients": [1.0]}, False),
    "density": ({"columns": ["x"], "bandwidth": 10}, True),
    "distribution": ({"columns": ["x"], "bandwidth": 10}, True),
    "mean_curve": ({"columns": CURVE, "radius": 2, "waves": 1}, True),
    "covariance": ({"columns": CURVE, "radius": 2, "waves": 1}, False),
    "regression": ({"target": "h0", "columns": "x", "bandwidth": 20}, True),
    "classification": ({"target": "ill", "columns": ["x"], "bandwidth": [20]}, True),
    "small_database": ({"by": ["ill"], "workload": [{"rows": ["each"]}], "rows": 3}, False),
    "weighted mean": ({"query": "mean", "column": "x", "weight": "w"}, True),
    "weighted share": ({"query": "share", "condition": "ill == 'yes'", "weight": "w"}, True),
    "mean of arrays": ({"query": "mean", "column": "box"}, True),
    "sum of arrays": ({"query": "sum", "column": "box"}, True),
    "private bandwidth": ({"query": "density", "columns": ["x"], "bandwidth": "private"}, False),
    "shrunk regression": (
        {"query": "regression", "target": "h0", "columns": "x", "bandwidth": 20, "penalty": 0.1}, False,
    ),
    **{
        f"difference of {kind}": (
            {"query": "difference", "of": {"query": kind, **about}, "across": "sex", "between": ["f", "m"]}, False,
        )
        for kind, about in (
            ("count", {}), ("sum", {"column": "x"}), ("variance", {"column": "x"}),
            ("correlation", {"columns": ["x", "h0"]}), ("share", {"condition": "ill == 'yes'"}),
            ("ratio", {"numerator": "h0", "denominator": "w"}),
        )
    },
}  # fmt: skip
# Kinds that take neither conditions nor groups, or are about people or series, with what else states their errors.
ELSEWHERE = {
    "synthetic": "no error is stated before",
    "sanitized": "all rows",
    "trigonometric": "all rows",
    "running": "counts: tests/test_series.py",
    "rows_per_person": "ranks, as of quantiles",
}


WAYS = {"whole": {}, "condition": {"where": RARE}, "groups": {"by": "sex"}, "both": {"by": "sex", "where": RARE}}


def schema(size=SIZE, **more):
    return sf.Schema(COLUMNS, size=size, dataset="d", **more)


def variants(way):
    """Every question in one of the ways: of all rows, under a condition, in groups where it may be split, or both."""
    for name, (about, splits) in ASKED.items():
        if splits or "by" not in WAYS[way]:
            yield f"{name} {way}", {"query": name, **about, **WAYS[way]}


def bound(record, held):
    query = sf.Query.from_record(record)
    question = bind(query, held)
    spend = sf.Approximate(1.0, 1e-6)
    return question, options(question, spend, frozenset({"mixing", "real-arithmetic"}))[0].mechanism


def is_narrowed(record):
    return "where" in record or record.get("by") == "sex" or record["query"] in ("regression", "classification")


def test_every_kind_is_asked():
    assert {ASKED[name][0].get("query", name) for name in ASKED} | set(ELSEWHERE) == set(KINDS)
    assert all(given in KINDS for given, _ in ALIASES.values())


SIZED = {
    "mean", "variance", "std", "share", "ratio", "difference", "correlation", "pca", "thresholds", "gaussian-mixture",
    "smooth", "density", "distribution", "mean_curve", "covariance", "regression", "classification", "small_database",
}  # fmt: skip


@pytest.mark.parametrize(
    "way", ["condition", *(pytest.param(way, marks=pytest.mark.heavy) for way in WAYS if way != "condition")]
)
def test_an_error_that_changes_with_the_size_is_no_number_where_rows_are_selected(way):
    """The class of the mistake: whatever kind is added, its error depends on the size, or it does not."""
    found = set()
    for name, record in variants(way):
        question, mechanism = bound(record, schema())
        said = question.accuracy(mechanism, 0.05)
        fewer, other = bound(record, schema(SIZE // 4))
        again = fewer.accuracy(other, 0.05)
        depends = said.words() != again.words()
        if not depends:
            assert getattr(said, "rows", None) is None, name
            continue
        found.add(record["query"])
        if "penalty" in record:  # noise of a curve that is divided by a public number, whatever the table holds
            continue
        narrowed = is_narrowed(record) or record["query"] == "difference"
        assert isinstance(said, ErrorByRows if narrowed else ErrorStatement), name
        if narrowed:
            rows = list(said.half_widths)
            assert rows == sorted(rows, reverse=True), name
            assert rows[0] <= SIZE, name
            assert list(said.half_widths.values()) == sorted(said.half_widths.values()), name
            assert said.words().startswith("depends on how many rows "), name
        else:
            assert said.rows == SIZE, name
            assert f"{SIZE:,} rows" in said.words(), name
    asked = {record["query"] for _, record in variants(way)}
    assert found == SIZED & asked


def test_no_spend_is_found_for_an_error_that_is_not_known():
    budget = sf.Approximate(50.0, 1e-6)
    for _, record in (*variants("groups"), ("", {"query": "mean", "column": "x", "by": {"discovered": "city"}})):
        question, mechanism = bound(record, schema())
        if "discovered" not in str(record) and not isinstance(question.accuracy(mechanism, 0.05), ErrorByRows):
            continue
        with pytest.raises(UnsupportedQuery, match=r"depends on how many rows .* give a spend"):
            order_within(sf.Query.from_record(record), schema(), 0.5, budget=budget)


# simulated errors

ROWS = 400
DRAWS = 300
MISSES = 0.05 + 4.8 * math.sqrt(0.05 * 0.95 / DRAWS)
WITHOUT_NOISE = ("count", "sum", "histogram", "workload", "items", "sum of arrays", "difference of count")
IN_ITS_CASE = (
    "mean", "variance", "std", "share", "ratio", "difference", "correlation", "weighted mean", "weighted share",
    "mean of arrays", "gaussian-mixture", "density", "mean_curve", "covariance", "difference of share",
    "difference of ratio",
)  # fmt: skip


def spread(count, levels):
    """So many values, spread evenly over some levels."""
    return [levels[place * len(levels) // count] for place in range(count)] if count < len(levels) else (
        list(levels) * (count // len(levels) + 1)
    )[:count]  # fmt: skip


def frame(chosen, seed=0):
    """A table of which `chosen` rows have the label "m", values spread evenly among them; the others lie elsewhere."""
    rng = np.random.default_rng(seed)

    def column(levels, others):
        mine = spread(chosen, levels)
        return [*rng.permutation(mine).tolist(), *[others] * (ROWS - chosen)]

    half = rng.permutation(spread(chosen, ["no", "yes"])).tolist()
    kept = {
        "x": column(list(range(101)) if chosen > 200 else [0, 25, 50, 75, 100] if chosen > 4 else [13, 38, 62, 87], 3),
        "w": column([1, 2, 3, 4] if chosen > 4 else [1, 4], 2),
        "ill": half + ["no"] * (ROWS - chosen),
        "sex": ["m"] * chosen + ["f"] * (ROWS - chosen),
        "city": ["Oslo"] * ROWS,
        "hobbies": [["a"]] * ROWS,
    }
    numbers = {name: column([-1.0, 0.0, 1.0] if chosen > 4 else [-1.0, 1.0], 0.5) for name in CURVE}
    kept["box"] = [[float(low), 1.0 - low] for low in column([0.0, 1.0], 0.0)]
    return pa.table({**kept, **numbers})


def errors(question, mechanism, table, seed):
    """The distances of noisy answers from the one without noise, one row a draw."""
    exact, rng = mechanism.take(table), seeded(seed)

    def values(output):
        return np.atleast_1d(np.asarray(question.read(output, mechanism).value, dtype=float))

    truth = values(exact)
    return np.abs(np.array([values(mechanism.release(exact, rng)) for _ in range(DRAWS)]) - truth)


def missed(found, most, each):
    """How often an error is larger than what is stated: of each number by itself, or of any."""
    beyond = found > most * (1 + 1e-9)
    return float(beyond.mean(axis=0).max() if each else beyond.any(axis=1).mean())


@pytest.mark.parametrize("way", ["groups", pytest.param("condition", marks=pytest.mark.heavy)])
def test_a_number_holds_however_few_rows_are_selected(way):
    """Five of 400 rows meet the condition, or lie in one of the groups: a number that is stated must hold there."""
    few = sf.read(frame(5), schema=COLUMNS, dataset="d", size=ROWS)
    stated = set()
    for name, (about, splits) in ASKED.items():
        record = {"query": name, **about, **({"where": "sex == 'm'"} if way == "condition" else {"by": "sex"})}
        if name not in {*WITHOUT_NOISE, *IN_ITS_CASE} or (way == "groups" and not splits):
            continue
        question, mechanism = bound(record, few.schema)
        said = question.accuracy(mechanism, 0.05)
        if isinstance(said, ErrorStatement):
            stated.add(name)
            assert missed(errors(question, mechanism, few, len(name)), said.most, said.each) <= MISSES, name
    assert stated == {name for name in WITHOUT_NOISE if way == "condition" or ASKED[name][1]}


@pytest.mark.parametrize("name", IN_ITS_CASE)
def test_errors_by_rows_hold_for_as_many_rows_as_they_name(name):
    about, _ = ASKED[name]
    record = {"query": name, **about}
    record |= {} if record["query"] == "difference" else {"where": "sex == 'm'"}
    question, mechanism = bound(record, schema(ROWS))
    said = question.accuracy(mechanism, 0.05)
    assert isinstance(said, ErrorByRows)
    for one in said.at:
        table = sf.read(halves(one.rows) if record["query"] == "difference" else frame(one.rows), schema=COLUMNS,
                        dataset="d", size=ROWS)  # fmt: skip
        assert missed(errors(question, mechanism, table, one.rows), one.most, one.each) <= MISSES, one.rows


def halves(each):
    """A table of which so many rows are in each of two groups, values spread evenly in both."""
    one, other = frame(each, 1), frame(each, 2)
    place = one.column_names.index("sex")
    labels = [pa.array([label] * each) for label in ("f", "m")]
    cut = [part.slice(0, each).set_column(place, "sex", own) for part, own in zip((one, other), labels, strict=True)]
    return pa.concat_tables(cut)
