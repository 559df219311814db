"""Densities and distributions: whole features, brute-force sensitivities, the stated distance to the estimate."""

import itertools
import math

import numpy as np
import pyarrow as pa
import pytest
from scipy import stats

import reference
import sfumato as sf
from sfumato.errors import ParameterError, SchemaError, UnsupportedQuery
from sfumato.planner import options
from sfumato.queries import Query, bind
from sfumato.randomness import seeded
from thinned import thinned

LINE = {"x": sf.Interval(0, 6, step=1)}
PLANE = {"x": sf.Interval(0, 3, step=1), "y": sf.Interval(-2, 2, step=1)}
SPACE = PLANE | {"z": sf.Interval(0, 2, step=1)}
IMPUTED = {name: sf.Interval(space.low, space.high, step=1, missing=0.0) for name, space in SPACE.items()}
TARGETS = [sf.Approximate(1.0, 1e-6), sf.Concentrated(0.5), sf.Pure(1.0)]


def vector_of(question, rows):
    return np.array(
        question.vector(np.array(reference.answer(rows, question.statistic, question.schema), dtype=object))
    )


def all_rows(columns):
    lattices = [space.lattice for space in columns.values()]
    values = itertools.product(*(range(lattice.low, lattice.high + 1) for lattice in lattices))
    return [dict(zip(columns, map(float, one), strict=True)) for one in values]


def norms(some, others):
    """The largest norms of all differences."""
    gaps = [np.abs(some - other) for other in others]
    return {
        "l1": max(gap.sum(axis=1).max() for gap in gaps),
        "l2": max(np.sqrt((gap**2).sum(axis=1)).max() for gap in gaps),
        "linf": max(gap.max() for gap in gaps),
    }


def kernel_estimate(data, bandwidths, points):
    scaled = (points[:, None, :] - data[None, :, :]) / np.array(bandwidths)
    peak = 1 / math.prod(h * math.sqrt(2 * math.pi) for h in bandwidths)
    return peak * np.exp(-(scaled**2).sum(axis=2) / 2).mean(axis=1)


# claims: what one unit moves, over every pair of neighbors
@pytest.mark.parametrize("columns", [LINE, PLANE, SPACE], ids=["1d", "2d", "3d"])
@pytest.mark.parametrize("norm", ["l2", "l1"])
@pytest.mark.parametrize("kind", ["add-remove", "replace", "replace-imputed"])
def test_the_sensitivity_bounds_every_neighbor_and_is_nearly_attained(columns, norm, kind):
    adjacency = sf.AddRemove() if kind == "add-remove" else sf.Replace()
    declared = {name: IMPUTED[name] for name in columns} if kind == "replace-imputed" and "y" in columns else columns
    if kind == "replace-imputed" and columns is LINE:
        declared = {"x": sf.Interval(0, 6, step=1, missing=0.0)}
    schema = sf.Schema(declared, adjacency=adjacency, size=None if kind == "add-remove" else 3)
    question = bind(sf.density(*columns, bandwidth=1.3), schema).shaped(norm, 1)
    base = all_rows(columns)[:2]
    nothing = dict.fromkeys(columns)
    ones = [*all_rows(columns), nothing]
    vectors = np.array([vector_of(question, [*base, row]) for row in ones], dtype=float)  # whole, below 2^53
    without = np.array(vector_of(question, base), dtype=float)[None, :]
    found = norms(vectors, without if kind == "add-remove" else vectors)
    for name in ("l1", "l2", "linf"):
        assert found[name] <= question.sensitivity(name)
    if norm == "l2":
        assert found["l2"] >= 0.8 * question.sensitivity("l2")
    if kind == "add-remove":
        assert found[norm] >= 0.9 * question.sensitivity(norm)


def test_a_person_moves_as_much_as_all_of_its_rows():
    alone = bind(sf.density("x", bandwidth=1.0), sf.Schema(LINE))
    person = bind(sf.density("x", bandwidth=1.0), sf.Schema(LINE, unit=sf.Person("id", 3)))
    assert person.sensitivity("l2") == pytest.approx(3 * alone.sensitivity("l2"))
    assert person.sensitivity("l1") >= 3 * alone.sensitivity("l1")


