"""The contract of engines: the same whole numbers as plain Python, on every backend, whatever the rows hold."""

import datetime
import math
import os
import random
from collections import Counter
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest

import reference
import sfumato as sf
from sfumato.engines import Table
from sfumato.engines.backends import quiet
from sfumato.mechanisms.synthetic.marginals.counting import pair_counts, single_counts
from sfumato.privacy.adjacency import Person, Row
from sfumato.queries import bind, bins, col, count, discovered, histogram, items, mean, median, sum, top, variance
from sfumato.queries.refined import refined
from sfumato.spaces.schema import Schema

ENGINES = ["duckdb", *(pytest.param(name, marks=getattr(pytest.mark, name)) for name in ("spark", "postgres"))]

COLUMNS = {
    "x": sf.Interval(-2.5, 7.5, 0.1),
    "n": sf.Integers(-5, 300, missing=7),
    "d": sf.Interval(-3000, 3000, 3),
    "t": sf.Interval(0, 1, 1e-4, missing=0.5),
    "wide": sf.Interval(0, 2**30, 1),
    "c": sf.Categories(["a", "b", "é"], other="else", missing="none"),
    "label": sf.Categories([0, 1, 300]),
    "h": sf.Subsets(["judo", "go", "é", "chess"], cap=2),
    "g": sf.Subsets([1, 20, 3], cap=2, separator="|"),
    "value": sf.Texts(3),
}

HOSTILE = pa.table(
    {
        "x": pa.array([math.nan, math.inf, -math.inf, 1e308, -0.0, None, 0.25, 0.15, 7.45, -2.449999999, 5e-324, 0.05]),
        "n": pa.array([2**63 - 1, -(2**63), None, 0, 300, -5, 301, -6, 7, 7, 8, 9], pa.int64()),
        "d": pa.array([None, *(Decimal(v) for v in ("1.5", "-1.5", "4.5", "1e20", "-1e20", "3", "2.9999999999", "0",
                                                    "-0.5", "1499.9", "7"))], pa.decimal128(38, 10)),
        "t": pa.array(["0.00005", " 1e-4", "nan", "inf", "-inf", "1e999", "", None, "0x1", "1_0", "0.5\n", ".5\t"]),
        "wide": pa.array([2.0**30] * 6 + [2.0**30 - 0.5, 0.4, 0.5, None, math.nan, 1e9]),
        "c": pa.array(["a", "b", "é", "A", "", None, "a ", "else", "none", "a", "b", "zzz"]),
        "label": pa.array(["0", " 1", "+300", "300.0", None, "", "9" * 30, "-0", "1", "0", "0", "300"]),
        "h": pa.array([["go", "go", None, "golf"], ["judo", "go", "é", "chess"], [], None, [None], ["é"], ["", "go"],
                       ["chess"], ["judo"], ["go"], ["go", "judo"], ["GO"]]),
        "g": pa.array(["1|20", "3 | 1|1|20", "", None, "|", "20", "x|3", "03", "1", "99", "1;3", "3"]),
        "value": pa.array(["Ljubljana", "Lju", "", None, "日本語文字", "a", "a", "b", "b", "c", "é", "x\x1fy"]),
        "id": pa.array([1, 1, 1, 1, 2, 2, None, 3, 3, None, 4, 2], pa.int64()),
    }
)  # fmt: skip

UNITS = [Row(), Person("id", 1), Person("id", 3)]
LEFT = [(Row(), 1), (Person("id", 1), 0)]  # asked at leisure
QUESTIONS = [
    count(),
    count().where("x >= 0.2 or not (c == 'a')"),
    count().where((col("h").contains("go") | col("g").contains(3)) & ~(col("n") < 7)),
    histogram("c", "label"),
    histogram(bins("x", -2.5, 0, 0.1, 7.5), bins("n", -5, 305, count=10)),
    sum("d").by("c"),
    sum("wide"),
    mean("x").by("label", "c"),
    mean("t").where("label != 0"),
    variance("wide"),
    variance("n").by(bins("x", -2.5, 0, 2.5, 5, 7.5)),
    median("x").by("c"),
    median("d"),
    median("t"),
    top("h", 2).by("label"),
    top("g", 2),
    items("g").by("label"),
    top("c", 2),
    count().by(discovered("value")),
    count().where("x < 1").by(discovered("value")),
    count().where("n is null"),
    count().where("c is null or t is not null").by("label"),
    count().where("x is null or label is null or h is null"),
    count().where("value = 'a' OR startswith(value, 'Lj')"),
    count().where("value <> 'a'"),
    count().where("n in [7, 8, 9, 300, 5.5] & d between -3 and 3"),
    sum("n").where("NOT value IN ('a', 'b') and startswith(c, 'e')"),
]


