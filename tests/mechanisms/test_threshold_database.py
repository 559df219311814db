"""Thresholds by a small database: its claims, laws, distribution, an audit, and refusals."""

import itertools
import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato.auditing import audit
from sfumato.errors import ParameterError, UnsupportedQuery
from sfumato.mechanisms import ThresholdDatabase
from sfumato.queries import Query, bind
from sfumato.randomness import seeded


def grid(cells: int, rows: int | None = None, size: int | None = 12, unit=None, replaced: bool = False):
    adjacency = sf.Replace() if replaced else sf.AddRemove()
    schema = sf.Schema({"x": sf.Integers(0, cells - 1)}, unit or sf.Row(), adjacency, size)
    return bind(sf.thresholds("x", rows=rows), schema)


def exact_law(mechanism, counts) -> np.ndarray:
    """Probabilities of all small databases, by enumeration: a second route to the law."""
    below, m = np.cumsum(counts), mechanism.rows
    cells = len(counts)
    penalties = []
    for database in itertools.combinations_with_replacement(range(cells), m):
        y = np.cumsum(np.bincount(database, minlength=cells))
        penalties.append(int(np.abs(m * below - below[-1] * y).max()))
    weights = np.exp(-mechanism.rate * np.array(penalties, dtype=float))
    return weights / weights.sum()


# claims


def test_the_claim_holds_on_every_small_table_of_either_relation():
    """All tables of up to 3 rows on 3 cells beside all their neighbors: exact laws, largest loss."""
    mechanism = ThresholdDatabase.calibrate(grid(3, rows=2), sf.Pure(1.0))
    tables = [t for n in range(4) for t in itertools.combinations_with_replacement(range(3), n)]
    laws = {t: exact_law(mechanism, np.bincount(t, minlength=3)) for t in tables}
    worst = 0.0
    for t in tables:
        added = [tuple(sorted((*t, x))) for x in range(3)]
        moved = [tuple(sorted((*t[:i], x, *t[i + 1 :]))) for i in range(len(t)) for x in range(3)]
        for other in (*added, *moved):
            if other in laws:
                worst = max(worst, float(np.abs(np.log(laws[t] / laws[other])).max()))
    assert 0.5 < worst <= 1.0 + 1e-9
    assert mechanism.guarantee() == sf.Pure(1.0)


@pytest.mark.parametrize("replaced", [False, True])
def test_a_persons_rows_multiply_the_cost(replaced):
    one, three = (grid(5, rows=4, unit=unit, replaced=replaced) for unit in (sf.Person("id", 1), sf.Person("id", 3)))
    rate = ThresholdDatabase.calibrate(one, sf.Pure(1.0)).rate
    assert ThresholdDatabase(three, rate, 4).guarantee().epsilon == pytest.approx(3.0)


@pytest.mark.heavy
def test_thousand_grid_points_within_a_twentieth():
    """n = 10^4, epsilon 1, 1,000 points: at least 95 % of runs within 0.05; here all of them, with room."""
    generator = np.random.default_rng(7)
    question = bind(sf.thresholds("x"), sf.Schema({"x": sf.Integers(0, 999)}, size=10_000))
    mechanism = ThresholdDatabase.calibrate(question, sf.Pure(1.0))
    assert mechanism.error(0.05) / 10_000 < 0.05  # so the theorem says
    tables = [
        generator.normal(500, 120, 10_000),
        generator.integers(0, 1000, 10_000),
        999 * generator.beta(0.3, 2, 10_000),
    ]
    errors = []
    for run in range(12):
        counts = np.bincount(np.clip(tables[run % 3], 0, 999).astype(int), minlength=1000)
        found = question.estimate(mechanism.release(counts, seeded(run)))
        errors.append(np.abs(found - np.cumsum(counts) / 10_000).max())
    assert sum(error <= 0.05 for error in errors) == 12
    assert max(errors) < 0.035


# laws


@settings(max_examples=25, deadline=None)
@given(st.floats(0.01, 5), st.integers(1, 50), st.booleans())
def test_calibrate_never_exceeds_its_target(amount, rows, replaced):
    for target in (sf.Pure(amount), sf.Concentrated(amount)):
        mechanism = ThresholdDatabase.calibrate(grid(9, rows=rows, replaced=replaced), target)
        assert mechanism.guarantee().implies(target)


