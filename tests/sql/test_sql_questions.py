"""SQL becomes the questions that a plan would hold, and nothing else."""

import datetime
from dataclasses import replace
from fractions import Fraction

import pytest
from asking_sql import PERSONS, SCHEMA
from hypothesis import given
from hypothesis import strategies as some

import sfumato as sf
from sfumato.queries import bind
from sfumato.queries.linear.doors import crosstab
from sfumato.queries.names import keys
from sfumato.release.recognition import identity_of
from sfumato.sql import asked, spends, sql_of

ALL = "SELECT {} FROM people"
MONTHS = ["2025-11-01", "2025-12-01", "2026-01-01", "2026-02-01", "2026-03-01", "2026-04-01"]
READ = [
    ("count(*)", sf.count()),
    ("COUNT(1)", sf.count()),
    ("count(salary)", sf.count().where("salary is not null")),
    ("count_if(age > 3)", sf.count().where("age > 3")),
    ("count(CASE WHEN age > 3 THEN 1 END)", sf.count().where("age > 3")),
    ("count(*) FILTER (WHERE age > 3)", sf.count().where("age > 3")),
    ("sum(CASE WHEN age > 3 THEN 1 ELSE 0 END)", sf.count().where("age > 3")),
    ("sum((age > 3)::int)", sf.count().where("age > 3")),
    ("sum(CASE WHEN age > 3 THEN tip ELSE 0 END)", sf.sum("tip").where("age > 3")),
    ("sum(salary)", sf.sum("salary")),
    ("avg(salary)", sf.mean("salary")),
    ("avg(people.SALARY)", sf.mean("salary")),
    ('avg("salary")', sf.mean("salary")),
    ("avg(home.rent)", sf.mean("home.rent")),
    ("avg(people.home.rent)", sf.mean("home.rent")),
    ('avg("marks[0]")', sf.mean("marks[0]")),
    ("avg(pay)", sf.mean("pay")),
    ("avg(CASE WHEN age > 3 THEN tip END)", sf.mean("tip").where("age > 3")),
    ("avg(CASE WHEN age >= 65 THEN 1 ELSE 0 END)", sf.share("age >= 65")),
    ("avg(if(age >= 65, 1, 0))", sf.share("age >= 65")),
    ("count(*) FILTER (WHERE age >= 65) / count(*)", sf.share("age >= 65")),
    ("count(*) FILTER (WHERE age >= 65) * 1.0 / nullif(count(*), 0)", sf.share("age >= 65")),
    ("count(*) FILTER (WHERE paid AND age >= 65)::double / count(*) FILTER (WHERE paid)",
     sf.share("age >= 65").where("paid")),
    ("sum(CASE WHEN age >= 65 THEN w ELSE 0 END) / sum(w)", sf.share("age >= 65", weight="w")),
    ("sum(w * salary) / sum(w)", sf.mean("salary", weight="w")),
    ("sum(salary) / count(salary)", sf.mean("salary")),
    ("sum(tip) / sum(fare)", sf.ratio("tip", "fare")),
    ("corr(age, salary)", sf.correlation("age", "salary")),
    ("stddev(salary)", sf.std("salary")),
    ("stddev_pop(salary)", sf.std("salary")),
    ("var_samp(salary)", sf.variance("salary")),
    ("variance(salary)", sf.variance("salary")),
    ("median(salary)", sf.median("salary")),
    ("quantile_cont(salary, 0.9)", sf.quantiles("salary", [0.9])),
    ("quantile_cont(salary, [0.9, 0.1])", sf.quantiles("salary", [0.1, 0.9])),
    ("approx_quantile(salary, .9)", sf.quantiles("salary", [0.9])),
    ("approx_percentile(salary, .9)", sf.quantiles("salary", [0.9])),
    ("percentile_cont(0.9) WITHIN GROUP (ORDER BY salary)", sf.quantiles("salary", [0.9])),
    ("percentile_disc(0.25) WITHIN GROUP (ORDER BY salary DESC)", sf.quantiles("salary", [0.75])),
    ("mode(state)", sf.most_popular("state")),
    ("mode() WITHIN GROUP (ORDER BY state)", sf.most_popular("state")),
    ("approx_top_k(hobbies, 2)", sf.top("hobbies", 2)),
    ("avg(tip) FILTER (WHERE sex = 'F') - avg(tip) FILTER (WHERE sex = 'M')",
     sf.difference(sf.mean("tip"), across="sex", between=("F", "M"))),
]  # fmt: skip
CONDITIONS = [
    ("age >= 18", "age >= 18"),
    ("18 <= age", "age >= 18"),
    ("age >= 18 AND state = 'CA' AND age <> 20", "age >= 18 and state == 'CA' and age != 20"),
    ("age >= 18 OR (state = 'CA' AND paid)", "age >= 18 or (state == 'CA' and paid)"),
    ("age BETWEEN 18 AND 65", "age between 18 and 65"),
    ("age IN (1, 2) AND x = -3.5", "age in [1, 2] and x == -3.5"),
    ("salary IS NULL OR age IS NOT NULL", "salary is null or age is not null"),
    ("town LIKE 'U%' AND starts_with(town, 'Ul')", "town startswith 'U' and town startswith 'Ul'"),
    ("town LIKE 'Ulm'", "town == 'Ulm'"),
    ("'chess' = ANY(hobbies) AND 'go' IN hobbies", "'chess' in hobbies and 'go' in hobbies"),
    ("list_contains(hobbies, 'tea')", "'tea' in hobbies"),
    ("day >= DATE '2026-01-01' AND day < '2026-02-01'", "day >= '2026-01-01' and day < '2026-02-01'"),
    ("year(day) = 2026 AND extract(isodow FROM day) < 6", "year(day) == 2026 and weekday(day) < 6"),
    ("date_part('month', day) = 1", "month(day) == 1"),
    ("paid IS TRUE AND \"first name\" = 'Jo'", "paid == true and `first name` == 'Jo'"),
    ("NOT age >= 18", "age < 18"),
    ("NOT (age >= 18 AND NOT paid)", "age < 18 or paid == true"),
    ("NOT paid", "paid != true"),
    ("age NOT BETWEEN 18 AND 65", "age < 18 or age > 65"),
    ("state NOT IN ('CA')", "state != 'CA'"),
    ("state NOT IN ('CA', 'NY')", "state != 'CA' and not state in ['CA', 'NY']"),
    ("state NOT LIKE 'U%'", "state in ['CA', 'NY']"),
    ("town NOT LIKE 'U%'", "town != 'U' and not town startswith 'U'"),
    ("town = 'it''s'", 'town == "it\'s"'),
]
GROUPS = [
    ("state", ("state",)),
    ("state, sex", ("state", "sex")),
    ("town", (sf.discovered("town"),)),
    ("month(day)", ("month(day)",)),
    ("isodow(day), state", ("weekday(day)", "state")),
    ("width_bucket(age, 0, 120, 4)", (sf.bins("age", 0, 120, count=4),)),
    ("floor(age / 10) * 10", (sf.bins("age", *range(0, 131, 10)),)),
    ("10 * floor(age / 10)", (sf.bins("age", *range(0, 131, 10)),)),
    ("floor(x / 25)", (sf.bins("x", -50, -25, 0, 25, 50),)),
    ("floor(tip / 12.5)", (sf.bins("tip", 0, 12.5, 25, 37.5, 50, 62.5),)),
    ("age // 50", (sf.bins("age", 0, 50, 100, 150),)),
    ("date_trunc('month', day)", (sf.bins("day", *MONTHS),)),
    ("date_trunc('year', day)", (sf.bins("day", "2025-01-01", "2026-01-01", "2027-01-01"),)),
    ("date_trunc('day', day)", ("day",)),
]


