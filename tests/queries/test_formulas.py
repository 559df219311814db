"""Derived columns are functions of their row: total, the same in every file, and never more than their space allows."""

from __future__ import annotations

import ast
import datetime
import json
import random

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import sfumato as sf
from sfumato.answers.certificate import Certificate, NoBoundKnown
from sfumato.bounds.certificates import certify
from sfumato.cli import main
from sfumato.engines.table import Table
from sfumato.errors import SchemaError, SfumatoError
from sfumato.planner import options
from sfumato.plans.plan import read_plan
from sfumato.plans.writing import write_plan
from sfumato.queries import bind
from sfumato.queries.formulas import coerced_value, evaluated, formula
from sfumato.queries.parsing import condition

NUMBERS = [None, float("nan"), float("inf"), -float("inf"), 0.0, -0.0, 1.0, 2.5, -3.0, 1e308, -1e308, 5e-324]
LABELS = ["a", "b", None, "?", ""]
COLUMNS = {
    "x": sf.Interval(-4, 4, 0.5),
    "y": sf.Interval(-1e300, 1e300, 1e290, missing=0),
    "c": sf.Categories(["a", "b"], missing="a"),
    "n": sf.Categories([0, 1, 7]),
    "d": sf.Dates("1999-12-30", "2004-03-02"),
}


def drawn(rng, sort, depth):
    """The text of a random formula."""
    if sort == "number":
        leaves = ["x", "y", "n", "0", "2.5", "-1e299", "month(d)", "year(d)", "weekday(d)", "d"]
        if depth == 0:
            return rng.choice(leaves)
        one, other = drawn(rng, "number", depth - 1), drawn(rng, "number", depth - 1)
        wanted = drawn(rng, "truth", depth - 1)
        forms = ["({0} + {1})", "({0} - {1})", "({0} * {1})", "({0} / {1})", "min({0}, {1})", "max({0}, {1}, 1)"]
        forms += ["abs({0})", "floor({0})", "log({0})", "exp({0})", "-{0}", "({0} if {2} else {1})"]
        return rng.choice(forms).format(one, other, wanted)
    one, other = drawn(rng, "number", 0), drawn(rng, "number", max(0, depth - 1))
    forms = ["{0} < {1}", "{0} = {1}", "c == 'a'", "c is null", "y is null", "d >= '2001-05-05'", "n in [0, 7]"]
    forms += ["{0} between -1 and {1}", "month(d) in [1, 2, 3]", "not ({0} >= {1} or c <> 'b')"]
    return rng.choice(forms).format(one, other)


def rows_of(rng, many=40):
    days = [None, *(datetime.date(1999, 12, 30) + datetime.timedelta(days=k) for k in range(0, 2000, 37))]
    return pa.table(
        {
            "x": pa.array([rng.choice(NUMBERS) for _ in range(many)], pa.float64()),
            "y": pa.array([rng.choice(NUMBERS) for _ in range(many)], pa.float64()),
            "c": pa.array([rng.choice(LABELS) for _ in range(many)]),
            "n": pa.array([rng.choice([0, 1, 7, 8, None]) for _ in range(many)], pa.int64()),
            "d": pa.array([rng.choice(days) for _ in range(many)]),
        }
    )


def by_hand(term, space, row, schema):
    """A derived value of one stored row, by the library's plain Python."""
    held, blank = {}, {}
    for name, own in schema.columns.items():
        bare = own.coerce(row[name])
        held[name] = None if bare is None else bare
        if own.lattice is not None and bare is not None:
            held[name] = own.lattice.index(own.number(bare))
        empty = row[name] is None or row[name] != row[name]
        blank[name] = empty
    value = coerced_value(space, evaluated(term, held, schema, blank))
    return -1 if value is None else value - space.lattice.low


