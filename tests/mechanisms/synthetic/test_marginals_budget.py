"""Who gets how much of a budget, and which pairs have room or are worth it: by public numbers alone."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato.mechanisms.synthetic.marginals import room as rooms
from sfumato.mechanisms.synthetic.marginals.budget import FEW_COLUMNS, MOST_TOTAL, Split
from sfumato.mechanisms.synthetic.marginals.mechanism import MarginalSynthesis
from sfumato.mechanisms.synthetic.marginals.noise import ConcentratedNoise, Noise, NormalNoise, PureNoise, Reach
from sfumato.mechanisms.synthetic.marginals.room import Room, regrouped
from sfumato.mechanisms.synthetic.marginals.selection import Scores, candidates, picks
from sfumato.queries import bind
from sfumato.queries.encoding import Column
from sfumato.randomness import seeded
from sfumato.spaces import Categories, Integers

NOISES: list[Noise] = [kind(Reach(1, both=False)) for kind in (ConcentratedNoise, NormalNoise, PureNoise)]


def columns(sizes: list[int]) -> list[Column]:
    return [Column.of(f"c{place}", Integers(0, size - 1)) for place, size in enumerate(sizes)]


def chains(sizes: list[int]) -> list[tuple[np.ndarray, ...]]:
    """Each column in halves of halves, the finest first."""
    return [tuple(np.arange(size) // 2**step for step in range(max(1, math.ceil(math.log2(size))))) for size in sizes]


# laws of the split


@settings(max_examples=80, deadline=None)
@given(
    st.lists(st.integers(2, 300), min_size=1, max_size=12),
    st.floats(1e-4, 10.0),
    st.floats(1.0, 1e9),
    st.sampled_from(NOISES),
)
def test_shares_are_shares_and_more_rows_leave_more_to_pairs(
    sizes: list[int], amount: float, total: float, noise: Noise
) -> None:
    held = columns(sizes)
    here, there = (Split.of(noise, Fraction(amount), held, rows) for rows in (total, 4 * total))
    for split in (here, there):
        assert 0 < split.singles <= 1
        assert (split.singles < 1) == (split.pairs > 0)
        assert split.pairs <= len(sizes) * (len(sizes) - 1) // 2
        assert not split.all or (len(sizes) <= FEW_COLUMNS and split.pairs > 0)
    assert there.singles <= here.singles
    assert there.all >= here.all


@pytest.mark.parametrize("noise", NOISES)
def test_all_pairs_of_few_columns_are_measured_where_rows_are_many_and_none_where_they_are_few(noise: Noise) -> None:
    held, amount = columns([30, 2, 16]), Fraction(1, 20) if noise.apart else Fraction(1)
    assert Split.of(noise, amount, held, 1e6).all
    assert not Split.of(noise, amount, columns([30, 2, 16] * 4), 1e6).all
    assert Split.of(noise, amount, held, 3.0) == Split(Fraction(1), 0)
    assert Split.of(noise, amount, held, 2 * MOST_TOTAL) == Split(Fraction(1), 0)


# laws of the room


def test_one_bag_has_room_for_few_columns_of_few_levels() -> None:
    assert Room(chains([32, 2, 16, 32, 5])).together
    assert not Room(chains([32, 32, 32, 32])).together


@settings(max_examples=40, deadline=None)
@given(st.lists(st.integers(2, 12), min_size=2, max_size=5), st.integers(8, 400), st.integers(0, 2**32))
def test_what_fits_is_what_a_larger_tree_has_room_for(sizes: list[int], most: int, seed: int) -> None:
    """By brute force: each candidate that is offered is put into the tree, whatever was measured before."""
    chance = np.random.default_rng(seed)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(rooms, "LARGEST_BAG", most)
        patch.setattr(rooms, "LARGEST_TREE", 2 * most)
        room = Room(chains(sizes))
        offered, tree = [(one.pair, one.fineness) for one in candidates(room.chains)], room.empty()
        for _ in range(3):
            fits = room.fitting(tree, np.array(offered).reshape(-1, 4)).tolist()
            trees = {place: room.including(tree, *offered[place]) for place in range(len(offered))}
            small = {place for place, one in trees.items() if one.cells <= 2 * most and one.largest <= most}
            assert set(fits) <= small
            for place in small - set(fits):  # only bags that melt into others would have made room for it
                finer = replace(tree, sizes=trees[place].sizes)
                assert finer.cells + trees[place].cells > 2 * most or finer.largest > most
            if not fits:
                break
            tree = trees[int(chance.choice(fits))]


def test_groups_at_one_place_lie_in_those_at_a_coarser_one() -> None:
    chain = chains([13])[0]
    assert (regrouped(chain, 1, 2)[chain[1]] == chain[2]).all()


# the choice of none


def test_none_is_chosen_where_no_pair_scores_and_seldom_where_one_does() -> None:
    """The score of none lies half a logarithm of the candidates above nothing, over the rate: exact chances follow."""
    spaces = [Column.of(name, Categories(("x", "y"), other="y", missing="y")) for name in "abc"]
    room = Room([(np.arange(one.size),) for one in spaces])
    offered, rate = candidates(room.chains), 0.01
    for best, least, most in ((-(10**4), 1.0, 1.0), (0, 0.27, 0.53), (2000, 0.0, 1e-6)):
        values = np.full(len(offered), -(10**4), dtype=np.int64)
        values[: 3 if best == 0 else 1] = best
        scores, empty = Scores(offered, values), 0
        for seed in range(400):
            chosen, _, choices = picks(scores, room.empty(), room, 1, rate, seeded(seed))
            assert choices == 1  # paid for whether or not a pair was chosen
            empty += not chosen
        assert least <= empty / 400 <= most


def test_candidates_of_one_pair_are_chosen_once_in_a_round() -> None:
    room = Room(chains([8, 8, 2]))
    offered = candidates(room.chains)
    scores = Scores(offered, np.full(len(offered), 10**6, dtype=np.int64))
    chosen, tree, choices = picks(scores, room.empty(), room, 9, 1.0, seeded(5))
    assert len({one.pair for one in chosen}) == len(chosen) == choices == 3
    assert all(tree.home(one.pair) is not None for one in chosen)


@pytest.mark.parametrize(("known", "spend", "rows", "made"), [
    ({}, 1e-6, None, 10_000), ({"size": 300}, 1e-6, None, 300), ({}, 1e-6, 50, 50), ({}, 1.0, None, 5_000_000),
    ({"size": 300}, 1.0, None, 5_000_000), ({"size": 300, "adjacency": sf.Replace()}, 1e-6, None, 300),
])  # fmt: skip
def test_a_number_of_rows_that_is_mostly_noise_makes_no_more_rows_than_are_supposed(known, spend, rows, made):
    schema = sf.Schema({"x": sf.Integers(0, 9), "y": sf.Integers(0, 9)}, **{"adjacency": sf.AddRemove(), **known})
    mechanism = MarginalSynthesis.calibrate(bind(sf.synthetic(rows=rows), schema), sf.Pure(spend))
    assert mechanism.made(5_000_000.0) == made


# far bounds


@pytest.mark.parametrize("step", [1, 10_000])
@pytest.mark.parametrize("target", [sf.Pure(1.0), sf.Concentrated(0.02)])
def test_noise_on_pairs_puts_no_rows_at_far_bounds(step: int, target: sf.Pure | sf.Concentrated) -> None:
    """Incomes in 0 to 10^8 beside a category; with a coarse step few levels hold rows, and no group may be empty."""
    chance = np.random.default_rng(8)
    income = np.exp(chance.normal(10, 1, 20_000)) * (chance.random(20_000) > 0.35)
    schema = sf.Schema({"income": sf.Interval(0, 10**8, step=step), "sex": Categories(["f", "m", "x"])}, dataset="pay")
    table = sf.read(pd.DataFrame({"income": income, "sex": chance.choice(["f", "m", "x"], 20_000)}), schema=schema)
    mechanism = MarginalSynthesis.calibrate(bind(sf.synthetic(), schema), target)
    rows = mechanism.release(mechanism.take(table), seeded(3)).rows["income"] * float(step)
    real = np.rint(income / step) * step
    assert rows.mean() == pytest.approx(real.mean(), rel=0.1)
    assert np.median(rows) == pytest.approx(np.median(real), rel=0.1)
    assert (rows == 0).mean() == pytest.approx((real == 0).mean(), abs=0.02)


def test_a_bound_where_many_values_gather_is_kept_under_normal_noise() -> None:
    """Of 20,000 rows 102 lie at the upper bound and are half of the mean: normal noise does not make as many."""
    chance = np.random.default_rng(9)
    gain = np.where(chance.random(20_000) < 0.006, 99_999, np.exp(chance.normal(6, 0.8, 20_000)).astype(int))
    schema = sf.Schema({"gain": Integers(0, 99_999), "sex": Categories(["f", "m"])}, dataset="gains")
    table = sf.read(pd.DataFrame({"gain": gain, "sex": chance.choice(["f", "m"], 20_000)}), schema=schema)
    mechanism = MarginalSynthesis.calibrate(bind(sf.synthetic(), schema), sf.Concentrated(0.02))
    found = [mechanism.release(mechanism.take(table), seeded(seed)).rows["gain"].mean() for seed in range(5)]
    assert np.median(found) == pytest.approx(gain.mean(), rel=0.2)
