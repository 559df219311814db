"""Square wave: the exact channel, and distributions, quantiles and moments by expectation maximization."""

from fractions import Fraction

import numpy as np
import pytest
from exact import check_claim, check_draws
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.errors import ParameterError, UnsupportedQuery
from sfumato.local.protocols import SquareWave
from sfumato.local.protocols.square import _covered, _summed
from sfumato.privacy.guarantees import Pure
from sfumato.randomness import seeded


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 4.0])
def test_the_claim_is_the_exact_channels(epsilon):
    check_claim(SquareWave.calibrate(0, 1, Pure(epsilon), steps=8), Pure(epsilon))


def test_the_widest_window_is_the_papers_limit():
    """b tends to 1/2 as epsilon tends to 0, and to 0 as it grows  [LiEtAl2020]."""
    assert SquareWave.calibrate(0, 1, Pure(0.01), steps=1000).window == pytest.approx(1000, rel=0.01)
    assert SquareWave.calibrate(0, 1, Pure(8.0), steps=1000).window < 10


def test_reports_follow_the_channel():
    protocol = SquareWave.calibrate(0, 4, Pure(1.0), steps=4)
    check_draws(protocol, SquareWave(0.0, 4.0, 4, protocol.window, protocol.informed - Fraction(1, 32)), range(5), 581)


def test_sums_over_windows_are_the_channel():
    protocol = SquareWave.calibrate(0, 1, Pure(1.0), steps=6)
    inside = np.array(protocol.channel(), dtype=float) > float((1 - protocol.informed) / protocol.cells) * 1.0001
    f, gain = np.arange(7) + 1.0, np.arange(protocol.cells) ** 2.0
    np.testing.assert_allclose(_covered(f, protocol.window), inside.T @ f)
    np.testing.assert_allclose(_summed(gain, protocol.window), inside @ gain)


def test_a_smooth_distribution_is_recovered():
    """200,000 values of a Beta(2, 5) on [0, 10]: mean, deviation and quantiles within 1.5 and 2.5 % of the range."""
    words = seeded(582).bits64(200_000 * 7).astype(np.float64).reshape(7, -1) / 2.0**64
    values = 10 * np.sort(words[:6], axis=0)[1]  # the second of six uniforms is Beta(2, 5)
    protocol = SquareWave.calibrate(0, 10, Pure(1.0))
    tally = protocol.tally(protocol.randomize(values, seeded(583)))
    mean, variance = protocol.moments(tally, 200_000)
    assert mean == pytest.approx(10 * 2 / 7, abs=0.15)
    assert variance**0.5 == pytest.approx(10 * (10 / (49 * 8)) ** 0.5, abs=0.15)
    quantiles = protocol.quantiles(tally, 200_000, [0.25, 0.5, 0.75])
    assert quantiles == pytest.approx(np.quantile(values, [0.25, 0.5, 0.75]), abs=0.25)


@settings(deadline=None, max_examples=25)
@given(st.lists(st.integers(0, 50), min_size=12, max_size=12).filter(any))
def test_estimates_are_distributions(counts):
    protocol = SquareWave(0.0, 1.0, 6, 6, Fraction(1, 4))
    f = protocol.estimate(np.array(counts), sum(counts))
    assert f.min() >= 0
    assert f.sum() == pytest.approx(1.0)


def test_refusals():
    protocol = SquareWave.calibrate(0, 1, Pure(1.0))
    with pytest.raises(UnsupportedQuery, match="no exact variance"):
        protocol.variance(10)
    with pytest.raises(ParameterError, match="probabilities"):
        protocol.quantiles(np.ones(protocol.cells), 10, [1.5])