@pytest.mark.heavy
def test_the_engine_computes_random_formulas_as_plain_python_does_and_never_fails():
    rng, space = random.Random(11), sf.Interval(-40, 40, 0.25)
    held = rows_of(rng)
    base = sf.read(held, schema=COLUMNS, dataset="d")
    for round_ in range(2):
        texts = {f"z{k}": f"max(x, {drawn(rng, 'number', 3)})" for k in range(6)}
        schema = sf.Schema(COLUMNS, dataset="d", derived={name: (text, space) for name, text in texts.items()})
        (batch,) = Table(base.source, schema).rows(tuple(texts))
        for name, text in texts.items():
            term = formula(schema, name)
            expected = [by_hand(term, space, row, schema) for row in held.to_pylist()]
            found = np.asarray(batch[name])
            gap = np.abs(found - expected)  # exp and log may differ in their last digit, which rounding can show
            assert (gap <= (("exp" in text) or ("log" in text))).all(), (round_, text)


def python_condition(text):
    """What Python's own grammar makes of a condition without the words of SQL, as nested tuples."""

    def tree(node):
        if isinstance(node, ast.BoolOp):
            joined = tree(node.values[0])
            for value in node.values[1:]:
                joined = ("and" if isinstance(node.op, ast.And) else "or", joined, tree(value))
            return joined
        if isinstance(node, ast.UnaryOp):
            return ("not", tree(node.operand))
        return ast.unparse(node)

    return tree(ast.parse(text, mode="eval").body)


def nested(one):
    """The same of a condition of ours."""
    parts = one.parts()
    if len(parts) == 2:
        return ("and" if type(one).__name__ == "Both" else "or", *map(nested, parts))
    return ("not", nested(parts[0])) if parts else ast.unparse(ast.parse(one.words(), mode="eval").body)


def test_conditions_of_old_mean_what_pythons_grammar_means():
    rng = random.Random(3)
    leaves = ["a == 1", "b in ['x', 'y']", "c >= -2.5e3", "'it\\'s' in d", "e != 'and'", "f < 0x10", "g == True"]

    def text(depth):
        if depth == 0:
            return rng.choice(leaves)
        forms = ["{} and {}", "{} or {}", "not {}", "({})", "{} and not {}"]
        return rng.choice(forms).format(text(depth - 1), text(depth - 1))

    for _ in range(200):
        one = text(rng.randrange(5))
        assert nested(condition(one)) == python_condition(one), one


@pytest.mark.parametrize(
    ("text", "means"),
    [
        ("age = 40 AND sex <> 'f'", "(age == 40 and sex != 'f')"),
        ("age == 40 & (sex = 'f' | sex = 'm')", "(age == 40 and (sex == 'f' or sex == 'm'))"),
        ("NOT age IN (1, 2)", "not age in [1, 2]"),
        ("age not between 1 and 2 or paid = TRUE", "(not (age >= 1 and age <= 2) or paid == True)"),
        ("18 <= age < 65", "(age >= 18 and age < 65)"),
        ("~(city startswith 'L') && income is not null", "(not city startswith 'L' and not income is null)"),
        ("Month(`first day`) in [6, 7]", "month(`first day`) in [6, 7]"),
        ("between between 1 and 2", "(between >= 1 and between <= 2)"),
        ("not == 3 and true == 1", "(`not` == 3 and true == 1)"),
    ],
)
def test_python_and_sql_are_both_read(text, means):
    assert condition(text).words() == means
    assert condition(means) == condition(text)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("x +", "it ends too early"),
        ("c + 1", "expected a number, this is a text"),
        ("x if y else 2", "if is followed by a condition"),
        ("1 if x > 0 else 'a'", "both must be of one kind"),
        ("month(x)", "has no month"),
        ("month(d + 1)", "takes a declared column"),
        ("sin(x)", "there is no function sin"),
        ("z * 2", "there is no column 'z'"),
        ("1 + 1", "names no column"),
        ("x > 1", "takes a number, but its formula gives true or false"),
        ("1e999 * x", "smaller than 1e300"),
        ("x " + "+ x " * 300, "in a row"),
    ],
)
def test_a_formula_that_cannot_be_computed_is_refused_with_a_caret(text, words):
    with pytest.raises(SchemaError) as refused:
        sf.read(rows_of(random.Random(1)), schema=COLUMNS, dataset="d", derived={"q": (text, sf.Interval(0, 1))})
    assert words in str(refused.value)


