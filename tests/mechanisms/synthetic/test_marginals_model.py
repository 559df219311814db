"""Junction trees, the model on them, and its fit: post-processing, held to sums over the whole table."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.mechanisms.synthetic.marginals import columns as marginal_columns
from sfumato.mechanisms.synthetic.marginals import rounds, run, sweeps, tables
from sfumato.mechanisms.synthetic.marginals.estimation import Measurement, fitted
from sfumato.mechanisms.synthetic.marginals.generation import _inside, opened, sampled, settled, systematic
from sfumato.mechanisms.synthetic.marginals.levels import _steps, nested, smoothed
from sfumato.mechanisms.synthetic.marginals.model import Model
from sfumato.mechanisms.synthetic.marginals.noise import ConcentratedNoise, PureNoise, Reach
from sfumato.mechanisms.synthetic.marginals.tree import JunctionTree
from sfumato.queries.encoding import Column
from sfumato.randomness import seeded
from sfumato.spaces import Categories, Integers


def growing(draw: st.DrawFn) -> list[JunctionTree]:
    """A tree after each pair that is added to it."""
    sizes = draw(st.lists(st.integers(1, 4), min_size=2, max_size=5))
    couples = list(itertools.combinations(range(len(sizes)), 2))
    trees = [JunctionTree.of(sizes)]
    for pair in draw(st.lists(st.sampled_from(couples), max_size=7)):
        before = trees[-1]
        first, between, largest, last = before.ways()[:, *pair].tolist()
        one, other = (sizes[column] for column in pair)
        after, ahead = (
            (one * (between + last), one * max(largest, last)),
            (other * (first + between), other * max(first, largest)),
        )
        more, bag = min(after, ahead, key=lambda way: way[0])
        trees.append(before.including(pair))
        assert trees[-1].home(pair) is not None
        assert trees[-1].cells <= before.cells + more
        assert trees[-1].largest <= max(before.largest, bag)
    return trees


# laws: true for every tree


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_a_tree_keeps_its_pairs_and_the_bags_of_a_column_together(data: st.DataObject) -> None:
    trees = data.draw(st.composite(growing)())
    for tree in trees:
        for column in range(len(tree.sizes)):
            held = [place for place, bag in enumerate(tree.bags) if column in bag]
            assert sum(tree.parents[place] in held for place in held) == len(held) - 1
    couples = list(itertools.combinations(range(len(trees[0].sizes)), 2))
    pairs = [pair for tree in trees for pair in couples if tree.home(pair) is not None]
    assert all(trees[-1].home(pair) is not None for pair in pairs)


@settings(max_examples=60, deadline=None)
@given(st.data(), st.integers(0, 10**6), st.sampled_from([0, tables.SMALL]), st.sampled_from([0, 1.0]))
def test_marginals_are_those_of_the_whole_table(data: st.DataObject, seed: int, small: int, least: float) -> None:
    """Also the way that large tables are added up, column by column, as products of three, and by energies."""
    tree = data.draw(st.composite(growing)())[-1]
    rng, d = np.random.default_rng(seed), len(tree.sizes)
    inside = [pair for pair in itertools.combinations(range(d), 2) if tree.home(pair) is not None]
    potentials = {key: rng.normal(size=[tree.sizes[c] for c in key]) for key in [*((c,) for c in range(d)), *inside]}
    energy = np.zeros(tree.sizes)
    for key, table in potentials.items():
        energy = energy + table.reshape([tree.sizes[c] if c in key else 1 for c in range(d)])
    whole = np.exp(energy) / np.exp(energy).sum()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tables, "SMALL", small)
        patch.setattr(sweeps, "CALL", 0 if small == 0 else sweeps.CALL)
        patch.setattr(sweeps, "VANISHED", least * 1e300)
        model = Model.calibrated(tree, potentials)
        found = dict(model.pairs())
    assert model.log_sum == pytest.approx(np.log(np.exp(energy).sum()))
    for bag, table in zip(tree.bags, model.beliefs, strict=True):
        np.testing.assert_allclose(table, whole.sum(axis=tuple(c for c in range(d) if c not in bag)), atol=1e-12)
    assert list(found) == list(itertools.combinations(range(d), 2))
    for pair, table in found.items():
        np.testing.assert_allclose(table, whole.sum(axis=tuple(c for c in range(d) if c not in pair)), atol=1e-12)


def test_large_bags_are_not_written_out_for_their_marginals() -> None:
    """Three of five columns are in a message; sums of columns that no table has together are found as well."""
    rng, sizes = np.random.default_rng(3), (8, 9, 7, 6, 5)
    parts = [*itertools.combinations(range(5), 2), (0, 1, 2)]
    tree = JunctionTree(sizes, (tuple(range(5)),), (-1,))
    potentials = {part: rng.normal(size=[sizes[c] for c in part]) for part in parts}
    (belief,) = Model.calibrated(tree, potentials).held
    assert len(belief.made) == 3
    assert sum(table.size for table in belief.made) < tree.cells / 3
    energy = np.zeros(sizes)
    for part, table in potentials.items():
        energy += tables.spread(table, part, tuple(range(5)))
    whole = np.exp(energy) / np.exp(energy).sum()
    for many in range(6):
        for part in itertools.combinations(range(5), many):
            np.testing.assert_allclose(belief.sum(part), tables.margin(whole, tuple(range(5)), part), atol=1e-12)


def test_potentials_whose_weights_vanish_together_are_added_up_first() -> None:
    """Where one is largest the other is nothing: their weights' product is nowhere above e^-1000."""
    tree = JunctionTree.of((2, 2)).including((0, 1))
    potentials = {(0,): np.array([0.0, -2000.0]), (0, 1): np.array([[-2000.0, -2001.0], [0.0, -1.0]])}
    model = Model.calibrated(tree, potentials)
    shares = np.exp([0.0, -1.0]) / np.exp([0.0, -1.0]).sum() / 2
    np.testing.assert_allclose(model.marginal((0, 1)), [shares, shares])
    assert model.log_sum == pytest.approx(-2000 + np.log(2) + np.log(np.exp([0.0, -1.0]).sum()))


