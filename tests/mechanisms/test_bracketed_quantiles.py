"""Quantiles between two points of the column: costs, coverage on any table, widths, audits, refusals."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato.auditing import audit
from sfumato.errors import ParameterError, SchemaError, UnsupportedQuery
from sfumato.mechanisms import BracketedQuantiles, mechanism_from
from sfumato.planner import best
from sfumato.privacy.adjacency import AddRemove, Replace
from sfumato.privacy.guarantees import Approximate, Concentrated, Pure
from sfumato.queries import Query, bind, median, quantiles
from sfumato.queries.ranks import Ranks
from sfumato.randomness import seeded


def question(probabilities, high=1000, adjacency=None, bars=True):
    schema = sf.Schema({"x": sf.Integers(0, high)}, adjacency=adjacency or AddRemove(), size=500)
    return bind(quantiles("x", probabilities, bars=bars), schema)


def ranks(values):
    return [Ranks.counted(*np.unique(np.asarray(values, dtype=np.int64), return_counts=True))]


def of(values, p):
    """The least and the greatest p-quantile of sorted values; none of no values."""
    rank = Fraction(str(p)) * len(values)
    places = {max(math.ceil(rank) - 1, 0), math.floor(rank)}
    return [values[place] for place in places if place < len(values)]


# claims


@pytest.mark.parametrize("several", [[0.5], [0.1, 0.5, 0.9]])
def test_estimates_and_ends_share_the_target(several):
    for target in (Pure(1.0), Concentrated(0.2), Approximate(1.0, 1e-6)):
        mechanism = best(question(several), target)
        assert isinstance(mechanism, BracketedQuantiles)
        assert mechanism.guarantee().implies(target)
    mechanism = BracketedQuantiles.calibrate(question([0.5]), Pure(1.0))
    assert (mechanism.estimating.rate, mechanism.rate) == (0.5, 0.25)
    assert mechanism.guarantee() == Pure(1.0)
    assert mechanism.guarantee(2) == Pure(2.0)
    assert BracketedQuantiles.calibrate(question([0.5], adjacency=Replace()), Pure(1.0)).rate == 0.125


def test_without_bars_nothing_changes():
    assert best(question([0.5], bars=False), Pure(1.0)).to_record()["type"] == "recursive-quantiles"
    assert "bars" not in median("x").to_record()
    assert Query.from_record(median("x", bars=True).to_record()) == median("x", bars=True)


# laws


@settings(deadline=None, max_examples=25)
@given(st.floats(1e-2, 10), st.lists(st.sampled_from([0.05, 0.3, 0.5, 0.77]), min_size=1, unique=True))
def test_calibrate_never_exceeds_its_target(amount, several):
    asked = question(sorted(several))
    for target in (Pure(amount), Concentrated(amount)):
        mechanism = BracketedQuantiles.calibrate(asked, target)
        assert mechanism.guarantee().implies(target)
        assert mechanism_from(mechanism.to_record(), asked) == mechanism


TABLES = {
    "spread": list(range(0, 1000, 2)), "tied": [7] * 300 + [900] * 200, "few": [3, 500, 999], "none": [],
    "one": [444], "heavy": [0] * 249 + [1000] * 250,
}  # fmt: skip


@pytest.mark.parametrize("name", TABLES)
@pytest.mark.parametrize("epsilon", [1.0, 8.0])
def test_the_true_quantiles_lie_between_the_ends_on_any_table(name, epsilon):
    values, several = sorted(TABLES[name]), [0.2, 0.5]
    asked = question(several)
    mechanism, rng = BracketedQuantiles.calibrate(asked, Pure(epsilon)), seeded(11)
    missed, runs = 0, 150
    for _ in range(runs):
        answer = asked.read(mechanism.release(ranks(values), rng), mechanism)
        low, high = answer.interval(0.95)
        missed += any(not low[i] <= true <= high[i] for i, p in enumerate(several) for true in of(values, p))
    assert missed <= 0.05 * runs + 5 * math.sqrt(0.0475 * runs)


def test_intervals_narrow_with_the_spend_and_open_where_rows_are_few():
    asked, rng = question([0.5]), seeded(3)
    sharp, blunt = (BracketedQuantiles.calibrate(asked, Pure(epsilon)) for epsilon in (8.0, 0.01))
    low, high = asked.read(sharp.release(ranks(range(0, 1000, 2)), rng), sharp).interval(0.95)
    assert high - low < 100
    drawn = asked.read(blunt.release(ranks(range(0, 1000, 2)), rng), blunt)
    assert drawn.interval(0.95) == (0.0, 1000.0)
    answer = asked.read(sharp.release(ranks(range(0, 1000, 2)), rng), sharp)
    assert answer.interval(0.99) == (0.0, 1000.0)
    assert set(answer.table()) == {"probability", "estimate", "low", "high"}


# audit


def attacked(rate):
    asked = question([0.5], high=9)
    made = BracketedQuantiles.calibrate(asked, Pure(1.0))
    mechanism = BracketedQuantiles(asked, made.estimating, rate)
    return lambda data, rng: mechanism.release(ranks(data), rng).reshape(-1).tolist()


PAIR = ([0] * 6 + [9] * 4, [0] * 6 + [9] * 5)


def test_audit_does_not_refute_the_claim():
    assert not audit(attacked(0.25), Pure(1.0), pairs=[PAIR], seconds=0.4, generator=seeded).refuted


def test_audit_catches_ends_that_cost_more():
    assert audit(attacked(8.0), Pure(1.0), pairs=[PAIR], seconds=5, generator=seeded).refuted


# refusals


def test_refuses_what_is_no_such_thing():
    with pytest.raises(ParameterError, match="bars"):
        quantiles("x", [0.5], bars="yes")
    with pytest.raises(SchemaError, match="no part"):
        Query.from_record({"query": "quantiles", "column": "x", "probabilities": [0.5], "bar": True})
    with pytest.raises(ParameterError, match="rate"):
        BracketedQuantiles(question([0.5]), BracketedQuantiles.calibrate(question([0.5]), Pure(1.0)).estimating, 0.0)


@pytest.mark.parametrize("p", [1 / 3, 0.33333333333333, 0.9999987654321])
def test_a_probability_of_many_digits_counts_the_rows_of_any_table(p):
    mechanism = BracketedQuantiles.calibrate(question([p]), Pure(1.0))
    for rows in (0, 1, 10**6, 10**12):
        counted = Ranks.counted(np.array([400, 600]), np.array([rows // 4, rows - rows // 4]))
        ((_, low, high),) = mechanism.release([counted], seeded(rows))[0]
        assert low <= 600 <= high


def test_probabilities_beyond_what_can_be_counted_are_refused():
    for p in (1.23e-9, 1 - 1.23e-9):
        with pytest.raises(UnsupportedQuery, match="lie between"):
            BracketedQuantiles.calibrate(question([p]), Pure(1.0))
