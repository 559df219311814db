"""Certificates of curves: near the best, never below one, and about the exact answers."""

import numpy as np
import pytest

from sfumato.answers.certificate import Floor, NoBoundKnown, certificate_from
from sfumato.bounds import certify
from sfumato.bounds.averages import _average
from sfumato.bounds.curves import _columns, _waves
from sfumato.mechanisms import Process
from sfumato.planner import options
from sfumato.privacy.adjacency import AddRemove, Person, Replace, Row
from sfumato.privacy.guarantees import Approximate, Concentrated, Pure
from sfumato.queries import bind
from sfumato.queries.functions.density import density, distribution
from sfumato.queries.functions.means import mean_curve
from sfumato.queries.linear.doors import prefix
from sfumato.queries.small_database import small_database
from sfumato.queries.smooth import smooth
from sfumato.queries.synthetic import synthetic
from sfumato.queries.thresholds import thresholds
from sfumato.spaces import Categories, Integers, Interval
from sfumato.spaces.schema import Schema

COLUMNS = {"age": Integers(0, 90, missing=0), "height": Interval(100, 200, 0.5, missing=150)}


def schema(size=1000, adjacency=None):
    return Schema(COLUMNS, adjacency=adjacency or Replace(), size=size)


@pytest.mark.parametrize("query", [density("age", bandwidth=4.5), density("age", bandwidth=9.0),
                                   density("age", "height", bandwidth=[9.0, 10.0])], ids=str)  # fmt: skip
def test_densities_with_rho_are_certified_near_the_best(query):
    question = bind(query, schema(10**4))
    found = certify(question, Process.calibrate(question, Concentrated(0.1)))
    assert 1 <= found.factor < 1.2
    assert "at a point" in found.measure
    assert "concentrated mechanisms on tables of the declared size" in found.among


def test_integrals_and_approximate_noise_have_a_bound_too():
    for query, spend in ((distribution("age", bandwidth=4.5), Concentrated(0.1)),
                         (density("age", bandwidth=4.5), Approximate(1.0, 1e-6))):  # fmt: skip
        question = bind(query, schema(10**4))
        assert 1 <= certify(question, Process.calibrate(question, spend)).factor < 4


@pytest.mark.parametrize("query", [density("age", bandwidth=200.0), distribution("age", bandwidth=9.0)], ids=str)
def test_no_curve_is_certified_below_one(query):
    for size in (3, 10**5):
        question = bind(query, schema(size))
        for spend in (Concentrated(1e-4), Pure(5.0)):
            for option in options(question, spend):
                found = certify(question, option.mechanism)
                assert isinstance(found, NoBoundKnown) or found.factor >= 1


