"""Neighbors are neighbors, outputs of any kind become features, and time is kept."""

from __future__ import annotations

import time
from collections import Counter
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from sfumato.auditing import attack, audit, clock
from sfumato.auditing.bits import lowest_bit
from sfumato.auditing.features import ABSENT, learn
from sfumato.auditing.neighbors import pairs_for
from sfumato.auditing.running import Raised, Runner, Warned
from sfumato.auditing.shapes import shape_of
from sfumato.privacy.adjacency import Person, Row
from sfumato.privacy.guarantees import Pure
from waiting import let_pass, wait_for_kill

EXAMPLES = [
    [0.5, 1.0],
    [3, 4],
    ["a", "b"],
    [{"x": 1.0, "y": "a"}, {"x": 2.0, "y": "b"}],
    [{"a", "b"}, {"b"}],
    np.array([0.5, 1.0]),
    np.array([1, 2], dtype=np.int32),
    np.array([[0.5, 1.0], [0.0, 2.0]]),
    pd.DataFrame({"x": [1.0, 2.0], "y": ["a", "b"]}),
    pa.table({"x": pa.array([1.0, None]), "y": ["a", "b"]}),
]


def bag(data: Any) -> Counter[str]:
    return Counter(repr(row) for row in shape_of(data)[1])


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda e: type(e).__name__)
def test_added_rows_are_one_apart_as_bags(example: Any) -> None:
    pairs = pairs_for([example], "add-remove", Row(), None, None)
    assert len(pairs) > 20
    for pair in pairs:
        one, two = bag(pair.first), bag(pair.second)
        assert ((one - two) + (two - one)).total() <= 1


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda e: type(e).__name__)
def test_replaced_rows_keep_all_others(example: Any) -> None:
    pairs = pairs_for([example], "replace", Row(), None, None)
    assert len(pairs) > 20
    for pair in pairs:
        one, two = shape_of(pair.first)[1], shape_of(pair.second)[1]
        assert len(one) == len(two)
        assert sum(repr(a) != repr(b) for a, b in zip(one, two, strict=True)) <= 1


@pytest.mark.parametrize(("norm", "order"), [("l1", 1), ("l2", 2), ("linf", np.inf)])
def test_vectors_are_at_distance_at_most_one(norm: str, order: float) -> None:
    for pair in pairs_for([np.zeros(5)], norm, Row(), None, None):
        assert np.linalg.norm(pair.first - pair.second, order) <= 1 + 1e-12


def test_numbers_include_what_a_program_must_survive() -> None:
    rows = {repr(row) for pair in pairs_for([[0.5]], "add-remove", Row(), None, None) for row in pair.first}
    assert {"nan", "inf", "-inf", "1e+300", "0.0"} <= rows
    bounded = {row for pair in pairs_for([[0.5]], "add-remove", Row(), None, (0.0, 2.0)) for row in pair.first}
    assert min(bounded) == 0.0
    assert max(bounded) == 2.0


def test_a_person_appears_in_many_groups() -> None:
    table = pd.DataFrame({"id": [1, 2], "group": ["a", "b"], "x": [0.5, 1.0]})
    pairs = pairs_for([table], "add-remove", Person("id", 3), None, None)
    spread = [pair.first[pair.first["id"] == 3]["group"].nunique() for pair in pairs]
    assert max(spread) >= 2
    for pair in pairs:
        changed = bag(pair.first) - bag(pair.second)
        assert all(row.startswith("(3,") for row in changed)


