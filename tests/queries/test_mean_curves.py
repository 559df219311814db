"""Mean curves and covariances: the ball holds whatever a row holds, sums are exact, and real curves come out."""

import itertools
import math

import numpy as np
import pytest

import sfumato as sf
from sfumato.errors import ParameterError, SchemaError
from sfumato.orders import preview
from sfumato.planner import options
from sfumato.queries import Query, bind

NAMES = [f"p{i}" for i in range(6)]
SPACE = sf.Interval(-3, 3, step=0.5)


def schema(adjacency=None, missing=None, size=None, **more):
    columns = {name: sf.Interval(-3, 3, step=0.5, missing=missing) for name in NAMES}
    return sf.Schema(columns, adjacency=adjacency or sf.AddRemove(), size=size, **more)


def batch(rows):
    """Rows of lattice indices, -1 for missing, as an engine streams them."""
    return {name: np.array([row[i] for row in rows], dtype=np.int64) for i, name in enumerate(NAMES)}


def question(kind=sf.mean_curve, radius=1.0, declared=None, **more):
    return bind(kind(NAMES, radius=radius, waves=1, period=6, **more), declared or schema())


HOSTILE = [
    [0] * 6, [12] * 6, [0, 12] * 3, [12, 0] * 3, [6] * 6, [-1] * 6, [-1, 12, -1, 0, -1, 12], [-1, -1, -1, -1, 12, 0],
    [0, 0, 0, 12, 12, 12], [12, 12, 12, 0, 0, 0], [3, 1, 4, 1, 5, 9], [7, 6, 6, 6, 6, 5],
]  # fmt: skip


# claims: what one row moves, whatever it holds
@pytest.mark.parametrize("kind", [sf.mean_curve, sf.covariance])
@pytest.mark.parametrize("radius", [0.05, 1.0, 50.0])
@pytest.mark.parametrize("adjacency", ["add-remove", "replace", "replace-imputed"])
def test_the_sensitivity_bounds_every_neighbor(kind, radius, adjacency):
    relation = sf.AddRemove() if adjacency == "add-remove" else sf.Replace()
    missing = 0.0 if adjacency == "replace-imputed" else None
    rows = [row for row in HOSTILE if missing is None or min(row) >= 0]
    asked = question(kind, radius, schema(relation, missing, None if adjacency == "add-remove" else 3))
    base = [HOSTILE[10], HOSTILE[2]]
    vectors = [asked.vector([batch([*base, row])]).astype(float) for row in rows]
    others = [asked.vector([batch(base)]).astype(float)] if adjacency == "add-remove" else vectors
    gaps = [one - other for one, other in itertools.product(vectors, others)]
    found = {"l2": max(np.linalg.norm(gap) for gap in gaps), "l1": max(np.abs(gap).sum() for gap in gaps),
             "linf": max(np.abs(gap).max() for gap in gaps)}  # fmt: skip
    for norm in ("l1", "l2", "linf"):
        assert found[norm] <= asked.sensitivity(norm)
    if radius == 0.05 and kind is sf.mean_curve:  # all curves are shrunk to the sphere, so the bound is attained
        assert found["l2"] >= 0.97 * asked.sensitivity("l2")


def test_every_row_lies_in_the_ball_exactly():
    rng = np.random.default_rng(1)
    rows = rng.integers(-1, 13, (3000, 6)).tolist() + HOSTILE
    for radius in (1e-3, 0.3, 2.0):
        projection = question(radius=radius).projection
        found = projection.rows(batch(rows))
        assert max(sum(int(entry) ** 2 for entry in row) for row in found.tolist()) <= projection.radius**2


def test_what_a_row_adds_depends_on_that_row_alone():
    rng = np.random.default_rng(2)
    rows = rng.integers(-1, 13, (500, 6)).tolist()
    asked = question(radius=0.7)
    together = asked.vector([batch(rows)])
    alone = sum((asked.vector([batch([row])]).astype(object) for row in rows), np.zeros(4, dtype=object))
    shuffled = asked.vector([batch(rows[250:]), batch(rows[:250])])
    assert together.tolist() == alone.tolist() == shuffled.tolist()


# values
def test_a_wide_ball_gives_the_mean_of_the_projections():
    rng = np.random.default_rng(3)
    rows = rng.integers(0, 13, (40, 6))
    asked = question(radius=20.0)
    curve = asked.curve(asked.vector([batch(rows.tolist())]))
    values = rows * 0.5 - 3
    basis = asked.curves.axis.values(np.arange(6.0))
    wanted = basis @ (np.linalg.lstsq(basis, values.mean(axis=0), rcond=None)[0])
    assert np.abs(curve.at(np.arange(6.0)) - wanted).max() < 1e-3


def test_missing_points_lie_on_lines_and_mostly_missing_curves_are_left_out():
    asked = question(radius=20.0)
    full = asked.vector([batch([[2, 4, 6, 8, 10, 12]])])
    gaps = asked.vector([batch([[2, 4, -1, 8, -1, 12]])])
    assert full.tolist() == gaps.tolist()
    assert asked.vector([batch([[2, -1, -1, -1, -1, 12]])]).tolist() == [0, 0, 0, 0]


