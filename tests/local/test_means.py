"""Means of numbers: local Laplace, Duchi, piecewise, hybrid, on exact channels where these are finite."""

import math
from fractions import Fraction

import numpy as np
import pytest
from exact import check_claim, check_draws, check_estimates
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.errors import ParameterError, UnsupportedQuery
from sfumato.local.protocols import Duchi, Hybrid, LocalLaplace, Piecewise
from sfumato.local.protocols.laplace import MIDDLE, _noise
from sfumato.privacy.guarantees import Pure
from sfumato.randomness import seeded
from statistical import assert_law

FINITE = [Duchi, Piecewise, Hybrid]
POINTS = np.linspace(-1, 3, 9)

# claims


@pytest.mark.parametrize("kind", FINITE)
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 4.0])
def test_the_claim_is_the_exact_channels(kind, epsilon):
    protocol = kind.calibrate(-1, 3, Pure(epsilon), steps=8)
    check_claim(protocol, Pure(epsilon))
    check_estimates(protocol, [[x] for x in POINTS], POINTS[:, None])


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 3.0])
def test_duchis_variance(epsilon):
    """((e^a + 1)/(e^a - 1))^2 - x^2 on [-1, 1]."""
    protocol = Duchi.calibrate(-1, 1, Pure(epsilon))
    most = ((math.exp(epsilon) + 1) / math.expm1(epsilon)) ** 2
    assert protocol.risk(1) == pytest.approx(most, rel=1e-9)
    assert protocol.variance(10, [0.5])[0] == pytest.approx((most - 0.25) / 10, rel=1e-9)


@pytest.mark.parametrize("epsilon", [0.2, 1.0, 3.0])
def test_piecewise_is_at_least_as_good_as_the_continuous_one(epsilon):
    """Worst variance of the paper: 1/(h - 1) + (h + 3)/(3 (h - 1)^2), h = e^(a/2)."""
    h = math.exp(epsilon / 2)
    paper = 1 / (h - 1) + (h + 3) / (3 * (h - 1) ** 2)
    assert Piecewise.calibrate(-1, 1, Pure(epsilon)).risk(1) <= 1.0001 * paper
    assert Hybrid.calibrate(-1, 1, Pure(epsilon)).risk(1) <= 1.0001 * min(
        paper, Duchi.calibrate(-1, 1, Pure(epsilon)).risk(1)
    )


def test_laplace_is_the_two_over_epsilon_baseline():
    """Lap(2/a) on [-1, 1]: variance 8/a^2, up to the lattice."""
    protocol = LocalLaplace.calibrate(-1, 1, Pure(0.5))
    assert protocol.guarantee() == Pure(0.5)
    assert protocol.risk(1) == pytest.approx(32, rel=1e-5)


def test_laplace_likelihood_ratios_are_within_the_claim():
    """P(z | s) is proportional to exp(-|z - s| / scale): the exponents differ by at most steps / scale."""
    protocol = LocalLaplace(0.0, 1.0, 8, 16)
    z = np.arange(-100, 108)
    exponents = -np.abs(z[:, None] - np.arange(9)) / protocol.scale
    assert np.ptp(exponents, axis=1).max() == protocol.guarantee().epsilon == 0.5


# laws


@settings(deadline=None, max_examples=40)
@given(st.floats(1e-3, 45), st.sampled_from([2, 8, 1024]))
def test_calibrate_never_exceeds_its_target(epsilon, steps):
    for kind in (*FINITE, LocalLaplace):
        assert kind.calibrate(0, 1, Pure(epsilon), steps=steps).guarantee().implies(Pure(epsilon))


@settings(deadline=None)
@given(st.floats(allow_nan=True))
def test_numbers_are_clipped_and_rounded(value):
    place = int(Duchi.calibrate(-2, 6, Pure(1.0), steps=8).coerce([value])[0])
    expected = 4 if math.isnan(value) else round(min(max(value, -2), 6)) + 2
    assert place == expected or abs(value - round(value)) == 0.5


# distribution


@pytest.mark.parametrize("kind", FINITE)
def test_reports_follow_the_channel(kind):
    protocol, other = (kind.calibrate(0, 4, Pure(epsilon), steps=4) for epsilon in (1.0, 0.8))
    if kind is Hybrid:
        other = Hybrid(0.0, 4.0, 4, protocol.tilt * 9 // 10, protocol.window, protocol.informed, protocol.mixture)
    if kind is Piecewise:
        other = Piecewise(0.0, 4.0, 4, protocol.window, protocol.informed - Fraction(1, 32))
    check_draws(protocol, other, range(5), 561)


@pytest.mark.parametrize("scale", [1, 3, 700])
def test_laplace_noise_is_exactly_geometric(scale):
    """200,000 draws; scales 10 % off are refused (for 700, as binned by 100)."""
    width = 100 if scale > 100 else 1
    noise = np.rint(_noise(scale, 200_000, seeded(562)) / width - 1e-9).astype(np.int64)

    def law(s):
        r = math.exp(-1 / s)

        def tail(z):  # P(Z >= z)
            return r**z / (1 + r) if z > 0 else 1 - r ** (1 - z) / (1 + r)

        def mass(cell):
            low = cell * width - width // 2 + (1 if width > 1 else 0)
            return tail(low) - tail(low + width)

        return mass

    assert_law(noise, law(scale), (law(scale * 0.9), law(scale * 1.1)))


# refusals


def test_refusals():
    with pytest.raises(ParameterError, match="low must be below high"):
        Duchi.calibrate(1, 1, Pure(1.0))
    with pytest.raises(ParameterError, match="low must be below high"):
        Piecewise.calibrate(0, math.inf, Pure(1.0))
    with pytest.raises(ParameterError, match="steps must be even"):
        Duchi(0.0, 1.0, 3, 5)
    with pytest.raises(UnsupportedQuery, match="infinitely many"):
        LocalLaplace.calibrate(0, 1, Pure(1.0)).channel()
    noisy = LocalLaplace.calibrate(0, 1, Pure(1.0))
    far = np.array([0, MIDDLE - noisy.reach - 1, MIDDLE + noisy.steps + noisy.reach + 1, 2 * MIDDLE], dtype=np.uint64)
    assert not noisy.valid(far).any()  # a report that could wrap the sum of a million honest ones
    assert noisy.valid(np.array([MIDDLE - noisy.reach, MIDDLE + noisy.steps + noisy.reach], dtype=np.uint64)).all()
