"""Monotone paths near a curve: counts, the exact law, and curves at the edges."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.errors import ParameterError
from sfumato.randomness import seeded
from sfumato.sampling.monotone import MonotonePaths
from statistical import ALPHA, pooled_pvalue


def every_path(places: int, top: int) -> list[tuple[int, ...]]:
    return list(itertools.combinations_with_replacement(range(top + 1), places))


def law_of(paths: MonotonePaths, rate: float) -> np.ndarray:
    heights = [paths.height(path) for path in every_path(len(paths.curve), paths.top)]
    weights = np.exp(-rate * (np.array(heights) - min(heights)))
    return weights / weights.sum()


CURVE = np.array([4, 2, 20, 27])


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.integers(-5, 30), min_size=0, max_size=4),
    st.integers(0, 7),
    st.integers(1, 4),
    st.integers(0, 40),
)
def test_counts_are_those_of_enumeration(curve, unit, top, height):
    paths = MonotonePaths(np.array(curve, dtype=np.int64), unit, top)
    expected = sum(paths.height(path) <= height for path in every_path(len(curve), top))
    assert paths.count(height) == expected


@pytest.mark.parametrize("rate", [0.02, 0.3])
def test_the_law_is_exponential_in_the_height(rate):
    """Chi-square over all 35 paths; a rate half as large again (and 0.05 more) has sum (p - q)^2 / q above 0.05,
    which 4,000 draws refuse: 200 against a critical value of 34 + 7 sqrt(68) = 92.
    """
    paths, rng = MonotonePaths(CURVE, 7, 3), seeded(3)
    places = {path: k for k, path in enumerate(every_path(4, 3))}
    draws = 4_000
    found = np.bincount([places[tuple(paths.sample(rate, rng))] for _ in range(draws)], minlength=len(places))
    assert pooled_pvalue(found.astype(float), law_of(paths, rate) * draws) >= ALPHA
    assert pooled_pvalue(found.astype(float), law_of(paths, 1.5 * rate + 0.05) * draws) < ALPHA


def test_splitting_into_segments_changes_no_law(monkeypatch):
    """Half, or nearly all, of the proposals accepted: the same law, by a second number of segments."""
    monkeypatch.setattr("sfumato.sampling.monotone.ACCEPTED", 0.99)
    paths, rng = MonotonePaths(CURVE, 7, 3), seeded(4)
    places = {path: k for k, path in enumerate(every_path(4, 3))}
    found = np.bincount([places[tuple(paths.sample(0.2, rng))] for _ in range(2_000)], minlength=len(places))
    assert pooled_pvalue(found.astype(float), law_of(paths, 0.2) * 2_000) >= ALPHA


def test_edges_have_answers():
    assert MonotonePaths(np.array([], dtype=np.int64), 5, 3).sample(0.1, seeded(1)) == []
    assert len(MonotonePaths(np.array([0, 0]), 0, 3).sample(0.1, seeded(1))) == 2  # an empty table
    huge = MonotonePaths(np.array([10**30, 3 * 10**30], dtype=object), 10**30, 4)
    assert huge.sample(1e-3, seeded(1)) == [1, 3]
    assert MonotonePaths(np.array([5]), 1, 10).count(0) == 1


def test_many_places_count_like_binomials():
    paths = MonotonePaths(np.zeros(300, dtype=np.int64), 1, 7)
    assert paths.count(7) == math.comb(307, 7)
    assert paths.count(0) == 1


@pytest.mark.parametrize(("unit", "top"), [(-1, 3), (2, 0)])
def test_refuses_nonsense(unit, top):
    with pytest.raises(ParameterError, match="monotone path"):
        MonotonePaths(np.array([1]), unit, top)