@pytest.mark.parametrize("dimension", [1, 2, 3])
def test_the_noise_has_the_corrected_constant_of_a_density(dimension):
    """Document 001, example 6.12 with its constant corrected: sqrt(2) / (n (2 pi h^2)^(d/2)) under replacement."""
    columns = {name: sf.Interval(0, 30, step=1, missing=0.0) for name in "abc"[:dimension]}
    question = bind(sf.density(*columns, bandwidth=3.0), sf.Schema(columns, adjacency=sf.Replace(), size=50))
    center = np.full((1, dimension), 15.0)
    scale = np.sqrt(((question.reading.design(center) * question.worth) ** 2).sum())
    found = question.sensitivity("l2") * scale / 50
    wanted = math.sqrt(2) / (50 * (2 * math.pi * 9.0) ** (dimension / 2))
    assert wanted * 0.85 <= found <= wanted * 1.01


# approximation: the curve without noise against the kernel estimate itself
@pytest.mark.parametrize(
    ("columns", "bandwidth", "step"), [(1, 0.4, 0.001), (1, 2.0, 0.5), (2, 0.8, 0.01), (3, 1.6, 0.1)]
)
def test_the_stated_bias_bounds_the_distance_to_the_kernel_estimate(columns, bandwidth, step):
    rng = np.random.default_rng(5)
    names = "xyz"[:columns]
    schema = sf.Schema({name: sf.Interval(0, 10, step=step) for name in names}, size=40)
    question = bind(sf.density(*names, bandwidth=bandwidth), schema)
    data = np.round(np.clip(rng.normal(4, 3, (40, columns)), 0, 10) / step) * step
    rows = [dict(zip(names, map(float, row), strict=True)) for row in data]
    points = rng.uniform(0, 10, (300, columns))
    curve = question.curve(vector_of(question, rows))
    gap = np.abs(curve.at(points) - kernel_estimate(data, question.bandwidths, points)).max()
    assert gap <= question.bias
    peak = (bandwidth * math.sqrt(2 * math.pi)) ** -columns
    assert question.bias <= 0.02 * peak  # and says something: a single row is as high as that


def test_a_distribution_is_within_its_bias_of_the_smoothed_one():
    rng = np.random.default_rng(6)
    schema = sf.Schema({"x": sf.Interval(0, 10, step=0.01)}, size=60)
    question = bind(sf.distribution("x", bandwidth=0.5), schema)
    data = np.round(np.clip(rng.gamma(2, 2, 60), 0, 10), 2)
    curve = question.curve(vector_of(question, [{"x": float(one)} for one in data]))
    points = np.linspace(0, 10, 200)
    wanted = stats.norm.cdf((points[:, None] - data) / 0.5).mean(axis=1)
    assert np.abs(curve.at(points) - wanted).max() <= question.bias <= 1e-3


def test_sums_are_exact_however_many_rows():
    question = bind(sf.density("x", bandwidth=1.0), sf.Schema(LINE))
    few = np.array([0, 3, 0, 1, 0, 0, 2])
    many = question.features.sums(few * 10**12)
    assert many.dtype == object
    assert many.tolist() == [int(one) * 10**12 for one in question.features.sums(few)]


def test_norms_are_those_of_the_very_integers_that_sums_add(monkeypatch):
    from sfumato.queries.functions import features

    axis = bind(sf.density("x", bandwidth=0.5), sf.Schema({"x": sf.Interval(0, 10, step=0.01)})).features
    ones = np.array([axis.sums(row) for row in np.eye(axis.axes[0].count, dtype=np.int64)[::7]]).astype(float)
    assert np.sqrt((ones**2).sum(axis=1)).max() <= axis.alone("l2") <= np.sqrt((ones**2).sum(axis=1)).max() * 1.001
    assert np.abs(ones).sum(axis=1).max() <= axis.alone("l1") <= np.abs(ones).sum(axis=1).max() * 1.02
    whole = features._norms.__wrapped__(axis.axes[0])
    with monkeypatch.context() as everywhere:  # no point is left out
        everywhere.setattr(features, "_foremost", lambda sampled: np.full(sampled.count, True))
        assert features._norms.__wrapped__(axis.axes[0]) == whole
    monkeypatch.setattr(features, "BLOCK", 1 << 11)  # several blocks
    assert features._norms.__wrapped__(axis.axes[0]) == whole
    assert axis.sums(np.ones(axis.axes[0].count, dtype=np.int64)).tolist() == (
        axis.axes[0].matrix(np.arange(axis.axes[0].count))[:, 1:].sum(axis=0).tolist()
    )


