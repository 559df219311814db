"""Curves as records: the documented rules, one by one."""

import math

import numpy as np
import pytest

from sfumato.errors import ParameterError
from sfumato.spaces import Curves

DAY = Curves((0, 1, 3, 4), -1, 1, 0.25)


@pytest.mark.parametrize(
    ("value", "wanted"),
    [
        ([0, 0.1, -9, math.inf], [0, 0, -1, 1]),
        ([0, math.nan, 0.75, 1], [0, 0.25, 0.75, 1]),
        ([None, 0.5, None, 1], [0.5, 0.5, 0.75, 1]),
        ((math.nan, math.nan, 0.5, 0.5), [0.5, 0.5, 0.5, 0.5]),
    ],
)
def test_values_clip_and_gaps_are_filled_by_lines(value, wanted):
    assert DAY.coerce(value).tolist() == wanted


@pytest.mark.parametrize(
    "value", [None, 3, "abcd", [1, 2, 3], [1, 2, 3, 4, 5], [None] * 4, [1, None, None, None], [[1] * 4]]
)
def test_curves_of_another_length_or_mostly_missing_are_missing(value):
    assert DAY.coerce(value) is None


def test_the_metric_is_the_root_mean_square():
    assert DAY.distance([0, 0, 0, 0], [1, 1, 1, 1]) == 1
    assert DAY.distance(np.zeros(4), [2, 0, 0, 0]) == 1
    assert DAY.diameter == 2


@pytest.mark.parametrize("points", [(), (1,), (1, 1), (2, 1), (0, math.nan)])
def test_refuses_points_that_are_no_axis(points):
    with pytest.raises(ParameterError, match="points"):
        Curves(points, 0, 1)