def test_the_columns_of_a_density_are_its_exact_answers():
    """A table of fifty records at one place, by the question's own integers."""
    question = bind(density("age", bandwidth=9.0), schema(50))
    points, columns, _ = _columns(question)
    axis = question.features.axes[0]
    for place in (0, len(points) // 3, len(points) - 1):
        counts = np.zeros((1, axis.count), dtype=np.int64)
        counts[0, int(np.argmin(np.abs(axis.points - points[place, 0])))] = 50
        assert np.allclose(question.vector(counts), 50 * columns[:, place], atol=0.51)


@pytest.mark.parametrize(("unit", "adjacency", "most"), [
    (Row(), AddRemove(), 1.5), (Person("id", 2), AddRemove(), 1.6), (Person("id", 2), Replace(), 1.8)])  # fmt: skip
def test_densities_over_a_private_number_of_rows_are_certified_at_a_declared_or_released_size(unit, adjacency, most):
    spaces = {"age": Integers(0, 90)}
    question = bind(density("age", bandwidth=4.5), Schema(spaces, unit, adjacency, 20_000))
    mechanism = Process.calibrate(question, Concentrated(0.1))
    previewed = certify(question, mechanism)
    assert 1 <= previewed.factor < most
    assert "table of 20,000" in previewed.worst
    released = np.zeros(mechanism.query.dimension)
    released[-1] = 30_000 * mechanism.query.count_weight
    found = certify(question, mechanism, released)
    assert found.achieved < previewed.achieved
    assert found.bound < previewed.bound
    assert "table of 30,0" in found.worst


HOURS = [f"h{i}" for i in range(8)]


@pytest.mark.parametrize(("imputed", "adjacency", "spend", "most"), [
    (5, Replace(), Concentrated(0.1), 1.05), (5, Replace(), Pure(1.0), 2.0),
    (None, AddRemove(), Concentrated(0.1), 1.6),
    (None, AddRemove(), Pure(1.0), 3.5), (None, Replace(), Concentrated(0.1), 1.9)])  # fmt: skip
def test_mean_curves_are_certified(imputed, adjacency, spend, most):
    spaces = {hour: Interval(0, 10, 0.1, missing=imputed) for hour in HOURS}
    question = bind(mean_curve(HOURS, radius=3, center=5, waves=2, period=8), Schema(spaces, Row(), adjacency, 10**4))
    found = certify(question, options(question, spend)[0].mechanism)
    assert 1 <= found.factor < most


def test_rows_that_are_waves_are_rows_of_the_table():
    """What a mean curve's bound takes for rows adds up as the question's own answers do."""
    spaces = {hour: Interval(0, 10, 0.1, missing=5) for hour in HOURS}
    question = bind(mean_curve(HOURS, radius=3, center=5, waves=2, period=8), Schema(spaces, Row(), Replace(), 10))
    _, columns, _ = _waves(question)
    norms = np.linalg.norm(columns, axis=0)
    assert norms.max() <= question.projection.radius
    assert norms.min() >= 0.5 * question.projection.radius
    assert len(np.unique(columns, axis=1).T) == columns.shape[1]


def test_smooth_means_over_a_public_number_of_rows_are_certified():
    question = bind(smooth(["age"], {(1,): 1.0}), schema(10**4))
    for spend in (Pure(1.0), Concentrated(0.1)):
        assert 1 <= certify(question, options(question, spend)[0].mechanism).factor < 1.05
    private = bind(smooth(["age"], {(1,): 1.0}), schema(10**4, AddRemove()))
    assert isinstance(certify(private, options(private, Pure(1.0))[0].mechanism), NoBoundKnown)


def test_without_any_size_nothing_is_said_beforehand():
    question = bind(density("age", bandwidth=9.0), Schema({"age": Integers(0, 90)}))
    found = certify(question, Process.calibrate(question, Concentrated(0.1)))
    assert isinstance(found, NoBoundKnown)
    assert "number of rows" in found.reason


CURVES = mean_curve(HOURS, radius=3, center=5, waves=2, period=8)


@pytest.mark.parametrize("adjacency", [AddRemove(), Replace()], ids=lambda one: one.name)
@pytest.mark.parametrize(
    "query",
    [density("h0", bandwidth=3.0), distribution("h0", bandwidth=3.0), CURVES, thresholds("h0", points=8)],
    ids=str,
)
def test_a_condition_on_the_column_itself_leaves_no_bound(query, adjacency):
    """All rows that count may lie in one place: the curve is public then, and no mechanism has to err."""
    spaces = {hour: Interval(0, 10, 0.1, missing=5) for hour in HOURS}
    question = bind(query.where("h0 <= 0"), Schema(spaces, Row(), adjacency, 10**4))
    claimed = Claiming(Pure(1.0)) if query.kind == "thresholds" else options(question, Pure(1.0))[0].mechanism
    found = certify(question, claimed)
    assert isinstance(found, NoBoundKnown)
    assert "condition" in found.reason


def test_a_condition_on_another_column_changes_nothing():
    question = bind(density("age", bandwidth=9.0).where("height <= 150"), schema(10**4, AddRemove()))
    assert certify(question, Process.calibrate(question, Concentrated(0.1))).factor >= 1


def test_released_numbers_of_rows_are_at_most_the_declared_one():
    question = bind(density("age", bandwidth=9.0).where("height <= 150"), schema(100))
    mechanism = Process.calibrate(question, Concentrated(1e-3))
    output = np.zeros(question.dimension)
    output[-1] = 500 * mechanism.query.count_weight
    assert certify(question, mechanism, output).worst == "table of 100 rows"


@pytest.mark.parametrize("rows", [4, 33, 1000, 10**12])
def test_an_average_is_that_of_whole_rows(rows):
    """An average over 7 kinds that so many rows can have: times their number it is whole."""
    counts = _average(np.eye(7), rows) * rows
    assert counts == pytest.approx(np.rint(counts), abs=1e-3)
    assert counts.sum() == pytest.approx(rows)
    assert np.ptp(counts) <= 1.001


# floors


class Claiming:
    """A mechanism of which the claim alone is known."""

    def __init__(self, claim):
        self.guarantee = lambda: claim


@pytest.mark.parametrize("adjacency", [AddRemove(), Replace()])
@pytest.mark.parametrize("spend", [Pure(1.0), Concentrated(0.1)])
def test_tables_have_a_floor_and_no_factor(adjacency, spend):
    spaces = {"a": Categories(list("xyz")), "b": Categories(list("pqrst")), "c": Integers(0, 12)}
    for query, measure in ((synthetic(), "two-way"), (synthetic(["a"]), "one-way"),
                           (small_database(prefix("c"), rows=3), "of a query"),
                           (thresholds("c", points=9, rows=9), "of a threshold")):  # fmt: skip
        roots = []
        for size in (300, 10**6):
            question = bind(query, Schema(spaces, Row(), adjacency, size))
            found = certify(question, Claiming(spend))
            assert isinstance(found, Floor)
            assert measure in found.measure
            assert certificate_from(found.to_record()) == found
            assert "no factor known" in found.words()
            roots.append(found.bound)
        assert roots == sorted(roots)


def test_the_floor_of_one_way_tables_is_that_of_a_histogram():
    """Of one column it is a histogram: V for each cell."""
    question = bind(synthetic(["a"]), Schema({"a": Categories(list("wxyz"), missing="w", other="w")}))
    assert certify(question, Claiming(Pure(1.0))).bound == pytest.approx(1.357, rel=2e-3)
    persons = bind(synthetic(["a"]), Schema({"a": Categories(list("wxyz"), missing="w", other="w")}, Person("id", 3)))
    assert certify(persons, Claiming(Pure(1.0))).bound == pytest.approx(3 * 1.357, rel=2e-3)
