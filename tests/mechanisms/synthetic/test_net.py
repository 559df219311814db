"""Net mechanism and small databases: exact claims, laws, the walk, an audit, and refusals."""

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato.auditing import audit
from sfumato.errors import ParameterError, UnsupportedQuery
from sfumato.mechanisms.synthetic.net import CountingMatrix, Net, penalties
from sfumato.mechanisms.synthetic.small_database import SmallDatabase, _databases
from sfumato.randomness import seeded
from statistical import ALPHA, pooled_pvalue

PARITIES = CountingMatrix("parities of two bits", np.array([[0, 1, 0, 1], [0, 0, 1, 1], [0, 1, 1, 0]]))


def law_of(query: CountingMatrix, rows: int, rate: float, histogram) -> tuple[list[tuple[int, ...]], np.ndarray]:
    """All small databases and their probabilities, by the definition."""
    databases = list(itertools.combinations_with_replacement(range(query.matrix.shape[1]), rows))
    answers = np.array([query.matrix[:, list(points)].sum(axis=1) for points in databases])
    exact = query.matrix @ np.asarray(histogram)
    heights = np.abs(rows * exact - np.sum(histogram) * answers).max(axis=1)
    weights = np.exp(-rate * (heights - heights.min()))
    return databases, weights / weights.sum()


def means(histogram) -> np.ndarray:
    return PARITIES.matrix @ np.asarray(histogram) / np.sum(histogram)


# claims


def test_the_claim_holds_on_every_small_table_of_either_relation():
    """All tables of up to 3 rows on 4 points beside their neighbors: exact laws, largest loss."""
    mechanism = SmallDatabase.calibrate(replace(PARITIES, rows=2), sf.Pure(1.0))
    tables = [t for n in range(4) for t in itertools.combinations_with_replacement(range(4), n)]
    laws = {t: law_of(PARITIES, 2, mechanism.rate, np.bincount(t, minlength=4).astype(int))[1] for t in tables}
    worst = 0.0
    for t in tables:
        added = [tuple(sorted((*t, x))) for x in range(4)]
        moved = [tuple(sorted((*t[:i], x, *t[i + 1 :]))) for i in range(len(t)) for x in range(4)]
        for other in (*added, *moved):
            if other in laws:
                worst = max(worst, float(np.abs(np.log(laws[t] / laws[other])).max()))
    assert 0.4 < worst <= 1 + 1e-9


@pytest.mark.parametrize(("rows", "unit_rows", "distance"), [(1, 1, 1), (5, 1, 1), (5, 3, 2)])
def test_cost_is_rate_times_spread(rows, unit_rows, distance):
    query = CountingMatrix("q", PARITIES.matrix, unit_rows)
    assert SmallDatabase(query, rows, 0.25).guarantee(distance).epsilon == 0.5 * rows * unit_rows * distance
    claim = SmallDatabase(query, rows, 0.25, concentrated=True).guarantee(distance)
    assert claim.rho == (0.5 * rows * unit_rows * distance) ** 2 / 8


def test_a_walk_names_its_assumption():
    assert SmallDatabase(PARITIES, 3, 0.1, steps=10).guarantee().assumptions == {"mixing"}
    assert SmallDatabase(PARITIES, 3, 0.1).guarantee().assumptions == frozenset()
    assert SmallDatabase.calibrate(replace(PARITIES, rows=400), sf.Pure(1.0)).steps > 0  # too many to enumerate


# laws


@settings(max_examples=20, deadline=None)
@given(st.floats(0.01, 5), st.integers(1, 9))
def test_calibrate_never_exceeds_its_target(amount, rows):
    for target in (sf.Pure(amount), sf.Concentrated(amount), sf.Approximate(amount, 0.0)):
        assert SmallDatabase.calibrate(replace(PARITIES, rows=rows), target).guarantee().implies(target)
        candidates = rows * np.eye(4, dtype=int)
        assert Net.calibrate(replace(PARITIES, candidates=candidates), target).guarantee().implies(target)


def test_blocks_list_every_database_once(monkeypatch):
    monkeypatch.setattr("sfumato.mechanisms.synthetic.small_database.BLOCK", 7)
    found = np.concatenate(list(_databases(4, 3)))
    assert len(found) == len({tuple(points) for points in found.tolist()}) == math.comb(6, 3)


