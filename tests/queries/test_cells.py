"""Public cells of numbers: a partition, within equal bars, fine near zero, elsewhere at most twice as wide as equal."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.queries.cells import BARS, CELLS, bars, cut
from sfumato.queries.encoding import Column
from sfumato.spaces import Dates, Duration, Integers, Interval, TimeOfDay

BOUNDS = st.integers(-(2**40), 2**40)


@settings(max_examples=60, deadline=None)
@given(BOUNDS, st.integers(1, 2**41), st.booleans(), st.floats(0, 1))
def test_cells_part_the_points_and_atoms_stand_alone(low: int, width: int, magnitudes: bool, where: float) -> None:
    high, atom = low + width, low + round(where * width)
    edges = np.array(cut(low, high, magnitudes, frozenset([atom])))
    assert edges[0] == 0
    assert (np.diff(edges) > 0).all()
    assert min(CELLS, width + 1) - 3 <= len(edges) <= CELLS
    widths = np.diff(np.append(edges, width + 1))
    alone = {low, high, atom} | ({0} if magnitudes and low <= 0 <= high else set())
    assert all(widths[np.searchsorted(edges, point - low)] == 1 for point in alone)
    assert widths.max() <= max(1, 2.2 * width / (CELLS - 12) + 1)  # half of the cells are equal ones
    last = np.append(edges[1:], width + 1) - 1
    begun = [np.searchsorted(bars(width), points, side="right") for points in (edges, last)]
    np.testing.assert_array_equal(*begun)


def test_bars_are_those_of_a_histogram() -> None:
    points = np.arange(1001)
    counts = np.bincount(np.searchsorted(bars(1000), points, side="right") - 1)
    assert counts.tolist() == np.histogram(points, bins=BARS, range=(0, 1000))[0].tolist()


@pytest.mark.parametrize("high", [10**5, 10**6, 10**8, 10**12])
def test_wide_bounds_leave_magnitudes_sharp(high: int) -> None:
    """Between a ten-millionth of the bound and the bound a cell is at most a seventh of where it begins."""
    edges = np.array([*cut(0, high, True), high + 1])
    starts, widths = edges[:-1], np.diff(edges)
    told = starts > max(100, high / 1e6)
    assert (widths[told] <= starts[told] / 7 + 1).all()


def test_what_has_no_zero_is_cut_evenly() -> None:
    for space in (Dates("1900-01-01", "2030-12-31"), TimeOfDay(step=10)):
        widths = Column.of("x", space).widths()[1:-1]
        assert widths.max() <= 8 / 7 * widths.min() + 2  # seven or eight to a bar
    for other in (Duration(0, 10_000, "hours", step=1), Integers(0, 10_000), Interval(0, 100, step=0.01)):
        widths = Column.of("x", other).widths()
        assert (widths[:10] == 1).all()
        assert widths[-10:-1].min() > 40


def test_the_number_that_stands_for_missing_ones_is_a_level() -> None:
    column = Column.of("pay", Integers(-20_000, 10**6, missing=77_777))
    level = column.levels(np.array([77_777 + 20_000, 20_000]))
    assert column.widths()[level].tolist() == [1, 1]
