"""Sanitized tables through the session: the split, the claim, estimates with error bars, hostile rows, errors."""

import itertools
import json
import math
from collections import Counter
from dataclasses import replace
from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

import sfumato as sf
from sfumato.accounting.shuffling import shuffled_epsilon
from sfumato.answers.certificate import Certificate, NoBoundKnown
from sfumato.auditing import audit
from sfumato.errors import ParameterError, SchemaError, UnsupportedQuery
from sfumato.mechanisms.sanitized import drawing
from sfumato.mechanisms.sanitized.categories import Responses
from sfumato.mechanisms.sanitized.drawing import shuffled_order
from sfumato.mechanisms.sanitized.nearest_label import NearestLabel
from sfumato.mechanisms.sanitized.plan import Sanitization, _least_sum
from sfumato.privacy.conversions import pure_to_concentrated
from sfumato.queries import bind
from sfumato.queries.sanitized import together
from sfumato.randomness import seeded
from sfumato.release import Provenance
from sfumato.release.asking import against_asking
from sfumato.release.sanitized import SanitizedTable
from statistical import ALPHA
from thinned import thinned
from views import view_of

SIZE = 400
COLUMNS = {
    "age": sf.Integers(0, 100),
    "member": sf.Integers(0, 1),
    "state": sf.Categories(["CA", "NY", "TX"], other="else", missing="else"),
    "hobbies": sf.Subsets(["go", "judo", "chess"], cap=2),
    **{f"h{i}": sf.Interval(0, 10, 0.01) for i in range(6)},
}
CURVE = together(*(f"h{i}" for i in range(6)), basis=3)
SCHEMA = sf.Schema(COLUMNS, adjacency=sf.Replace(), size=SIZE, dataset="people")


def people(size=SIZE):
    """A table with a known composition."""
    return pa.table({
        "age": [i % 100 for i in range(size)], "member": [int(i % 4 == 0) for i in range(size)],
        "state": [["CA", "CA", "NY", "Mars"][i % 4] for i in range(size)],
        "hobbies": [["go"] if i % 2 else ["judo", "go"] for i in range(size)],
        **{f"h{j}": [5 + math.sin(j + i % 7) for i in range(size)] for j in range(6)},
    })  # fmt: skip


def session(tmp_path, table=None, schema=SCHEMA, budget=None):
    source = sf.read(people() if table is None else table, schema=schema)
    return sf.Session(source, budget=budget or sf.Approximate(1000, 0.1), ledger=tmp_path / "ledger")


def sanitization(schema, columns, spend, least="spread"):
    return Sanitization.calibrate(bind(sf.sanitized(columns, least=least), schema), spend)


def tables(columns, spend, count):
    """Many sanitized tables of the same people, without a ledger."""
    made, source, rng = sanitization(SCHEMA, columns, spend), sf.read(people(), schema=SCHEMA), seeded(71)
    held = view_of(*made.take(source).batches())
    provenance = Provenance("people", "row", "now", "0", "digest", 1, "head")
    parts = made.guarantee(), made.certificate(made.guarantee()), provenance, spend
    return [
        SanitizedTable.of(f"table {number}", made.query, made, made.release(held, rng), *parts)
        for number in range(count)
    ]


def test_a_sanitized_table_is_charged_stored_and_free_afterwards(tmp_path):
    here = session(tmp_path)
    table = here.sanitize(["age", "state", "hobbies"], spend=sf.Pure(6.0))
    assert isinstance(table, SanitizedTable)
    assert len(table) == SIZE
    assert here.spent.epsilon == pytest.approx(6.0, rel=1e-9)
    assert "every later query on this table is free" in str(table)
    again = here.sanitize(["age", "state", "hobbies"], spend=sf.Pure(6.0))
    assert again.to_bytes() == table.to_bytes()
    assert here.spent.epsilon == pytest.approx(6.0, rel=1e-9)
    table.estimate(sf.mean("age"))
    assert here.spent.epsilon == pytest.approx(6.0, rel=1e-9)
    loaded = sf.load(table.save(tmp_path / "table.parquet"))
    assert loaded.to_bytes() == table.to_bytes()
    assert loaded.certificate == table.certificate
    assert here.ledger.verify().holds


