"""What SQL asks beyond the subset is refused by name, with the nearest that is supported; no text is dangerous."""

import contextlib
import random

import pytest
from asking_sql import PERSONS, SCHEMA

import sfumato as sf
from clocks import count_calls
from sfumato.errors import SchemaError, SfumatoError, UnsupportedQuery
from sfumato.queries import bind
from sfumato.sql import asked

REFUSED = [
    ("SELECT count(*) FROM people JOIN other ON a = b", "'JOIN'", "one table"),
    ("SELECT count(*) FROM people, other", "JOIN", "one table"),
    ("SELECT count(*) FROM (SELECT * FROM people)", "SELECT inside another", "GROUP BY"),
    ("SELECT count(*) FROM people WHERE age IN (SELECT 1)", "SELECT inside another", "GROUP BY"),
    ("SELECT count(*) FROM people WHERE EXISTS (SELECT 1)", "'EXISTS'", "GROUP BY"),
    ("WITH a AS (SELECT 1) SELECT count(*) FROM a", "'WITH'", "GROUP BY"),
    ("SELECT sum(age) OVER (PARTITION BY state) FROM people", "'OVER'", "GROUP BY"),
    ("SELECT count(*) FROM people UNION SELECT count(*) FROM people", "'UNION'", "by itself"),
    ("SELECT count(*) FROM people EXCEPT SELECT 1", "'EXCEPT'", "by itself"),
    ("SELECT state, count(*) FROM people GROUP BY state HAVING count(*) > 3", "'HAVING'", "costs nothing"),
    ("SELECT state, count(*) FROM people GROUP BY state ORDER BY state", "ORDER BY", "costs nothing"),
    ("SELECT state, avg(age) FROM people GROUP BY state ORDER BY 2 DESC LIMIT 3", "LIMIT", "most frequent"),
    ("SELECT state, count(*) FROM people GROUP BY state ORDER BY 2 LIMIT 3", "LIMIT", "most frequent"),
    ("SELECT state, sex, count(*) FROM people GROUP BY 1, 2 ORDER BY 3 DESC LIMIT 3", "LIMIT", "most frequent"),
    ("SELECT count(*) FROM people LIMIT 1", "LIMIT", "most frequent"),
    ("SELECT count(*) FROM people LIMIT 1 OFFSET 2", "'OFFSET'", "LIMIT k"),
    ("SELECT DISTINCT state, sex FROM people", "DISTINCT", "GROUP BY"),
    ("SELECT DISTINCT count(*) FROM people", "DISTINCT", "GROUP BY"),
    ("SELECT count(DISTINCT state) FROM people", "count(DISTINCT", "GROUP BY"),
    ("SELECT sum(DISTINCT age) FROM people", "sum(DISTINCT", "every row"),
    ("SELECT * FROM people", "'*'", "count(*)"),
    ("SELECT age FROM people", "rows are not shown", "GROUP BY"),
    ("SELECT age, count(*) FROM people GROUP BY state", "rows are not shown", "GROUP BY"),
    ("SELECT state FROM people GROUP BY state", "no aggregate", "count(*)"),
    ("SELECT max(age) FROM people", "'MAX'", "quantile_cont"),
    ("SELECT round(avg(age), 2) FROM people", "'ROUND'", "costs nothing"),
    ("SELECT avg(age) * 2 FROM people", "'AVG(age) * 2'", "costs nothing"),
    ("SELECT avg(age * 2) FROM people", "avg takes a column", "derived"),
    ("SELECT avg(paid::int) FROM people", "truth value", "CASE WHEN"),
    ("SELECT sum(age) / count(*) FROM people", "is a mean", "avg(age)"),
    ("SELECT avg(tip) / avg(fare) FROM people", "quotient", "sum(tip) / sum(fare)"),
    ("SELECT avg(tip) - avg(fare) FROM people", "difference", "FILTER"),
    ("SELECT median(age) FROM people GROUP BY ROLLUP (state)", "'ROLLUP'", "CUBE"),
    ("SELECT avg(age) FROM people GROUP BY CUBE (state, sex)", "CUBE", "count(*) alone"),
    ("SELECT count(*) FROM people WHERE salary > age", "'salary > age'", "derived"),
    ("SELECT count(*) FROM people WHERE town LIKE '%lm'", "LIKE", "'U%'"),
    ("SELECT count(*) FROM people WHERE town ILIKE 'u%'", "'ILIKE'", "'U%'"),
    ("SELECT count(*) FROM people WHERE age + 1 > 3", "'age + 1 > 3'", "derived"),
    ("SELECT avg(salary) / 60 FROM people", "'AVG(salary) / 60'", "costs nothing"),
    ("SELECT 60 FROM people", "'60'", "GROUP BY takes columns"),
    ('SELECT count(*) FROM people WHERE state = "CA"', "no column 'CA'", "between single quotes: 'CA'"),
    ("SELECT weekday(day), count(*) FROM people GROUP BY 1", "WEEKDAY", "isodow"),
    ("SELECT extract(dow FROM day), count(*) FROM people GROUP BY 1", "'DOW'", "isodow"),
    ("SELECT hobbies, count(*) FROM people GROUP BY hobbies", "sets", "unnest"),
    ("SELECT x // 5, count(*) FROM people GROUP BY 1", "//", "floor"),
    ("SELECT age % 5, count(*) FROM people GROUP BY 1", "'%'", "SELECT state"),
    ("SELECT foo(age) FROM people", "'FOO'", "supported are count"),
    ("SELECT avgg(age) FROM people", "'AVGG'", "did you mean avg?"),
    ("SELECT avg(salry) FROM people", "salry", "did you mean 'salary'?"),
    ("SELECT avg(salary) FROM peopel", "peopel", "write FROM people"),
    ("SELECT count(*) FROM other.people", "other.people", "write FROM people"),
    ("SELECT count(*) FROM read_csv('/etc/passwd')", "FROM takes", "FROM people"),
    ("SELECT count(*) FROM '/etc/passwd'", "no table", "people"),
    ("SELECT count(*)", "no table", "FROM people"),
    ("SELECT count(*) FROM people; SELECT count(*) FROM people", "several statements", "one by one"),
    ("DROP TABLE people", "'DROP'", "only SELECT"),
    ("COPY people TO 'x'", "'COPY'", "only SELECT"),
    ("ATTACH 'x'", "'ATTACH'", "only SELECT"),
    ("INSERT INTO people VALUES (1)", "'INSERT'", "only SELECT"),
    ("SELECT count(*) FROM people WHERE age > ?", "'?'", "value itself"),
    ("SELECT count(*) FROM people WHERE age > $1", "'$'", "value itself"),
    ("SELECT count(*) AS a, sum(age) AS a FROM people", "twice", "once"),
    ("SELECT quantile_cont(age, 1.5) FROM people", "between 0 and 1", "quantile_cont"),
    ("SELECT count(*) FROM people WHERE", "goes on", "SELECT"),
    ("SELECT count(*) FROM people WHERE town = 'a", "quote", "SELECT"),
    ("", "empty", "SELECT"),
    ("-- nothing", "empty", "SELECT"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "named", "instead"), REFUSED, ids=[text for text, _, _ in REFUSED])
