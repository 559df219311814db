"""Estimates over rounds: differences that cover, series as frames and pictures, the promise over all rounds."""

import json

import numpy as np
import pyarrow.parquet as pq
import pytest

from sfumato.errors import ParameterError, UnsupportedQuery
from sfumato.local.client import Client, Randomized, encode_batch, randomized
from sfumato.local.collection.collector import Collector
from sfumato.local.collection.declaration import Collection
from sfumato.local.collection.estimates import Estimate
from sfumato.local.collection.series import Difference, Series
from sfumato.local.protocols import GeneralizedResponse
from sfumato.local.questions import Marginals
from sfumato.privacy.guarantees import Pure
from sfumato.randomness import seeded

GRR = GeneralizedResponse.calibrate(3, Pure(1.0))
APPS = Collection("apps", GRR, ("mail", "maps", "news"), rounds=("mon", "tue", "wed"))
SHARES = {"mon": [0.5, 0.3, 0.2], "tue": [0.3, 0.5, 0.2]}


def read(round, values, bits, collection=APPS):
    protocol = collection.protocol
    return Estimate(collection, round, len(values), protocol.tally(protocol.randomize(values, bits)), {})


def held(round, n):
    return np.repeat(np.arange(3), np.round(np.array(SHARES[round]) * n).astype(int))


def journal(tmp_path):
    collector = Collector(APPS, tmp_path / "apps.journal")
    for place, round in enumerate(SHARES):
        collector.add(encode_batch(APPS, randomized(GRR, held(round, 2000), seeded(place)), round=round))
    return collector


@pytest.mark.parametrize("repeated", [False, True])
def test_limits_of_a_difference_cover_whether_rounds_are_independent_or_repeat_their_noise(repeated):
    """200 pairs of rounds at level 0.8: limits of the true change miss in at most 40, and are not all of [-1, 1].

    With the same coins in both rounds the noise is as dependent as it can be.
    """
    truth = np.array(SHARES["tue"]) - np.array(SHARES["mon"])
    missed = 0
    for seed in range(200):
        coins = (seeded(seed), seeded(seed if repeated else 1000 + seed))
        earlier, later = (read(round, held(round, 500), bits) for round, bits in zip(SHARES, coins, strict=True))
        found = Difference(earlier, later).columns(0.8, joint=True)
        missed += bool(np.any((truth < found["low"]) | (truth > found["high"])))
    assert missed <= 40
    assert max(np.subtract(found["high"], found["low"])) < 0.9


def test_limits_of_a_difference_take_half_of_the_error_from_each_round():
    earlier, later = (read(round, held(round, 2000), seeded(3)) for round in SHARES)
    found = Difference(earlier, later).columns(0.9)
    low, high = later.interval(0.95)
    least, most = earlier.interval(0.95)
    assert found["low"] == pytest.approx(low - most)
    assert found["high"] == pytest.approx(high - least)
    assert found["difference"] == pytest.approx(later.values - earlier.values)


def test_a_series_has_a_row_for_each_round_and_value_and_joint_limits(tmp_path):
    series = journal(tmp_path).series()
    frame = series.to_pandas(joint=True)
    assert frame["round"].tolist() == ["mon"] * 3 + ["tue"] * 3
    assert frame["label"].tolist() == ["mail", "maps", "news"] * 2
    low, _ = series["tue"].interval(1 - 0.05 / 2, joint=True)
    assert frame["low"].tolist()[3:] == pytest.approx(low)
    assert "epsilon 3 over all 3 rounds" in str(series)
    assert "over all 3 rounds" in str(series.difference("mon", "tue"))
    assert series.plot().to_dict()["layer"]
    with pytest.raises(ParameterError, match="'wed' has no reports; mon, tue have"):
        series["wed"]
    with pytest.raises(ParameterError, match="compared with itself"):
        series.difference("mon", "mon")
    with pytest.raises(ParameterError, match="add some first"):
        Series(APPS, ())


def test_a_forged_round_has_no_limits(tmp_path):
    collector = journal(tmp_path)
    lies = Randomized(GRR, np.zeros(50_000, dtype=np.uint8))
    collector.add(encode_batch(APPS, lies, round="wed"))
    series = collector.series()
    assert "low" in series.difference("mon", "tue").columns()
    assert "low" not in series.difference("mon", "wed").columns()
    assert "low" not in series.columns()


def test_the_promise_over_all_rounds_is_stated_also_after_shuffling(tmp_path):
    series = journal(tmp_path).series()
    estimate = series["mon"]
    assert series.history().epsilon == pytest.approx(3.0)
    whole = estimate.central_history(1e-6)
    assert whole.epsilon == pytest.approx(3 * estimate.central(1e-6 / 3).epsilon, rel=1e-6)
    assert whole.delta == 1e-6
    assert series.central(1e-6).epsilon >= whole.epsilon - 1e-12
    assert "over all rounds of this size" in str(estimate)
    kept = Collection("apps", GRR, rounds=("mon", "tue"), most=1)
    with pytest.raises(UnsupportedQuery, match="undoes a shuffle"):
        read("mon", held("mon", 500), seeded(1), kept).central_history(1e-6)


def test_an_estimate_is_saved_as_parquet(tmp_path):
    estimate = journal(tmp_path).estimate("tue")
    table = pq.read_table(estimate.save(tmp_path / "tue.parquet", joint=True))
    assert table.column("label").to_pylist() == ["mail", "maps", "news"]
    assert table.column("low").to_pylist() == pytest.approx(estimate.interval(joint=True)[0])
    with pytest.raises(ParameterError, match=r"\.json or \.parquet"):
        estimate.save(tmp_path / "tue.csv")


def test_values_of_marginals_have_names(tmp_path):
    protocol = Marginals.calibrate([2, 3], Pure(4.0))
    plans = Collection("plans", protocol, ("free", "paid", "phone", "tablet", "desktop"))
    assert Collection.from_record(json.loads(json.dumps(plans.to_record()))) == plans
    collector = Collector(plans, tmp_path / "plans.journal")
    assert collector.add(Client(plans, bits=seeded(1)).report(["paid", "tablet"])).accepted == 1
    assert collector.estimate().labels()[:2] == ["free, phone", "free, tablet"]
    for wrong in (["tablet", "paid"], ["paid", 1], ["paid"], ["paid", "watch"]):
        with pytest.raises(ParameterError, match="nothing was spent"):
            Client(plans).report(wrong)
    assert protocol.owned(["paid", "tablet"], Client(plans)._names) == [1, 1]
