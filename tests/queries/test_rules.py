"""Rules of synthetic rows: read, refused, evaluated as engines evaluate formulas, and possible or not."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import sfumato as sf
from sfumato.errors import ParameterError, SchemaError, SfumatoError, UnsupportedQuery
from sfumato.queries import bind
from sfumato.queries.evaluation import Made, indexed
from sfumato.queries.formulas import coerced_value, evaluated, term_of
from sfumato.queries.rules import rules_of
from sfumato.spaces.grammar import parsed

SPACES: dict[str, Any] = {
    "a": sf.Integers(-5, 20),
    "b": sf.Interval(0, 3, step=0.1),
    "day": sf.Dates("2019-12-20", "2021-02-03"),
    "kind": sf.Categories(["x", "y", "z"]),
    "rooms": sf.Categories([1, 2, 5]),
    "paid": sf.Categories([False, True]),
    "sum": sf.Integers(0, 12),
    "hobbies": sf.Subsets(["chess", "golf"], 2),
    "id": sf.Integers(1, 40),
    "arm": sf.Box(0, 1, shape=(2,)),
}
SCHEMA = sf.Schema(SPACES)
PLAIN = ["a", "b", "day", "kind", "rooms", "paid"]
FORMULAS = [
    "a + b * 2 - rooms", "a / b", "min(a, b, rooms)", "max(a, -b)", "abs(a) + floor(b)", "log(a)", "exp(a)",
    "a if kind == 'x' else b", "month(day) + weekday(day)", "year(day) - 2019", "a if not b > 1 else rooms",
    "a <= b", "a > 3 and kind in ['x', 'y']", "not (paid or a == 4)", "kind != 'z' or b between 0.5 and 2",
    "a is null or day >= '2020-05-05'", "rooms == 2 if paid else a < b", "'u' if a > 3 else kind", "paid", "kind",
]  # fmt: skip


def some_rows(count: int, chance: np.random.Generator) -> dict[str, Any]:
    """Indices of the plain columns, an eighth missing."""
    sizes = {"a": 26, "b": 31, "day": 412, "kind": 3, "rooms": 3, "paid": 2}
    return {
        name: np.where(chance.random(count) < 0.125, -1, chance.integers(0, size, count))
        for name, size in sizes.items()
    }


def coerced(rows: dict[str, Any], place: int) -> dict[str, Any]:
    """One row as engines hold it: lattice indices and labels, None where missing."""
    found: dict[str, Any] = {}
    for name in PLAIN:
        index, space = int(rows[name][place]), SPACES[name]
        value = index + space.lattice.low if space.lattice is not None else space.labels[index]
        found[name] = None if index < 0 else value
    return found


@pytest.mark.parametrize("text", FORMULAS)
def test_many_rows_come_to_what_each_comes_to(text: str) -> None:
    """The plain evaluation of one row, which engines are tested against, is the second route."""
    rows = some_rows(200, np.random.default_rng(len(text)))
    made, term = Made(SCHEMA, rows), term_of(SCHEMA, parsed(text, "formula"), text)
    spaces = {"a number": sf.Interval(-4, 9, step=0.5), "true or false": SPACES["paid"], "a text": SPACES["kind"]}
    space = spaces[term.sort]
    places, fits = indexed(made, term, space)
    for place in range(200):
        row = coerced(rows, place)
        value = evaluated(term, row, SCHEMA, {name: row[name] is None for name in row})
        wanted = coerced_value(space, value)
        if space.lattice is not None:
            got = None if places[place] < 0 else int(places[place]) + space.lattice.low
            inside = value is None or -4.25 <= value < 9.25
        else:
            got = None if places[place] < 0 else space.labels[places[place]]
            inside = value is None or wanted is not None
        assert got == wanted
        assert fits[place] == inside


def test_what_is_missing_leaves_a_rule_open() -> None:
    rows = {"a": np.array([-1, 9, -1, 9]), "b": np.array([5, 5, -1, -1])}
    for text, kept in [
        ("a > b", [1, 1, 1, 1]), ("a < b", [1, 0, 1, 1]), ("not a > b", [1, 0, 1, 1]), ("a is not null", [0, 1, 0, 1]),
        ("a < 1 or b > 2", [1, 0, 1, 1]), ("a < 1 and b > 2", [0, 0, 1, 0]),
        ("a > b if b < 1 else a < b", [1, 1, 1, 1]),
    ]:  # fmt: skip
        assert rules_of([text], SCHEMA, PLAIN).hold(rows).tolist() == [bool(one) for one in kept], text


def test_equations_compute_columns_whichever_side_they_stand_on() -> None:
    names = [*PLAIN, "sum", "id"]
    rules = rules_of(["a + 2 = sum", "rooms == (a if b > 1 else 2)", "unique(id)", "a == 4"], SCHEMA, names)
    assert rules.made == ("sum", "rooms", "id")
    assert [rule.text for rule in rules.conditions] == ["a == 4"]
    assert rules.sources(["sum", "kind", "id"]) == ("kind", "a")
    chain = rules_of(["sum == rooms + 1 and rooms == a"], SCHEMA, names)
    assert [rule.name for rule in chain.computed] == ["rooms", "sum"]
    held, fits = chain.completed({"a": np.array([6, 7, 8, -1])})  # 1, 2, 3 (no number of rooms), missing
    assert held["sum"].tolist() == [2, 3, -1, -1]
    assert fits.tolist() == [True, True, False, True]


def test_rules_that_share_no_column_are_apart() -> None:
    rules = rules_of(["a <= b", "sum == a + 1", "sum < 9", "kind != 'x' or paid"], SCHEMA, [*PLAIN, "sum"])
    parts = sorted((names, sorted(part.texts)) for part, names in rules.parts())
    assert parts == [(("a", "b"), ["a <= b", "sum < 9", "sum == a + 1"]), (("kind", "paid"), ["kind != 'x' or paid"])]


@pytest.mark.parametrize(
    ("keep", "words"),
    [
        (["a > 7 and a < 6"], "no row was found that keeps"),
        (["a > b", "b > a"], "contradict"),
        (["sum == a + 100"], "no row was found"),
        (["a == 7", "a != 7", "kind == 'x'"], "no row was found"),
        (["kind == 'w'"], "'w'"),
        (["kind == ('w' if a > 5 else 'x')"], "'w', which is no category of column 'kind'"),
        (["ages <= b"], "no column of the synthetic table"),
        (["kind == x"], "between quotes"),
        (["a + b"], "a number; write a condition"),
        (["1 < 2"], "names no column"),
        (["a <= "], "cannot read the rule"),
        (["a <= b then"], "cannot read the rule"),
        (["'chess' in hobbies"], "it can be about numbers, dates and categories"),
        (["sum == a + 1", "sum == b"], "computed by two rules"),
        (["sum == a + 1", "a == sum - 1"], "in a circle"),
        (["unique(kind)"], "needs a column of numbers"),
        (["unique(a, b)"], "is written unique"),
        (["unique(idd)"], "numbers 'idd', which is no column of the synthetic table; did you mean 'id'"),
        (["unique(id)", "id > 3"], "made up"),
        (["arm[0] < 1"], "an entry of an array"),
        (["a == null"], "missing values are found by"),
        (["day >= 2024"], "compared with a date such as"),
        (["day + 30 > 2024"], "days with days"),
        (["a <= day"], "days with days"),
        (["day == a + 1"], "which is a date, from what is a number"),
        (["sum == day"], "which is a number, from what is a date"),
        (["sqrt(a) > 2"], "there is no function sqrt"),
        ("a <= b", "list"),
        ([3], "keep"),
    ],
)
def test_rules_that_cannot_be_kept_are_refused_in_words(keep: Any, words: str) -> None:
    with pytest.raises(SfumatoError, match=words) as refused:
        bind(sf.synthetic(keep=keep), SCHEMA)
    assert isinstance(refused.value, ParameterError | SchemaError | UnsupportedQuery)


def test_a_rule_about_a_column_that_is_left_out_says_so() -> None:
    with pytest.raises(SfumatoError, match="not among the columns that are made") as refused:
        bind(sf.synthetic(["a"], keep=["b < 3"]), SCHEMA)
    assert "between quotes" not in str(refused.value)


def test_a_table_of_computed_columns_alone_is_refused() -> None:
    with pytest.raises(ParameterError, match="leave one to be modelled"):
        bind(sf.synthetic(["id"], keep=["unique(id)"]), SCHEMA)


def test_relations_to_what_rules_make_cannot_matter_more() -> None:
    with pytest.raises(ParameterError, match="a rule makes 'sum'"):
        bind(sf.synthetic(["a", "sum"], keep=["sum == a + 1"], target="sum"), SCHEMA)


def test_rules_are_part_of_the_question_and_absent_without() -> None:
    details: Any = sf.synthetic(["a", "b"], keep=["a <= b", "a <= b"]).details
    assert details.to_record() == {"columns": ["a", "b"], "keep": ["a <= b"], "good_for": "marginals"}
    assert type(details).from_record(details.to_record()) == details
    ruled, free = (bind(sf.synthetic(["a", "b"], keep=keep), SCHEMA) for keep in (["a <= b"], None))
    assert ruled.specification() == {**free.specification(), "keep": ["a <= b"]}  # type: ignore[attr-defined]


def test_what_rules_make_is_not_read() -> None:
    asked = sf.synthetic(["id", "a", "sum", "b"], rows=40, keep=["sum == a + 1", "unique(id)"])
    question: Any = bind(asked, SCHEMA)
    assert question.modelled == ("a", "b")
    assert question.columns == ("id", "a", "sum", "b")
    assert question.most_rows == 40
    with pytest.raises(ParameterError, match="numbers for 40 rows, and 50 are to be made"):
        bind(sf.synthetic(["id", "a"], keep=["unique(id)"]), sf.Schema(SPACES, size=50))
    with pytest.raises(ParameterError, match="numbers for 40 rows, and 41 are to be made"):
        bind(sf.synthetic(["id", "a"], rows=41, keep=["unique(id)"]), SCHEMA)
    with pytest.raises(ParameterError, match=r"40 rows, and 10,000 are to be made \(supposed.*how many rows to make"):
        bind(sf.synthetic(["id", "a"], keep=["unique(id)"]), SCHEMA)


def test_days_between_dates_are_numbers_and_dates_are_not() -> None:
    spaces = {**SPACES, "end": sf.Dates("2019-12-20", "2021-02-03"), "days": sf.Integers(-500, 500)}
    rules = ["end - day <= 30", "min(day, end) <= end", "days == end - day", "year(end) == 2020", "day + 3 <= end"]
    assert bind(sf.synthetic(keep=rules), sf.Schema(spaces))
    assert bind(sf.synthetic(keep=["end == day + 7"]), sf.Schema(spaces))
