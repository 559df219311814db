"""Workloads from the user's door to a stored release: what is asked, planned, published and read back."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import sfumato as sf
from sfumato.answers.certificate import Certificate
from sfumato.errors import ParameterError, SchemaError, UnsupportedQuery
from sfumato.planner import options
from sfumato.queries import bind
from sfumato.queries.linear.consistency import errors, least_squares, maximum_entropy, nonnegative
from sfumato.queries.query import Query

AGES = sf.Schema({"age": sf.Interval(0, 15, step=1), "sex": sf.Categories(["f", "m"])})
SIGNS = np.random.default_rng(7).choice([-1, 1], (4, 16))


@pytest.fixture
def session(tmp_path):
    rng = np.random.default_rng(1)
    frame = pd.DataFrame({"age": rng.integers(0, 16, 4000), "sex": rng.choice(["f", "m"], 4000)})
    frame.to_parquet(tmp_path / "people.parquet")
    table = sf.read(tmp_path / "people.parquet", schema=AGES)
    return sf.Session(table, budget=sf.Pure(50.0), ledger=tmp_path / "people.ledger"), frame


ASKED = {
    "prefix": sf.prefix("age"),
    "ranges": sf.ranges("age"),
    "marginals": sf.marginals(["age", "sex"], k=1),
    "predicates": sf.predicates(["age >= 8 and sex == 'f'", "age < 3"], by=["age", "sex"]),
    "signs": sf.workload("age", SIGNS),
    "weighted": sf.workload("age", sf.weighted("prefix", 3), [[0.5] * 16]),
    "product": sf.workload(["age", "sex"], ["prefix", "each"]),
}


# what is asked


@pytest.mark.parametrize("query", ASKED.values(), ids=ASKED.keys())
def test_a_workload_survives_its_record(query):
    assert Query.from_record(query.to_record()) == query


@pytest.mark.parametrize("query", ASKED.values(), ids=ASKED.keys())
def test_sensitivity_is_the_largest_norm_of_what_one_unit_can_do(query):
    for adjacency, rows in ((sf.AddRemove(), 1), (sf.Replace(), 1), (sf.AddRemove(), 3)):
        unit = sf.Row() if rows == 1 else sf.Person("id", rows)
        schema = sf.Schema(AGES.columns, unit=unit, adjacency=adjacency, size=100)
        question = bind(query, schema)
        for norm, order in (("l1", 1), ("l2", 2), ("linf", np.inf)):
            largest = np.linalg.norm(question.vertices.astype(float), ord=order, axis=0).max()
            assert question.sensitivity(norm) == pytest.approx(largest, rel=1e-12)
            assert question.sensitivity(norm) >= largest * (1 - 1e-15)


def test_replacement_moves_by_differences_and_by_columns_unless_every_row_has_a_cell():
    question = bind(sf.prefix("age"), sf.Schema(AGES.columns, adjacency=sf.Replace(), size=10))
    assert question.sensitivity("l1") == 16
    always = {"age": sf.Interval(0, 15, step=1, missing=0)}
    question = bind(sf.prefix("age"), sf.Schema(always, adjacency=sf.Replace(), size=10))
    assert question.sensitivity("l1") == 15


def test_a_real_matrix_is_quantized_and_states_its_bias():
    exact = bind(sf.workload("sex", [[0.5, -0.25]]), AGES)
    assert exact.bias == 0
    rounded = bind(sf.workload("sex", sf.weighted([[1 / 3, 1.0]], 1, step=0.01)), AGES)
    assert rounded.bias == pytest.approx(1 / 300, rel=1e-6)
    assert "rounding" in rounded.accuracy(options(rounded, sf.Pure(1.0))[0].mechanism, 0.05).words()


# what is published


@pytest.mark.parametrize("name", ASKED)
def test_a_release_is_close_to_the_truth_and_reads_back_the_same(name, session, tmp_path):
    live, frame = session
    query = ASKED[name]
    release = live.release(query, spend=sf.Pure(2.0), name=name)
    question = bind(query, AGES)
    keys = [key.column for key in question.cells.keys]
    counts = np.zeros(question.cells.shape, dtype=int)
    codes = [frame["age"].to_numpy()] + [frame["sex"].map({"f": 0, "m": 1}).to_numpy()] * (len(keys) - 1)
    np.add.at(counts, tuple(codes), 1)
    truth = question.linear.apply(counts.reshape(-1)) * question.units
    low, high = release.interval(0.999999, joint=True)
    assert ((low <= truth) & (truth <= high)).all()
    loaded = sf.load(release.save(tmp_path / "release.json"))
    assert np.allclose(loaded.value, release.value)
    assert loaded.words() == release.words()
    assert len(release.table().column("query")) == question.dimension


def test_a_plan_ranks_the_ways_and_certifies_the_best(session):
    preview = session[0].preview(ASKED["prefix"], spend=sf.Pure(1.0))
    names = [name for name, _ in preview.ranking]
    errors_ = [error for _, error in preview.ranking]
    assert errors_ == sorted(errors_)
    assert {"laplace on the answers", "strategy: histogram", "strategy: hierarchy", "cube"} <= set(names)
    assert isinstance(preview.certificate, Certificate)
    assert preview.certificate.factor >= 1


def test_what_assumes_something_is_skipped_unless_allowed():
    question = bind(ASKED["signs"], AGES)
    plain = {option.name for option in options(question, sf.Pure(1.0))}
    assert not plain & {"k-norm", "ellipsoid", "parallelepiped", "nim"}
    allowed = options(question, sf.Pure(1.0), frozenset({"real-arithmetic", "mixing"}))
    assert {"k-norm", "ellipsoid", "parallelepiped", "nim"} <= {option.name for option in allowed}
    assert all(not o.mechanism.guarantee().assumptions for o in options(question, sf.Pure(1.0)))


@pytest.mark.parametrize("target", [sf.Pure(1.0), sf.Approximate(1.0, 1e-6), sf.Concentrated(0.1)])
@pytest.mark.parametrize("name", ["prefix", "marginals", "signs"])
def test_every_option_meets_the_target(name, target):
    for option in options(bind(ASKED[name], AGES), target):
        assert option.mechanism.guarantee().implies(target), option.name


def test_more_privacy_units_cost_more():
    question = bind(ASKED["prefix"], AGES)
    for option in options(question, sf.Pure(1.0)):
        claims = [option.mechanism.guarantee(distance).epsilon for distance in (0, 1, 3)]
        assert claims[0] == 0
        assert claims[2] == pytest.approx(3 * claims[1])


# post-processing


def test_least_squares_gains_the_ratio_of_rows_to_rank():
    linear = bind(sf.ranges("age"), AGES).linear
    counts = np.arange(16) * 10.0
    truth = linear.dense() @ counts
    noise = np.random.default_rng(5).normal(size=(200, linear.rows)) * 20
    before = (noise**2).mean()
    fitted = [least_squares(linear, truth + one) for one in noise]
    after = np.mean([((one.answers - truth) ** 2).mean() for one in fitted])
    assert fitted[0].gain == linear.rows / 16
    assert before / after == pytest.approx(linear.rows / 16, rel=0.05)  # 3,200 squares: 2.5 % of standard error


def test_counts_that_are_not_negative_are_closer_when_most_cells_are_empty():
    linear = bind(sf.prefix("age"), AGES).linear
    counts = np.zeros(16)
    counts[5] = 100
    truth = linear.dense() @ counts
    noise = np.random.default_rng(6).normal(size=(40, 16)) * 10
    plain = np.mean([errors(truth, least_squares(linear, truth + one).answers).l2 for one in noise])
    better = np.mean([errors(truth, nonnegative(linear, truth + one).answers).l2 for one in noise])
    assert better < 0.8 * plain
    assert (nonnegative(linear, truth + noise[0]).counts >= 0).all()


def test_maximum_entropy_answers_what_was_not_asked():
    linear = bind(sf.marginals(["age", "sex"], k=1), AGES).linear
    joint = np.outer(np.arange(1, 17), [1, 3]) * 5.0
    found = maximum_entropy(linear, linear.apply(joint.reshape(-1)), joint.sum(), deviation=0.5)
    # two one-way tables: the flattest joint table is their product
    assert np.allclose(found.counts.reshape(16, 2), joint, rtol=0.02, atol=0.5)
    assert found.counts.sum() == pytest.approx(joint.sum())


# refusals


@pytest.mark.parametrize(
    ("build", "error", "reason"),
    [
        (lambda: sf.workload("age", [[float("nan")] * 16]), ParameterError, "NaN"),
        (lambda: sf.workload("age", [[0] * 16]), ParameterError, "zeros"),
        (lambda: sf.workload("age", [[1, 2], [3]]), ParameterError, "equal length"),
        (lambda: bind(sf.workload("age", [[1, 2]]), AGES), SchemaError, "2 columns for 16 cells"),
        (lambda: sf.workload("age"), ParameterError, "at least one part"),
        (lambda: sf.workload([], "prefix"), ParameterError, "by is empty"),
        (lambda: sf.marginals(["age", "sex"], k=3), ParameterError, "k must be"),
        (lambda: sf.weighted("prefix", 0), ParameterError, "weight must be"),
        (lambda: bind(sf.workload("age", ["prefix", "each"]), AGES), SchemaError, "2 kinds of rows for 1 keys"),
        (lambda: bind(sf.predicates(["sex == 'f'"], by="age"), AGES), SchemaError, "not among"),
        (lambda: bind(sf.predicates(["age > 99"], by="age"), AGES), SchemaError, "none of the conditions"),
        (lambda: Query.from_record({"query": "workload", "by": ["age"]}), ParameterError, "parts"),
        (lambda: Query.from_record({"query": "workload", "by": ["age"], "workload": [1]}), SchemaError, "a part of"),
    ],
)
def test_refusals_say_what_is_wrong(build, error, reason):
    with pytest.raises(error, match=reason):
        build()


def test_a_condition_may_not_cut_a_bin():
    query = sf.predicates(["age >= 5"], by=sf.bins("age", 0, 8, 15))
    with pytest.raises(SchemaError, match="cuts a bin"):
        bind(query, AGES)


def test_too_many_rows_are_refused():
    wide = sf.Schema({"x": sf.Interval(0, 9999, step=1)})
    with pytest.raises(UnsupportedQuery, match="rows"):
        bind(sf.ranges("x"), wide)


class Counted:
    """A table of which the histogram is known."""

    def __init__(self, counts):
        self.counts = counts

    def answer(self, statistic):
        return [self.counts]


@pytest.mark.parametrize(
    "matrix",
    [
        [[1]],  # one query, one cell
        [[1], [2], [-1]],  # more queries than cells
        [[1, 1, 0], [2, 2, 0]],  # rank one, duplicate and zero columns
    ],
)
def test_odd_shapes_are_answered(matrix):
    cells = len(matrix[0])
    schema = sf.Schema({"c": sf.Categories([f"c{i}" for i in range(cells)])})
    question = bind(sf.workload("c", matrix), schema)
    counts = np.arange(1, cells + 1) * 1000
    for option in options(question, sf.Pure(1.0)):
        mechanism = option.mechanism
        exact = mechanism.take(Counted(counts))
        from sfumato.randomness import seeded

        output = mechanism.release(exact, seeded(1))
        assert np.allclose(question.read(output, mechanism).estimates, np.array(matrix) @ counts, atol=200)