def test_types_survive(tmp_path):
    table = session(tmp_path).sanitize(spend=sf.Pure(10.0))
    kinds = {name: table.rows.schema.field(name).type for name in COLUMNS}
    assert pa.types.is_integer(kinds["age"])
    assert pa.types.is_string(kinds["state"])
    assert pa.types.is_list(kinds["hobbies"])
    assert pa.types.is_floating(kinds["h0"])
    assert set(table.rows["state"].to_pylist()) <= {"CA", "NY", "TX", "else"}
    assert all(set(items) <= {"go", "judo", "chess"} for items in table.rows["hobbies"].to_pylist())


@pytest.mark.parametrize("spend", thinned([sf.Pure(12.0), sf.Approximate(4.0, 1e-6)], 1))
def test_error_bars_cover_the_truth(spend):
    """60 tables, 7 answers each, level 90 %: at most 42 of 420 may be missed on average; 70 refuses 17 % or more."""
    queries = [
        (sf.mean("age"), np.mean([i % 100 for i in range(SIZE)])),
        (sf.count().where("state == 'CA'"), SIZE / 2),
        (sf.count().where("'judo' in hobbies"), SIZE / 2),
        (sf.mean("member"), 0.25),
        (sf.count().where("state == 'CA' and 'judo' in hobbies"), SIZE / 4),
        (sf.count().where("state in ['CA', 'NY'] or not ('judo' in hobbies)"), SIZE * 0.75),
        (sf.count().where("age >= 50"), SIZE / 2),
    ]
    missed = 0
    for table in tables(["age", "member", "state", "hobbies"], spend, 60):
        for query, truth in queries:
            found = table.estimate(query, level=0.9).to_pylist()[0]
            missed += not found["low"] - 1e-9 <= truth <= found["high"] + 1e-9
    assert missed <= 70


@pytest.mark.heavy
def test_estimates_are_unbiased():
    """200 tables: the mean estimate stays within six standard errors, which are measured, of the truth."""
    found = []
    for table in tables(["age", "state"], sf.Pure(8.0), 200):
        rows = table.estimate(sf.histogram("state")).to_pylist()
        found.append([row["estimate"] for row in rows] + table.estimate(sf.mean("age"))["estimate"].to_pylist())
    mean, error = np.mean(found, axis=0), np.std(found, axis=0) / math.sqrt(200)
    truth = np.array([SIZE / 2, SIZE / 4, 0.0, SIZE / 4, 49.5])
    assert (np.abs(mean - truth) <= 6 * error).all()
    assert (error < 0.2 * SIZE).all()


def test_joint_error_bars_are_wider(tmp_path):
    table = session(tmp_path).sanitize(["state"], spend=sf.Pure(2.0))
    one, all_cells = (table.estimate(sf.histogram("state"), joint=joint).to_pandas() for joint in (False, True))
    assert (all_cells["high"] - all_cells["low"] >= one["high"] - one["low"]).all()


def test_the_split_is_the_best_on_its_grid():
    spreads = [np.array([np.inf, *(c / (k + a) ** 2 for k in range(1, 11))]) for c, a in ((1, 0), (4, 1), (0.5, 2))]
    chosen = _least_sum(spreads, 12)
    assert sum(chosen) == 12
    best = min(
        sum(s[k] for s, k in zip(spreads, shares, strict=True))
        for shares in itertools.product(range(1, 11), repeat=3) if sum(shares) == 12
    )  # fmt: skip
    assert sum(s[k] for s, k in zip(spreads, chosen, strict=True)) == pytest.approx(best)


