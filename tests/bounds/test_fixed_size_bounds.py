"""The bound of tables of fixed size: never above what a mechanism reaches, near it, and the certificates it gives."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize

from sfumato.bounds import certify, concentrated_mean_square, fixed_size_mean_square
from sfumato.bounds.curves import _rows, _spreads
from sfumato.bounds.integer_tables import concentrated_divergence
from sfumato.certificate import Certificate, NoBoundKnown
from sfumato.errors import ParameterError
from sfumato.mechanisms import Process
from sfumato.planner import best, options
from sfumato.privacy.adjacency import AddRemove, Replace
from sfumato.privacy.guarantees import Approximate, Concentrated, Pure
from sfumato.queries import bind, count, mean, sum
from sfumato.queries.functions.density import density, distribution
from sfumato.schema import Schema
from sfumato.spaces import Integers, Interval

COLUMNS = {"age": Integers(0, 90, missing=0), "height": Interval(100, 200, 0.5, missing=150)}


def schema(size=1000, adjacency=None):
    return Schema(COLUMNS, adjacency=adjacency or Replace(), size=size)


def certificate(query, spend, **declared):
    question = bind(query, schema(**declared))
    return certify(question, best(question, spend))


# claims


def test_a_constant_attains_it_without_any_loss():
    assert fixed_size_mean_square(10.0, 7, 0.0) == pytest.approx(25.0)


def test_large_tables_have_the_bound_of_unbounded_ones():
    for rho in (0.01, 0.1, 1.0):
        found = fixed_size_mean_square(1e6, 10**6, concentrated_divergence(rho))
        assert found == pytest.approx(concentrated_mean_square(1.0, rho), rel=1e-4)
        assert found <= concentrated_mean_square(1.0, rho)


@settings(max_examples=40, deadline=None)
@given(st.integers(1, 6), st.integers(2, 6), st.randoms(use_true_random=False))
def test_no_channel_beats_it(steps, outputs, random):
    """Any finite channel with its best estimate for the worst table has no error below the bound of its divergence."""
    channel = np.array([[random.random() + 0.02 for _ in range(outputs)] for _ in range(steps + 1)])
    channel /= channel.sum(axis=1, keepdims=True)
    found = [float((channel[t + 1] ** 2 / channel[t]).sum() - 1) for t in range(steps)]
    divergence = max(0.0, *found)  # equal rows may round to just below 0
    truth = np.arange(steps + 1.0)
    least = fixed_size_mean_square(float(steps), steps, divergence)

    def worst(estimate):
        return max(float(channel[t] @ (estimate - truth[t]) ** 2) for t in range(steps + 1))

    starts = [np.full(outputs, steps / 2), truth @ channel / channel.sum(axis=0)]
    found = min(minimize(worst, start, method="Nelder-Mead", options={"maxiter": 400}).fun for start in starts)
    assert found >= least * (1 - 1e-9)


def test_a_flipped_bit_comes_near_it():
    """One replacement and randomized response: the minimax estimate shrinks to flip (1 - flip), within 1.4 in root."""
    flip = 0.2
    divergence = flip**2 / (1 - flip) + (1 - flip) ** 2 / flip - 1
    shrunk = min((1 - flip) * (0.5 - a) ** 2 + flip * (0.5 + a) ** 2 for a in np.linspace(0, 0.5, 501))
    assert shrunk == pytest.approx(flip * (1 - flip), rel=1e-3)
    assert 1 <= math.sqrt(shrunk / fixed_size_mean_square(1.0, 1, divergence)) < 1.4


# certificates


@pytest.mark.parametrize("query", [count().where("height >= 150"), sum("age"), mean("age")], ids=lambda q: q.name)
def test_concentrated_numbers_under_replacement_are_certified(query):
    for rho, most in [(0.01, 1.03), (0.1, 1.07)]:
        found = certificate(query, Concentrated(rho))
        assert isinstance(found, Certificate)
        assert 1 <= found.factor < most
        assert "of the declared size" in found.among


@pytest.mark.parametrize("columns", [("age",), ("age", "height")])
def test_densities_are_certified_near_the_square_root_of_two(columns):
    query = density(*columns, bandwidth=[4.0, 8.0][: len(columns)])
    for rho, most in [(0.01, 1.55), (0.1, 1.55)]:
        question = bind(query, schema())
        found = certify(question, Process.calibrate(question, Concentrated(rho)))
        assert isinstance(found, Certificate)
        assert 1.2 < found.factor < most
        assert "at a point" in found.measure


def test_no_density_is_certified_below_one():
    for size in (3, 30, 10**5):
        for bandwidth in (4.0, 200.0):
            question = bind(density("age", bandwidth=bandwidth), schema(size))
            for spend in (Concentrated(1e-4), Concentrated(3.0), Pure(0.1), Pure(5.0)):
                for option in options(question, spend):
                    found = certify(question, option.mechanism)
                    assert isinstance(found, NoBoundKnown) or found.factor >= 1


def test_the_spread_of_a_density_is_that_of_its_exact_answers():
    """All records moved from the far corner to a point, by the question's own integers."""
    question = bind(density("age", bandwidth=9.0), schema(50))
    points, spreads = _spreads(question)
    axis = question.features.axes[0]
    middle = len(points) // 3
    place = int(np.argmin(np.abs(axis.points - points[middle, 0])))
    far = 0 if place > (axis.count - 1) / 2 else axis.count - 1
    values = []
    for where in (place, far):
        counts = np.zeros((1, axis.count), dtype=np.int64)
        counts[0, where] = 50
        values.append(float(question.curve(question.vector(counts)).at(points[middle : middle + 1])[0]))
    assert spreads[middle] <= values[0] - values[1] <= spreads[middle] * (1 + 1e-5)
    assert np.array_equal(_rows(question, np.array([[place]]))[0], axis.matrix(place, place + 1)[0, 1:])


@pytest.mark.parametrize(
    ("query", "spend", "declared", "reason"),
    [
        (density("age"), Concentrated(0.1), {"adjacency": AddRemove()}, "private number of rows is a ratio"),
        (density("age"), Approximate(1.0, 1e-6), {}, "approximate privacy"),
        (distribution("age"), Concentrated(0.1), {}, "integral of a density"),
    ],
)
def test_says_where_no_bound_is_known(query, spend, declared, reason):
    found = certificate(query, spend, **declared)
    assert isinstance(found, NoBoundKnown)
    assert reason in found.reason


def test_pure_sums_have_the_better_of_two_bounds():
    wide, single = certificate(sum("age"), Pure(1.0)), certificate(count().where("height >= 150"), Pure(4.0))
    assert wide.bound_name.endswith("along replacements")
    assert 1 <= wide.factor < 1.5
    assert single.factor >= 1


# refusals


@pytest.mark.parametrize(("spread", "steps", "divergence"), [(-1.0, 1, 1.0), (1.0, 0, 1.0), (1.0, 1, math.nan)])
def test_refuses_what_is_not_a_chain(spread, steps, divergence):
    with pytest.raises(ParameterError):
        fixed_size_mean_square(spread, steps, divergence)
