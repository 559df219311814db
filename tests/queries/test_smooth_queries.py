"""Smooth queries: their (K, B) bounds, whole-number values, moves of one unit, and sessions."""

import itertools
import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato.auditing import audit_sensitivity
from sfumato.errors import ParameterError, SchemaError, UnsupportedQuery
from sfumato.queries import Query, bind
from sfumato.queries.smooth import SCALE, GaussianMixture, Polynomial, evaluate, whole_values

MIXTURE = sf.gaussian_mixture(["a", "b"], [[0.5, -0.5], [-1.0, 0.3]], 0.8, [0.75, -0.25])
POLYNOMIAL = sf.smooth(["a", "b"], {(0, 0): 0.3, (1, 0): 0.5, (1, 3): -0.25})
QUERIES = [MIXTURE, POLYNOMIAL]


def schema_of(replaced=False, missing=None, width=40):
    spaces = {name: sf.Integers(0, width, missing=missing) for name in ("a", "b")}
    return sf.Schema(spaces, adjacency=sf.Replace() if replaced else sf.AddRemove(), size=3)


def derivative(values, step, orders):
    for axis, order in enumerate(orders):
        for _ in range(order):
            values = np.gradient(values, step, axis=axis)
    return np.abs(values[4:-4, 4:-4]).max()  # differences at the edge are one-sided, and worse each time


class Rows:
    """Lattice indices as an engine streams them."""

    def __init__(self, rows):
        self.table = np.array(rows, dtype=np.int64).reshape(-1, 2)

    def rows(self, columns, where=None):
        yield {name: self.table[:, place] for place, name in enumerate(columns)}


# what the functions are


@pytest.mark.parametrize("query", QUERIES)
def test_derivatives_stay_within_their_bound(query):
    """All mixed derivatives up to order 3, by differences on a fine grid."""
    line = np.linspace(-1, 1, 401)
    grid = np.stack(np.meshgrid(line, line, indexing="ij"), axis=-1).reshape(-1, 2)
    values = query.details.values(grid).reshape(401, 401)
    for order in range(4):
        found = max(derivative(values, line[1] - line[0], (i, order - i)) for i in range(order + 1))
        assert found <= query.details.derivative_bound(order) * 1.01
    assert derivative(values, line[1] - line[0], (1, 0)) <= query.details.slope * 1.01
    low, high = query.details.range
    assert low <= values.min() <= values.max() <= high


def test_a_kernel_of_width_sigma_is_smooth_of_order_sigma_squared():
    """Proposition 2.2: B = |weights|_1 for every K <= sigma^2, and more beyond."""
    for sigma in (2, 3, 4):
        kernel = GaussianMixture(("a",), ((0.0,),), float(sigma), (1.0,))
        assert kernel.derivative_bound(sigma**2) == 1.0
        assert kernel.derivative_bound(20 * sigma**2) > 1.0


@settings(max_examples=30, deadline=None)
@given(st.integers(1, 20_000), st.integers(0, 5))
def test_whole_numbers_follow_the_function(width, seed):
    schema = schema_of(width=width)
    for query in QUERIES:
        question = bind(query, schema)
        places = np.stack([np.random.default_rng(seed).integers(0, axis.cells, 50) for axis in question.axes], axis=1)
        points = np.stack([axis.positions()[places[:, i]] for i, axis in enumerate(question.axes)], axis=1)
        found = whole_values(query.details, question.axes, places) / SCALE
        assert np.abs(found - query.details.values(points)).max() < 10 / SCALE


def test_a_table_and_a_synthetic_one_give_the_same_answer():
    frame = pd.DataFrame({"a": [0, 7, 40, 13.2], "b": [1, 40, 0, 99]})
    schema = schema_of()
    for query in QUERIES:
        question = bind(query, schema)
        exact = question.answer(sf.read(frame, schema=schema))
        assert question.estimate(exact)[0] == pytest.approx(evaluate(query, frame, schema), abs=1e-9)
        twice = evaluate(query, pd.concat([frame, frame]), schema, np.r_[np.full(4, 0.2), np.full(4, 0.05)])
        assert twice == pytest.approx(evaluate(query, frame, schema), abs=1e-9)