@pytest.mark.parametrize("ask", [sf.density, sf.distribution])
@pytest.mark.parametrize(
    ("low", "width", "step", "bandwidth"),
    [(0, 100, 0.002, 0.9), (0, 8, 1, 2), (-5_000_000, 10, 0.01, 0.1), (10**9, 1000, 1, 30), (3, 10, 0.0005, 0.05)],
)
def test_points_that_norms_leave_out_have_no_larger_one(monkeypatch, ask, low, width, step, bandwidth):
    from sfumato.queries.functions import features

    question = bind(ask("x", bandwidth=bandwidth), sf.Schema({"x": sf.Interval(low, low + width, step=step)}))
    for shaped in (question, question.shaped("l1", 0)):
        (axis,) = shaped.features.axes
        monkeypatch.setattr(features, "BLOCK", axis.axis.size)  # one point a block, so that no other comes along
        kept = features._norms.__wrapped__(axis)
        sizes = np.abs(axis.matrix(np.arange(axis.count)))
        assert kept.l1 == sizes.sum(axis=1).max() * features.UP
        assert kept.linf == sizes.max()
        assert kept.l2 == pytest.approx((sizes**2).sum(axis=1).max() * features.UP, rel=1e-14)
        if step == 0.002:  # where numbers are far from the ends of a double's precision, few points are left
            assert features._foremost(axis).sum() < axis.count / 100


# release: through the session, and back from the file
@pytest.mark.parametrize("spend", thinned(TARGETS, 1), ids=lambda spend: type(spend).__name__)
def test_a_released_curve_covers_the_kernel_estimate_and_survives_saving(tmp_path, spend):
    import pyarrow as pa

    rng = np.random.default_rng(7)
    data = np.round(np.clip(rng.normal(40, 15, 5000), 0, 100))
    column = {"age": sf.Interval(0, 100, step=1, missing=0.0)}
    table = sf.read(pa.table({"age": data}), schema=sf.Schema(column, adjacency=sf.Replace(), size=5000))
    session = sf.Session(table, budget=spend, ledger=tmp_path / "ledger")
    query = sf.density("age", bandwidth=4)
    plan = session.preview(query, spend=spend)
    release = session.release(query, spend=spend)
    assert release.guarantee.implies(spend)
    assert "everywhere at once" in plan.accuracy
    assert release.guarantee.assumptions == frozenset()
    points = np.linspace(0, 100, 500)
    low, high = release.curve.band(points, 1 - 1e-6)
    wanted = kernel_estimate(data[:, None], (4.0,), points[:, None])
    assert (low - release.curve.bias <= wanted).all()
    assert (wanted <= high + release.curve.bias).all()
    back = sf.load(release.save(tmp_path / "curve.json"))
    assert back.curve.at([3.3, 77.7]).tolist() == release.curve.at([3.3, 77.7]).tolist()
    assert back.curve.band([3.3]) == release.curve.band([3.3])
    assert back.mechanism == release.mechanism
    again = session.release(query, spend=spend)
    assert again.curve.at([50.0]) == release.curve.at([50.0])


def test_plans_describe_a_density():
    query = sf.density("x", "y", bandwidth=[1.0, 2.0]).where("x >= 1")
    assert Query.from_record(query.to_record()) == query
    assert query.name == "density of x, y where x >= 1"
    assert Query.from_record({"query": "distribution", "columns": "x"}) == sf.distribution("x")


def test_rows_without_a_value_and_rows_elsewhere_do_not_count():
    question = bind(sf.density("x", bandwidth=1.0).where("x >= 2"), sf.Schema(LINE))
    rows = [{"x": value} for value in (None, math.nan, 1.0, 2.0, 5.0, 99.0)]
    vector = vector_of(question, rows)
    assert vector[-1] == 3 * question.count_weight


def test_pure_curves_leave_out_waves_that_noise_outweighs():
    few = sf.Schema({"x": sf.Interval(0, 100, step=1, missing=0.0)}, adjacency=sf.Replace(), size=100)
    many = sf.Schema({"x": sf.Interval(0, 100, step=1, missing=0.0)}, adjacency=sf.Replace(), size=10**9)
    chosen = [options(bind(sf.density("x", bandwidth=2), schema), sf.Pure(0.1))[0].mechanism for schema in (few, many)]
    assert chosen[0].query.dimension < chosen[1].query.dimension


# refusals
@pytest.mark.parametrize("bandwidth", [0, -1.0, math.nan, math.inf, "plugin", (1.0, 2.0), True])
def test_refuses_a_bandwidth_that_is_none(bandwidth):
    with pytest.raises(ParameterError, match="bandwidth"):
        sf.density("x", bandwidth=bandwidth)