def test_a_refusal_names_what_is_not_supported_and_what_is(text, named, instead):
    with pytest.raises((UnsupportedQuery, SchemaError)) as refused:
        asked(text, SCHEMA)
    said = str(refused.value)
    assert named.lower() in said.lower()
    assert instead.lower() in said.lower()


def test_the_column_that_tells_people_apart_is_never_read():
    for text in ("avg(visitor)", "count(visitor)", "visitor, count(*)", "mode(visitor)", "count(DISTINCT age)"):
        with pytest.raises(UnsupportedQuery, match=r"count\(DISTINCT visitor\)"):
            asked(f"SELECT {text} FROM visits GROUP BY visitor", PERSONS)
    with pytest.raises(UnsupportedQuery, match="tells people apart"):
        asked("SELECT count(*) FROM visits WHERE visitor = 7", PERSONS)


def test_texts_of_other_types_and_of_any_length_are_refused():
    for text in (None, 3, b"SELECT 1", ["SELECT"]):
        with pytest.raises(SchemaError, match="SQL is a text"):
            asked(text, SCHEMA)
    with pytest.raises(SchemaError, match="characters"):
        asked("SELECT count(*) FROM people" + " " * 5000, SCHEMA)
    with pytest.raises(SchemaError, match="words and signs"):
        asked("SELECT " + ",".join(["1"] * 600), SCHEMA)
    many = ", ".join(f"quantile_cont(age, 0.{place})" for place in range(100, 150))
    assert len(asked(f"SELECT {many} FROM people", SCHEMA)) == 1
    many = ", ".join(f"count(*) FILTER (WHERE age = {place})" for place in range(21))
    with pytest.raises(UnsupportedQuery, match="21 questions"):
        asked(f"SELECT {many} FROM people", SCHEMA)