# what one unit moves


@pytest.mark.parametrize("query", QUERIES)
@pytest.mark.parametrize("replaced", [False, True])
def test_claimed_moves_cover_all_small_tables(query, replaced):
    schema = schema_of(replaced)
    question = bind(query, schema)
    records = [*itertools.product((0, 20, 40), repeat=2), (-1, 3)]
    pairs = [
        ([one, (40, 0)], [other, (40, 0)] if replaced else [one, (40, 0), other])
        for one, other in itertools.product(records, repeat=2)
    ]

    def sums(rows):
        return question.answer(Rows(rows)).astype(float)

    claimed = question.sensitivity("l1")
    assert not audit_sensitivity(sums, claimed, "l1", pairs=pairs).refuted
    assert claimed == question.width * (2 if replaced else 1)


# sessions


@pytest.mark.parametrize("replaced", [False, True])
def test_a_session_answers_within_its_interval_and_reads_back(tmp_path, replaced):
    frame = pd.DataFrame(np.random.default_rng(1).integers(0, 41, (3000, 2)), columns=["a", "b"])
    spaces = {name: sf.Integers(0, 40, missing=0) for name in frame}
    schema = sf.Schema(spaces, adjacency=sf.Replace() if replaced else sf.AddRemove(), size=3000)
    session = sf.Session(sf.read(frame, schema=schema), budget=sf.Pure(2.0), ledger=tmp_path / "l.db")
    for query in QUERIES:
        assert Query.from_record(query.to_record()) == query
        release = session.release(query.where("a >= 10"), spend=sf.Pure(1.0))
        kept = frame[frame["a"] >= 10]
        low, high = release.interval(0.9999)
        assert low <= query.details.values(kept.to_numpy() / 20 - 1).mean() <= high
        assert high - low < 0.1
        assert sf.load(release.save(tmp_path / "r.json")).value == release.value


def test_many_terms_get_coarser_cells_instead_of_more_memory():
    centers = np.random.default_rng(2).uniform(-1, 1, (500, 30))
    schema = sf.Schema({f"c{i}": sf.Interval(0, 1) for i in range(30)})
    question = bind(sf.gaussian_mixture(list(schema.columns), centers, 3.0), schema)
    assert question.axes[0].cells < 300
    assert question.hidden < 0.05


# refusals


@pytest.mark.parametrize("call", [
    lambda: sf.gaussian_mixture([], [[]], 1.0), lambda: sf.gaussian_mixture(["a"], [], 1.0),
    lambda: sf.gaussian_mixture(["a"], [[0.0]], 0.0), lambda: sf.gaussian_mixture(["a"], [[math.nan]], 1.0),
    lambda: sf.gaussian_mixture(["a"], [[0.0]], 1.0, [1.0, 2.0]), lambda: sf.smooth(["a", "b"], {(1,): 1.0}),
    lambda: sf.gaussian_mixture(["a"], [[0.0]], 1.0, [1e9]), lambda: sf.smooth(["a"], {}),
    lambda: sf.smooth(["a", "a"], {(1, 1): 1.0}),
])  # fmt: skip
def test_refuses_nonsense(call):
    with pytest.raises(ParameterError, match="must"):
        call()


def test_refuses_other_columns_keys_and_parts():
    schema = sf.Schema({"a": sf.Integers(0, 3), "c": sf.Categories(["x"])})
    with pytest.raises(UnsupportedQuery, match="must hold numbers"):
        bind(sf.gaussian_mixture(["c"], [[0.0]], 1.0), schema)
    with pytest.raises(UnsupportedQuery, match="no keys"):
        bind(sf.smooth(["a"], {(1,): 1.0}).by("c"), schema)
    with pytest.raises(SchemaError, match="has the parts"):
        Query.from_record({"query": "smooth", "columns": ["a"]})
    with pytest.raises(ParameterError, match="gaussian_mixture"):
        evaluate(sf.count(), {}, schema)
    assert Polynomial(("a",), ((2,),), (1.0,)).derivative_bound(2) == 4.0
