"""Synthetic tables of persons: what a person moves, what is drawn given what, and whose the rows are."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import sfumato as sf
from losses import LOSSES
from sfumato.errors import UnsupportedQuery
from sfumato.mechanisms.synthetic.marginals.counting import WEIGHT, pair_counts, single_counts
from sfumato.mechanisms.synthetic.marginals.generation import sampled
from sfumato.mechanisms.synthetic.marginals.model import Model
from sfumato.mechanisms.synthetic.marginals.tree import JunctionTree
from sfumato.mechanisms.synthetic.persons.mechanism import MOST_OF_A_PERSON, PersonSynthesis
from sfumato.mechanisms.synthetic.persons.repeats import UNITS, agreements
from sfumato.mechanisms.synthetic.persons.walk import walked
from sfumato.mechanisms.synthetic.persons.weighing import number_of_rows, parts_of_a_person, weighed
from sfumato.queries import bind
from sfumato.queries.encoding import Column
from sfumato.queries.view import SecretView
from sfumato.randomness import seeded

COLUMNS = {"sex": sf.Categories(["f", "m"]), "x": sf.Integers(0, 9), "shop": sf.Categories(["n", "s", "w"])}


def table_of(persons: list[list[tuple[Any, ...]]], most: int, **more: Any) -> Any:
    """A table of these persons' rows."""
    rows = [(f"p{place}", *row) for place, held in enumerate(persons) for row in held]
    names, kinds = ("id", *COLUMNS), (pa.string(), pa.string(), pa.float64(), pa.string())
    held = {name: pa.array([row[i] for row in rows], kinds[i]) for i, name in enumerate(names)}
    return sf.read(pa.table(held), schema=sf.Schema(COLUMNS, unit=sf.Person("id", most), dataset="visits", **more))


def random_person(rng: np.random.Generator, most: int) -> list[tuple[Any, ...]]:
    """Up to a row too many, some hostile."""
    values = [0.0, 3.0, 9.0, None, float("nan"), 1e9]
    return [
        (str(rng.choice(["f", "m", "?"])), values[rng.integers(len(values))], [None, "n", "w"][rng.integers(3)])
        for _ in range(rng.integers(0, most + 2))
    ]


@pytest.mark.parametrize("seed", range(2))
def test_no_person_costs_more_than_is_claimed(seed: int) -> None:
    rng = np.random.default_rng(seed)
    most, adjacency = int(rng.integers(1, 5)), [sf.AddRemove(), sf.Replace()][seed % 2]
    persons = [random_person(rng, most) for _ in range(5)]
    schema = {"adjacency": adjacency, "size": 5}
    here = table_of(persons, most, **schema)
    question = bind(sf.synthetic(rows=4, person=["sex"][: seed % 3]), here.schema)
    for target in (sf.Pure(1.0), sf.Concentrated(0.5)):
        mechanism = PersonSynthesis.calibrate(question, target)
        other = table_of([*persons[:4], random_person(rng, most) if seed % 2 else []], most, **schema)
        cost, claim = LOSSES[PersonSynthesis](mechanism, mechanism.take(here), mechanism.take(other))
        assert cost <= claim * (1 + 1e-9)


def test_a_person_whose_rows_all_count_in_full_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sfumato.mechanisms.synthetic.persons.mechanism.weighed", in_full)
    persons = [[("f", 1.0, "n")] * 4, [("m", 2.0, "w")], [("m", 5.0, "s")]]
    here, other = table_of(persons, 4), table_of(persons[1:], 4)
    mechanism = PersonSynthesis.calibrate(bind(sf.synthetic(rows=4, person=[]), here.schema), sf.Pure(1.0))
    cost, claim = LOSSES[PersonSynthesis](mechanism, mechanism.take(here), mechanism.take(other))
    assert cost > 1.5 * claim


def in_full(view: SecretView, parts: int, number: Column) -> Any:
    """Rows that weigh a person each."""

    def read() -> Any:
        for batch in weighed(view, parts, number)():
            yield {**batch, WEIGHT: np.full(len(batch["x"]), parts)}

    return read