@pytest.mark.parametrize("spend", [sf.Pure(1.0), sf.Approximate(1.0, 1e-6), sf.Concentrated(0.5)])
@pytest.mark.parametrize("subjects", [None, ["age"], ["state", "hobbies"], ["member", CURVE]])
def test_claims_meet_the_target(subjects, spend):
    made = sanitization(SCHEMA, subjects, spend)
    if isinstance(spend, sf.Concentrated):
        assert pure_to_concentrated(made.guarantee().epsilon) <= spend.rho
    else:
        assert made.guarantee().implies(spend)


def test_random_order_hides_records_among_each_other():
    size = 100_000
    schema = sf.Schema(COLUMNS, adjacency=sf.Replace(), size=size)
    spend = sf.Approximate(1.0, 1e-6)
    hidden, alone = sanitization(schema, ["age"], spend), sanitization(schema, ["age"], sf.Pure(1.0))
    assert hidden.shuffled is not None
    local = hidden.record_guarantee().epsilon
    assert local > 3
    assert shuffled_epsilon(local, size, 1e-6) <= hidden.guarantee().epsilon <= 1.0
    assert hidden.measured < 0.1 * alone.measured
    assert isinstance(hidden.certificate(hidden.guarantee()), NoBoundKnown)


@pytest.mark.parametrize(("subjects", "spend", "most"), [
    (["member"], sf.Pure(1.0), 1.0001),  # two points: 5.3 is attained
    (["state"], sf.Pure(1.0), 1.0001),  # 5.5 is attained among answers inside the space
    (["age"], sf.Pure(1.0), 4.0),
])  # fmt: skip
def test_certificates_of_one_column(subjects, spend, most):
    certificate = sanitization(SCHEMA, subjects, spend).certificate(spend)
    assert isinstance(certificate, Certificate)
    assert 1.0 - 1e-9 <= certificate.factor <= most


def test_hostile_rows_never_raise_and_never_change_the_number_of_rows(tmp_path):
    hostile = pa.table({
        "age": pa.array(["nan", "inf", "-1e999", None, "x", "50"]), "member": pa.array([None, 7, -7, 0, 1, 2**62]),
        "state": pa.array([None, "", "Mars", "CA", "ca", "NY"]),
        "hobbies": pa.array([None, [], ["golf", None], ["go"] * 9, ["go", "judo", "chess"], [""]]),
    })  # fmt: skip
    columns = {name: COLUMNS[name] for name in hostile.column_names}
    schema = sf.Schema(columns, adjacency=sf.Replace(), size=6, dataset="d")
    assert len(session(tmp_path, hostile, schema).sanitize(spend=sf.Pure(5.0))) == 6
    for size in (3, 20):
        with pytest.raises(SchemaError, match=rf"size={size} is declared, but the table has 6 rows"):
            session(tmp_path, hostile, replace(schema, size=size))


def test_rows_leave_in_random_order(tmp_path):
    """At a large epsilon the published ages are the true ones, so their order can be seen: it is not the table's.

    One step costs 50 a record, so any of them moves with probability below SIZE e^-50, about 1e-18.
    """
    table = session(tmp_path, budget=sf.Pure(5000.0)).sanitize(["age"], spend=sf.Pure(5000.0))
    found = table.rows["age"].to_numpy()
    assert sorted(found) == sorted(i % 100 for i in range(SIZE))
    assert (found == np.array([i % 100 for i in range(SIZE)])).mean() < 0.2


def test_curves_survive_their_leading_waves(tmp_path):
    table = session(tmp_path).sanitize([CURVE], spend=sf.Approximate(50.0, 1e-6))
    means = [table.rows[f"h{j}"].to_numpy().mean() for j in range(6)]
    truth = [np.mean([5 + math.sin(j + i % 7) for i in range(SIZE)]) for j in range(6)]
    assert np.abs(np.array(means) - truth).max() < 0.8
    with pytest.raises(UnsupportedQuery, match="cannot be read from this table"):
        table.estimate(sf.mean("h0"))


