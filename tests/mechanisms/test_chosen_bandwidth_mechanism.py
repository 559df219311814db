"""A bandwidth chosen privately: the scores' sensitivity, one claim, nearer curves of skewed tables, refusals."""

import math

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato.errors import ParameterError, SchemaError
from sfumato.mechanisms import ChosenBandwidth
from sfumato.mechanisms.functions.chosen_bandwidth import SPREAD
from sfumato.queries import bind
from sfumato.queries.functions.chosen import STEPS, ChosenDensity
from sfumato.randomness import seeded

TARGETS = [sf.Pure(1.0), sf.Concentrated(0.1), sf.Approximate(1.0, 1e-6)]


def question(size=2000, adjacency=None):
    schema = sf.Schema({"x": sf.Interval(0, 100, step=0.1)}, size=size, adjacency=adjacency or sf.AddRemove())
    return bind(sf.density("x", bandwidth="private"), schema)


# claims
@pytest.mark.parametrize("target", TARGETS)
def test_both_parts_are_within_the_target_and_spend_it(target):
    mechanism = ChosenBandwidth.calibrate(question(), target)
    assert mechanism.guarantee().implies(target)
    for part, amount in target.parts().items():
        assert mechanism.guarantee().parts()[part] >= 0.999 * amount
    assert 3 <= len(mechanism.curves) <= 10


def test_few_rows_leave_few_candidates():
    many, few = (ChosenBandwidth.calibrate(question(size), sf.Pure(0.5)) for size in (10**6, 30))
    assert len(few.curves) < len(many.curves) == 10


# laws
@given(
    st.lists(st.integers(0, 1023), max_size=40), st.integers(0, 1023), st.integers(0, 1023), st.integers(1, 3000),
    st.integers(3, 10), st.booleans(),
)  # fmt: skip
@settings(max_examples=25, deadline=None)
def test_no_unit_moves_a_score_by_more_than_is_charged(rows, one, other, size, candidates, replaced):
    asked = question(size, sf.Replace() if replaced else None)
    cells = len(asked.statistic.cells.keys[0].starts)
    counts = np.bincount(np.array(rows, dtype=int) % cells, minlength=cells).astype(float)
    moved = counts.copy()
    moved[one % cells] += 1
    if replaced:
        counts[other % cells] += 1
    noises = tuple(np.geomspace(1e-4, 1e-2, candidates).tolist())
    change = asked.scores(counts, noises) - asked.scores(moved, noises)
    assert np.abs(change).max() <= STEPS + 1
    assert 2 * (STEPS + 1) == SPREAD


def test_half_the_sensitivity_would_be_caught(monkeypatch):
    """One row more in an empty table moves the score of the largest bandwidth by all that is charged."""
    asked = question(1)
    nothing = np.zeros(len(asked.statistic.cells.keys[0].starts))
    one = nothing.copy()
    one[500] = 1.0
    noises = (1e-9,) * 10
    monkeypatch.setattr(ChosenDensity, "constants", lambda self, noises: np.zeros(len(noises)))
    true = np.abs(asked.scores(one, noises) - asked.scores(nothing, noises)).max()
    assert STEPS - 1 <= true <= STEPS + 1
    whole = ChosenDensity.sensitivity
    monkeypatch.setattr(ChosenDensity, "sensitivity", lambda self, finest: whole(self, finest) / 2)
    assert np.abs(asked.scores(one, noises) - asked.scores(nothing, noises)).max() > STEPS + 1


# accuracy
@pytest.mark.parametrize("target", [sf.Pure(1.0), sf.Concentrated(0.1)])
def test_a_skewed_table_is_drawn_nearer_than_by_the_rule(target):
    """Log-normal incomes that fill a tenth of their range; power: the errors differ by a factor of two and more."""
    size = 4000
    truth = np.random.default_rng(1).lognormal(1.0, 0.5, size)
    schema = sf.Schema({"x": sf.Interval(0, 100, step=0.1)}, size=size)
    table = sf.read(pa.table({"x": truth}), schema=schema)
    points = np.linspace(0.5, 99.5, 600)
    ideal = np.exp(-((np.log(points) - 1) ** 2) / 0.5) / (points * 0.5 * math.sqrt(2 * math.pi))

    def distance(mechanism, seed):
        output = mechanism.release(mechanism.take(table), seeded(seed))
        return float(np.sqrt(((mechanism.query.read(output, mechanism).curve.at(points) - ideal) ** 2).mean()))

    chosen = ChosenBandwidth.calibrate(bind(sf.density("x", bandwidth="private"), schema), target)
    fixed = bind(sf.density("x", bandwidth="scott"), schema)
    rule = chosen.curves[0].calibrate(fixed, target)
    assert np.mean([distance(chosen, seed) for seed in range(3)]) < 0.6 * distance(rule, 1)


# distribution: what is published
def test_it_is_released_saved_and_read_again_with_its_bandwidth(tmp_path):
    size = 500
    schema = sf.Schema({"x": sf.Interval(0, 100, step=0.1)}, size=size, dataset="incomes")
    table = pa.table({"x": np.random.default_rng(2).exponential(4, size)})
    session = sf.Session(sf.read(table, schema=schema), budget=sf.Pure(3.0), ledger=tmp_path / "ledger")
    query = sf.density("x", bandwidth="private")
    assert "±" in str(session.preview(query, spend=sf.Pure(1.0)))
    release = session.release(query, spend=sf.Pure(1.0))
    assert session.spent.epsilon <= 1.0
    assert "chosen privately" in release.answer.error().words()
    release.save(tmp_path / "curve.json")
    again = sf.load(tmp_path / "curve.json")
    assert np.array_equal(again.curve.at([1.0, 50.0]), release.curve.at([1.0, 50.0]))
    assert "chosen privately" in again.answer.error().words()


def test_a_plan_names_it():
    details = sf.density("x", bandwidth="private").details
    assert type(details).from_record({"column": "x", "bandwidth": "private"}) == details
    assert details.to_record()["bandwidth"] == "private"


# refusals
def test_refuses_what_it_cannot_choose():
    with pytest.raises(ParameterError, match="bandwidth must be a number"):
        sf.density("x", "y", bandwidth="private")
    with pytest.raises(ParameterError, match="bandwidth must be a number"):
        sf.distribution("x", bandwidth="private")
    unsized = sf.Schema({"x": sf.Interval(0, 10, step=1)})
    with pytest.raises(SchemaError, match="declare size="):
        bind(sf.density("x", bandwidth="private"), unsized)
    mechanism = ChosenBandwidth.calibrate(question(), sf.Pure(1.0))
    other = ChosenBandwidth.calibrate(question(), sf.Concentrated(0.1))
    with pytest.raises(ParameterError, match="one kind"):
        ChosenBandwidth(mechanism.query, mechanism.rate, False, (*mechanism.curves, *other.curves))


def test_a_table_that_is_empty_or_far_too_large_is_scored_all_the_same():
    asked = question(5)
    cells = len(asked.statistic.cells.keys[0].starts)
    for counts in (np.zeros(cells), np.full(cells, 1e9)):
        assert np.isfinite(asked.scores(counts, (0.1, 0.1, 0.1))).all()
    assert asked.scores(np.zeros(cells), (1.0, 0.5, 2.0)).argmin() == 1