@pytest.mark.parametrize("most", [1, 3, 7, 12, 130])
def test_a_person_weighs_as_much_as_any_other(most: int) -> None:
    parts = parts_of_a_person(most)
    for rows in range(1, most + 1):
        assert 0.97 * parts < rows * (parts // rows) <= parts
    assert number_of_rows(most).points == max(2, most)


@pytest.mark.parametrize("seed", range(3))
def test_weighed_counts_are_those_of_repeated_rows(seed: int) -> None:
    rng = np.random.default_rng(seed)
    columns = [Column.of(f"c{place}", sf.Integers(0, 3 + place)) for place in range(4)]
    batch = {column.name: rng.integers(-1, column.points, 50) for column in columns}
    weights = rng.integers(0, 9, 50)
    repeated = {name: np.repeat(held, weights) for name, held in batch.items()}
    owners = [np.arange(column.size) for column in columns]
    expected = pair_counts(lambda: [repeated], columns, owners)
    for wanted in (None, [(0, 1)]):  # by products of flags, and one by one
        found = pair_counts(lambda: [{**batch, WEIGHT: weights}], columns, owners, wanted)
        assert all((held == expected[pair]).all() for pair, held in found.items())
    singles = (single_counts(lambda rows=rows: [rows], columns) for rows in ({**batch, WEIGHT: weights}, repeated))
    assert all((one == other).all() for one, other in zip(*singles, strict=True))


def test_the_rows_of_a_person_come_together_from_an_engine() -> None:
    rng = np.random.default_rng(5)
    whose = rng.permutation(np.repeat(np.arange(9000), rng.integers(1, 5, 9000)))  # several batches
    x = whose % 10
    schema = sf.Schema({"x": sf.Integers(0, 9)}, unit=sf.Person("id", 3), dataset="many")
    held = pa.table({"id": pa.array(whose), "x": pa.array(x)})
    view = bind(sf.synthetic(person=[]), schema).answer(sf.read(held, schema=schema))
    seen: list[int] = []
    total = 0
    for persons, batch in view.persons():
        assert (np.diff(persons) >= 0).all()
        assert (batch["x"] == np.unique(whose)[persons] % 10).all()
        seen += np.unique(persons).tolist()
        total += len(persons)
    assert seen == list(range(len(np.unique(whose))))  # none is in two batches
    assert total == np.minimum(np.bincount(whose), 3).sum()


def test_agreements_count_pairs_of_rows() -> None:
    rng = np.random.default_rng(3)
    column, owner = Column.of("x", sf.Integers(0, 5)), np.array([0, 0, 1, 1, 2, 2, 3])
    persons = np.sort(rng.integers(0, 20, 60))
    x = rng.integers(-1, 6, 60)
    expected = 0
    for person in range(20):
        groups = owner[column.levels(x[persons == person])]
        pairs = [(a, b) for i, a in enumerate(groups) for j, b in enumerate(groups) if i != j]
        expected += UNITS * sum(a == b for a, b in pairs) // len(pairs) if pairs else 0
    assert agreements([(persons, {"x": x})], [column], [owner])[0].tolist() == [expected]


def model_of(rng: np.random.Generator) -> Model:
    """A model of four columns in a chain."""
    tree = JunctionTree.of((2, 4, 3, 3)).including((0, 1)).including((1, 2)).including((2, 3))
    potentials = {pair: rng.normal(0, 1.2, [tree.sizes[c] for c in pair]) for pair in ((0, 1), (1, 2), (2, 3))}
    return Model.calibrated(tree, potentials)


@pytest.mark.parametrize("seed", range(2))
def test_a_walk_keeps_the_law_of_rows_and_what_is_kept(seed: int) -> None:
    rng = np.random.default_rng(seed)
    model = model_of(rng)
    rows = sampled(model, 40_000, rng)
    kept = rng.random(rows.shape) < np.array([1.0, 0.3, 0.6, 0.0])
    found = walked(model, rows, kept, rng)
    assert (found[:, 0] == rows[:, 0]).all()
    assert (found != rows).any(axis=0).tolist() == [False, True, True, True]
    for pair, expected in model.pairs():
        counts = np.zeros(expected.shape)
        np.add.at(counts, (found[:, pair[0]], found[:, pair[1]]), 1 / len(found))
        assert 0.5 * np.abs(counts - expected).sum() < 0.02


def test_rows_of_a_person_share_what_is_declared_and_agree_as_often_as_was_measured() -> None:
    rng = np.random.default_rng(1)
    persons = []
    for _ in range(3000):
        sex, home = "fm"[rng.integers(2)], "nsw"[rng.integers(3)]
        rows = 1 + min(3, int(rng.geometric(0.5)) - 1)
        shops = [home if rng.random() < 0.9 else "nsw"[rng.integers(3)] for _ in range(rows)]
        persons.append([(sex, float(rng.integers(10)), shop) for shop in shops])
    table = table_of(persons, 12)  # a limit far above what persons have
    mechanism = PersonSynthesis.calibrate(bind(sf.synthetic(person=["sex"]), table.schema), sf.Concentrated(5.0))
    made = mechanism.release(mechanism.take(table), seeded(1))
    held = [np.unique(made.persons, return_counts=True)[1], np.array([len(rows) for rows in persons])]
    shares = [np.bincount(one, minlength=13) / len(one) for one in held]
    assert np.abs(shares[0] - shares[1]).sum() < 0.06
    columns = mechanism.columns
    owners = [np.arange(column.size) for column in columns]
    found, several = agreements([(made.persons, made.rows)], columns, owners)
    sex, x, shop = found / (UNITS * several)
    assert sex == 1
    assert abs(x - 0.1) < 0.05
    exact = np.mean([np.mean([a[2] == b[2] for i, a in enumerate(rows) for j, b in enumerate(rows) if i != j])
                     for rows in persons if len(rows) > 1])  # fmt: skip
    assert abs(shop - exact) < 0.06


def test_so_many_rows_of_a_person_that_weights_would_overflow_are_refused() -> None:
    for most in (MOST_OF_A_PERSON, 10**12):
        question = bind(sf.synthetic(person=[]), sf.Schema(COLUMNS, unit=sf.Person("id", most), size=100))
        if most == MOST_OF_A_PERSON:
            PersonSynthesis.calibrate(question, sf.Concentrated(0.5))
            assert parts_of_a_person(most) * 10**9 < 2**53
        else:
            with pytest.raises(UnsupportedQuery, match="at most 100,000 rows of a person"):
                PersonSynthesis.calibrate(question, sf.Concentrated(0.5))