@pytest.mark.parametrize(
    "outputs",
    [
        [1.0, 2.0, float("nan")],
        [np.array([1.0, 2.0])] * 3,
        [(1.0, 2.0), (2.0, 3.0)],
        [[True, None], [False], []],
        [{"a": 1.0}, {"a": 2.0, "b": None}],
        ["count 3.5", "none"],
        [{"x"}, {"y", "z"}],
        [Raised("ValueError", "x"), 3.0],
        [Warned(1.0, ("UserWarning",), ("careful",)), 2.0],
        [pd.DataFrame({"x": [1.0]}), pa.table({"x": [2.0, 3.0]})],
        [10**400, -(10**400), 5],
        [1 + 2j, 3.0],
    ],
)
def test_any_output_becomes_numbers(outputs: list[Any]) -> None:
    features = learn([outputs], None, bits=True)
    table = features.matrix(outputs)
    assert table.shape == (len(outputs), len(features.columns))
    assert np.any(table != ABSENT)


def test_record_is_recognized_in_a_table() -> None:
    features = learn([[pd.DataFrame({"x": [1.0, 7.0], "y": [2.0, 8.0]})]], (7.0, 8.0), bits=False)
    place = features.names.index("distance of output to the record")
    assert features.matrix([pd.DataFrame({"x": [7.0], "y": [9.0]})])[0, place] == 1.0


def test_lowest_bit_of_a_rounded_sum_shows_the_summand() -> None:
    noise = np.random.default_rng(1).laplace(0, 1, 10_000)
    near = np.abs(noise) < 0.1
    assert lowest_bit(noise[near]).min() < -56
    assert lowest_bit((1.0 + noise)[np.abs(1.0 + noise) < 0.1]).min() >= -54


def test_target_that_changes_its_input_is_given_copies() -> None:
    def eats(data: list[float]) -> float:
        return float(len(data)) if not data or data.pop() is None else float(len(data) + 1)

    runner = Runner(eats, np.random.default_rng, 0)
    data = [1.0, 2.0, 3.0]
    runner.watch(data)
    assert runner.draw(data, 5) == [3.0] * 5
    assert data == [1.0, 2.0, 3.0]


@pytest.fixture
def slept(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Seconds that targets say to have slept, which an audit's clock adds to those of the processor."""
    told: list[float] = []
    monkeypatch.setattr(clock, "now", lambda: time.process_time() + sum(told))
    return told


def test_time_is_kept_for_slow_targets(slept: list[float]) -> None:
    def slow(data: list[float], rng: Any) -> float:
        slept.append(0.002)
        return float(len(data)) + float(rng.integers(-50, 50))

    audit(slow, Pure(9.0), seconds=1.0)
    assert 0.2 < sum(slept) < 9.0


def test_an_endless_run_is_an_output(slept: list[float]) -> None:
    def hangs(data: list[float], rng: Any) -> float:
        if any(x != x for x in data):
            wait_for_kill()
        return float(rng.integers(2))

    finding = audit(hangs, Pure(1.0), pairs=[([0.0, float("nan")], [0.0])], seconds=1.0)
    assert any("end the process" in note for note in finding.notes)
    assert not finding.audited


def test_an_input_that_nobody_had_time_to_try_is_never_run_where_it_could_hang(
    monkeypatch: pytest.MonkeyPatch, slept: list[float]
) -> None:
    def hangs_late(data: list[float], rng: Any) -> float:
        if data == [99.0]:
            wait_for_kill()
        slept.append(0.001)
        let_pass(0.001)
        return float(rng.integers(2))

    monkeypatch.setattr(attack, "PATIENCE", 0.02)
    pairs: list[tuple[Any, Any]] = [([float(k)], []) for k in range(100)]
    finding = audit(hangs_late, Pure(1.0), pairs=pairs, seconds=0.5)
    assert "200 inputs" in finding.notes[0]
    assert finding.evidence is None


def test_audit_is_repeatable_given_its_seed() -> None:
    def few(data: list[float], rng: Any) -> float:
        return float(len(data)) + float(rng.integers(0, 2))

    one, two = (audit(few, Pure(1.0), pairs=[([1.0], [])], seconds=5, seed=4) for _ in range(2))
    assert one.evidence is not None
    assert two.evidence is not None
    assert (one.evidence.words, one.evidence.relation) == (two.evidence.words, two.evidence.relation)