def test_the_fit_reaches_consistent_marginals_and_leaves_the_rest_independent() -> None:
    truth = np.array([[30.0, 10.0, 0.0], [5.0, 5.0, 50.0]])
    whole = (np.arange(3), np.arange(2))
    tree = JunctionTree.of((2, 3, 2)).including((0, 1))
    measured = [
        Measurement((0, 1), (whole[1], whole[0]), truth, 1.0),
        Measurement((2,), (whole[1],), np.array([25.0, 75.0]), 1.0),
    ]
    model, _ = fitted(tree, measured, 100.0, (), 2000)
    np.testing.assert_allclose(100 * model.marginal((0, 1)), truth, atol=0.2)
    found = dict(model.pairs())[0, 2]
    np.testing.assert_allclose(100 * found, np.outer(truth.sum(axis=1), [0.25, 0.75]), atol=0.2)


def test_noise_is_weighed_by_its_variance() -> None:
    tree = JunctionTree.of((2,))
    levels = (np.arange(2),)
    measured = [
        Measurement((0,), levels, np.array([60.0, 40.0]), 1.0),
        Measurement((0,), levels, np.array([40.0, 60.0]), 3.0),
    ]
    model, _ = fitted(tree, measured, 100.0, (), 500)
    assert 100 * model.marginal((0,))[0] == pytest.approx(55.0, abs=0.1)


def test_the_last_fit_reaches_its_end_where_cells_are_empty_by_rule() -> None:
    """Of rows that have no value in one column, no other has one; a quarter of the steps leave .002 and more."""
    chance, size, many = np.random.default_rng(0), 8, 50_000
    own, has = (np.arange(size),), chance.random(many) < 0.5
    base = chance.integers(0, size - 1, many)
    rows = np.stack([np.where(has, 1 + (base + chance.integers(0, 3, many)) % (size - 1), 0) for _ in range(5)])
    tree, measured = JunctionTree.of((size,) * 5), []
    for column in range(5):
        counts = np.bincount(rows[column], minlength=size) + chance.normal(0, 20, size)
        measured.append(Measurement((column,), own, counts, 400.0))
    for pair in itertools.combinations(range(5), 2):
        tree = tree.including(pair)
        table = np.bincount(rows[pair[0]] * size + rows[pair[1]], minlength=size**2).reshape(size, size)
        noisy = table + chance.normal(0, 35, table.shape)
        measured.append(Measurement(pair, own * 2, noisy, 35.0**2, run.TIES * size**2 / many))
    first, duals = fitted(tree, measured, many, (), rounds.LAST_STEPS)
    for _ in range(4):
        last, duals = fitted(tree, measured, many, duals, rounds.LAST_STEPS)
    apart = [np.abs(one - other).sum() / 2 for (_, one), (_, other) in zip(first.pairs(), last.pairs(), strict=True)]
    assert np.mean(apart) < 0.001


# smoothing and merging


def test_runs_are_the_best_cut() -> None:
    """Against all 2^6 cuts of seven levels."""
    for seed in range(20):
        counts = np.random.default_rng(seed).normal([50, 50, 50, 0, 0, 20, 20], 10.0)
        best = min(
            (cut_cost(counts, cut, 10.0), cut) for size in range(7) for cut in itertools.combinations(range(1, 7), size)
        )[1]
        assert tuple(1 + np.flatnonzero(np.diff(_steps(counts, 10.0)))) == best