NESTED = [
    ("(", ")"), ("(SELECT ", ")"), ("NOT ", ""), ("- ", ""), ("CASE WHEN ", " THEN 1 END"), ("[", "]"),
    ("{'a': ", "}"), ("avg(", ")"), ("cast(", " AS int)"), ("struct(", ")"), ("decimal(", ")"), ("year(", ")"),
    ("date(", ")"), ("year(date(", "))"), ("f(([", "]))"), ("x -> ", ""), ("a IN (", ")"), ("(age > 1 OR ", ")"),
    ("a.", ""), ("a::", ""), ("count(*) FILTER (WHERE ", ")"), ("f() WITHIN GROUP (ORDER BY ", ")"), ("interval ", ""),
    ("date ", ""), ("map {1: ", "}"), ("NOT (", ")"), ("if(age > 1, ", ", 0)"), ("age // ", ""), ("floor(", ")"),
    ("'a' || ", ""), ("int ", ""), ("ANY(", ")"), ("extract(year FROM ", ")"), ("/* ", " */"), ("'", "'"), ('"', '"'),
    ("year (", ")"), ("unnest(", ")"), ("::", ""), ("timestamp ", ""), ("time(", ")"), ("distinct ", ""), ("all ", ""),
    ("cube(", ")"), ("FIRST(", ")"), ("double(", ")"),
]  # fmt: skip


@pytest.mark.parametrize(("before", "after"), NESTED, ids=[before for before, _ in NESTED])
@pytest.mark.parametrize("depth", [12, 200])
def test_deep_texts_are_refused_in_no_time(before, after, depth):
    for text in (
        f"SELECT {before * depth}1{after * depth} FROM people",
        f"SELECT count(*) FROM people WHERE {before * depth}age > 1{after * depth}",
        f"SELECT count(*) FROM {before * depth}people{after * depth}",
        f"SELECT count(*) FROM people GROUP BY {before * depth}state",
        f"SELECT count(*) FROM people WHERE day = CAST('a' AS {before * depth}int{after * depth})",
    ):

        def ask(text=text):
            with contextlib.suppress(SfumatoError):
                for one in asked(text, SCHEMA):
                    bind(one.query, SCHEMA)

        calls = count_calls(ask)
        assert calls < 1_000_000, text[:60]


# mutations

STATEMENTS = [
    "SELECT state, count(*) AS n, avg(salary) FROM people WHERE age >= 18 GROUP BY state",
    "SELECT width_bucket(age, 0, 120, 4), quantile_cont(salary, [0.1, 0.9]) FROM people WHERE town = 'U' GROUP BY 1",
    "SELECT count(*) FILTER (WHERE paid AND age > 65)::double / count(*) FILTER (WHERE paid) FROM people AS p",
    "SELECT date_trunc('month', day) AS m, stddev(x) FROM people WHERE x NOT IN (1, -2.5) OR NOT sex = 'F' GROUP BY m",
    "SELECT state, count(*) FROM people GROUP BY state ORDER BY 2 DESC LIMIT 3",
    "SELECT unnest(hobbies), count(*) FROM people WHERE 'go' = ANY(hobbies) OR age BETWEEN 3 AND 9 GROUP BY 1",
    "SELECT percentile_cont(0.9) WITHIN GROUP (ORDER BY salary DESC), sum(w * tip) / sum(w) FROM people",
    "SELECT avg(CASE WHEN day >= DATE '2026-01-01' THEN 1 ELSE 0 END), mode(state) FROM people WHERE home.rent > 3",
    "SELECT floor(age / 10) * 10, \"first name\", count(*) FROM people GROUP BY CUBE (1, 2)",
    "SELECT count(salary), avg(pay) FROM people WHERE salary IS NOT NULL AND paid IS TRUE",
    "SELECT median(age) AS middle FROM people",
]  # fmt: skip
PIECES = [
    "(", ")", ",", "*", "'", '"', "--", "/*", "*/", ";", "[", "]", "{", "}", ".", "..", "::", "->", "=", "<", "<>",
    "!=", "||", "%", "\\", "\0", "\n", "é", "\ud800", "\U0001d4b3", "`", "$1", "?", ":a", "@x", "#", "~", "^", "&",
    "1e999", "-", "0x1F", "9" * 60, "1.5.5", "''", "NULL", "TRUE", "NOT", "IN", "IS", "LIKE", "BETWEEN", "AND", "OR",
    "CASE", "WHEN", "END", "SELECT", "FROM", "WHERE", "GROUP BY", "ORDER BY", "LIMIT", "HAVING", "JOIN", "UNION",
    "WITH", "OVER", "FILTER", "WITHIN GROUP", "DISTINCT", "CUBE", "ALL", "ANY", "EXISTS", "INTERVAL", "DATE", "YEAR",
    "CAST", "AS", "INT", "people", "state", "age", "salary", "hobbies", "town", "day", "visitor", "count(*)", "avg",
    "sum", "median", "struct", "decimal", "floor", "quantile_cont", "unnest", "SELECT * FROM people",
    "DROP TABLE people", "1", "0.5", "'2026-01-01'", "x'41'",
]  # fmt: skip