def one(text, schema=SCHEMA):
    (found,) = asked(text, schema)
    return found


def same(query, wanted, schema=SCHEMA):
    """The same question in a ledger's eyes: found again by whoever writes it in a plan."""
    bind(query, schema)
    spend = sf.Approximate(1.0, 1e-6)
    return identity_of(query, schema, spend, None).digest == identity_of(wanted, schema, spend, None).digest


@pytest.mark.parametrize(("text", "wanted"), READ, ids=[text for text, _ in READ])
def test_an_aggregate_is_the_question_that_a_plan_would_hold(text, wanted):
    found = one(ALL.format(text))
    assert found.query == wanted
    assert found.name is None
    assert same(found.query, wanted)
    assert one(ALL.format(text) + " WHERE fare > 2 GROUP BY sex").query.to_record()["by"] == ["sex"]


@pytest.mark.parametrize(("text", "wanted"), CONDITIONS, ids=[text for text, _ in CONDITIONS])
def test_a_condition_is_the_one_that_a_plan_would_hold(text, wanted):
    assert one(f"{ALL.format('count(*)')} WHERE {text}").query == sf.count().where(wanted)
    assert same(one(f"{ALL.format('avg(salary)')} WHERE {text}").query, sf.mean("salary").where(wanted))
    assert one(ALL.format(f"avg(CASE WHEN {text} THEN 1 ELSE 0 END)")).query == sf.share(wanted)


