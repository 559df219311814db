"""What is wrong with the shape of points is said in words."""

import numpy as np
import pytest

from sfumato.bounds.projections import projected_mean_norm
from sfumato.bounds.volume import volume_radius
from sfumato.errors import ParameterError


@pytest.mark.parametrize("shape", [(5, 2), (7, 3), (4,)], ids=str)
def test_points_as_rows_are_told_from_points_as_columns(shape):
    with pytest.raises(ParameterError, match="transpose") as caught:
        volume_radius(np.random.default_rng(1).normal(size=shape))
    assert str(shape) in str(caught.value)


def test_too_many_dimensions_are_counted():
    with pytest.raises(ParameterError, match=r"at most 64 rows.*got 65"):
        projected_mean_norm(np.eye(65), 1.0)