@settings(max_examples=25, deadline=None)
@given(st.lists(st.integers(0, 40), min_size=2, max_size=9), st.integers(1, 6))
def test_a_database_has_its_rows_on_the_grid(counts, rows):
    mechanism = ThresholdDatabase.calibrate(grid(len(counts), rows=rows), sf.Pure(1.0))
    found = mechanism.release(np.array(counts), seeded(5))
    assert len(found) == rows
    assert set(found.tolist()) <= set(range(len(counts)))


def test_the_best_size_is_a_balance():
    question = grid(1000, size=10_000)
    best = ThresholdDatabase.calibrate(question, sf.Pure(1.0))
    for rows in (best.rows // 2, best.rows * 2):
        assert best.error() < ThresholdDatabase.calibrate(grid(1000, rows=rows, size=10_000), sf.Pure(1.0)).error()
    assert ThresholdDatabase.calibrate(question, sf.Pure(0.1)).rows < best.rows


# distribution: tests/sampling/test_sampling_monotone.py holds the sampler to its law


def test_a_session_publishes_thresholds_and_reads_them_back(tmp_path):
    frame = pd.DataFrame({"x": [3.0, 3.0, 7.25, None, 99.0, -4.0] * 50})
    schema = sf.Schema({"x": sf.Interval(0, 10, step=0.25)}, size=250, dataset="t")
    session = sf.Session(sf.read(frame, schema=schema), budget=sf.Pure(2.0), ledger=tmp_path / "l.db")
    query = sf.thresholds("x", points=21)
    assert Query.from_record(query.to_record()) == query
    preview = session.preview(query, spend=sf.Pure(2.0))
    assert "thresholds from a database of" in preview.accuracy
    release = session.release(query, spend=sf.Pure(2.0))
    table = release.to_pandas()
    truth = np.array([np.mean(np.array([3.0, 3.0, 7.25, 10.0, 0.0]) <= t) for t in table["threshold"]])
    low, high = release.interval()
    assert ((low <= truth) & (truth <= high)).all()
    assert release.answer.database.min() >= 0
    assert "step-after" in str(release.plot().to_dict())
    again = sf.load(release.save(tmp_path / "r.json"))
    assert again.value.tolist() == release.value.tolist()
    assert again.mechanism == release.mechanism


# audit


def attacked(rate: float, rows: int):
    mechanism = ThresholdDatabase(grid(4, rows=rows), rate, rows)
    return lambda data, rng: mechanism.release(np.bincount(data, minlength=4), rng).tolist()


PAIR = ([0, 0, 1, 3], [0, 0, 1, 3, 3])


def test_audit_does_not_refute_the_claim():
    claim = ThresholdDatabase(grid(4, rows=2), 0.25, 2).guarantee()
    assert claim == sf.Pure(1.0)
    assert not audit(attacked(0.25, 2), claim, pairs=[PAIR], seconds=0.4, generator=seeded).refuted


@pytest.mark.heavy
def test_audit_catches_a_rate_that_forgets_the_size():
    """The rate for penalties in units of 1/n used on penalties in units of 1/(m n): m = 6 times the loss."""
    claim = ThresholdDatabase(grid(4, rows=6), 1 / 12, 6).guarantee()
    assert claim.epsilon == pytest.approx(1.0)
    assert audit(attacked(0.5, 6), claim, pairs=[PAIR], seconds=10, generator=seeded).refuted


# refusals


def test_refuses_what_is_not_public_or_not_there():
    schema = sf.Schema({"x": sf.Integers(0, 9), "c": sf.Categories(["a"])})
    with pytest.raises(UnsupportedQuery, match="size="):
        bind(sf.thresholds("x"), schema)
    with pytest.raises(UnsupportedQuery, match="must hold numbers"):
        bind(sf.thresholds("c", rows=3), schema)
    with pytest.raises(UnsupportedQuery, match="no keys"):
        bind(sf.thresholds("x", rows=3).by("c"), schema)
    with pytest.raises(ParameterError, match="points"):
        sf.thresholds("x", points=1)
    with pytest.raises(ParameterError, match="rows"):
        sf.thresholds("x", rows=0)


@pytest.mark.parametrize("rate", [0.0, -1.0, math.nan])
def test_refuses_a_bad_rate(rate):
    with pytest.raises(ParameterError, match="rate"):
        ThresholdDatabase(grid(4), rate, 3)


def test_refuses_an_answer_of_another_shape_without_printing_it():
    with pytest.raises(ParameterError, match="dimension 4") as refusal:
        ThresholdDatabase(grid(4), 0.1, 3).release(np.array([31337]), seeded(1))
    assert "31337" not in str(refusal.value)
