"""The exact answer to what SQL is read as is what a database answers to the SQL itself, missing values and all."""

import random

import duckdb
import numpy as np
import pytest
from asking_sql import SCHEMA, rows

import sfumato as sf
from sfumato.queries import bind
from sfumato.sql import asked

ROWS = rows(400, 7)
TABLE = sf.read(ROWS, schema=SCHEMA)
TESTS = [
    "age >= 40", "age < 70.5", "30 > age", "x <> 3", "x = -3", "salary BETWEEN 100 AND 700", "state = 'CA'",
    "state <> 'NY'", "state IN ('CA', 'UT')", "state NOT IN ('CA', 'NY')", "x NOT IN (1, 2, 3)", "town LIKE 'U%'",
    "town NOT LIKE 'U%'", "town NOT IN ('Ulm', 'Bonn')", "state NOT LIKE 'U%'", "paid", "NOT paid", "paid IS TRUE",
    "paid IS NOT FALSE", "age IS NULL", "town IS NOT NULL", "day >= DATE '2026-01-15'", "day < '2026-02-01'",
    "month(day) = 12", "extract(isodow FROM day) IN (6, 7)", "list_contains(hobbies, 'chess')", "home.rent > 1200",
    "\"first name\" = 'Jo'", "NOT (age >= 40)", "age NOT BETWEEN 20 AND 60", "NOT age BETWEEN 20 AND 60",
    "year(day) <> 2026",
]  # fmt: skip
MEASURES = [
    "count(*)", "count(salary)", "count(town)", "sum(salary)", "avg(salary)", "avg(x)", "var_pop(x)", "stddev_pop(x)",
    "avg(CASE WHEN {} THEN 1 ELSE 0 END)", "count(*) FILTER (WHERE {})", "avg(tip) FILTER (WHERE {})",
    "sum(CASE WHEN {} THEN tip ELSE 0 END)", "avg(CASE WHEN {} THEN tip END)", "count_if({})", "sum(({})::int)",
    "sum(tip) / count(tip)", "count(*) FILTER (WHERE {}) / count(*)",
]  # fmt: skip
KEYS = ["state", "sex", "month(day)", "floor(x / 10) * 10", "age // 25", "date_trunc('month', day)", "isodow(day)"]


def condition(draw, depth=2):
    """A random condition."""
    if depth == 0 or draw.random() < 0.4:
        return draw.choice(TESTS)
    if draw.random() < 0.3:
        return f"NOT ({condition(draw, depth - 1)})"
    return f"({condition(draw, depth - 1)} {draw.choice(['AND', 'OR'])} {condition(draw, depth - 1)})"


def exact(query):
    """The secret answer, without noise."""
    question = bind(query, SCHEMA)
    return question.estimate(question.answer(TABLE.under(question.schema)))


@pytest.mark.parametrize("seed", range(30))
def test_a_database_answers_the_same(seed):
    compared(seed)


@pytest.mark.heavy
@pytest.mark.parametrize("part", range(10))
def test_a_database_answers_the_same_hundreds_of_times(part):
    for seed in range(100 * part, 100 * part + 100):
        compared(seed)


def compared(seed):
    """One random statement, by both."""
    draw = random.Random(seed)
    measure = draw.choice(MEASURES).format(condition(draw, 1))
    where = f" WHERE {condition(draw)}" if draw.random() < 0.7 else ""
    key = draw.choice([None, *KEYS])
    (found,) = asked(f"SELECT {measure} FROM people{where}" + (f" GROUP BY {key}" if key else ""), SCHEMA)
    ours = np.atleast_1d(np.asarray(exact(found.query), dtype=float))
    people = ROWS  # noqa: F841  (DuckDB finds the frame by its name)
    grouped = f" GROUP BY {key} HAVING {key} IS NOT NULL ORDER BY {key}" if key else ""
    text = f"{measure} of {where} by {key}"
    theirs = duckdb.sql(f"SELECT {f'{key}, ' if key else ''}{measure}, count(*) FROM people{where}{grouped}").fetchall()
    if key is None:
        assert_close([theirs[0][0]], ours, text)
        return
    places = {start(label): place for place, (label,) in enumerate(bind(found.query, SCHEMA).cells.labels())}
    assert_close([row[1] for row in theirs], ours[[places[shown(key, row[0])] for row in theirs]], text)


def start(label):
    """A group by its label, a bin by where it starts."""
    text = str(label)
    return text.split(",")[0][1:] if text.startswith("[") else text


def shown(key, value):
    """The same from what a database calls the group."""
    return f"{value * 25:g}" if key == "age // 25" else f"{value:g}" if isinstance(value, float) else str(value)[:10]


def assert_close(theirs, ours, text):
    """Equal where SQL knows an answer; of no rows it says nothing, and ours is a public stand-in."""
    known = [place for place, answer in enumerate(theirs) if answer is not None]
    np.testing.assert_allclose(
        ours[known], np.array([theirs[place] for place in known], dtype=float), rtol=1e-9, err_msg=text
    )


def test_the_spelling_of_plans_has_another_not_which_this_comparison_would_notice():
    ours = exact(sf.count().where("not age >= 40"))[0]
    people = ROWS  # noqa: F841
    theirs = duckdb.sql("SELECT count(*) FROM people WHERE NOT age >= 40").fetchall()[0][0]
    missing = int(ROWS["age"].isna().sum())
    assert missing > 20
    assert ours == theirs + missing


def test_items_ratios_and_weighted_means_are_those_of_a_database():
    people = ROWS  # noqa: F841
    counted = dict(duckdb.sql("SELECT unnest(hobbies), count(*) FROM people GROUP BY 1").fetchall())
    (found,) = asked("SELECT unnest(hobbies), count(*) FROM people GROUP BY 1", SCHEMA)
    assert list(exact(found.query)) == [counted[item] for item in ("chess", "go", "tea")]
    for text, besides in (("sum(tip) / sum(fare)", "fare"), ("sum(w * tip) / sum(w)", "w")):
        (found,) = asked(f"SELECT {text} FROM people", SCHEMA)
        both = f"SELECT {text} FROM people WHERE tip IS NOT NULL AND {besides} IS NOT NULL"  # as the note says
        assert exact(found.query)[0] == pytest.approx(duckdb.sql(both).fetchall()[0][0])