PLAN = """
format = "sfumato-plan/2"
[table]
path = "NAME"
unit = "row"
dataset = "people"
[columns.day]
type = "dates"
low = "2020-01-01"
high = "2021-12-31"
[columns.pay]
type = "interval"
low = 0
high = 100
step = 1
missing = 0
[columns.hours]
type = "interval"
low = 0
high = 10
step = 0.5
[columns.rate]
from = "pay / hours"
type = "interval"
low = 0
high = 50
step = 0.5
[columns.season]
from = "'winter' if month(day) in [12, 1, 2] else 'other'"
type = "categories"
values = ["winter", "other"]
[budget]
epsilon = 1e5
[[release]]
query = "mean"
column = "rate"
by = ["season", "year(day)"]
spend = { epsilon = 1e4 }
[[release]]
query = "count"
by = { bins = "day", count = 4 }
where = "pay is null or rate is null"
spend = { epsilon = 1e4 }
"""


def test_plans_files_and_stored_releases_know_derived_columns(tmp_path):
    rng = random.Random(7)
    days = [datetime.date(2020, 1, 1) + datetime.timedelta(days=rng.randrange(700)) for _ in range(300)]
    held = pa.table(
        {
            "day": days,
            "pay": pa.array([rng.choice([None, 10.0, 50.0, 1e9]) for _ in days]),
            "hours": pa.array([rng.choice([None, 0.0, 2.0, 8.0]) for _ in days]),
        }
    )
    pq.write_table(held, tmp_path / "people.parquet")
    held.to_pandas().to_csv(tmp_path / "people.csv", index=False)
    tables = []
    for name in ("people.parquet", "people.csv"):
        place = tmp_path / name.replace(".", "-")
        place.mkdir()
        (place / "plan.toml").write_text(PLAN.replace("NAME", f"../{name}"))
        plan = read_plan(write_plan(read_plan(place / "plan.toml"), place / "again.json"))
        assert plan.schema == read_plan(place / "plan.toml").schema
        with pytest.raises(SystemExit, match="0"):
            main(["publish", str(place / "again.json"), "--out", str(place / "out")])
        files = sorted((place / "out" / "releases").glob("*.json"))
        opened = [sf.load(file) for file in files]
        assert [json.loads(release.to_bytes()) for release in opened] == [
            json.loads(file.read_text()) for file in files
        ]
        assert all("derived" in json.loads(file.read_text())["schema"] for file in files)
        tables.append([np.round(release.table()["estimate"].to_pylist(), 0).tolist() for release in opened])
    rows = held.to_pylist()
    kept = [row for row in rows if row["hours"] and row["day"].year == 2020 and row["day"].month in (12, 1, 2)]
    rates = [min(min(row["pay"] or 0, 100) / row["hours"], 50) for row in kept]
    assert tables[0] == tables[1]
    assert abs(tables[0][1][0] - np.mean(rates)) <= 1
    assert sum(tables[0][0]) == sum(row["pay"] is None or not row["hours"] for row in rows)


def test_the_former_format_of_plans_knows_no_derived_columns(tmp_path):
    (tmp_path / "plan.toml").write_text(PLAN.replace("plan/2", "plan/1"))
    with pytest.raises(SchemaError, match="derived columns"):
        read_plan(tmp_path / "plan.toml")