def test_refuses_ten_dimensions_and_says_why():
    with pytest.raises(ParameterError, match=r"1 to 3 columns, got 10.*fewer columns"):
        sf.density(*"abcdefghij", bandwidth=1)


def test_refuses_what_it_cannot_carry():
    schema = sf.Schema({"x": sf.Interval(0, 10**6, step=1), "c": sf.Categories(["a", "b"])})
    with pytest.raises(ParameterError, match="larger bandwidth"):
        bind(sf.density("x", bandwidth=1), schema)
    with pytest.raises(UnsupportedQuery, match="numeric columns"):
        bind(sf.density("c", bandwidth=1), schema)
    with pytest.raises(SchemaError, match="declare size="):
        bind(sf.density("x"), schema)
    with pytest.raises(UnsupportedQuery, match="no `by`"):
        bind(sf.density("x", bandwidth="private").by("c"), schema)
    with pytest.raises(ParameterError, match="one column"):
        Query.from_record({"query": "distribution", "columns": ["x", "y"]})


def test_a_bandwidth_from_a_paid_spread(tmp_path):
    import pyarrow as pa

    from sfumato.queries.functions.bandwidths import from_spread

    data = np.random.default_rng(1).normal(50, 10, 4000)
    table = sf.read(pa.table({"x": data}), schema=sf.Schema({"x": sf.Interval(0, 100, step=0.1)}, size=4000))
    session = sf.Session(table, budget=sf.Pure(20), ledger=tmp_path / "ledger")
    spread = session.release(sf.quantiles("x", [0.25, 0.75]), spend=sf.Pure(5))
    assert from_spread(spread) == pytest.approx(1.06 * 10 * 4000**-0.2, rel=0.1)
    variance = session.release(sf.variance("x"), spend=sf.Pure(5))
    assert from_spread(variance, "scott") == pytest.approx(10 * 4000**-0.2, rel=0.1)
    with pytest.raises(UnsupportedQuery, match="variance"):
        from_spread(session.release(sf.count(), spend=sf.Pure(1)))


# audit: evidence from outside
def test_noise_shown_by_the_release_is_the_law_it_claims():
    question = bind(sf.density("x", bandwidth=1.0), sf.Schema(LINE))
    mechanism = options(question, sf.Concentrated(0.5))[0].mechanism
    exact = vector_of(question, [{"x": 3.0}])
    draws = np.array([mechanism.release(exact, seeded(i)) - exact for i in range(400)], dtype=float)
    from statistical import assert_distribution

    assert_distribution(np.repeat(draws, 1).reshape(-1), lambda s: stats.norm(scale=s).cdf, mechanism.sigma, margin=0.1)


@pytest.mark.parametrize(("bandwidth", "points"), [(20.0, 101), (0.5, 401), (0.15, 1001)])
def test_tables_of_densities_stay_within_the_declared_bounds(bandwidth, points):
    schema = sf.Schema({"age": sf.Interval(0, 100, step=0.01)}, size=500)
    shown = bind(sf.density("age", bandwidth=bandwidth), schema).points()[:, 0]
    assert (shown.min(), shown.max(), len(shown)) == (0.0, 100.0, points)


def test_pictures_of_densities_stay_within_the_declared_bounds():
    question = bind(sf.density("age", bandwidth=8), sf.Schema({"age": sf.Interval(0, 100, step=1)}, size=500))
    curve = question.curve(np.zeros(question.dimension))
    assert curve.domain[0] == (-32.0, 132.0)  # the kernels go on, and may be looked at
    assert curve.plot().to_dict()["layer"][0]["encoding"]["x"]["scale"]["domain"] == [0.0, 100.0]


def test_a_density_says_how_it_was_smoothed_and_what_its_band_and_its_intervals_are_about(tmp_path):
    schema = sf.Schema({"age": sf.Integers(0, 100)}, size=500, dataset="ages")
    table = sf.read(pa.table({"age": np.arange(500) % 100}), schema=schema)
    session = sf.Session(table, budget=1.0, ledger=tmp_path / "ledger")
    question = sf.density("age", bandwidth=12)
    smoothed = "smoothed with bandwidth 12"
    assert smoothed in str(session.preview(question, spend=1.0))
    release = session.release(question, spend=1.0)
    assert smoothed in release.accuracy()
    assert "95% interval at each point" in str(release)
    subtitle = release.plot().to_dict()["title"]["subtitle"]
    assert "95% band for the whole curve at once, about the smoothed curve without noise" in " ".join(subtitle)
    assert smoothed in " ".join(subtitle)