def cut_cost(counts: np.ndarray, cut: tuple[int, ...], sigma: float) -> float:
    bounds = [0, *cut, len(counts)]
    errors = sum(float(((counts[a:b] - counts[a:b].mean()) ** 2).sum()) for a, b in itertools.pairwise(bounds))
    return errors + sigma**2 * math.log(len(counts)) * (len(bounds) - 1)


@pytest.mark.parametrize("laplace", [False, True])
def test_noise_at_far_bounds_is_empty_and_incomes_keep_their_mean(laplace: bool) -> None:
    """Log-normal incomes in 0 to 10^8 at a deviation of 10 rows, ten times; a row of noise near 10^8 adds a fifth."""
    column, chance = Column.of("income", Integers(0, 10**8, missing=0)), np.random.default_rng(6)
    errors = []
    for _ in range(10):
        real = np.exp(chance.normal(9.6, 1.0, 20_000)).astype(np.int64)
        noise = chance.laplace(0, 10 / math.sqrt(2), 256) if laplace else chance.normal(0, 10, 256)
        counts = np.bincount(column.levels(real), minlength=256) + noise.round()
        held = smoothed(counts, 10.0, column, 20_000.0, PureNoise.tails if laplace else ConcentratedNoise.tails)
        made = opened(np.zeros(20_000, dtype=np.int64), held, np.zeros(256, dtype=np.int64), column, chance)
        errors.append([made.mean() / real.mean() - 1, np.median(made) / np.median(real) - 1])
    assert np.abs(np.median(errors, axis=0)).max() < 0.1


def test_what_the_rows_are_missed_without_is_given_back() -> None:
    """A hundred rows under noise of twenty: no run shows, and the table is not thrown on the strongest."""
    column, counts = Column.of("x", Integers(0, 9, missing=0)), np.array([30.0, -5, 12, 9, 40, 3, -20, 15, 22, 8])
    held = smoothed(counts, 20.0, column, 100.0)
    assert held.sum() == pytest.approx(100)
    assert (held > 0).sum() > 5


@pytest.mark.parametrize("counts", [[-5.0, -1.0, -2.0, -9.0], [0.0, 0.0, 0.0, 0.0], [3.0, 1e9, -1e9, 2.0]])
def test_smoothed_counts_are_a_distribution(counts: list[float]) -> None:
    for space in (Integers(0, 2), Categories(("a", "b", "c"))):
        held = smoothed(np.array(counts), 1.0, Column.of("x", space), 10.0)
        assert (held >= 0).all()
        assert held.sum() == pytest.approx(10.0)


@settings(max_examples=40, deadline=None)
@given(st.lists(st.floats(0, 100), min_size=2, max_size=40), st.booleans())
def test_groups_are_nested_and_as_few_as_asked(mass: list[float], ordered: bool) -> None:
    values = len(mass) - 1
    space = Integers(0, max(1, values - 1)) if ordered else Categories(tuple(range(max(2, values))))
    column = Column.of("x", space)
    held = np.resize(np.array(mass), column.size)
    chain = nested(held, column, (16, 8, 4, 2))
    for finer, coarser in itertools.pairwise(chain):
        assert coarser.max() < finer.max()
        assert all(len(set(coarser[finer == group])) == 1 for group in range(finer.max() + 1))
        if ordered:
            assert (np.diff(coarser[: column.valued]) >= 0).all()
    assert chain[0].max() < 16


def test_groups_end_where_the_bars_of_a_histogram_do() -> None:
    """Ages that lie in few bars split them, ages in all bars are these, and a long thin tail does not take them all."""
    column = Column.of("age", Integers(0, 255, missing=0))
    bars, chance = column.bars(), np.random.default_rng(8)
    ages = chance.uniform(0.5, 1.5, 256)
    np.testing.assert_array_equal(nested(ages, column, (32, 16))[0], bars)
    few = np.where((bars > 4) & (bars < 12), ages, 0.0)
    groups = nested(few, column, (32, 16))[0]
    held = [set(bars[(groups == group) & (few > 0)].tolist()) for group in range(32)]
    assert [len(some) for some in held] == [1] * 32
    tail = np.where(bars < 4, ages, 1e-3 * ages)
    groups = nested(tail, column, (32,))[0]
    assert len(set(groups[bars < 4].tolist())) >= 24


# rows