LIMITED = [
    count().per_person(rows=2),
    count().where("x >= 0.2 or not (c == 'a')").per_person(each=1),
    histogram("c", "label").per_person(each=1, groups=2),
    sum("d").by("c").per_person(each=2, groups=1),
    sum("wide").per_person(total=(0, 2**31)),
    sum("n").by("label").per_person(total=(-7, 250), groups=2),
    mean("x").by(bins("n", -5, 7, 305)).per_person(each=1, groups=2),
    sf.rows_per_person(0.5, most=3).where("n > 0"),
]


def _ratio(row):
    return None if None in (row["x"], row["n"]) or row["n"] == 0 else row["x"] / row["n"]


def _logarithm(row):
    return None if row["wide"] is None or row["wide"] <= 0 else math.log(row["wide"])


def _chosen(row):
    if row["c"] in ("a", "b"):
        return None if None in (row["x"], row["d"]) else min(row["x"], row["d"], 3.0)
    return None if row["x"] is None else abs(row["x"]) * 2.0 - 1.0


COMPUTED = {  # each beside the same in plain Python
    "ratio": ("x / n", sf.Interval(-2, 2, 0.25), _ratio),
    "power": ("log(wide)", sf.Integers(0, 25, missing=3), _logarithm),
    "huge": ("exp(d) * exp(d)", sf.Interval(-1, 5, 0.5),
             lambda row: None if row["d"] is None else math.inf if row["d"] > 350 else math.exp(row["d"]) ** 2),
    "chosen": ("min(x, d, 3) if c in ['a', 'b'] else abs(x) * 2 - 1", sf.Interval(-3, 9, 0.1), _chosen),
    "filled": ("'none' if n is null else 'low' if n < 8 else c", sf.Categories(["none", "low", "a", "é"]),
               lambda row: "none" if row["blank"]["n"] else "low" if row["n"] < 8 else row["c"]),
    "both": ("x >= 0 and not (value == 'a' or 'go' in h)", sf.Categories([False, True]),
             lambda row: bool(row["x"] is not None and row["x"] >= 0
                              and not (row["value"] == "a" or "go" in (row["h"] or ())))),
    "floored": ("floor(label / 7)", sf.Categories([0, 42]),
                lambda row: None if row["label"] is None else math.floor(row["label"] / 7)),
    "nothing": ("x / (n - n)", sf.Interval(0, 1, 1), lambda row: None),
}  # fmt: skip
DERIVED = [
    count().by("filled", "both"),
    count().by("floored"),
    count().where("nothing is null"),
    count().where("not (ratio > 0.5) and power < 10"),
    histogram(bins("ratio", -2, 0, 2), "filled"),
    sum("power"),
    sum("nothing"),
    mean("chosen").by("both"),
    mean("huge"),
    variance("ratio").where("huge >= 0"),
    median("chosen"),
    top("filled", 2),
]


@pytest.fixture(scope="module")
def spark():
    """A local Spark session."""
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master("local[2]").appName("sfumato").config("spark.ui.enabled", "false")
    session = builder.config("spark.sql.shuffle.partitions", "2").getOrCreate()
    yield session
    session.stop()


@pytest.fixture(params=ENGINES)
def opened(request):
    """A function from an Arrow table to what `sf.read` takes, on one backend."""
    if request.param == "duckdb":
        return lambda table: table
    import ibis

    if request.param == "postgres":
        owner, reader = request.getfixturevalue("server")

        def on_postgres(table):
            owner.create_table("held", table, overwrite=True)
            owner.raw_sql("GRANT SELECT ON held TO reader").close()
            return reader.table("held")

        return on_postgres

    session = request.getfixturevalue("spark")

    def on_spark(table):
        with quiet():
            session.createDataFrame(table).createOrReplaceTempView("held")
            return ibis.pyspark.connect(session).table("held")

    return on_spark