def test_digests_hold_what_is_derived_only_where_it_is_asked(tmp_path):
    from sfumato.release.recognition import identity_of

    plain = sf.Schema(COLUMNS, dataset="d")
    more = sf.Schema(COLUMNS, dataset="d", derived={"z": ("x + 1", sf.Interval(0, 9, 1))})
    other = sf.Schema(COLUMNS, dataset="d", derived={"z": ("x + 2", sf.Interval(0, 9, 1))})
    spend = sf.Pure(1.0)
    assert identity_of(sf.mean("x"), plain, spend).digest == identity_of(sf.mean("x"), more, spend).digest
    assert identity_of(sf.mean("z"), more, spend).digest != identity_of(sf.mean("z"), other, spend).digest
    assert set(identity_of(sf.mean("z"), more, spend).specification["columns"]) == {"x"}
    assert sf.Schema.from_record(json.loads(json.dumps(more.to_record()))) == more


def test_a_certificate_speaks_of_derived_columns_only_where_rows_can_have_every_value():
    schema = sf.Schema(COLUMNS, dataset="d", derived={"z": ("abs(x)", sf.Interval(0, 4, 0.5)),
                                                      "u": ("x * 2", sf.Interval(-4, 4, 0.5))})  # fmt: skip
    free = [sf.sum("z"), sf.count().by("month(d)"), sf.count().where("year(d) = 2000 and month(d) < 3"),
            sf.sum("z").by("weekday(d)")]  # fmt: skip
    bound = [sf.sum("u"), sf.sum("z").by("c").where("x > 1"), sf.count().by("year(d)", "month(d)"),
             sf.count().where("year(d) = 2004 and month(d) = 7"), sf.count().by("z", "u")]  # fmt: skip
    for query in free + bound:
        question = bind(query, schema)
        verdict = certify(question, options(question, sf.Pure(1.0))[0].mechanism)
        assert isinstance(verdict, Certificate if query in free else NoBoundKnown), query.name


def test_a_null_test_is_decided_by_a_persons_rows_alone_whatever_their_order():
    rows = [{"id": 1, "x": None}, {"id": 1, "x": 0.0}, {"id": 2, "x": 0.0}, {"id": 2, "x": None}]
    schema = sf.Schema({"x": sf.Interval(0, 4, 1, missing=0)}, sf.Person("id", 1), dataset="d")
    statistic = bind(sf.count().where("x is null"), schema).statistic
    counts = set()
    for turn in range(6):
        order = random.Random(turn).sample(rows, len(rows))
        table = sf.read(pa.Table.from_pylist(order), schema=schema)
        counts.add(int(table.answer(statistic)[0, 0]))
    assert len(counts) == 1


def test_a_derived_column_never_decides_which_rows_count():
    rng = random.Random(2)
    held = rows_of(rng, 60).append_column("id", pa.array([rng.randrange(9) for _ in range(60)]))
    found = []
    for derived in ({}, {"z": ("x * x", sf.Interval(0, 9, 1))}):
        schema = sf.Schema(COLUMNS, sf.Person("id", 2), dataset="d", derived=derived)
        table = sf.read(held, schema=schema)
        found.append([str(table.answer(bind(query, schema).statistic)) for query in (sf.sum("x"), sf.count().by("c"))])
    assert found[0] == found[1]


def test_bins_of_equal_width_come_from_the_declared_bounds():
    schema = sf.Schema({"age": sf.Integers(0, 120), "d": sf.Dates("2020-01-01", "2020-12-31")}, dataset="d")
    ages, days = (bind(sf.count().by(sf.bins(name, count=4)), schema).cells.keys[0] for name in ("age", "d"))
    assert ages.labels == ("[0, 30)", "[30, 60)", "[60, 90)", "[90, 120]")
    assert days.labels[:1] == ("[2020-01-01, 2020-04-02)",)
    assert len(days.labels) == 4
    with pytest.raises(SfumatoError, match="fewer"):
        bind(sf.count().by(sf.bins("age", count=500)), schema)