LEVELS = sf.Schema(
    {
        "level": sf.Categories([1, 2, 3]),
        "day": sf.Dates("2026-01-01", "2026-03-31"),
        "paid": sf.Categories([False, True]),
    },
    size=100,
    dataset="people",
)


@pytest.mark.parametrize(
    "text",
    [
        "SELECT sum(CAST(level AS INT)) FROM people",
        "SELECT sum(level::double) FROM people",
        "SELECT count(*) FROM people WHERE level",
        "SELECT count(*) FROM people WHERE NOT level",
        "SELECT count(*) FROM people WHERE level IS NOT TRUE",
        "SELECT count(*) FROM people WHERE level = TRUE",
        "SELECT count(*) FROM people WHERE level IN (2, TRUE)",
        "SELECT count_if(level) FROM people",
    ],
)
def test_numbers_are_not_taken_for_truths(text):
    with pytest.raises(UnsupportedQuery, match="holds no truth values"):
        asked(text, LEVELS)
    assert asked(text.replace("level", "paid").replace("2, ", "FALSE, "), LEVELS)


def test_a_column_comes_before_an_alias_of_its_name_in_group_by():
    with pytest.raises(UnsupportedQuery, match="is a key of GROUP BY"):
        asked("SELECT month(day) AS day, count(*) FROM people GROUP BY day", LEVELS)
    (months,) = asked("SELECT month(day) AS m, count(*) FROM people GROUP BY m", LEVELS)
    assert months.query.name == "count by month(day)"


def mutated(draw):
    """One of the statements, changed a few times."""
    text = draw.choice(STATEMENTS)
    for _ in range(draw.randint(1, 3)):
        words = text.split(" ")
        place, other = draw.randrange(len(words)), draw.randrange(len(words))
        change = draw.randrange(7)
        if change == 0:
            words[place] = draw.choice(PIECES)
        elif change == 1:
            words.insert(place, draw.choice(PIECES))
        elif change == 2:
            del words[place]
        elif change == 3:
            words[place], words[other] = words[other], words[place]
        elif change == 4:
            words[place:place] = words[min(place, other) : max(place, other)]
        elif change == 5 and text:
            at = draw.randrange(len(text))
            words = [text[:at] + draw.choice(PIECES) + text[at + draw.randint(0, 3) :]]
        else:
            words = [*draw.choice(STATEMENTS).split(" ")[:place], *words[place:]]
        text = " ".join(words)
    return text


def survives(seeds):
    """How many mutated statements are still questions; nothing but our own refusals, and quickly."""
    questions, longest = 0, 0
    for seed in seeds:
        text = mutated(random.Random(seed))
        try:
            found = asked(text, SCHEMA)
            for one in found:
                bind(one.query, SCHEMA)
                assert sf.Query.from_record(one.query.to_record()) == one.query, text
            questions += 1
        except SfumatoError as refused:
            longest = max(longest, len(str(refused)))
        except Exception as error:
            raise AssertionError(f"{type(error).__name__} from {text!r}") from error
    assert longest < 1500  # characters of a refusal
    return questions


def test_mutated_statements_are_questions_or_refusals():
    assert survives(range(3_000)) > 60  # mutation leaves some of them alive


@pytest.mark.heavy
@pytest.mark.parametrize("part", range(10))
def test_a_hundred_thousand_mutated_statements_are_questions_or_refusals(part):
    assert survives(range(10_000 * (part + 1), 10_000 * (part + 2))) > 250


def test_names_that_are_no_plain_words_are_refused_with_how_sql_writes_them():
    odd = sf.Schema({"Cost €": sf.Interval(0, 10, step=1), "Age (years)": sf.Integers(0, 120)}, dataset="visits 2026")
    with pytest.raises(SchemaError, match='write FROM "visits 2026"'):
        asked("SELECT count(*) FROM visits_2026", odd)
    with pytest.raises(SchemaError, match='names such as "Cost €" stand between double quotes'):
        asked('SELECT avg(age) FROM "visits 2026"', odd)
    with pytest.raises(SchemaError, match="stands between double quotes"):
        asked("SELECT count(*) FROM visits 2026", odd)
    with pytest.raises(SchemaError, match="stands between backticks"):
        sf.count().where("Age (years) >= 18")
