"""Limits of a question's own on what counts of one person: by brute force, by the engine, released, refused."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import reference
import sfumato as sf
from sfumato.errors import ParameterError, SchemaError, SfumatoError, UnsupportedQuery
from sfumato.privacy.adjacency import AddRemove, Person, Replace
from sfumato.queries import bind
from sfumato.queries.binding import limited
from sfumato.queries.query import Query

SPACES = {"x": sf.Interval(-2, 4, 2), "c": sf.Categories(["a", "b", "c"])}
CORNERS = [
    {"x": math.inf, "c": "a"}, {"x": -math.inf, "c": "a"}, {"x": math.inf, "c": "b"}, {"x": -math.inf, "c": "b"},
    {"x": math.inf, "c": "c"}, {"x": -math.inf, "c": "c"}, {"x": math.nan, "c": "c"}, {"x": 2.0, "c": "?"},
]  # fmt: skip
LIMITED = [
    sf.count().per_person(rows=3), sf.sum("x").by("c").per_person(rows=1), sf.count().per_person(each=2),
    sf.count().where("x > 0").by("c").per_person(each=1), sf.histogram("c").per_person(each=1, groups=2),
    sf.count().by("c").per_person(each=2, groups=1), sf.sum("x").by("c").per_person(each=1, groups=2),
    sf.sum("x").per_person(total=(-2, 6)), sf.sum("x").by("c").per_person(total=(-2, 6), groups=2),
    sf.sum("x").by("c").per_person(total=(-4, 2)), sf.mean("x").by("c").per_person(each=1, groups=2),
    sf.mean("x").per_person(each=2), sf.variance("x").by("c").per_person(each=1, groups=2),
    sf.difference(sf.count(), across="c", between=("a", "b")).per_person(each=2),
    sf.difference(sf.count().per_person(each=1, groups=2), across="c", between=("a", "b")).by(sf.bins("x", -2, 2, 4)),
    sf.difference(sf.sum("x"), across="c", between=("a", "b")).per_person(each=1),
    sf.difference(sf.sum("x"), across="c", between=("b", "a")).per_person(total=(-2, 6)),
    sf.difference(sf.mean("x"), across="c", between=("a", "b")).per_person(each=1, groups=2),
    sf.difference(sf.share("x > 0"), across="c", between=("a", "c")).per_person(each=1, groups=1),
]  # fmt: skip
SCHEMAS = [sf.Schema(SPACES, Person("id", 2), adjacency) for adjacency in (AddRemove(), Replace())]


def contents():
    """What a person may hold: up to three corner rows, and more of the same."""
    few = range(len(CORNERS))
    own = [rows for size in range(4) for rows in itertools.combinations_with_replacement(few, size)]
    return [
        *own,
        (1, 1, 3, 3, 5, 5),
        (0, 2, 4, 4, 0),
        (0, 0, 2, 2),
        (0, 2, 4, 4),
        (1, 3, 3, 1),
        (0, 0, 0, 0),
        (1, 1, 1, 1),
    ]


def moves(question, others):
    bystanders = [{**CORNERS[place], "id": f"other{i}"} for i, place in enumerate(others)]
    answers = []
    for own in contents():
        rows = [*bystanders, *({**CORNERS[place], "id": "me"} for place in own)]
        totals = reference.answer(rows, question.statistic, question.schema)
        answers.append(question.vector(np.array(totals, dtype=object)))
    answers = np.array(answers, dtype=object)
    if isinstance(question.schema.adjacency, AddRemove):
        return np.abs(answers[1:] - answers[:1])
    one, other = np.triu_indices(len(answers), 1)
    return np.abs(answers[one] - answers[other])


@pytest.mark.parametrize("schema", SCHEMAS, ids=lambda schema: schema.adjacency.name)
@pytest.mark.parametrize("query", LIMITED, ids=lambda query: query.name)
def test_no_person_moves_an_answer_further_than_claimed_and_some_do_as_far(query, schema):
    question = bind(query, schema)
    moved = np.concatenate([moves(question, others) for others in ((), (0, 3))])
    assert moved.sum(axis=1).max() == question.sensitivity("l1")
    assert moved.max() == question.sensitivity("linf") == question.coordinate_sensitivity()
    squared = int((moved * moved).sum(axis=1).max())
    assert squared <= Fraction(question.sensitivity("l2")) ** 2
    assert math.sqrt(squared) == pytest.approx(question.sensitivity("l2"), rel=1e-12)


@pytest.mark.parametrize("seed", range(3))
def test_the_engine_counts_what_the_slow_one_counts(seed, tmp_path):
    rng = np.random.default_rng(seed)
    values, labels = [math.nan, math.inf, -1e308, None, 0.0, 1.0, 2.0, -2.0], ["a", "b", "c", "?", None]
    rows = [
        {"x": values[rng.integers(8)], "c": labels[rng.integers(5)], "id": [None, "p", "q", "r"][rng.integers(4)]}
        for _ in range(60)
    ]
    held = pa.table({
        "x": pa.array([row["x"] for row in rows], pa.float64()),
        **{name: pa.array([row[name] for row in rows], pa.string()) for name in ("c", "id")},
    })  # fmt: skip
    pq.write_table(held, tmp_path / "rows.parquet")
    table = sf.read(tmp_path / "rows.parquet", schema=SCHEMAS[seed % 2])
    for query in LIMITED:
        question = bind(query, table.schema)
        found = table.under(question.schema).answer(question.statistic)
        wanted = reference.answer(rows, question.statistic, question.schema)
        assert reference.comparable(found, question.statistic) == wanted, query.name


def test_totals_of_wide_columns_do_not_overflow():
    wide = sf.Schema({"x": sf.Integers(-(2**50), 2**50)}, Person("id", 1))
    rows = pa.table({"x": [2**62, 2**62, 2**62, -5, -(2**62)], "id": ["p", "p", "p", "p", "q"]})
    question = bind(sf.sum("x").per_person(total=(-(2.0**51), 2.0**51)), wide)
    (found,) = question.answer(sf.read(rows, schema=wide).under(question.schema))
    assert found == 2**51 - 2**50
    assert question.sensitivity("l1") == 2**51


@pytest.mark.parametrize("ends", [(-9e18, 9e18), (0, 1e300), (-(2.0**62), 2.0**10)])
def test_totals_that_no_engine_holds_are_refused_before_a_charge(ends):
    wide = sf.Schema({"x": sf.Integers(-(2**50), 2**50)}, Person("id", 1))
    with pytest.raises(UnsupportedQuery, match="2\\^62 steps"):
        bind(sf.sum("x").per_person(total=ends), wide)
    assert bind(sf.sum("x").per_person(total=(0, 2.0**61)), wide).sensitivity("l1") < 2**62


def test_caps_take_from_one_order_so_that_a_smaller_one_takes_less_of_the_same():
    rng = np.random.default_rng(5)
    schema = sf.Schema({"x": sf.Integers(0, 999)}, Person("id", 4))
    rows = pa.table({"x": rng.integers(0, 1000, 400), "id": rng.integers(0, 20, 400).astype(str)})
    table, kept = sf.read(rows, schema=schema), []
    for cap in (1, 3, 4, 7):
        limits = limited(sf.count().per_person(rows=cap), schema)
        found = [int(x) for batch in table.under(limits).rows(["x"]) for x in batch["x"]]
        assert len(found) == 20 * cap
        kept.append(sorted(found))
    for fewer, more in itertools.pairwise(kept):
        assert not set(fewer) - set(more)


def test_limits_are_part_of_the_question_its_name_and_its_record():
    for query in LIMITED:
        record = query.to_record()
        assert Query.from_record(record) == query
        assert query.name != Query.from_record({k: v for k, v in record.items() if k != "per_person"}).name
        question = bind(query, SCHEMAS[0])
        assert bind(query, question.schema).schema == question.schema
        assert sf.Schema.from_record(question.schema.to_record()) == question.schema
    assert "per_person" not in sf.count().to_record()
    assert SCHEMAS[0].to_record()["unit"] == {"column": "id", "rows": 2}


def test_questions_with_several_caps_are_paid_from_one_ledger_and_open_again(tmp_path):
    rows = pa.table({"x": [0.0, 2.0, 4.0, 4.0, 4.0] * 40, "c": ["a", "b", "c", "a", "b"] * 40,
                     "id": [str(i // 5) for i in range(200)]})  # fmt: skip
    session = sf.Session(sf.read(rows, schema=SCHEMAS[0]), budget=sf.Pure(4000.0), ledger=tmp_path / "l.ledger")
    truths = {
        sf.count(): 80, sf.count().per_person(rows=1): 40, sf.count().per_person(rows=5): 200,
        sf.count().where("x > 3").per_person(each=1): 40, sf.sum("x").per_person(total=(0, 10)): 400,
        sf.sum("x").per_person(total=(0, 100)): 560, sf.count().by("c").per_person(each=1): [40, 40, 40],
    }  # fmt: skip
    for query, truth in truths.items():
        preview = session.preview(query, spend=sf.Pure(100.0))
        release = session.release(query, spend=sf.Pure(100.0))
        assert np.allclose(release.value, truth)
        assert release.guarantee == sf.Pure(100.0)
        assert preview.unit == release.provenance.unit
        release.save(tmp_path / "r.json")
        again = sf.load(tmp_path / "r.json")
        assert again.to_bytes() == release.to_bytes()
        assert session.release(query, spend=sf.Pure(100.0)).to_bytes() == release.to_bytes()
    assert session.spent == sf.Pure(700.0)
    assert "at most 5 count" in session.release(sf.count().per_person(rows=5), spend=sf.Pure(100.0)).words()
    assert "whose total counts as far as it lies within 0 to 10" in session.release(
        sf.sum("x").per_person(total=(0, 10)), spend=sf.Pure(100.0)
    ).words()  # fmt: skip


def test_noise_follows_the_question_s_own_limits_and_so_does_its_certificate():
    def spread(query, spend):
        from sfumato.orders import preview

        return preview(query, SCHEMAS[0], spend=spend).certificate

    one, five = (spread(sf.count().per_person(rows=rows), sf.Pure(0.5)) for rows in (1, 5))
    assert five.achieved == pytest.approx(5 * one.achieved, rel=0.05)
    assert five.bound == pytest.approx(5 * one.bound, rel=0.05)
    two = spread(sf.count().by("c").per_person(each=1, groups=2), sf.Concentrated(0.1))
    every = spread(sf.count().by("c").per_person(rows=2), sf.Concentrated(0.1))
    assert two.achieved == pytest.approx(every.achieved / math.sqrt(2), rel=0.02)


@pytest.mark.parametrize(
    ("query", "schema", "said"),
    [
        (lambda: sf.count().per_person(), SCHEMAS[0], "per_person takes rows="),
        (lambda: sf.count().per_person(rows=2, each=1), SCHEMAS[0], "per_person takes rows="),
        (lambda: sf.count().per_person(rows=2, groups=1), SCHEMAS[0], "per_person takes rows="),
        (lambda: sf.count().per_person(groups=1), SCHEMAS[0], "per_person takes rows="),
        (lambda: sf.count().per_person(rows=0), SCHEMAS[0], "rows must be a whole number from 1"),
        (lambda: sf.count().per_person(rows=1).per_person(rows=2), SCHEMAS[0], "said once"),
        (lambda: sf.sum("x").per_person(total=(1, 2)), SCHEMAS[0], "must hold 0"),
        (lambda: sf.sum("x").per_person(total=3), SCHEMAS[0], "total must be a list"),
        (lambda: sf.mean("x").per_person(total=(0, 2)), SCHEMAS[0], "total= of per_person is for sums of"),
        (lambda: sf.count().per_person(each=1, groups=2), SCHEMAS[0], "groups= needs several groups"),
        (lambda: sf.median("x").per_person(each=1), SCHEMAS[0], "takes no each="),
        (lambda: sf.synthetic(["c"]).per_person(each=1), SCHEMAS[0], "use rows="),
        (lambda: sf.count().per_person(rows=1), sf.Schema(SPACES), "declare unit= and rows="),
        (lambda: sf.count(), sf.Schema(SPACES, Person("id", 1, 2)), "belong to a question"),
        (lambda: Query.from_record({"query": "count", "per_person": {"row": 1}}), SCHEMAS[0], "per_person is {"),
        (lambda: Query.from_record({"query": "count", "per_person": 3}), SCHEMAS[0], "per_person is {"),
    ],
)
def test_limits_that_make_no_sense_are_refused_in_words(query, schema, said):
    with pytest.raises((ParameterError, UnsupportedQuery, SchemaError), match=said.replace("{", r"\{")):
        bind(query(), schema)


def test_other_kinds_take_a_cap_on_rows(tmp_path):
    rows = pa.table({"x": [0.0, 2.0, 4.0] * 30, "c": ["a", "b", "c"] * 30, "id": [str(i // 3) for i in range(90)]})
    session = sf.Session(sf.read(rows, schema=SCHEMAS[0]), budget=sf.Pure(1e6), ledger=tmp_path / "l.ledger")
    for query in (sf.median("x"), sf.top("c", 1), sf.prefix("c"), sf.synthetic(["c"], rows=9)):
        with_cap = session.order(query.per_person(rows=3), sf.Pure(50.0))
        assert with_cap.question.schema.unit == Person("id", 3)
        session.fulfill(with_cap)
    with pytest.raises(SfumatoError):
        session.order(sf.prefix("c").per_person(each=1), sf.Pure(1.0))


@pytest.mark.parametrize("limits", [{"each": 1}, {"each": 1, "groups": 2}, {"total": (0, 5)}])
def test_items_of_sets_take_no_limit_by_group(limits):
    schema = sf.Schema({**SPACES, "h": sf.Subsets(["p", "q"], cap=2)}, Person("id", 4))
    with pytest.raises(UnsupportedQuery, match="per_person"):
        bind(sf.items("h").by("c").per_person(**limits), schema)
    assert bind(sf.items("h").per_person(rows=3), schema).sensitivity("l1") == 6


def test_people_are_counted_once_by_every_door(tmp_path):
    ids = [str(i // 3) for i in range(600)] + [None]
    (tmp_path / "visits.csv").write_text(
        "id,x,c\n" + "".join(f"{one or ''},{i % 5},{'abc'[i % 3]}\n" for i, one in enumerate(ids))
    )
    table = sf.read(tmp_path / "visits.csv", schema=SPACES, unit="id", rows=2, dataset="d")
    session = sf.Session(table, budget=sf.Pure(1e6), ledger=tmp_path / "l.ledger")
    spend = sf.Pure(5000.0)
    people = session.release(sf.count_people(), spend=spend)
    assert (people.name, people.table()["estimate"].to_pylist()) == ("people", [200])
    by = session.release(sf.count_people(groups=3).by("c"), spend=spend)
    assert by.table()["estimate"].to_pylist() == [200, 200, 200]
    few = session.release(sf.count_people().where("x == 4"), spend=spend)
    assert few.table()["estimate"].to_pylist() == [len({one for i, one in enumerate(ids) if one and i % 5 in (3, 4)})]
    planned = Query.from_record({"query": "count_people", "by": "c", "groups": 3})
    assert planned == sf.count_people(groups=3).by("c") == sf.count().by("c").per_person(each=1, groups=3)
    assert Query.from_record(planned.to_record()) == planned
    one, two = (bind(sf.count_people(groups=g).by("c"), table.schema).sensitivity("l1") for g in (1, 2))
    assert (one, two, bind(sf.count_people(), table.schema).sensitivity("l1")) == (1, 2, 1)


@pytest.mark.parametrize(("cells", "groups"), [(2, 1), (2, 2), (5, 2), (6, 4), (9, 9)])
def test_the_bound_in_several_groups_is_below_the_ellipsoid_of_the_moves(cells, groups):
    from sfumato.bounds.linear import squared_norm
    from sfumato.bounds.numbers import squared_norm_of_groups

    moves = [move for move in itertools.product((0.0, 1.0), repeat=cells) if 1 <= np.sum(move) <= groups]
    found, most = squared_norm_of_groups(cells, groups), squared_norm(np.array(moves).T)
    assert cells * (1 - 1e-8) <= found <= most / (1 - 0.011)
    assert found <= cells * groups * (1 + 1e-9)  # what Gaussian noise on each number attains


@pytest.mark.parametrize("spend", [sf.Pure(1.0), sf.Concentrated(0.5), sf.Approximate(1.0, 1e-6)])
def test_certificates_of_people_in_several_groups_are_near_and_say_nothing_of_attributes(spend):
    from sfumato.orders import preview

    columns = {"c": sf.Categories([str(i) for i in range(20)])}
    schema = sf.Schema(columns, Person("id", 5), dataset="d")
    query = sf.count().by("c").per_person(each=1, groups=3)
    found = preview(query, schema, spend=spend).certificate
    assert found.bound <= found.achieved <= found.bound * (1.05 if isinstance(spend, sf.Concentrated) else 2)
    joined = sf.Schema(columns, Person("id", 5), dataset="d", people=("c",))
    assert preview(query, joined, spend=spend).certificate.bound < found.bound


def test_a_difference_keeps_the_limit_of_what_it_compares():
    asked = sf.mean("x").per_person(rows=1)
    question = bind(sf.difference(asked, across="c", between=("a", "b")), SCHEMAS[0])
    assert question.schema.unit == Person("id", 1)
    assert question.query == sf.difference(sf.mean("x"), across="c", between=("a", "b")).per_person(rows=1)