@pytest.mark.parametrize("case", thinned([(["member"], [0, 1, 1]), (["age"], [0, 100, 50])], 0))
def test_the_auditor_finds_nothing_in_a_whole_table(case):
    subjects, data = case
    made = sanitization(sf.Schema(COLUMNS, adjacency=sf.Replace(), size=3), subjects, sf.Pure(1.0))
    low, high = (0, 1) if subjects == ["member"] else (0, 100)

    def published(rows, rng):
        held = np.clip(np.nan_to_num(np.array(rows, dtype=np.float64), nan=low), low, high).astype(np.int64)
        return made.parts[0].release(held[:, None], rng)[:, 0].tolist()

    first, second = [float(v) for v in data], [float(high), *[float(v) for v in data[1:]]]
    claims = {sf.Pure(1.0): False, sf.Pure(0.7): True}
    for claim, refuted in claims.items():
        found = audit(published, claim, pairs=[(first, second)], seconds=8, seed=61, generator=seeded)
        assert bool(found.refuted) is refuted


def test_asking_beats_sanitizing_for_one_question():
    """The side by side of the guide: one sanitized table loses to one asked mean by about sqrt(n)."""
    schema = sf.Schema({"age": sf.Integers(0, 100, missing=50)}, adjacency=sf.Replace(), size=10_000)
    made = sanitization(schema, ["age"], sf.Pure(1.0))
    (row,) = against_asking(made, [sf.mean("age")], sf.Pure(1.0))
    assert 50 < row.sanitized / row.asked_alone < 200
    many = against_asking(made, [sf.mean("age"), sf.count().where("age > 50")], sf.Pure(1.0))
    assert many[0].asked_with_share > row.asked_alone


def test_the_order_is_drawn_again_where_two_words_are_equal():
    draws = iter([[7, 7, 1], [3, 3, 3], [5, 9, 2]])
    rng = SimpleNamespace(bits64=lambda count: np.array(next(draws), dtype=np.uint64))
    assert shuffled_order(3, rng).tolist() == [2, 0, 1]


@pytest.mark.heavy
def test_orders_in_pieces_are_uniform_permutations(monkeypatch):
    monkeypatch.setattr(drawing, "PIECE", 1)
    rng, draws = seeded(11), 24_000
    found = Counter(tuple(np.concatenate(list(drawing._orders(4, rng))).tolist()) for _ in range(draws))
    assert sorted(found) == sorted(itertools.permutations(range(4)))
    assert stats.chisquare(list(found.values())).pvalue > ALPHA
    skewed = [count + (100 if order[0] == 0 else -33) for order, count in found.items()]  # 10 % off, in one place
    assert stats.chisquare(skewed, np.full(24, sum(skewed) / 24)).pvalue < ALPHA


def test_records_of_many_pieces_are_the_records_and_missing_ones_fill_up(tmp_path, monkeypatch):
    monkeypatch.setattr(drawing, "PIECE", 64)
    schema = sf.Schema({"n": sf.Integers(-2**40, 2**40), "c": sf.Categories(["a", "b"], missing="b")},
                       adjacency=sf.Replace(), size=1000)  # fmt: skip
    made = sanitization(schema, ["n", "c"], sf.Pure(1e6))
    held = [{"n": np.arange(k, k + 300), "c": np.arange(300) % 2} for k in (0, 300, 2**40)]
    columns = made.release(view_of(*held), seeded(3))
    near = np.sort(np.asarray(columns["n"])) + 2**40
    truth = np.sort(np.concatenate([*(batch["n"] for batch in held), np.full(100, 2**40)]))  # missing: in the middle
    assert columns["n"].num_chunks > 8
    assert np.abs(near - truth).max() < 2**24  # of 2^41
    assert columns["c"].to_pylist().count("a") == 450
    assert drawing._compact(np.array([-3, 2**62])).tolist() == [-3, 2**62]


@pytest.mark.parametrize("columns", [["state"], ["hobbies"]])
def test_a_spend_too_small_to_say_anything_is_refused(tmp_path, columns):
    with pytest.raises(ParameterError, match=rf"spend is too small.*{columns[0]}.*give more"):
        session(tmp_path).sanitize(columns, spend=sf.Pure(1e-17))