def asked(source, rows, schema, questions, computed=None):
    """Every question's answer on the engine beside the reference's."""
    table = sf.read(source, schema=schema)
    for question in questions:
        statistic = bind(question, schema).statistic
        found = reference.comparable(table.answer(statistic), statistic)
        yield question.name, found, reference.answer(rows, statistic, schema, computed)


@pytest.mark.parametrize("unit", UNITS, ids=["row", "person-1", "person-3"])
def test_hostile_rows_give_the_integers_of_plain_python(opened, unit):
    schema = Schema(COLUMNS, unit)
    for name, found, expected in asked(opened(HOSTILE), HOSTILE.to_pylist(), schema, QUESTIONS):
        assert found == expected, name


@pytest.mark.parametrize("unit", UNITS[::2], ids=["row", "person-3"])
def test_questions_that_are_foreseen_together_give_the_integers_of_plain_python(opened, unit, monkeypatch):
    passes, whole = [], Table._expression
    monkeypatch.setattr(Table, "_expression", lambda *given, **named: passes.append(1) or whole(*given, **named))
    schema = Schema(COLUMNS, unit)
    table, rows = sf.read(opened(HOSTILE), schema=schema), HOSTILE.to_pylist()
    questions = [bind(query, schema) for query in (*QUESTIONS, count(), top("label", 1))]
    for question in questions:
        table.foresee(question.answer)
    assert not passes
    for question in reversed(questions):
        found = reference.comparable(table.answer(question.statistic), question.statistic)
        assert found == reference.answer(rows, question.statistic, schema), question.name
    if table.source.get_backend().name == "pyspark":
        assert len(passes) <= len(questions) // 2
    again = bind(count(), schema).statistic  # nothing is left of what was foreseen
    assert (table.answer(again)[0][0], table._foreseen._held) == (reference.answer(rows, again, schema)[0][0], {})


@pytest.mark.parametrize("unit", UNITS, ids=["row", "person-1", "person-3"])
def test_sets_of_very_many_items_are_the_same_sets(opened, unit, monkeypatch):
    monkeypatch.setattr("sfumato.engines.sets.FEW", 1)  # as if four items were too many for an expression
    columns = COLUMNS | {"g": sf.Subsets([1, 20, 3], cap=2, separator="|", na=["x", 99])}
    schema = Schema(columns, unit)
    about_sets = [query for query in QUESTIONS if not {"h", "g"}.isdisjoint(query.columns)]
    assert len(about_sets) > 4
    for name, found, expected in asked(opened(HOSTILE), HOSTILE.to_pylist(), schema, [count(), *about_sets]):
        assert found == expected, name


@pytest.mark.parametrize("where", [None, "x >= 0.2 or not (c == 'a')"], ids=["all", "some"])
@pytest.mark.parametrize("unit", UNITS, ids=["row", "person-1", "person-3"])
def test_streamed_rows_are_those_of_plain_python(opened, unit, where):
    schema, wanted = Schema(COLUMNS, unit), ["c", "x", "label", "n", "h", "t", "g", "c"]
    condition = None if where is None else count().where(where).bound_condition(schema)
    table = sf.read(opened(HOSTILE), schema=schema)
    found = Counter()
    for batch in table.rows(wanted, condition):
        found.update(zip(*(batch[name].tolist() for name in wanted), strict=True))
    kept = [row for row in reference.counted(HOSTILE.to_pylist(), schema) if reference.holds(condition, row, schema)]
    assert found == Counter(tuple(reference.position(row[name], schema.space(name)) for name in wanted) for row in kept)


