"""Tables that noise made disagree are averaged: held to least squares over all cells at once."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.mechanisms.synthetic.marginals.consistency import agreed, remaining
from sfumato.mechanisms.synthetic.marginals.estimation import Measurement, fitted, merging
from sfumato.mechanisms.synthetic.marginals.tree import JunctionTree

FINE, COARSE = np.arange(6), np.array([0, 0, 0, 1, 1, 2])
WHOLE = np.arange(4)


def noisy(seed: int) -> tuple[list[Measurement], float]:
    """Two columns by themselves, and their pair twice: in all cells, and in fewer."""
    chance = np.random.default_rng(seed)
    exact = chance.integers(0, 200, (6, 4)).astype(float)
    merge = merging(COARSE)

    def measured(columns: tuple[int, ...], groups: tuple[np.ndarray, ...], table: np.ndarray) -> Measurement:
        deviation = float(chance.uniform(1, 30))
        return Measurement(columns, groups, table + chance.normal(0, deviation, table.shape), deviation**2)

    return [
        measured((0,), (FINE,), exact.sum(axis=1)),
        measured((1,), (WHOLE,), exact.sum(axis=0)),
        measured((0, 1), (COARSE, WHOLE), merge @ exact),
        measured((0, 1), (FINE, WHOLE), exact),
    ], float(exact.sum())


@settings(max_examples=50, deadline=None)
@given(st.integers(0, 2**32))
def test_tables_agree_on_columns_on_each_other_and_on_the_number_of_rows(seed: int) -> None:
    held, total = noisy(seed)
    rows, columns, coarse, fine = (one.counts for one in agreed(held, total))
    assert fine.sum(axis=1) == pytest.approx(rows, abs=1e-6)
    assert fine.sum(axis=0) == pytest.approx(columns, abs=1e-6)
    assert merging(COARSE) @ fine == pytest.approx(coarse, abs=1e-6)
    assert [rows.sum(), columns.sum()] == pytest.approx([total, total], abs=1e-6)


@settings(max_examples=50, deadline=None)
@given(st.integers(0, 2**32))
def test_what_agrees_already_stays(seed: int) -> None:
    chance = np.random.default_rng(seed)
    exact = chance.integers(0, 200, (6, 4)).astype(float)
    tables = [exact.sum(axis=1), exact.sum(axis=0), merging(COARSE) @ exact, exact]
    held, _ = noisy(seed)
    same = [Measurement(m.columns, m.groups, table, m.variance) for m, table in zip(held, tables, strict=True)]
    for one, table in zip(agreed(same, float(exact.sum())), tables, strict=True):
        assert one.counts == pytest.approx(table, abs=1e-6)


def test_nested_tables_are_averaged_as_least_squares_have_it() -> None:
    """Where columns by themselves say nothing, the pair is that of least squares over all of its cells."""
    held, _ = noisy(7)
    for place in (0, 1):
        held[place] = Measurement(held[place].columns, held[place].groups, held[place].counts, 1e12)
    merge = merging(COARSE)
    rows, wanted = [], []
    for table, matrix in ((held[2], np.kron(merge, np.eye(4))), (held[3], np.eye(24))):
        rows.append(matrix / np.sqrt(table.variance))
        wanted.append(table.counts.ravel() / np.sqrt(table.variance))
    best = np.linalg.lstsq(np.concatenate(rows), np.concatenate(wanted), rcond=None)[0].reshape(6, 4)
    found = agreed(held, float(best.sum()))[3].counts
    assert found == pytest.approx(best, abs=0.02)


def test_averages_are_nearer_and_are_met_in_few_steps() -> None:
    """Over 200 tables: columns' errors fall, and twenty steps of the fit meet what they could not before."""
    before, after = [], []
    for seed in range(200):
        held, total = noisy(seed)
        exact = np.random.default_rng(seed).integers(0, 200, (6, 4)).sum(axis=1)
        before.append(np.abs(held[0].counts - exact).mean())
        after.append(np.abs(agreed(held, total)[0].counts - exact).mean())
    assert np.mean(after) < 0.8 * np.mean(before)
    held, total = noisy(3)
    gaps = []
    for some in (held, agreed(held, total)):
        model, _ = fitted(JunctionTree.of((6, 4)).including((0, 1)), some, total, [], 20)
        merged = merging(some[0].groups[0]) @ model.marginal((0,))
        gaps.append(np.abs(total * merged - some[0].counts).max())
    assert gaps[1] < 0.5 * gaps[0]


@pytest.mark.heavy
def test_what_is_left_of_a_column_s_noise_is_what_its_errors_are() -> None:
    """Over 2000 draws of a pair and its columns; of a column in finer groups than its pair's, less is taken away."""
    chance = np.random.default_rng(5)
    exact, deviations = np.full((6, 4), 500.0), (30.0, 40.0, 9.0)
    off = []
    for _ in range(2000):
        parts = [exact.sum(axis=1), exact.sum(axis=0), exact]
        tables = [part + chance.normal(0, own, part.shape) for part, own in zip(parts, deviations, strict=True)]
        sides = zip([(0,), (1,), (0, 1)], [(FINE,), (WHOLE,), (FINE, WHOLE)], tables, deviations, strict=True)
        held = [Measurement(columns, groups, table, own**2) for columns, groups, table, own in sides]
        off.append([one.counts - part for one, part in zip(agreed(held, exact.sum()), parts, strict=True)][:2])
    found = [np.sqrt(np.mean([np.square(one[place]).mean() for one in off])) for place in (0, 1)]
    own = [deviation * np.sqrt(1 - 1 / size) for deviation, size in zip(deviations, (6, 4), strict=False)]
    left = remaining(held, (6, 4))
    assert np.multiply(own, left) == pytest.approx(found, rel=0.05)
    assert max(left) < 0.6
    finer = remaining(held, (31, 4))
    assert finer[0] ** 2 == pytest.approx(1 - (1 - left[0] ** 2) / 6)