@pytest.mark.parametrize(
    ("space", "readable"),
    [
        (sf.TimeOfDay(), {"spread": False, "distance": True}),
        (sf.Dates("1900-01-01", "2026-12-31"), {"spread": True, "distance": True}),
        (sf.Dates("0200-01-01", "2026-12-31"), {"spread": False, "distance": True}),
        (sf.Duration(0, 24, "hours"), {"spread": True, "distance": True}),
    ],
)
def test_values_whose_type_cannot_hold_the_noise_are_refused(space, readable):
    """Cut off at the end of the day or of the calendar, they would be read with a bias that no bar allows for."""
    for least, fine in readable.items():
        schema = sf.Schema({"t": space, "u": space}, adjacency=sf.Replace(), size=3)
        subjects = [["t"]] if least == "distance" else [["t"], [sf.together("t", "u")]]
        for one in subjects:
            asked = bind(sf.sanitized(one, least=least), schema)
            if fine:
                assert not any(part.cut_off for part in Sanitization.calibrate(asked, sf.Pure(3.0)).parts)
            else:
                with pytest.raises(UnsupportedQuery, match=r"'t' .* cannot hold the noise"):
                    Sanitization.calibrate(asked, sf.Pure(3.0))


def test_mistakes_are_told_before_anything_is_spent(tmp_path):
    here = session(tmp_path)
    with pytest.raises(SchemaError, match="did you mean 'age'"):
        here.sanitize(["agee"], spend=sf.Pure(1.0))
    with pytest.raises(ParameterError, match="named twice"):
        here.sanitize(["age", "age"], spend=sf.Pure(1.0))
    with pytest.raises(ParameterError, match="columns is empty"):
        here.sanitize([], spend=sf.Pure(1.0))
    assert here.spent.epsilon == 0
    open_size = sf.Schema({"age": sf.Integers(0, 100)}, dataset="people")
    with pytest.raises(UnsupportedQuery, match=r"adjacency=Replace\(\)"):
        sanitization(open_size, None, sf.Pure(1.0))
    texts = sf.Schema({"t": sf.Texts()}, adjacency=sf.Replace(), size=3)
    with pytest.raises(UnsupportedQuery, match=r"'t' .* cannot be sanitized"):
        sanitization(texts, None, sf.Pure(1.0))
    table = here.sanitize(["age", "state"], spend=sf.Pure(4.0))
    with pytest.raises(UnsupportedQuery, match="counts, histograms and plain means"):
        table.estimate(sf.median("age"))
    with pytest.raises(UnsupportedQuery, match="each column in one part"):
        table.estimate(sf.count().where("age > 3 or age < 1"))
    with pytest.raises(UnsupportedQuery, match="was not published"):
        table.estimate(sf.count().where("member == 1"))
    with pytest.raises(ParameterError, match="level"):
        table.estimate(sf.mean("age"), level=95)


def test_records_as_near_as_any_randomizer_can(tmp_path):
    near = session(tmp_path).preview(sf.sanitized(["age"], least="distance"), spend=sf.Pure(1.0))
    assert "1.0" in near.certificate.words()
    made, plain = (sanitization(SCHEMA, ["age"], sf.Pure(1.0), least=least) for least in ("distance", "spread"))
    assert made.error() < 0.4 * plain.error()
    assert 1 <= made.certificate(made.guarantee()).factor < 1.01
    against = [one.certificate(one.guarantee()).bound for one in (plain, made)]
    assert against[0] == pytest.approx(against[1], rel=1e-6)


def test_nearest_records_are_released_saved_and_read_again(tmp_path):
    table = session(tmp_path).sanitize(["age", "state"], spend=sf.Pure(3.0), least="distance")
    values = table.to_pandas()["age"]
    assert values.between(0, 100).all()
    table.save(tmp_path / "near.parquet")
    assert sf.load(tmp_path / "near.parquet").to_pandas()["age"].equals(values)
    with pytest.raises(UnsupportedQuery, match="ask the session"):
        table.estimate(sf.mean("age"))


