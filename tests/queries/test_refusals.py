"""A mistake in a question is named, with what is allowed in its place."""

import pyarrow as pa
import pytest

import sfumato as sf
from sfumato.errors import ParameterError, SchemaError, UnsupportedQuery
from sfumato.queries import bind

SCHEMA = sf.Schema(
    {"sex": sf.Categories([0, 1]), "paid": sf.Categories([False, True]), "town": sf.Categories(list("abcdefghijklm"))},
    dataset="people",
)


@pytest.mark.parametrize(
    ("make", "error", "words"),
    [
        (
            lambda: bind(sf.count().where("sex == 'male'"), SCHEMA),
            SchemaError,
            ["'male'", "'sex'", "declared are 0, 1"],
        ),
        (lambda: bind(sf.count().where("town == 'zz'"), SCHEMA), SchemaError, ["declared are 'a', ", "'j', ..."]),
        (lambda: bind(sf.count().where("town"), SCHEMA), SchemaError, ["True is not a declared", "'town'"]),
        (lambda: sf.count().where("paid == yes"), SchemaError, ["paid == 'yes'", "between quotes"]),
        (lambda: sf.count().where("town = null"), SchemaError, ["town is null"]),
        (lambda: sf.count().where("first name == 3"), SchemaError, ["`first name`", "          ^"]),
        (lambda: sf.count().where("town like 'U%'"), SchemaError, ["city startswith 'B'", "         ^"]),
        (lambda: sf.count().where("town.str.startswith('U')"), SchemaError, ["city startswith 'B'"]),
        (lambda: sf.count().where("town contains 'U'"), SchemaError, ["'chess' in hobbies"]),
        (lambda: sf.count().where("paid.isnull()"), SchemaError, ["age is null"]),
        (lambda: sf.TimeOfDay("22:00", "06:00"), ParameterError, ["22:00 and 06:00", "within one day"]),
        (lambda: bind(sf.count().where("Paid = TRUE"), SCHEMA), SchemaError, ["'Paid'", "did you mean 'paid'?"]),
        (lambda: bind(sf.count().by("month(paid)"), SCHEMA), UnsupportedQuery, ["'paid'", "has no month", "Dates"]),
        (lambda: bind(sf.count().by("latino"), SCHEMA), SchemaError, ["'latino'", "; declared are sex, paid, town"]),
        (lambda: bind(sf.quantiles("sex", [0.5]), SCHEMA), UnsupportedQuery, ["quantiles need a numeric", "'sex'"]),
        (lambda: sf.workload("sex", ["prefixx"]), ParameterError, ["'prefixx'", "each, total, prefix, ranges"]),
        (lambda: sf.workload("sex", ["prefix", "eech"]), ParameterError, ["'eech'", "each, total, prefix, ranges"]),
    ],
)
def test_a_mistaken_question_says_what_is_allowed(make, error, words):
    with pytest.raises(error) as refused:
        make()
    for word in words:
        assert word in str(refused.value)


@pytest.mark.parametrize("level", ["0.95", None, 95, 0, 1.0, float("nan"), True])
def test_a_level_that_is_none_is_refused_in_words(level, tmp_path):
    table = sf.read(pa.table({"age": list(range(40))}), schema={"age": sf.Integers(0, 99)}, size=40, dataset="people")
    session = sf.Session(table, budget=sf.Pure(9.0), ledger=tmp_path / "people.ledger")
    release = session.release(sf.count(), spend=sf.Pure(1.0))
    curve = session.release(sf.density("age", bandwidth=20), spend=sf.Pure(1.0)).curve
    for ask in (release.interval, curve.half_width):
        with pytest.raises(ParameterError, match="level must"):
            ask(level)