def test_the_covariance_of_many_curves_and_its_components():
    rng = np.random.default_rng(4)
    score = rng.normal(0, 1, 4000)
    values = np.clip(score[:, None] * np.sqrt(2) * np.cos(2 * np.pi * np.arange(6) / 6), -3, 3)
    rows = np.rint((values + 3) / 0.5).astype(int).tolist()
    asked = question(sf.covariance, radius=4.0)
    exact = asked.vector([batch(rows)])
    found = asked.less_means(exact, asked.curve(exact))
    exact = np.cov(np.array(rows).T * 0.5, bias=True)
    pairs = np.array(list(itertools.product(range(6), range(6))), dtype=float)
    assert np.abs(found.at(pairs) - exact.reshape(-1)).max() < 0.06
    shapes, variances = found.components(1, np.arange(6.0))
    assert variances[0] == pytest.approx(1.0, rel=0.1)
    assert abs(shapes[0] @ np.cos(2 * np.pi * np.arange(6) / 6)) > 0.99 * np.linalg.norm(shapes[0]) * math.sqrt(3)


@pytest.mark.parametrize("spend", [sf.Approximate(2.0, 1e-6), sf.Pure(2.0)], ids=["approximate", "pure"])
@pytest.mark.parametrize("kind", [sf.mean_curve, sf.covariance])
def test_a_session_releases_curves_of_a_table(tmp_path, kind, spend):
    import pyarrow as pa

    rng = np.random.default_rng(5)
    values = np.clip(np.sin(np.arange(6)) + rng.normal(0, 0.4, (3000, 6)), -3, 3)
    values[:50, 2] = np.nan
    table = sf.read(pa.table({name: values[:, i] for i, name in enumerate(NAMES)}), schema=schema(size=3000))
    session = sf.Session(table, budget=spend, ledger=tmp_path / "ledger")
    query = kind(NAMES, radius=1.5, waves=1, period=6)
    release = session.release(query, spend=spend)
    question, secret = release.mechanism.query, release.mechanism.take(table)
    exact = question.curve(secret)
    points = question.points()
    low, high = release.curve.band(points, 1 - 1e-6)
    assert (low <= exact.at(points)).all()
    assert (exact.at(points) <= high).all()
    back = sf.load(release.save(tmp_path / "curve.json"))
    assert back.curve.at(points[:3]).tolist() == release.curve.at(points[:3]).tolist()
    assert Query.from_record(query.to_record()) == query
    if kind is sf.covariance:
        truth = question.less_means(secret, exact)
        low, high = release.answer.covariance.band(points, 1 - 1e-6)
        assert (low <= truth.at(points)).all()
        assert (truth.at(points) <= high).all()


def test_smaller_balls_mean_less_noise():
    wide, narrow = (options(question(radius=r), sf.Concentrated(0.5))[0].predicted for r in (2.0, 1.0))
    assert wide == pytest.approx(2 * narrow)


# refusals
@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"points": [0, 1, 2]}, "different lengths"), ({"points": [0, 1, 2, 2, 3, 4]}, "increasing"),
        ({"radius": 0}, "radius"), ({"radius": math.inf}, "radius"), ({"center": math.nan}, "center"),
        ({"waves": 4}, "coefficients"), ({"waves": [2, 1]}, "waves"), ({"period": 1}, "period"),
    ],
)  # fmt: skip
def test_refuses_curves_that_are_none(change, reason):
    asked = {"radius": 1.0, "waves": 1, "period": 6} | change
    with pytest.raises(ParameterError, match=reason):
        sf.mean_curve(NAMES, **asked)


def test_refuses_columns_that_do_not_belong_together():
    mixed = sf.Schema({"a": sf.Interval(0, 1, step=0.1), "b": sf.Interval(0, 2, step=0.1)})
    with pytest.raises(SchemaError, match="same bounds"):
        bind(sf.mean_curve(["a", "b"], radius=1.0), mixed)
    with pytest.raises(ParameterError, match="points are missing"):
        sf.mean_curve(["a"], radius=1.0)
    with pytest.raises(ParameterError, match="too small"):
        question(radius=1e-30)


def test_without_a_radius_no_curve_within_the_bounds_is_brought_nearer():
    rng = np.random.default_rng(8)
    for period in (None, 6.0):
        names, space = [f"h{i}" for i in range(6)], sf.Interval(-2, 7, step=0.01)
        schema = sf.Schema(dict.fromkeys(names, space), size=100)
        query = sf.mean_curve(names, center=float(rng.uniform(-2, 7)), waves=2, period=period)
        assert Query.from_record(query.to_record()) == query
        assert "radius" not in query.to_record()
        projection = bind(query, schema).projection
        ends = rng.integers(0, 2, (400, 6)) * space.lattice.width
        found = projection.rows({name: ends[:, i] for i, name in enumerate(names)})
        sums = (ends - projection._center) @ projection._matrix.T
        assert (found == (sums + (1 << (projection._spare - 1))) >> projection._spare).all()  # none was changed
        assert np.sqrt((found.astype(float) ** 2).sum(axis=1)).max() > 0.5 * projection.radius


def test_what_a_radius_does_to_curves_is_said():
    names = ["a", "b", "c"]
    schema = sf.Schema(dict.fromkeys(names, sf.Interval(0, 10, step=0.1)), size=1000)
    for radius, words in ((1.0, "brought that near first"), (500.0, "radius= may be left out"), (None, "")):
        query = sf.mean_curve(names, radius=radius, center=5.0, waves=1)
        for asked in (query, query.where("a > 1")):
            assert words in preview(asked, schema, spend=sf.Pure(1.0)).errors[0].words()
    plain = preview(sf.mean_curve(names, center=5.0, waves=1), schema, spend=sf.Pure(1.0)).errors[0]
    assert plain.besides == ()
