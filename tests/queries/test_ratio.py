"""Intervals for a ratio: every value that is kept lies inside, whatever the noise and wherever its center falls."""

import numpy as np
import pytest

from sfumato.queries.ratio import _kept, ratio_interval
from sfumato.sampling import DiscreteLaplace, RoundedNormal, TruncatedLaplace

GRID = np.linspace(0.0, 1.0, 2001)


def cut(scale):
    return TruncatedLaplace(scale, max(1, int(3 * scale)), 0.5)


@pytest.mark.parametrize("law", [DiscreteLaplace, RoundedNormal, cut])
def test_the_interval_holds_every_value_that_is_kept(law):
    rng = np.random.default_rng(5)
    outside = 0
    for _ in range(150):
        noise, beta = law(10 ** rng.uniform(-2.5, 3)), 10 ** rng.uniform(-4, -0.5)
        quantile = noise.quantile(beta / 2)
        total = 2 * quantile + 1 + int(rng.integers(0, 20)) * (1 + quantile // 4)
        a = int(rng.integers(-3 * quantile - 2, total + 3 * quantile + 3))
        outside += not 0 <= a <= total
        low, high = ratio_interval(np.array([float(a)]), np.array([float(total - a)]), noise, beta)
        kept = GRID[_kept(GRID, np.abs((1 - GRID) * a - GRID * (total - a)), noise, beta)]
        assert 0 <= low[0] <= high[0] <= 1
        assert not kept.size or low[0] <= kept.min() <= kept.max() <= high[0]
    assert outside > 10  # centers beyond the ends were tried
