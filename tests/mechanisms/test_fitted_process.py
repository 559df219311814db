"""Normal noise in units fitted to the range: no pair of values costs more than is claimed, and bands still cover."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato.bounds.certificates import certify
from sfumato.errors import ParameterError
from sfumato.mechanisms import FittedProcess, Process, mechanism_from
from sfumato.planner import options
from sfumato.queries import bind
from sfumato.queries.functions import features
from sfumato.randomness import seeded

KINDS = {"density": sf.density, "distribution": sf.distribution}
RHO = sf.Concentrated(0.1)


def asked(kind="density", share=0.5, high=100.0, step=0.5, size=10_000, low=0.0):
    """A question whose bandwidth is a share of the range."""
    space = sf.Interval(low, low + high, step=step, missing=low)
    schema = sf.Schema({"x": space}, adjacency=sf.Replace(), size=size, dataset="d")
    return bind(KINDS[kind]("x", bandwidth=share * high), schema)


def farthest(question):
    """The largest distance of what two rows add, over all pairs of grid points."""
    axis = question.features.axes[0]
    rows = axis.matrix(np.arange(axis.count))[:, 1:]
    squares = (rows**2).sum(axis=1)
    first, second = np.unravel_index(np.argmax(squares[:, None] + squares - 2 * rows @ rows.T), (len(rows),) * 2)
    return float(np.linalg.norm(rows[first] - rows[second]))


@settings(max_examples=25, deadline=None)
@given(
    st.sampled_from(sorted(KINDS)), st.floats(0.1, 3.0), st.integers(2, 400), st.sampled_from([0.125, 1.0, 7.0]),
    st.integers(-999, 999), st.sampled_from([5, 33, features.LOOKED]),
)  # fmt: skip
def test_no_pair_of_values_is_farther_apart_than_is_charged(kind, share, values, step, low, looked):
    question = asked(kind, share, (values - 1) * step, step, low=low * step)
    fitted = FittedProcess.calibrate(question, RHO).query
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(features, "LOOKED", looked)
        features._diameter.cache_clear()
        assert farthest(fitted) <= fitted.sensitivity("l2")
    features._diameter.cache_clear()


@settings(max_examples=25, deadline=None)
@given(st.floats(0.2, 2.0), st.integers(2, 200), st.data())
def test_any_units_at_all_are_charged_for(share, values, data):
    question = asked(share=share, high=values - 1.0, step=1.0)
    gammas = question.weights(question.axes[0], question.bandwidths[0])[0]
    ratios = data.draw(st.lists(st.floats(1e-6, 1.0), min_size=len(gammas), max_size=len(gammas)))
    fitted = question.in_units(gammas / np.array(ratios))
    assert farthest(fitted) <= fitted.sensitivity("l2")
    assert fitted.features._shifted(features._diameter(fitted.features.axes[0]), "l2") >= farthest(fitted)


def test_the_charge_is_hardly_more_than_the_farthest_pair():
    for share in (0.1, 0.3, 1.0):
        fitted = FittedProcess.calibrate(asked(share=share), RHO).query
        assert fitted.sensitivity("l2") <= 1.002 * farthest(fitted)


def test_a_charge_for_the_ends_alone_would_be_beaten():
    """The middle and an end are farther apart than the two ends in units that favor cosines."""
    question = asked(share=0.5)
    gammas = question.weights(question.axes[0], question.bandwidths[0])[0]
    skewed = question.in_units(gammas / np.tile([1.0, 1e-3], len(gammas) // 2))
    axis = skewed.features.axes[0]
    ends = axis.matrix(np.array([0, axis.count - 1]))
    assert np.linalg.norm(ends[1] - ends[0]) < 0.5 * farthest(skewed)


@pytest.mark.parametrize("share", [0.05, 0.1, 0.2, 0.3, 0.5, 1.0, 3.0])
def test_densities_over_a_public_size_are_within_a_tenth_of_the_least_error(share):
    question = asked(share=share)
    best, second = options(question, RHO)[:2]
    assert best.predicted <= second.predicted
    assert isinstance(best.mechanism, FittedProcess) == (share > 0.05)
    assert 1 <= certify(question, best.mechanism).factor <= 1.1


def test_distributions_have_less_noise_too():
    for share in (0.05, 0.3, 1.0):
        kinds = [type(option.mechanism) for option in options(asked("distribution", share), RHO)]
        assert kinds.index(FittedProcess) < kinds.index(Process)


def test_it_is_offered_where_one_row_is_exchanged_for_another_alone():
    spaces = {"x": sf.Interval(0, 100, step=0.5, missing=0.0), "y": sf.Interval(0, 100, step=0.5, missing=0.0)}
    fixed = sf.Schema(spaces, adjacency=sf.Replace(), size=100)
    others = [
        bind(sf.density("x", bandwidth=50.0), sf.Schema(spaces, size=100)),
        bind(sf.density("x", bandwidth=50.0).where("y > 3"), fixed),
        bind(sf.density("x", "y", bandwidth=[80.0, 80.0]), fixed),
        bind(sf.density("x", bandwidth=1.0), fixed),
    ]
    for question in others:
        assert question.fittable is None
        with pytest.raises(ParameterError, match=r"one column"):
            FittedProcess(question, 1e9, None, (1.0,))


def test_units_that_do_not_fit_are_refused():
    question = asked()
    units = FittedProcess.calibrate(question, RHO).relative
    for bad in ((), units[1:], (0.0, *units[1:]), (float("nan"), *units[1:]), (units[0] / 1e3, *units[1:])):
        with pytest.raises(ParameterError, match=r"units"):
            FittedProcess(question, 1e9, None, bad)


def test_a_record_keeps_its_units():
    question = asked()
    made = FittedProcess.calibrate(question, sf.Approximate(1.0, 1e-6))
    again = mechanism_from(made.to_record(), question)
    assert again == made
    assert again.query.worth.tobytes() == made.query.worth.tobytes()
    assert again.guarantee() == made.guarantee()


def test_a_stored_release_opens_as_the_same_curve(tmp_path):
    values = np.random.default_rng(3).normal(50, 20, 400).clip(0, 100)
    space = sf.Interval(0, 100, step=0.5, missing=0.0)
    table = sf.read(pa.table({"x": values}), schema=sf.Schema({"x": space}, adjacency=sf.Replace(), size=400))
    session = sf.Session(table, ledger=tmp_path / "ledger", budget=sf.Concentrated(1.0))
    release = session.release(sf.density("x", bandwidth=40.0), spend=RHO)
    release.save(tmp_path / "one.json")
    opened = sf.load(tmp_path / "one.json")
    points = np.linspace(0, 100, 7)
    assert isinstance(release.mechanism, FittedProcess)
    assert opened.curve.at(points).tolist() == release.curve.at(points).tolist()
    assert opened.curve.band(points)[0].tolist() == release.curve.band(points)[0].tolist()


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_bands_cover_at_all_points_at_once(kind):
    question = asked(kind)
    made = FittedProcess.calibrate(question, RHO)
    nothing, rng = np.zeros(made.query.dimension, dtype=np.int64), seeded(8)
    half = made.query.expected(made).half_width(0.9)
    design = made.query.reading.design(np.linspace(*made.query.reading.domain[0], 200)[:, None])
    noise = [design @ (made.release(nothing, rng) * made.query.worth) / question.divisor for _ in range(600)]
    largest = np.abs(noise).max(axis=1)
    assert 0.86 <= (largest <= half).mean() <= 0.96
    assert np.std(noise) == pytest.approx(made.query.expected(made).deviation(), rel=0.06)