def test_penalties_of_enormous_tables_do_not_overflow():
    huge = np.array([10**25, 0, 0, 0], dtype=object)
    assert penalties(PARITIES, huge, np.array([[2, 2, 2]]), 2).tolist() == [2**62]


# distribution


@pytest.mark.parametrize("steps", [0, 60])
def test_databases_follow_the_law_enumerated_or_walked(steps):
    """Chi-square over 20 databases; a rate of 0 instead of 0.15 has sum (p - q)^2 / q = 0.7, refused by 600 draws."""
    histogram, rate, draws = [5, 1, 0, 2], 0.15, 600 if steps else 4_000
    mechanism, rng = SmallDatabase(PARITIES, 3, rate, steps), seeded(6)
    databases, law = law_of(PARITIES, 3, rate, histogram)
    places = {tuple(np.bincount(points, minlength=4).tolist()): k for k, points in enumerate(databases)}
    found = np.zeros(len(databases))
    for _ in range(draws):
        found[places[tuple(mechanism.release(histogram, rng).tolist())]] += 1
    assert pooled_pvalue(found, law * draws) >= ALPHA
    assert pooled_pvalue(found, np.full(len(law), draws / len(law))) < ALPHA


def test_a_net_finds_the_best_of_its_candidates():
    candidates = np.array([[4, 0, 0, 0], [1, 1, 1, 1], [0, 2, 2, 0]])
    net = Net.calibrate(replace(PARITIES, candidates=candidates), sf.Pure(1.0))
    assert net.release([250, 250, 250, 250], seeded(1)).tolist() == [1, 1, 1, 1]
    assert net.release([0, 500, 500, 0], seeded(1)).tolist() == [0, 2, 2, 0]
    assert net.error() > 0


def test_small_databases_keep_the_promised_accuracy():
    """Rounding to m = 5 rows plus the bound of the exponential mechanism, for all parities of two bits."""
    mechanism = SmallDatabase.calibrate(replace(PARITIES, rows=5), sf.Pure(1.0))
    histogram = np.array([400, 300, 200, 100])
    best = min(
        np.abs(means(histogram) - means(np.bincount(points, minlength=4))).max()
        for points in itertools.combinations_with_replacement(range(4), 5)
    )
    promised = best + mechanism.error(0.05) / 1000
    found = [mechanism.release(histogram, seeded(seed)) for seed in range(30)]
    errors = [np.abs(means(histogram) - means(one)).max() for one in found]
    assert sum(error <= promised for error in errors) >= 27


# audit


def attacked(rate):
    mechanism = SmallDatabase(PARITIES, 2, rate)
    return lambda data, rng: mechanism.release(np.bincount(data, minlength=4), rng).tolist()


def test_audit_tells_the_claim_from_four_times_the_rate():
    claim = SmallDatabase(PARITIES, 2, 0.25).guarantee()
    assert claim == sf.Pure(1.0)
    pair = ([1, 1, 1], [1, 1, 1, 2])
    assert not audit(attacked(0.25), claim, pairs=[pair], seconds=0.4, generator=seeded).refuted
    assert audit(attacked(2.0), claim, pairs=[pair], seconds=3, generator=seeded).refuted


# refusals


def test_refuses_nonsense():
    with pytest.raises(ParameterError, match="whole numbers"):
        CountingMatrix("q", np.array([[0.5]]))
    with pytest.raises(ParameterError, match="not all zero"):
        CountingMatrix("q", np.zeros((2, 2), dtype=int))
    with pytest.raises(ParameterError, match="unit_rows"):
        CountingMatrix("q", PARITIES.matrix, 0)
    with pytest.raises(ParameterError, match="equally many rows"):
        Net(replace(PARITIES, candidates=np.array([[1, 0, 0, 0], [1, 1, 0, 0]])), 0.1)
    with pytest.raises(ParameterError, match="too many to enumerate"):
        SmallDatabase(PARITIES, 1000, 0.1)
    with pytest.raises(UnsupportedQuery, match="epsilon > 0"):
        SmallDatabase.calibrate(replace(PARITIES, rows=2), sf.Pure(0.0))


def test_refuses_another_histogram_without_printing_it():
    with pytest.raises(ParameterError, match="4 points") as refusal:
        SmallDatabase(PARITIES, 2, 0.1).release([31337], seeded(1))
    assert "31337" not in str(refusal.value)