@pytest.mark.parametrize("few", [0, 1 << 20], ids=["read", "counted"])
@pytest.mark.parametrize("unit", UNITS, ids=["row", "person-1", "person-3"])
def test_curves_are_learned_from_the_distinct_rows_of_plain_python(opened, unit, few, monkeypatch):
    monkeypatch.setattr("sfumato.queries.functions.learning.FEW", few)
    monkeypatch.setattr("sfumato.queries.functions.learning.GRID", 64)  # so that several lattice points are one
    schema = Schema(COLUMNS | {"c": sf.Categories(["b", "a"])}, unit, size=12)
    table, kept = sf.read(opened(HOSTILE), schema=schema), reference.counted(HOSTILE.to_pylist(), schema)
    asked = [
        (sf.regression("n", "x", bandwidth=2.0, penalty=0.1), {"x": 2, "n": 1}),
        (sf.regression("x", ["n", "d"], bandwidth=[200.0, 4000.0], penalty=0.1), {"n": 5, "d": 32, "x": 1}),
        (sf.classification("c", "n", bandwidth=100.0, penalty=0.1).where("x >= 0.2 or n > 7"), {"n": 5, "c": 1}),
    ]
    for query, widths in asked:
        question = bind(query, schema)
        assert (question.statistic is None) == (few == 0)
        condition = query.bound_condition(schema)
        places = [
            tuple(reference.position(row[name], schema.space(name)) for name in widths)
            for row in kept
            if reference.holds(condition, row, schema)
        ]
        expected = Counter(
            tuple(place // width for place, width in zip(row, widths.values(), strict=True))
            for row in places
            if min(row) >= 0
        )
        rows, counts = question.distinct(table)
        assert list(zip(map(tuple, rows.tolist()), counts.tolist(), strict=True)) == sorted(expected.items())
        assert len(question.answer(table)) == question.reading.size


@pytest.mark.parametrize("unit", UNITS, ids=["row", "person-1", "person-3"])
def test_tables_that_synthesis_counts_are_those_of_plain_python(opened, unit):
    schema = Schema({name: space for name, space in COLUMNS.items() if name != "value"}, unit)
    question = bind(sf.synthetic(), schema)
    view, kept = (
        question.answer(sf.read(opened(HOSTILE), schema=schema)),
        reference.counted(HOSTILE.to_pylist(), schema),
    )
    held = {
        name: np.array([reference.position(row[name], schema.space(name)) for row in kept])
        for name in question.modelled
    }
    held |= {name: own for part in question.parts for name, own in part.split(held[part.name]).items()}
    levels = [column.levels(held[column.name]).tolist() for column in question.levels]
    assert len(levels) > 12  # sets as their sizes and items
    for found, own in zip(single_counts(view.batches, question.levels), levels, strict=True):
        assert {level: int(count) for level, count in enumerate(found) if count} == Counter(own)
    owners = [np.arange(column.size) % 7 for column in question.levels]
    for (one, other), found in pair_counts(view.batches, question.levels, owners).items():
        expected = Counter((a % 7, b % 7) for a, b in zip(levels[one], levels[other], strict=True))
        assert {cell: int(count) for cell, count in np.ndenumerate(found) if count} == expected


@pytest.mark.parametrize("unit", [sf.Row(), sf.Person("id", 2)], ids=["rows", "persons"])
@pytest.mark.parametrize("known", [(), ("Rome",), ("", "Paris", "Rome"), (*map(str, range(99)), "Rome")])
def test_texts_are_their_places_among_the_known_ones(opened, unit, known):
    texts = ["Paris", "Rome", None, "Parisienne", "", " Rome", "none", "rome", "Rome\n", "99"]
    held = pa.table({"id": list(range(10)), "k": texts})
    table = sf.read(opened(held), schema=Schema({"k": sf.Texts(5, na=["none"])}, unit))
    cut = [None if text in (None, "none") else text[:5] for text in texts]
    places = [-1 if text is None else known.index(text) if text in known else len(known) for text in cut]
    batches = table.rows(["k"], None, (("k", known),))
    assert sorted(place for batch in batches for place in batch["k"].tolist()) == sorted(places)
    if unit != sf.Row():
        found = [batch["k"].tolist() for _, batch in table.persons(["k"], (("k", known),))]
        assert [place for batch in found for place in batch] == places


def test_streamed_rows_come_in_bounded_batches(opened):
    held = pa.table({"x": pa.array([float(i % 97) for i in range(150_000)])})
    batches = list(sf.read(opened(held), schema=Schema({"x": sf.Interval(0, 100, 1)})).rows(["x"]))
    assert max(len(batch["x"]) for batch in batches) <= 65_536
    assert sorted(value for batch in batches for value in batch["x"]) == sorted(i % 97 for i in range(150_000))


@pytest.mark.parametrize(
    ("unit", "rows"),
    [(Row(), 0), (Person("id", 1), 1), *(pytest.param(*two, marks=pytest.mark.heavy) for two in LEFT)],
)
def test_no_row_and_one_row_take_the_same_path(opened, unit, rows):
    schema, held = Schema(COLUMNS, unit), HOSTILE.slice(0, rows)
    for name, found, expected in asked(opened(held), held.to_pylist(), schema, QUESTIONS):
        assert found == expected, name


@pytest.mark.parametrize("unit", UNITS, ids=["row", "person-1", "person-3"])
def test_fine_lattices_counted_in_runs_come_to_the_same_ranks(opened, unit):
    schema = Schema(COLUMNS, unit)
    table, rows = sf.read(opened(HOSTILE), schema=schema), HOSTILE.to_pylist()
    for query in (median("wide"), median("t").by("c").where("label != 0")):
        question = bind(query, schema)
        expected = reference.answer(rows, question.statistic, schema)
        seen = refined(table, question.statistic, question.lattice, (9, 4, 0))
        for cell, ranks in enumerate(seen):
            held = {value: count for (place, value), count in sorted(expected.items()) if place == cell}
            whole = ranks.near(0, ranks.rows)
            assert dict(zip(whole.values.tolist(), np.diff(whole.below).tolist(), strict=True)) == held, query.name


def test_a_person_with_very_many_rows_counts_as_m(opened):
    many = 20_000
    held = pa.table({"x": pa.array([float(i % 97) for i in range(many)] + [1.0]), "id": pa.array([1] * many + [2])})
    schema = Schema({"x": sf.Interval(0, 100, 1)}, Person("id", 2))
    for name, found, expected in asked(opened(held), held.to_pylist(), schema, [count(), mean("x"), median("x")]):
        assert found == expected, name


def test_a_question_s_own_limits_count_what_plain_python_counts(opened):
    schema = Schema(COLUMNS, Person("id", 1))
    table, rows = sf.read(opened(HOSTILE), schema=schema), HOSTILE.to_pylist()
    for query in LIMITED:
        question = bind(query, schema)
        found = table.under(question.schema).answer(question.statistic)
        expected = reference.answer(rows, question.statistic, question.schema)
        assert reference.comparable(found, question.statistic) == expected, query.name
    derived = {name: pair[:2] for name, pair in COMPUTED.items()}
    computed = {name: pair[2] for name, pair in COMPUTED.items()}
    schema = Schema(COLUMNS, Person("id", 1), derived=derived)
    table = sf.read(opened(HOSTILE), schema=schema)
    for query in (count().by("filled", "both").per_person(each=1, groups=2), sum("power").per_person(total=(0, 30))):
        question = bind(query, schema)
        found = table.under(question.schema).answer(question.statistic)
        expected = reference.answer(rows, question.statistic, question.schema, computed)
        assert reference.comparable(found, question.statistic) == expected, query.name


def test_events_are_joined_with_people_as_plain_python_does(opened):
    people = pa.table({"id": pa.array([1, 2, 2, 3, None, 9], pa.int64()), "age": pa.array([30, 40, 20, None, 5, 90])})
    columns = {name: COLUMNS[name] for name in ("x", "c")}
    given = {"schema": columns, "unit": "id", "rows": 2, "dataset": "events", "attributes": {"age": sf.Integers(0, 99)}}
    held = HOSTILE.select(["x", "c", "id"])
    table = sf.read(opened(held), people=people, **given)
    ages = {1: 30, 2: 20, 3: None}
    rows = [row | {"age": ages.get(row["id"])} for row in held.to_pylist()]
    for query in (count(), sum("age"), mean("x").where("age >= 25"), count().by(bins("age", 0, 25, 99))):
        statistic = bind(query, table.schema).statistic
        found = reference.comparable(table.answer(statistic), statistic)
        assert found == reference.answer(rows, statistic, table.schema), query.name


@pytest.mark.parametrize("unit", UNITS, ids=["row", "person-1", "person-3"])
def test_derived_columns_are_computed_from_each_row_as_plain_python_does(opened, unit):
    derived = {name: pair[:2] for name, pair in COMPUTED.items()}
    schema, computed = Schema(COLUMNS, unit, derived=derived), {name: pair[2] for name, pair in COMPUTED.items()}
    for name, found, expected in asked(opened(HOSTILE), HOSTILE.to_pylist(), schema, DERIVED, computed):
        assert found == expected, name


def test_parts_of_dates_are_those_of_the_calendar(opened):
    rng = random.Random(5)
    days = [None, "1583-01-01", "9999-12-31", "2000-02-29", "1900-03-01", "1970-01-01"]
    days += [datetime.date.fromordinal(rng.randrange(580_000, 3_652_000)).isoformat() for _ in range(60)]
    held = pa.table({"d": pa.array([None if day is None else datetime.date.fromisoformat(day) for day in days])})
    schema = Schema({"d": sf.Dates("1583-01-01", "9999-12-31")})
    parts = {"year": lambda day: day.year, "quarter": lambda day: (day.month + 2) // 3, "month": lambda day: day.month,
             "day": lambda day: day.day, "weekday": lambda day: day.isoweekday()}  # fmt: skip
    computed = {
        f"{part}(d)": lambda row, part=part: None if row["d"] is None else parts[part](row["d"]) for part in parts
    }
    questions = [*(count().by(f"{part}(d)") for part in parts if part != "year"), sum("year(d)"), median("year(d)"),
                 count().where("month(d) in [1, 2] and weekday(d) <= 5")]  # fmt: skip
    for name, found, expected in asked(opened(held), held.to_pylist(), schema, questions, computed):
        assert found == expected, name


@pytest.mark.parametrize("unit", UNITS, ids=["row", "person-1", "person-3"])
def test_arrays_days_and_clocks_choose_the_same_rows_of_a_person(opened, unit):
    held = pa.table(
        {
            "b": pa.array([[1.0, 2.0], [None, 11.0], [3.0], None, [math.nan, -1.0], [math.inf, 9.96], [2.0, 1.0], []]),
            "e": pa.array(["[1,2,3]", "1;2;3", "(3, 1e999, x)", "", None, "1,2", " 9 ;-inf; 0.04", "2,1,3"]),
            "d": pa.array(["2020-02-30", "soon", None, "9999-12-31", "2020-03-01", "2020-03-01x", "0000-01-01", ""]),
            "t": pa.array(["7:05", "24:00", "2020-01-01 13:45Z", None, "23:59:59.9", "1 pm", "07:05:10", " 0:00"]),
            "id": pa.array([1, 1, 1, 2, 2, None, 1, 2], pa.int64()),
        }
    )
    columns = {
        "b": sf.Box(0, 10, (2,), step=0.1),
        "e": sf.Box(0, 9, (3,), step=0.1),
        "d": sf.Dates("2020-01-01", "2020-12-31", missing="2020-05-05"),
        "t": sf.TimeOfDay("00:00", "23:00", step=900),
    }
    schema, questions = (
        Schema(columns, unit),
        [count().where("b[0] >= 2"), sum("b[1]"), sum("e[2]"), mean("d"), mean("t")],
    )
    questions.append(count().where("d is null or t < '07:30'"))
    for name, found, expected in asked(opened(held), held.to_pylist(), schema, [count(), *questions]):
        assert found == expected, name


def test_sums_outgrow_64_bits_without_overflow(opened):
    rows = 40_000  # of 2^60 each: 2^75 in all
    held = pa.table({"wide": pa.array([2.0**30] * rows)})
    schema = Schema({"wide": sf.Interval(0, 2**30, 1)})
    statistic = bind(variance("wide"), schema).statistic
    assert int(sf.read(opened(held), schema=schema).answer(statistic)[2][0]) == rows * 2**60


def test_sums_of_too_many_rows_for_64_bits_are_added_up_more_widely(opened, monkeypatch):
    monkeypatch.setattr("sfumato.engines.results.NARROW", 1)  # as if one row in a cell were too many
    schema = Schema(COLUMNS, Row())
    for name, found, expected in asked(opened(HOSTILE), HOSTILE.to_pylist(), schema, [sum("d").by("c"), sum("wide")]):
        assert found == expected, name
