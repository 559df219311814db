"""Counts of columns and of pairs: pair by pair or as products of flags, they are those of plain Python."""

import math
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest

import sfumato as sf
from sfumato.mechanisms.synthetic.marginals import counting
from sfumato.mechanisms.synthetic.marginals.budget import FEW, counted, finest
from sfumato.mechanisms.synthetic.marginals.columns import Columns, Counted, measured
from sfumato.mechanisms.synthetic.marginals.levels import coarsened
from sfumato.mechanisms.synthetic.marginals.noise import ConcentratedNoise, PureNoise, Reach
from sfumato.mechanisms.synthetic.marginals.rounds import synthesized
from sfumato.queries.encoding import Column
from sfumato.randomness import seeded

SPACES = [
    sf.Integers(0, 9),
    sf.Interval(0, 1000, step=0.5),
    sf.Categories(["a", "b", "c"]),
    sf.Integers(0, 3, missing=0),
]


@pytest.mark.parametrize("seed", range(6))
def test_both_ways_of_counting_pairs_count_alike(seed, monkeypatch):
    draw = np.random.default_rng(seed)
    columns = [Column.of(f"c{k}", SPACES[draw.integers(len(SPACES))]) for k in range(draw.integers(2, 7))]
    lengths = draw.integers(0, 60, size=3)
    batches = [{column.name: draw.integers(-1, column.points, size=length) for column in columns} for length in lengths]
    for column in columns:  # whatever index comes in, a level is found
        batches[0][column.name][:6] = [-(2**63), -7, column.points - 1, column.points, 2**40, 2**63 - 1][: lengths[0]]
    owners = [draw.integers(0, 1 + draw.integers(5), size=column.size) for column in columns]
    monkeypatch.setattr(counting, "FLAGS", int(draw.integers(1, 400)))  # a few rows at a time
    monkeypatch.setattr(counting, "BLOCK", int(draw.integers(1, 9)))
    monkeypatch.setattr(counting, "LOOKED_UP", (0, 50, 1 << 16)[seed % 3])
    found = {}
    for dense in (0, 10**9):
        monkeypatch.setattr(counting, "DENSE", dense)
        found[dense] = counting.pair_counts(lambda: batches, columns, owners)
    levels = [np.concatenate([column.levels(batch[column.name]) for batch in batches]) for column in columns]
    groups = [owner[held] for owner, held in zip(owners, levels, strict=True)]
    for one, other in found[0]:
        plain = Counter(zip(groups[one].tolist(), groups[other].tolist(), strict=True))
        for tables in found.values():
            assert tables[one, other].sum() == lengths.sum()
            assert all(tables[one, other][cell] == count for cell, count in plain.items())
    assert len(found[0]) == len(found[10**9]) == len(columns) * (len(columns) - 1) // 2
    singles = counting.single_counts(lambda: batches, columns)
    assert all((held == np.bincount(own, minlength=len(held))).all() for held, own in zip(singles, levels, strict=True))


@pytest.mark.parametrize("seed", range(8))
def test_merged_levels_are_neighbors_and_zero_the_ends_and_missing_values_stay_alone(seed):
    draw = np.random.default_rng(seed)
    low, high = sorted(draw.integers(-10_000, 10_000, size=2).tolist())
    column = Column.of("c", sf.Integers(low, high + 300, missing=low if seed % 2 else None))
    groups = coarsened(column, int(draw.integers(2, 60)))
    assert len(groups) == column.size
    assert set(np.diff(groups).tolist()) <= {0, 1}
    alone = [0, column.valued - 1, column.size - 1, *column.levels(column.zero).tolist()]
    assert all(np.bincount(groups)[groups[place]] == 1 for place in alone)
    assert (coarsened(column, column.valued) == np.arange(column.size)).all()


def test_a_hundred_rows_tell_where_a_number_lies_and_many_are_counted_level_by_level():
    columns = [Column.of(name, sf.Integers(0, 10_000)) for name in "abcde"]
    draw = np.random.default_rng(2)
    noise = ConcentratedNoise(Reach(1, both=False))
    assert finest(noise, Fraction(1, 30), columns, 1e5) == [column.size for column in columns]
    assert FEW <= max(finest(noise, Fraction(1, 30), columns, 100.0)) < 2 * FEW
    off = []
    for seed in range(5):
        held = {column.name: np.clip(draw.normal(2000, 500, 100), 0, 10_000).astype(np.int64) for column in columns}
        made = synthesized(lambda held=held: [held], columns, noise, Fraction(1, 30), 100, lambda _: 100, seeded(seed))
        off += [abs(made.rows[name].mean() - held[name].mean()) for name in held]
    assert np.mean(off) < 1600  # half of what rows spread over all values would be off by


def test_a_number_with_many_levels_is_counted_in_bars_too_and_both_agree():
    """A bar of eight levels has less than a third of the noise that they have together."""
    columns = [
        Column.of("x", sf.Integers(0, 255)),
        Column.of("y", sf.Integers(0, 60)),
        Column.of("z", sf.Integers(0, 1)),
    ]
    noise, amount = ConcentratedNoise(Reach(1, both=False)), Fraction(1, 30)
    plans = counted(noise, amount, columns, 1e6)
    scales = [scale for plan in plans for scale in (plan.scale, plan.bars) if scale is not None]
    assert len(scales) == 4
    assert Fraction(99, 100) * amount <= noise.cost(scales) <= amount
    assert all(plan.bars is None for plan in counted(PureNoise(noise.reach), amount, columns, 1e6))
    exact = [np.full(column.size, 4000, dtype=np.int64) for column in columns]
    owner, off, said = columns[0].bars(), [], None
    for seed in range(60):
        held = measured(exact, columns, noise, amount, 1e6, seeded(seed))
        found, said = held[0].joined(columns[0]), held[0].noise(columns[0], owner)
        off.append(np.bincount(owner, weights=found - exact[0])[:-1])
    spread = np.var(np.array(off), axis=0).mean()  # of 60 x 32 values: known to a thirtieth
    assert spread == pytest.approx(said[:-1].mean(), rel=0.15)
    assert spread < 0.3 * 8 * noise.law(plans[0].scale).variance


def test_columns_told_twice_are_averaged_by_their_precision():
    one = Counted(np.array([10.0, 20.0]), 1.0, 30.0, np.array([31.0]), 4.0)
    both = one.again(Counted(np.array([14.0, 24.0]), 3.0, 38.0, np.array([39.0]), 4.0))
    assert both.levels.tolist() == [11.0, 21.0]
    assert (both.variance, both.total, both.bars.tolist(), both.spread) == (0.75, 32.0, [35.0], 2.0)
    rows, error = Columns([both], None, None).total()
    assert rows == pytest.approx((32 / 1.5 + 35 / 2) / (1 / 1.5 + 1 / 2))
    assert error == pytest.approx((1 / 1.5 + 1 / 2) ** -0.5)


@pytest.mark.parametrize("first", [True, False])
def test_bars_that_only_one_measurement_has_are_kept(first):
    """Whether bars are counted follows the amount, so a second look may have them or not."""
    with_bars = Counted(np.array([10.0, 20.0]), 1.0, 30.0, np.array([31.0]), 4.0)
    without = Counted(np.array([14.0, 24.0]), 3.0, 38.0, np.zeros(0), math.inf)
    both = with_bars.again(without) if first else without.again(with_bars)
    assert (both.bars.tolist(), both.spread) == ([31.0], 4.0)
    assert both.levels.tolist() == [11.0, 21.0]
    assert both.total == 32.0
