"""Continual counting: what the periods of a series cost together, their errors, and what attacks would find."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato as sf
from losses import compared
from sfumato.bounds import certify
from sfumato.mechanisms import ContinualCounting, Strategy
from sfumato.mechanisms.noise.continual_counting import measured, ways
from sfumato.mechanisms.noise.gauges import LAPLACE
from sfumato.mechanisms.noise.normals import NORMAL
from sfumato.planner import options
from sfumato.queries import bind
from sfumato.randomness import seeded

ALLOWED = frozenset({"fixed-dates"})
TARGETS = (sf.Pure(0.9), sf.Concentrated(0.2), sf.Approximate(0.8, 1e-3))


def asked(periods, groups=0, version=None, apart=False):
    columns = {"day": sf.Integers(0, periods), **({"g": sf.Categories(range(groups))} if groups else {})}
    query = sf.running("day", *range(periods + 1), apart=apart)
    version = str(periods - 1) if version is None else version
    return bind(query.by("g") if groups else query, sf.Schema(columns, version=version))


def year(version="2026-12"):
    schema = sf.Schema({"day": sf.Dates("2026-01-01", "2026-12-31")}, version=version)
    return bind(sf.running("day", "2026-01-01", months=12), schema)


# claims


def test_twelve_months_have_the_errors_of_prefix_sums_asked_at_once():
    question = year()
    pure = ContinualCounting.calibrate(question, sf.Pure(1.0))
    assert pure.guarantee() == sf.Pure(1.0, assumptions=ALLOWED)
    assert (pure.strategy, pure.law, pure.scale) == ("each", LAPLACE, 1.0)
    assert pure.margins(0.05)[0].max() < 9.001  # beside 8.4 when all are asked together, and 36 one by one
    normal = ContinualCounting.calibrate(question, sf.Concentrated(0.5))
    assert (normal.strategy, normal.law) == ("square-root", NORMAL)
    assert normal.margins(0.05)[0].max() < 3.33  # beside 3.5 and 7
    together = sf.prefix(sf.bins("day", *(f"2026-{month:02d}-01" for month in range(1, 13)), "2026-12-31"))
    asked_at_once = bind(together, sf.Schema({"day": sf.Dates("2026-01-01", "2026-12-31")}))
    for mechanism in (pure, normal):
        target = replace(mechanism.guarantee(), assumptions=frozenset())
        best = options(asked_at_once, target)[0]
        assert best.predicted <= mechanism.root_mean_square < 1.04 * best.predicted


def test_a_binary_tree_would_err_twice_as_far():
    levels, mechanism = 4, ContinualCounting.calibrate(year(), sf.Pure(1.0))
    nodes = [bin(month).count("1") for month in range(1, 13)]
    tree = levels * math.sqrt(2 * np.mean(nodes))
    assert mechanism.root_mean_square < 0.5 * tree


@given(st.integers(1, 40), st.sampled_from(TARGETS), st.integers(0, 3))
@settings(max_examples=25)
def test_a_row_moves_all_periods_together_by_no_more_than_was_claimed(periods, target, groups):
    question = asked(periods, groups)
    for strategy, law in ways(question, target):
        mechanism = ContinualCounting.calibrate(question, target, strategy, law)
        matrix = np.stack([mechanism.measurement.apply(unit) for unit in np.eye(periods, dtype=np.int64)], axis=1)
        assert not np.triu(matrix, 1).any()  # nothing of later periods is measured
        costs = []
        for period in {0, periods // 2, periods - 1}:
            row = np.zeros((periods, max(groups, 1)), dtype=np.int64)
            row[period, -1] = 1
            cost, claim = compared(mechanism, row, 0 * row)
            assert cost <= claim * (1 + 1e-12)
            costs.append(cost / claim)
        assert max(costs) > 0.999  # and no less is enough


@given(st.integers(2, 12), st.randoms(use_true_random=False), st.sampled_from(TARGETS))
@settings(max_examples=25)
def test_a_row_may_come_late_leave_and_change_its_group_in_any_version(periods, random, target):
    """Versions that differ in one row of one period: each measurement sees one row more, or none, in some group."""
    groups = 3
    for strategy, law in ways(asked(periods, groups), target):
        mechanism = ContinualCounting.calibrate(asked(periods, groups), target, strategy, law)
        period = random.randrange(periods)
        move = np.zeros((periods, groups), dtype=object)
        for over in range(period, periods):
            if random.random() < 0.7:
                row = np.zeros(periods, dtype=np.int64)
                row[period] = 1
                move[over, random.randrange(groups)] = mechanism.measurement.apply(row)[over]
        length = abs(move).sum() if law is LAPLACE else math.sqrt((move**2).sum())
        assert length <= mechanism.measurement.norms(law.norm)[0] * (1 + 1e-12)


def test_a_row_that_changes_its_date_is_what_the_assumption_is_about():
    """Moved into each period as that is measured, one row is in every measurement: twelve times the claim."""
    mechanism = ContinualCounting.calibrate(year(), sf.Pure(1.0))
    wandering = np.array([mechanism.measurement.apply(unit)[place] for place, unit in enumerate(np.eye(12, dtype=int))])
    assert abs(wandering).sum() == 12 * mechanism.measurement.norms("l1")[0]
    assert mechanism.guarantee().assumptions == ALLOWED


def test_enormous_budgets_have_errors_too():
    mechanism = ContinualCounting.calibrate(year(), sf.Pure(1e4))
    assert mechanism.error() == 0
    assert mechanism.query.accuracy(mechanism, 0.05).most == 0
    prefixes = bind(sf.prefix("x"), sf.Schema({"x": sf.Integers(0, 9)}))
    assert Strategy.calibrate(prefixes, sf.Pure(1e4)).error() == 0


# laws


@given(st.integers(1, 60))
@settings(max_examples=30)
def test_measurements_are_whole_and_read_back(periods):
    for strategy in ("each", "square-root"):
        measurement = measured(strategy, periods)
        counts = np.arange(periods) ** 2 + 3
        assert measurement.solve(measurement.apply(counts).astype(float)) == pytest.approx(counts, rel=1e-9)
    lengths = [measured("square-root", periods).apply(unit) for unit in np.eye(periods, dtype=np.int64)]
    squares = [float((one.astype(float) ** 2).sum()) for one in lengths]
    assert min(squares) > 0.99 * max(squares)  # columns of one length: no row pays for another


def test_periods_continue_what_was_published():
    """Drawn one by one with one generator, the series is what it is at once; earlier measurements never change."""
    counts = np.array([[5, 1], [7, 0], [2, 9], [4, 4]])
    for target in TARGETS:
        at_once = ContinualCounting.calibrate(asked(4, 2), target).release(counts, seeded(3))
        rng, output = seeded(3), np.zeros(0, dtype=object)
        for version in "0123":
            mechanism = ContinualCounting.calibrate(asked(4, 2, version), target)
            so_far, output = output, mechanism.continued(output, counts, rng)
            assert output[: len(so_far)].tolist() == so_far.tolist()
            assert len(output) == 2 * (int(version) + 1)
        assert len(output) == len(at_once)


@given(st.integers(1, 30), st.sampled_from(TARGETS))
@settings(max_examples=10)
def test_bounds_of_prefix_sums_stay_below(periods, target):
    question = asked(periods, 2)
    for option in options(question, target, ALLOWED):
        assert certify(question, option.mechanism).factor >= 1


# distribution


def test_intervals_hold_for_each_count_as_often_as_stated():
    rng, counts, missed, runs = np.random.default_rng(1), np.array([[30, 2], [0, 5], [7, 7], [1, 90]]), {}, 400
    for target in (sf.Pure(0.5), sf.Concentrated(0.1)):
        mechanism = ContinualCounting.calibrate(asked(4, 2), target)
        truth = np.concatenate([np.cumsum(counts, axis=0).reshape(-1), counts.reshape(-1)])
        generator = seeded(int(rng.integers(1 << 30)))
        found = 0
        for _ in range(runs):
            answer = mechanism.query.read(mechanism.release(counts, generator), mechanism)
            low, high = answer.ends(0.1, False)
            found += np.mean((low <= truth) & (truth <= high))
        missed[target] = 1 - found / runs
    assert all(0.03 < share < 0.125 for share in missed.values()), missed  # 0.1 stated; whole numbers miss less often


# audit


def test_noise_for_fewer_periods_is_found(monkeypatch):
    """Noise that was chosen for a shorter column than the series has is less than its claim needs."""
    whole = ContinualCounting.calibrate(asked(12), sf.Concentrated(0.2))
    assert whole.strategy == "square-root"
    less = replace(whole, scale=whole.scale * 0.95)
    row = np.zeros((12, 1), dtype=np.int64)
    row[0] = 1
    cost, _ = compared(less, row, 0 * row)
    assert cost > whole.guarantee().rho
    assert less.guarantee().rho >= cost * (1 - 1e-9)  # and its own claim says so


# refusals


def test_periods_of_large_numbers_have_names_of_their_own():
    schema = sf.Schema({"x": sf.Integers(0, 10**9)}, version="1000001")
    question = bind(sf.running("x", 1_000_000, 1_000_001, 1_000_002), schema)
    assert (question.names, question.period) == (("1000000", "1000001"), 2)


def test_what_is_no_series_is_refused():
    dated = {"day": sf.Dates("2026-01-01", "2026-12-31")}
    months = sf.running("day", "2026-01-01", months=12)
    for schema, told in (
        (sf.Schema(dated, version="2026"), "version says which: give one of 2026-01, 2026-02, 2026-03, ..., 2026-12"),
        (sf.Schema(dated), "got None"),
        (sf.Schema(dated, unit=sf.Person("id", 2), version="2026-01"), "protect single rows"),
        (sf.Schema(dated, adjacency=sf.Replace(), size=9, version="2026-01"), "add-remove"),
        (sf.Schema({"day": sf.Dates("2026-01-01", "2026-06-30")}, version="2026-01"), "declared bounds"),
        (sf.Schema({"day": sf.Categories(["a"])}, version="2026-01"), "dates or numbers"),
    ):
        with pytest.raises(sf.errors.SfumatoError, match=told):
            bind(months, schema)
    for key in ("day", sf.bins("day", "2026-01-01", "2026-07-01", "2026-12-31")):  # would stand in the periods' place
        with pytest.raises(sf.errors.SchemaError, match="no group beside them"):
            bind(months.by(key), sf.Schema(dated, version="2026-01"))
    for edges, given_months, told in (
        (("2026-01-31",), 3, "which every month must have"),
        (("2026-01-01", "2026-02-01"), 3, "one first day"),
        (("soon",), 3, "one first day"),
        (("2026-01-01",), 0, "from 1 to 400"),
        (tuple(range(402)), None, "at most 400"),
    ):
        with pytest.raises(sf.errors.ParameterError, match=told):
            sf.running("day", *edges, months=given_months)
    with pytest.raises(sf.errors.UnsupportedQuery, match='allow=\\["fixed-dates"\\]'):
        options(year(), sf.Pure(1.0))
    with pytest.raises(sf.errors.UnsupportedQuery, match="whose rows this table lacks"):
        ContinualCounting(asked(3, apart=True), "square-root", NORMAL, 9.0)
    with pytest.raises(sf.errors.ParameterError, match="other periods or groups"):
        ContinualCounting.calibrate(asked(3), sf.Pure(1.0)).release(np.zeros((2, 1), dtype=int), seeded(1))