@settings(max_examples=25, deadline=None)
@given(st.integers(2, 7), st.integers(0, 2**32), st.floats(0.1, 6), st.sampled_from([0.0, 0.05]), st.booleans())
def test_labels_go_through_the_best_channel_of_their_metric(many, seed, epsilon, delta, settled):
    """The stated distance is the exact channel's worst, "missing" as far as the farthest; so is the claim."""
    points = np.random.default_rng(seed).normal(size=(many, 2))
    table = np.linalg.norm(points[:, None] - points, axis=2)
    taken = {"other": 0, "missing": 0} if settled else {}
    space = sf.Categories(range(many), distances=table, **taken)
    target = sf.Approximate(epsilon, delta) if delta else sf.Pure(epsilon)
    part = NearestLabel.calibrate("c", space, target)
    assert part.guarantee().implies(target)
    size = many if settled else many + 1
    whole = np.full((size, size), table.max())
    whole[:many, :many] = table
    np.fill_diagonal(whole, 0)
    law = (1 - delta) * np.array(part.channel.weights, dtype=float) / 2.0**52 + delta * np.eye(size)
    assert (law * whole).sum(axis=1).max() == pytest.approx(part.mean_error, rel=1e-9)
    ratio = Fraction(math.exp(part.guarantee().epsilon)) * (1 + Fraction(1, 2**40))
    assert all(max(column) <= ratio * min(column) for column in zip(*part.channel.weights, strict=True))
    assert part.mean_error <= Responses.calibrate("c", space, target).mean_error * (1 + 1e-2)
    assert NearestLabel.from_record(part.to_record(), space) == part
    certificate = sanitization(
        sf.Schema({"c": space}, adjacency=sf.Replace(), size=1), ["c"], target, least="distance"
    ).certificate(target)
    assert certificate.factor >= 1
    assert delta or certificate.factor < 1.001


def test_a_declared_metric_through_files_and_a_plan(tmp_path):
    """Grades on a line: published nearer than randomized response can, stored, read again; plans declare the same."""
    line = [[abs(i - j) for j in range(5)] for i in range(5)]
    grades = pd.DataFrame({"grade": ["a", "b", "c", "d", "e", None, "?", "a"] * 5})
    for file, write in (("grades.csv", grades.to_csv), ("grades.parquet", grades.to_parquet)):
        write(tmp_path / file, index=False)
    plan = {
        "format": "sfumato-plan/2", "budget": {"epsilon": 3.0},
        "table": {"path": "grades.parquet", "unit": "row", "adjacency": "replace", "size": 40},
        "columns": {"grade": {"type": "categories", "values": [*"abcde"], "other": "c", "missing": "c",
                              "distances": line}},
        "release": [{"query": "sanitized", "least": "distance", "spend": {"epsilon": 1.0}}],
    }  # fmt: skip
    (tmp_path / "plan.json").write_text(json.dumps(plan))
    opened = sf.Session.from_plan(tmp_path / "plan.json")
    question = sf.sanitized(least="distance")
    spread, near = (
        opened.preview(sf.sanitized(least=least), spend=sf.Pure(1.0)).certificate for least in ("spread", "distance")
    )
    assert near.factor < 1.001 < 1.1 < spread.factor
    assert near.bound == pytest.approx(spread.bound, rel=1e-6)
    read = sf.read(tmp_path / "grades.csv", schema=opened.schema)
    asked = sf.Session(read, budget=sf.Pure(3.0), ledger=tmp_path / "of-csv.ledger")
    table = asked.release(question, spend=sf.Pure(1.0))
    assert set(table.to_pandas()["grade"]) <= set("abcde")
    assert "grade 0." in table.error().words() or "grade 1." in table.error().words()
    table.save(tmp_path / "near.parquet")
    again = sf.load(tmp_path / "near.parquet")
    assert again.certificate == table.certificate
    assert again.mechanism == table.mechanism
    with pytest.raises(UnsupportedQuery, match="ask the session"):
        table.estimate(sf.histogram("grade"))


