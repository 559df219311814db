"""Prices of potentials in blocks: the recursion against the matrix that it inverts, and what neighbors are."""

from __future__ import annotations

import numpy as np
import pytest

from sfumato.mechanisms.synthetic.marginals.smoothness import Blocks, beside, neighbors, pull


def _random_blocks(chance: np.random.Generator, cells: int, steps: int) -> list[Blocks]:
    found = []
    for _ in range(steps):
        owner = np.sort(chance.integers(0, max(1, cells // 2), cells))
        owner = np.unique(owner, return_inverse=True)[1].astype(np.int64)
        cells = int(owner.max()) + 1
        found.append(Blocks(owner, chance.uniform(0.0, 3.0, cells) * (chance.random(cells) < 0.8)))
    return found


def _covariance(price: np.ndarray, blocks: list[Blocks]) -> np.ndarray:
    """The matrix C, written out."""
    whole, onto = np.diag(1 / price), np.eye(len(price))
    for step in blocks:
        onto = onto @ (step.owner[:, np.newaxis] == np.arange(len(step.freedom))).astype(float)
        whole = whole + onto @ np.diag(step.freedom) @ onto.T
    return whole


@pytest.mark.parametrize("seed", range(30))
def test_pull_solves_the_matrix_of_all_blocks(seed):
    chance = np.random.default_rng(seed)
    cells, steps = int(chance.integers(1, 40)), int(chance.integers(0, 4))
    price, part = np.exp(chance.normal(0, 3, cells)), chance.normal(size=cells)
    blocks = _random_blocks(chance, cells, steps)
    np.testing.assert_allclose(_covariance(price, blocks) @ pull(price, blocks, part), part, rtol=1e-6, atol=1e-8)


def test_neighbors_that_depart_together_pay_less_than_those_that_alternate():
    price, blocks = np.ones(4), [Blocks(np.array([0, 0, 1, 1]), np.full(2, 10.0))]
    together, apart = np.array([1.0, 1.0, 0.0, 0.0]), np.array([1.0, -1.0, 0.0, 0.0])
    assert together @ pull(price, blocks, together) == pytest.approx(2 / 21)
    assert apart @ pull(price, blocks, apart) == pytest.approx(2.0)


def test_cells_that_cost_nothing_stay_free():
    price, blocks = np.zeros(4), [Blocks(np.array([0, 0, 1, 1]), np.full(2, 10.0))]
    assert not pull(price, blocks, np.array([1.0, -2.0, 3.0, 4.0])).any()


@pytest.mark.parametrize("seed", range(10))
def test_tables_side_by_side_pay_what_each_pays_alone(seed):
    chance = np.random.default_rng(seed)
    tables = [(cells := int(chance.integers(1, 20)), _random_blocks(chance, cells, k)) for k in (0, 2, 1, 3)]
    prices = [np.exp(chance.normal(size=cells)) for cells, _ in tables]
    parts = [chance.normal(size=cells) for cells, _ in tables]
    alone = [pull(price, held, part) for price, (_, held), part in zip(prices, tables, parts, strict=True)]
    whole = pull(np.concatenate(prices), beside(tables), np.concatenate(parts))
    np.testing.assert_allclose(whole, np.concatenate(alone), rtol=1e-9, atol=1e-12)


def test_neighbors_are_groups_of_numbers_and_no_others():
    numbers = np.arange(32), np.arange(32) // 2, np.arange(32) // 4
    labels = np.arange(3), np.array([0, 0, 1])
    first, second = neighbors([(numbers, 0, True), (labels, 0, False)], 5.0, lambda cells: 1 / cells, 2)
    assert first.owner.reshape(32, 3)[:6, 0].tolist() == [0, 0, 3, 3, 6, 6]
    np.testing.assert_allclose(first.freedom, 48 / (2 * 5.0))
    assert len(second.freedom) == 24
    assert second.owner.max() == 23
    assert neighbors([(labels, 0, False), (labels, 1, False)], 5.0, lambda cells: 1.0, 2) == ()
    assert len(neighbors([(numbers, 1, True), (labels, 0, False)], 5.0, lambda cells: 1.0, 2)) == 1