def test_sums_over_many_small_parts_are_met_too() -> None:
    """Ten thousand parts of a few rows each, split in two: offsets by themselves would miss by about 25."""
    chance = np.random.default_rng(4)
    weights = chance.dirichlet([0.5, 0.5], 10_000)
    given_ = chance.integers(0, 10_000, 20_000)
    missed = [(systematic(weights, given_, chance) - weights[given_, 1]).sum() for _ in range(20)]
    assert np.sqrt(np.mean(np.square(missed))) < 12


@settings(max_examples=50, deadline=None)
@given(st.integers(0, 2**32), st.integers(1, 300))
def test_settled_rows_have_every_column_s_counts_and_no_more_are_moved_than_must(seed: int, count: int) -> None:
    chance = np.random.default_rng(seed)
    rows = np.stack([chance.integers(0, size, count) for size in (2, 5, 1)], axis=1)
    counts = [chance.normal(100, 80, 2), chance.normal(100, 80, 5), np.array([7.0])]
    counts = [np.append(np.abs(held[:1]) + 1, held[1:]) for held in counts]
    found = settled(rows.copy(), counts, chance)
    for place, held in enumerate(counts):
        wanted = count * np.maximum(held, 0) / np.maximum(held, 0).sum()
        before, after = (np.bincount(side[:, place], minlength=len(held)) for side in (rows, found))
        assert np.abs(after - wanted).max() <= 1
        assert (found[:, place] != rows[:, place]).sum() == np.maximum(before - after, 0).sum()


def test_systematic_sampling_meets_every_share_to_within_one_row() -> None:
    chance = np.random.default_rng(5)
    weights = chance.random((3, 7)) ** 4
    given_ = chance.integers(0, 3, 5000)
    found = systematic(weights, given_, chance)
    for row in range(3):
        counts = np.bincount(found[given_ == row], minlength=7)
        due = weights[row] / weights[row].sum() * (given_ == row).sum()
        assert (np.abs(counts - due) < 1 + 1e-9).all()


def test_rows_follow_the_model() -> None:
    tree = JunctionTree.of((2, 3, 4)).including((0, 1)).including((1, 2))
    rng = np.random.default_rng(2)
    model = Model.calibrated(tree, {(0, 1): rng.normal(size=(2, 3)), (1, 2): rng.normal(size=(3, 4))})
    rows = sampled(model, 20_000, np.random.default_rng(3))
    for (one, other), table in model.pairs():
        found = np.zeros(table.shape)
        np.add.at(found, (rows[:, one], rows[:, other]), 1)
        # pairs in a bag are met to within a few rows; the others vary like a sample, at most sqrt(cells / rows)
        limit = 0.001 if tree.home((one, other)) is not None else 0.02
        assert np.abs(found / 20_000 - table).sum() / 2 < limit


def test_values_fill_their_cells() -> None:
    column = Column.of("pay", Integers(0, 10_001, missing=0))
    owner = np.zeros(column.size, dtype=np.int64)
    levels = column.widths().astype(np.float64)
    made = opened(np.zeros(100_000, dtype=np.int64), levels, owner, column, np.random.default_rng(1))
    assert made.min() >= 0
    assert made.max() <= 10_001
    np.testing.assert_array_equal(np.bincount(column.levels(made)) > 0, True)
    assert np.unique(made).size > 9_900  # of 10,002 values, each drawn about ten times


def test_values_lean_to_the_denser_neighbor() -> None:
    """At densities 1, 2, 3 the middle cell has slope 1/2 and its mean at 1/2 + 1/24; 5 standard errors are 0.0033."""
    places = _inside(np.array([1.0, 2.0, 3.0]), np.ones(200_000, dtype=np.int64), np.random.default_rng(4))
    assert places.mean() == pytest.approx(0.5 + 1 / 24, abs=0.0033)
    flat = _inside(np.array([2.0, 1.0, 3.0]), np.ones(200_000, dtype=np.int64), np.random.default_rng(4))
    assert flat.mean() == pytest.approx(0.5, abs=0.0033)


def test_missing_values_that_noise_hides_count_as_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    """They are taken for none in the model of a column, and yet the number of rows is not biased by that."""
    monkeypatch.setattr(marginal_columns, "noisy", lambda counts, law, rng: counts)
    columns = [Column.of(name, Integers(0, 99)) for name in "ab"]
    exact = [np.append(np.full(100, 9), 30)] * 2
    noise = ConcentratedNoise(Reach(1, both=False))
    measured = marginal_columns.measured(exact, columns, noise, Fraction(1, 1000), 930.0, seeded(1))
    assert measured[0].levels[-1] == 0
    held = marginal_columns.Columns(measured, None, None)
    assert held.total()[0] == pytest.approx(930)
    held.again(measured)
    assert held.total()[0] == pytest.approx(930)