@pytest.mark.parametrize(("text", "wanted"), GROUPS, ids=[text for text, _ in GROUPS])
def test_keys_are_those_that_a_plan_would_hold(text, wanted):
    places = ", ".join(str(place + 1) for place in range(len(wanted)))
    for group in (text, places, "ALL"):
        found = one(f"SELECT {text}, count(*) FROM people GROUP BY {group}").query
        assert found == sf.count().by(*wanted)
    assert same(found, sf.count().by(*wanted))


def test_where_stands_before_filter_and_an_alias_names_a_key_or_an_answer():
    found = one(
        "SELECT floor(age / 10) * 10 AS decade, avg(tip) FILTER (WHERE paid) AS t FROM people AS p WHERE p.fare > 2 "
        "GROUP BY decade"
    )
    assert found.name == "t"
    assert found.query == sf.mean("tip").where("fare > 2 and paid").by(sf.bins("age", *range(0, 131, 10)))


def test_one_statement_is_several_questions_and_like_ones_are_asked_once():
    found = asked(
        "SELECT state, count(*) AS n, avg(salary) AS pay, count(*), median(age) AS mid, quantile_cont(age, 0.9) AS old "
        "FROM people GROUP BY state",
        SCHEMA,
    )
    assert [(each.name, each.query) for each in found] == [
        ("n", sf.count().by("state")),
        ("pay", sf.mean("salary").by("state")),
        ("mid, old", sf.quantiles("age", [0.5, 0.9]).by("state")),
    ]


def test_the_most_frequent_values_are_a_private_choice():
    for text in (
        "SELECT state, count(*) FROM people WHERE age > 3 GROUP BY state ORDER BY 2 DESC LIMIT 2",
        "SELECT state, count(*) AS n FROM people WHERE age > 3 GROUP BY state ORDER BY n DESC LIMIT 2",
        "SELECT state FROM people WHERE age > 3 GROUP BY state ORDER BY count(*) DESC LIMIT 2",
    ):
        assert one(text).query == sf.top("state", 2).where("age > 3")
        assert "chosen privately" in one(text).notes[0]
    found = one("SELECT unnest(hobbies) AS h, count(*) FROM people GROUP BY h ORDER BY count(*) DESC LIMIT 1")
    assert found.query == sf.top("hobbies", 1)


def test_items_cross_tables_names_and_people_have_their_questions():
    assert one("SELECT sex, unnest(hobbies), count(*) FROM people GROUP BY 1, 2").query == sf.items("hobbies").by("sex")
    assert one("SELECT state, sex, count(*) FROM people WHERE paid GROUP BY CUBE (state, sex)").query == crosstab(
        "state", "sex"
    ).where("paid")
    for text in ("SELECT DISTINCT town FROM people", "SELECT town FROM people GROUP BY town"):
        assert one(text).query == keys("town")
    assert one("SELECT count(DISTINCT visitor) FROM visits WHERE age > 3", PERSONS).query == sf.count_people().where(
        "age > 3"
    )
    assert one("SELECT count(DISTINCT v.visitor) FROM visits v", PERSONS).query == sf.count_people()


def test_what_is_read_in_another_way_than_sql_would_is_said():
    assert "count less one" in one(ALL.format("stddev(salary)")).notes[0]
    assert one(ALL.format("stddev_pop(salary)")).notes == ()
    assert "upper end" in one("SELECT width_bucket(age, 0, 120, 4), count(*) FROM people GROUP BY 1").notes[0]
    assert one("SELECT width_bucket(age, 0, 121, 4), count(*) FROM people GROUP BY 1").notes == ()
    assert "all columns" in one(ALL.format("sum(tip) / sum(fare)")).notes[0]
    assert "delta" in one("SELECT town, count(*) FROM people GROUP BY town").notes[0]


def test_comments_case_and_a_last_semicolon_change_nothing():
    wanted = asked("SELECT state, count(*) FROM people GROUP BY state", SCHEMA)
    assert asked("select  STATE /* key */, COUNT( * )\nfrom PEOPLE -- all\ngroup by state;", SCHEMA) == wanted
    assert asked("FROM people SELECT state, count(*) GROUP BY ALL", SCHEMA) == wanted
    assert asked("SELECT state, count(*) FROM folks GROUP BY state", SCHEMA, "folks") == wanted


# the way back


