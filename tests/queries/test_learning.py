"""Regression and classification: brute-force stability on small tables, the solver's promise, and useful curves."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

import sfumato as sf
from sfumato.errors import ParameterError, SchemaError, UnsupportedQuery
from sfumato.planner import options
from sfumato.queries import Query, bind
from sfumato.queries.functions.losses import LOSSES
from sfumato.queries.functions.solver import TOLERANCE, Problem, _accelerated, minimum
from sfumato.randomness import seeded
from statistical import ALPHA
from thinned import thinned

COLUMNS = {"x": sf.Interval(0, 4, step=1), "y": sf.Interval(-2, 2, step=1), "c": sf.Categories(["no", "yes"])}
REGRESSION = sf.regression("y", "x", bandwidth=1.5, penalty=0.05)


def asked(name, penalty):
    if name == "robust":
        return sf.regression("y", "x", bandwidth=1.5, penalty=penalty)
    return sf.classification("c", "x", bandwidth=1.5, penalty=penalty, loss=name)


def bound(query, adjacency=None, **more):
    return bind(query, sf.Schema(COLUMNS, adjacency=adjacency or sf.AddRemove(), size=4, **more))


def batch(question, rows):
    names = (*question.labels, question.details.target)
    return {name: np.array([row[i] for row in rows], dtype=np.int64) for i, name in enumerate(names)}


def ones(question):
    return list(itertools.product(range(5), range(5 if question.kind == "regression" else 2)))


# claims: what one row moves, over all neighbors of small tables
@pytest.mark.parametrize("name", LOSSES)
@pytest.mark.parametrize("penalty", [0.05, 5.0])
@pytest.mark.parametrize("adjacency", ["add-remove", "replace"])
def test_the_sensitivity_bounds_every_neighbor(name, penalty, adjacency):
    question = bound(asked(name, penalty), sf.AddRemove() if adjacency == "add-remove" else sf.Replace())
    worst = 0.0
    for base in ([], [ones(question)[0]], [ones(question)[-1], ones(question)[1], ones(question)[-2]]):
        vectors = [question.vector([batch(question, [*base, row])]).astype(float) for row in [*ones(question), (-1, 0)]]
        others = [question.vector([batch(question, base)]).astype(float)] if adjacency == "add-remove" else vectors
        worst = max(worst, *(np.linalg.norm(one - other) for one, other in itertools.product(vectors, others)))
    assert worst <= question.sensitivity("l2")
    if penalty == 5.0:  # the minimum stays near 0, where slopes are 1, or 1/2 for the logistic loss
        assert worst >= (0.45 if name == "logistic" else 0.9) * question.sensitivity("l2")


def test_no_rows_are_a_table_too():
    question = bound(REGRESSION)
    for batches in ([], [{"x": np.array([]), "y": np.array([])}], [batch(question, [(-1, 0), (2, -1)])]):
        assert not question.vector(batches).any()


def test_features_are_no_longer_than_one():
    question = bind(sf.regression("y", ["x", "z"], bandwidth=[1.0, 2.0], penalty=0.01), sf.Schema(
        COLUMNS | {"z": sf.Interval(0, 9, step=0.01)}, size=10))  # fmt: skip
    problem = question.problem(
        *question.gathered([{"x": np.array([0, 3]), "z": np.array([5, 900]), "y": np.array([1, 2])}])
    )
    for phi, _, _ in problem.chunks():
        lengths = (phi**2).sum(axis=1)
        assert (lengths <= 1).all()
        assert (lengths >= 1 - 1e-9).all()


@pytest.mark.parametrize("name", LOSSES)
@settings(max_examples=100, deadline=None, derandomize=True)
@given(f=st.floats(-5, 5), y=st.sampled_from([-1.0, 1.0, 0.3]), h=st.floats(1e-4, 1))
def test_losses_are_convex_with_slopes_of_at_most_one(name, f, y, h):
    loss, points = LOSSES[name], np.array([f - h, f, f + h])
    target = np.full(3, y if name == "robust" else math.copysign(1.0, y))
    below, middle, above = loss.value(points, target)
    assert middle <= (below + above) / 2 + 1e-12
    assert np.abs(loss.slope(points, target)).max() <= 1
    assert (np.diff(loss.slope(points, target)) <= loss.curvature * h + 1e-12).all()
    assert abs(above - middle - h * loss.slope(points, target)[1]) <= loss.curvature * h * h / 2 + 1e-12


# the solver keeps its promise on every table, by either route
@pytest.mark.parametrize("name", LOSSES)
@pytest.mark.parametrize("route", [minimum, lambda problem: _accelerated(problem, np.zeros(problem.size))])
def test_the_gradient_ends_within_the_tolerance(name, route):
    rng = np.random.default_rng(1)
    features = rng.normal(size=(50, 6))
    features /= np.linalg.norm(features, axis=1, keepdims=True)
    targets = np.sign(rng.normal(size=300)) if name != "robust" else rng.uniform(-1, 1, 300)
    problem = Problem((rng.integers(0, 50, 300),), (features,), targets, np.full(300, 40.0), 3.0, LOSSES[name])
    found = route(problem)
    assert np.linalg.norm(problem.gradient(found)) <= TOLERANCE
    nearby = [problem.objective(found + 0.01 * step) for step in np.eye(6)]
    assert problem.objective(found) < min(nearby)


# usefulness, through the session
def test_a_regression_follows_its_function(tmp_path):
    import pyarrow as pa

    rng = np.random.default_rng(2)
    x = rng.uniform(0, 10, 8000)
    y = np.clip(3 * np.sin(x / 2) + rng.normal(0, 0.5, 8000), -5, 5)
    columns = {"x": sf.Interval(0, 10, step=0.01), "y": sf.Interval(-5, 5, step=0.01)}
    table = sf.read(pa.table({"x": x, "y": y}), schema=sf.Schema(columns, size=8000))
    session = sf.Session(table, budget=sf.Approximate(2, 1e-6), ledger=tmp_path / "ledger")
    query = sf.regression("y", "x", bandwidth=1.5, penalty=0.005)
    release = session.release(query, spend=sf.Approximate(2, 1e-6))
    points = np.linspace(0.5, 9.5, 50)
    truth = 3 * np.sin(points / 2)
    exact = release.mechanism.query.curve(release.mechanism.take(table))
    assert np.sqrt(np.mean((exact.at(points) - truth) ** 2)) < 0.2
    assert release.curve.deviation() < 0.4  # the noise is a few percent of the range, and known beforehand
    low, high = release.curve.band(points, 1 - 1e-6)
    assert (low <= exact.at(points)).all()
    assert (exact.at(points) <= high).all()
    assert sf.load(release.save(tmp_path / "r.json")).curve.at([3.0]) == release.curve.at([3.0])
    assert Query.from_record(query.to_record()) == query


@pytest.mark.parametrize("loss", thinned(["logistic", "hinge"], 1))
@pytest.mark.parametrize("spend", [sf.Approximate(2, 1e-6), sf.Pure(4)], ids=["approximate", "pure"])
def test_a_classification_tells_labels_apart(tmp_path, loss, spend):
    import pyarrow as pa

    rng = np.random.default_rng(3)
    x, z = rng.uniform(0, 10, (2, 6000))
    label = np.where((x > 5) == (rng.random(6000) < 0.9), "yes", "no")
    columns = {"x": sf.Interval(0, 10, step=0.1), "z": sf.Interval(0, 10, step=0.1), "c": COLUMNS["c"]}
    schema = sf.Schema(columns, adjacency=sf.Replace(), size=6000)
    table = sf.read(pa.table({"x": x, "z": z, "c": label}), schema=schema)
    session = sf.Session(table, budget=spend, ledger=tmp_path / "ledger")
    query = sf.classification("c", ["x", "z"], bandwidth=5, penalty=0.01, loss=loss)
    release = session.release(query, spend=spend)
    exact = release.mechanism.query.curve(release.mechanism.take(table))
    clear = np.abs(x - 5) > 2
    score = exact.at(np.stack([x, z], axis=1)[clear])
    assert np.mean((score > 0) == (x[clear] > 5)) > 0.98
    assert release.curve.deviation() < 0.5 * np.abs(score).mean()  # so that most signs survive the noise
    points = release.question.points()
    low, high = release.curve.band(points, 1 - 1e-6)
    assert (low <= exact.at(points)).all()
    assert (exact.at(points) <= high).all()


# what is said about it: bands, bounds and words, on a table with an empty end
@pytest.fixture(scope="module")
def learned(tmp_path_factory):
    """A regression and a density of its column, from a table whose upper half is nearly empty."""
    import pyarrow as pa

    rng = np.random.default_rng(4)
    x = np.clip(rng.gamma(2.0, 1.2, 6000), 0, 20)
    y = np.clip(x / 2 - 4 + rng.normal(0, 0.5, 6000), -5, 5)
    columns = {"x": sf.Interval(0, 20, step=0.01), "y": sf.Interval(-5, 5, step=0.01)}
    table = sf.read(pa.table({"x": x, "y": y}), schema=sf.Schema(columns, size=6000))
    session = sf.Session(table, budget=sf.Approximate(5, 1e-5), ledger=tmp_path_factory.mktemp("l") / "ledger")
    trend = session.release(sf.regression("y", "x", bandwidth=1.5, penalty=0.01), spend=sf.Approximate(2, 5e-7))
    rows = session.release(sf.density("x", bandwidth=0.6), spend=sf.Approximate(2, 5e-7))
    return trend, rows, trend.mechanism.query.curve(trend.mechanism.take(table))


@pytest.mark.parametrize("spend", [sf.Approximate(1, 1e-6), sf.Pure(3)], ids=["approximate", "pure"])
@pytest.mark.parametrize("seed", range(3))
def test_bands_cover_the_penalized_curve_within_the_bounds_as_often_as_they_say(spend, seed):
    """Random questions on random tables; 300 draws of the noise each."""
    rng = np.random.default_rng(900 + seed)
    low = round(float(rng.uniform(-5, 5)), 2)
    columns = {"x": sf.Interval(low, round(low + float(rng.uniform(2, 30)), 2), step=0.01), "y": COLUMNS["y"]}
    lattice = columns["x"].lattice
    query = sf.regression("y", "x", bandwidth=float(rng.uniform(0.1, 0.4) * lattice.width * 0.01), penalty=0.02)
    question = bind(query, sf.Schema(columns, size=500))
    rows = np.stack([rng.integers(0, lattice.width + 1, 500), rng.integers(0, 5, 500)], axis=1).tolist()
    vector, mechanism = question.vector([batch(question, rows)]), options(question, spend)[0].mechanism
    points = np.linspace(*question.curve(vector).domain[0], 60)
    exact, missed = question.curve(vector).at(points), 0
    for draw in range(300):
        below, above = question.curve(mechanism.release(vector, seeded(draw)), mechanism.noise).band(points, 0.9)
        missed += not ((below <= exact) & (exact <= above)).all()
    assert stats.binom.sf(missed - 1, 300, 0.1) >= ALPHA


def test_a_learned_curve_ends_at_the_declared_bounds(learned):
    trend, _, _ = learned
    assert trend.curve.domain == ((0.0, 20.0),)
    assert (trend.question.points().min(), trend.question.points().max()) == (0.0, 20.0)
    for beyond in ([-0.01], [3.0, 20.01]):
        for look in (trend.curve.at, trend.curve.band, trend.curve.interval):
            with pytest.raises(ParameterError, match=r"says nothing beyond the declared bounds.*\[0, 20\]"):
                look(beyond)


def test_a_picture_draws_no_band_where_rows_are_few(learned):
    trend, rows, _ = learned
    plain, shown = (chart.to_dict() for chart in (trend.plot(), trend.curve.plot(support=rows.curve)))
    assert all(row["low"] is None for row in drawn(plain))
    assert "no band" in " ".join(plain["title"]["subtitle"])
    banded = [row for row in drawn(shown) if row["low"] is not None]
    assert len(banded) > 30  # of 301 points
    assert 5 < max(row["x"] for row in banded) < 9  # one row in a hundred lies beyond 8
    assert all("estimate" in row for row in banded)
    for chart in (plain, shown):
        assert chart["layer"][-1]["encoding"]["x"]["scale"]["domain"] == [0.0, 20.0]
        assert {min(row["x"] for row in drawn(chart)), max(row["x"] for row in drawn(chart))} == {0.0, 20.0}
        for part in ("penalized curve", "not the mean of the data", "bends toward 0"):
            assert part in " ".join(chart["title"]["subtitle"])


def drawn(chart):
    """The points of a chart whose layers share their data."""
    holders = [chart, *chart["layer"]]
    return next(holder["data"]["values"] for holder in holders if "values" in holder.get("data", {}))


def test_where_the_density_shows_rows_the_pull_is_about_a_tenth(learned):
    """The penalized curve without noise against the mean that the rows were drawn with; half the range is 5."""
    trend, rows, exact = learned
    points = np.linspace(0, 20, 101)
    shown = trend.curve.supported(points, rows.curve)
    pulled = np.abs(exact.at(points) - (points / 2 - 4))
    assert pulled[shown].max() < 0.15 * 5
    assert pulled[-1] > 0.5 * 5
    with pytest.raises(ParameterError, match="a density of the columns it was learned on"):
        trend.curve.supported(points, trend.curve)


def test_words_say_what_the_error_is_about(learned):
    for text in (learned[0].words(), learned[0].to_record()["error_in_words"]):
        assert "noise alone: about the penalized curve without noise, not the mean of the data" in text
    score = bound(sf.classification("c", "x", bandwidth=1.5, penalty=0.01))
    assert "bends toward 0" in score.accuracy(options(score, sf.Pure(1.0))[0].mechanism, 0.05).words()


# refusals
def test_refuses_what_cannot_be_learned():
    with pytest.raises(SchemaError, match="declare size="):
        bind(REGRESSION, sf.Schema(COLUMNS))
    with pytest.raises(UnsupportedQuery, match="two categories"):
        bound(sf.classification("y", "x", bandwidth=1))
    with pytest.raises(UnsupportedQuery, match="numeric"):
        bound(sf.regression("c", "x", bandwidth=1))
    with pytest.raises(ParameterError, match="fewer columns"):
        sf.regression("y", list("abcdefghij"))
    with pytest.raises(ParameterError, match="penalty"):
        sf.regression("y", "x", penalty=0)
    with pytest.raises(ParameterError, match="loss"):
        sf.classification("c", "x", penalty=0.01, loss="squared")
    with pytest.raises(ParameterError, match="bandwidth"):
        bound(sf.regression("y", "x", bandwidth=1e-6, penalty=0.01))