def test_labels_too_many_for_the_program_are_answered_at_random():
    line = [[abs(i - j) for j in range(60)] for i in range(60)]
    schema = sf.Schema({"c": sf.Categories(range(60), distances=line)}, adjacency=sf.Replace(), size=1)
    made = sanitization(schema, ["c"], sf.Pure(1.0), least="distance")
    assert type(made.parts[0]).__name__ == "Responses"
    assert made.certificate(made.guarantee()).factor >= 1


@pytest.mark.parametrize(("size", "spend"), [(3, sf.Pure(60.0)), (3, sf.Approximate(9.0, 1e-3)), (1, sf.Pure(20.0))])
def test_an_array_is_published_by_its_entries(tmp_path, size, spend):
    """Of a Parquet file with hostile rows; read again, it certifies and estimates as before."""
    rows = [[*range(1, size + 1)], [9.0] * (size + 1), None, [float("inf")] * size, [float("nan")] * size] * 40
    pq.write_table(pa.table({"x": pa.array(rows, pa.list_(pa.float64())), "n": [1] * 200}), tmp_path / "t.parquet")
    schema = sf.Schema(
        {"x": sf.Box(0, 10, shape=(size,), step=0.5), "n": sf.Integers(0, 1)}, adjacency=sf.Replace(), size=200
    )
    asked = session(tmp_path, tmp_path / "t.parquet", schema)
    table = asked.sanitize(["x"], spend=spend)
    assert asked.preview(sf.sanitized(["x"]), spend=spend).certificate == table.certificate
    entries = [f"x[{place}]" for place in range(size)]
    assert table.to_pandas().columns.tolist() == entries
    table.save(tmp_path / "near.parquet")
    again = sf.load(tmp_path / "near.parquet")
    assert again.question == table.question
    assert again.certificate == table.certificate
    found = again.estimate(sf.mean("x[0]")).to_pydict()
    assert found["low"][0] <= (1 + 5 + 5 + 10 + 5) / 5 <= found["high"][0]
    whole = asked.preview(sf.sanitized(), spend=sf.Pure(9.0))
    assert whole.name == f"sanitized {', '.join([*entries, 'n'])}"


def test_a_record_is_published_by_its_fields(tmp_path):
    rows = [{"age": 50, "pets": [1, 2]}, {"age": None, "pets": None}, None, {"age": 10**9, "pets": [9, 9]}] * 10
    spaces = {"who": sf.Record({"age": sf.Integers(0, 100), "pets": sf.Box(0, 4, (2,), 1)})}
    pq.write_table(pa.table({"who": rows}), tmp_path / "t.parquet")
    schema = sf.Schema(spaces, adjacency=sf.Replace(), size=40)
    asked = session(tmp_path, tmp_path / "t.parquet", schema, sf.Pure(1e5))
    table = asked.sanitize(["who"], spend=sf.Pure(1e5))  # no noise to speak of
    assert sorted(set(table.to_pandas().itertuples(index=False, name=None))) == [(50, 1, 2), (50, 2, 2), (100, 4, 4)]
    table.save(tmp_path / "near.parquet")
    again = sf.load(tmp_path / "near.parquet")
    assert again.certificate == table.certificate
    assert again.question.columns == table.question.columns == ("who.age", "who.pets[0]", "who.pets[1]")


def test_what_is_made_least_is_part_of_the_question():
    plain, near = sf.sanitized(["age"]), sf.sanitized(["age"], least="distance")
    assert plain != near
    assert "least" not in plain.details.to_record()
    assert type(near.details).from_record(near.details.to_record()) == near.details
    with pytest.raises(ParameterError, match="least must be one of"):
        sf.sanitized(["age"], least="bias")