NUMBERS = some.sampled_from(["age", "salary", "tip", "fare", "w", "x", "pay", "home.rent", "marks[1]"])
SIGNS = some.sampled_from(["<", "<=", ">", ">=", "==", "!="])
TESTS = some.one_of(
    some.builds(lambda c, s, n: sf.queries.predicates.Compare(c, s, n), NUMBERS, SIGNS, some.integers(-9, 200)),
    some.builds(lambda c, n: sf.col(c) >= n, NUMBERS, some.floats(-5, 5).map(lambda v: round(v, 2))),
    some.builds(lambda s: sf.col("state").isin(s), some.lists(some.sampled_from(["CA", "NY", "UT"]), min_size=1)),
    some.builds(lambda t: sf.col("town").startswith(t), some.text("Ub'%_\"", min_size=1, max_size=5)),
    some.builds(lambda t: sf.col("town") == t, some.text(max_size=9)),
    some.sampled_from([sf.col("age").isnull(), ~sf.col("age").isnull(), sf.col("paid").isnull()]),
    some.builds(lambda b: sf.col("paid") == b, some.booleans()),
    some.builds(lambda d: sf.col("day") < d, some.dates(datetime.date(2025, 1, 1), datetime.date(2027, 1, 1)).map(str)),
    some.just(sf.col("hobbies").contains("go")),
    some.builds(lambda n: sf.col("weekday(day)") == n, some.integers(1, 7)),
)
JOINED = some.recursive(
    TESTS,
    lambda inner: some.builds(lambda a, b, both: a & b if both else a | b, inner, inner, some.booleans()),
    max_leaves=5,
)
MEASURED = some.one_of(
    some.sampled_from(
        [sf.count(), sf.top("state", 2), sf.most_popular("hobbies"), sf.items("hobbies"), sf.ratio("tip", "fare")]
    ),
    some.builds(lambda f, c: f(c), some.sampled_from([sf.sum, sf.mean, sf.variance, sf.std, sf.median]), NUMBERS),
    some.builds(
        lambda c, p: sf.quantiles(c, sorted(p)),
        NUMBERS,
        some.sets(some.sampled_from([0.1, 0.25, 0.5, 0.9]), min_size=1),
    ),
    some.builds(lambda c, w: sf.share(c, weight=w), TESTS, some.sampled_from([None, "w"])),
    some.builds(lambda c: sf.mean(c, weight="w"), NUMBERS.filter(lambda c: c != "w")),
    some.builds(lambda c: sf.difference(sf.mean(c), across="sex", between=("F", "M")), NUMBERS),
    some.just(sf.correlation("age", "salary")),
)
BY = some.lists(some.sampled_from(["state", "sex", "first name", "month(day)"]), max_size=2, unique=True)


@given(MEASURED, some.none() | JOINED, BY)
def test_a_question_written_as_sql_reads_as_itself(query, where, by):
    query = (query if where is None else query.where(where)).by(*by)
    text = sql_of(query, SCHEMA)
    assert text is not None, query
    (found,) = asked(text, SCHEMA)
    assert found.query == query


def test_what_sql_has_no_words_for_is_not_written():
    for query in (
        sf.count().where("not age >= 18"),  # SQL's own leaves missing ages out
        sf.median("age", bars=True),
        sf.density("age", bandwidth=3.0),
        sf.synthetic(),
        sf.count().per_person(rows=1),
        sf.ratio("tip", "w", bounds=(0, 2)),
    ):
        assert sql_of(query, SCHEMA) is None
    assert (
        sql_of(sf.count_people().by("state"), PERSONS)
        == "SELECT state, COUNT(DISTINCT visitor) FROM visits GROUP BY state"
    )


# spends


@pytest.mark.parametrize("spend", [sf.Pure(0.7), sf.Approximate(0.7, 1e-6), sf.Concentrated(0.05)])
def test_the_parts_of_a_spend_fit_it_and_are_the_same_again(spend):
    queries = [
        each.query
        for each in asked("SELECT state, count(*), avg(salary), median(age) FROM people GROUP BY state", SCHEMA)
    ]
    parts = spends(queries, SCHEMA, spend)
    assert parts == spends(queries, SCHEMA, spend)
    assert sum(part.amount for part in parts) <= spend.amount
    assert sum(part.amount for part in parts) >= 0.99 * spend.amount
    assert spends(queries[:1], SCHEMA, spend) == [spend]


@pytest.mark.parametrize("spend", [sf.Pure(0.7), sf.Approximate(0.7, 1e-6), sf.Concentrated(0.05)])
def test_the_parts_of_many_questions_add_up_to_no_more_than_the_spend(spend):
    queries = [sf.count().where(f"age >= {place}") for place in range(1, 13)]
    parts = spends(queries, SCHEMA, spend)
    for name, most in spend.parts().items():
        assert sum(Fraction(str(part.parts().get(name, 0.0))) for part in parts) <= Fraction(str(most))


def test_questions_whose_errors_cannot_be_compared_spend_alike():
    queries = [sf.count(), sf.mean("age")]
    assert spends(queries, replace(SCHEMA, size=None), sf.Pure(1.0)) == [sf.Pure(0.5)] * 2
    assert spends(queries, replace(SCHEMA, size=None), sf.Approximate(1.0, 1e-6)) == [sf.Approximate(0.5, 5e-7)] * 2
