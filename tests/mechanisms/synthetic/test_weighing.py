"""Weights of columns: what one unit moves is not increased, relations that matter are measured first, two doors."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato.errors import ParameterError
from sfumato.mechanisms.synthetic.marginals.selection import Candidate, Scores
from sfumato.mechanisms.synthetic.marginals.weighing import weighted
from sfumato.queries.encoding import Column
from sfumato.queries.synthetic import Synthetic

BIT = sf.Categories(("a", "b"), other="a", missing="a")
PAIRS = tuple(Candidate(pair, (0, 0)) for pair in ((0, 1), (0, 2), (1, 2)))


def columns(weights: list[float]) -> list[Column]:
    return [replace(Column.of(name, BIT), weight=w) for name, w in zip("xyz", weights, strict=True)]


@settings(max_examples=200, deadline=None)
@given(
    st.lists(st.integers(-(2**45), 2**45), min_size=3, max_size=3),
    st.lists(st.integers(-50, 50), min_size=3, max_size=3),
    st.lists(st.floats(1e-3, 1e3), min_size=3, max_size=3),
)
def test_weighted_scores_move_no_further(scores: list[int], moves: list[int], weights: list[float]) -> None:
    held = [weighted(Scores(PAIRS, np.array(s)), columns(weights)).values for s in (scores, np.add(scores, moves))]
    assert (np.abs(held[0] - held[1]) <= np.abs(moves)).all()  # a factor above 1 would break it
    order = sorted(range(3), key=lambda place: weights[place])
    heaviest = PAIRS.index(Candidate((min(order[1:]), max(order[1:])), (0, 0)))
    assert held[0][heaviest] == scores[heaviest]


def test_equal_weights_change_nothing() -> None:
    scores = Scores(PAIRS, np.array([5, -3, 7]))
    assert weighted(scores, columns([1.0, 1.0, 1.0])) is scores
    assert weighted(scores, columns([4.0, 1.0, 1.0])).values.tolist() == [5, -3, 1]


def table(n: int = 2000) -> tuple[pd.DataFrame, sf.Schema]:
    """The first two columns are nearly the same, and tell a little of the third."""
    chance = np.random.default_rng(1)
    one, two = chance.integers(0, 2, n), chance.integers(0, 2, n)
    made = {
        "u": one,
        "v": np.where(chance.random(n) < 0.05, 1 - one, one),
        "y": np.where(chance.random(n) < 0.6, one, two),
    }
    spaces = {name: sf.Categories((0, 1), other=0, missing=0) for name in made}
    return pd.DataFrame(made), sf.Schema(spaces, dataset="bits", size=n, adjacency=sf.Replace())


def test_a_target_is_a_weight_of_four_and_asking_again_is_free(tmp_path: Path) -> None:
    frame, schema = table()
    session = sf.Session(sf.read(frame, schema=schema), budget=sf.Concentrated(1.0), ledger=tmp_path / "bits.ledger")
    made = session.synthesize(spend=sf.Concentrated(0.5), target="y")
    again = session.synthesize(spend=sf.Concentrated(0.5), weights={"y": 4, "u": 1})
    assert made.rows.equals(again.rows)
    assert session.ledger.spent() == sf.Concentrated(0.5)
    assert made.method["weights"] == {"y": 4.0}
    opened = sf.load(made.save(tmp_path / "bits.parquet"))
    assert opened.question.weights == {"y": 4.0}
    assert {"u", "y"} <= {name for pair in made.measured for name in pair}


def test_plans_and_records_hold_targets_and_weights() -> None:
    asked = sf.synthetic(target="y", weights={"u": 0.5}, good_for="both").details
    assert Synthetic.from_record(asked.to_record()) == asked
    assert Synthetic.from_record({"target": "y", "weights": {"u": 0.5}}) == asked
    assert sf.synthetic(weights={"u": 1.0}, good_for="both").details.to_record() == {}


@pytest.mark.parametrize(
    "asked",
    [{"target": "w"}, {"target": ""}, {"weights": {"u": 0}}, {"weights": {"u": float("nan")}}, {"weights": ["u"]}],
)
def test_what_is_no_weight_is_refused_before_a_charge(asked: dict[str, Any], tmp_path: Path) -> None:
    frame, schema = table(50)
    session = sf.Session(sf.read(frame, schema=schema), budget=sf.Concentrated(1.0), ledger=tmp_path / "bits.ledger")
    with pytest.raises(ParameterError, match=r"target|weight"):
        session.synthesize(spend=sf.Concentrated(0.5), **asked)
    assert session.ledger.spent() == sf.Concentrated(0.0)


def test_a_target_s_own_weight_leaves_room_for_four_times_as_much() -> None:
    """Else the question would be written down with a weight that does not read back."""
    asked = sf.synthetic(target="y", weights={"y": 250})
    assert sf.Query.from_record(asked.to_record()) == asked
    with pytest.raises(ParameterError, match=r"'y' is the target.*at most 250 may be given, or 1000"):
        sf.synthetic(target="y", weights={"y": 500})
